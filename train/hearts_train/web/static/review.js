// One deal on the analysis board: the table at any card, and the worth of every card.

import {OTHERS, cardName, chip} from "hearts/cards.js";
import {button, el, say} from "hearts/dom.js";
import {does} from "hearts/figures.js";
import {playersOf, tableAfter} from "hearts/line.js";
import {tableOf} from "hearts/seats.js";
import {cardList, legend, summaryOf} from "hearts/tally.js";

/**
 * @typedef {Object} Context
 * @property {any} document the deal, of the server or of the offline file
 * @property {(at: number) => void} [moved] called at each step
 * @property {number} [at] where to begin, by default before the first card
 * @property {string} [seat] the seat shown below, by default "You" or the first
 */

/**
 * Shows a deal. Arrow keys step through it.
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {() => void} ends it
 */
export function mount(root, context) {
  const review = new Review(root, context);
  return () => review.end();
}

class Review {
  /** @param {HTMLElement} root @param {Context} context */
  constructor(root, context) {
    this.deal = context.document;
    this.moved = context.moved;
    this.moments = new Map(this.deal.moments.map((m) => [m.number, m]));
    this.bottom = context.seat && context.seat in this.deal.names ? Number(context.seat)
      : Math.max(0, this.deal.names.indexOf("You"));
    this.at = Math.min(context.at ?? 0, this.deal.steps.length);
    this.heard = (event) => this.onKey(event);
    document.addEventListener("keydown", this.heard);
    this.build(root);
    this.show();
  }

  end() {
    document.removeEventListener("keydown", this.heard);
  }

  /** @param {HTMLElement} root */
  build(root) {
    const {deal} = this;
    this.where = el("p", {class: "where"});
    this.stage = el("div", {class: "stage", tabindex: "-1"});
    this.walk = [
      button("«", () => this.go(0), {"aria-label": "To the beginning", class: "step"}),
      button("‹", () => this.go(this.at - 1), {"aria-label": "One card back", class: "step"}),
      button("›", () => this.go(this.at + 1), {"aria-label": "One card on", class: "step"}),
      button("»", () => this.go(deal.steps.length), {"aria-label": "To the end", class: "step"}),
    ];
    const [first, back, on, last] = this.walk;
    this.list = cardList(deal, (at) => this.go(at));
    root.replaceChildren(el("article", {class: "review"}, summaryOf(deal, this.bottom),
      el("div", {class: "desk"},
        el("div", {}, el("div", {class: "walk"}, first, back, this.where, on, last),
          this.stage, legend(deal), el("p", {}, el("a", {class: "button", download: "deal.txt",
            href: `data:text/plain;charset=utf-8,${encodeURIComponent(deal.deal)}`,
            text: "Save its text"}))),
        this.list.element)));
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (event.target.closest("input, select, textarea, dialog") || !this.stage.isConnected) return;
    /** @type {Record<string, number>} */
    const places = {ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0,
      End: this.deal.steps.length};
    if (!(event.key in places)) return;
    this.go(places[event.key]);
    event.preventDefault();
  }

  /** To a place of the deal. @param {number} at */
  go(at) {
    this.at = Math.max(0, Math.min(this.deal.steps.length, at));
    this.show();
    this.moved?.(this.at);
    say(this.placeInWords());
  }

  /** The seat that acts next, or null at the end. */
  get mover() {
    return this.deal.steps[this.at]?.[0] ?? null;
  }

  placeInWords() {
    const {deal, at, mover} = this;
    const before = at ? `${this.does(deal.steps[at - 1])}. ` : "";
    if (mover === null) return `${before}${this.ending()}`;
    const {tricks} = tableAfter(deal, at);
    return `${before}Trick ${tricks + 1}, ${deal.names[mover]} to play.`;
  }

  /** @param {any} step */
  does([seat, action]) {
    const name = this.deal.names[seat];
    return OTHERS[action] ? `${name}: ${OTHERS[action]}` : `${does(name, "plays")} ${cardName(action)}`;
  }

  ending() {
    return this.deal.scores ? playersOf(this.deal) : "The deal is not finished";
  }

  show() {
    const {deal, at, mover} = this;
    const moment = this.moments.get(at) || null;
    const table = tableAfter(deal, at);
    const focused = this.stage.contains(document.activeElement);
    const played = deal.steps[at]?.[1] || null;
    this.stage.replaceChildren(tableOf({
      deal, table, mover, bottom: this.bottom, played, ending: this.ending(),
      worths: this.worths(moment)}));
    if (focused) this.stage.focus({preventScroll: true});
    const trick = Math.min(table.tricks + 1, deal.rules.tricks);
    this.where.replaceChildren(mover === null
      ? deal.scores ? "The end" : "As far as it was played" : table.passing ? "The exchange"
      : `Trick ${trick} · ${does(deal.names[mover], "plays")} `,
    played && !OTHERS[played] ? chip(played) : "", moment && moment.mark ? ` ${moment.mark}` : "");
    const [first, back, on, last] = this.walk;
    for (const one of [first, back]) one.setAttribute("aria-disabled", String(at === 0));
    for (const one of [on, last]) {
      one.setAttribute("aria-disabled", String(at === deal.steps.length));
    }
    this.list.show(at);
  }

  /** @param {any} moment @returns {import("hearts/seats.js").Worths|null} */
  worths(moment) {
    if (!moment) return null;
    return {
      known: Object.keys(moment.means).length ? moment.means : moment.values,
      seen: moment.values && Object.keys(moment.values).length ? moment.values : null,
      half: moment.sample ? moment.half : null, close: moment.close || []};
  }
}
