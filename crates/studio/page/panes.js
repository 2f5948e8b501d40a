// How wide the panes beside the middle are: drawn with the mouse, moved or folded by keys, remembered by the browser.

import { el } from "./dom.js";

/** The panes of a screen, by the name of their class: the property of the style, and which way makes them wider. */
const PANES = { side: ["--side", 1], right: ["--right", -1] };
const NARROWEST = 90;
const STEP = 24;

const place = (screen, pane) => `shoal-pane:${screen}/${pane}`;

/** Puts a handle between each pane and the middle. `root` is drawn, and `screen` is its name. */
export function fitPanes(root, screen) {
  for (const [pane, [property]] of Object.entries(PANES)) {
    root.style.removeProperty(property);
    const node = root.querySelector(`:scope > .${pane}`);
    if (!node) continue;
    const handle = el("div", { class: `handle of-${pane}`, role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": `Width of the ${pane === "side" ? "left" : "right"} pane`,
      ondblclick: () => set(root, screen, pane, null),
      onpointerdown: (event) => drag(event, root, screen, pane),
      onkeydown: (event) => { if (move(root, screen, pane, event.key)) event.preventDefault(); } });
    root.append(handle);
    set(root, screen, pane, localStorage.getItem(place(screen, pane)));
  }
  root.classList.toggle("without-runs", localStorage.getItem(place(screen, "runs")) === "0");
}

/** Makes a pane so wide; 0 folds it, nothing makes it as wide as it was made. */
function set(root, screen, pane, width) {
  const [property] = PANES[pane];
  const node = root.querySelector(`:scope > .${pane}`);
  if (width === null) localStorage.removeItem(place(screen, pane));
  else localStorage.setItem(place(screen, pane), width);
  node.hidden = Number(width) === 0 && width !== null;
  if (width === null) root.style.removeProperty(property);
  else root.style.setProperty(property, `${width}px`);
  root.querySelector(`:scope > .of-${pane}`).setAttribute("aria-valuenow", node.hidden ? 0 : node.offsetWidth);
}

const widthOf = (root, pane) => root.querySelector(`:scope > .${pane}`).offsetWidth;
const within = (root, width) => Math.round(Math.max(NARROWEST, Math.min(root.clientWidth * 0.7, width)));

function drag(event, root, screen, pane) {
  const [, way] = PANES[pane];
  const [from, wide, handle] = [event.clientX, widthOf(root, pane), event.currentTarget];
  handle.setPointerCapture(event.pointerId);
  const pull = ({ clientX }) => set(root, screen, pane, within(root, wide + way * (clientX - from)));
  handle.addEventListener("pointermove", pull);
  handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", pull), { once: true });
}

/** Moves the edge of a pane by an arrow key. */
function move(root, screen, pane, key) {
  const by = { ArrowLeft: -STEP, ArrowRight: STEP }[key];
  if (!by || !root.querySelector(`:scope > .${pane}`)) return false;
  set(root, screen, pane, within(root, widthOf(root, pane) + PANES[pane][1] * by));
  return true;
}

/** `[`, `]` and `_` fold a pane and show it again; Alt+Shift and an arrow move the edge of the right one. Whether the key was one of these. */
export function paneKey(root, screen, event) {
  if (event.altKey && event.shiftKey) return move(root, screen, "right", event.key);
  const pane = { "[": "side", "]": "right" }[event.key];
  if (pane && root.querySelector(`:scope > .${pane}`)) {
    set(root, screen, pane, root.querySelector(`:scope > .${pane}`).hidden ? null : 0);
    return true;
  }
  if (event.key !== "_") return false;
  const folded = root.classList.toggle("without-runs");
  if (folded) localStorage.setItem(place(screen, "runs"), 0);
  else localStorage.removeItem(place(screen, "runs"));
  return true;
}
