// Parts that are alike as one automaton: where they can stand, and how many stand where.

import { el, show } from "./dom.js";
import { drawPicture } from "./picture.js";

/** Automata with more places together are folded at first. */
const MOST_PLACES = 16;

export class Templates {
  constructor() {
    this.node = el("details", { class: "templates", ontoggle: () => this.stand(this.standing) });
    this.templates = [];
  }

  tell({ templates }) {
    this.templates = templates ?? [];
    this.node.hidden = !this.templates.length;
    // Programs are large: what happens is to be seen first.
    const places = this.templates.reduce((sum, { picture }) => sum + picture.nodes.length, 0);
    this.node.open = places <= MOST_PLACES;
  }

  /** Shows how many stand where, and the ways that the last step went. */
  stand(standing) {
    this.standing = standing;
    const title = el("summary", {}, "Automata, and how many stand where");
    if (this.node.hidden || !standing) return;
    if (!this.node.open) return void show(this.node, title);
    const one = ({ name, picture }, at) => {
      const { counts, ways } = standing[at];
      const about = counts.map((tokens) => ({ tokens, chosen: tokens > 0, title: `${tokens} here` }));
      return el("figure", { "data-template": name }, el("figcaption", {}, name), drawPicture(picture, about, undefined, ways));
    };
    show(this.node, title, el("div", { class: "automata" }, this.templates.map(one)));
  }
}
