// All that can be done here, found by typing: whatever can be clicked or filled in is a command.

import { el, show } from "./dom.js";
import { call } from "./call.js";

const HERE = "#screens a, header button, #screen button, #screen a.button, #screen summary, #screen input, #screen select, #screen textarea";

/** What a field or a button is called. */
function named(node) {
  const [said, title] = [(node.innerText ?? "").trim().replace(/\s+/g, " "), node.title || node.getAttribute("aria-label") || ""];
  if (node.matches("input, select, textarea")) return `field: ${title || node.closest("label")?.innerText.trim() || node.placeholder}`;
  return [said, title].filter((part, at, all) => part && all.indexOf(part) === at).join(" — ");
}

/** Does what a command stands for. */
function obey(node) {
  if (node.matches("input:not([type=checkbox]), select, textarea")) node.focus();
  else node.click();
}

/** Opens the list; `go` opens a file. */
export function openPalette(go) {
  const all = [];
  for (const node of document.querySelectorAll(HERE)) {
    if (node.disabled || !node.checkVisibility() || node.closest(".gutter, .files")) continue;
    const name = named(node);
    if (name && !all.some((known) => known.name === name)) all.push({ name, run: () => obey(node) });
  }
  let found = [];
  let chosen = 0;
  const list = el("ul", { class: "commands", role: "listbox", id: "commands" });
  const field = el("input", { type: "search", "aria-label": "Command", placeholder: "what to do", role: "combobox", "aria-controls": "commands", "aria-expanded": "true", oninput: () => { chosen = 0; draw(); } });
  const box = el("dialog", { class: "palette", "aria-label": "Commands", onclose: () => box.remove() }, field, list);

  function draw() {
    const words = field.value.toLowerCase().split(/\s+/);
    found = all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word))).slice(0, 200);
    chosen = Math.max(0, Math.min(found.length - 1, chosen));
    show(list, found.length ? found.map((it, at) => el("li", { role: "option", "aria-selected": at === chosen ? "true" : "false", onclick: () => take(it) }, it.name)) : el("li", { class: "faint" }, "nothing like that"));
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }
  function take(command) {
    box.close();
    command?.run();
  }
  box.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) { chosen += by; draw(); } else if (event.key === "Enter") take(found[chosen]); else return;
    event.preventDefault();
  });
  document.body.append(box);
  box.showModal();
  draw();
  call("files").then(({ files }) => {
    all.push(...files.map((file) => ({ name: `open ${file.path}`, run: () => go(file) })));
    draw();
  }).catch(() => {});
}
