// One's own finished deals, saved in this browser: what each gave away, and by which cards.

import {cardName, cardText, chip} from "hearts/cards.js";
import {el, load, save} from "hearts/dom.js";
import {counted} from "hearts/figures.js";
import {toFragment} from "hearts/line.js";
import {asked} from "hearts/server.js";

const KEY = "hearts.deals";
const MOST = 300; // deals that are kept, the newest

/**
 * @typedef {{at: number, trick: number, played: string, best: string, lost: number,
 *   done?: boolean}} Mistake `at`: how many actions came before it; `done`: solved since
 * @typedef {{deal: string, seat: number, lost?: number, choices?: number, cards?: Mistake[]}} Own
 *   a deal as a text; the rest is known once the server has looked at it
 */

/** All deals, the oldest first. @returns {Own[]} */
export function ownDeals() {
  const found = load(KEY);
  return Array.isArray(found) ? found.filter((own) => typeof own?.deal === "string"
    && Number.isInteger(own.seat) && Array.isArray(own.cards ?? [])) : [];
}

/** Saves a deal, or what has become known of it. @param {Own} own */
export function keep(own) {
  const deals = ownDeals();
  const place = deals.findIndex(({deal}) => deal === own.deal);
  if (place < 0) deals.push(own);
  else deals[place] = own;
  save(KEY, deals.slice(-MOST));
}

/**
 * A deal with what it gave away; the server looks at it once.
 * @param {string} deal @param {number} seat
 * @returns {Promise<Own>}
 */
export async function judged(deal, seat) {
  const known = ownDeals().find((own) => own.deal === deal);
  if (known?.cards) return known;
  keep({deal, seat});
  const {lost, choices, cards} = await asked("/api/mistakes", {deal, seat});
  const own = {deal, seat, lost, choices, cards: cards.map(({at, trick, played, best, lost: cost}) =>
    ({at, trick, played, best, lost: cost}))};
  keep(own);
  return own;
}

/** The mistakes of all deals, the costliest first. */
export function mistakes() {
  return ownDeals().flatMap((own) => (own.cards || []).map((card) => ({own, card})))
    .sort((a, b) => b.card.lost - a.card.lost);
}

/** The address of the board at an action of a deal. @param {Own} own @param {number} at */
export function boardAt({deal, seat}, at) {
  return `/board#deal=${toFragment(deal)}${at ? `&at=${at}` : ""}${seat ? `&seat=${seat}` : ""}`;
}

/**
 * The costliest card of a deal in a sentence, with a link to it on the board.
 * @param {Own} own
 * @returns {Array<Node|string>}
 */
export function costliest(own) {
  if (!own.choices) return [];
  const [worst] = own.cards || [];
  if (!worst) return ["You gave nothing away: no other card was clearly better."];
  const place = ` in trick ${worst.trick}`;
  return ["Your costliest card: ", el("a", {href: boardAt(own, worst.at),
    "aria-label": `${cardName(worst.played)}${place}, on the board`}, cardText(worst.played), place),
  `, ${counted(Math.round(worst.lost), "point")}; `, chip(worst.best), " was better."];
}
