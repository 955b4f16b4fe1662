// One deal on the analysis board: the table at any card, what every card was worth, and branches.

import {cardName, cardText, chip, loadCards} from "hearts/cards.js";
import {curveOf} from "hearts/curve.js";
import {button, choices, copy, el, loadStyle, notice, say} from "hearts/dom.js";
import {capital, does, object, possessive, signed} from "hearts/figures.js";
import {meansOver, moverAt, tableAfter, worldChances, worldHands} from "hearts/line.js";
import {tableOf} from "hearts/seats.js";
import {cardList, inWords, legend, summaryOf} from "hearts/tally.js";
import {worldsOf} from "hearts/worlds.js";

const OTHERS = {"moon:off": "takes the points off", "moon:others": "lets the others pay",
  revoke: "revokes"};
let boards = 0;

/**
 * @typedef {Object} Context
 * @property {any} document the deal, of the server or of the offline file
 * @property {((deal: string, actions: string[]) => Promise<any>)|null} [position] asks for a
 *   position of a branch; null where there is no server
 * @property {((deal: any, at: number, seat: number) => string)|null} [link] an address of the
 *   board at a card, a seat below
 * @property {number} [at] where to begin; by default before the first card
 * @property {number} [seat] who is shown below; by default "You", or the first
 */

/**
 * Shows a deal; arrow keys walk along it while it is on the page.
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {Promise<() => void>} ends it
 */
export async function mount(root, context) {
  await Promise.all([loadCards(), loadStyle("board.css")]);
  const review = new Review(root, context);
  return () => review.end();
}

class Review {
  /** @param {HTMLElement} root @param {Context} context */
  constructor(root, context) {
    this.deal = context.document;
    this.context = context;
    this.key = String(boards += 1);
    this.moments = new Map(this.deal.moments.map((m) => [m.number, m]));
    if (this.deal.next) this.moments.set(this.deal.next.number, this.deal.next);
    this.steps = this.deal.steps;
    /** @type {{at: number, note: string, value: number|null, known: Map<number, any>}|null} */
    this.branch = null;
    this.bottom = context.seat !== undefined && context.seat < this.deal.names.length
      ? context.seat : Math.max(0, this.deal.names.indexOf("You"));
    this.seen = "all";
    /** @type {import("hearts/worlds.js").Picked} */
    this.picked = {weigh: "alike", world: null};
    this.at = 0;
    this.heard = (event) => this.onKey(event);
    document.addEventListener("keydown", this.heard);
    this.build(root);
    this.go(Math.min(context.at ?? 0, this.steps.length), {quietly: true});
  }

  end() {
    document.removeEventListener("keydown", this.heard);
  }

  /** @param {HTMLElement} root */
  build(root) {
    this.where = el("p", {class: "where"});
    this.stage = el("div", {class: "stage", tabindex: "-1"});
    this.aside = el("p", {class: "branch-note"});
    this.panels = el("div", {class: "panels"});
    this.walk = [
      button("«", () => this.go(0), {"aria-label": "To the beginning", class: "step"}),
      button("‹", () => this.go(this.at - 1), {"aria-label": "One card back", class: "step"}),
      button("›", () => this.go(this.at + 1), {"aria-label": "One card on", class: "step"}),
      button("»", () => this.go(this.steps.length), {"aria-label": "To the end", class: "step"}),
    ];
    const [first, back, on, last] = this.walk;
    this.curveBox = el("div");
    this.drawCurve();
    this.list = cardList(this.deal, (at) => this.go(at, {leaving: true}));
    root.replaceChildren(el("article", {class: "review"},
      summaryOf(this.deal, this.bottom, (line, note) => this.enter(0, line, note, null)),
      el("div", {class: "desk"},
        el("div", {class: "board"},
          el("div", {class: "walk"}, first, back, this.where, on, last),
          this.aside, this.stage, legend(this.deal), this.curveBox,
          this.controls(), this.panels),
        this.list.element),
      inWords(this.deal)));
  }

  /** The curve of the seat below. */
  drawCurve() {
    this.curve = this.makeCurve();
    this.curveBox.replaceChildren(...(this.curve ? [this.curve.figure] : []));
  }

