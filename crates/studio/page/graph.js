// The graph of a model's states: all of it from far away, and a part of it that can be read.

import { el, plural, show } from "./dom.js";
import { address, call } from "./call.js";
import { settings } from "./model.js";
import { drawPicture } from "./picture.js";

/** Numbers of all states and steps, as the server sends them. */
async function overview(id) {
  const bytes = await (await fetch(address(`graphs/${id}/overview`))).arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  let at = 4 + length;
  const take = (kind, count) => { const part = new kind(bytes, at, count); at += part.byteLength; return part; };
  return { ...header, x: take(Float32Array, header.nodes), y: take(Float32Array, header.nodes), from: take(Uint32Array, header.edges), to: take(Uint32Array, header.edges), mark: take(Uint8Array, header.nodes) };
}

class Canvas {
  constructor(onchoose) {
    this.onchoose = onchoose;
    this.node = el("canvas", { class: "overview", tabindex: "0", "aria-label": "All states" });
    this.node.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(event.offsetX, event.offsetY, Math.exp(-event.deltaY / 400)); }, { passive: false });
    let grabbed = null;
    this.node.addEventListener("pointerdown", (event) => (grabbed = { x: event.offsetX, y: event.offsetY, left: this.left, top: this.top, moved: false }));
    this.node.addEventListener("pointermove", (event) => {
      if (!grabbed || !event.buttons) return;
      this.left = grabbed.left - (event.offsetX - grabbed.x) / this.scaleX;
      this.top = grabbed.top - (event.offsetY - grabbed.y) / this.scaleY;
      grabbed.moved ||= Math.hypot(event.offsetX - grabbed.x, event.offsetY - grabbed.y) > 3;
      this.draw();
    });
    this.node.addEventListener("pointerup", (event) => { if (grabbed && !grabbed.moved) this.pick(event.offsetX, event.offsetY, event); grabbed = null; });
    this.watcher = new ResizeObserver(() => this.fit());
    this.watcher.observe(this.node);
  }

  open(data) {
    this.data = data;
    this.order = new Uint32Array(data.nodes).map((_, at) => at).sort((one, other) => data.y[one] - data.y[other]);
    this.fit();
  }

  fit() {
    const ratio = devicePixelRatio;
    const { clientWidth, clientHeight } = this.node;
    if (!this.data || !clientWidth) return;
    [this.node.width, this.node.height] = [clientWidth * ratio, clientHeight * ratio];
    [this.left, this.top] = [0, 0];
    this.scaleX = clientWidth / this.data.width;
    this.scaleY = clientHeight / this.data.height;
    this.draw();
  }

  zoom(x, y, by) {
    const [atX, atY] = [this.left + x / this.scaleX, this.top + y / this.scaleY];
    this.scaleX *= by;
    this.scaleY *= by;
    [this.left, this.top] = [atX - x / this.scaleX, atY - y / this.scaleY];
    this.draw();
  }

  pick(x, y, event) {
    let [best, near] = [-1, 14 ** 2];
    for (let at = 0; at < this.data.nodes; at++) {
      const distance = ((this.data.x[at] - this.left) * this.scaleX - x) ** 2 + ((this.data.y[at] - this.top) * this.scaleY - y) ** 2;
      if (distance < near) [best, near] = [at, distance];
    }
    if (best >= 0) this.onchoose(best, event);
  }

  mark(chosen, found) {
    this.chosen = chosen;
    this.found = found;
    this.draw();
  }

  draw() {
    if (!this.data) return;
    const began = performance.now();
    const { x, y, from, to, mark, nodes } = this.data;
    const paint = this.node.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const { clientWidth, clientHeight } = this.node;
    paint.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    paint.fillStyle = colour("--back");
    paint.fillRect(0, 0, clientWidth, clientHeight);
    const [sx, sy, left, top] = [this.scaleX, this.scaleY, this.left, this.top];
    const seen = (at) => { const px = (x[at] - left) * sx, py = (y[at] - top) * sy; return px > -20 && px < clientWidth + 20 && py > -20 && py < clientHeight + 20; };
    // Steps between states that are too near to tell apart say nothing, and cost most: then every so many is drawn.
    const most = sx < 0.5 ? 1_500 : 6_000;
    const every = sx < 0.5 ? Math.max(1, Math.ceil(from.length / most)) : 1;
    paint.strokeStyle = colour("--lane");
    paint.globalAlpha = from.length > 4000 ? 0.25 : 0.6;
    paint.lineWidth = 0.7;
    paint.beginPath();
    let drawn = 0;
    for (let at = 0; at < from.length && drawn < most; at += every) {
      if (!seen(from[at]) && !seen(to[at])) continue;
      paint.moveTo((x[from[at]] - left) * sx, (y[from[at]] - top) * sy);
      paint.lineTo((x[to[at]] - left) * sx, (y[to[at]] - top) * sy);
      drawn += 1;
    }
    paint.stroke();
    paint.globalAlpha = 1;
    const found = this.found ?? new Set();
    if (nodes > 20_000 && sx < 0.5) this.sprinkle(paint, colour);
    else {
      const size = Math.max(1.5, Math.min(8, 8 * sx));
      for (const [kind, name] of [[0, "--faint"], [1, "--good"], [2, "--bad"]]) {
        paint.fillStyle = colour(name);
        for (let at = 0; at < nodes; at++) if (mark[at] === kind && !found.has(at)) {
          const px = (x[at] - left) * sx, py = (y[at] - top) * sy;
          if (px > -9 && px < clientWidth + 9 && py > -9 && py < clientHeight + 9) paint.fillRect(px - size / 2, py - size / 2, size, size);
        }
      }
    }
    paint.fillStyle = colour("--open");
    for (const at of found) paint.fillRect((x[at] - left) * sx - 3, (y[at] - top) * sy - 3, 6, 6);
    if (this.chosen !== undefined) {
      paint.strokeStyle = colour("--link");
      paint.lineWidth = 2;
      paint.strokeRect((x[this.chosen] - left) * sx - 7, (y[this.chosen] - top) * sy - 7, 14, 14);
    }
    this.spent = performance.now() - began;
  }

  /** Very many states as dots of one pixel, the more the darker; starts and dead ends stand out. */
  sprinkle(paint, colour) {
    const { x, y, mark, nodes } = this.data;
    const [wide, high] = [this.node.width, this.node.height];
    const channels = (name) => { paint.fillStyle = colour(name); const text = paint.fillStyle; return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)); };
    const colours = ["--faint", "--good", "--bad"].map(channels);
    const image = paint.getImageData(0, 0, wide, high);
    const ratio = devicePixelRatio;
    const [sx, sy] = [this.scaleX * ratio, this.scaleY * ratio];
    for (let at = 0; at < nodes; at++) {
      const px = Math.round((x[at] - this.left) * sx), py = Math.round((y[at] - this.top) * sy);
      if (px < 0 || py < 0 || px >= wide - 1 || py >= high - 1) continue;
      const kind = mark[at];
      const own = colours[kind];
      const share = kind ? 1 : 0.45;
      for (const pixel of kind ? [py * wide + px, py * wide + px + 1, (py + 1) * wide + px, (py + 1) * wide + px + 1] : [py * wide + px])
        for (let channel = 0; channel < 3; channel++) {
          const place = 4 * pixel + channel;
          image.data[place] += (own[channel] - image.data[place]) * share;
        }
    }
    paint.putImageData(image, 0, 0);
  }
}

