// What the clocks of a run show: time goes to the right, each clock climbs with it until it is set back.

import { el, show, svg } from "./dom.js";

const LEFT = 130;
const HIGH = 30;
const GAP = 12;

/** A number as the server writes it: `3`, `3/2`. */
export function number(text) {
  const [over, under] = text.split("/");
  return Number(over) / Number(under ?? 1);
}

export class Clocks {
  constructor({ onselect }) {
    this.onselect = onselect;
    this.node = el("div", { class: "clocks", role: "group", "aria-label": "Clocks" });
    this.byTime = true;
  }

  tell(story) {
    this.zones = story.zones ?? null;
    this.clocks = story.clocks.map(({ name, compared, moments }) => ({ name, compared: compared ?? [], moments: moments.map(([time, shows]) => ({ time: number(time), shows: shows === null ? null : number(shows), text: shows })) }));
    this.node.hidden = !this.clocks.length;
    this.steps = story.steps;
  }

  /** Shows where a step is; the moments of a clock are the start, then before and after each step. */
  select(step) {
    this.step = step;
    this.draw();
  }

  draw() {
    if (this.node.hidden) return;
    const wide = Math.max(240, Math.min(760, (this.node.parentElement?.clientWidth ?? 700) - LEFT - 90));
    const last = this.clocks[0].moments.length - 1;
    const end = this.byTime ? this.clocks[0].moments[last].time : last;
    const at = (moments, index) => LEFT + (end ? (wide * (this.byTime ? moments[index].time : index)) / end : 0);
    const now = Math.min(last, this.step * 2);
    const strips = this.clocks.map(({ name, compared, moments }, row) => {
      const bottom = (row + 1) * (HIGH + GAP);
      const ranges = (this.zones ?? []).map((facts) => facts.find(({ clock }) => clock === name));
      const greatest = Math.max(0, ...moments.map(({ shows }) => shows ?? 0), ...compared, ...ranges.map((range) => range?.most ?? range?.least ?? 0));
      const y = (shows) => bottom - (greatest ? (HIGH * shows) / greatest : 0);
      const pieces = [[]];
      moments.forEach(({ shows }, index) => shows === null ? pieces.push([]) : pieces[pieces.length - 1].push(`${at(moments, index).toFixed(1)},${y(shows).toFixed(1)}`));
      const resets = moments.flatMap(({ shows }, index) => index && shows !== null && shows < (moments[index - 1].shows ?? 0) ? [svg("line", { class: "reset", x1: at(moments, index), y1: bottom, x2: at(moments, index), y2: bottom + 5 })] : []);
      return svg("g", { class: "strip", "data-clock": name },
        svg("text", { x: 0, y: bottom - 8 }, name),
        svg("line", { class: "lane", x1: LEFT, y1: bottom, x2: LEFT + wide, y2: bottom }),
        // What it could show there, had the steps been taken at other times.
        ranges.map((range, step) => {
          if (!range) return null;
          const [from, to] = [at(moments, Math.min(last, step * 2)), at(moments, Math.min(last, step * 2 + 1))];
          const [high, low] = [y(range.most ?? greatest), y(range.least)];
          return svg("rect", { class: range.most === null ? "zone endless" : "zone", x: from - 1, y: high - 1, width: Math.max(3, to - from + 2), height: Math.max(2, low - high + 2) }, svg("title", {}, `after step ${step}: ${range.text}`));
        }),
        compared.filter((bound) => bound > 0 && bound <= greatest).map((bound) => [
          svg("line", { class: "bound", x1: LEFT, y1: y(bound), x2: LEFT + wide, y2: y(bound) }, svg("title", {}, `compared with ${bound}`)),
          svg("text", { class: "bound", x: LEFT - 4, y: y(bound) + 4, "text-anchor": "end" }, String(bound))]),
        pieces.filter((piece) => piece.length > 1).map((piece) => svg("polyline", { points: piece.join(" ") })),
        resets,
        svg("text", { class: "now", x: LEFT + wide + 8, y: bottom - 8 }, `= ${moments[now].text ?? "–"}`, ranges[this.step] ? svg("title", {}, `could be ${ranges[this.step].text}`) : null));
    });
    const high = this.clocks.length * (HIGH + GAP) + GAP;
    const x = at(this.clocks[0].moments, now);
    const choose = (event) => {
      const to = event.offsetX;
      let best = 0;
      for (let step = 0; step <= this.steps; step++) if (Math.abs(at(this.clocks[0].moments, Math.min(last, step * 2)) - to) < Math.abs(at(this.clocks[0].moments, Math.min(last, best * 2)) - to)) best = step;
      this.onselect(best);
    };
    show(this.node,
      el("div", { class: "row" }, el("b", {}, "Clocks"), el("span", { class: "faint" }, `at time ${this.clocks[0].moments[now].time}`),
        el("button", { "aria-pressed": this.byTime ? "true" : "false", title: "Time or steps to the right", onclick: () => { this.byTime = !this.byTime; this.draw(); } }, this.byTime ? "by time" : "by steps")),
      svg("svg", { width: LEFT + wide + 80, height: high, role: "img", "aria-label": `clocks at step ${this.step}`, onclick: choose }, strips, svg("line", { class: "cursor", x1: x, y1: 4, x2: x, y2: high })));
  }
}
