// Help at the table: none, a warning before a blunder, the worth of each card, the odds of unseen
// cards. The server computes all figures from what one's own seat can know.

import {cardName, cardText, chip, suitName, suitSign} from "hearts/cards.js";
import {ask, button, choices, el, picker} from "hearts/dom.js";
import {choose, setting} from "hearts/settings.js";
import {signed} from "hearts/figures.js";
import {judged} from "hearts/line.js";

const LEVELS = ["off", "warn", "values", "odds"];
const WARN = 2; // points that a card must be worse by, for a warning

/** The help of one table. */
export class Drawer {
  /** @param {any} room of table.js */
  constructor(room) {
    this.room = room;
    this.isOpen = false;
    /** @type {{seq: number, answer: any}} */
    this.values = {seq: -1, answer: null};
    /** @type {{key: string, answer: any}} */
    this.odds = {key: "", answer: null};
    this.advice = {seq: -1, text: null};
    this.model = "";
    this.asked = "";
    /** The requests under way, by what they ask. @type {Set<string>} */
    this.busy = new Set();
    this.levels = el("div");
    this.body = el("div", {class: "figures"});
    this.node = el("aside", {class: "drawer", id: "drawer", hidden: true, "aria-label": "Help"},
      el("div", {class: "head"}, el("h2", {text: "Help"}),
        button("Close", () => this.toggle(false), {class: "tool"})),
      this.levels, this.body);
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.toggle(false);
    });
  }

  /** The level that the person wants, as far as the table allows it. */
  get level() {
    const allowed = LEVELS.indexOf(this.room.table?.help ?? "odds");
    return Math.min(LEVELS.indexOf(setting("help")), allowed);
  }

  /** @param {string} level */
  has(level) {
    return this.level >= LEVELS.indexOf(level);
  }

  /** @param {boolean} [isOpen] */
  toggle(isOpen = !this.isOpen) {
    this.isOpen = isOpen;
    this.node.hidden = !isOpen;
    this.room.helpButton.setAttribute("aria-expanded", String(isOpen));
    this.room.root.classList.toggle("helped", isOpen);
    if (isOpen) {
      this.drawLevels();
      this.update();
      this.levels.querySelector("input:checked")?.focus();
    } else this.room.helpButton.focus({preventScroll: true});
  }

  drawLevels() {
    const allowed = LEVELS.indexOf(this.room.table?.help ?? "odds");
    /** @type {Array<[string, string]>} */
    const options = [["off", "Off"], ["warn", "Warn"], ["values", "Values"], ["odds", "Odds"]];
    const meaning = el("p", {class: "small", text: MEANINGS[setting("help")]});
    this.levels.replaceChildren(
      choices("How much", "help", options.slice(0, allowed + 1), LEVELS[this.level], (value) => {
        meaning.textContent = MEANINGS[value];
        choose("help", value);
      }), meaning);
  }

  /** Another level was chosen. */
  changed() {
    this.room.refresh();
  }

  /** Fetches and draws what the level asks for. */
  update() {
    const {table} = this.room;
    if (!table) return;
    const canAsk = table.isMyTurn && table.view.phase === "play" && !table.over;
    if (canAsk && this.has("values")) this.fetchValues();
    if (!this.isOpen) return;
    const parts = [];
    if (table.you === null) parts.push(el("p", {text: "Onlookers get no help."}));
    if (canAsk && this.has("values")) parts.push(this.valuesTable());
    if (canAsk) parts.push(this.whatWould());
    if (table.view && !table.over && table.view.phase === "play" && this.has("odds")) {
      this.fetchOdds();
      parts.push(this.matrix());
    }
    if (!canAsk && table.you !== null && !table.over) {
      parts.unshift(el("p", {class: "small", text: "On your turn you see here what each card is worth."}));
    }
    this.body.replaceChildren(...parts);
  }

  /**
   * Asks the server, once for each question.
   * @param {string} key
   * @param {Record<string, any>} message
   * @param {(answer: any) => void} done
   */
  async fetch(key, message, done) {
    if (this.busy.has(key)) return;
    this.busy.add(key);
    try {
      done(await this.room.connection.request({table: this.room.id, ...message}));
    } catch (error) {
      const {code, message: text} = error;
      if (code !== "stale" && code !== "lost") done({error: text});
    } finally {
      this.busy.delete(key);
    }
    if (!this.room.ends.signal.aborted) this.room.refresh();
  }

  fetchValues() {
    const {seq} = this.room.table;
    if (this.values.seq === seq) return;
    this.fetch(`values ${seq}`, {type: "values", seq}, (answer) => {
      this.values = {seq, answer};
    });
  }

  /** The values of the present decision, by card; null if they are not there. */
  get current() {
    const {seq, answer} = this.values;
    return answer && !answer.error && seq === this.room.table?.seq ? Object.fromEntries(
      answer.worths.map(({action, margin}) => [action, margin])) : null;
  }

  fetchOdds() {
    const {seq} = this.room.table;
    const key = `${seq} ${this.model}`;
    if (this.odds.key === key) return;
    const model = this.model || undefined;
    this.fetch(`odds ${key}`, {type: "odds", seq, model}, (answer) => {
      this.odds = {key, answer};
    });
  }

  /** The figures on the cards of the hand. @returns {Record<string, any>} */
  marks() {
    const values = this.current;
    if (!values || !this.has("values")) return {};
    return Object.fromEntries(Object.entries(values).map(([card, value]) => {
      const {kind, sign, words} = judged(values, card);
      return [card, {kind, text: `${sign}${signed(value, 1)}`,
        name: `worth ${signed(value, 1)}, ${words}`}];
    }));
  }

  /**
   * Whether a card is to be played: asks first where it would be a blunder.
   * @param {string} card
   * @returns {Promise<boolean>}
   */
  async confirms(card) {
    const {table} = this.room;
    if (!this.has("warn") || table.legal.length < 2 || table.view.phase !== "play") return true;
    const {seq} = table;
    if (this.values.seq !== seq) {
      await this.fetch(`values ${seq}`, {type: "values", seq}, (answer) => {
        this.values = {seq, answer};
      });
    }
    const values = this.current;
    if (!values || !(card in values)) return true;
    const lost = Math.max(...Object.values(values)) - values[card];
    if (lost < WARN) return true;
    const over = ways(this.values.answer);
    const chosen = await ask({
      title: `${cardText(card)}: are you sure?`,
      body: [el("p", {text: `On average over ${over}, the ${cardName(card)} is ${lost.toFixed(1)} points `
        + "worse than your best card."})],
      buttons: [["back", "Choose again"], ["play", `Play ${cardText(card)}`]],
    });
    return chosen === "play" && table.seq === seq;
  }

  valuesTable() {
    const {answer, seq} = this.values;
    if (seq !== this.room.table.seq) return el("p", {class: "small", text: "Weighing …"});
    if (answer.error) return el("p", {class: "small", text: answer.error});
    const values = this.current;
    const rows = Object.entries(values).map(([card, value]) => {
      const {kind, sign, words} = judged(values, card);
      return el("tr", {class: kind}, el("th", {scope: "row"}, chip(card)),
        el("td", {class: "n", text: signed(value, 1)}),
        el("td", {}, sign && el("span", {role: "img", class: "sign", text: sign,
          "aria-label": words})));
    });
    return el("section", {},
      el("h3", {text: "Worth of each card"}),
      el("table", {class: "worths"}, el("caption", {class: "small",
        text: `By how many points you win the deal with it, on average over ${ways(answer)}.`}),
      el("thead", {class: "unseen"}, el("tr", {}, el("th", {scope: "col", text: "Card"}),
        el("th", {scope: "col", text: "Worth"}), el("th", {scope: "col", text: "Mark"}))),
      el("tbody", {}, ...rows)));
  }

  /** "What would NAME play?" */
  whatWould() {
    const agents = fitting(this.room);
    this.asked ||= agents[0] || "";
    const {seq} = this.room.table;
    const press = () => this.fetch(`hint ${seq} ${this.asked}`,
      {type: "hint", seq, agent: this.asked || undefined}, (answer) => {
        this.advice = {seq, text: answer.error ? [answer.error] : advised(answer)};
      });
    return el("section", {},
      el("h3", {text: "What would they play?"}),
      el("div", {class: "row"},
        picker("Player", agents.map((name) => [name, name]), this.asked, (value) => {
          this.asked = value;
        }), button("Ask", press)),
      this.advice.seq === seq && el("p", {class: "advice", role: "status"}, ...this.advice.text));
  }

  /** Who may hold the cards that were not seen: a table by card and seat. */
  matrix() {
    const {table} = this.room;
    const {answer} = this.odds;
    const agents = fitting(this.room);
    const chooser = picker("If the others play like", [["", "anybody (all hands alike)"],
      ...agents.map((name) => [name, name])], this.model,
    (value) => {
      this.model = value;
      this.update();
    });
    const parts = [el("h3", {text: "Odds of unseen cards"}), chooser];
    if (!answer) parts.push(el("p", {class: "small", text: "Counting …"}));
    else if (answer.error) parts.push(el("p", {class: "small", text: answer.error}));
    else parts.push(...oddsTable(table, answer));
    return el("section", {}, ...parts);
  }
}

