// Any number of parts: verdicts for all numbers with what stands behind them, the counter system, what can be covered.

import { VERDICTS, el, plural, show } from "./dom.js";
import { call, listen } from "./call.js";
import { settings } from "./model.js";
import { drawPicture } from "./picture.js";

const written = (set) => Object.entries(set).map(([name, value]) => `${name}=${value}`).join(", ");

export async function anyScreen(root, params, frame) {
  const { files } = await call("files");
  const file = params.get("f") ?? files.find(({ kind }) => kind === "model")?.path;
  if (!file) {
    show(root, el("p", { class: "empty" }, "There are no models in this folder."));
    return {};
  }
  const set = settings(params.get("set"));
  let gone = false;
  frame.where(`${file}: any number`);
  const model = await call("model", { file, set });
  const open = model.sorts.filter(({ size }) => size === "any").map(({ name }) => name);
  const answer = el("div", { class: "answer" }, el("p", { class: "faint" }, "looking…"));
  const sizes = el("div", { class: "sizes" });
  const upto = el("input", { type: "number", min: 1, max: 100, value: 4, "aria-label": "Up to this number" });

  const choices = model.sorts.filter(({ size }) => size !== "any").map(({ name }) =>
    el("a", { class: "button", href: frame.link("any", { f: file, set: written({ ...set, [name]: "any" }) }) }, `any number of ${name}`));

  function property(it) {
    const [sign, word, kind] = VERDICTS[it.verdict];
    return el("div", { class: "property", "data-verdict": it.verdict, "data-evidence": it.evidence },
      el("div", { class: "row" }, el("span", { class: kind }, `${sign} ${word}`), el("b", {}, it.title)),
      el("p", { class: "reason" }, [it.verdict === "violated" && it.elements ? `needs ${it.elements.count}${it.elements.least ? ", and no fewer" : ""}` : it.words, it.reason].filter((part) => part).join(" · ")),
      it.audit ? el("p", { class: it.audit.startsWith("accepted") ? "good" : "doubt" }, `${it.audit.startsWith("accepted") ? "✓" : "?"} certificate (${it.evidence}) ${it.audit}`) : null);
  }

  function counters(it) {
    if (it.refused) return el("p", { class: "doubt" }, `no counter system: ${it.refused}`);
    const { places, shared, transitions } = it.sizes;
    return [el("p", { class: "faint" }, `${plural(places, "local state", "local states")} · ${plural(shared, "shared state", "shared states")} · ${plural(transitions, "transition", "transitions")}`),
      it.picture ? drawPicture(it.picture, it.picture.nodes.map(({ lines }, at) => ({ start: lines.length > 1, title: it.names[at] ?? lines[0] }))) : el("p", { class: "faint" }, "too large to be drawn")];
  }

  function cover(it) {
    if (it.refused) return el("p", { class: "doubt" }, `no covering set: ${it.refused}`);
    const count = (count) => (count === null ? "ω" : String(count));
    return el("table", { class: "cover" }, it.elements.map(({ shared, whole, tokens }) =>
      el("tr", {}, el("th", { title: whole }, shared), el("td", {}, tokens.map(({ place, whole: all, count: how }) => el("span", { class: "token", title: all }, `${place}`, el("sup", {}, count(how)), " "))))),
      it.count > it.elements.length ? el("tr", {}, el("td", { colspan: 2, class: "faint" }, `and ${it.count - it.elements.length} more`)) : null);
  }

  function views(all) {
    return all.map(({ words, properties, count, bits, views: shown }) => el("details", {}, el("summary", {}, `${plural(count, "view", "views")}: ${words}`),
      el("p", { class: "faint" }, `proves ${properties.join(", ")}${bits.length ? ` · of the others it is known: ${bits.join(", ")}` : ""}`),
      table(shown, count)));
  }

  /** Views as a table: a column for each variable that is not the same in all of them; so many rows at a time. */
  function table(shown, count) {
    const PAGE = 50;
    const facts = shown.map(({ own, shared }) => new Map([...own.map((it) => [it, true]), ...shared.map((it) => [it, false])].map(([it, is]) => {
      const at = it.indexOf(" = ");
      return at < 0 ? [it, { value: "✓", own: is }] : [it.slice(0, at), { value: it.slice(at + 3), own: is }];
    })));
    const names = [...new Set(facts.flatMap((it) => [...it.keys()]))];
    const same = (name) => facts.every((it) => it.get(name)?.value === facts[0].get(name)?.value);
    const fixed = facts.length > 1 ? names.filter(same) : [];
    const columns = names.filter((name) => !fixed.includes(name));
    const filter = el("input", { type: "search", placeholder: "filter views", "aria-label": "Filter views", oninput: () => draw(PAGE) });
    const rows = el("div", { class: "wide" });
    const draw = (most) => {
      const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word);
      const text = (it) => [...it].map(([name, { value }]) => `${name}=${value}`).join(" ").toLowerCase();
      const fitting = words.length ? facts.filter((it) => words.every((word) => text(it).includes(word))) : facts;
      show(rows, el("table", { class: "grid views" }, el("tr", {}, columns.map((name) => el("th", {}, name))),
        fitting.slice(0, most).map((it) => el("tr", {}, columns.map((name) => el("td", { class: it.get(name)?.own ? "own" : null }, it.get(name)?.value ?? "·"))))),
        fitting.length > most ? el("button", { onclick: () => draw(most + 4 * PAGE) }, `${plural(fitting.length - most, "more", "more")}`) : null,
        el("p", { class: "faint" }, `${plural(fitting.length, "view", "views")}${words.length ? " with that" : ""}${count > shown.length ? `, of the first ${shown.length.toLocaleString("en")} of ${count.toLocaleString("en")}` : ""}`));
    };
    draw(PAGE);
    return el("div", {}, fixed.length ? el("p", { class: "mono" }, el("span", { class: "faint" }, "in all of them "), fixed.map((name) => `${name} = ${facts[0].get(name).value}`).join(", ")) : null, filter, rows);
  }

  async function look() {
    if (!open.length && model.sorts.length) {
      show(answer, el("p", {}, "The parts of this model are counted. Ask for any number of them:"), el("div", { class: "row" }, choices));
      return;
    }
    try {
      const known = await call("any", { file, set, seconds: 60 });
      if (gone) return;
      show(answer, known.properties.map(property),
        el("h2", {}, "Counter system"), counters(known.counters),
        el("h2", {}, "What can be covered"), cover(known.cover),
        known.views.length ? el("h2", {}, "Views") : null, views(known.views));
    } catch (error) {
      if (!gone) show(answer, el("p", { class: "doubt" }, `Why not any number: ${error.diagnostics?.[0]?.message ?? error.message}`), el("div", { class: "row" }, choices));
    }
  }

  /** The same for one number after the other, with what each costs. */
  async function climb() {
    const name = open[0] ?? model.sorts[0]?.name;
    if (!name) return;
    const rows = [];
    const draw = () => show(sizes, el("table", {}, el("tr", {}, [name, "states", "seconds", "verdicts"].map((head) => el("th", {}, head))), rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))))));
    for (let number = 1; number <= Number(upto.value) && !gone; number++) {
      const { run } = await call("runs", { file, set: { ...set, [name]: number }, seconds: 30 });
      await new Promise((resolve) => listen(run.id, (event) => event.event === "over" && resolve()));
      const done = (await call(`runs/${run.id}`)).run;
      const words = done.properties.map(({ verdict }) => VERDICTS[verdict]?.[0] ?? "?").join(" ");
      rows.push([number, done.statistics?.states?.toLocaleString("en") ?? done.error ?? "", done.seconds.toFixed(2), words]);
      draw();
    }
  }

  show(root,
    el("section", { class: "centre" }, el("div", { class: "row bar" }, el("b", {}, file), el("span", { class: "faint" }, open.length ? `any number of ${open.join(", ")}` : "")), answer),
    el("aside", { class: "right" },
      el("h2", {}, "One number after the other"),
      el("div", { class: "row" }, el("label", {}, "up to ", upto), el("button", { id: "climb", onclick: () => climb().catch(frame.fail) }, "▶ run")), sizes,
      choices.length && open.length ? [el("h2", {}, "More of any number"), choices] : null,
      model.sorts.length ? el("h2", {}, "Symmetry") : null,
      model.sorts.map((sort) => el("div", { class: "sort" }, el("b", {}, sort.name), ` = ${sort.size} `, el("span", { class: sort.proved ? "good" : "doubt" }, sort.proved ? "symmetric: proved" : "symmetric: broken"),
        sort.breaks.map(({ range, text }) => el("p", {}, el("a", { href: frame.link("model", { f: file, line: range.line }) }, `${range.line}:${range.column}`), ` ${text}`))))));
  await look();
  return { leave() { gone = true; } };
}
