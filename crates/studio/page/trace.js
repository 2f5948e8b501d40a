// A run: who does what, the step that is chosen in full, and why it is wrong.

import { checkedAsTyped, el, plural, show } from "./dom.js";
import { drawEntries, together } from "./arrays.js";
import { address, call, whyNoExpression } from "./call.js";
import { Clocks } from "./clocks.js";
import { compareScreen, otherRuns } from "./compare.js";
import { Heap } from "./heap.js";
import { Lanes } from "./lanes.js";
import { Templates } from "./templates.js";

/** What is known of a state, with a filter that stays as one steps. `onplace` is told the place that is clicked, `ontype` a value that is typed. */
export class StateTable {
  constructor(onplace, ontype) {
    this.onplace = onplace;
    this.ontype = ontype;
    this.typed = el("form", { class: "typed-value" });
    this.rows = [];
    this.filter = el("input", { type: "search", placeholder: "filter variables", "aria-label": "Filter variables", oninput: () => this.draw() });
    this.only = el("input", { type: "checkbox", onchange: () => this.draw() });
    this.flat = el("input", { type: "checkbox", onchange: () => this.draw() });
    this.table = el("table", { class: "state" });
    this.node = el("div", {}, el("div", { class: "row" }, this.filter, el("label", {}, this.only, "changed only"), el("label", { title: "Each entry of an array in a line of its own" }, this.flat, "entries")), this.typed, this.table);
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    const words = this.filter.value.toLowerCase().split(/\s+/);
    // What a language keeps for itself is shown to who asks for it.
    const own = (place) => place.startsWith("_") && !this.filter.value.includes("_");
    const fits = ({ place, changed }) => !own(place) && (!this.only.checked || changed) && words.every((word) => place.toLowerCase().includes(word));
    const rows = this.rows.filter(fits).slice(0, 5000);
    const all = this.flat.checked ? rows.map((single) => ({ single })) : together(rows);
    show(this.table, all.slice(0, 1000).map(({ single, base, entries }) => single
      ? el("tr", { class: single.changed ? "changed" : null }, el("th", {}, this.name(single)), el("td", {}, this.value(single)))
      : this.array(base, entries)));
  }

  /** A grid has the whole width; a name beside it would leave it none. Where all entries are the same, that is said in a word. */
  array(base, entries) {
    if (entries.length > 2 && entries.every(({ value, changed }) => value === entries[0].value && !changed) && !this.ontype) return el("tr", {}, el("th", {}, base), el("td", { class: "faint" }, `all ${entries[0].value}`));
    const drawn = drawEntries(entries, this.ontype && ((entry) => this.edit(entry)));
    return drawn.classList.contains("grid") ? el("tr", {}, el("th", { colspan: 2 }, base, el("div", { class: "wide" }, drawn))) : el("tr", {}, el("th", {}, base), el("td", {}, drawn));
  }

  value(it) {
    return this.ontype && !it.made ? el("button", { class: "place", title: `Type another value of ${it.place}`, onclick: () => this.edit(it) }, it.value) : it.value;
  }

  /** A field for another value of a place. */
  edit({ place, value }) {
    const field = el("input", { value, "aria-label": `Value of ${place}`, onkeydown: (event) => { if (event.key === "Escape") show(this.typed); } });
    show(this.typed, el("code", {}, place), "=", field, el("button", {}, "begin there"));
    this.typed.onsubmit = (event) => { event.preventDefault(); show(this.typed); this.ontype(place, field.value); };
    field.select();
  }

  name({ place, made }) {
    return this.onplace ? el("button", { class: "place", title: "Steps that change it", onclick: () => this.onplace(made ? `${place}.len` : place) }, place) : place;
  }
}

