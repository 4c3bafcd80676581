/** The control API of the local Slack, as ../CONTROL.md describes it. */

/** @typedef {import("./types.js").Change} Change */
/** @typedef {import("./types.js").Result} Result */
/** @typedef {import("./types.js").Seen} Seen */
/** @typedef {import("./types.js").Workspace} Workspace */

const ROOT = "/_control/";

/** An act that a person could not do, or a server that did not answer. */
export class ActError extends Error {
  /**
   * @param {string} code
   * @param {string} detail
   */
  constructor(code, detail) {
    super(detail);
    this.code = code;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 */
async function call(path, options) {
  let answer;
  try {
    answer = await fetch(ROOT + path, { cache: "no-store", ...options });
  } catch {
    throw new ActError("unreachable", "The local Slack does not answer.");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    throw new ActError(body.error ?? `status_${answer.status}`, body.detail ?? answer.statusText);
  }
  return body;
}

/**
 * @param {"click" | "submit" | "close_view" | "slash" | "open_home" | "say"} verb
 * @param {Record<string, unknown>} body
 * @returns {Promise<Result>}
 */
export function act(verb, body) {
  const headers = { "Content-Type": "application/json" };
  return call(verb, { method: "POST", headers, body: JSON.stringify(body) });
}

/**
 * @param {string} user
 * @returns {Promise<Seen>}
 */
export function fetchSeen(user) {
  return call(`state?user=${encodeURIComponent(user)}`);
}

/** @returns {Promise<Workspace>} */
export function fetchWorkspace() {
  return call("workspace");
}

/**
 * Watches all changes since the beginning: what is new to each person is told from them.
 *
 * @param {{ change: (change: Change) => void, open: () => void, lost: () => void }} told
 * @returns {EventSource}
 */
export function watch(told) {
  const source = new EventSource(`${ROOT}events?after=0`);
  source.onmessage = (event) => told.change(JSON.parse(event.data));
  source.onopen = told.open;
  source.onerror = told.lost;
  return source;
}
