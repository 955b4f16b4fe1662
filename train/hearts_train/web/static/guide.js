// The guide through a first deal: a sentence on the aim, trump, following and throwing away.

import {SUITS, cardText} from "hearts/cards.js";
import {button, el} from "hearts/dom.js";
import {counted} from "hearts/figures.js";
import {choose, setting} from "hearts/settings.js";

/** @typedef {import("hearts/state.js").Table} Table */

/** Shows each lesson once, when it fits, until the deal is over. */
export class Guide {
  constructor() {
    /** @type {Set<string>} */
    this.told = new Set();
    this.shownAt = -1;
    this.text = el("span");
    this.node = el("aside", {class: "guide", "aria-label": "Guide", hidden: true},
      el("p", {role: "status"}, this.text),
      button("Skip", () => choose("guide", "off"), {class: "tool", title: "No more of these"}));
  }

  /** @param {Table} table */
  update(table) {
    const isOn = setting("guide") === "on" && table.you !== null && !table.over;
    if (isOn && table.isMyTurn && this.shownAt !== table.seq) {
      this.shownAt = table.seq;
      const [name, text] = LESSONS.map(([id, make]) => [id, !this.told.has(id) && make(table)])
        .find(([, said]) => said) || ["", ""];
      if (name) this.told.add(String(name));
      this.text.textContent = String(text);
    }
    this.node.hidden = !isOn || !this.text.textContent;
  }
}

/** The meaning of a first deal's result, or "". @param {Table} table */
export function lastLesson(table) {
  if (setting("guide") !== "on" || table.you === null) return "";
  choose("guide", "off");
  return `That was your first deal. The lowest score wins it${table.match
    ? "; scores add up until the match ends" : ""}. The number in brackets is what you won or lost `
    + "against the others.";
}

/** The first one that fits and is new is shown. @type {Array<[string, (t: Table) => string]>} */
const LESSONS = [
  ["aim", (table) => (table.view.phase === "moon" ? "" : `${table.rules.text[0]} Who takes a `
    + `trick takes its points.${table.view.phase === "pass" ? ` First pass ${
      table.passCount} cards. Good ones to lose: high hearts, and the ace, king and queen of spades.`
      : hidden(table)}`)],
  ["broken", ({heldBack, rules: {fields}}) => (heldBack ? "A heart may not be led before hearts are "
    + `broken: that is, before someone ${fields.break_on === "void" ? "cannot follow suit"
      : "throws one on another suit"}.` : "")],
  ["trump", ({rules: {fields: {trump}, text}, view}) => (trump && view.phase === "play"
    ? `${text[1]} When you follow, you may play one only if you have no card of the suit led.` : "")],
  ["void", ({view, legal, rules}) => {
    const led = view.trick[0]?.[1][1];
    const worst = dearest(rules, legal);
    return led && worst && legal.every((card) => card[1] !== led)
      ? `You have no ${SUITS[led]}: you may throw a card away. ${cardText(worst)} would cost you `
        + `${counted(rules.fields.card_points[worst], "point")} later.${worst[1]
          === rules.fields.trump ? " But it is a trump: it would take this trick." : ""}` : "";
  }],
  ["lead", ({view}) => (!view.trick.length && view.history.length
    ? "You took the trick, so you lead. A low card seldom takes a trick." : "")],
  ["follow", ({view, legal}) => {
    const led = view.trick[0]?.[1][1];
    return led && legal.length > 1 && legal.every((card) => card[1] === led)
      ? `You must follow ${SUITS[led]}. The highest one takes the trick: stay below if you can, `
        + "or else play your highest." : "";
  }],
];

/** Cards that no one holds, as a sentence, or "". @param {Table} table */
function hidden({rules: {deck, fields: {hand_size: held, players}}}) {
  const count = deck.length - held * players;
  return count ? ` ${counted(count, "card")} ${count === 1 ? "is" : "are"} in no one’s hand.` : "";
}

/** The card that costs most. @param {any} rules @param {string[]} cards */
function dearest({fields: {card_points: points}}, cards) {
  const [worst] = [...cards].sort((a, b) => (points[b] || 0) - (points[a] || 0));
  return points[worst] > 0 ? worst : "";
}
