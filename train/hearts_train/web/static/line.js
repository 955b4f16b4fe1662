// A deal as a row of steps, and the table after any number of them. Nothing here touches the page.

/**
 * @typedef {Object} Table
 * @property {string[][]} hands the cards of each seat
 * @property {[number, string][]} trick the unfinished trick
 * @property {[number, string][]|null} last the last finished trick
 * @property {number|null} taker who took it
 * @property {number[]} points of all seats so far
 * @property {number} tricks the number of finished tricks
 * @property {boolean} passing true while cards are being passed
 */

/**
 * The table after the first `at` steps of a deal.
 * @param {any} deal its document
 * @param {number} at
 * @returns {Table}
 */
export function tableAfter(deal, at) {
  const players = deal.hands.length;
  const passes = deal.exchange ? deal.exchange.steps : 0;
  /** @type {Table} */
  const table = {
    hands: deal.hands.map((hand) => [...hand]),
    trick: [], last: null, taker: null, points: Array(players).fill(0), tricks: 0,
    passing: at < passes,
  };
  for (const [index, [seat, name, taker, points]] of deal.steps.slice(0, at).entries()) {
    if (index < passes) {
      // The cards change hands when everyone has chosen.
      if (index === passes - 1) {
        table.hands = deal.exchange.hands.map((hand) => [...hand]);
      }
      continue;
    }
    if (name.length !== 2) continue; // a choice after a moon, or a revoke
    table.hands[seat] = table.hands[seat].filter((card) => card !== name);
    table.trick.push([seat, name]);
    if (taker !== undefined && points) {
      [table.last, table.taker, table.points] = [table.trick, taker, points];
      table.trick = [];
      table.tricks += 1;
    }
  }
  return table;
}

/** The players with their scores, if the deal is over. @param {any} deal */
export function playersOf({names, scores}) {
  return names.map((name, seat) => (scores ? `${name} ${scores[seat]}` : name)).join(", ");
}

/** A card this many points worse is a slip or a blunder, as in measure/analysis.py. */
export const SLIP = 1;
export const BLUNDER = 5;

/**
 * Compares a card with the best one. Equal figures as shown are judged equal.
 * @param {Record<string, number>} worths @param {string} card
 * @param {string[]} [close] cards that a sample has not shown to be worse
 * @returns {{kind: "best"|"fair"|"slip"|"blunder", sign: string, words: string}}
 */
export function judged(worths, card, close = []) {
  const best = Math.max(...Object.values(worths));
  const loss = close.includes(card) ? 0 : best - worths[card];
  if (loss >= BLUNDER) return {kind: "blunder", sign: "??", words: "a blunder"};
  if (loss >= SLIP) return {kind: "slip", sign: "?", words: "a slip"};
  if (worths[card].toFixed(1) === best.toFixed(1)) return {kind: "best", sign: "✓", words: "best"};
  return {kind: "fair", sign: "", words: "less than a point worse"};
}

/**
 * The address of the board at an action of a deal.
 * @param {string} deal its text @param {number} at @param {number|string} seat the one at the bottom
 */
export function boardAt(deal, at, seat) {
  return `/board#${new URLSearchParams({deal, at: String(at), seat: String(seat)})}`;
}