  makeCurve() {
    const {deal, bottom} = this;
    const sign = bottom === 0 ? 1 : -1;
    const values = deal.exact ? [deal.before * sign] : [null];
    const slips = [];
    const tricks = [];
    for (let at = 0; at < deal.steps.length; at += 1) {
      const moment = this.moments.get(at);
      if (deal.exact) values.push(moment ? moment.after * sign : values[at]);
      else values.push(null);
      if (!moment) continue;
      if (!deal.exact && moment.player === bottom) {
        values[at] = Math.max(...Object.values(moment.means));
      }
      const isSlip = deal.exact ? moment.lost > 0 : moment.mark && moment.player === bottom;
      if (isSlip) {
        slips.push({at: deal.exact ? at + 1 : at, card: moment.card, mark: moment.mark,
          seat: moment.player === bottom ? 0 : 1});
      }
      if (tricks.length < moment.trick) tricks.push(at);
    }
    if (!deal.exact && deal.scores) {
      const [own, all] = [deal.scores[bottom], deal.scores.reduce(
        (sum, score) => sum + score, 0)];
      values[values.length - 1] = (all - own) / (deal.names.length - 1) - own;
    }
    if (values.filter((value) => value !== null).length < 2) return null;
    const whose = possessive(deal.names[bottom]);
    const label = deal.exact
      ? `${whose} margin if both play as well as possible from there on, all cards seen`
      : `${whose} margin at the cards of that hand, by what could be known (sampled), and the result`;
    return curveOf({values, slips, tricks, steps: deal.exact,
      label: capital(label)},
    (at) => this.go(at, {leaving: true}), (at) => this.placeInWords(at));
  }

