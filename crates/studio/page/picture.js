// A graph whose places were worked out by the server, as SVG.

import { cut, el, svg } from "./dom.js";

/** How one gets from one node to another: down, beside, up, or to itself. */
function way(from, to, share, lap) {
  if (from === to) {
    const right = from.x + from.width / 2;
    return { d: `M${right} ${from.y - 3} c18 -12 18 16 0 5`, at: [right + 16, from.y], tip: [right, from.y + 2, -1, 0] };
  }
  if (to.level > from.level) {
    const [top, bottom] = [from.y + from.height / 2, to.y - to.height / 2];
    const bend = (bottom - top) / 2;
    return { d: `M${from.x} ${top} C${from.x} ${top + bend} ${to.x} ${bottom - bend} ${to.x} ${bottom}`, at: [from.x + (to.x - from.x) * share, top + (bottom - top) * share], room: [top + 9, bottom - 3], tip: [to.x, bottom, 0, 1] };
  }
  if (to.level === from.level) {
    const [top, end] = [from.y - from.height / 2, to.y - to.height / 2];
    const rise = 18 + Math.min(300, Math.abs(to.x - from.x)) / 12;
    return { d: `M${from.x} ${top} C${from.x} ${top - rise} ${to.x} ${end - rise} ${to.x} ${end}`, at: [(from.x + to.x) / 2, top - rise * 0.75], tip: [to.x, end, 0, 1] };
  }
  const [side, end] = [from.x - from.width / 2, to.x - to.width / 2];
  // Ways back lie beside each other.
  const left = Math.min(side, end) - 26 - 16 * lap;
  return { back: true, d: `M${side} ${from.y} C${left} ${from.y} ${left} ${to.y} ${end} ${to.y}`, at: [left + 8 + 4 * lap, (from.y + to.y) / 2 + 12 * (lap % 3)], tip: [end, to.y, 1, 0] };
}

/** Ways between the same two nodes are drawn as one: the first, and how many more there are. */
function together(all, taken) {
  const known = new Map();
  all.forEach(({ from, to, label }, number) => {
    const way = known.get(`${from}/${to}`) ?? { from, to, labels: [], thick: false };
    way.labels.push(label);
    way.thick ||= taken.includes(number);
    known.set(`${from}/${to}`, way);
  });
  return [...known.values()].map(({ labels, ...way }) => ({ ...way, title: labels.join("\n"), label: labels.length > 1 ? `${cut(labels[0], 26)} +${labels.length - 1}` : labels[0] }));
}

/** Moves labels up or down that would stand on others, as far as there is room between the nodes. */
function apart(drawn, reach) {
  const LINE = 11;
  const placed = [];
  drawn.forEach(({ at, room = [-Infinity, Infinity] }, number) => {
    const free = (by) => at[1] + by >= room[0] && at[1] + by <= room[1] && !placed.some(([x, y, half]) => Math.abs(y - at[1] - by) < LINE && Math.abs(x - at[0]) < half + reach[number]);
    at[1] += [0, 1, -1, 2, -2, 3, -3].map((lines) => lines * LINE).find(free) ?? 0;
    placed.push([...at, reach[number]]);
  });
}

/** Draws a picture. `about` says more of nodes: `{count, more, start, dead_end, chosen, tokens, title}`; `taken` has the numbers of edges that are thick. */
export function drawPicture({ nodes, edges: all, width, height }, about = [], onchoose = () => {}, taken = []) {
  const edges = together(all, taken);
  const labels = edges.length <= 40;
  let laps = 0;
  const drawn = edges.map(({ from, to }, number) => way(nodes[from], nodes[to], 0.3 + 0.2 * (number % 3), nodes[to].level < nodes[from].level && labels ? laps++ : 0));
  // Labels have room, too.
  const reach = labels ? edges.map(({ label }, at) => Math.min(34, label.length) * 3.3) : [];
  // Those of ways back stand beside them.
  drawn.forEach((it, at) => { if (it.back && labels) it.at[0] = it.at[0] - reach[at] - 4; });
  if (labels) apart(drawn, reach);
  const left = Math.min(0, ...nodes.map((it) => it.x - it.width / 2 - 30), ...reach.map((half, at) => drawn[at].at[0] - half - 4));
  const right = Math.max(width, ...reach.map((half, at) => drawn[at].at[0] + half + 4));
  // Ways between neighbours rise above them.
  const top = Math.min(0, ...drawn.map(({ at }) => at[1] - 14));
  const box = svg("svg", { class: "graph", width: right - left, height: height - top + 12, viewBox: `${left} ${top} ${right - left} ${height - top + 12}`, role: "group", "aria-label": "Graph" },
    edges.map(({ label, title, thick }, number) => {
      const { d, at, tip, back } = drawn[number];
      const [x, y, along, below] = tip;
      return svg("g", { class: `edge${back ? " back" : ""}${thick ? " taken" : ""}` }, svg("path", { d }),
        svg("path", { class: "tip", d: `M${x} ${y} L${x - 7 * along - 3.5 * below} ${y - 7 * below - 3.5 * along} L${x - 7 * along + 3.5 * below} ${y - 7 * below + 3.5 * along} z` }),
        labels ? svg("text", { x: at[0], y: at[1], "text-anchor": "middle" }, cut(label, 34)) : null, svg("title", {}, title));
    }),
    nodes.map((node, at) => {
      const known = about[at] ?? {};
      const [x, y] = [node.x - node.width / 2, node.y - node.height / 2];
      const kinds = ["node", known.start && "start", known.dead_end && "dead-end", known.chosen && "chosen-node"].filter((it) => it).join(" ");
      const choose = (event) => onchoose(at, event);
      return svg("g", { class: kinds, tabindex: "0", role: "button", "aria-label": node.lines.join(", "), "data-node": at, onclick: choose, onkeydown: (event) => { if (event.key === "Enter") choose(event); } },
        known.count > 1 ? svg("rect", { x: x - 3, y: y - 3, width: node.width + 6, height: node.height + 6, rx: 5 }) : null,
        svg("rect", { x, y, width: node.width, height: node.height, rx: 3 }),
        node.lines.map((line, number) => svg("text", { x: x + 6, y: y + 13 + number * 13 }, line)),
        known.count > 1 ? svg("text", { class: "count", x: x + node.width + 6, y: y + 10 }, `×${known.count}`) : null,
        known.tokens ? svg("text", { class: "tokens", x: node.x + 5, y: y - 3 }, known.tokens === 1 ? "●" : `●×${known.tokens}`) : null,
        known.more ? svg("text", { class: "count", x: x + node.width, y: y + node.height + 11, "text-anchor": "end" }, `▸ ${known.more}`) : null,
        known.title ? svg("title", {}, known.title) : null);
    }));
  return el("div", { class: "graph-scroll" }, box);
}
