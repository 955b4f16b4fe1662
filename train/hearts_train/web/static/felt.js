// The table itself: the players with their points, and the trick in the middle.

import {SIGNS, SUITS, card as cardPicture, cardText, picture} from "hearts/cards.js";
import {button, el} from "hearts/dom.js";
import {counted} from "hearts/figures.js";

const FLIGHT = 220; // milliseconds; other movements are in the styles

/** @typedef {import("hearts/state.js").Table} Table */

/** The seats around the trick, clockwise. Your own is at the bottom. */
export class Felt {
  /** @param {{sit: (seat: number) => void}} calls */
  constructor(calls) {
    this.calls = calls;
    this.info = el("p", {class: "info"});
    this.list = el("ul", {class: "seats", "aria-label": "Players, and their cards in the trick"});
    this.middle = el("div", {class: "middle"});
    this.node = el("section", {class: "felt", "aria-label": "Table"}, this.info, this.list,
      this.middle);
    this.seats = [];
    this.signature = "";
    this.order = 0;
  }

  /** Builds the seats when their number or your own seat changes. @param {Table} table */
  build(table) {
    const signature = `${table.players} ${table.near}`;
    if (signature === this.signature) return;
    this.signature = signature;
    this.node.dataset.players = String(table.players);
    this.list.replaceChildren();
    this.seats = table.seats.map((_, seat) => {
      const name = el("span", {class: "name"});
      const marks = el("span", {class: "marks"});
      const figures = el("span", {class: "figures"});
      const backs = el("span", {class: "backs", "aria-hidden": "true"});
      const slot = el("div", {class: "slot"});
      const plate = el("div", {class: "plate"}, el("span", {class: "who"}, name, marks), figures,
        backs);
      const item = el("li", {class: "seat"}, plate, slot);
      return {item, plate, name, marks, figures, backs, slot};
    });
    // In the order of play. Your own seat comes last.
    for (let i = 1; i <= table.players; i += 1) {
      const seat = (table.near + i) % table.players;
      const turn = (2 * Math.PI * i) / table.players + Math.PI / 2;
      const {item} = this.seats[seat];
      item.style.setProperty("--x", Math.cos(turn).toFixed(4));
      item.style.setProperty("--y", Math.sin(turn).toFixed(4));
      // Many cards lie in two rows: yours between your neighbours', the others above.
      const [column, row] = i === table.players ? [0, 1] : i === 1 ? [-1, 1]
        : i === table.players - 1 ? [1, 1] : [i - table.players / 2, -1];
      item.style.setProperty("--column", String(column));
      item.style.setProperty("--row", String(row));
      item.classList.toggle("near", i === table.players);
      this.list.append(item);
    }
  }

  /**
   * Draws everything except the trick.
   * @param {Table} table
   */
  update(table) {
    this.build(table);
    const {points, tricks_taken: tricks, dealer, phase, winner} = table.facts;
    const hasDealer = table.rules.fields.first_lead === "eldest_hand";
    const getter = table.view && table.isMyTurn && phase === "pass"
      ? table.receiver(table.near) : null;
    table.seats.forEach((seat, index) => {
      const {item, name, marks, figures, backs} = this.seats[index];
      const isTurn = !table.over && table.turn === index;
      const isAway = seat.kind === "person" && !seat.connected;
      item.classList.toggle("turn", isTurn);
      item.classList.toggle("winning", winner === index);
      item.classList.toggle("open", seat.kind === "open");
      item.classList.toggle("away", isAway);
      name.textContent = seat.kind === "open" ? "Free seat" : table.who(index);
      marks.replaceChildren(...[
        isTurn && el("span", {class: "to-play", title: "to play"}, "▶",
          el("span", {class: "unseen", text: " to play"})),
        hasDealer && dealer === index && el("span", {class: "dealer", title: "dealer", text: "D",
          "aria-label": "dealer", role: "img"}),
        getter === index && el("span", {class: "gets", text: `gets ${table.passCount}`}),
        isAway && index !== table.you && el("span", {class: "gone", text: "away"}),
      ].filter(Boolean));
      figures.replaceChildren(...(seat.kind === "open" && table.you === null
        ? [button("Sit here", () => this.calls.sit(index), {class: "sit"})]
        : [el("span", {class: "points", text: counted(points[index], "point")}),
          el("span", {class: "tricks", text: counted(tricks[index], "trick")}),
          table.match && el("span", {class: "total", text: `total ${table.totals[index]}`}),
        ].filter(Boolean)));
      const left = phase === "over" || index === table.you ? 0 : table.cardsLeft[index];
      if (backs.childElementCount !== left) {
        backs.replaceChildren(...Array.from({length: left}, () => picture("")));
      }
    });
    this.describe(table);
  }

