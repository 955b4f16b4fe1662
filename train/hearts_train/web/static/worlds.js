// The hands that the player to act could not see: how likely, and what each card is worth in them.

import {cardText, chip, chips} from "hearts/cards.js";
import {choices, el} from "hearts/dom.js";
import {object, percent, signed} from "hearts/figures.js";
import {odds, pairs, worldChances, worldHands} from "hearts/line.js";

/**
 * @typedef {Object} Picked
 * @property {"alike"|"model"} weigh how the worlds are weighed
 * @property {number|null} world which of them is shown; null: the deal as it was
 */

/**
 * The panel of a moment.
 * @param {any} deal @param {any} moment @param {Picked} picked
 * @param {(picked: Picked) => void} pick
 * @param {string} key distinguishes the names of its radio buttons
 */
export function worldsOf(deal, moment, picked, pick, key) {
  const {others, player: seat} = moment;
  const [name, other] = [deal.names[seat], deal.names[1 - seat]];
  const chances = worldChances(others, picked.weigh);
  const hands = others.cards.length;
  const weighing = choices("The hands weigh", `weigh-${key}`,
    [["alike", "all alike"], ["model", `as if ${others.model} had played them`]],
    picked.weigh, (weigh) => pick({...picked, weigh: weigh === "model" ? "model" : "alike"}));
  return el("div", {class: "worlds"},
    el("p", {text: `${hands} ${hands === 1 ? "hand" : "hands"} of ${object(other)} `
      + `${hands === 1 ? "fits" : "fit"} what ${object(name)} had seen.`}),
    hands > 1 && weighing,
    el("h4", {text: `The chance that ${object(other)} ${other === "You" ? "hold" : "holds"} it`}),
    oddsOf(others, chances),
    el("h4", {text: "Hand by hand"}),
    el("ul", {class: "world-list", "aria-label": "Hands", tabindex: "0"},
      ...order(chances).map((world) =>
        el("li", {}, worldButton(others, chances, world, picked, pick)))));
}

/** @param {any} others @param {number[]} chances */
function oddsOf(others, chances) {
  return el("ul", {class: "odds-list"}, ...odds(others, chances).map(([card, chance]) => {
    const bar = el("span", {class: "bar"});
    bar.style.width = `${100 * chance}%`;
    return el("li", {}, chip(card), el("span", {class: "odds-share", text: percent(chance)}),
      el("span", {class: "rail", "aria-hidden": "true"}, bar));
  }));
}

/** The worlds, the likeliest first. @param {number[]} chances */
function order(chances) {
  return chances.map((_, i) => i).sort((a, b) => chances[b] - chances[a] || a - b);
}

/**
 * @param {any} others @param {number[]} chances @param {number} world
 * @param {Picked} picked @param {(picked: Picked) => void} pick
 */
function worldButton(others, chances, world, picked, pick) {
  const is = picked.world === world;
  const shown = others.by === "dead" ? pairs(others.cards[world]) : worldHands(others)[world];
  const values = Object.entries(others.values).map(([card, all]) => [card, all[world]]);
  const most = Math.max(...values.map(([, value]) => value));
  const best = values.filter(([, value]) => value === most).map(([card]) => cardText(card));
  const few = best.length > 3 ? `${best.slice(0, 3).join(" ")} …` : best.join(" ");
  return el("button", {type: "button", class: "world", "aria-pressed": String(is),
    on: {click: () => pick({...picked, world: is ? null : world})}},
  el("span", {class: "world-cards"}, others.by === "dead" && "all but ", chips(shown),
    world === others.actual && el("b", {class: "tag", text: "as it was"})),
  el("span", {class: "world-chance", text: `${(100 * chances[world]).toFixed(1)} %`}),
  el("span", {class: "world-best", text: `best: ${few} ${signed(most)}`}));
}
