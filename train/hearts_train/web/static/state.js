// A table: the server's latest `table` message. Nothing here touches the page.

import {SIGNS, SUITS, cardName} from "hearts/cards.js";
import {counted, does} from "hearts/figures.js";

/** The fields of the message (docs/playing.md), four of them renamed. */
export class Table {
  /** @param {any} message `table` of the server */
  constructor({table, undo, match_over: matchOver, cards_left: cardsLeft, ...fields}) {
    Object.assign(this, fields, {id: table, canUndo: undo, matchOver, cardsLeft});
  }

  /** The public facts, from the seat's own view if there is one. @returns {any} */
  get facts() {
    return this.view || this.public;
  }

  get players() {
    return this.seats.length;
  }

  /** The seat shown below: your own, or the first for onlookers. */
  get near() {
    return this.you ?? 0;
  }

  /** @returns {string[]} */
  get legal() {
    return this.view && !this.over ? this.view.legal : [];
  }

  /** True on your turn. */
  get isMyTurn() {
    return this.turn !== null && this.turn === this.you && this.legal.length > 0;
  }

  /** True if you lead and hold a heart that may not be led yet. */
  get heldBack() {
    const {trick, history, hand, hearts_broken: broken} = this.facts;
    return this.isMyTurn && !trick.length && history.length > 0 && !broken
      && hand.some((card) => card[1] === "H" && !this.legal.includes(card));
  }

  /** The number of the trick on the table, from 1. */
  get trickNumber() {
    const {history, trick} = this.facts;
    return Math.floor((history.length - trick.length) / this.players) + 1;
  }

  /** The last whole trick, in order of play. @returns {Array<[number, string]>} */
  get lastTrick() {
    const {history, trick} = this.facts;
    const done = history.length - trick.length;
    return history.slice(Math.max(0, done - this.players), done);
  }

  /** The number of cards that each player passes in this deal. */
  get passCount() {
    return this.facts.direction === "hold" ? 0 : this.rules.fields.pass_count;
  }

  /** The seat that receives a seat's cards in the exchange. @param {number} seat */
  receiver(seat) {
    /** @type {Record<string, number>} */
    const steps = {left: 1, right: -1, across: Math.floor(this.players / 2)};
    const step = steps[this.facts.direction] || 0;
    return (seat + step + this.players) % this.players;
  }

  /** True if all others are agents, so undo and hints are allowed. */
  get isAlone() {
    return this.you !== null
      && this.seats.every((seat, index) => index === this.you || seat.kind === "agent");
  }

  /** True if no unseen card can change the scores. */
  get isDecided() {
    const {history, kitty, phase} = this.facts;
    const {card_points: points, no_trick_points: bonus} = this.rules.fields;
    const seen = new Set([...history.map(([, card]) => card), ...kitty]);
    return phase === "play" && !bonus && this.rules.deck.every((card) =>
      !points[card] || seen.has(card));
  }

  /** "You", or the seat's name, such as "easy 2" for the second of this name. @param {number} seat */
  who(seat) {
    if (seat === this.you) return "You";
    const {name} = this.seats[seat];
    if (!name || name === "You") return `Player ${seat + 1}`; // who gave none
    const same = this.seats.flatMap((other, index) =>
      (other.name === name && index !== this.you ? [index] : []));
    return same.length > 1 ? `${name} ${same.indexOf(seat) + 1}` : name;
  }
}

/**
 * Why a card cannot be played now, in a sentence, or "" if it can.
 * @param {Table} table
 * @param {string} card
 */
export function whyNot(table, card) {
  const {legal, view} = table;
  if (!view || legal.includes(card)) return "";
  if (!legal.length) return "It is not your turn.";
  const {trick, hand, hearts_broken: broken} = view;
  const {fields} = table.rules;
  if (trick.length) {
    const suit = trick[0][1][1];
    if (card[1] !== suit && hand.some((held) => held[1] === suit)) {
      return `Follow suit: you hold ${SUITS[suit]} ${SIGNS[suit]}.`;
    }
    if (table.trickNumber === 1 && !fields.points_on_first_trick) {
      return "No card that costs points on the first trick.";
    }
  } else if (table.trickNumber === 1 && legal.every((other) => other[1] === legal[0][1])
             && card[1] !== legal[0][1]) {
    return legal.length === 1
      ? `The first card is the ${cardName(legal[0])}.`
      : `The first card is one of ${SUITS[legal[0][1]]}.`;
  } else if (card[1] === "H" && !broken) return "Hearts may not be led before they are broken.";
  if (legal.length === 1) return `Only the ${cardName(legal[0])} can be played.`;
  return "That card cannot be played now.";
}

/**
 * Who is to do what now, in a sentence, or "".
 * @param {Table} table
 */
