// The choices besides playing a card: the exchange and the moon.

import {cardName, cardText} from "hearts/cards.js";
import {begins} from "hearts/clicks.js";
import {button, say} from "hearts/dom.js";
import {counted} from "hearts/figures.js";

/** @typedef {import("hearts/state.js").Table} Table */

/** @type {Record<string, string>} */
const WHERE = {left: "to the left", right: "to the right", across: "across"};

/**
 * Shows how many cards are chosen, who gets them, and the button that passes them.
 * @param {any} room of table.js
 * @param {string[]} cards chosen so far
 */
export function showExchange(room, cards) {
  /** @type {Table} */
  const table = room.table;
  const count = table.passCount - table.view.passed.length;
  const to = table.who(table.receiver(table.near));
  const where = WHERE[table.facts.direction];
  const left = count - cards.length;
  room.line.textContent = left
    ? `Choose ${left === count ? count : `${left} more`} ${left === 1 ? "card" : "cards"} for ${
      to} (${where}).`
    : `These go to ${to} (${where}).`;
  const press = button(left ? `Pass ${count}` : `Pass ${cards.map(cardText).join(" ")}`,
    () => begins() && room.act(cards), {class: "main", disabled: left > 0, "aria-label": left
      ? `Pass ${count} cards to ${to}` : `Pass ${cards.map(cardName).join(", ")} to ${to}`});
  room.actions.replaceChildren(press);
  if (!cards.length) say(`${room.words} ${room.line.textContent}`.trim());
}

/**
 * Shows the two ways to use a moon.
 * @param {any} room
 */
export function showMoon(room) {
  room.line.textContent = "You have shot the moon: choose.";
  if (room.actions.children.length === 2) return;
  const points = counted(room.table.rules.fields.moon_points, "point");
  const [off, others] = [[`Take ${points} off mine`, "moon:off"],
    [`Give the others ${points} each`, "moon:others"]].map(([label, action]) =>
    button(label, () => begins() && room.act([action]), {class: "main"}));
  room.actions.replaceChildren(off, others);
  say(room.line.textContent);
  off.focus({preventScroll: true});
}
