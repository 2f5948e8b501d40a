// Two runs beside each other: like steps in one row, where they part, and what differs between two states.

import { el, plural, show } from "./dom.js";
import { call } from "./call.js";

const HIGH = 24;
/** Rows beyond what is seen that are there already. */
const BEYOND = 20;

/** A choice of all runs that there are, but for one. */
export async function otherRuns(own, onchoose) {
  const [{ files }, { runs }] = await Promise.all([call("files"), call("runs")]);
  const found = runs.flatMap((run) => run.properties.flatMap((it) => [
    it.trace ? [it.trace, `run ${run.id}: ✗ ${it.title}`] : null, it.witness ? [it.witness, `run ${run.id}: a run for ${it.title}`] : null])).filter((it) => it);
  const saved = files.filter(({ kind }) => kind === "trace").map(({ path }) => ["f:" + path, path]);
  const all = [...found, ...saved].filter(([id]) => id !== own);
  return el("select", { "aria-label": "Compare with", title: "Another run beside this one", onchange: (event) => event.target.value && onchoose(event.target.value) },
    el("option", { value: "" }, all.length ? "compare with…" : "no other run"), all.map(([id, title]) => el("option", { value: id }, title)));
}

export async function compareScreen(root, params, frame) {
  const [one, other] = [params.get("t"), params.get("with")];
  const at = (id) => `traces/${encodeURIComponent(id)}`;
  const both = await call(`${at(one)}/compare?with=${encodeURIComponent(other)}`);
  const { rows } = both;
  const start = both.first ?? rows.length - 1;
  let chosen = Math.min(Number(params.get("r") ?? start), rows.length - 1);
  let asked = null;
  frame.where(`${both.left.file}: two runs`);

  const body = el("div", { class: "beside-rows" });
  const scroll = el("div", { class: "beside", tabindex: "0", role: "listbox", "aria-label": "Rows" }, body);
  const details = el("div", { class: "step" });
  body.style.height = `${rows.length * HIGH}px`;
  const kind = (row) => (row.left === null ? "only-right" : row.right === null ? "only-left" : row.same ? "same" : "differs");

  function draw() {
    const from = Math.max(0, Math.floor(scroll.scrollTop / HIGH) - BEYOND);
    const to = Math.min(rows.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / HIGH) + BEYOND);
    show(body, rows.slice(from, to).map((row, number) => {
      const here = from + number;
      const node = el("div", { class: `beside-row ${kind(row)}`, role: "option", "aria-selected": here === chosen ? "true" : "false", "data-row": here, onclick: () => choose(here) },
        el("span", { class: "number" }, row.left ?? ""), el("span", { title: row.label_left }, row.label_left ?? ""),
        el("span", { class: "number" }, row.right ?? ""), el("span", { title: row.label_right }, row.label_right ?? ""));
      node.style.top = `${here * HIGH}px`;
      return node;
    }));
  }
  scroll.addEventListener("scroll", draw);

  /** What differs between the states that a row leads to; where one run has no such step, between those it stands at. */
  async function choose(number) {
    chosen = Math.max(0, Math.min(rows.length - 1, number));
    const top = chosen * HIGH;
    if (top < scroll.scrollTop + HIGH) scroll.scrollTop = top - 3 * HIGH;
    else if (top > scroll.scrollTop + scroll.clientHeight - 2 * HIGH) scroll.scrollTop = top - scroll.clientHeight + 4 * HIGH;
    draw();
    frame.keep({ r: chosen });
    const last = (side) => { for (let at = chosen; at >= 0; at--) if (rows[at][side] !== null) return rows[at][side]; return 0; };
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    try {
      const [left, right] = await Promise.all([call(`${at(one)}/rows/${last("left")}`, undefined, { signal }), call(`${at(other)}/rows/${last("right")}`, undefined, { signal })]);
      drawStates(left.row, right.row);
    } catch (error) { frame.fail(error); }
  }

  function drawStates(left, right) {
    const values = new Map(left.state.map(({ place, value }) => [place, [value, "–"]]));
    for (const { place, value } of right.state) values.set(place, [values.get(place)?.[0] ?? "–", value]);
    const apart = [...values].filter(([, [mine, theirs]]) => mine !== theirs);
    show(details,
      el("h2", {}, `after step ${left.number} and step ${right.number}`),
      [[one, left], [other, right]].map(([id, row]) => el("p", {}, el("a", { href: frame.link("trace", { t: id, s: row.number }) }, `step ${row.number}`), ` ${row.rule}`)),
      apart.length ? el("table", { class: "state" }, el("tr", {}, el("th", {}, ""), el("td", {}, "left"), el("td", {}, "right")),
        apart.map(([place, [mine, theirs]]) => el("tr", {}, el("th", {}, place), el("td", {}, mine), el("td", {}, theirs)))) : el("p", { class: "good" }, "The states are the same."));
  }

  const next = (by) => { let at = chosen + by; while (at > 0 && at < rows.length - 1 && rows[at].same) at += by; return at; };
  const title = (run) => `${run.file}${run.violated ? `: ✗ ${run.violated}` : ""} · ${plural(run.steps, "step", "steps")}`;
  show(root,
    el("section", { class: "centre" },
      el("div", { class: "row bar" }, el("b", {}, "Two runs"),
        el("span", { class: "faint" }, both.first === null ? "the same from start to end" : `they part at ${both.rows[both.first].left === null ? "the right run's" : ""} step ${both.rows[both.first].left ?? both.rows[both.first].right}`),
        both.aligned ? null : el("span", { class: "doubt" }, "too long to be put beside each other but at their ends"), el("span", { class: "grow" }),
        el("button", { title: "Where they part", onclick: () => choose(start) }, "where they part"),
        el("button", { title: "Previous difference (K)", onclick: () => choose(next(-1)) }, "◀ difference"), el("button", { title: "Next difference (J)", onclick: () => choose(next(1)) }, "difference ▶")),
      el("div", { class: "beside-heads" }, el("a", { href: frame.link("trace", { t: one }) }, title(both.left)), el("a", { href: frame.link("trace", { t: other }) }, title(both.right))),
      scroll),
    el("aside", { class: "right" }, details));
  await choose(chosen);
  return {
    leave() { asked?.abort(); },
    key(event) {
      const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      if (by) choose(chosen + by);
      else if (event.key === "J" || event.key === "K") choose(next(event.key === "J" ? 1 : -1));
      else if (event.key === "Home") choose(0);
      else if (event.key === "End") choose(rows.length - 1);
      else return false;
      return true;
    },
  };
}
