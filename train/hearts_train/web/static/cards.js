// Cards as pictures and as words. A card is its rank and suit, as everywhere in the project: "TH".

import {draw, el} from "hearts/dom.js";

/** @type {Record<string, string>} */
const RANKS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight",
  9: "nine", T: "ten", J: "jack", Q: "queen", K: "king", A: "ace"};
/** @type {Record<string, string>} */
export const SUITS = {C: "clubs", D: "diamonds", S: "spades", H: "hearts"};
/** @type {Record<string, string>} */
export const SIGNS = {C: "♣", D: "♦", S: "♠", H: "♥"};
/** The actions that are no cards. @type {Record<string, string>} */
export const OTHERS = {"moon:off": "points off", "moon:others": "others pay", revoke: "revoke"};

/** Loads the pictures of the cards, once. An offline file has them already. */
export async function loadCards() {
  if (document.getElementById("cards")) return;
  const answer = await fetch("/static/cards.svg");
  if (!answer.ok) throw new Error(`cards: the server answered ${answer.status}`);
  const parsed = new DOMParser().parseFromString(await answer.text(), "image/svg+xml");
  if (document.getElementById("cards")) return;
  const sprite = document.importNode(parsed.documentElement, true);
  sprite.setAttribute("class", "unseen");
  sprite.setAttribute("aria-hidden", "true");
  document.body.append(sprite);
}

/**
 * "ten of clubs", for those who listen.
 * @param {string} card
 */
export function cardName(card) {
  return `${RANKS[card[0]]} of ${SUITS[card[1]]}`;
}

/** "10♣". @param {string} card */
export function cardText(card) {
  return `${rankText(card)}${SIGNS[card[1]]}`;
}

/** "10" for T. @param {string} card */
function rankText(card) {
  return card[0] === "T" ? "10" : card[0];
}

/**
 * The picture of a card, without a name for screen readers.
 * @param {string} card "" is a closed one
 * @returns {SVGElement}
 */
export function picture(card) {
  const svg = draw("svg", {class: "face", viewBox: "0 0 100 142", "aria-hidden": "true",
    "data-card": card}, draw("use", {href: `#${card || "back"}`}));
  if (card) svg.dataset.suit = card[1];
  return svg;
}

/**
 * An open card to look at.
 * @param {string} name
 * @param {string} [kind] further classes
 */
export function card(name, kind = "") {
  return el("span", {class: `card ${kind}`, role: "img",
    "aria-label": cardName(name), data: {card: name, suit: name[1]}}, picture(name));
}

/**
 * A card in a sentence or a list: its rank and the sign of its suit, in the deck's colours.
 * @param {string} name
 */
export function chip(name) {
  return el("span", {class: "chip", role: "img", "aria-label": cardName(name),
    data: {card: name, suit: name[1]}}, rankText(name),
    el("i", {class: "sign", text: SIGNS[name[1]], "aria-hidden": "true"}));
}

/** Chips for several cards. @param {string[]} names */
export function chips(names) {
  return el("span", {class: "chips"}, ...names.map(chip));
}
