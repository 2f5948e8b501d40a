// The desk: state-graphs as boxes that are merged, reduced and checked. What is on it follows from the steps, which the address has.

import { el, plural, show, svg } from "./dom.js";
import { call } from "./call.js";
import { settings } from "./model.js";
import { drawPicture } from "./picture.js";
import { Templates } from "./templates.js";

/** The steps of a manipulation part that is a list, as the desk records it; nothing if it is a program with loops and conditions. */
export function stepsOf(text, reducers) {
  const part = text.replace(/--.*$/gm, "").split(/\bmanipulation\b/)[1] ?? "";
  const boxes = new Map();
  const box = (name) => boxes.get(name) ?? name;
  const steps = [];
  let made = 0;
  for (const statement of part.split(";").map((it) => it.replace(/\s+/g, " ").trim()).filter((it) => it && !/^graph |^model_check|^print_graph/.test(it))) {
    const merge = statement.match(/^(.+?) := merge_graph\((.+?), ?(.+)\)$/);
    const reduce = statement.match(/^(?:.+ := )?(\w+)\((.+)\)$/);
    const copy = statement.match(/^(\S+) := (\S+)$/);
    if (merge) {
      steps.push(`merge ${box(merge[2])} ${box(merge[3])}`);
      boxes.set(merge[1], `g${++made}`);
    } else if (reduce && reducers.some(({ name }) => name === reduce[1])) steps.push(`${reducers.find(({ name }) => name === reduce[1]).short} ${box(reduce[2])}`);
    else if (copy) boxes.set(copy[1], box(copy[2]));
    else return null;
  }
  return steps;
}

