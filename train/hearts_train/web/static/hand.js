// Your own cards, in a fan or in rows. A tap raises a card, a second tap plays it. The keys 1 to 9
// and 0, arrows and Enter do the same.

import {cardName, picture} from "hearts/cards.js";
import {el} from "hearts/dom.js";
import {setting} from "hearts/settings.js";

const RATIO = 1.42;
const TARGET = 44; // pixels of a card that must be free to be hit

/**
 * @typedef {object} Held
 * @property {string[]} cards in the order of the deck
 * @property {string[]} legal those that can be played now
 * @property {"wait"|"play"|"pass"} mode
 * @property {number} [count] how many to choose in an exchange
 * @property {string[]} [received] cards to mark as new
 */

/** The cards of the hand. Calls `play`, or `change` when the cards to pass change. */
export class Hand {
  /**
   * @param {{play: (card: string) => void, refuse: (card: string) => void,
   *   change: (cards: string[]) => void}} calls
   */
  constructor(calls) {
    this.calls = calls;
    /** @type {Held} */
    this.held = {cards: [], legal: [], mode: "wait"};
    /** @type {Set<string>} */
    this.raised = new Set();
    /** @type {Map<string, HTMLButtonElement>} */
    this.nodes = new Map();
    this.node = el("div", {class: "hand", role: "group", "aria-label": "Your cards"});
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.watcher = new ResizeObserver(() => this.place());
    this.watcher.observe(this.node);
  }

  /** @param {Held} held */
  update(held) {
    const before = this.held;
    this.held = held;
    const was = this.position(document.activeElement);
    const sameTurn = before.mode === held.mode && before.cards.join() === held.cards.join();
    if (!sameTurn) this.raised.clear();
    for (const [card, node] of this.nodes) {
      if (held.cards.includes(card)) continue;
      node.remove();
      this.nodes.delete(card);
    }
    for (const card of held.cards) {
      if (!this.nodes.has(card)) this.nodes.set(card, this.make(card));
    }
    // A button that is moved loses the focus, so only those in the wrong place are moved.
    held.cards.forEach((card, index) => {
      const node = this.nodes.get(card);
      if (this.node.children[index] !== node) {
        this.node.insertBefore(node, this.node.children[index] || null);
      }
    });
    this.draw();
    this.place();
    if (was < 0 || !held.cards.length) return;
    if (!this.node.contains(document.activeElement)) {
      this.focus(Math.min(was, held.cards.length - 1));
    }
    const at = this.position(document.activeElement);
    if (held.mode === "play" && !held.legal.includes(held.cards[at])) {
      this.focus(held.cards.indexOf(held.legal[0]));
    }
  }

  /** @param {Element|null} node @returns {number} */
  position(node) {
    return node ? [...this.node.children].indexOf(node) : -1;
  }

  /** @param {string} card */
  make(card) {
    const node = el("button", {type: "button", class: "card", data: {card, suit: card[1]},
      tabindex: "-1"}, picture(card));
    node.addEventListener("click", () => this.press(card));
    node.addEventListener("focus", () => this.rove(card));
    return node;
  }

  draw() {
    const {cards, legal, mode, received = []} = this.held;
    const focused = this.node.contains(document.activeElement);
    cards.forEach((card, index) => {
      const node = this.nodes.get(card);
      const can = mode === "pass" || legal.includes(card);
      const up = this.raised.has(card);
      node.classList.toggle("legal", mode !== "wait" && can);
      node.classList.toggle("illegal", mode === "play" && !can);
      node.classList.toggle("raised", up);
      node.classList.toggle("new", received.includes(card));
      node.setAttribute("aria-label", [cardName(card), received.includes(card) && "received",
        mode === "play" && !can && "cannot be played now"].filter(Boolean).join(", "));
      node.setAttribute("aria-disabled", String(mode === "wait" || (mode === "play" && !can)));
      if (mode === "wait") node.removeAttribute("aria-pressed");
      else node.setAttribute("aria-pressed", String(up));
      const number = legal.indexOf(card);
      const isKeyed = mode === "play" && number >= 0 && number < 10;
      if (isKeyed) node.dataset.key = String((number + 1) % 10);
      else delete node.dataset.key;
      if (!focused) node.tabIndex = index === 0 ? 0 : -1;
    });
    const wanted = cards.find((card) => this.raised.has(card)) || legal[0];
    if (!focused && wanted) this.rove(wanted);
    this.node.dataset.mode = mode;
  }

  /** Lets the tab key reach this card alone. @param {string} card */
  rove(card) {
    for (const [other, node] of this.nodes) node.tabIndex = other === card ? 0 : -1;
  }

  /** @param {number} index */
  focus(index) {
    this.node.children[index]?.focus({preventScroll: true});
  }

