// A state with its arrays in one piece: a row of entries, a grid, or for many a picture of small squares.

import { cut, el } from "./dom.js";

/** More entries than this are squares. */
const WORDS = 64;
const COLOURS = ["var(--lane)", "var(--message)", "var(--open)", "var(--good)", "var(--word)", "var(--bad)", "var(--number)", "var(--string)"];

/** `name[i].field`: before the first index, the indices, and what comes after. */
function parts(place) {
  const found = /^([^[\]]+)((?:\[[^\]]*\]){1,2})(.*)$/.exec(place);
  if (!found || found[3].includes("[")) return null;
  const indices = found[2].slice(1, -1).split("][");
  return { base: `${found[1]}${"[·]".repeat(indices.length)}${found[3]}`, indices };
}

/** The channels of processes in one line each: `q = [a, b]` for how many messages there are and each place for one. */
function channels(rows) {
  const known = new Map(rows.filter(({ place }) => place.endsWith(".len")).map(({ place, value, changed }) => [place.slice(0, -4), { length: Number(value), changed, messages: new Map() }]));
  const of = ({ place }) => {
    const found = /^(.*)\.messages\[(\d+)\](.*)$/.exec(place);
    return found && known.has(found[1]) ? found : null;
  };
  for (const row of rows) {
    const found = of(row);
    if (!found) continue;
    const channel = known.get(found[1]);
    channel.messages.set(found[2], [...(channel.messages.get(found[2]) ?? []), row.value]);
    channel.changed ||= row.changed;
  }
  return rows.flatMap((row) => {
    const channel = known.get(row.place.replace(/\.len$/, ""));
    if (!row.place.endsWith(".len") || !channel?.messages.size) return of(row) ? [] : [row];
    const held = [...channel.messages.values()].slice(0, channel.length).map((parts) => (parts.length > 1 ? `(${parts.join(", ")})` : parts[0]));
    return [{ place: row.place.slice(0, -4), value: `[${held.join(", ")}]`, changed: channel.changed, made: true }];
  });
}

/** Places that differ only in their index are one, in the place of the first of them. */
export function together(given) {
  const rows = channels(given);
  const groups = new Map();
  const all = [];
  for (const row of rows) {
    const at = parts(row.place);
    if (!at) { all.push({ single: row }); continue; }
    const known = groups.get(at.base);
    if (known) { known.entries.push({ ...row, indices: at.indices }); continue; }
    const group = { base: at.base, entries: [{ ...row, indices: at.indices }] };
    groups.set(at.base, group);
    all.push(group);
  }
  return all.map((it) => (it.entries?.length === 1 ? { single: it.entries[0] } : it));
}

const title = ({ place, value }) => `${place} = ${value}`;

/** What makes an entry something that can be chosen. */
const choice = (entry, onchoose) => (onchoose ? { role: "button", tabindex: "0", onclick: () => onchoose(entry), onkeydown: (event) => { if (event.key === "Enter") onchoose(entry); } } : {});

function strip(entries, onchoose) {
  return el("span", { class: "strip-entries" }, entries.map((entry) => el("span", { class: entry.changed ? "entry changed" : "entry", title: title(entry), ...choice(entry, onchoose) }, cut(entry.value, 16))));
}

function grid(entries, onchoose) {
  const rows = [...new Set(entries.map(({ indices }) => indices[0]))];
  const columns = [...new Set(entries.map(({ indices }) => indices[1]))];
  const at = new Map(entries.map((entry) => [entry.indices.join("/"), entry]));
  return el("table", { class: "grid" }, el("tr", {}, el("th", {}, ""), columns.map((column) => el("th", {}, column))),
    rows.map((row) => el("tr", {}, el("th", {}, row), columns.map((column) => {
      const entry = at.get(`${row}/${column}`);
      return el("td", { class: entry?.changed ? "changed" : null, title: entry ? title(entry) : null, ...(entry ? choice(entry, onchoose) : {}) }, entry ? cut(entry.value, 12) : "");
    }))));
}

function squares(entries, onchoose) {
  const values = [...new Set(entries.map(({ value }) => value))];
  const wide = entries[0].indices.length === 2 ? new Set(entries.map(({ indices }) => indices[1])).size : 32;
  const node = el("div", { class: "squares", role: "img", "aria-label": `${entries.length} entries` }, entries.slice(0, 4096).map((entry) => {
    const square = el("span", { class: entry.changed ? "square changed" : "square", title: title(entry), ...choice(entry, onchoose) });
    square.style.background = COLOURS[values.indexOf(entry.value) % COLOURS.length];
    return square;
  }));
  node.style.gridTemplateColumns = `repeat(${Math.min(64, wide)}, 9px)`;
  return node;
}

/** What stands beside the name of an array. `onchoose` is told the entry that is clicked. */
export function drawEntries(entries, onchoose) {
  if (entries.length > WORDS) return squares(entries, onchoose);
  return entries[0].indices.length === 2 ? grid(entries, onchoose) : strip(entries, onchoose);
}
