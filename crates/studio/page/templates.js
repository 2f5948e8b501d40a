// Parts that are alike as one automaton: where they can stand, and how many stand where.

import { el, show } from "./dom.js";
import { drawPicture } from "./picture.js";

export class Templates {
  constructor() {
    this.node = el("details", { class: "templates", open: true });
    this.templates = [];
  }

  tell({ templates }) {
    this.templates = templates ?? [];
    this.node.hidden = !this.templates.length;
  }

  /** Shows how many stand where, and the ways that the last step went. */
  stand(standing) {
    if (this.node.hidden || !standing) return;
    const one = ({ name, picture }, at) => {
      const { counts, ways } = standing[at];
      const about = counts.map((tokens) => ({ tokens, chosen: tokens > 0, title: `${tokens} here` }));
      return el("figure", { "data-template": name }, el("figcaption", {}, name), drawPicture(picture, about, undefined, ways));
    };
    show(this.node, el("summary", {}, "Automata, and how many stand where"), el("div", { class: "automata" }, this.templates.map(one)));
  }
}
