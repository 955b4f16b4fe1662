// The lobby: one press to play, and below it every game, agents and friends.

import {card} from "hearts/cards.js";
import {begins} from "hearts/clicks.js";
import {button, choices, el, notice, picker} from "hearts/dom.js";
import {capital} from "hearts/figures.js";
import {choose, setting} from "hearts/settings.js";
import {ownRecord} from "hearts/record.js";
import {forget} from "hearts/socket.js";

/** @typedef {import("hearts/main.js").Context} Context */

const FRIEND = "a friend";

const GAME = "two_player"; // of "Play now"

/**
 * @param {HTMLElement} root
 * @param {Context} context
 */
export async function mount(root, context) {
  context.title("");
  root.replaceChildren(el("p", {class: "waiting", text: "Shuffling …"}));
  const welcome = await context.connection.greet();
  const form = new Form(context, welcome);
  root.replaceChildren(el("div", {class: "lobby"}, ...[hero(context, welcome),
    ownRecord(), tables(context, welcome), form.node].filter(Boolean)));
}

/** @param {Context} context @param {any} welcome */
function hero(context, {agents, rules}) {
  const strengths = agents.filter(({strength, games}) => strength && games.includes(GAME))
    .reverse();
  let against = strengths.find(({name}) => name === setting("strength")) || strengths[0];
  const about = el("p", {class: "against", role: "status"});
  const show = () => {
    about.textContent = `You play against ${against.name}, which ${against.text}.`;
  };
  show();
  const play = button("Play now", () => create(context, play, {rules: GAME, match: false,
    seats: [{me: true}, {agent: against.name}]}), {class: "main big"});
  return el("section", {class: "hero"},
    el("div", {class: "sample", "aria-hidden": "true"},
      ...["AS", "TD", "QS", "4C", "KH"].map((name) => card(name))),
    el("h1", {text: "Hearts"}),
    el("p", {text: rules.find(({name}) => name === GAME).aim}), play,
    choices("Strength", "strength", strengths.map(({name, strength}) => [name, strength]),
      against.name, (value) => {
        against = strengths.find(({name}) => name === value);
        choose("strength", value);
        show();
      }), about);
}

/** The unfinished tables. Each can be taken off the list. @param {Context} context @param {any} welcome */
function tables(context, welcome) {
  const mine = welcome.tables;
  if (!mine.length) return null;
  const section = el("section", {class: "mine"}, el("h2", {text: "Continue"}),
    el("ul", {}, ...[...mine].reverse().map((table) => {
      const words = describe(table);
      const item = el("li", {}, el("a", {class: "button", href: `/t/${table.table}`},
        words), button("✕", close, {"aria-label": `Forget: ${words}`,
        title: "Take off this list"}));
      function close() {
        if (!begins()) return;
        forget(table.table);
        item.remove();
        section.hidden = !section.querySelector("li");
      }
      return item;
    })));
  return section;
}

/** @param {any} table */
function describe({title, match, seats, you, your_turn: isTurn, trick, tricks, points, saved}) {
  const ofOthers = (all) => all.filter((_, seat) => seat !== you).join(", ");
  return `${title}${match ? ", a match" : ""}, with ${ofOthers(seats)}: trick ${trick} of ${tricks
  }, ${points[you]} to ${ofOthers(points)}, ${ago(saved)}${isTurn ? " (your turn)" : ""}`;
}

/** A time in the past, such as "2 hours ago". @param {number} time in seconds */
function ago(time) {
  const minutes = Math.round((Date.now() / 1000 - time) / 60);
  const words = new Intl.RelativeTimeFormat("en", {numeric: "auto"});
  if (minutes < 1) return "just now";
  if (minutes < 60) return words.format(-minutes, "minute");
  if (minutes < 1440) return words.format(-Math.round(minutes / 60), "hour");
  return words.format(-Math.round(minutes / 1440), "day");
}

/**
 * Creates a table and goes there.
 * @param {Context} context
 * @param {HTMLButtonElement} pressed
 * @param {Record<string, any>} what
 */
