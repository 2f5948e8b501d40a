// A model, what is wrong with it as it is typed, its properties and their verdicts as they come.

import { VERDICTS, el, later, plural, show } from "./dom.js";
import { CallFailed, call, listen } from "./call.js";
import { Editor } from "./editor.js";

const ending = (path) => path.split(".").pop().toLowerCase();
const kept = (path) => `shoal-text:${path}`;

/** `N=3, M=any` as a call has it. */
export function settings(text) {
  const set = {};
  for (const part of (text ?? "").split(/[,\s]+/).filter((part) => part)) {
    const [name, value] = part.split("=");
    if (!name || !value || !(value === "any" || /^-?\d+$/.test(value))) throw new CallFailed(400, { code: "arguments", message: `“${part}” is not NAME=NUMBER or NAME=any` });
    set[name] = value === "any" ? value : Number(value);
  }
  return set;
}

/** The tree of files, with the one that is open. */
export function fileList(known, open, go) {
  let files = known;
  const list = el("ul", { class: "files", "aria-label": "Files" });
  let marks = new Map();
  const filter = el("input", { type: "search", placeholder: "filter", "aria-label": "Filter files", oninput: () => draw() });
  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/);
    let folder = null;
    const rows = [];
    for (const file of files.filter(({ path }) => words.every((word) => path.toLowerCase().includes(word)))) {
      const parts = file.path.split("/");
      const name = parts.pop();
      if (parts.join("/") !== folder) {
        folder = parts.join("/");
        if (folder) rows.push(el("li", { class: "folder" }, folder + "/"));
      }
      rows.push(el("li", { class: file.path === open ? "open" : null },
        el("a", { href: go(file), "aria-current": file.path === open ? "true" : null, title: file.path }, file.kind === "trace" ? `⇢ ${name}` : name, marks.get(file.path))));
    }
    show(list, rows.length ? rows : el("li", { class: "faint" }, "none"));
  }
  draw();
  /** Shows what the last check of each file has found. */
  function mark(runs) {
    marks = new Map();
    for (const { file, properties, error } of runs.filter((run) => run.stage === "finished")) {
      const count = (verdict) => properties.filter((it) => it.verdict === verdict).length;
      const [kind, sign, number] = error ? ["bad", "!", ""] : count("violated") ? ["bad", "✗", count("violated")] : count("unknown") ? ["doubt", "?", count("unknown")] : ["good", "✓", count("holds")];
      marks.set(file, el("span", { class: kind, title: error ?? `${number} ${sign === "✓" ? "hold" : sign === "✗" ? "violated" : "unknown"}` }, ` ${sign}${number}`));
    }
    draw();
  }
  /** Shows other files. */
  const renew = (now) => { files = now; draw(); };
  return { node: el("aside", { class: "side" }, filter, list), mark, renew };
}

/** A model to begin with. */
const FIRST = `-- Two at a time may not hold the lock.
const N: 3;
type proc: scalarset(N);
var held: boolean; inside: array [proc] of boolean;
startstate held := false; for p: proc do inside[p] := false; end; end;
ruleset p: proc do
  rule "take" !held ==> held := true; inside[p] := true; end;
  rule "give back" inside[p] ==> inside[p] := false; held := false; end;
end;
invariant "one at a time" forall p: proc do forall q: proc do inside[p] & inside[q] -> p = q end end;
`;

/** The lines in which two texts differ, with how they begin and end alike left out. */
function difference(mine, theirs) {
  const [own, other] = [mine.split("\n"), theirs.split("\n")];
  let from = 0, end = 0;
  while (from < Math.min(own.length, other.length) && own[from] === other[from]) from++;
  while (end < Math.min(own.length, other.length) - from && own[own.length - 1 - end] === other[other.length - 1 - end]) end++;
  const lines = (all, sign, kind) => all.slice(from, all.length - end).map((line) => el("span", { class: kind }, `${sign} ${line}`));
  return el("div", { class: "difference mono" }, el("span", { class: "faint" }, `from line ${from + 1}: − on the disk, + here`), lines(other, "−", "bad"), lines(own, "+", "good"));
}

