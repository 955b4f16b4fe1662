// A table: shows the server's states one after the other, and the events between them.

import {cardText} from "hearts/cards.js";
import {showExchange, showMoon} from "hearts/choices.js";
import {begins, isSecond} from "hearts/clicks.js";
import {button, el, lost, notice, say} from "hearts/dom.js";
import {Felt} from "hearts/felt.js";
import {Guide} from "hearts/guide.js";
import {Hand} from "hearts/hand.js";
import {invitation, seated} from "hearts/guests.js";
import {noteStart} from "hearts/record.js";
import {result, showLast, showRules, showSheet} from "hearts/sheet.js";
import {pauses} from "hearts/settings.js";
import {sound} from "hearts/sound.js";
import {Table, asked, happened, inWords, whyNot} from "hearts/state.js";

/** @typedef {import("hearts/main.js").Context} Context */

/**
 * Shows a table until the person goes elsewhere.
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {Promise<() => void>} ends it
 */
export async function mount(root, context) {
  const id = location.pathname.split("/")[2] || "";
  const room = new Room(root, context, id);
  room.begin();
  return () => room.end();
}

/** The page of one table. */
class Room {
  /** @param {HTMLElement} root @param {Context} context @param {string} id */
  constructor(root, context, id) {
    this.root = root;
    this.context = context;
    this.id = id;
    this.connection = context.connection;
    /** @type {Table|null} */
    this.table = null;
    /** States that are not shown yet. @type {Table[]} */
    this.queue = [];
    this.isShowing = false;
    /** @type {(() => void)|null} */
    this.skip = null;
    this.isSent = false;
    this.isPlayingOut = false;
    /** Events in words that are not said yet. */
    this.words = "";
    /** The position and the turn that have been said. */
    this.said = "";
    /** The position with the result that is on the screen. @type {number|null} */
    this.shownAt = null;
    /** The position in which the last card was played by itself. @type {number|null} */
    this.endedAt = null;
    this.ends = new AbortController();
    // The parts on the screen.
    this.felt = new Felt({sit: (seat) => seated(this, seat)});
    this.hand = new Hand({
      play: (card) => this.play(card),
      refuse: (card) => this.refuse(card),
      change: (cards) => showExchange(this, cards),
    });
    this.guide = new Guide();
    this.line = el("p", {class: "line", text: "…"});
    this.actions = el("div", {class: "actions"});
    const tool = (label, press) => button(label, () => this.table && press(this.table),
      {class: "tool"});
    this.lastButton = tool("Last trick", showLast);
    this.undoButton = tool("Undo", () => this.undo());
    this.hintButton = tool("Hint", () => this.hint());
    this.sheetButton = tool("Scores", showSheet);
    this.tools = el("div", {class: "tools", role: "toolbar", "aria-label": "Table"},
      this.lastButton, this.undoButton, this.hintButton, this.sheetButton,
      tool("Rules", showRules));
    this.guests = el("div", {class: "guests"});
    this.below = el("div", {class: "below"}, this.guide.node, this.line, this.actions, this.hand.node, this.tools);
    this.area = el("div", {class: "play", on: {pointerdown: () => this.skip?.()}},
      el("h1", {class: "unseen", text: "Table"}), this.guests, this.felt.node, this.below);
  }

  /** Shows the table and listens. */
  begin() {
    this.root.replaceChildren(el("div", {class: "table"}, this.area));
    const {signal} = this.ends;
    this.connection.addEventListener("message", (e) => this.hear(e.detail),
      {signal});
    this.connection.addEventListener("status", () => this.status(), {signal});
    addEventListener("keydown", (event) => this.key(event), {signal});
    addEventListener("setting", () => this.refresh(), {signal});
    if (this.connection.status === "open") this.ask("watch");
  }

  /** Leaves the page. The seat stays. */
  end() {
    this.ends.abort();
    this.connection.send({type: "leave", table: this.id});
    this.hand.end();
    this.skip?.();
    this.queue = [];
  }

  /**
   * Sends a request about this table.
   * @param {string} type
   * @param {Record<string, any>} [fields]
   * @returns {Promise<any>} the answer, or null if it was refused
   */
  async ask(type, fields = {}) {
    try {
      return await this.connection.request({type, table: this.id, ...fields});
    } catch (error) {
      if (error.code === "unknown_table") {
        this.root.replaceChildren(lost("There is no such table", error.message));
      } else if (error.code !== "lost" && error.code !== "stale") { // these mend themselves
        notice(error.message, {bad: true});
      }
      return null;
    }
  }

