// A text field with colours, numbers, marks and what is known of each line. Editing is the browser's own.

import { el, show } from "./dom.js";

const WORDS = {
  m: "alias array begin boolean by case clear const cover do else elsif end endalias endexists endfor endforall endfunction endif endprocedure endrecord endrule endruleset endstartstate endswitch endwhile enum error exists false for forall from function if in invariant assert assume isundefined ismember fairness liveness multiset multisetadd multisetcount multisetremove multisetremovepred choose of print procedure program put record return rule ruleset scalarset startstate switch symmetry then to true type undefine union until var while",
  pml: "active assert atomic bit bool break byte chan d_step do else empty enabled eval false fi full goto hidden if init inline int len ltl mtype nempty never nfull od of pid printf proctype provided run short show skip timeout true typedef unless unsigned xr xs select for in new delete",
  vpl: "mode rate when goto clock sync discrete process global local initially merge_graph read_write shield_clock symmetry print_graph model_check bypass_internal_transition inv true false and or not tctl",
  xta: "process state init trans guard sync assign commit urgent clock int bool chan broadcast const typedef system true false forall exists select if else while for do return void struct",
  red: "process local global pointer discrete clock mode rate when may goto true false parameterized symmetric inv initially risk",
  bp: "decl void bool main begin end if then fi else while do od goto assert assume skip start_thread atomic_begin atomic_end dead print return constrain schoose",
};
WORDS.dpml = WORDS.prom = WORDS.promela = WORDS.pml;
const COMMENTS = { m: "--[^\\n]*|/\\*[^]*?\\*/", pml: "//[^\\n]*|/\\*[^]*?\\*/" };

/** The parts of a text that have a colour: from, to, class. */
function parts(text, ending) {
  const words = new Set((WORDS[ending] ?? WORDS.pml).split(" "));
  const comment = COMMENTS[ending] ?? COMMENTS.pml;
  const pattern = new RegExp(`(${comment})|("(?:[^"\\\\\\n]|\\\\.)*")|(\\b\\d+\\b)|([A-Za-z_]\\w*)`, "g");
  const found = [];
  for (const match of text.matchAll(pattern)) {
    const kind = match[1] ? "comment" : match[2] ? "string" : match[3] ? "number" : words.has(match[4].toLowerCase()) ? "word" : null;
    if (kind) found.push([match.index, match.index + match[0].length, kind]);
  }
  return found;
}

/** The places of the bracket beside a place and of its partner; nothing if there are none. Partners further away are not looked for. */
function partners(text, cursor) {
  const [open, close, far] = ["([{", ")]}", 20_000];
  for (const at of [cursor - 1, cursor]) {
    const letter = text[at] ?? "";
    const way = letter && open.includes(letter) ? 1 : letter && close.includes(letter) ? -1 : 0;
    if (!way) continue;
    const kind = (way > 0 ? open : close).indexOf(letter);
    let depth = 0;
    for (let to = at; to >= 0 && to < text.length && Math.abs(to - at) < far; to += way) {
      if (text[to] === open[kind]) depth += 1;
      if (text[to] === close[kind]) depth -= 1;
      if (depth === 0) return [at, to].sort((one, other) => one - other);
    }
  }
  return [];
}

/** Larger texts are shown without colours. */
const COLOURED = 400_000;
/** So many lines above and below those in sight are drawn. */
const MORE = 150;

