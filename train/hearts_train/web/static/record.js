// The person's own results, kept in this browser.

import {el, load, save} from "hearts/dom.js";
import {counted} from "hearts/figures.js";

const KEY = "hearts.record";
const SHOWN = 20; // the latest deals, as dots
const MOST_OPEN = 100;

/**
 * @typedef {object} Own
 * @property {number} deals @property {number} won
 * @property {number} matches @property {number} matchesWon
 * @property {number} lost points given away in the deals that were judged @property {number} judged
 * @property {string[]} open tables with a deal that counts once it is over
 * @property {number[]} last the margins of the latest deals, the newest last
 */

/** @returns {Own} */
function own() {
  return {deals: 0, won: 0, matches: 0, matchesWon: 0, lost: 0, judged: 0, open: [], last: [],
    ...load(KEY)};
}

/**
 * Notes a deal under way, unless it was begun on the board, where all cards were known.
 * @param {import("hearts/state.js").Table} table
 */
export function noteStart({id, you, over, continued}) {
  const record = own();
  if (you === null || over || continued || record.open.includes(id)) return;
  save(KEY, {...record, open: [...record.open, id].slice(-MOST_OPEN)});
}

/**
 * Adds a finished deal. Returns false if it does not count or has been added, as after a reload.
 * @param {import("hearts/state.js").Table} table @param {number} margin of the person
 */
export function noteDeal({id, you, matchOver}, margin) {
  const record = own();
  if (!record.open.includes(id)) return false;
  record.open = record.open.filter((other) => other !== id);
  record.deals += 1;
  record.won += Number(margin > 0);
  record.matches += Number(matchOver !== null);
  record.matchesWon += Number(matchOver !== null && matchOver.winner === you);
  record.last = [...record.last, margin].slice(-SHOWN);
  save(KEY, record);
  return true;
}

/** Adds the points given away in a deal. @param {number} lost */
export function noteLost(lost) {
  const record = own();
  save(KEY, {...record, lost: record.lost + lost, judged: record.judged + 1});
}

/** The results for the lobby, or null before the first deal. */
export function ownRecord() {
  const {deals, won, matches, matchesWon, lost, judged, last} = own();
  if (!deals) return null;
  const said = [`You won ${won} of ${counted(deals, "deal")}.`,
    matches && `You won ${matchesWon} of ${counted(matches, "match", "matches")}.`,
    judged && `You gave away ${(lost / judged).toFixed(1)} points per deal.`];
  const dots = last.map((margin) => el("i", {class: margin > 0 ? "won" : margin < 0 ? "lost" : "",
    title: margin > 0 ? "won" : margin < 0 ? "lost" : "even"}));
  return el("section", {class: "mine record"}, el("h2", {text: "Your record"}),
    el("p", {text: said.filter(Boolean).join(" ")}),
    el("p", {class: "dots", role: "img", "aria-label": `Won ${
      last.filter((margin) => margin > 0).length} of the last ${last.length}`}, ...dots));
}
