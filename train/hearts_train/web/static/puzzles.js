// Puzzles: one card is clearly best, over all that could be in the other hand. Which? They come with
// the package, or from the mistakes in one's own deals.

import {cardText, chip, loadCards} from "hearts/cards.js";
import {button, choices, el, load, loadStyle, save, say} from "hearts/dom.js";
import {counted, percent, signed} from "hearts/figures.js";
import {judged, tableAfter} from "hearts/line.js";
import {showHistory} from "hearts/progress.js";
import {boardAt, keep, mistakes, ownDeals} from "hearts/own.js";
import {tableOf} from "hearts/seats.js";
import {asked} from "hearts/server.js";

const KEY = "hearts.puzzles";
const MINE = "mine"; // the level of one's own mistakes

/**
 * The puzzles that were tried in this browser.
 * @typedef {{solved: number[], failed: number[], streak: number, best: number, level: string}} Progress
 */

/** @type {Progress} */
const NONE = {solved: [], failed: [], streak: 0, best: 0, level: "all"};
/** @type {Array<[string, string]>} */
const LEVELS = [["all", "all"], ["1", "★"], ["2", "★★"], ["3", "★★★"], [MINE, "your mistakes"]];

/** What this browser saved, without what is damaged. @returns {Progress} */
function progress() {
  const found = {...NONE, ...Object.fromEntries(Object.entries(load(KEY) || {}).filter(
    ([key, value]) => typeof value === typeof NONE[key]
      && Array.isArray(value) === Array.isArray(NONE[key])))};
  return LEVELS.some(([level]) => level === found.level) ? found : {...found, level: "all"};
}

/**
 * @param {HTMLElement} root
 * @param {{title?: (text: string) => void}} [context]
 * @returns {Promise<() => void>} ends it
 */
export async function mount(root, context = {}) {
  await Promise.all([loadCards(), loadStyle("board.css")]);
  context.title?.("Puzzles");
  const {puzzles} = await asked("/api/puzzles");
  const page = new Page(root, puzzles);
  const follow = () => page.follow(location.hash.slice(1));
  window.addEventListener("hashchange", follow);
  await follow();
  return () => window.removeEventListener("hashchange", follow);
}

/** What is asked: a puzzle of the package, or a mistake from a deal of one's own. */
class Page {
  /** @param {HTMLElement} root @param {any[]} puzzles */
  constructor(root, puzzles) {
    this.puzzles = puzzles;
    /** @type {Progress} */
    this.state = progress();
    this.number = 0;
    /** @type {{own: import("hearts/own.js").Own, card: import("hearts/own.js").Mistake}|null} */
    this.mistake = null;
    /** @type {string|null} */
    this.chosen = null;
    this.score = el("p", {class: "score"});
    this.history = el("div");
    this.body = el("div", {class: "puzzle"});
    this.levels = el("div");
    root.replaceChildren(el("div", {class: "board-page review"},
      el("header", {class: "puzzle-head"}, el("h1", {text: "Puzzles"}), this.score, this.levels),
      this.body, this.history));
  }

  get isMine() {
    return this.state.level === MINE;
  }

  /** @param {string} level */
  setLevel(level) {
    this.state.level = level;
    save(KEY, this.state);
    this.follow("");
  }

  /** Goes to what an address names; without a name, to the next of the level. @param {string} hash */
  async follow(hash) {
    if (hash === MINE) this.state.level = MINE;
    else if (Number(hash) && this.isMine) this.state.level = "all";
    this.levels.replaceChildren(choices("Level", "puzzle-level", LEVELS, this.state.level,
      (level) => this.setLevel(level)));
    if (this.isMine) await this.showMine();
    else await this.open(Number(hash) || this.following());
  }

  /** The next puzzle of the level that was not tried; if all were, the next one. */
  following() {
    const {level, solved, failed} = this.state;
    const fit = this.puzzles.filter((one) => level === "all" || String(one.level) === level);
    const tried = new Set([...solved, ...failed]);
    const later = [...fit.filter((one) => one.number > this.number), ...fit];
    return (later.find((one) => !tried.has(one.number)) || later[0]).number;
  }

  /** @param {number} number */
  async open(number) {
    if (number === this.number) return;
    this.history.replaceChildren();
    if (await this.fetch(() => asked(`/api/puzzles?number=${number}`))) {
      [this.number, this.mistake] = [number, null];
      history.replaceState(null, "", `#${number}`);
      this.show();
      say(`Puzzle ${number}. Choose a card.`);
    }
  }

