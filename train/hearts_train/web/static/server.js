// Questions to the server that are no part of a table.

/**
 * What the server answers; else an error that says why, in words for people.
 * @param {string} path
 * @param {any} [body] asked with, as JSON; without one it is only looked up
 * @returns {Promise<any>}
 */
export async function asked(path, body) {
  const answer = await fetch(path, body === undefined ? undefined : {method: "POST",
    headers: {"content-type": "application/json"}, body: JSON.stringify(body)});
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.text || `the server answered ${answer.status}`);
  return told;
}
