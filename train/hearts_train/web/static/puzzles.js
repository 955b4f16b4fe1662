// Puzzles: one card is clearly best, over all that could be in the other hand. Which?

import {cardText, chip, loadCards} from "hearts/cards.js";
import {button, choices, el, load, loadStyle, save, say} from "hearts/dom.js";
import {percent, signed} from "hearts/figures.js";
import {tableAfter, toFragment} from "hearts/line.js";
import {tableOf} from "hearts/seats.js";
import {asked} from "hearts/server.js";

const KEY = "hearts.puzzles";

/**
 * The puzzles that were tried in this browser.
 * @typedef {{solved: number[], failed: number[], streak: number, best: number, level: string}} Progress
 */

/** @type {Progress} */
const NONE = {solved: [], failed: [], streak: 0, best: 0, level: "all"};

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
  const follow = () => page.open(numbered() || page.number);
  window.addEventListener("hashchange", follow);
  await page.open(numbered() || page.following());
  return () => window.removeEventListener("hashchange", follow);
}

/** The number in the address; 0 for none. */
function numbered() {
  return Number(location.hash.slice(1)) || 0;
}

class Page {
  /** @param {HTMLElement} root @param {any[]} puzzles */
  constructor(root, puzzles) {
    this.puzzles = puzzles;
    /** @type {Progress} */
    this.state = {...NONE, ...load(KEY)};
    this.number = 0;
    /** @type {string|null} */
    this.chosen = null;
    this.score = el("p", {class: "score"});
    this.body = el("div", {class: "puzzle"});
    const levels = choices("Level", "puzzle-level", [["all", "all"], ["1", "★"], ["2", "★★"],
      ["3", "★★★"]], this.state.level, (level) => {
      this.state.level = level;
      save(KEY, this.state);
      this.open(this.following());
    });
    root.replaceChildren(el("div", {class: "board-page review"},
      el("header", {class: "puzzle-head"}, el("h1", {text: "Puzzles"}), this.score, levels),
      this.body));
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
    try {
      this.puzzle = await asked(`/api/puzzles?number=${number}`);
    } catch (error) {
      this.body.replaceChildren(el("p", {class: "wrong", role: "alert",
        text: String(error.message)}),
      button("To the next puzzle", () => this.open(this.following())));
      return;
    }
    [this.number, this.chosen] = [number, null];
    history.replaceState(null, "", `#${number}`);
    this.show();
    say(`Puzzle ${number}. Choose a card.`);
  }

  show() {
    const {puzzle, chosen, state} = this;
    const {level, level_text: words, missed, seat} = puzzle;
    this.score.textContent = `Streak ${state.streak}, best ${state.best}; solved `
      + `${state.solved.length} of ${this.puzzles.length}`;
    const stars = "★★★".slice(0, level) + "☆☆☆".slice(level);
    this.body.replaceChildren(
      el("h2", {}, `Puzzle ${puzzle.number} `, el("span", {class: "stars", role: "img",
        "aria-label": `level ${level} of 3`, text: stars})),
      el("p", {text: chosen ? `Missed by ${missed.join(", ")}: ${words}.`
        : "You are to play. Which card is best, on average over all hands that your opponent "
          + "could hold?"}),
      el("div", {class: "desk"}, el("div", {class: "board"}, tableOf(this.scene()),
        chosen && this.verdict()), tricksOf(puzzle, seat)));
    if (chosen) {
      const next = this.body.querySelector(".next");
      if (next instanceof HTMLElement) next.focus();
    }
  }

  /** @returns {any} */
  scene() {
    const {puzzle, chosen} = this;
    const {seat} = puzzle;
    const names = ["Opponent", "Opponent"];
    names[seat] = "You";
    // The cards that were played are in no hand now; of the other hand only the number is known.
    const deal = {names, hands: [[], []], kitty: [], exchange: null};
    const table = tableAfter(deal, puzzle.steps, puzzle.steps.length);
    table.hands[seat] = puzzle.hand;
    table.hands[1 - seat] = Array(puzzle.others).fill("");
    const worths = chosen ? {known: puzzle.means, seen: null, half: null, close: []} : null;
    return {deal, table, mover: seat, bottom: seat, instead: {}, worths, played: chosen,
      legal: puzzle.legal, ending: "", isOpen: (shown) => shown === seat,
      choose: (card) => this.choose(card)};
  }

