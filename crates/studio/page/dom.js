// Elements from text: what comes from a model is only ever text.

const NAMESPACE = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in node) node.value = value;
    else if (value === true) node.setAttribute(name, "");
    else node.setAttribute(name, String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An element with attributes (`onclick` listens) and children. */
export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** The same of a picture. */
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(NAMESPACE, tag), attributes, children);

/** Puts children in the place of all that a node holds. */
export function show(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Marks a field whose text is no expression of a model, as it is typed. `check` gives the sentence that says why, or nothing. */
export function checkedAsTyped(field, check) {
  const look = later(250, async () => {
    const text = field.value.trim();
    const why = text ? await check(text).catch(() => null) : null;
    if (field.value.trim() !== text) return;
    if (why) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    field.title = why ?? "";
  });
  field.addEventListener("input", look);
  return field;
}

/** The last call of a burst, after a pause. */
export function later(pause, work) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), pause);
  };
}

export const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** A text that fits, with a mark where it was cut. */
export const cut = (text, width) => {
  const letters = [...text];
  return letters.length <= width ? text : letters.slice(0, Math.max(1, width - 1)).join("") + "…";
};

/** What a verdict looks like: always a sign and a word. */
export const VERDICTS = {
  holds: ["✓", "holds", "good"],
  violated: ["✗", "violated", "bad"],
  unknown: ["?", "unknown", "doubt"],
};