  controls() {
    const {deal} = this;
    const seats = choices("Show", `seats-${this.key}`, [["all", "all hands"],
      ...deal.names.map((name, seat) =>
        [String(seat), `${name === "You" ? "your hand" : `${possessive(name)} hand`} alone`])],
    "all", (seen) => {
      this.seen = seen;
      if (seen !== "all" && this.bottom !== Number(seen)) {
        this.bottom = Number(seen);
        this.drawCurve();
      }
      this.show();
    });
    const file = new Blob([deal.deal], {type: "text/plain"});
    const save = () => {
      const link = el("a", {href: URL.createObjectURL(file), download: "deal.txt"});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
    const {link} = this.context;
    return el("div", {class: "controls"}, seats, el("div", {class: "buttons"},
      link && button("Copy a link", () => copy(link(deal,
        this.branch ? this.branch.at : this.at, this.bottom))),
      button("Save the deal", save),
      button("Copy its text", () => copy(deal.deal))));
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const target = event.target;
    if (target.closest("input, select, textarea, dialog")) return;
    if (!this.stage || !this.stage.isConnected) return;
    /** @type {Record<string, number>} */
    const places = {ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0,
      End: this.steps.length};
    if (event.key === "Escape" && this.branch) this.leave();
    else if (event.key in places) this.go(places[event.key]);
    else return;
    event.preventDefault();
  }

  /**
   * To a place of the deal or of the branch that is shown.
   * @param {number} at
   * @param {{leaving?: boolean, quietly?: boolean}} [how] leaving: to the deal itself
   */
  go(at, {leaving = false, quietly = false} = {}) {
    if (leaving) this.forget();
    this.at = Math.max(0, Math.min(this.steps.length, at));
    this.picked = {...this.picked, world: null};
    this.show();
    if (!quietly) say(this.placeInWords(this.at));
    if (this.branch && this.context.position) this.ask();
  }

  forget() {
    this.branch = null;
    this.steps = this.deal.steps;
  }

  leave() {
    const {at} = this.branch;
    this.go(at, {leaving: true});
  }

  /** What is to be said of the place. @param {number} at */
  placeInWords(at) {
    const {deal, steps} = this;
    const before = at ? `${this.does(steps[at - 1])}. ` : "";
    const mover = this.moverAt(at);
    const table = tableAfter(deal, steps, at);
    if (mover === null) return `${before}${this.ending()}`;
    return `${before}Trick ${table.tricks + 1}, ${deal.names[mover]} to play.`;
  }

  /** @param {any} step */
  does([seat, action]) {
    const name = this.deal.names[seat];
    return OTHERS[action] ? `${name} ${OTHERS[action]}` : `${does(name, "plays")} ${cardName(action)}`;
  }

  /** @param {number} at */
  moverAt(at) {
    const mover = moverAt(this.steps, at);
    if (mover !== null) return mover;
    const moment = this.momentAt(at);
    return moment ? moment.player : null;
  }

  /** @param {number} at */
  momentAt(at) {
    if (!this.branch || at <= this.branch.at) return this.moments.get(at) || null;
    const found = this.branch.known.get(at);
    return found ? found.moment : null;
  }

  ending() {
    const found = this.branch && this.branch.known.get(this.at);
    const scores = this.branch ? found && found.scores : this.deal.scores;
    if (!scores) return this.branch ? "The end of this line" : "The deal is not finished";
    return this.deal.names.map((name, seat) => `${name} ${scores[seat]}`).join(", ");
  }

  show() {
    const {deal, steps, at} = this;
    const moment = this.momentAt(at);
    const mover = this.moverAt(at);
    const table = tableAfter(deal, steps, at);
    const isBranch = Boolean(this.branch && at > this.branch.at);
    const focused = this.stage.contains(document.activeElement);
    const played = !this.branch && at < steps.length ? steps[at][1]
      : this.branch && at === this.branch.at ? deal.steps[at]?.[1] : null;
    this.stage.replaceChildren(tableOf({
      deal, table, mover, bottom: this.bottom, played: played || null, ending: this.ending(),
      isOpen: (seat) => this.seen === "all" || Number(this.seen) === seat,
      instead: this.instead(moment), worths: this.worths(moment),
      choose: (card) => this.choose(card)}));
    if (focused) this.stage.focus({preventScroll: true});
    const trick = Math.min(table.tricks + 1, deal.rules.tricks);
    this.where.replaceChildren(mover === null
      ? this.branch || deal.scores ? "The end" : "As far as it was played" : table.passing ? "The exchange"
      : `Trick ${trick} · ${does(deal.names[mover], "plays")} `,
    played && !OTHERS[played] ? chip(played) : "", moment && moment.mark ? ` ${moment.mark}` : "");
    const [first, back, on, last] = this.walk;
    for (const one of [first, back]) one.setAttribute("aria-disabled", String(at === 0));
    for (const one of [on, last]) one.setAttribute("aria-disabled", String(at === steps.length));
    this.showAside(isBranch);
    this.list.show(this.branch ? this.branch.at : at);
    const value = this.branch && this.branch.value !== null && at > this.branch.at
      ? {at: this.branch.at + 1, value: this.branch.value * (this.bottom === 0 ? 1 : -1)} : null;
    if (this.curve) this.curve.show(Math.min(at, deal.steps.length), value);
    this.showPanels(moment);
  }

  /** @param {boolean} isBranch */
  showAside(isBranch) {
    this.aside.replaceChildren();
    this.aside.hidden = !this.branch;
    if (!this.branch) return;
    this.aside.append(isBranch ? this.branch.note : `A branch begins here. ${this.branch.note}`, " ",
      button("Back to the deal", () => this.leave(), {class: "back"}));
  }

  /** @param {any} moment */
  showPanels(moment) {
    const opened = new Set([...this.panels.querySelectorAll("details[open]")].map((d) => d.id));
    const parts = [];
    if (moment && moment.others && this.maySee(moment)) {
      parts.push(["worlds", `What ${object(this.deal.names[moment.player])} could not see`,
        worldsOf(this.deal, moment, this.picked, (picked) => this.pick(picked), this.key)]);
    }
    this.panels.replaceChildren(...parts.map(([name, title, body]) =>
      el("details", {id: `${name}-${this.key}`, class: "panel",
        open: opened.has(`${name}-${this.key}`)},
      el("summary", {}, el("h3", {text: title})), body)));
  }

  /** Whether the hand of who is to act is shown. @param {any} moment */
  maySee(moment) {
    return this.seen === "all" || Number(this.seen) === moment.player;
  }

  /** @param {import("hearts/worlds.js").Picked} picked */
  pick(picked) {
    const place = this.panels.querySelector(".world-list")?.scrollTop || 0;
    const focused = document.activeElement;
    const value = focused instanceof HTMLInputElement ? focused.value : null;
    const pressed = focused?.classList.contains("world");
    this.picked = picked;
    this.show();
    const list = this.panels.querySelector(".world-list");
    if (list) list.scrollTop = place;
    const again = value ? this.panels.querySelector(`input[value="${value}"]`)
      : pressed ? this.panels.querySelector(".world[aria-pressed=true], .world") : null;
    if (again instanceof HTMLElement) again.focus({preventScroll: true});
  }

  /** The other hand of the world that is chosen. @param {any} moment */
  instead(moment) {
    if (!moment || !moment.others || this.picked.world === null) return {};
    return {[1 - moment.player]: worldHands(moment.others)[this.picked.world]};
  }

  /** @param {any} moment @returns {import("hearts/seats.js").Worths|null} */
  worths(moment) {
    if (!moment || !this.maySee(moment)) return null;
    const {others} = moment;
    const {weigh, world} = this.picked;
    let known = Object.keys(moment.means).length ? moment.means : moment.values;
    if (others && weigh === "model") known = meansOver(others, worldChances(others, weigh));
    let seen = moment.values && Object.keys(moment.values).length ? moment.values : null;
    if (others && world !== null) {
      seen = Object.fromEntries(Object.entries(others.values).map(([card, all]) =>
        [card, all[world]]));
    }
    return {known, seen, half: moment.sample ? moment.half : null, close: moment.close || []};
  }

  /** Another card is played, or the same: on in the deal. @param {string} card */
  async choose(card) {
    const {at, deal} = this;
    if (!this.branch && at < deal.steps.length && deal.steps[at][1] === card) {
      this.go(at + 1);
      return;
    }
    const moment = this.momentAt(at);
    const name = deal.names[moment.player];
    const asked = `What if ${does(name, "plays")} ${cardText(card)}? `;
    if (moment.lines) {
      const value = moment.values[card];
      this.enter(at, [...this.steps.slice(0, at), ...moment.lines[card]],
        `${asked}Then best play by both, all cards seen: ${signed(value)} for ${object(name)}.`,
        value * (moment.player === 0 ? 1 : -1));
      return;
    }
    if (!this.context.position) {
      notice("Other lines of this game are computed by a server: run “hearts serve” and paste the "
        + "deal there.");
      return;
    }
    const actions = [...this.steps.slice(0, at).map((step) => step[1]), card];
    const found = await this.look(actions);
    if (!found) return;
    this.enter(at, found.steps, asked, null);
    this.branch.known.set(at + 1, found);
    this.show();
  }

  /** A position from the server; null if it cannot say. @param {string[]} actions */
  async look(actions) {
    try {
      return await this.context.position(this.deal.deal, actions);
    } catch (error) {
      notice(String(error.message || error), {bad: true});
      return null;
    }
  }

  /**
   * Leaves the deal for another line; a branch of a branch begins where the first one did.
   * @param {number} at where it leaves what was shown
   * @param {any[]} steps all steps, from the first on
   * @param {string} note @param {number|null} value
   */
  enter(at, steps, note, value) {
    const begin = this.branch ? Math.min(this.branch.at, at) : at;
    const known = new Map([...(this.branch ? this.branch.known : [])].filter(([place]) =>
      place <= at));
    this.branch = {at: begin, note, value, known};
    this.steps = steps;
    this.go(at + 1);
    if (at === 0) this.stage.scrollIntoView({block: "nearest"});
  }

  /** Asks the server for the position that is shown, once a person stays there. */
  async ask() {
    const {branch, at, context} = this;
    if (!branch || at <= branch.at || branch.known.has(at) || !context.position) return;
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (this.branch !== branch || this.at !== at || branch.known.has(at)) return;
    const found = await this.look(this.steps.slice(0, at).map((s) => s[1]));
    if (found) branch.known.set(at, found);
    if (found && this.branch === branch && this.at === at) this.show();
  }
}