export async function graphScreen(root, params, frame) {
  const { files } = await call("files");
  const file = params.get("f") ?? files.find(({ kind }) => kind === "model")?.path;
  if (!file) {
    show(root, el("p", { class: "empty" }, "There are no models in this folder."));
    return {};
  }
  const set = settings(params.get("set"));
  frame.where(`${file}: graph`);
  let quotient = params.get("q") !== "0";
  let limit = Number(params.get("limit") ?? 20000);
  let around = Number(params.get("around") ?? 0);
  let radius = Number(params.get("r") ?? 2);
  let graph = null;
  let about = [];
  let places = {};
  let from = null;

  const head = el("span", { class: "faint" });
  const canvas = new Canvas((state, event) => choose(state, event));
  const view = el("div", { class: "view" });
  const details = el("div", { class: "details" });
  const collapse = el("input", { value: params.get("c") ?? "", placeholder: "collapse by: variables, expressions", "aria-label": "Collapse by", onchange: () => { places = {}; frame.keep({ c: collapse.value }); part(); } });
  const filter = el("input", { type: "search", value: params.get("x") ?? "", placeholder: "only states in which", "aria-label": "Filter states", onchange: () => { places = {}; frame.keep({ x: filter.value }); part(); } });
  const find = el("input", { placeholder: "find states in which", "aria-label": "Find states", onchange: () => search() });
  const side = el("select", { "aria-label": "Side", title: "Only what comes before or after the chosen state", onchange: () => { places = {}; frame.keep({ side: side.value }); part(); } },
    [["", "all"], ["after", "after it"], ["before", "before it"]].map(([value, title]) => el("option", { value, selected: value === (params.get("side") ?? "") }, title)));
  const without = el("select", { "aria-label": "Hide a rule", onchange: () => { if (without.value) hide([...hidden, without.value]); } });
  let hidden = (params.get("without") ?? "").split(";").filter((it) => it);
  function hide(rules) {
    hidden = rules;
    places = {};
    frame.keep({ without: hidden.join(";") });
    part();
  }
  const shownRules = el("span", {});
  function drawRules() {
    show(without, el("option", { value: "" }, "hide a rule…"), graph.rules.filter((it) => !hidden.includes(it)).map((it) => el("option", { value: it }, it)));
    show(shownRules, hidden.map((it) => el("button", { title: "Show it again", onclick: () => hide(hidden.filter((other) => other !== it)) }, `${it} ×`)));
  }
  const levelList = el("div", { class: "level-list" });
  const level = el("input", { type: "number", min: 0, placeholder: "distance", "aria-label": "States at this distance", onchange: () => list().catch(frame.fail) });
  /** The states at a distance from the start, for those who do not see the picture of all. */
  async function list() {
    show(levelList);
    if (level.value === "") return;
    const { count, states } = await call(`graphs/${graph.graph}/find`, { depth: Number(level.value) });
    show(levelList, el("p", { class: "faint" }, `${plural(count, "state", "states")} after ${plural(Number(level.value), "step", "steps")}`), states.map((state) => [el("button", { onclick: () => choose(state) }, `s${state}`), " "]));
  }
  const reach = el("input", { type: "number", min: 1, max: 12, value: radius, "aria-label": "Radius", onchange: () => { radius = Number(reach.value); frame.keep({ r: radius }); part(); } });

  async function explore() {
    graph = await call("graphs", { file, set, quotient, limit, seconds: 60 });
    head.textContent = `${plural(graph.states, graph.timed ? "zone" : "state", graph.timed ? "zones" : "states")}${graph.symmetric.length ? ` up to symmetry in ${graph.symmetric.join(", ")}` : ""} · ${plural(graph.steps, "step", "steps")} · depth ${graph.levels.length - 1}${graph.complete ? "" : " · cut off: there are more"}`;
    canvas.open(await overview(graph.graph));
    if (params.get("of")) {
      // A state of a run, by the run and the number of the step.
      const at = params.get("of").lastIndexOf("/");
      const { state } = await call(`graphs/${graph.graph}/locate`, { trace: params.get("of").slice(0, at), row: Number(params.get("of").slice(at + 1)) });
      if (state === null) frame.say("that state is not among these: more of them may be needed");
      else around = state;
      params.delete("of");
      frame.keep({ of: null, around });
    }
    if (around >= graph.states) around = 0;
    await part();
  }

  const together = () => collapse.value.split(/[,;]/).map((it) => it.trim()).filter((it) => it);
  const what = (by) => ({ around, radius, collapse: by, filter: filter.value, side: side.value, without: hidden });

  /** The part that is shown, for another tool. */
  async function take(how) {
    try {
      const response = await fetch(address(`graphs/${graph.graph}/view`), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...what(together()), as: how }) });
      const link = el("a", { href: URL.createObjectURL(await response.blob()), download: `graph.${how}` });
      link.click();
      frame.say(`graph.${how} is saved`);
    } catch (error) { frame.fail(error); }
  }

  async function part() {
    try {
      const by = together();
      drawRules();
      const answer = await call(`graphs/${graph.graph}/view`, { ...what(by), known: by.length ? {} : places });
      about = answer.about;
      places = by.length ? {} : Object.fromEntries(about.map((it, at) => [it.state, answer.picture.nodes[at].x]));
      show(view, drawPicture(answer.picture, about.map((it) => ({ ...it, chosen: !by.length && it.state === around, title: it.text.join("\n") })), (at, event) => choose(about[at].state, event)));
      view.querySelector(".chosen-node")?.scrollIntoView({ block: "center", inline: "center" });
      canvas.mark(around, canvas.found);
      details.scrollTop = 0;
      const now = about.find((it) => it.state === around);
      if (now) show(details, el("h2", {}, `s${around}`), el("p", { class: "faint" }, `depth ${now.depth}${now.dead_end ? " · nothing may happen here" : ""}`), el("pre", {}, now.text.join("\n")));
    } catch (error) { frame.say(error.diagnostics?.[0]?.message ?? error.message); }
  }

  async function choose(state, event) {
    if (event?.shiftKey && from !== state) {
      const path = await call(`graphs/${graph.graph}/path`, { from: around, to: state });
      show(details, el("h2", {}, `from s${around} to s${state}`), path.found ? el("ol", {}, path.steps.map((it) => el("li", {}, el("button", { onclick: () => choose(it.to) }, it.label), el("span", { class: "faint" }, ` ${it.changes.join(", ")}`)))) : el("p", {}, "no way leads there"),
        path.walk === null ? null : el("a", { class: "button", href: frame.link("trace", { f: file, set: params.get("set"), t: `p:${path.walk}:${Object.entries(set).map(([name, value]) => `${name}=${value}`).join(",")}:${file}` }) }, "from the start to there, as a run"));
      return;
    }
    around = state;
    frame.keep({ around });
    await part();
  }

  async function search() {
    try {
      const { count, states } = await call(`graphs/${graph.graph}/find`, { expression: find.value });
      canvas.mark(around, new Set(states));
      frame.say(count ? `${plural(count, "state", "states")}, the nearest is s${states[0]}` : "there is no such state among these");
      if (count) choose(states[0]);
    } catch (error) { frame.say(error.diagnostics?.[0]?.message ?? error.message); }
  }

  show(root,
    el("section", { class: "centre" },
      el("div", { class: "row bar" }, el("b", {}, file), head, el("span", { class: "grow" }),
        el("label", {}, el("input", { type: "checkbox", checked: quotient, onchange: (event) => { quotient = event.target.checked; frame.keep({ q: quotient ? null : 0 }); places = {}; around = 0; explore().catch(frame.fail); } }), "quotient"),
        el("label", {}, "radius ", reach), side, without, shownRules, collapse, filter, find, ["svg", "dot", "aut", "graphml"].map((how) => el("button", { title: `Save this part as ${how}`, onclick: () => take(how) }, how))),
      canvas.node, view),
    el("aside", { class: "right" }, el("p", { class: "faint" }, "Click a state to look around it; shift-click for the shortest way from the chosen one. Above: all states by their distance from the start."), details, el("h2", {}, "States by distance"), level, levelList));
  await explore();

  /** The neighbour of a node in the picture, in the direction of an arrow key. */
  function beside(node, key) {
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    const middle = (it) => { const { x, y, width, height } = it.querySelector("rect").getBoundingClientRect(); return [x + width / 2, y + height / 2]; };
    const [x, y] = middle(node);
    const ahead = [...view.querySelectorAll(".node")].map((it) => { const [ox, oy] = middle(it); return { it, along: (ox - x) * dx + (oy - y) * dy, aside: Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx) }; });
    return ahead.filter(({ along }) => along > 4).sort((one, other) => one.along + 2 * one.aside - other.along - 2 * other.aside)[0]?.it;
  }
  return {
    leave() { canvas.watcher.disconnect(); },
    canvas,
    key(event) {
      if (!/^Arrow/.test(event.key) || event.target === canvas.node) return false;
      const node = event.target.closest?.("svg.graph .node") ?? view.querySelector(".chosen-node");
      beside(node, event.key)?.focus();
      return Boolean(node);
    },
  };
}