  /** Lays the cards out in the space available. */
  place() {
    const {cards} = this.held;
    const n = cards.length;
    const width = this.node.clientWidth;
    if (!n || !width) {
      this.node.style.height = "";
      for (const node of this.nodes.values()) node.style.cssText = "";
      return;
    }
    const w = Math.max(50, Math.min(120, width / 4.7, innerHeight * 0.14));
    const free = Math.max(TARGET, w * 0.42);
    let rows = 1;
    while (rows < 5 && n > rows && (width - w) / (Math.ceil(n / rows) - 1) < free) rows += 1;
    const perRow = Math.ceil(n / rows);
    const lift = 0.2 * w;
    const rowStep = rows > 2 ? Math.max(TARGET, w * 0.7) : w * 0.86;
    const fan = rows === 1 && width > 560;
    const room = fan ? width - 1.2 * w : width - w; // the outer cards of a fan lean outwards
    const step = Math.min(perRow > 1 ? room / (perRow - 1) : 0, w * 0.82);
    cards.forEach((card, index) => {
      const row = Math.floor(index / perRow);
      const inRow = Math.min(perRow, n - row * perRow);
      const place = index - row * perRow - (inRow - 1) / 2;
      const node = this.nodes.get(card);
      const angle = fan ? place * Math.min(2.4, 22 / n) : 0;
      const arc = fan ? (place * place * w * 0.28) / Math.max(n, 6) / 2 : 0;
      node.style.width = `${w}px`;
      node.style.height = `${w * RATIO}px`;
      node.style.left = `${width / 2 + place * step - w / 2}px`;
      node.style.top = `${lift + row * rowStep + arc}px`;
      node.style.setProperty("--turn", `${angle}deg`);
      node.style.setProperty("--lift", `${lift}px`);
      node.style.zIndex = String(index + 1);
    });
    const end = 10 + (fan ? w * 0.14 : 0);
    this.node.style.height = `${lift + (rows - 1) * rowStep + w * RATIO + end}px`;
  }

  /** A tap, a click or Enter on a card. @param {string} card */
  press(card) {
    const {mode, legal, count = 0} = this.held;
    if (mode === "wait") return;
    if (mode === "pass") {
      if (this.raised.has(card)) this.raised.delete(card);
      else {
        if (this.raised.size >= count) this.raised.delete([...this.raised][0]);
        this.raised.add(card);
      }
      this.draw();
      this.calls.change(this.chosen);
      return;
    }
    if (!legal.includes(card)) this.calls.refuse(card);
    else if (this.raised.has(card) || setting("tap") === "one") this.calls.play(card);
    else this.raise(card);
  }

  /** The cards raised, in the order of the hand. @returns {string[]} */
  get chosen() {
    return this.held.cards.filter((card) => this.raised.has(card));
  }

  /** Raises one card alone. @param {string} card */
  raise(card) {
    this.raised = new Set([card]);
    this.draw();
  }

  /** Raises the cards that a hint names, and no others. @param {string[]} cards */
  suggest(cards) {
    if (this.held.mode === "wait" || !this.held.cards.includes(cards[0])) return;
    this.raised = new Set(cards);
    this.draw();
    if (this.held.mode === "pass") this.calls.change(this.chosen);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const way = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!way || !this.held.cards.length) return;
    event.preventDefault();
    event.stopPropagation();
    this.go(this.position(document.activeElement) + way, way);
  }

  /**
   * Moves the focus. On your turn it goes to the next playable card and raises it.
   * @param {number} to @param {number} way
   */
  go(to, way) {
    const {cards, legal, mode} = this.held;
    const n = cards.length;
    let index = (to + n) % n;
    if (mode === "play") {
      for (let i = 0; i < n && !legal.includes(cards[index]); i += 1) index = (index + way + n) % n;
      this.raise(cards[index]);
    }
    this.focus(index);
  }

  /**
   * Raises the n-th playable card, or plays it if it is raised. In an exchange, the n-th card.
   * @param {number} digit
   */
  digit(digit) {
    const {cards, legal, mode} = this.held;
    const card = (mode === "pass" ? cards : legal)[(digit + 9) % 10];
    if (!card || mode === "wait") return;
    this.focus(cards.indexOf(card));
    this.press(card);
  }

  /** Enter outside of the cards plays the raised one. */
  enter() {
    const [card] = this.raised;
    if (this.held.mode === "play" && card) this.calls.play(card);
    else if (this.held.mode === "play") {
      this.go(this.held.cards.indexOf(this.held.legal[0]), 1);
    }
  }

  /** Where a card is on the screen. @param {string} card */
  rect(card) {
    return this.nodes.get(card)?.getBoundingClientRect() || null;
  }

  end() {
    this.watcher.disconnect();
  }
}