  status() {
    const isOpen = this.connection.status === "open";
    document.documentElement.classList.toggle("lost", !isOpen);
    if (isOpen) this.ask("watch");
    this.endedAt = null;
    this.isSent = false;
    this.refresh();
  }

  /** @param {any} message */
  hear(message) {
    if (message.type !== "table" || message.table !== this.id) return;
    this.queue.push(new Table(message));
    noteStart(this.queue.at(-1));
    if (!this.isShowing) this.show();
  }

  /** Shows the waiting states one after the other, at the pace of the settings. */
  async show() {
    this.isShowing = true;
    while (this.queue.length) {
      const before = this.table;
      this.table = this.queue.shift();
      const events = before && happened(before, this.table);
      if (events) for (const event of events) await this.happen(event);
      else this.lay();
    }
    this.isShowing = false;
    if (!this.ends.signal.aborted) this.refresh();
  }

  /** Shows the cards as they lie, without movement. */
  lay() {
    this.felt.update(this.table);
    this.felt.lay(this.table.facts.trick);
    this.felt.mark(null);
    this.words = "";
  }

  /** @param {any} event one of `happened` in state.js */
  async happen(event) {
    const table = this.table;
    const [trickPause, cardPause] = this.isPlayingOut ? [0, 0] : pauses();
    const words = inWords(table, event);
    if (event.kind === "play") {
      const from = event.seat === table.you ? this.hand.rect(event.card) : null;
      this.words = words;
      this.felt.update(table);
      this.hand.update(this.held(true));
      if (!this.isPlayingOut) sound("card");
      const flight = this.felt.play(event.seat, event.card, from);
      this.felt.describe(table); // the trick is whole only now
      this.say(words);
      await flight;
      if (this.queue.length && this.table.facts.trick.length) await this.wait(cardPause);
    } else if (event.kind === "trick") {
      this.felt.mark(event.seat);
      if (!this.isPlayingOut) sound("trick");
      this.say(`${this.words} ${words}`.trim());
      await this.wait(trickPause);
      await this.felt.take(event.seat);
      this.felt.mark(null);
      this.words = words;
    } else if (event.kind === "deal" || event.kind === "undo") {
      this.isPlayingOut = false;
      this.lay();
      this.words = words;
    } else if (words) {
      this.words = `${this.words} ${words}`.trim();
      if (["kitty", "shot", "fault", "sat"].includes(event.kind)) {
        notice(words, {bad: event.kind === "fault", seconds: 4});
      }
    }
  }

