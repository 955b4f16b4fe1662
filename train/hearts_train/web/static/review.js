// One deal on the analysis board: the table at any card, and the worth of every card.

import {OTHERS, cardName, chip} from "hearts/cards.js";
import {button, el, say} from "hearts/dom.js";
import {does} from "hearts/figures.js";
import {joined, playersOf, tableAfter} from "hearts/line.js";
import {tableOf} from "hearts/seats.js";
import {cardList, legend, strip, summaryOf} from "hearts/tally.js";

/**
 * @typedef {Object} Context
 * @property {any} document the deal, of the server or of the offline file
 * @property {(at: number) => void} [moved] called at each step
 * @property {(deal: string, at: number, card: string) => Promise<any>} [tried] the document of the
 *   line with this card, or null
 * @property {(deal: any, at: number, seat: number) => void} [playOn] opens a table there
 * @property {number} [at] where to begin, by default at the first mistake
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
    this.context = context;
    this.root = root;
    /** The deal as it was played. */
    this.played = context.document;
    this.bottom = context.seat && context.seat in this.played.names ? Number(context.seat)
      : Math.max(0, this.played.names.indexOf("You"));
    /** The number of the card at which another line left the deal, or -1. */
    this.left = -1;
    /** The place at which a card is being tried, or -1. */
    this.trying = -1;
    this.heard = (event) => this.onKey(event);
    document.addEventListener("keydown", this.heard);
    this.build(this.played, context.at ?? this.played.players[this.bottom].mistakes[0] ?? 0);
  }

  end() {
    document.removeEventListener("keydown", this.heard);
  }

  /** Shows a document. @param {any} deal @param {number} at */
  build(deal, at) {
    this.deal = deal;
    this.moments = new Map([...deal.moments, ...(deal.now ? [deal.now] : [])]
      .map((m) => [m.number, m]));
    this.at = Math.min(at, deal.steps.length);
    const {context, bottom} = this;
    const go = (to) => this.go(to);
    const isTry = this.left >= 0;
    this.where = el("p", {class: "where"});
    this.stage = el("div", {class: "stage", tabindex: "-1"});
    this.walk = [
      button("«", () => this.go(0), {"aria-label": "To the beginning", class: "step"}),
      button("‹", () => this.go(this.at - 1), {"aria-label": "One card back", class: "step"}),
      button("›", () => this.go(this.at + 1), {"aria-label": "One card on", class: "step"}),
      button("»", () => this.go(deal.steps.length), {"aria-label": "To the end", class: "step"}),
    ];
    const [first, back, on, last] = this.walk;
    this.list = cardList(deal, go);
    this.strip = strip(deal, bottom, this.played.steps.length, go);
    this.onward = context.playOn && button("Play on from here",
      () => context.playOn(deal, this.at, bottom));
    const ways = [
      !isTry && deal.players[bottom].mistakes.length > 0 && button("Next mistake",
        () => this.nextMistake(), {class: "main", title: "Key N", "aria-keyshortcuts": "n"}),
      isTry && button("Back to the deal", () => this.goBack(), {class: "main"}),
      this.onward];
    this.root.replaceChildren(el("article", {class: "review"},
      isTry ? el("p", {class: "verdict", role: "status",
        text: "You are trying another line. Tap a card to go on."})
        : summaryOf(deal, bottom, go),
      el("div", {class: "desk"},
        el("div", {}, this.strip.element,
          el("div", {class: "walk"}, first, back, this.where, on, last),
          this.stage, el("div", {class: "buttons"}, ...ways.filter(Boolean)),
          legend(deal, deal.names[bottom], Boolean(context.tried)),
          el("p", {}, el("a", {class: "button", download: "deal.txt",
            href: `data:text/plain;charset=utf-8,${encodeURIComponent(deal.deal)}`,
            text: "Save its text"}))),
        this.list.element)));
    this.show();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (event.target.closest("input, select, textarea, dialog") || !this.stage.isConnected) return;
    if (event.key.toLowerCase() === "n") this.nextMistake();
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
    if (this.left < 0) this.context.moved?.(this.at);
    say(this.placeInWords());
  }

  /** To the next mistake of the seat at the bottom, after the last one to the first. */
  nextMistake() {
    const {mistakes} = this.deal.players[this.bottom];
    if (this.left >= 0 || !mistakes.length) return;
    this.go(mistakes.find((at) => at > this.at) ?? mistakes[0]);
  }

  /** Plays another card here. @param {string} card */
  async choose(card) {
    const {deal, at} = this;
    if (this.trying === at) return; // the first card counts
    this.trying = at;
    this.where.textContent = "Trying it …";
    const line = await this.context.tried(deal.deal, at, card).finally(() => (this.trying = -1));
    if (this.deal !== deal || this.at !== at) return;
    if (!line) {
      this.show();
      return;
    }
    if (this.left < 0) this.left = at;
    this.build(joined(deal, line, at), at + 1);
    this.stage.focus({preventScroll: true});
    say(this.placeInWords());
  }

  /** From another line to the place where it left the deal. */
  goBack() {
    const at = this.left;
    this.left = -1;
    this.build(this.played, at);
    this.go(at);
  }

  /** The seat that acts next, or null at the end. */
  get mover() {
    return this.deal.steps[this.at]?.[0] ?? this.moments.get(this.at)?.player ?? null;
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
      worths: this.worths(moment), choose: this.context.tried && ((card) => this.choose(card))}));
    if (focused) this.stage.focus({preventScroll: true});
    const trick = Math.min(table.tricks + 1, deal.rules.tricks);
    this.where.replaceChildren(mover === null
      ? deal.scores ? "The end" : "As far as it was played" : table.passing ? "The exchange"
      : `Trick ${trick} · ${played ? does(deal.names[mover], "plays") : `${deal.names[mover]} to play`} `,
    played && !OTHERS[played] ? chip(played) : "", moment && moment.mark ? ` ${moment.mark}` : "");
    const [first, back, on, last] = this.walk;
    for (const one of [first, back]) one.setAttribute("aria-disabled", String(at === 0));
    for (const one of [on, last]) {
      one.setAttribute("aria-disabled", String(at === deal.steps.length));
    }
    if (this.onward) this.onward.disabled = mover === null;
    this.list.show(at);
    this.strip.show(at);
  }

  /** @param {any} moment @returns {import("hearts/seats.js").Worths|null} */
  worths(moment) {
    if (!moment) return null;
    return {
      known: Object.keys(moment.means).length ? moment.means : moment.values,
      seen: moment.values && Object.keys(moment.values).length ? moment.values : null,
      half: moment.sample ? moment.half : null, verdicts: moment.verdicts};
  }
}
