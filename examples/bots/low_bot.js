// The bot of low_bot.py in JavaScript, card for card: node low_bot.js
"use strict";

const RANKS = "23456789TJQKA";
const SUITS = "CDSH";

/** Cards from low to high: by rank, then clubs, diamonds, spades, hearts. */
function order(card) {
  return RANKS.indexOf(card[0]) * 4 + SUITS.indexOf(card[1]);
}

const highest = (cards) => cards.reduce((a, b) => (order(b) > order(a) ? b : a));
const lowest = (cards) => cards.reduce((a, b) => (order(b) < order(a) ? b : a));

/** The name of an action, one of view.legal. */
function choose(view) {
  const legal = view.legal;
  if (view.phase === "moon") return "moon:others";
  if (view.phase === "pass") return highest(legal);
  if (view.trick.length) {
    const led = view.trick[0][1][1];
    const winning = view.trick.find(([seat]) => seat === view.winner)[1];
    const follows = (card) => card[1] === led && led === winning[1];
    const below = legal.filter((card) => follows(card) && order(card) < order(winning));
    if (below.length) return highest(below);
    if (legal.every((card) => card[1] !== led)) return highest(legal);
  }
  return lowest(legal);
}

/** What answers a message; undefined where none is due. */
function answer(message) {
  switch (message.type) {
    case "hello":
      return { type: "ready", protocol: 1, name: "low", batch: true };
    case "act":
      return { type: "action", action: choose(message.view) };
    case "acts":
      return { type: "actions", actions: message.views.map(choose) };
    case "bye":
      process.exit(0);
  }
  return undefined; // game: this bot has no random numbers
}

require("readline")
  .createInterface({ input: process.stdin, crlfDelay: Infinity })
  .on("line", (line) => {
    const said = answer(JSON.parse(line));
    if (said !== undefined) process.stdout.write(JSON.stringify(said) + "\n");
  });
