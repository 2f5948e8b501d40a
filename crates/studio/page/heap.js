// Objects and what points to them: boxes that keep their place from step to step.

import { el, svg } from "./dom.js";

const WIDE = 132;
const HIGH = 15;

/** The objects of a state: `heap of Node[Node#2].next = Node#1`, and who points to them. */
function read(state) {
  const objects = new Map();
  const roots = [];
  for (const { place, value, changed } of state) {
    const field = place.match(/^heap of [^[]+\[([^\]]+)\]\.?(.*)$/);
    if (!field) continue;
    if (!objects.has(field[1])) objects.set(field[1], []);
    objects.get(field[1]).push({ name: field[2] || "value", value, changed });
  }
  const isObject = (value) => objects.has(value) || /^\w+#\d+$/.test(value);
  for (const { place, value, changed } of state) if (!place.startsWith("heap of ") && isObject(value)) roots.push({ place, value, changed });
  return { objects, roots, isObject };
}

export class Heap {
  constructor() {
    this.places = new Map();
    this.node = el("div", { class: "heap" });
  }

  /** Whether a state has objects. */
  static fits(state) { return state.some(({ place }) => place.startsWith("heap of ")); }

  /** An object has the column that it got when it was first seen. */
  place(name) {
    if (!this.places.has(name)) this.places.set(name, this.places.size);
    return this.places.get(name);
  }

  show(state) {
    const { objects, roots, isObject } = read(state);
    // What is pointed to and is not there was deleted.
    const pointed = [...roots.map(({ value }) => value), ...[...objects.values()].flat().map(({ value }) => value).filter(isObject)];
    const names = [...new Set([...objects.keys(), ...pointed])];
    names.forEach((name) => this.place(name));
    const reached = new Set();
    const open = roots.map(({ value }) => value);
    while (open.length) {
      const name = open.pop();
      if (reached.has(name)) continue;
      reached.add(name);
      open.push(...(objects.get(name) ?? []).map(({ value }) => value).filter(isObject));
    }
    const left = 190;
    const x = (name) => left + this.place(name) * (WIDE + 46);
    const top = 16;
    const tall = Math.max(3, ...[...objects.values()].map((fields) => fields.length)) * HIGH + 26;
    const height = Math.max(tall + top + 30, roots.length * 20 + 30);
    const width = left + (Math.max(0, ...names.map((name) => this.place(name))) + 1) * (WIDE + 46);
    const line = (from, to, kind) => {
      const bend = Math.max(24, Math.abs(to[0] - from[0]) / 3);
      return [svg("path", { class: `pointer ${kind}`, d: `M${from[0]} ${from[1]} C${from[0] + bend} ${from[1]} ${to[0] - bend} ${to[1]} ${to[0]} ${to[1]}` }),
        svg("path", { class: `pointer-tip ${kind}`, d: `M${to[0]} ${to[1]} l-7 -4 l0 8 z` })];
    };
    const kind = (value) => (objects.has(value) ? "" : "dangling");
    this.node.replaceChildren(svg("svg", { width, height, role: "img", "aria-label": `objects: ${names.join(", ")}` },
      roots.map(({ place, value, changed }, at) => [svg("text", { class: changed ? "changed" : null, x: 4, y: top + 14 + at * 20 }, place), line([150, top + 10 + at * 20], [x(value), top + 10], kind(value))]),
      names.map((name) => {
        const fields = objects.get(name);
        return svg("g", { class: fields ? (reached.has(name) ? "object" : "object garbage") : "object deleted" },
          svg("rect", { x: x(name), y: top, width: WIDE, height: fields ? fields.length * HIGH + 24 : 24, rx: 4 }),
          svg("text", { class: "name", x: x(name) + 6, y: top + 15 }, fields ? name : `${name} ✝ deleted`),
          (fields ?? []).map(({ name: field, value, changed }, at) => [
            svg("text", { class: changed ? "changed" : null, x: x(name) + 6, y: top + 32 + at * HIGH }, isObject(value) ? field : `${field} ${value}`),
            isObject(value) ? line([x(name) + WIDE - 4, top + 28 + at * HIGH], [x(value), top + 10], kind(value)) : null]));
      })));
  }
}