/** @type {Record<string, string>} */
const MEANINGS = {
  off: "You are on your own.",
  warn: `Asks before you play a card that is ${WARN} points worse than your best one, or more.`,
  values: "Shows on every card that you may play by how many points you win with it, on average "
    + "over all hands that fit what you have seen, and asks before one that is much worse.",
  odds: "Shows what each card is worth, and who may hold each unseen card.",
};

/** What an average is over. @param {any} answer */
function ways({worlds, sample}) {
  if (worlds === 1) return "the one way the unseen cards can lie";
  return `${sample ? `${worlds} of the` : `all ${worlds}`} ways the unseen cards can lie`;
}

/** Names of agents that play these rules. @param {any} room @returns {string[]} */
function fitting(room) {
  const {agents = []} = room.connection.welcome || {};
  const {name} = room.table.rules;
  return agents.filter((agent) => !agent.games || agent.games.includes(name))
    .map((agent) => agent.name);
}

/** A hint as parts of a sentence. @param {any} answer @returns {Array<Node|string>} */
function advised({agent, action, worths = [], chances = {}}) {
  const named = (name) => (name.includes(":") ? MOON[name] : chip(name));
  const parts = [`${agent} would play `, named(action), "."];
  const likely = Object.entries(chances).filter(([, p]) => p >= 0.005).slice(0, 5);
  if (likely.length > 1) {
    likely.forEach(([name, p], index) => parts.push(index ? ", " : " Its probabilities: ",
      named(name), ` ${Math.round(100 * p)} %`));
  }
  if (worths.length) {
    worths.slice(0, 5).forEach((worth, index) =>
      parts.push(index ? ", " : " Its estimates: ", named(worth.action), ` ${signed(worth.margin, 1)}${
        worth.half ? ` ± ${worth.half.toFixed(1)}` : ""}`));
  }
  return parts;
}