  /** Waits until the time is over or someone acts. @param {number} ms @returns {Promise<void>} */
  wait(ms) {
    if (!ms || document.hidden) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.skip = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.skip = done;
    });
  }

  /**
   * The state of the hand.
   * @param {boolean} [isBusy]
   * @returns {import("hearts/hand.js").Held}
   */
  held(isBusy = false) {
    const table = this.table;
    const {view} = table;
    if (!view || table.over) return {cards: [], legal: [], mode: "wait"};
    const canAct = table.isMyTurn && !isBusy && !this.isSent
      && this.connection.status === "open";
    const isFresh = view.received.length && table.trickNumber === 1;
    return {
      cards: view.phase === "pass" ? view.hand.filter((card) =>
        !view.passed.includes(card)) : view.hand,
      legal: canAct && view.phase !== "moon" ? table.legal : [],
      mode: !canAct || view.phase === "moon" ? "wait" : view.phase === "pass" ? "pass" : "play",
      count: table.passCount - view.passed.length,
      received: isFresh ? view.received : [],
    };
  }

  /** Draws everything that follows from the state. */
  refresh() {
    const {table} = this;
    if (!table || this.isShowing) return;
    this.felt.update(table);
    this.hand.update(this.held());
    this.lastButton.disabled = !table.lastTrick.length;
    this.undoButton.hidden = !table.isAlone;
    this.undoButton.disabled = !table.canUndo;
    this.hintButton.hidden = !table.isAlone;
    this.hintButton.disabled = !table.isMyTurn;
    this.sheetButton.hidden = !table.match && table.sheet.length < 2;
    this.guests.replaceChildren(...invitation(this));
    this.ways();
    this.guide.update(table);
    this.context.title(`${table.isMyTurn ? "▶ Your turn · " : ""}${table.rules.title}`);
    const turn = `${table.seq} ${asked(table)}`; // sitting down changes only the words
    if (!table.over && (this.words || this.said !== turn)) this.sayTurn(this.words);
    this.said = turn;
    this.words = "";
  }

  /** The buttons of an exchange, a moon, the end of a deal. */
  ways() {
    const table = this.table;
    this.root.classList.toggle("is-over", Boolean(table.over));
    if (table.over) {
      if (this.shownAt !== table.seq) {
        this.shownAt = table.seq;
        const panel = result(table, () => this.next());
        this.felt.middle.replaceChildren(panel);
        this.actions.replaceChildren();
        this.felt.lay([]);
        const heading = panel.querySelector("h2");
        heading.focus();
        this.say(`${this.words} ${heading.textContent}`.trim());
      }
      return;
    }
    this.shownAt = null;
    this.felt.middle.replaceChildren();
    const phase = table.isMyTurn && !this.isSent ? table.view.phase : "";
    if (phase === "pass") showExchange(this, this.hand.chosen);
    else if (phase === "moon") showMoon(this);
    else if (phase && table.view.hand.length === 1 && this.endedAt !== table.seq) {
      this.endedAt = table.seq; // once: after a failure the person can tap the card
      this.act([table.legal[0]]);
    }
    else if (phase && table.isDecided) this.playOut();
    else this.actions.replaceChildren();
  }

  /** Offers to play out the rest once no card can change the scores. */
  playOut() {
    if (this.isPlayingOut) this.act([this.table.legal[0]]);
    else if (!this.actions.children.length) {
      this.actions.replaceChildren(button("Play out the rest", () => {
        if (!begins()) return;
        this.isPlayingOut = true;
        this.refresh();
      }, {class: "main"}));
    }
  }

  /** @param {string} card */
  play(card) {
    if (begins()) this.act([card]);
  }

  /** Acts on your turn. @param {string[]} actions */
  async act(actions) {
    const table = this.table;
    if (this.isSent || !table.isMyTurn) return;
    this.isSent = true;
    this.hand.update(this.held());
    if (!await this.ask("act", {seq: table.seq, actions})) this.isPlayingOut = false;
    this.isSent = false;
    this.refresh();
  }

  /** @param {string} card */
  refuse(card) {
    if (isSecond()) return;
    const why = whyNot(this.table, card);
    this.line.textContent = why;
    this.line.classList.add("refused");
    say(`${cardText(card)}: ${why}`);
  }

  async next() {
    if (begins() && await this.ask("next") && this.table?.over) this.say("Waiting for the others.");
  }

  undo() {
    if (!begins()) return;
    this.skip?.();
    this.ask("undo", {seq: (this.queue.at(-1) || this.table).seq});
  }

  /** Raises the card, or the cards to pass, that the best player would choose. */
  async hint() {
    const {seq} = this.table;
    this.say("Looking for a good card …");
    const hint = await this.ask("hint", {seq});
    if (!hint || this.table.seq !== seq) return;
    this.hand.suggest(hint.actions);
    this.say(hint.text);
  }

  /** @param {string} text */
  say(text) {
    this.line.textContent = text;
    this.line.classList.remove("refused");
    say(text);
  }

  /** Says the events and who is to act. @param {string} words */
  sayTurn(words) {
    const table = this.table;
    const isChoice = table.isMyTurn && ["pass", "moon"].includes(table.view.phase);
    if (isChoice && !this.isSent) return; // it has its own line
    const text = `${words} ${asked(table)}`.trim();
    if (text) this.say(text);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const {target} = event;
    if (target.matches("input")) return;
    if (event.repeat && /^([0-9]|Enter)$/.test(event.key)) {
      event.preventDefault(); // a held key acts once: it would press the button or the card that has come to the focus
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) {
      return;
    }
    document.documentElement.classList.add("keys");
    this.skip?.();
    if (/^[0-9]$/.test(event.key)) this.hand.digit(Number(event.key));
    else if (/^Arrow(Left|Right)$/.test(event.key) && !target.closest(".hand")) {
      event.preventDefault();
      this.hand.go(0, 1);
    } else if (event.key === "Enter" && target.matches("body, main, h2")) {
      if (this.table?.over) this.next();
      else this.hand.enter();
    }
  }
}