export function asked(table) {
  if (table.over) return "";
  const {facts, view, turn} = table;
  if (!table.isMyTurn) {
    if (turn !== null && table.seats[turn].kind === "open") {
      return "Waiting for someone to sit down.";
    }
    if (turn === null || turn === table.you) return "";
    const doing = facts.phase === "pass" ? "choose cards to pass"
      : facts.phase === "moon" ? "choose" : "play";
    return `Waiting for ${table.who(turn)} to ${doing}.`;
  }
  if (view.phase !== "play") return ""; // the choice has its own line
  if (!view.trick.length) {
    const isFixed = !view.history.length && table.rules.fields.first_lead !== "eldest_hand";
    if (!isFixed) return `Your turn: lead a card${table.heldBack ? ", but no heart yet" : ""}.`;
    const [first] = table.legal;
    const kind = SUITS[first[1]].slice(0, -1);
    if (table.legal.length > 1) return `Your turn: lead any ${kind}. The first trick begins with one.`;
    return `Your turn: lead the ${cardName(first)}. ${first[1] === "C" ? "The"
      : "No hand has a club, so the"} lowest ${kind} leads the first trick.`;
  }
  const suit = view.trick[0][1][1];
  return table.legal.every((card) => card[1] === suit)
    ? `Your turn: play a ${SUITS[suit].slice(0, -1)} ${SIGNS[suit]}, the suit led.`
    : `Your turn: you have no ${SUITS[suit]}, play ${table.legal.length < view.hand.length
      ? "a card that may be thrown" : "any card"}.`;
}

/**
 * The events between two states of a table, in order, or null if others came in between, as after
 * a lost connection.
 * @param {Table} before
 * @param {Table} now
 * @returns {any[]|null}
 */
export function happened(before, now) {
  if (now.you !== before.you || ![0, 1].includes(now.seq - before.seq)) return null;
  if (now.seq === before.seq) {
    return now.seats.flatMap(({kind}, seat) =>
      (kind === "person" && before.seats[seat].kind === "open" ? [{kind: "sat", seat}] : []));
  }
  if (before.over) return [{kind: "deal"}];
  const [old, facts] = [before.facts, now.facts];
  const played = facts.history.slice(old.history.length);
  const isTakenBack = facts.history.length < old.history.length
    || (now.view && now.view.passed.length < before.view.passed.length);
  if (isTakenBack) return [{kind: "undo"}];
  const events = now.fault ? [{kind: "fault", text: now.fault}] : [];
  for (const [seat, card] of played) {
    events.push({kind: "play", seat, card});
    if (facts.hearts_broken && !old.hearts_broken) events.push({kind: "broken", seat});
  }
  if (played.length && facts.history.length % now.players === 0) {
    const seat = facts.tricks_taken.findIndex((count, taker) => count > old.tricks_taken[taker]);
    events.push({kind: "trick", seat, worth: facts.points[seat] - old.points[seat]});
  }
  if (facts.kitty.length && !old.kitty.length) {
    events.push({kind: "kitty", seat: facts.kitty_taker, cards: facts.kitty});
  }
  if (old.phase === "pass") {
    if (now.turn !== before.turn) events.push({kind: "passed", seat: before.turn});
    if (facts.phase !== "pass") events.push({kind: "received"});
  }
  if (facts.phase === "moon") events.push({kind: "shot", seat: now.turn});
  else if (now.over && now.over.shooter !== null && old.phase !== "moon") {
    events.push({kind: "shot", seat: now.over.shooter});
  }
  return events;
}

/**
 * An event in words.
 * @param {Table} table as it stands after it
 * @param {any} event
 */
export function inWords(table, event) {
  const {kind, seat} = event;
  if (kind === "play") return `${does(table.who(seat), "plays")} ${cardName(event.card)}.`;
  if (kind === "trick") {
    const points = event.worth ? `: ${counted(event.worth, "point")}` : "";
    return `${does(table.who(seat), "takes")} the trick${points}.`;
  }
  if (kind === "broken") {
    return `Hearts are broken by ${seat === table.you ? "you" : table.who(seat)}.`;
  }
  if (kind === "passed") {
    return seat === table.you ? "" : `${table.who(seat)} has chosen what to pass.`;
  }
  if (kind === "received") {
    const cards = table.view ? table.view.received : [];
    if (!cards.length) return "The cards are passed.";
    const giver = table.seats.findIndex((_, other) => table.receiver(other) === table.you);
    return `You get ${cards.map(cardName).join(", ")} from ${table.who(giver)}.`;
  }
  if (kind === "shot") return `${does(table.who(seat), "has")} shot the moon!`;
  if (kind === "kitty") {
    return `${does(table.who(seat), "gets")} the kitty: ${event.cards.map(cardName).join(", ")}.`;
  }
  if (kind === "undo") return "Taken back.";
  if (kind === "sat") return `${does(table.who(seat), "has")} sat down.`;
  if (kind === "fault") return event.text;
  return "";
}
