// Stepping by hand: where the walk is, what may happen next and what it would do, what may not and why.

import { checkedAsTyped, el, plural, show } from "./dom.js";
import { call, whyNoExpression } from "./call.js";
import { Clocks } from "./clocks.js";
import { Heap } from "./heap.js";
import { Lanes } from "./lanes.js";
import { settings } from "./model.js";
import { Templates } from "./templates.js";
import { StateTable } from "./trace.js";

export async function walkScreen(root, params, frame) {
  const { files } = await call("files");
  const models = files.filter(({ kind }) => kind === "model");
  const file = params.get("f") ?? models[0]?.path;
  if (!file) {
    show(root, el("p", { class: "empty" }, "There are no models in this folder."));
    return {};
  }
  const set = settings(params.get("set"));
  let path = params.get("p") ?? "";
  let watched = (params.get("w") ?? "").split(";").filter((it) => it);
  let seed = Number(params.get("seed") ?? 1);
  /** Rules after whose steps a walk at random stops. */
  let stops = (params.get("stops") ?? "").split(";").filter((it) => it);
  let grouped = false;
  let now = null;
  frame.where(`${file}: step by hand`);

  const lanes = new Lanes({ onselect: (number) => cutTo(number) });
  const state = new StateTable(null, (place, value) => type(place, value));
  const heap = new Heap();
  const clocks = new Clocks({ onselect: (number) => cutTo(number) });
  const templates = new Templates();
  const moves = el("div", { class: "moves" });
  const disabled = el("details", { class: "disabled" });
  const time = el("div", { class: "time" });
  const findings = el("div", {});
  const values = el("div", { class: "watches" });
  const stopped = el("p", { class: "stops" });
  const where = el("b", { class: "count" });
  const filter = el("input", { type: "search", placeholder: "filter moves", "aria-label": "Filter moves", oninput: () => drawMoves() });
  const until = el("input", { placeholder: "until this holds", "aria-label": "Until", onkeydown: (event) => { if (event.key === "Enter") on({ until: until.value }); } });
  const watch = el("input", { placeholder: "watch an expression", "aria-label": "Watch", onchange: () => { if (watch.value.trim()) watched.push(watch.value); watch.value = ""; look(); } });
  const seedField = el("input", { type: "number", value: seed, "aria-label": "Seed", onchange: () => { seed = Number(seedField.value); frame.keep({ seed }); } });

  checkedAsTyped(until, (text) => whyNoExpression(file, set, text, true));
  checkedAsTyped(watch, (text) => whyNoExpression(file, set, text));

  const parts = () => (path ? path.split(".") : []);

  async function look() {
    now = await call("walk", { file, set, path, watch: watched });
    // A model with one start begins there.
    if (!now.path && now.steps === null && now.moves.length === 1 && !now.why_left && !path) {
      path = "0";
      return look();
    }
    if (now.why_left) frame.say(`the model has changed: ${plural(now.left, "move", "moves")} of the walk ${now.left === 1 ? "is" : "are"} left out, as ${now.why_left}`);
    path = now.path;
    frame.keep({ f: file, p: path, w: watched.join(";") });
    draw();
  }
  /** Begins again here with another value at a place. */
  async function type(place, value) {
    const before = path;
    path = [...parts(), "s" + encodeURIComponent(`${place}=${value}`).replaceAll(".", "%2E")].join(".");
    try {
      await look();
      if (now.why_left) { frame.say(now.why_left); path = before; }
      else frame.say(`a walk from a state that was typed: nobody says that it can be reached`);
    } catch (error) { path = before; frame.fail(error); }
  }
  const take = (index) => { path = [...parts(), index].join("."); return look().catch(frame.fail); };
  const back = () => { path = parts().slice(0, -1).join("."); return path ? look().catch(frame.fail) : look().catch(frame.fail); };

  /** Back to a step: as many moves as that, and the start or what was typed last. */
  function cutTo(number) {
    const all = parts();
    const start = Math.max(0, all.findLastIndex((part) => part.startsWith("s")));
    const kept = all.slice(0, start + 1);
    let made = 0;
    for (const part of all.slice(start + 1)) {
      if (!part.startsWith("w")) made += 1;
      if (made > number) break;
      kept.push(part);
    }
    path = kept.join(".");
    look().catch(frame.fail);
  }

  async function on(how) {
    try {
      const answer = await call("walk/on", { file, set, path, ...how });
      frame.say(answer.found ? answer.note : `not found: ${answer.note}`);
      path = answer.path;
      await look();
    } catch (error) {
      frame.say(error.diagnostics?.[0]?.message ?? error.message);
    }
  }
  const random = () => { const used = seed; seed += 1; seedField.value = seed; frame.keep({ seed }); return on({ seed: used, steps: 20, stops }); };
  function stopAt(rule) {
    stops = stops.includes(rule) ? stops.filter((it) => it !== rule) : [...stops, rule];
    frame.keep({ stops: stops.join(";") });
    draw();
  }
  const stopButton = (rule) => el("button", { class: "stop", "aria-pressed": stops.includes(rule) ? "true" : "false", title: `Stop after ${rule} when walking at random`, onclick: () => stopAt(rule) }, "●");

  function drawMoves() {
    const words = filter.value.toLowerCase().split(/\s+/);
    const fits = (it) => words.every((word) => `${it.lane ?? ""} ${it.label}`.toLowerCase().includes(word));
    const first = now.moves.filter((it) => it.like === it.index && fits(it));
    const lanesOf = grouped ? [...new Set(first.map(({ lane }) => lane))] : [null];
    show(moves,
      now.moves.length ? null : el("p", { class: "doubt" }, "Nothing may happen here."),
      lanesOf.map((lane) => [grouped ? el("h3", {}, lane ?? "start") : null, first.filter((it) => !grouped || it.lane === lane).map((it) => {
        const alike = now.moves.filter((other) => other.like === it.index).length - 1;
        return el("div", { class: "move-line" }, it.rule ? stopButton(it.rule) : null, el("button", { class: it.fault || it.violates.length ? "move wrong" : "move", "data-move": it.index, onclick: () => take(it.index) },
          el("span", { class: "number" }, String(it.index)),
          el("span", {},
            it.lane ? el("span", { class: "lane-tag" }, it.lane) : null,
            el("b", {}, it.label),
            it.delay !== "0" ? el("span", { class: "doubt" }, ` after ${it.delay}`) : null,
            alike ? el("span", { class: "faint" }, ` and ${alike} alike`) : null,
            it.same_as !== null ? el("span", { class: "faint" }, ` = step ${it.same_as}`) : null,
            it.violates.map((name) => el("span", { class: "bad" }, ` ⚠ then ✗ ${name}`)),
            it.fault ? el("span", { class: "bad" }, ` ✗ ${it.fault}`) : null,
            el("span", { class: "effect" }, it.changes.slice(0, 6).join("   "), it.changes.length > 6 ? " …" : ""))));
      })]),
      now.more_moves ? el("p", { class: "faint" }, `${now.more_moves} more moves are not shown.`) : null);
  }

  function draw() {
    where.textContent = now.steps === null ? "before the start" : plural(now.steps, "step", "steps");
    lanes.node.hidden = !now.story;
    state.show(now.state ?? []);
    heap.node.hidden = !Heap.fits(now.state ?? []);
    if (!heap.node.hidden) heap.show(now.state);
    if (now.story) {
      lanes.tell(now.story);
      lanes.select(now.story.steps);
      clocks.tell(now.story);
      clocks.select(now.story.steps);
      templates.tell(now.story);
      templates.stand(now.standing);
    }
    clocks.node.hidden ||= !now.story;
    templates.node.hidden ||= !now.story;
    show(findings, now.findings.map(({ name, reason }) => el("p", { class: "bad" }, `✗ ${name}: ${reason}`)));
    drawMoves();
    show(stopped, stops.map((rule) => [el("button", { class: "stop", "aria-pressed": "true", title: "Do not stop there any more", onclick: () => stopAt(rule) }, `● ${rule} ×`), " "]));
    show(disabled, el("summary", {}, `${plural(now.disabled.length, "rule", "rules")} may not fire, and why`),
      now.disabled.map((it) => el("p", {}, el("b", {}, it.label), " needs ", el("code", {}, it.text), el("span", { class: "faint" }, it.reads.length ? ` but ${it.reads.map(({ place, value }) => `${place} = ${value}`).join(", ")}` : ""),
        " ", el("a", { href: frame.link("model", { f: file, line: it.range.line }) }, `line ${it.range.line}`),
        " ", el("button", { title: "The nearest step of this rule", onclick: () => on({ fires: it.rule }) }, "go there"))));
    disabled.hidden = !now.disabled.length;
    const moments = now.moments.filter((it) => it !== "0");
    show(time, moments.length || now.waited !== "0" ? [
      el("b", {}, "time "), now.waited === "0" ? null : `waited ${now.waited} · `, "wait ",
      el("input", { type: "range", min: 0, max: moments.length, value: 0, "aria-label": "Time to wait", list: null,
        oninput: (event) => (event.target.nextSibling.textContent = event.target.value === "0" ? " 0" : ` ${moments[event.target.value - 1]}`),
        onchange: (event) => { if (event.target.value !== "0") { path = [...parts(), "w" + moments[event.target.value - 1].replace("/", "~")].join("."); look().catch(frame.fail); } } }),
      el("span", {}, " 0")] : null);
    show(values, now.watched.map(({ expression, result }, at) => el("p", {}, el("code", {}, expression), " = ", el("b", { class: result.error ? "bad" : null }, result.value ?? result.error),
      el("button", { title: "Forget it", onclick: () => { watched.splice(at, 1); look(); } }, "×"))));
  }

  show(root,
    el("section", { class: "centre" },
      el("div", { class: "row bar" }, el("b", {}, file), where, el("span", { class: "grow" }),
        el("button", { title: "Levels, formats, comparing: the walk as a run", onclick: () => now?.story && frame.go("trace", { f: file, set: params.get("set"), t: `p:${path}:${Object.entries(set).map(([name, value]) => `${name}=${value}`).join(",")}:${file}` }) }, "as a run"),
        el("a", { class: "button", href: frame.link("model", { f: file, set: params.get("set") }) }, "model")),
      findings, lanes.node, clocks.node, heap.node, templates.node, el("h2", {}, "State"), state.node),
    el("aside", { class: "right" },
      el("div", { class: "row" },
        el("button", { title: "Back (b)", onclick: back }, "◀ back"),
        el("button", { onclick: () => { path = ""; look().catch(frame.fail); } }, "↶ to start"),
        el("button", { title: "20 moves at random (r)", onclick: random }, "⚂ random 20"), el("label", { class: "seed" }, "seed", seedField)),
      stopped, el("div", { class: "row" }, until, el("button", { onclick: () => on({ until: until.value }) }, "go there")),
      time, el("h2", {}, "What may happen"), el("div", { class: "row" }, filter, el("label", {}, el("input", { type: "checkbox", onchange: (event) => { grouped = event.target.checked; drawMoves(); } }), "by part")), moves, disabled, el("h2", {}, "Watch"), watch, values));
  await look();
  if (params.get("until")) {
    until.value = params.get("until");
    frame.keep({ until: null });
    await on({ until: until.value });
  }

  return {
    leave() { lanes.leave(); },
    key(event) {
      if (event.key === "b") back();
      else if (event.key === "r") random();
      else if (/^[0-9]$/.test(event.key) && now.moves[Number(event.key)]) take(Number(event.key));
      else return false;
      return true;
    },
  };
}