/** A field for a run that lies elsewhere on this machine; one can be dropped on the page, too. */
function uploads(frame) {
  const send = async (file) => {
    if (!file) return;
    try {
      const { trace, file: model } = await call("traces", { name: file.name, itf: await file.text() });
      frame.go("trace", { f: model, t: trace });
    } catch (error) { frame.fail(error); }
  };
  const field = el("input", { type: "file", accept: ".json", "aria-label": "A saved run", onchange: () => send(field.files[0]) });
  return el("p", { class: "drop", ondragover: (event) => event.preventDefault(), ondrop: (event) => { event.preventDefault(); send(event.dataTransfer.files[0]); } },
    el("label", {}, "A run that was saved elsewhere (ITF, of any tool; its model is used if it is here): ", field), " or drop it here");
}

export async function traceScreen(root, params, frame) {
  const id = params.get("t");
  if (id && params.get("with")) return compareScreen(root, params, frame);
  if (!id) {
    const [{ files }, { runs }] = await Promise.all([call("files"), call("runs")]);
    const traces = files.filter(({ kind }) => kind === "trace");
    const found = runs.flatMap((run) => run.properties.filter((it) => it.trace).map((it) => ({ run, it })));
    show(root, el("div", { class: "empty" }, el("h2", {}, "Runs that were found"),
      found.length + traces.length ? null : el("p", {}, "None yet: check a model first."),
      uploads(frame),
      el("ul", {}, found.map(({ run, it }) => el("li", {}, el("a", { href: frame.link("trace", { f: run.file, t: it.trace }) }, `${run.file}: ${it.title}`), ` ${plural(it.steps, "step", "steps")}`)),
        traces.map(({ path }) => el("li", {}, el("a", { href: frame.link("trace", { t: "f:" + path }) }, path))))));
    return {};
  }
  const path = `traces/${encodeURIComponent(id)}`;
  let level = Number(params.get("lv") ?? 1);
  let story = await call(`${path}/story?level=${level}`);
  let chosen = Math.min(Number(params.get("s") ?? story.steps), story.steps);
  let asked = null;
  let gone = false;

  const lanes = new Lanes({ onselect: (number) => choose(number), onlanes: (names) => frame.keep({ lanes: names }), shown: params.get("lanes") });
  const step = el("div", { class: "step" });
  const state = new StateTable((place) => follow(place).catch(frame.fail));
  const followed = el("p", { class: "followed" });
  let writers = null;
  let playing = 0;
  let causes = params.get("because") === "1";
  const causesButton = el("button", { title: "Draw what made the chosen step possible (c)", onclick: () => drawCauses(!causes) }, "because");
  let reasons = [];
  function drawCauses(is) {
    causes = is;
    causesButton.setAttribute("aria-pressed", causes ? "true" : "false");
    frame.keep({ because: causes ? 1 : null });
    lanes.explain(causes ? reasons : []);
  }
  const watches = el("div", { class: "watches" });
  const slider = el("input", { type: "range", min: 0, max: story.steps, "aria-label": "Step", oninput: () => choose(Number(slider.value)) });
  const count = el("span", { class: "count" });
  const levels = el("span", { class: "levels", role: "group", "aria-label": "Level" });
  const source = el("div", { class: "source" });
  /** Asks how a variable is to be told, and has that written into the model as a comment. */
  const telling = el("form", { class: "telling", onsubmit: (event) => event.preventDefault() });
  function tellOf(variable) {
    const lane = el("input", { list: "lanes", placeholder: "lane", "aria-label": "Lane", value: "" });
    const names = story.lanes.filter(({ family }) => family === null).map((it) => el("option", { value: it.name }));
    const ask = (how) => direct({ variable, how, lane: how === "lane" ? lane.value.trim() : undefined });
    show(telling, el("code", {}, variable), lane, el("datalist", { id: "lanes" }, names),
      el("button", { onclick: () => lane.value.trim() && ask("lane") }, "move to lane"), el("button", { type: "button", onclick: () => ask("message") }, "is a message"),
      el("button", { type: "button", onclick: () => ask("hide") }, "never show"), el("button", { type: "button", onclick: () => show(telling) }, "×"));
    lane.focus();
  }
  async function direct(asked) {
    try {
      const { line } = await call(`${path}/direct`, asked);
      show(telling);
      story = await call(`${path}/story?level=${level}`);
      lanes.tell(story);
      await choose(chosen);
      frame.say(`written at the end of ${story.file}: ${line}`);
    } catch (error) { frame.fail(error); }
  }
  const heap = new Heap();
  const clocks = new Clocks({ onselect: (number) => choose(number) });
  const templates = new Templates();
  let watched = [];
  const watch = el("input", { placeholder: "watch an expression", "aria-label": "Watch", onchange: () => { add(watch.value); watch.value = ""; } });
  if (!story.alone) checkedAsTyped(watch, (text) => whyNoExpression(story.file, {}, text));

  const LEVELS = ["every step", "moves folded", "what matters", "messages only"];
  async function fold(to) {
    level = to;
    story = await call(`${path}/story?level=${level}`);
    lanes.tell(story);
    lanes.select(chosen);
    drawLevels();
    frame.keep({ lv: level === 1 ? null : level });
  }
  function drawLevels() {
    show(levels, LEVELS.map((title, at) => el("button", { title, "aria-pressed": at === level ? "true" : "false", onclick: () => fold(at).catch(frame.fail) }, String(at))));
  }

  async function choose(number) {
    chosen = Math.max(0, Math.min(story.steps, number));
    slider.value = chosen;
    count.textContent = `${chosen} / ${story.steps}`;
    lanes.select(chosen);
    clocks.select(chosen);
    frame.keep({ s: chosen === story.steps ? null : chosen, t: id });
    asked?.abort();
    asked = new AbortController();
    try {
      const { row } = await call(`${path}/rows/${chosen}`, undefined, { signal: asked.signal });
      drawRow(row);
    } catch (error) { frame.fail(error); }
    drawWatches();
  }

  function drawRow(row) {
    const name = (lane) => (lane === null ? "" : story.lanes[lane].name);
    show(step,
      el("h2", {}, row.number ? `step ${row.number}` : "start", " ", el("span", {}, row.rule)),
      el("p", { class: "faint" }, name(row.lane), row.lane === null || !row.range ? null : " · ",
        row.range ? el("a", { href: frame.link("model", { f: story.file, line: row.range.line }) }, `${row.range.file}:${row.range.line}`) : null,
        row.delay ? ` · after ${row.delay}` : null, row.relevant ? null : " · what is wrong does not hang on it"),
      row.takes.map((label) => el("p", { class: "message" }, `takes ${label}`)),
      el("div", { class: "changes" }, row.changes.map((change) =>
        el("div", { class: "change" }, el("span", { class: "whose" }, name(change.lane)), el("span", {}, change.path), change.variable && !story.alone && !frame.info.read_only ? el("button", { class: "tell", title: `How ${change.variable} is told: move it to a lane, as a message, or not at all`, onclick: () => tellOf(change.variable) }, "⋯") : null,
          el("span", { class: "values" }, change.old === null ? "+ " : el("span", { class: "old" }, change.new === null ? `− ${change.old}` : change.old), change.old !== null && change.new !== null ? " → " : null, el("b", { class: "new" }, change.new ?? ""))))),
      telling,
      row.sends.map((label) => el("p", { class: "message" }, `sends ${label}`)),
      row.output.map((line) => el("p", { class: "output" }, `» ${line}`)),
      row.because.length ? el("p", { class: "because" }, "because ", row.because.slice(0, 12).map((it, at) => [at ? ", " : null, el("code", {}, `${it.place} = ${it.value}`), " ",
        it.row ? el("button", { title: "The step that put it there", onclick: () => choose(it.row) }, `step ${it.row}`) : el("span", { class: "faint" }, "from the start")])) : null,
      row.findings.map(({ name, reason }) => el("p", { class: "bad" }, `✗ ${name}: ${reason}`)));
    reasons = row.because;
    lanes.explain(causes ? reasons : []);
    state.show(row.state);
    templates.stand(row.standing);
    heap.node.hidden = !Heap.fits(row.state);
    if (!heap.node.hidden) heap.show(row.state);
  }

  async function add(expression) {
    if (!expression.trim()) return;
    try {
      const { values } = await call(`${path}/evaluate`, { expression });
      watched.push({ expression, values });
      frame.keep({ w: watched.map((it) => it.expression).join(";") });
    } catch (error) {
      frame.say(error.diagnostics?.[0]?.message ?? error.message);
    }
    drawWatches();
  }
  function drawWatches() {
    show(watches, watched.map(({ expression, values }, at) => {
      const now = values.find(({ from, to }) => from <= chosen && chosen <= to);
      return el("p", {}, el("code", {}, expression), " = ", el("b", {}, now?.value ?? ""),
        el("span", { class: "faint" }, ` ${values.length > 1 ? "changes at " : "never changes"}`),
        values.slice(1, 9).map(({ from }) => [el("button", { onclick: () => choose(from) }, String(from)), " "]),
        el("button", { title: "Forget it", onclick: () => { watched.splice(at, 1); frame.keep({ w: watched.map((it) => it.expression).join(";") }); drawWatches(); } }, "×"));
    }));
  }

  async function drawSource() {
    const causes = story.violated?.causes ?? [];
    if (!causes.length) return;
    const cause = causes[0];
    const file = await call("files/" + cause.range.file.split("/").map(encodeURIComponent).join("/")).catch(() => null);
    if (!file || gone) return;
    const lines = file.text.split("\n").slice(cause.range.line - 1, cause.range.end_line);
    const reads = cause.reads.map(({ place, value }) => `${place} = ${value}`).join(", ");
    show(source, el("span", { class: "faint" }, `${cause.range.file}:${cause.range.line}  `),
      lines.map((line, at) => {
        const letters = [...line];
        const from = at === 0 ? cause.range.column - 1 : 0;
        const to = at === lines.length - 1 ? cause.range.end_column - 1 : letters.length;
        return [letters.slice(0, from).join(""), el("mark", {}, letters.slice(from, to).join("")), letters.slice(to).join(""), "\n"];
      }), el("span", { class: "faint" }, reads ? `  but ${reads}` : ""));
  }

  /** Marks the steps that change a place; `n` and `p` go from one to the next. */
  async function follow(place) {
    writers = await call(`${path}/writers?place=${encodeURIComponent(place)}`);
    lanes.marked = new Set(writers.rows);
    lanes.select(chosen);
    const leave = () => { writers = null; lanes.marked = new Set(); lanes.select(chosen); show(followed); frame.keep({ v: null }); };
    frame.keep({ v: place });
    show(followed, el("code", {}, place), writers.rows.length ? " changes at " : " never changes ",
      writers.rows.slice(0, 12).map((row) => [el("button", { onclick: () => choose(row) }, String(row)), " "]),
      writers.rows.length > 12 ? `and ${writers.rows.length - 12} more ` : null, el("button", { title: "Forget it", onclick: leave }, "×"));
  }
  function toWriter(by) {
    if (!writers) return;
    const next = by > 0 ? writers.rows.find((row) => row > chosen) : writers.rows.findLast((row) => row < chosen);
    if (next !== undefined) choose(next);
  }

  function play() {
    if (playing) { clearInterval(playing); playing = 0; }
    else {
      if (chosen === story.steps) choose(0);
      playing = setInterval(() => (chosen < story.steps ? choose(lanes.beside(1)) : play()), 700);
    }
    playButton.textContent = playing ? "❚❚" : "▷";
  }
  const playButton = el("button", { title: "Play (Space)", onclick: play }, "▷");

  async function keepIt() {
    try {
      const { path: written, command } = await call(`${path}/keep`, {});
      frame.say(`written to ${written}: ${command} says whether it still happens`);
    } catch (error) { frame.fail(error); }
  }

  async function byHand() {
    try {
      const walk = await call(`${path}/walk?row=${chosen}`);
      const set = Object.entries(walk.set).map(([name, value]) => `${name}=${value}`).join(", ");
      frame.go("walk", { f: walk.file, set, p: walk.path });
    } catch (error) { frame.fail(error); }
  }

  const others = await otherRuns(id, (other) => frame.go("trace", { t: id, with: other }));
  const why = story.violated;
  frame.where(`${story.file}${why ? `: ${why.name}` : ""}`);
  const idle = (story.ending?.standing ?? []).flatMap(({ place, obstacles }, lane) => obstacles.map((it) => ({ lane, place, it })));
  show(root,
    el("section", { class: "centre" },
      el("div", { class: "row bar" },
        why ? el("span", { class: "bad" }, "✗ violated") : el("span", {}, "a run"), el("b", {}, why?.title ?? story.file),
        el("span", { class: "faint" }, `${plural(story.steps, "step", "steps")} · ${story.alone ? "from the file alone: its model is not here" : "replayed"}`),
        el("span", { class: "grow" }), levels, story.alone ? null : [causesButton,
        el("button", { title: "Step by hand from here (s)", onclick: byHand }, "step by hand from here"),
        el("button", { title: "The graph of all states, around this one", onclick: () => frame.go("graph", { f: story.file, set: params.get("set"), q: 0, of: `${id}/${chosen}` }) }, "graph"),
        why && story.loops_to === null && !id.startsWith("m:") ? el("button", { title: "Leave out steps that are not needed", onclick: () => frame.go("trace", { f: story.file, set: params.get("set"), t: `m:${id}` }) }, "minimise") : null,
        el("button", { title: "Save it beside the model; shoal trace replay says whether it still happens", disabled: frame.info.read_only, onclick: keepIt }, "keep as a test")],
        others,
        ["text", "mermaid", "plantuml", "html", "itf"].map((how) => el("a", { class: "button", href: address(`${path}/export?as=${how}`), download: true }, how))),
      why ? el("dl", { class: "why" }, why.why.map(({ name, text }) => [el("dt", {}, name), el("dd", {}, text)])) : null,
      story.loops_to === null ? null : el("p", { class: "doubt" }, `⟲ after step ${story.steps} it goes on from step ${story.loops_to}, again and again`),
      lanes.node,
      idle.length ? el("details", { class: "obstacles", open: true }, el("summary", {}, "Why nothing can move"),
        el("table", {}, idle.map(({ lane, place, it }) => el("tr", {}, el("th", {}, `${story.lanes[lane].name} ${place}`), el("td", {}, it.text), el("td", { class: "faint" }, it.reads.map(({ place, value }) => `${place} = ${value}`).join(", ")))))) : null,
      source, clocks.node, heap.node, templates.node),
    el("aside", { class: "right" },
      el("div", { class: "row" }, el("button", { title: "Previous (k)", onclick: () => choose(chosen - 1) }, "◀"), slider, el("button", { title: "Next (j)", onclick: () => choose(chosen + 1) }, "▶"), playButton, count),
      step, followed, el("h2", {}, "State"), state.node, el("h2", {}, "Watch"), watch, watches));
  lanes.tell(story);
  clocks.tell(story);
  templates.tell(story);
  drawLevels();
  drawCauses(causes);
  await choose(chosen);
  drawSource();
  if (params.get("v")) await follow(params.get("v"));
  for (const expression of (params.get("w") ?? "").split(";").filter((it) => it)) await add(expression);

  return {
    leave() { gone = true; asked?.abort(); clearInterval(playing); lanes.leave(); },
    key(event) {
      const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      if (by) choose(lanes.beside(by));
      else if (event.key === "J" || event.key === "K") choose(lanes.beside(event.key === "J" ? 1 : -1, true));
      else if (event.key === "Home") choose(0);
      else if (event.key === "End") choose(story.steps);
      else if (/^[0-3]$/.test(event.key)) fold(Number(event.key)).catch(frame.fail);
      else if (event.key === "c" && !story.alone) drawCauses(!causes);
      else if (event.key === "f") fold(level < 2 ? 2 : 1).catch(frame.fail);
      else if (event.key === "ArrowLeft" || event.key === "ArrowRight") lanes.scroll.scrollLeft += (event.key === "ArrowLeft" ? -1 : 1) * lanes.wide;
      else if (event.key === "s" && !story.alone) byHand();
      else if (event.key === "n" || event.key === "p") toWriter(event.key === "n" ? 1 : -1);
      else if (event.key === " ") play();
      else return false;
      return true;
    },
  };
}