export class Editor {
  constructor({ onchange, readonly }) {
    this.gutter = el("div", { class: "gutter", "aria-hidden": "true" });
    this.paint = el("pre", { class: "paint", "aria-hidden": "true" });
    this.marked = el("pre", { class: "marked", "aria-hidden": "true" });
    this.field = el("textarea", { spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Model", readonly });
    this.layers = el("div", { class: "layers" }, this.marked, this.paint, this.field);
    this.node = el("div", { class: "editor" }, this.gutter, this.layers);
    this.ending = "m";
    this.marks = [];
    this.brackets = [];
    this.parts = [];
    this.drawn = [0, 0];
    this.lines = new Map();
    this.field.addEventListener("scroll", () => this.follow());
    this.field.addEventListener("input", () => { this.draw(); onchange(); });
    for (const moved of ["keyup", "click", "focus", "blur"]) this.field.addEventListener(moved, () => this.match());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey) {
        event.preventDefault();
        document.execCommand("insertText", false, "  ");
      }
    });
  }

  get text() { return this.field.value; }

  open(text, ending) {
    this.brackets = [];
    this.ending = ending;
    this.field.value = text;
    this.marks = [];
    this.lines = new Map();
    this.field.setSelectionRange(0, 0);
    this.field.scrollTop = 0;
    this.draw();
  }

  /** Where lines begin. */
  starts() {
    if (this.known !== this.text) {
      this.known = this.text;
      this.begins = [0];
      for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1)) this.begins.push(at + 1);
    }
    return this.begins;
  }

  /** The place of a line and a column, which count characters from one. */
  offset(line, column) {
    const from = this.starts()[line - 1];
    if (from === undefined) return this.text.length;
    let at = from;
    for (let left = column - 1; left > 0 && at < this.text.length && this.text[at] !== "\n"; left--) at += this.text.codePointAt(at) > 0xffff ? 2 : 1;
    return at;
  }

  /** Marks: `{range, kind, title}`. */
  mark(marks) {
    this.marks = marks;
    this.drawMarks();
  }

  /** What is known of lines: number to `{text, kind, share, title}`. */
  know(lines) {
    this.lines = lines;
    this.drawGutter();
  }

  /** Shows a place and puts the cursor there. */
  reveal(range) {
    const from = this.offset(range.line, range.column);
    const to = Math.max(from, this.offset(range.end_line ?? range.line, range.end_column ?? range.column));
    this.field.focus({ preventScroll: true });
    this.field.setSelectionRange(from, to);
    this.field.scrollTop = Math.max(0, (range.line - 1) * this.height() - this.field.clientHeight / 3);
    this.follow();
  }

  height() { return parseFloat(getComputedStyle(this.field).lineHeight) || 18; }

  /** The lines that are in sight: the first and the one after the last. */
  sight() {
    const { scrollTop, clientHeight } = this.field;
    const height = this.height();
    return [Math.floor(scrollTop / height), Math.ceil((scrollTop + (clientHeight || 1000)) / height) + 1];
  }

  /** What is drawn moves with the text; where the end of it comes into sight, more is drawn. */
  follow() {
    const { scrollLeft, scrollTop } = this.field;
    const [first, last] = this.sight();
    const lines = this.starts().length;
    if (first < this.drawn[0] || Math.min(last, lines) > this.drawn[1]) return this.drawLines();
    const down = this.drawn[0] * this.height() - scrollTop;
    for (const layer of [this.paint, this.marked]) layer.style.transform = `translate(${-scrollLeft}px, ${down}px)`;
    this.gutter.style.setProperty("--scroll", `${down}px`);
  }

  draw() {
    this.parts = this.text.length <= COLOURED ? parts(this.text, this.ending) : [];
    this.drawLines();
  }

  /** Draws the lines in sight and some more: of a long text only a part changes with each key. */
  drawLines() {
    const [first, last] = this.sight();
    this.drawn = [Math.max(0, first - MORE), Math.min(this.starts().length, last + MORE)];
    show(this.paint, this.spans(this.parts));
    this.drawMarks();
    this.drawGutter();
    this.follow();
  }

  /** The text of the drawn lines, with some parts of the whole text in elements of their own. */
  spans(all) {
    const begins = this.starts();
    let at = begins[this.drawn[0]] ?? 0;
    const end = begins[this.drawn[1]] ?? this.text.length;
    const nodes = [];
    for (const [from, to, kind] of all) {
      if (to <= at || Math.max(from, at) >= end) continue;
      // A comment may begin above.
      const start = Math.max(from, at);
      nodes.push(this.text.slice(at, start), el("span", { class: kind }, this.text.slice(start, Math.min(to, end))));
      at = Math.min(to, end);
    }
    nodes.push(this.text.slice(at, end) + "\n");
    return nodes;
  }

  /** Marks the bracket beside the cursor and the one that belongs to it. */
  match() {
    const before = this.brackets.join();
    const { selectionStart: at, selectionEnd: end } = this.field;
    this.brackets = document.activeElement === this.field && at === end ? partners(this.text, at) : [];
    if (this.brackets.join() !== before) this.drawMarks();
  }

  drawMarks() {
    const spans = this.marks.map(({ range, kind }) => {
      const from = this.offset(range.line, range.column);
      return [from, Math.max(from + 1, this.offset(range.end_line, range.end_column)), kind];
    });
    spans.push(...this.brackets.map((from) => [from, from + 1, "bracket"]));
    spans.sort((one, other) => one[0] - other[0]);
    let at = 0;
    const apart = spans.filter(([from, to]) => from >= at && (at = to));
    show(this.marked, this.spans(apart));
  }

  drawGutter() {
    const worst = new Map();
    for (const { range, kind, title } of this.marks) if (!worst.has(range.line) || kind === "error") worst.set(range.line, { kind, title });
    const row = (line) => {
      const known = this.lines.get(line);
      const mark = worst.get(line);
      const row = el("div", { class: mark ? `row ${mark.kind}` : "row", title: mark?.title ?? known?.title },
        known ? el("span", { class: `known ${known.kind}` }, known.text) : null,
        el("span", { class: "line" }, String(line)));
      if (known?.share !== undefined) row.style.setProperty("--share", known.share.toFixed(3));
      return row;
    };
    const [first, last] = this.drawn;
    show(this.gutter, el("div", { class: "rows" }, Array.from({ length: last - first }, (_, at) => row(first + at + 1))));
  }
}