/** How many states each level of a search had, as small bars. */
function sparkline(levels) {
  const [wide, most] = [Math.min(levels.length, 60), Math.max(...levels)];
  const bars = Array.from({ length: wide }, (_, at) => Math.max(...levels.slice(Math.floor((at * levels.length) / wide), Math.max(Math.floor(((at + 1) * levels.length) / wide), Math.floor((at * levels.length) / wide) + 1))));
  return el("span", { class: "sparkline", title: `states by distance from the start, ${levels.length} levels, ${most.toLocaleString("en")} at most` }, bars.map((count) => "▁▂▃▄▅▆▇█"[Math.min(7, Math.floor((8 * count) / (most + 1)))]).join(""));
}

export async function modelScreen(root, params, frame) {
  const { files: known } = await call("files");
  const models = known.filter(({ kind }) => kind === "model");
  if (!models.length) {
    const begin = () => call("files/lock.m", { text: FIRST }, { method: "PUT" }).then(() => frame.go("model", { f: "lock.m" }), frame.fail);
    show(root, el("div", { class: "empty" }, el("p", {}, "There are no models in this folder."), frame.info.read_only ? null : el("button", { class: "main", onclick: begin }, "write lock.m, a first one"),
      el("p", { class: "faint" }, el("code", {}, "shoal new"), " writes one in any language; ", el("code", {}, "shoal studio DIR"), " opens another folder.")));
    return {};
  }
  const file = params.get("f") ?? models[0].path;
  const there = await call("files/" + file.split("/").map(encodeURIComponent).join("/"));
  let saved = there.hash;
  frame.where(file);

  let hash = null;
  let model = null;
  let shownRun = null;
  let heat = "fired";
  let waiting = null;
  let stopListening = () => {};
  let gone = false;

  const editor = new Editor({ onchange: () => { changed(); }, readonly: frame.info.read_only });
  const problems = el("ul", { class: "problems", "aria-label": "Problems" });
  const about = el("p", { class: "faint about" });
  const properties = el("div", { class: "properties" });
  const sorts = el("div", { class: "sorts" });
  const runs = el("div", { class: "runs", "aria-label": "Runs" });
  const dirty = el("span", { class: "dirty", title: "not saved", hidden: true }, "●");
  const set = el("input", { value: params.get("set") ?? "", placeholder: "N=3, M=any", "aria-label": "Constants", onchange: () => { frame.keep({ set: set.value }); look(); } });
  const engine = el("select", { "aria-label": "Engine" }, ["auto", ...frame.info.engines].map((name) => el("option", {}, name)));
  const seconds = el("input", { type: "number", min: "1", value: frame.info.limits.seconds, "aria-label": "Seconds" });
  const memory = el("input", { type: "number", min: "1", max: frame.info.limits.most_memory_mb, value: frame.info.limits.memory_mb, "aria-label": "Megabytes" });
  const neverOnly = el("input", { type: "checkbox", onchange: () => drawVerdicts() });

  const body = () => ({ file, text: editor.text, set: settings(set.value) });

  function changed() {
    const mine = editor.text !== there.text;
    dirty.hidden = !mine;
    if (mine) sessionStorage.setItem(kept(file), editor.text);
    else sessionStorage.removeItem(kept(file));
    hash = null;
    drawVerdicts();
    lookSoon();
  }

  async function look() {
    waiting?.abort();
    waiting = new AbortController();
    const { signal } = waiting;
    try {
      const answer = await call("diagnose", body(), { signal });
      hash = answer.hash;
      drawProblems(answer.diagnostics);
      if (answer.ok) {
        model = await call("model", body(), { signal });
        drawModel();
      } else {
        about.textContent = "";
      }
      drawVerdicts();
    } catch (error) {
      if (error.name === "AbortError") return;
      drawProblems(error.diagnostics ?? [], error.message);
    }
  }
  const lookSoon = later(100, look);

  function drawProblems(diagnostics, message) {
    const own = diagnostics.filter(({ range }) => range.file === file);
    editor.mark(own.map(({ range, severity, message }) => ({ range, kind: severity, title: message })));
    show(problems, message && !diagnostics.length ? el("li", { class: "error" }, message) : null, diagnostics.map((it) =>
      el("li", { class: it.severity },
        el("button", { onclick: () => editor.reveal(it.range) }, `${it.range.line}:${it.range.column}`),
        ` ${it.severity} `, el("code", {}, it.code), ` ${it.message}`, it.help ? el("span", { class: "faint" }, ` ${it.help}`) : null)));
  }

  function drawModel() {
    about.textContent = `${model.language} · ${plural(model.rules.length, "rule", "rules")} · ${plural(model.variables.length, "variable", "variables")} · ${model.plan}`;
    show(sorts, model.sorts.length ? el("div", { class: "row" }, el("h2", {}, "Sorts"), el("button", { id: "what-if", title: "How many states there are with symmetry, and how many without", onclick: () => whatIf().catch(frame.fail) }, "with and without symmetry")) : null, compared, model.sorts.map((sort) =>
      el("details", { class: "sort" },
        el("summary", {}, el("b", {}, sort.name), ` = ${sort.size} `, el("span", { class: sort.proved ? "good" : "doubt" }, sort.proved ? "symmetric: proved" : "not proved symmetric")),
        sort.breaks.map(({ range, text }) => el("p", {}, el("button", { onclick: () => editor.reveal(range) }, `${range.line}:${range.column}`), ` ${text}`)))),
      model.hints.map(({ name, with: others, range }) => el("p", { class: "sort" }, el("button", { onclick: () => editor.reveal(range) }, `${range.line}:${range.column}`), " ", el("b", {}, name),
        " could be a scalarset", others.length ? ` (the same one as ${others.join(", ")})` : null, ": its values are only compared")));
  }

  /** How many states a search visits with symmetry, and how many without. */
  const compared = el("p", { class: "what-if faint" });
  async function whatIf() {
    const asked = { ...body(), engine: engine.value, seconds: Number(seconds.value), memory_mb: Number(memory.value), all: true };
    show(compared, "searching twice…");
    const search = async (extra) => {
      const { run } = await call("runs", { ...asked, ...extra });
      drawRunsSoon();
      await new Promise((resolve) => listen(run.id, (event) => event.event === "over" && resolve()));
      return (await call(`runs/${run.id}`)).run;
    };
    const [reduced, plain] = [await search({}), await search({ no_symmetry: true })];
    const words = ({ statistics, error, cancelled, seconds: took, properties: all }) => {
      const whole = all.every(({ verdict }) => verdict !== "unknown") && !cancelled;
      return error ?? `${whole ? "" : "more than "}${plural(statistics?.states ?? 0, "state", "states")} in ${took.toFixed(1)} s`;
    };
    const [few, many] = [reduced.statistics?.states, plain.statistics?.states];
    show(compared, `with symmetry ${words(reduced)}, without ${words(plain)}`, few && many ? (few === many ? ": as many" : `: ${(many / few).toFixed(1)} times as many`) : null);
  }

  /** Whether the run that is shown is about what is in the field. */
  const isCurrent = () => shownRun && hash === shownRun.hash && JSON.stringify(shownRun.set) === JSON.stringify(settings(set.value));

  function drawVerdicts() {
    if (gone) return;
    const of = new Map((shownRun?.properties ?? []).map((it) => [it.name, it]));
    const current = isCurrent();
    const list = model?.properties ?? shownRun?.properties ?? [];
    show(properties,
      el("div", { class: "row" }, el("h2", {}, "Properties"), el("button", { class: "main", id: "check", onclick: () => check() }, "▶ check all")),
      shownRun && !current && hash ? el("p", { class: "older" }, "The verdicts are of an older text.") : null,
      list.length ? null : el("p", { class: "faint" }, "Nothing is asked of the model: add an invariant."),
      list.map((property) => drawProperty(property, of.get(property.name), current)),
      current && list.length && shownRun.stage === "finished" && list.every((it) => of.get(it.name)?.verdict === "holds") ? el("p", { class: "row" }, wanted, el("button", { onclick: goTo }, "show")) : null,
      shownRun?.advice ? el("p", { class: "advice" }, shownRun.advice.text, " ", shownRun.advice.action ? el("button", { onclick: () => more(shownRun.advice.action) }, "do that") : null) : null);
    const lines = new Map();
    if (shownRun?.coverage && heat && current) {
      const counts = new Map();
      for (const { range, fired, fresh, time } of shownRun.coverage.rules) {
        if (range.file !== file || fired === null) continue;
        const known = counts.get(range.line) ?? { fired: 0, fresh: 0, time: null };
        counts.set(range.line, { fired: known.fired + fired, fresh: known.fresh + (fresh ?? 0), time: time === null ? known.time : (known.time ?? 0) + time });
      }
      const most = Math.log2(2 + Math.max(0, ...[...counts.values()].map((it) => it[heat])));
      const percent = (time) => `${(100 * time).toFixed(time < 0.095 ? 1 : 0)} %`;
      for (const [line, { fired, fresh, time }] of counts) {
        if (neverOnly.checked && fired) continue;
        // A share of the time is one as it is; counts are told apart by powers.
        const [text, share] = heat === "time" ? [time === null ? "?" : percent(time), time ?? 0] : [(heat === "fired" ? fired : fresh).toLocaleString("en"), Math.log2(1 + (heat === "fired" ? fired : fresh)) / most];
        const spent = time === null ? "" : `, ${percent(time)} of the time of all steps`;
        lines.set(line, { text: fired ? text : "never", kind: fired ? "fired" : "never", share: fired ? share : 0, title: fired ? `fired ${fired.toLocaleString("en")} times, ${fresh.toLocaleString("en")} of them to new states${spent}` : "never fired" });
      }
    }
    // A property says in its line what is known of it.
    if (current) for (const property of list) {
      const verdict = of.get(property.name)?.verdict;
      // What no line asks for stands at the beginning.
      const asked = property.range.line > 1 || property.range.end_column > 1;
      if (verdict && asked && property.range.file === file && !lines.has(property.range.line)) lines.set(property.range.line, { text: VERDICTS[verdict][0], kind: VERDICTS[verdict][2], title: VERDICTS[verdict][1] });
    }
    editor.know(lines);
  }

  /** Nothing is wrong: a run in which something happens that somebody wants to see. */
  const wanted = el("input", { placeholder: "show a run in which…", "aria-label": "Show a run in which", onkeydown: (event) => { if (event.key === "Enter") goTo(); } });
  const goTo = () => wanted.value.trim() && frame.go("walk", { f: file, set: set.value, until: wanted.value });

  function drawProperty(property, known, current) {
    const running = shownRun && shownRun.stage !== "finished" && known && !known.verdict;
    const [sign, word, kind] = known?.verdict ? VERDICTS[known.verdict] : running ? ["◌", "checking…", "faint"] : ["·", "", "faint"];
    return el("div", { class: current || !known ? "property" : "property stale", "data-verdict": known?.verdict },
      el("div", { class: "row" },
        el("span", { class: kind }, `${sign} ${word}`),
        el("span", { class: "grow" }),
        known?.trace ? el("a", { class: "button", href: frame.link("trace", { f: file, set: set.value, t: known.trace }) }, `${plural(known.steps, "step", "steps")}: open`) : null,
        known?.witness ? el("a", { class: "button", href: frame.link("trace", { f: file, set: set.value, t: known.witness }) }, "show a run") : null,
        el("button", { title: "Check this property", onclick: () => check([property.name]) }, "▶")),
      el("button", { class: "title", onclick: () => editor.reveal(property.range) }, property.title),
      known?.reason ? el("p", { class: "reason" }, known.reason) : null,
      (known?.causes ?? []).slice(0, 2).map((cause) => el("p", { class: "reason" }, el("code", {}, cause.text), " fails for ", cause.bindings.map(({ place, value }) => `${place} = ${value}`).join(", ") || "this state")));
  }

  const rows = new Map();

  /** The row of a run: the same as long as it is at the same stage, so that its button stays under the hand. */
  function row(run) {
    const progress = run.progress;
    const counted = run.statistics ?? progress;
    const words = [run.cancelled ? "stopped" : run.stage, run.error, run.statistics?.engine, counted ? plural(counted.states ?? 0, "state", "states") : null,
      progress && run.stage === "running" ? `frontier ${progress.frontier.toLocaleString("en")} · depth ${progress.depth}` : null,
      `${run.seconds.toFixed(1)} s`, counted?.memory_bytes ? `${(counted.memory_bytes / 1e6).toFixed(1)} MB` : null].filter((part) => part).join(" · ");
    const known = rows.get(run.id);
    if (known?.stage === run.stage) {
      known.said.textContent = words;
      return known.node;
    }
    const said = el("span", { class: "faint" }, words);
    const node = el("div", { class: "run", "data-stage": run.stage },
      el("b", {}, `run ${run.id}`), ` ${run.file} `, said,
      run.statistics?.levels.length > 1 ? sparkline(run.statistics.levels) : null,
      " ", run.stage === "finished" ? null : el("button", { onclick: () => stop(run.id) }, "■ stop"));
    rows.set(run.id, { stage: run.stage, said, node });
    return node;
  }

  async function drawRuns() {
    const { runs: all } = await call("runs");
    if (gone) return;
    files.mark(all);
    const nodes = all.slice(-4).reverse().map(row);
    if (nodes.length !== runs.children.length || nodes.some((node, at) => node !== runs.children[at])) show(runs, nodes);
    // Others may run that this page does not listen to.
    if (all.some((run) => run.stage !== "finished")) setTimeout(() => gone || drawRunsSoon(), 500);
  }
  const drawRunsSoon = later(100, () => drawRuns().catch(frame.fail));

  async function follow(id) {
    stopListening();
    const refresh = async () => {
      shownRun = (await call(`runs/${id}`)).run;
      if (gone) return;
      if (shownRun.error) drawProblems(shownRun.diagnostics, shownRun.error);
      drawVerdicts();
    };
    await refresh();
    stopListening = listen(id, async (event) => {
      if (gone) return;
      if (event.event !== "progress") await refresh().catch(frame.fail);
      if (event.event === "over") {
        const words = shownRun.properties.map((it) => it.verdict);
        frame.say(`run ${id} is over: ${["violated", "unknown", "holds"].map((word) => `${words.filter((it) => it === word).length} ${word}`).join(", ")}`);
      }
      drawRunsSoon();
    });
  }

  async function check(names, extra = {}) {
    try {
      const asked = { ...body(), engine: engine.value, seconds: Number(seconds.value), memory_mb: Number(memory.value), ...extra };
      if (names) asked.properties = names;
      const { run } = await call("runs", asked);
      frame.keep({ run: run.id });
      frame.say(`run ${run.id} begins`);
      await Promise.all([drawRuns(), follow(run.id)]);
    } catch (error) { frame.fail(error); }
  }

  function more(action) {
    if (action === "seconds") seconds.value = Number(seconds.value) * 4;
    if (action === "memory_mb") memory.value = Number(memory.value) * 2;
    check(undefined, action === "all" ? { all: true } : {});
  }

  /** The property that the cursor is in, or the next above it. */
  function here() {
    const line = editor.text.slice(0, editor.field.selectionStart).split("\n").length;
    const above = (model?.properties ?? []).filter(({ range }) => range.file === file && range.line <= line);
    return above.length ? [above[above.length - 1].name] : undefined;
  }

  function nextProblem() {
    const at = editor.field.selectionStart;
    const next = editor.marks.find(({ range }) => editor.offset(range.line, range.column) > at) ?? editor.marks[0];
    if (next) editor.reveal(next.range);
  }

  async function stop(id) {
    try {
      await call(`runs/${id}`, undefined, { method: "DELETE" });
      drawRunsSoon();
    } catch (error) { frame.fail(error); }
  }

  async function save() {
    try {
      const answer = await call("files/" + file.split("/").map(encodeURIComponent).join("/"), { text: editor.text, hash: saved }, { method: "PUT" });
      saved = answer.hash;
      there.text = editor.text;
      changed();
      frame.say("saved");
    } catch (error) {
      if (error.code === "changed") await showConflict();
      frame.fail(error);
    }
  }
  /** The address that opens the file in somebody's own editor, at the cursor. */
  function elsewhere() {
    const line = editor.text.slice(0, editor.field.selectionStart).split("\n").length;
    const path = `${frame.info.root}/${file}`.split("/").map(encodeURIComponent).join("/");
    return frame.info.editor.replace("{path}", path).replace("{line}", line);
  }
  /** The file has changed on the disk: where nothing was typed, that is the text now. */
  async function renew() {
    const theirs = await call("files/" + file.split("/").map(encodeURIComponent).join("/"));
    if (gone || theirs.hash === saved) return;
    if (editor.text !== there.text) return showConflict();
    [saved, there.text] = [theirs.hash, theirs.text];
    editor.open(theirs.text, ending(file));
    changed();
    frame.say("the file has changed on the disk, and so has the text");
  }
  const conflict = el("div", { class: "conflict", role: "alert" });
  async function showConflict() {
    const theirs = await call("files/" + file.split("/").map(encodeURIComponent).join("/"));
    const take = () => { sessionStorage.removeItem(kept(file)); location.reload(); };
    const keep = () => { saved = theirs.hash; show(conflict); save(); };
    show(conflict, "The file has changed on the disk. ", el("button", { onclick: take }, "take theirs"), el("button", { onclick: (event) => event.target.replaceWith(difference(editor.text, theirs.text)) }, "show the difference"), el("button", { onclick: keep }, "keep mine"));
  }

  const files = fileList(known, file, (it) => it.kind === "trace" ? frame.link("trace", { t: "f:" + it.path }) : frame.link("model", { f: it.path }));
  show(root, files.node,
    el("section", { class: "centre" },
      el("div", { class: "row bar" }, el("b", {}, file), dirty, el("span", { class: "grow" }),
        el("label", {}, "coverage ", el("select", { "aria-label": "Coverage", onchange: (event) => { heat = event.target.value; drawVerdicts(); } }, [["fired", "fired"], ["fresh", "new states"], ["time", "time"], ["", "off"]].map(([value, title]) => el("option", { value }, title)))),
        el("label", { title: "Mark only the rules that never fired" }, neverOnly, "never fired"),
        el("a", { class: "button", href: frame.link("walk", { f: file, set: set.value }) }, "step by hand"),
        frame.info.editor ? el("a", { class: "button", id: "elsewhere", href: elsewhere(), title: "Open the file in my editor, at the line of the cursor", onclick: (event) => { event.currentTarget.href = elsewhere(); } }, "my editor ↗") : null,
        el("button", { disabled: frame.info.read_only, onclick: save, title: "Save (Ctrl+S)" }, "save")),
      about, conflict, editor.node, problems),
    el("aside", { class: "right" }, properties,
      el("h2", {}, "How"),
      el("div", { class: "how" }, el("label", {}, "constants", set), el("label", {}, "engine", engine), el("label", {}, "seconds", seconds), el("label", {}, "megabytes", memory)),
      sorts),
    runs);
  editor.open(sessionStorage.getItem(kept(file)) ?? there.text, ending(file));
  dirty.hidden = editor.text === there.text;
  await look();
  if (params.get("run")) await follow(params.get("run")).catch(() => frame.keep({ run: null }));
  if (params.get("line")) editor.reveal({ line: Number(params.get("line")), column: 1 });
  drawRuns().catch(frame.fail);

  return {
    leave() { gone = true; stopListening(); waiting?.abort(); },
    news({ event, paths }) {
      if (event === "run") return drawRunsSoon();
      call("files").then(({ files: now }) => files.renew(now)).catch(frame.fail);
      if (!paths || paths.includes(file)) renew().catch(frame.fail);
    },
    shortcut(event) {
      const control = event.ctrlKey || event.metaKey;
      if (control && event.shiftKey && event.key === "Enter") check(here());
      else if (control && event.key === "Enter") check();
      else if (event.altKey && event.key === "F8") nextProblem();
      else if (control && event.key === "s") save();
      else if (event.key === "Escape" && shownRun && shownRun.stage !== "finished") stop(shownRun.id);
      else return false;
      return true;
    },
  };
}
