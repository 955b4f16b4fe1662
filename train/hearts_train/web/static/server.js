// Questions to the server that are no part of a table.

/**
 * Returns the server's answer, or throws an error with a message for people.
 * @param {string} path
 * @param {any} body sent as JSON
 * @param {AbortSignal} [signal] gives it up
 * @returns {Promise<any>}
 */
export async function asked(path, body, signal) {
  const answer = await fetch(path, {method: "POST", signal,
    headers: {"content-type": "application/json"}, body: JSON.stringify(body)});
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.text || `the server answered ${answer.status}`);
  return found;
}