  /** The line in the corner: trick, trump, hearts. @param {Table} table */
  describe(table) {
    const {fields} = table.rules;
    const {phase, hearts_broken: broken, history, kitty, deal_number: number} = table.facts;
    /** @type {string[]} */
    const parts = [];
    if (table.match) parts.push(`Deal ${number + 1}`);
    if (fields.pass_count && !table.passCount && table.trickNumber === 1) parts.push("No exchange");
    if (phase === "play" && !table.over) {
      const isWhole = this.seats.every(({slot}) => slot.childElementCount); // and still lies there
      parts.push(`Trick ${table.trickNumber - Number(isWhole)} of ${fields.hand_size}`);
    }
    if (fields.trump) parts.push(`Trump: ${SUITS[fields.trump]} ${SIGNS[fields.trump]}`);
    if (fields.break_on && phase === "play" && history.length) {
      parts.push(`Hearts may ${broken ? "be led" : "not be led yet"}`);
    }
    if (kitty.length) {
      parts.push(`Kitty (${table.who(table.facts.kitty_taker)}): ${kitty.map(cardText).join(" ")}`);
    }
    this.info.replaceChildren(...parts.map((text) => el("span", {text})));
  }

  /** Shows a trick as it lies, without movement. @param {Array<[number, string]>} trick */
  lay(trick) {
    for (const {slot} of this.seats) slot.replaceChildren();
    this.order = 0;
    this.node.dataset.laid = "0";
    for (const [seat, name] of trick) this.put(seat, name);
  }

  /** @param {number} seat @param {string} name @returns {HTMLElement} */
  put(seat, name) {
    const {slot} = this.seats[seat];
    const laid = cardPicture(name, "laid");
    this.order += 1;
    this.node.dataset.laid = String(this.order);
    slot.style.zIndex = String(this.order);
    slot.replaceChildren(laid);
    return laid;
  }

  /**
   * A card comes to the table.
   * @param {number} seat
   * @param {string} name
   * @param {DOMRect|null|undefined} from where it was. If null, the player's plate
   */
  async play(seat, name, from) {
    const laid = this.put(seat, name);
    const start = from || this.seats[seat].plate.getBoundingClientRect();
    await fly(laid, start, true);
  }

  /** All cards go to the taker. @param {number} taker */
  async take(taker) {
    const goal = this.seats[taker].plate.getBoundingClientRect();
    const laid = this.seats.map(({slot}) => slot.firstElementChild).filter(Boolean);
    await Promise.all(laid.map((node) => fly(node, goal, false)));
    this.lay([]);
  }

  /** Marks who takes a whole trick. @param {number|null} taker */
  mark(taker) {
    this.seats.forEach(({item}, seat) => item.classList.toggle("takes", seat === taker));
  }
}

/**
 * Moves an element from a place to its own, or back.
 * @param {HTMLElement} node
 * @param {DOMRect} rect
 * @param {boolean} isComing
 */
async function fly(node, rect, isComing) {
  const here = node.getBoundingClientRect();
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (isStill || !here.width || !rect.width || document.hidden) return;
  const x = rect.left + rect.width / 2 - here.left - here.width / 2;
  const y = rect.top + rect.height / 2 - here.top - here.height / 2;
  const [scale, opacity] = isComing ? ["1", 1] : ["0.5", 0];
  const there = {translate: `${x}px ${y}px`, scale, opacity};
  const rest = {translate: "0 0", scale: "1", opacity: 1};
  const flight = node.animate(isComing ? [there, rest] : [rest, there],
    {duration: FLIGHT, easing: "ease-out", fill: isComing ? "none" : "forwards"});
  await flight.finished.catch(() => undefined);
}
