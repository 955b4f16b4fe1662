// Questions to the server that are no part of a table.

/**
 * What the server answers; else an error that says why, in words for people.
 * @param {string} path
 * @param {any} [body] asked with, as JSON; without one it is only looked up
 * @returns {Promise<any>}
 */
export async function asked(path, body) {
  return answered(await fetch(path, body === undefined ? undefined : posted(body)));
}

/**
 * The same for work that takes a while.
 * @param {string} path
 * @param {any} body asked with, as JSON
 * @param {(share: number) => void} report gets the share that is done, from 0 to 1
 * @param {AbortSignal} signal gives it up
 * @returns {Promise<any>}
 */
export async function awaited(path, body, report, signal) {
  const answer = await fetch(path, {...posted(body, "application/x-ndjson"), signal});
  if (!answer.ok || !answer.body) return answered(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value;
    const lines = text.split("\n");
    text = lines.pop() || "";
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.answer) return message.answer;
      if (message.refused) throw new Error(message.refused.text);
      report(message.done);
    }
  }
  throw new Error("the server broke off; try again");
}

/** @param {any} body @param {string} [accept] @returns {RequestInit} */
function posted(body, accept = "application/json") {
  return {method: "POST", headers: {"content-type": "application/json", accept},
    body: JSON.stringify(body)};
}

/** @param {Response} answer */
async function answered(answer) {
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.text || `the server answered ${answer.status}`);
  return found;
}