async function create(context, pressed, what) {
  pressed.disabled = true;
  try {
    const name = setting("name");
    const table = await context.connection.request({type: "create", name, ...what});
    context.go(`/t/${table.table}`);
  } catch (error) {
    notice(error.message, {bad: true});
    pressed.disabled = false;
  }
}

/** The form for any other game. */
class Form {
  /** @param {Context} context @param {any} welcome */
  constructor(context, welcome) {
    this.context = context;
    this.rules = welcome.rules;
    this.agents = welcome.agents;
    this.rule = this.rules[0];
    this.players = this.rule.players[0];
    this.length = "deal";
    /** Who sits in the other seats. @type {string[]} */
    this.others = [];
    this.about = el("p", {class: "small"});
    this.size = el("div");
    this.seats = el("div", {class: "seat-fields"});
    this.start = button("Open the table", () => this.open(), {class: "main"});
    const name = el("input", {type: "text", maxlength: "24", value: setting("name"),
      autocomplete: "nickname", on: {change: () => choose("name", name.value.trim())}});
    this.node = el("section", {class: "form"}, el("h2", {text: "Another game"}),
      picker("Game", this.named(false), this.rule.name, (value) => this.chooseRule(value),
        ["Small decks", this.named(true)]),
      this.about, this.size, this.seats,
      choices("How long", "long", [["deal", "One deal"], ["match", "A match"]], this.length,
        (value) => {
          this.length = value;
        }),
      el("label", {class: "field"}, el("span", {text: "Your name"}), name),
      el("div", {class: "buttons"}, this.start));
    this.chooseRule(this.rule.name);
  }

  /** @param {boolean} isSmall @returns {Array<[string, string]>} */
  named(isSmall) {
    return this.rules.filter(({small}) => small === isSmall).map(({name, title}) => [name, title]);
  }

  /** @param {string} name */
  chooseRule(name) {
    this.rule = this.rules.find((rule) => rule.name === name);
    const {players} = this.rule;
    if (!players.includes(this.players)) this.players = players.includes(4) ? 4 : players[0];
    this.about.textContent = capital(this.rule.text);
    this.drawSize();
  }

  drawSize() {
    const {players} = this.rule;
    this.size.replaceChildren(...(players.length > 1 ? [choices("Players", "players",
      players.map((n) => [String(n), String(n)]), String(this.players),
      (value) => {
        this.players = Number(value);
        this.drawSeats();
      })] : []));
    this.drawSeats();
  }

  /** The name of the rules with this number of players, as the server has it. */
  get game() {
    const {name, players} = this.rule;
    return players.length === 1 || this.players === 4 ? name : `${name} players=${this.players}`;
  }

  drawSeats() {
    const fitting = this.agents.filter((agent) => agent.games.includes(this.game));
    const names = fitting.map(({name}) => name);
    this.seats.replaceChildren(...Array.from({length: this.players - 1}, (_, index) => {
      if (!names.includes(this.others[index]) && this.others[index] !== FRIEND) {
        this.others[index] = names[0] || FRIEND;
      }
      const id = `about-${index}`;
      const about = el("p", {class: "small about", id});
      const explain = () => {
        about.textContent = this.others[index] === FRIEND ? "a free seat: you get a link to send"
          : fitting.find(({name}) => name === this.others[index]).text.replace(/^is /, "");
      };
      explain();
      const field = picker(this.players > 2 ? `Seat ${index + 2}` : "Against",
        [...names.map((name) => [name, name]),
          [FRIEND, FRIEND]], this.others[index], (value) => {
          this.others[index] = value;
          explain();
        });
      field.querySelector("select")?.setAttribute("aria-describedby", id);
      return el("div", {}, field, about);
    }));
  }

  open() {
    const others = this.others.slice(0, this.players - 1).map((name) =>
      (name === FRIEND ? {open: true} : {agent: name}));
    create(this.context, this.start, {rules: this.game, match: this.length === "match",
      seats: [{me: true}, ...others]});
  }
}