  /** Gets what is asked next; whether that was possible. @param {() => Promise<any>} get */
  async fetch(get) {
    try {
      [this.puzzle, this.chosen] = [await get(), null];
      return true;
    } catch (error) {
      this.body.replaceChildren(el("p", {class: "wrong", role: "alert",
        text: String(error.message)}), button("To the next puzzle", () => this.next()));
      return false;
    }
  }

  next() {
    if (this.isMine) this.openMistake();
    else this.open(this.following());
  }

  /** How the deals went, then the costliest mistake. */
  async showMine() {
    this.number = 0;
    history.replaceState(null, "", `#${MINE}`);
    this.score.textContent = "";
    this.body.replaceChildren();
    await showHistory(this.history, () => this.showMine()); // it may find more of them
    if (this.isMine) await this.openMistake();
  }

  /** The costliest mistake that was not solved since; if all were, the costliest one after this. */
  async openMistake() {
    const all = mistakes();
    const solved = all.filter(({card}) => card.done).length;
    this.score.textContent = all.length ? `Solved ${solved} of ${all.length}` : "";
    const here = all.findIndex(({own, card}) => this.mistake?.own.deal === own.deal
      && this.mistake.card.at === card.at);
    const later = [...all.slice(here + 1), ...all];
    this.mistake = later.find(({card}) => !card.done) || later[0] || null;
    if (!this.mistake) {
      this.body.replaceChildren(el("p", {text: ownDeals().length ? "No card of yours was clearly "
        + "worse than another. Play on." : "Here you can correct the mistakes of your own deals. "
        + "You have not finished a deal yet."}),
      el("p", {}, el("a", {class: "button main", href: "/", text: "Play"})));
      return;
    }
    const {own: {deal, seat}, card} = this.mistake;
    if (await this.fetch(async () => ({deal, ...(await asked("/api/mistakes", {deal, seat})).cards
      .find(({at}) => at === card.at)}))) {
      this.show();
      say(`A mistake of yours, trick ${card.trick}. Choose a card.`);
    }
  }

  show() {
    const {puzzle, chosen, state} = this;
    const {level, missed} = puzzle;
    const stars = "★★★".slice(0, level) + "☆☆☆".slice(level);
    if (!this.isMine) {
      this.score.textContent = `Streak ${state.streak}, best ${state.best}; solved `
        + `${state.solved.length} of ${this.puzzles.length}`;
    }
    const question = "You are to play. Which card is best, on average over all hands that you "
      + "cannot see?";
    this.body.replaceChildren(
      this.isMine ? el("h2", {text: `Your mistake in trick ${puzzle.trick}`})
        : el("h2", {}, `Puzzle ${puzzle.number} `, el("span", {class: "stars", role: "img",
          "aria-label": `level ${level} of 3`, text: stars})),
      this.isMine && chosen ? el("p", {}, "You played ", chip(puzzle.played),
        `, which gave away ${counted(Math.round(puzzle.lost), "point")}.`)
        : el("p", {text: chosen ? `Missed by ${missed.join(", ")}.` : question}),
      el("div", {class: "desk"}, el("div", {class: "board"}, tableOf(this.scene()),
        chosen && this.verdict()), tricksOf(puzzle)));
    if (chosen) {
      const next = this.body.querySelector(".next");
      if (next instanceof HTMLElement) next.focus();
    }
  }

  /** @returns {any} */
  scene() {
    const {puzzle, chosen} = this;
    const {seat, names, left, half = null, close = []} = puzzle;
    // The cards that were played are in no hand now; of the other hands only the number is known.
    const deal = {names, hands: names.map(() => []), kitty: [], exchange: null};
    const table = tableAfter(deal, puzzle.steps, puzzle.steps.length);
    table.hands = left.map((count, other) => (other === seat ? puzzle.hand : Array(count).fill("")));
    const isSampled = half && Object.values(half).some(Boolean);
    const worths = chosen ? {known: puzzle.means, seen: null, half: isSampled ? half : null, close}
      : null;
    return {deal, table, mover: seat, bottom: seat, instead: {}, worths, played: chosen,
      legal: puzzle.legal, ending: "", isOpen: (shown) => shown === seat,
      choose: (card) => this.choose(card)};
  }

  /** Whether no card is better than this one. @param {string} card */
  isRight(card) {
    return judged(this.puzzle.means, card, this.puzzle.close).kind === "best";
  }

