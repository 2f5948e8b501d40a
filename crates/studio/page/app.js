// The frame: which screen is shown, where that stands in the address, keys, light and dark.

import { el, show } from "./dom.js";
import { CallFailed, call, giveUp, listenToNews, onBusy, onLost } from "./call.js";
import { modelScreen } from "./model.js";
import { traceScreen } from "./trace.js";
import { walkScreen } from "./walk.js";
import { graphScreen } from "./graph.js";
import { deskScreen } from "./desk.js";
import { anyScreen } from "./any.js";
import { openPalette } from "./palette.js";
import { fitPanes, paneKey } from "./panes.js";

const SCREENS = {
  model: ["Model", modelScreen],
  trace: ["Run", traceScreen],
  walk: ["Step by hand", walkScreen],
  graph: ["Graph", graphScreen],
  desk: ["Desk", deskScreen],
  any: ["Any number", anyScreen],
};

const at = (id) => document.getElementById(id);
let current = null;
/** Commands that were given while a screen was not there yet. */
let early = [];

/** What the address says: the screen and its parameters. */
function place() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: name in SCREENS ? name : "model", params: new URLSearchParams(query ?? "") };
}

function written(name, params) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value !== null && value !== undefined && value !== "") query.set(key, value);
  const text = query.toString();
  return `#/${name}${text ? "?" + text : ""}`;
}

/** What screens may do with the frame. */
const frame = {
  /** Goes to another screen; the browser's way back leads here. */
  go(name, params) {
    location.hash = written(name, params);
  },
  /** Says in the address what is shown, without a step that could be taken back. */
  keep(params) {
    history.replaceState(null, "", written(place().name, { ...Object.fromEntries(place().params), ...params }));
    tabs();
  },
  link: written,
  say(text) {
    at("said").textContent = text;
  },
  where(text) {
    at("where").textContent = text;
    document.title = text ? `${text} · Shoal studio` : "Shoal studio";
  },
  fail(error) {
    if (error?.name === "AbortError") return;
    const known = error instanceof CallFailed;
    frame.say(known ? error.message : `${error?.message ?? error}`);
    if (!known) console.error(error);
  },
  info: { read_only: true, engines: [] },
};

function tabs() {
  const { name, params } = place();
  const shared = { f: params.get("f"), set: params.get("set") };
  const own = {
    model: shared,
    trace: { ...shared, t: params.get("t") },
    walk: { ...shared, p: params.get("p") },
    graph: shared,
    any: shared,
    desk: { ...shared, steps: params.get("steps"), branches: params.get("branches") },
  };
  show(at("screens"), Object.entries(SCREENS).map(([key, [title]]) =>
    el("a", { href: written(key, own[key]), "aria-current": key === name ? "page" : null }, title)));
}

async function render() {
  const { name, params } = place();
  current?.leave?.();
  current = null;
  tabs();
  frame.where("");
  frame.say("");
  const root = at("screen");
  show(root);
  root.className = name;
  try {
    current = await SCREENS[name][1](root, params, frame);
    fitPanes(root, name);
    early.splice(0).forEach((event) => current?.shortcut?.(event));
  } catch (error) {
    early = [];
    if (error?.name === "AbortError") return;
    show(root, el("p", { class: "empty" }, error instanceof CallFailed ? error.message : `${error}`));
    frame.fail(error);
  }
}

const KEYS = [
  ["Ctrl+Enter", "check all properties"],
  ["Ctrl+Shift+Enter", "check the property at the cursor"],
  ["Alt+F8", "next problem"],
  ["Ctrl+S", "save"],
  ["j k ↓ ↑", "next and previous step"],
  ["J K", "next and previous step that matters"],
  ["Home End", "first and last step"],
  ["n p", "next and previous step that changes the variable that was clicked"],
  ["Space", "play a run"],
  ["0 1 2 3", "how much of a run is shown; in a walk the move with that number"],
  ["f", "fold a run to what matters, and unfold it"],
  ["c", "draw what made the chosen step of a run possible"],
  ["s", "step by hand from here"],
  ["b", "a step back in a walk"],
  ["r", "moves at random"],
  ["/", "find"],
  ["g m, g r, g s, g g, g d, g a", "the screens"],
  ["m 1–5 c o u", "on the desk: merge, reduce, check, open, undo"],
  ["[ ] _", "fold the left or right pane or the runs, and show it again"],
  ["Alt+Shift+← →", "make the right pane wider or narrower"],
  [".", "find a command by its name"],
  ["d", "light or dark"],
  ["?", "these keys"],
  ["Esc", "stop, close"],
];

function help() {
  const open = document.querySelector("dialog");
  if (open) return open.remove();
  const box = el("dialog", { "aria-label": "Keys", onclose: () => box.remove() },
    el("h2", {}, "Keys"),
    el("table", {}, KEYS.map(([key, what]) => el("tr", {}, el("th", {}, el("kbd", {}, key)), el("td", {}, what)))),
    el("button", { onclick: () => box.close() }, "close"));
  document.body.append(box);
  box.showModal();
}

const commands = () => openPalette((file) => (file.kind === "trace" ? frame.go("trace", { t: "f:" + file.path }) : frame.go("model", { f: file.path })));

function dark() {
  const now = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("shoal-theme", next);
}

let pending = "";
function key(event) {
  if (document.querySelector("dialog[open]")) return;
  if (!current && (event.ctrlKey || event.metaKey) && event.key === "Enter") return void early.push(event);
  if (current?.shortcut?.(event)) return event.preventDefault();
  if (event.key === "Escape" && !at("stop").hidden) return giveUp();
  const typing = event.target.closest?.("input, textarea, select");
  if (!typing && paneKey(at("screen"), place().name, event)) return event.preventDefault();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (pending === "g") {
    pending = "";
    const to = { m: 0, r: 1, s: 2, g: 3, d: 4, a: 5 }[event.key];
    if (to !== undefined) location.hash = at("screens").children[to].getAttribute("href");
    return;
  }
  if (event.key === "g") pending = "g";
  else if (event.key === "?") help();
  else if (event.key === "d") dark();
  else if (event.key === ".") { event.preventDefault(); commands(); }
  else if (event.key === "/") {
    const find = document.querySelector("#screen input[type=search]");
    if (find) { event.preventDefault(); find.focus(); }
  } else if (current?.key?.(event)) event.preventDefault();
}

const theme = localStorage.getItem("shoal-theme");
if (theme) document.documentElement.dataset.theme = theme;
at("theme").onclick = dark;
at("help").onclick = help;
at("commands-button").onclick = commands;
at("stop").onclick = giveUp;
onBusy((is) => (at("stop").hidden = !is));
onLost((is) => (at("lost").hidden = !is));
addEventListener("hashchange", render);
addEventListener("keydown", key);
call("info").then((info) => {
  frame.info = info;
  at("brand").title = `Shoal ${info.version}`;
  at("brand").hidden = info.embedded;
  listenToNews((event) => current?.news?.(event));
  return render();
}).catch((error) => {
  show(at("screen"), el("p", { class: "empty" }, error.code === "token" ? error.message : `${error.message ?? error}`));
});
