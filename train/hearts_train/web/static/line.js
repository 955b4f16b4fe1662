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

/**
 * The address of the board for a deal.
 * @param {string} deal its text @param {number|string} seat the one at the bottom
 * @param {number} [at] the action shown, by default the seat's first mistake
 */
export function boardAt(deal, seat, at) {
  return `/board#${new URLSearchParams({deal, seat: String(seat),
    ...(at === undefined ? {} : {at: String(at)})})}`;
}

/**
 * The document of another line: the cards before it keep the figures that they had.
 * @param {any} deal the document left @param {any} line of the server, which begins with a card tried
 * @param {number} at the number of that card
 */
export function joined(deal, line, at) {
  const before = (number) => number < at;
  return {...line, moments: [...deal.moments.filter(({number}) => before(number)), ...line.moments],
    players: line.players.map((player, seat) => ({...player,
      mistakes: [...deal.players[seat].mistakes.filter(before), ...player.mistakes],
      course: [...deal.players[seat].course.filter(([number]) => before(number)),
        ...player.course]}))};
}