  /** @param {string} card */
  choose(card) {
    if (this.chosen) return;
    this.chosen = card;
    const right = this.isRight(card);
    if (this.mistake) {
      this.mistake.card.done ||= right;
      keep(this.mistake.own);
    } else this.count(right);
    this.show();
    say(right ? "Right." : `Not the best: it was ${cardText(this.puzzle.best)}.`);
  }

  /** Counts an answer to a puzzle of the package. @param {boolean} right */
  count(right) {
    this.state = {...progress(), level: this.state.level}; // another tab may have saved since
    const {state, number} = this;
    const isNew = !state.solved.includes(number) && !state.failed.includes(number);
    if (isNew) (right ? state.solved : state.failed).push(number);
    if (isNew) state.streak = right ? state.streak + 1 : 0;
    if (!isNew && right && state.failed.includes(number)) {
      state.failed = state.failed.filter((one) => one !== number);
      state.solved.push(number);
    }
    state.best = Math.max(state.best, state.streak);
    save(KEY, state);
  }

  verdict() {
    const {puzzle, chosen} = this;
    const {best, gap, means, worlds} = puzzle;
    const right = this.isRight(chosen);
    const lead = gap ? ` is ${gap.toFixed(1)} points better than any other card.` : " is best.";
    const words = right ? ["✓ Right: ", chip(chosen), lead]
      : ["✗ ", chip(chosen), ` gives away ${(means[best] - means[chosen]).toFixed(1)} points; `,
        chip(best), " is best."];
    return el("section", {class: right ? "verdict right" : "verdict missed",
      "aria-label": "The answer"}, el("p", {class: "verdict-words"}, ...words),
    worlds && explained(puzzle),
    el("p", {class: "buttons"}, button(this.isMine ? "Next mistake" : "Next puzzle",
      () => this.next(), {class: "main next"}),
    !right && button("Try again", () => {
      this.chosen = null;
      this.show();
    }),
    el("a", {class: "button", href: boardAt(puzzle, puzzle.at), text: "All cards, on the board"})));
  }
}

/** The worth of each card: the mean, the range, and how often it is the best. @param {any} puzzle */
function explained({means, worlds}) {
  const cards = Object.keys(means).sort((a, b) => means[b] - means[a]);
  const count = worlds[cards[0]].length;
  const most = Array.from({length: count}, (_, i) =>
    Math.max(...cards.map((card) => worlds[card][i])));
  const rows = cards.map((card) => {
    const values = worlds[card];
    const share = most.filter((value, i) => values[i] === value).length / count;
    return el("tr", {}, el("th", {scope: "row"}, chip(card)),
      el("td", {class: "n", text: signed(means[card], 2)}),
      el("td", {class: "n", text: `${signed(Math.min(...values))} … ${signed(Math.max(...values))}`}),
      el("td", {class: "n", text: percent(share)}));
  });
  return el("table", {}, el("caption", {text: "What each card is worth: the points by which you win "
    + `the deal with it, on average over the ${count} hands that your opponent could hold, both `
    + "playing best from there"}),
  el("thead", {}, el("tr", {}, ...["Card", "Worth", "From … to", "Best in"].map((text, i) =>
    el("th", {scope: "col", class: i ? "n" : null, text})))), el("tbody", {}, ...rows));
}

/** What was played before. @param {any} puzzle */
function tricksOf(puzzle) {
  const rows = [];
  let trick = [];
  const worth = (cards) => cards.reduce((sum, [, card]) =>
    sum + (puzzle.card_points[card] || 0), 0);
  for (const step of puzzle.steps) {
    trick.push(step);
    if (step.length < 4) continue;
    const points = worth(trick);
    rows.push(el("tr", {}, el("td", {class: "n", text: String(rows.length + 1)}),
      el("td", {text: puzzle.names[trick[0][0]]}),
      el("td", {}, ...trick.map(([, card]) => chip(card))),
      el("td", {text: `${puzzle.names[step[2]]}${points ? ` ${signed(points)}` : ""}`})));
    trick = [];
  }
  return el("section", {class: "list trick-list", "aria-label": "The tricks so far", tabindex: "0"},
    el("table", {class: "card-table"}, el("caption", {text: rows.length ? "The tricks so far"
      : "Nothing has been played"}),
    rows.length > 0 && el("thead", {}, el("tr", {}, ...["Trick", "Led by", "Cards", "Taken by"].map(
      (text, i) => el("th", {scope: "col", class: i ? null : "n", text})))),
    el("tbody", {}, ...rows)));
}