/** @type {Record<string, string>} */
const MOON = {"moon:off": "points off", "moon:others": "points for the others"};

/**
 * @param {any} table
 * @param {{worlds: number, chances: Record<string, Record<string, number>>}} answer
 * @returns {Node[]}
 */
function oddsTable(table, {worlds, chances, ...rest}) {
  const cards = Object.keys(chances);
  const places = [...new Set(cards.flatMap((card) => Object.keys(chances[card])))]
    .sort((a, b) => Number(isNaN(Number(a))) - Number(isNaN(Number(b))) || Number(a) - Number(b));
  const heading = (place) =>
    isNaN(Number(place)) ? (table.rules.fields.kitty_to === "nobody" ? "not dealt" : "kitty")
      : table.who(Number(place));
  const bodies = ["C", "D", "S", "H"].map((suit) => {
    const rows = cards.filter((card) => card[1] === suit).map((card) => el("tr", {},
      el("th", {scope: "row"}, chip(card)),
      ...places.map((place) => {
        const p = chances[card][place] || 0;
        const cell = el("td", {class: "odd", text: `${Math.round(100 * p)} %`});
        cell.style.setProperty("--p", String(p));
        return cell;
      })));
    return rows.length ? el("tbody", {"aria-label": `${suitName(suit)} ${suitSign(suit)}`}, ...rows)
      : null;
  });
  return [el("table", {class: "odds"}, el("caption", {class: "small", text: `Over ${ways({worlds, ...rest})}.`}),
    el("thead", {}, el("tr", {}, el("th", {scope: "col", text: "Card"}),
      ...places.map((place) => el("th", {scope: "col", text: heading(place)})))), ...bodies)];
}