  /** @param {string} card */
  choose(card) {
    if (this.chosen) return;
    this.chosen = card;
    const {state, puzzle, number} = this;
    const right = card === puzzle.best;
    const isNew = !state.solved.includes(number) && !state.failed.includes(number);
    if (isNew) (right ? state.solved : state.failed).push(number);
    if (isNew) state.streak = right ? state.streak + 1 : 0;
    if (!isNew && right && state.failed.includes(number)) {
      state.failed = state.failed.filter((one) => one !== number);
      state.solved.push(number);
    }
    state.best = Math.max(state.best, state.streak);
    save(KEY, state);
    this.show();
    say(right ? "Right." : `Not the best: it was ${cardText(puzzle.best)}.`);
  }

  verdict() {
    const {puzzle, chosen} = this;
    const {best, gap, means} = puzzle;
    const right = chosen === best;
    const words = right ? ["✓ Right: ", chip(best), ` is ${gap.toFixed(1)} points better than any `
      + "other card."]
      : ["✗ ", chip(chosen), ` gives away ${(means[best]
        - means[chosen]).toFixed(1)} points; `, chip(best), " is best."];
    const at = puzzle.steps.length;
    return el("section", {class: right ? "verdict right" : "verdict missed",
      "aria-label": "The answer"}, el("p", {class: "verdict-words"}, ...words), explained(puzzle),
    el("p", {class: "buttons"}, button("Next puzzle", () => this.open(this.following()),
      {class: "main next"}),
    !right && button("Try again", () => {
      this.chosen = null;
      this.show();
    }),
    el("a", {class: "button", href: `/board#deal=${toFragment(puzzle.deal)}&at=${at}`,
      text: "All cards, on the board"})));
  }
}

/** The worth of each card: the mean, the range, and how often it is the best. @param {any} puzzle */
function explained(puzzle) {
  const {means, worlds} = puzzle;
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
  return el("table", {}, el("caption", {text: `What each card is worth: the margin of the deal, on `
    + `average over the ${count} hands that your opponent could hold, both playing best from there`}),
  el("thead", {}, el("tr", {}, ...["Card", "Worth", "From … to", "Best in"].map((text, i) =>
    el("th", {scope: "col", class: i ? "n" : null, text})))), el("tbody", {}, ...rows));
}

/** What was played before. @param {any} puzzle @param {number} seat */
function tricksOf(puzzle, seat) {
  const rows = [];
  let trick = [];
  const worth = (cards) => cards.reduce((sum, [, card]) =>
    sum + (puzzle.card_points[card] || 0), 0);
  const who = (one) => (one === seat ? "You" : "Opponent");
  for (const step of puzzle.steps) {
    trick.push(step);
    if (step.length < 4) continue;
    const points = worth(trick);
    rows.push(el("tr", {}, el("td", {class: "n", text: String(rows.length + 1)}),
      el("td", {text: who(trick[0][0])}), el("td", {}, ...trick.map(([, card]) => chip(card))),
      el("td", {text: `${who(step[2])}${points ? ` ${signed(points)}` : ""}`})));
    trick = [];
  }
  return el("section", {class: "list trick-list", "aria-label": "The tricks so far", tabindex: "0"},
    el("table", {class: "card-table"}, el("caption", {text: rows.length ? "The tricks so far"
      : "Nothing has been played"}),
    rows.length > 0 && el("thead", {}, el("tr", {}, ...["Trick", "Led by", "Cards", "Taken by"].map(
      (text, i) => el("th", {scope: "col", class: i ? null : "n", text})))),
    el("tbody", {}, ...rows)));
}
