// Calls of the server.

/** Why a call was not answered. */
export class CallFailed extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.diagnostics = error.diagnostics ?? [];
  }
}

/** Calls that are not answered yet, and who is told when one has taken long or all are over. */
const waiting = new Set();
let busy = () => {};
export const onBusy = (listener) => (busy = listener);
const SOON = 500;

/** Gives up all calls that are not answered yet; the server ends what it does for them. */
export const giveUp = () => waiting.forEach((given) => given.abort(new CallFailed(0, { code: "stopped", message: "stopped" })));

/** Waits for an answer that somebody may not want to wait for. */
async function stoppable(ask) {
  const given = new AbortController();
  waiting.add(given);
  const timer = setTimeout(() => busy(true), SOON);
  try {
    return await ask(given.signal);
  } finally {
    clearTimeout(timer);
    waiting.delete(given);
    if (!waiting.size) busy(false);
  }
}

let lost = () => {};
/** Who is told whether the server is there. */
export const onLost = (listener) => (lost = listener);

/** Calls the server; `body` makes it a POST unless a method is said. Who gives no signal waits for what can be stopped. */
export const call = (path, body, { method, signal } = {}) => (signal ? send(path, body, method, signal) : stoppable((own) => send(path, body, method, own)));

async function send(path, body, method, signal) {
  const given = { method: method ?? (body ? "POST" : "GET"), signal };
  if (body) Object.assign(given, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  let response;
  try {
    response = await fetch("/api/v1/" + path, given);
  } catch (error) {
    if (error.name !== "AbortError" && !(error instanceof CallFailed)) lost(true);
    throw error;
  }
  lost(false);
  const answer = await response.json();
  if (answer.error) throw new CallFailed(response.status, answer.error);
  return answer;
}

/** Why a text is no expression of a model (and no condition, if one is wanted); nothing if it is. */
export async function whyNoExpression(file, set, expression, condition) {
  const { ok, diagnostics, condition: is } = await call("expression", { file, set, expression });
  if (!ok) return diagnostics[0]?.message ?? "that is no expression";
  return condition && !is ? "that is no condition" : null;
}

/** Where a call is, for links. */
export const address = (path) => "/api/v1/" + path;

/** Hears what happens on the server, as long as somebody sees the page: a browser has few connections for all its windows. */
export function listenToNews(hear) {
  let source = null;
  let last = null;
  const follow = () => {
    source?.close();
    source = null;
    if (document.visibilityState !== "visible") return;
    source = new EventSource(address("events"));
    const begun = source;
    source.onmessage = (message) => {
      last = message.lastEventId;
      hear(JSON.parse(message.data));
    };
    // Who was away may have missed something.
    source.onopen = () => { if (last !== null && begun === source) hear({ event: "missed" }); last ??= "0"; };
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

/** Hears what happens in a run until it is over. Gives a function that ends it. */
export function listen(run, hear) {
  const source = new EventSource(address(`runs/${run}/events`));
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (event.event === "over") source.close();
    hear(event);
  };
  // The browser would begin again from the start: what there is to know is asked for otherwise.
  source.onerror = () => {
    source.close();
    hear({ event: "over" });
  };
  return () => source.close();
}