const family = (name) => name.replace(/\[.*/, "");

export async function deskScreen(root, params, frame) {
  const { files } = await call("files");
  const models = files.filter(({ path }) => path.endsWith(".vpl"));
  let file = params.get("f");
  if (!file?.endsWith(".vpl")) file = models[0]?.path;
  if (!file) {
    show(root, el("p", { class: "empty" }, "State-graphs are made of VPL models, and there are none in this folder."));
    return {};
  }
  const set = settings(file === params.get("f") ? params.get("set") : "");
  // Every sequence of steps that was on the desk: a tree, as each begins like another.
  const branches = (params.get("branches") ?? "").split("|").filter((it) => it).map((it) => it.split(";"));
  let steps = (params.get("steps") ?? "").split(";").filter((it) => it);
  let undone = [];
  let selected = [];
  let desk = null;
  let kind = "nodes";
  let compared = [];
  /** Merges that would make more nodes than this are given up. */
  let most = Number(params.get("most") ?? 1_000_000);
  frame.where(`${file}: desk`);

  const boxes = el("div", { class: "boxes", role: "listbox", "aria-multiselectable": "true", "aria-label": "State-graphs" });
  const tools = el("div", { class: "tools" });
  const chart = el("div", { class: "chart" });
  const history = el("div", { class: "history" });
  const inside = el("div", { class: "inside" });
  const code = el("pre", { class: "vpl" });
  const automata = new Templates();
  const body = (more) => ({ file, set, steps, most, seconds: 600, ...more });

  /** Why the last steps could not be made, and those before. */
  let refused = "";
  let made = [];
  /** Whether the steps can be made; if not, those before stay. */
  async function look() {
    try {
      desk = await call("desk", body());
      [made, refused] = [steps, ""];
    } catch (error) {
      frame.say(error.message);
      refused = error.message;
      steps = made;
      desk ??= await call("desk", body());
    }
    selected = selected.filter((name) => desk.boxes.some((it) => it.name === name));
    frame.keep({ f: file, steps: steps.join(";"), branches: branches.map((it) => it.join(";")).join("|") });
    draw();
  }
  /** Makes a step: what came of it; nothing if it cannot be made, and that is said. */
  async function make(step) {
    const before = steps.length;
    steps = [...steps, step];
    undone = [];
    await look();
    const done = desk.done[before];
    if (!done) return null;
    if (step.startsWith("merge")) selected = [done.box];
    frame.say(`${done.text}: ${size(done)}`);
    draw();
    inside.hidden = true;
    return done;
  }
  const undo = async () => { if (steps.length) { remember(); undone.push(steps[steps.length - 1]); steps = steps.slice(0, -1); await look().catch(frame.fail); } };
  const redo = async () => { if (undone.length) { steps = [...steps, undone.pop()]; await look().catch(frame.fail); } };
  /** Keeps the steps as a branch that one can come back to. */
  function remember() {
    const text = steps.join(";");
    const known = branches.findIndex((it) => text.startsWith(it.join(";")));
    if (branches.some((it) => it.join(";").startsWith(text))) return;
    if (known >= 0) branches.splice(known, 1);
    branches.push(steps);
  }

  function select(name) {
    selected = selected.includes(name) ? selected.filter((it) => it !== name) : [...selected, name].slice(-2);
    draw();
  }

  function drawBoxes() {
    const shown = [];
    const alike = new Map();
    for (const box of desk.boxes) {
      const key = `${family(box.name)}/${box.nodes}/${box.arcs}/${box.processes.length}`;
      const before = alike.get(key);
      // Like processes beyond the third are one box, unless one is chosen.
      if (box.processes.length === 1 && before?.length >= 3 && !selected.includes(box.name)) { before.rest.push(box); continue; }
      if (box.processes.length === 1) {
        const group = before ?? Object.assign([], { rest: [] });
        group.push(box);
        alike.set(key, group);
      }
      shown.push(box);
    }
    const nodes = shown.map((box) => el("button", { class: "box", role: "option", draggable: "true", "aria-selected": selected.includes(box.name) ? "true" : "false", "data-box": box.name,
      onclick: () => select(box.name), ondblclick: () => open(box.name),
      ondragstart: (event) => event.dataTransfer.setData("text/plain", box.name),
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => { event.preventDefault(); const other = event.dataTransfer.getData("text/plain"); if (other && other !== box.name) make(`merge ${other} ${box.name}`).catch(frame.fail); } },
      el("b", {}, box.name), el("span", {}, box.processes.length > 1 ? box.processes.join(" ") : ""),
      el("span", {}, `${plural(box.nodes, "node", "nodes")} · ${plural(box.arcs, "arc", "arcs")}`),
      el("span", { class: "faint" }, [box.reducers.join(" "), box.only_reachability ? "only reachability from here on" : "", box.closed ? "all processes" : ""].filter((it) => it).join(" · "))));
    for (const group of alike.values())
      if (group.rest.length) nodes.push(el("details", { class: "box rest" }, el("summary", {}, `${group.rest.length} × like ${group[2].name}`), group.rest.map((box) => el("button", { "data-box": box.name, onclick: () => select(box.name) }, box.name))));
    show(boxes, nodes);
  }

  async function preview(name, into) {
    const { reducers } = await call("desk/preview", body({ box: name }));
    const now = desk.boxes.find((it) => it.name === name);
    const best = Math.min(...reducers.filter((it) => it.nodes !== null).map((it) => it.nodes));
    show(into, el("table", {}, reducers.map((it, at) => {
      const known = desk.reducers.find(({ short }) => short === it.short);
      return el("tr", {}, el("td", {}, el("kbd", {}, String(at + 1))), el("td", {}, el("button", { title: `keeps ${known.keeps}`, "data-reducer": it.short, onclick: () => make(`${it.short} ${name}`).catch(frame.fail) }, known.name)),
        el("td", {}, it.refused ?? `${now.nodes.toLocaleString("en")} → ${it.nodes.toLocaleString("en")} nodes, ${it.arcs.toLocaleString("en")} arcs`, it.nodes === best && best < now.nodes ? " ★" : ""));
    })));
  }

  function drawTools() {
    const [one, two] = selected;
    const into = el("div", {});
    show(tools,
      !one ? el("p", { class: "faint" }, "Choose a box, or two. Drag one onto another to merge them.") : null,
      one && two ? [el("div", { class: "row" }, el("b", {}, `${one}, ${two}`), el("button", { class: "main", id: "merge", onclick: () => make(`merge ${one} ${two}`).catch(frame.fail) }, "merge (m)")), guard(one, two)] : null,
      one && !two ? [el("div", { class: "row" }, el("b", {}, one), el("button", { onclick: () => open(one) }, "open"), el("button", { id: "model-check", onclick: () => check(one) }, "model-check (c)")), el("h2", {}, "Reduce"), into] : null);
    if (one && !two) preview(one, into).catch(frame.fail);
  }

  /** How large a merge could become, and where it is given up. */
  function guard(one, two) {
    const [left, right] = [one, two].map((name) => desk.boxes.find((it) => it.name === name).nodes);
    return el("p", { class: left * right > most ? "doubt" : "faint" }, `${left.toLocaleString("en")} × ${right.toLocaleString("en")} = ${(left * right).toLocaleString("en")} pairs of nodes; given up at `, limit);
  }
  const limit = el("input", { type: "number", min: 1, value: most, "aria-label": "Give a merge up at so many nodes", onchange: () => { most = Math.max(1, Number(limit.value)); frame.keep({ most: most === 1_000_000 ? null : most }); drawTools(); } });

  async function check(name) {
    const { properties } = await call("desk/check", body({ box: name }));
    inside.hidden = false;
    show(inside, el("h2", {}, `${name}: properties`), properties.map((it) => el("p", { class: it.holds === true ? "good" : it.holds === false ? "bad" : "doubt" }, `${it.holds === true ? "✓" : it.holds === false ? "✗" : "?"} ${it.name}: ${it.text}`)));
  }

  async function open(name) {
    inside.hidden = false;
    const box = desk.boxes.find((it) => it.name === name);
    show(inside, el("h2", {}, name), el("p", {}, `${box.processes.join(" ")} · ${plural(box.nodes, "node", "nodes")} · ${plural(box.arcs, "arc", "arcs")} · ${plural(box.clocks, "clock", "clocks")} · made in ${box.seconds.toFixed(3)} s`),
      el("p", { class: "faint" }, box.only_reachability ? "only what can be reached may still be asked of it" : "all formulas may still be asked of it"));
    try {
      const { picture } = await call("desk/picture", body({ box: name }));
      inside.append(drawPicture(picture, picture.nodes.map((_, at) => ({ start: at === 0 }))));
    } catch (error) { inside.append(el("p", { class: "faint" }, error.message)); }
    inside.append(el("div", { class: "row" }, ["text", "dot", "aut"].map((how) => el("button", { title: `Save this graph as ${how}`, onclick: () => take(name, how).catch(frame.fail) }, how))));
  }
  async function take(name, how) {
    const { text } = await call("desk/print", body({ box: name, as: how }));
    el("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: `${name}.${how === "text" ? "txt" : how}` }).click();
    frame.say(`${name} is saved as ${how}`);
  }

  /** Sizes over the sequence: the last box of each number of processes. */
  function points(done, all) {
    const sizes = new Map(all.map((it) => [it.name, it.processes.length]));
    return done.filter((it) => sizes.get(it.box) > 1).map((it, at) => ({ at, processes: sizes.get(it.box), value: kind === "seconds" ? Math.max(it.seconds, 1e-4) : it[kind], text: it.text }));
  }
  function drawChart() {
    const lines = [{ name: "now", points: points(desk.done, desk.boxes) }, ...compared].filter((it) => it.points.length);
    if (!lines.length) return show(chart);
    const [wide, high] = [460, 190];
    const values = lines.flatMap((it) => it.points.map(({ value }) => Math.log10(Math.max(value, 1e-4))));
    const [low, top] = [Math.min(...values), Math.max(...values, Math.min(...values) + 0.5)];
    const longest = Math.max(...lines.map((it) => it.points.length));
    const x = (at) => 60 + (at / Math.max(1, longest - 1)) * (wide - 80);
    const y = (value) => high - 24 - ((Math.log10(Math.max(value, 1e-4)) - low) / (top - low)) * (high - 44);
    show(chart,
      el("div", { class: "row" }, el("h2", {}, "Sizes over the sequence"), ["nodes", "arcs", "seconds"].map((name) => el("button", { "aria-pressed": name === kind ? "true" : "false", onclick: () => { kind = name; compared = []; drawChart(); } }, name))),
      svg("svg", { width: wide, height: high, role: "img", "aria-label": `${kind} over the sequence` },
        lines.map((line, number) => svg("g", { class: `line${number % 4}` },
          svg("polyline", { points: line.points.map((it) => `${x(it.at)},${y(it.value)}`).join(" ") }),
          line.points.map((it) => svg("circle", { cx: x(it.at), cy: y(it.value), r: 3 }, svg("title", {}, `${it.text}: ${it.value}`))),
          svg("text", { x: x(line.points.length - 1) - 4, y: y(line.points[line.points.length - 1].value) - 6, "text-anchor": "end" }, line.name))),
        svg("text", { x: 4, y: y(10 ** top) + 4 }, kind === "seconds" ? (10 ** top).toFixed(3) : Math.round(10 ** top).toLocaleString("en")),
        svg("text", { x: 4, y: y(10 ** low) + 4 }, kind === "seconds" ? (10 ** low).toFixed(3) : Math.round(10 ** low).toLocaleString("en"))));
  }
  async function compare(branch) {
    const other = await call("desk", { file, set, steps: branch });
    compared.push({ name: `branch ${compared.length + 1}`, points: points(other.done, other.boxes) });
    drawChart();
  }

  function drawHistory() {
    show(history, el("h2", {}, "Steps"),
      el("ol", {}, desk.done.map((it, at) => el("li", {}, el("button", { title: "Back to here", onclick: () => { remember(); steps = steps.slice(0, at + 1); look().catch(frame.fail); } }, it.text), el("span", { class: "faint" }, ` ${it.nodes.toLocaleString("en")} n ${it.arcs.toLocaleString("en")} a ${it.seconds.toFixed(3)} s`)))),
      branches.length ? el("h2", {}, "Branches") : null,
      branches.map((branch) => el("p", {}, el("button", { title: branch.join("; "), onclick: () => { remember(); steps = branch; look().catch(frame.fail); } }, `${plural(branch.length, "step", "steps")}: … ${branch[branch.length - 1]}`), " ", el("button", { onclick: () => compare(branch).catch(frame.fail) }, "compare"))),
      el("div", { class: "row" }, el("h2", {}, "As VPL"), el("button", { onclick: () => navigator.clipboard?.writeText(desk.recorded).then(() => frame.say("the file with this manipulation part is copied"), frame.fail) }, "copy"),
        el("button", { disabled: frame.info.read_only, id: "record", onclick: save }, "save as…")),
      code);
    code.textContent = desk.manipulation;
  }
  async function save() {
    const name = prompt("Save the model with these steps as", file.replace(/\.vpl$/, "_recorded.vpl"));
    if (!name) return;
    try {
      await call("files/" + name.split("/").map(encodeURIComponent).join("/"), { text: desk.recorded }, { method: "PUT" });
      frame.say(`${name} is written: shoal script ${name} runs it again`);
    } catch (error) { frame.fail(error); }
  }

  /** What the file itself does with its graphs. */
  async function load() {
    const { text } = await call("files/" + file.split("/").map(encodeURIComponent).join("/"));
    const own = stepsOf(text, desk.reducers);
    if (!own?.length) return frame.say(own ? "the file has no manipulation part" : "the manipulation part has loops or conditions: shoal script runs it");
    remember();
    steps = own;
    await look();
    if (!refused) frame.say(`${plural(steps.length, "step", "steps")} of ${file}`);
  }

  const size = (it) => `${plural(it.nodes, "node", "nodes")}, ${plural(it.arcs, "arc", "arcs")}`;
  const HELP = "list · merge G H · reduce G R [R …] · preview G · check G · print G [dot|aut] · undo · redo · ?";
  /** A line of the console, in the words of `shoal graphs`: what it answers. */
  async function obey(line) {
    const [word, first, ...rest] = line.trim().split(/\s+/);
    if (word === "?" || word === "help") return HELP;
    if (word === "list") return desk.boxes.map((it) => `${it.name.padEnd(8)} ${size(it)} ${it.reducers.join(" ")}`).join("\n");
    if (word === "undo" || word === "redo") { await (word === "undo" ? undo : redo)(); return ""; }
    if (word === "merge" && rest.length === 1) return after(`merge ${first} ${rest[0]}`);
    if (word === "reduce" && rest.length) {
      const answers = [];
      for (const reducer of rest.flatMap((it) => it.split(","))) answers.push(await after(`${reducer} ${first}`));
      return answers.join("\n");
    }
    if (word === "preview" && first) {
      const { reducers } = await call("desk/preview", body({ box: first }));
      return reducers.map((it) => `${it.short.padEnd(8)} ${it.refused ?? size(it)}`).join("\n");
    }
    if (word === "check" && first) {
      const { properties } = await call("desk/check", body({ box: first }));
      return properties.map((it) => `${it.holds === true ? "✓" : it.holds === false ? "✗" : "?"} ${it.name}: ${it.text}`).join("\n");
    }
    if (word === "print" && first) return (await call("desk/print", body({ box: first, as: rest[0] ?? "text" }))).text;
    return `not understood: ${HELP}`;
  }
  const after = async (step) => {
    const done = await make(step);
    return done ? `${done.box.padEnd(8)} ${size(done)}` : refused;
  };
  const log = el("pre", { class: "log", role: "log", "aria-label": "Answers" });
  const typed = el("input", { "aria-label": "Console", placeholder: HELP, onkeydown: (event) => { if (event.key === "Enter" && typed.value.trim()) run(typed.value); } });
  async function run(line) {
    typed.value = "";
    const answer = await obey(line).catch((error) => error.message);
    log.textContent += `> ${line}\n${answer}${answer ? "\n" : ""}`;
    log.scrollTop = log.scrollHeight;
  }
  const console_ = el("div", { class: "console" }, log, typed);

  function draw() {
    drawBoxes();
    drawTools();
    drawChart();
    drawHistory();
  }

  const strategy = el("input", { value: "auto", "aria-label": "Strategy", title: "auto, paper, or reducers such as rw,sc,sm", list: null });
  const upto = el("input", { type: "number", min: 2, value: 6, "aria-label": "Up to so many processes" });
  async function automatic() {
    try {
      frame.say("looking for a sequence…");
      const found = await call("desk/sequence", { file, set, steps: [], strategy: strategy.value, upto: Number(upto.value), seconds: 120 });
      remember();
      steps = found.steps;
      await look();
      if (!refused) frame.say(`${plural(steps.length, "step", "steps")} of the strategy ${strategy.value}`);
    } catch (error) { frame.fail(error); }
  }
  show(root,
    el("section", { class: "centre" },
      el("div", { class: "row bar" },
        el("select", { "aria-label": "Model", onchange: (event) => frame.go("desk", { f: event.target.value }) }, models.map(({ path }) => el("option", { selected: path === file }, path))),
        el("button", { title: "Undo (u)", onclick: undo }, "⟲ undo"), el("button", { title: "Redo", onclick: redo }, "⟳ redo"),
        el("button", { id: "load", title: "What the file's manipulation part does", onclick: () => load().catch(frame.fail) }, "the file's own steps"),
        el("span", { class: "grow" }), el("label", {}, "strategy ", strategy), el("label", {}, "up to ", upto), el("button", { id: "automatic", onclick: automatic }, "▶ run it")),
      boxes, console_, chart, inside, automata.node),
    el("aside", { class: "right" }, tools, history));
  inside.hidden = true;
  automata.node.hidden = true;
  await look();
  // The processes as automata, with where they stand at the start.
  call("walk", { file, set, path: "0" }).then(({ story, standing }) => {
    if (!story) return;
    automata.tell(story);
    automata.stand(standing);
  }).catch(() => {});

  return {
    key(event) {
      const [one, two] = selected;
      if (event.key === "m" && two) make(`merge ${one} ${two}`).catch(frame.fail);
      else if (/^[1-5]$/.test(event.key) && one && !two) make(`${desk.reducers[Number(event.key) - 1].short} ${one}`).catch(frame.fail);
      else if (event.key === "c" && one && !two) check(one).catch(frame.fail);
      else if (event.key === "o" && one && !two) open(one).catch(frame.fail);
      else if (event.key === "u") undo();
      else return false;
      return true;
    },
  };
}
