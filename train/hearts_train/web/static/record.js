// The person's own results, kept in this browser.

import {el, load, save} from "hearts/dom.js";
import {counted} from "hearts/figures.js";

const KEY = "hearts.record";
const SHOWN = 20; // the latest deals, as dots

/**
 * @typedef {object} Own
 * @property {number} deals @property {number} won
 * @property {number} matches @property {number} matchesWon
 * @property {number} lost points given away in the deals that were judged @property {number} judged
 * @property {{id: string, margin: number}[]} last the latest deals, the newest last
 */

/** @returns {Own} */
function own() {
  return {deals: 0, won: 0, matches: 0, matchesWon: 0, lost: 0, judged: 0, last: [], ...load(KEY)};
}

/**
 * Adds a finished deal, unless it was begun on the board, where all cards were known, or is there
 * already, as after a reload. Returns true if it is new.
 * @param {import("hearts/state.js").Table} table @param {number} margin of the person
 */
export function noteDeal({id, seq, you, matchOver, continued}, margin) {
  if (continued) return false;
  const record = own();
  const deal = {id: `${id} ${seq}`, margin};
  if (record.last.some((other) => other.id === deal.id)) return false;
  record.deals += 1;
  record.won += Number(margin > 0);
  record.matches += Number(matchOver !== null);
  record.matchesWon += Number(matchOver !== null && matchOver.winner === you);
  record.last = [...record.last, deal].slice(-SHOWN);
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
  const dots = last.map(({margin}) => el("i", {class: margin > 0 ? "won" : margin < 0 ? "lost" : "",
    title: margin > 0 ? "won" : margin < 0 ? "lost" : "even"}));
  return el("section", {class: "mine record"}, el("h2", {text: "Your record"}),
    el("p", {text: said.filter(Boolean).join(" ")}),
    el("p", {class: "dots", role: "img", "aria-label": `Won ${
      last.filter(({margin}) => margin > 0).length} of the last ${last.length}`}, ...dots));
}
