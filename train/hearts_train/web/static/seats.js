// The board's table at one moment: every hand, the trick, and the worth of each legal card.

import {card, cardName, chips} from "hearts/cards.js";
import {el} from "hearts/dom.js";
import {counted, signed} from "hearts/figures.js";

/**
 * @typedef {Object} Worths
 * @property {Record<string, number>} known by the view of the acting player
 * @property {Record<string, number>|null} seen with all cards open
 * @property {Record<string, number>|null} half half the interval of `known`, where it is sampled
 * @property {Record<string, "best"|"fair"|"slip"|"blunder">} verdicts
 */

/** The sign and the words of a verdict. @type {Record<string, [string, string]>} */
const VERDICTS = {best: ["✓", "best"], fair: ["", "less than a point worse"],
  slip: ["?", "a slip"], blunder: ["??", "a blunder"]};

/**
 * @typedef {Object} Scene
 * @property {any} deal the document
 * @property {import("hearts/line.js").Table} table
 * @property {number|null} mover
 * @property {number} bottom the seat shown below
 * @property {Worths|null} worths of the mover's cards
 * @property {string|null} played the card played here
 * @property {((card: string) => void)|undefined} choose tries a card
 * @property {string} ending the text in the middle at the end
 */

/** @param {Scene} scene @returns {HTMLElement} */
export function tableOf(scene) {
  const players = scene.deal.names.length;
  const above = Array.from({length: players - 1}, (_, i) => (scene.bottom + 1 + i) % players);
  return el("div", {class: "table-top", data: {players}},
    ...above.map((seat) => seatOf(scene, seat)), middle(scene), seatOf(scene, scene.bottom),
    kittyOf(scene));
}

/** The cards that were not dealt. @param {Scene} scene */
function kittyOf({deal}) {
  return deal.kitty.length > 0 && el("p", {class: "kitty"}, "Not dealt: ", chips(deal.kitty));
}

/** @param {Scene} scene @param {number} seat */
function seatOf(scene, seat) {
  const {deal, table, mover} = scene;
  const name = deal.names[seat];
  const isMover = seat === mover;
  const points = counted(table.points[seat], "point");
  return el("section", {class: seat === scene.bottom ? null : "beside", "aria-label": name},
    el("p", {class: "seat-name"}, el("b", {text: name}), el("span", {text: points}),
      isMover && el("span", {class: "to-move", text: "to play"})),
    el("ul", {class: "cards-row"},
      ...table.hands[seat].map((card) => el("li", {}, held(scene, seat, card)))));
}

/** @param {Scene} scene @param {number} seat @param {string} name */
function held(scene, seat, name) {
  const {worths, mover} = scene;
  if (seat !== mover || !worths || !(name in worths.known)) {
    return card(name, seat === mover && worths ? "small out" : "small");
  }
  const kind = worths.verdicts[name];
  const [sign, judgement] = VERDICTS[kind];
  const known = signed(worths.known[name], 1);
  const half = worths.half ? ` ± ${worths.half[name].toFixed(1)}` : "";
  const seen = worths.seen ? signed(worths.seen[name]) : "";
  const isPlayed = name === scene.played;
  const words = [cardName(name), `worth ${known}${half}`, seen && `with all cards open ${seen}`,
    judgement, isPlayed && "was played"].filter(Boolean).join(", ");
  const choose = scene.choose && !isPlayed;
  return el(choose ? "button" : "div", {class: `pick ${kind}${isPlayed ? " played" : ""}`,
    type: choose ? "button" : null, role: choose ? null : "img", data: {card: name},
    "aria-label": choose ? `${words}, press to try it` : words,
    on: choose ? {click: () => scene.choose(name)} : {}},
  card(name, "small"), el("span", {class: "worth"},
    el("span", {class: "known"}, sign && el("i", {text: sign}), known),
    half && el("span", {class: "seen", text: half.trim()}),
    seen && el("span", {class: "seen", text: seen})));
}

/** The trick, the last one with its taker, or the result. @param {Scene} scene */
function middle(scene) {
  const {deal, table} = scene;
  const isFresh = table.trick.length === 0;
  const shown = isFresh ? table.last : table.trick;
  let text = `Trick ${table.tricks + 1}`;
  if (table.passing) text = "Cards are passed";
  else if (scene.mover === null) text = scene.ending;
  else if (isFresh && table.last && table.taker !== null) {
    const taker = deal.names[table.taker];
    text = `Trick ${table.tricks}: taken by ${taker === "You" ? "you" : taker}`;
  }
  return el("section", {class: isFresh ? "trick-box done" : "trick-box", "aria-label": "The trick"},
    el("p", {class: "middle-text", text}),
    shown && el("ul", {class: "cards-row"}, ...shown.map(([seat, name]) =>
      el("li", {class: isFresh && seat === table.taker ? "took" : ""}, card(name, "small"),
        el("span", {class: "by", text: deal.names[seat]})))));
}
