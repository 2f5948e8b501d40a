// A story as a picture: a line for each lane, what it does to its right, messages between them. Only what is seen is in the page.

import { cut, el, plural, show, svg } from "./dom.js";

const LEFT = 52;
const LINE = 18;
const GAP = 8;
const NARROWEST = 140;
const WIDEST = 330;
/** Rows beyond what is seen that are there already. */
const BEYOND = 300;

/** A line of a message without the arrow that is drawn; where that is too long, without whom it goes to, which is drawn, too. */
const words = (text, width) => {
  const whole = text.replace(/^◀─ /, "").replace(/ ─[▶✗] /, " → ");
  return [...whole].length > width ? text.replace(/^◀─ .*?: /, "").replace(/ ─▶ [^(]*/, " ").trim() : whole;
};

/** A name that fits, with its end, as that tells like parts apart. */
const fitting = (name, width) => {
  const letters = [...name];
  return letters.length <= width ? name : `${letters.slice(0, Math.max(1, width - 7)).join("")}…${letters.slice(-6).join("")}`;
};

export class Lanes {
  /** `onselect` is told the number of a row that is chosen. */
  constructor({ onselect, onlanes, shown }) {
    this.onselect = onselect;
    /** Is told which lanes are shown when somebody has chosen them; nothing for those that something happens to. */
    this.onlanes = onlanes;
    this.wanted = shown ? shown.split(",") : null;
    this.marked = new Set();
    this.reasons = [];
    this.head = el("div", { class: "lane-heads" });
    // What stays, the messages, and the rows that are seen: a row that stays in sight is drawn once.
    [this.still, this.ways, this.why, this.told] = ["still", "ways", "why", "told"].map((name) => svg("g", { class: name }));
    this.drawnRows = new Map();
    this.picture = svg("svg", { role: "presentation" }, this.still, this.ways, this.why, this.told);
    this.scroll = el("div", { class: "lane-scroll", tabindex: "0", role: "listbox", "aria-label": "Steps" }, this.picture);
    this.rest = el("div", { class: "lane-idle" });
    this.node = el("div", { class: "lane-view" }, this.head, this.rest, this.scroll);
    this.chosen = 0;
    this.scroll.addEventListener("scroll", () => this.draw());
    this.watcher = new ResizeObserver(() => { this.measure(); this.select(this.chosen); });
    this.watcher.observe(this.scroll);
  }

  leave() { this.watcher.disconnect(); }

  tell(story) {
    this.story = story;
    this.shown = story.lanes.map((lane, at) => ({ ...lane, at })).filter((lane) => lane.busy);
    if (!this.shown.length) this.shown = story.lanes.map((lane, at) => ({ ...lane, at })).slice(0, 8);
    this.busy = this.shown;
    if (this.wanted) {
      const chosen = this.wanted.map((name) => this.busy.find((lane) => lane.name === name)).filter((lane) => lane);
      if (chosen.length) this.shown = chosen;
    }
    this.column = new Map(this.shown.map((lane, at) => [lane.at, at]));
    this.measure();
    this.draw(true);
  }

  /** Where everything is. */
  measure() {
    if (!this.story) return;
    const room = (this.scroll.clientWidth - LEFT - 24) / Math.max(1, this.shown.length);
    this.wide = Math.max(NARROWEST, Math.min(WIDEST, room));
    this.letters = Math.floor((this.wide - 16) / 6.7);
    let y = GAP;
    this.ends = new Map();
    // Of lanes that somebody chose, only what touches them.
    const touches = (block) => !this.wanted || block.kind === "left" || block.cells.some((cell) => this.column.has(cell.lane));
    this.rows = this.story.blocks.filter(touches).map((block) => {
      const lines = new Map();
      const cells = block.cells.filter((cell) => this.column.has(cell.lane)).map((cell) => {
        const line = lines.get(cell.lane) ?? 0;
        lines.set(cell.lane, line + 1);
        const placed = { ...cell, x: this.x(cell.lane), y: y + line * LINE + 13, top: y };
        if (cell.arrow !== null) this.ends.set(`${cell.arrow}/${block.last}/${cell.lane}`, placed);
        return placed;
      });
      const row = { block, cells, y, height: Math.max(1, ...lines.values()) * LINE + GAP };
      y += row.height;
      return row;
    });
    this.total = y;
    this.drawnRows.clear();
    show(this.told);
    this.seen = null;
    this.of = [];
    this.rows.forEach(({ block }, at) => {
      if (block.kind !== "left") for (let number = block.first; number <= block.last; number++) this.of[number] = at;
    });
    this.drawn = this.story.arrows.map((arrow, at) => this.way(arrow, at)).filter((way) => way);
    const ending = this.story.ending ? LINE * 2 : 0;
    this.picture.setAttribute("width", LEFT + this.shown.length * this.wide + 8);
    this.picture.setAttribute("height", y + ending + 30);
    show(this.head, el("div", { class: "lane-names" }, this.shown.map((lane) => {
      const head = el("div", { class: "lane-name", title: lane.name }, fitting(lane.name, Math.floor((this.wide - 12) / 8.4)),
        this.onlanes && this.busy.length > 1 ? [
          this.shown[0] === lane ? null : el("button", { class: "lane-tool", title: `Move ${lane.name} to the left`, onclick: () => this.want([lane, ...this.shown.filter((it) => it !== lane)]) }, "⇤"),
          this.shown.length === 1 ? null : el("button", { class: "lane-tool", title: `Only steps that touch ${lane.name}`, onclick: () => this.want([lane]) }, "◎"),
          this.shown.length === 1 ? null : el("button", { class: "lane-tool", title: `Hide ${lane.name}`, onclick: () => this.want(this.shown.filter((it) => it !== lane)) }, "×")] : null);
      head.style.left = `${this.x(lane.at)}px`;
      return head;
    })));
    show(this.rest, this.idle());
    this.head.firstChild.style.width = `${LEFT + this.shown.length * this.wide + 8}px`;
  }

  /** Shows these lanes, in this order. */
  want(lanes) {
    const same = lanes.length === this.busy.length && lanes.every((lane, at) => lane === this.busy[at]);
    this.wanted = same ? null : lanes.map((lane) => lane.name);
    this.tell(this.story);
    this.select(this.chosen);
    this.onlanes(this.wanted?.join(",") ?? null);
  }

  idle() {
    const hidden = this.busy.length - this.shown.length;
    if (hidden) return el("button", { onclick: () => this.want(this.busy) }, `show ${plural(hidden, "hidden lane", "hidden lanes")}`);
    const count = this.story.lanes.filter((lane) => !lane.busy && lane.kind === "part").length;
    if (!count || count === this.story.lanes.length) return null;
    const { bystanders } = this.story;
    return bystanders.length ? `and nothing happens to ${bystanders.join(", ")}` : `and ${plural(count, "other", "others")}, of which nothing is told here`;
  }

  x(lane) { return LEFT + (this.column.get(lane) ?? 0) * this.wide; }

  /** The place of the block that a row is in, or of the next one. */
  index(number) {
    for (let at = number; at < this.of.length; at++) if (this.of[at] !== undefined) return this.of[at];
    return this.rows.length - 1;
  }

  select(number) {
    this.chosen = number;
    if (!this.rows) return;
    const row = this.rows[this.index(number)];
    const top = number === 0 ? 0 : row?.y ?? 0;
    const { scrollTop, clientHeight } = this.scroll;
    // With the last step comes where everybody stands then.
    if (row === this.rows[this.rows.length - 1] && this.story.ending && number > 0) this.scroll.scrollTop = this.total;
    else if (top < scrollTop + 10) this.scroll.scrollTop = Math.max(0, top - 40);
    else if (row && top + row.height > scrollTop + clientHeight - 10) this.scroll.scrollTop = top + row.height - clientHeight + 60;
    this.bring(row?.cells ?? []);
    this.draw(true);
  }

  /** Brings the columns in which a row says something into sight, the first of them at least. */
  bring(cells) {
    if (!cells.length) return;
    const { scrollLeft, clientWidth } = this.scroll;
    const [left, right] = [Math.min(...cells.map(({ x }) => x)), Math.max(...cells.map(({ x }) => x)) + this.wide];
    if (right > scrollLeft + clientWidth) this.scroll.scrollLeft = Math.min(left - LEFT, right - clientWidth);
    else if (left - LEFT < scrollLeft) this.scroll.scrollLeft = left - LEFT;
  }

  /** The first row that ends below a line of the picture. */
  rowAt(y) {
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].y + this.rows[middle].height < y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  draw(always) {
    if (!this.story) return;
    this.head.scrollLeft = this.scroll.scrollLeft;
    const from = this.scroll.scrollTop - BEYOND;
    const to = this.scroll.scrollTop + this.scroll.clientHeight + BEYOND;
    // In steps: a picture is not made anew for every pixel.
    const seen = `${Math.floor(from / 200)}/${Math.ceil(to / 200)}`;
    if (!always && seen === this.seen) return;
    if (always) this.drawStill();
    this.seen = seen;
    const [first, last] = [this.rowAt(from), Math.min(this.rows.length, this.rowAt(to) + 1)];
    for (const [at, node] of this.drawnRows) {
      if (at >= first && at < last) continue;
      node.remove();
      this.drawnRows.delete(at);
    }
    const fresh = [];
    for (let at = first; at < last; at++) {
      if (this.drawnRows.has(at)) continue;
      const node = this.row(this.rows[at]);
      this.drawnRows.set(at, node);
      fresh.push(node);
    }
    this.told.append(...fresh);
    show(this.ways, this.drawn.filter(({ y1, y2 }) => Math.max(y1, y2) >= from && Math.min(y1, y2) <= to).map((way) => this.arrow(way)));
  }

  /** What does not change with scrolling: the lines of the lanes, the band of the chosen row, the end. */
  drawStill() {
    const bottom = this.total + (this.story.ending ? LINE + 6 : 0);
    show(this.still,
      [...this.marked].map((number) => this.rows[this.of[number]]).filter((row) => row).map((row) => svg("rect", { class: "marked-row", x: 0, y: row.y, width: 5, height: row.height - 4 })),
      this.shown.map((lane) => svg("line", { class: `lane ${lane.kind}`, x1: this.x(lane.at), y1: 0, x2: this.x(lane.at), y2: bottom })),
      this.band(),
      this.ending());
    this.drawWhy();
    for (const [at, node] of this.drawnRows) {
      const { block } = this.rows[at];
      if (block.kind !== "left") node.setAttribute("aria-selected", block.first <= this.chosen && this.chosen <= block.last ? "true" : "false");
    }
  }

  /** Draws from where the chosen step has what it needed: `{place, value, row}`, row 0 for the start. */
  explain(reasons) {
    this.reasons = reasons;
    this.drawWhy();
  }

  /** Curves at the left, where no message is: from the rows that wrote something to the one that looked at it. */
  drawWhy() {
    const to = this.chosen > 0 && this.rows?.[this.index(this.chosen)];
    const from = new Map();
    for (const { row, place, value } of to ? this.reasons : []) {
      const at = row === 0 ? null : this.rows[this.of[row]];
      if (at === undefined || at === to) continue;
      const y = at ? at.y + 9 : 2;
      from.set(y, [...(from.get(y) ?? []), `${place} = ${value}`]);
    }
    show(this.why, [...from].map(([y, texts]) => {
      const end = to.y + 9;
      return svg("g", { class: "because" }, svg("path", { d: `M9 ${y} C -1 ${y}, -1 ${end}, 9 ${end}` }, svg("title", {}, texts.join(", "))), svg("circle", { cx: 9, cy: y, r: 2.5 }), svg("path", { class: "tip", d: `M11 ${end} l-6 -3 l0 6 z` }));
    }));
  }

  band() {
    const row = this.chosen > 0 && this.rows[this.index(this.chosen)];
    if (!row) return null;
    return svg("rect", { class: "chosen", x: 2, y: row.y - 2, width: LEFT + this.shown.length * this.wide, height: row.height, rx: 4 });
  }

  row({ block, cells, y, height }) {
    if (block.kind === "left")
      return svg("text", { class: "left", x: LEFT + 8, y: y + 13 }, `⋯ ${plural(block.count, "step", "steps")} that ${block.count === 1 ? "does" : "do"} not matter`);
    const label = `step ${block.last}: ${cells.map((cell) => `${this.story.lanes[cell.lane].name}: ${cell.text}`).join("; ")}`;
    const is = block.first <= this.chosen && this.chosen <= block.last;
    return svg("g", { class: block.relevant ? "row" : "row aside", role: "option", "aria-label": label, "aria-selected": is ? "true" : "false", "data-row": block.last, onclick: () => this.onselect(block.last) },
      svg("rect", { class: "hit", x: 0, y: y - 2, width: LEFT + this.shown.length * this.wide, height }),
      svg("text", { class: "number", x: LEFT - 14, y: y + 13, "text-anchor": "end" }, block.count > 1 ? `${block.first}–${block.last}` : String(block.last)),
      cells.map((cell) => this.cell(cell)));
  }

  cell(cell) {
    const arrow = cell.arrow === null ? null : this.story.arrows[cell.arrow];
    const kind = !arrow ? "" : arrow.kind === "taken" ? "message" : "open";
    return [
      arrow ? null : svg("circle", { cx: cell.x, cy: cell.y - 4, r: 3.2 }),
      svg("text", { class: kind, x: cell.x + 9, y: cell.y }, cut(arrow ? words(cell.text, this.letters) : cell.text, this.letters), svg("title", {}, cell.text)),
    ];
  }

  /** Where a message is drawn: between the two lines of text that are its ends. */
  way(arrow, at) {
    const end = (number, lane) => (this.of[number] === undefined ? undefined : this.ends.get(`${at}/${this.rows[this.of[number]].block.last}/${lane}`));
    const start = end(arrow.from_row, arrow.from_lane);
    if (!start) return null;
    // It leaves below what is said and comes in above what is taken, so that no line goes through words.
    const [x1, y1] = [start.x, start.y + 4];
    if (arrow.kind !== "taken") return { kind: "open", x1, y1, x2: this.column.has(arrow.to_lane) ? this.x(arrow.to_lane) : x1 + 40, y2: y1 + LINE / 2 };
    const taken = end(arrow.to_row, arrow.to_lane);
    if (!taken) return null;
    const atOnce = arrow.from_row === arrow.to_row;
    return { kind: "message", x1, y1, x2: taken.x, y2: atOnce ? Math.max(taken.y + 4, y1) : taken.top + 1 };
  }

  arrow({ kind, x1, y1, x2, y2 }) {
    const back = x2 >= x1 ? -8 : 8;
    return [svg("line", { class: kind, x1, y1, x2, y2 }), svg("path", { class: `${kind} tip`, d: `M${x2} ${y2} l${back} -4 l0 8 z` })];
  }

  ending() {
    const { ending } = this.story;
    if (!ending) return null;
    const y = this.total + 14;
    return svg("g", { class: "ending" },
      svg("text", { class: "bad", x: LEFT - 14, y, "text-anchor": "end" }, "✗"),
      this.shown.filter((lane) => ending.standing[lane.at].place).map((lane) =>
        svg("text", { class: "bad", x: this.x(lane.at) + 9, y }, cut(ending.standing[lane.at].place, this.letters))));
  }

  /** The number of the row that comes `by` blocks after the chosen one; only of those that matter, if so asked. */
  beside(by, relevant) {
    const told = this.rows.filter(({ block }) => block.kind !== "left" && (!relevant || block.relevant));
    const numbers = [0, ...told.map(({ block }) => block.last)];
    const now = numbers.filter((number) => number <= this.chosen).length - 1;
    const exact = numbers[now] === this.chosen;
    const next = by > 0 ? now + by : now + by + (exact ? 0 : 1);
    return numbers[Math.max(0, Math.min(numbers.length - 1, next))];
  }
}
