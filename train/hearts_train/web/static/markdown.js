// What model cards need of Markdown: headings, lists, tables, paragraphs; bold and code in them.
// Everything becomes text of elements, so that nothing in a card can become a part of the page.

import {el} from "hearts/dom.js";

/** @param {string} text @returns {HTMLElement} */
export function markdown(text) {
  const box = el("div", {class: "markdown"});
  for (const block of text.split(/\n\s*\n/)) {
    const lines = block.split("\n").filter((line) => line.trim());
    for (const part of parts(lines)) box.append(...made(part));
  }
  return box;
}

/** Lines of one kind together: a heading before a paragraph is a part. @param {string[]} lines */
function parts(lines) {
  /** @type {string[][]} */
  const found = [];
  for (const line of lines) {
    const before = found.at(-1)?.[0];
    if (before === undefined || kind(line) === "#" || kind(line) !== kind(before)) {
      found.push([line]);
    } else found[found.length - 1].push(line);
  }
  return found;
}

/** @param {string} line */
function kind(line) {
  return /^(#|- |\|)/.exec(line)?.[0].trim() || "";
}

/** @param {string[]} lines @returns {Node[]} */
function made(lines) {
  switch (kind(lines[0])) {
    case "#": {
      const level = Math.min(4, 2 + /^#+/.exec(lines[0])[0].length);
      return [el(`h${level}`, {}, ...spans(lines[0].replace(/^#+\s*/, "")))];
    }
    case "-":
      return [el("ul", {}, ...lines.map((line) => el("li", {}, ...spans(line.slice(2)))))];
    case "|":
      return [table(lines)];
    default:
      return [el("p", {}, ...spans(lines.join(" ")))];
  }
}

/** @param {string[]} lines */
function table(lines) {
  const rows = lines.map((line) => line.replace(/^\||\|$/g, "").split("|").map((c) => c.trim()));
  const isRule = (row) => row.every((cell) => /^:?-+:?$/.test(cell));
  const [head, ...body] = rows.filter((row) => !isRule(row));
  return el("table", {}, el("thead", {}, el("tr", {},
    ...head.map((cell) => el("th", {scope: "col"}, ...spans(cell))))),
  el("tbody", {}, ...body.map((row) => el("tr", {},
    ...row.map((cell) => el("td", {}, ...spans(cell)))))));
}

/** Bold and code within a line. @param {string} text @returns {(Node|string)[]} */
function spans(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).filter(Boolean).map((piece) => {
    if (/^`.+`$/.test(piece)) return el("code", {text: piece.slice(1, -1)});
    if (/^\*\*.+\*\*$/.test(piece)) return el("strong", {text: piece.slice(2, -2)});
    return piece;
  });
}
