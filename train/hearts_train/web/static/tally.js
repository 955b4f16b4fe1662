// A deal beside the board: its result, a summary in sentences, and a table of all cards.

import {OTHERS, chip} from "hearts/cards.js";
import {button, el} from "hearts/dom.js";
import {BLUNDER, SLIP} from "hearts/line.js";

/**
 * The head of a deal: the scores and the summary.
 * @param {any} deal @param {number} bottom the seat that comes first
 */
export function summaryOf({names, scores, rules, tags, summary}, bottom) {
  const order = names.map((_, i) => (bottom + i) % names.length);
  const heads = order.map((seat) => (scores ? `${names[seat]} ${scores[seat]}` : names[seat]));
  return el("header", {class: "summary"}, el("h2", {text: heads.join(" : ")}),
    el("p", {class: "about-deal",
      text: [rules.title, tags.Event, tags.Date].filter(Boolean).join(" · ")}),
    el("p", {text: summary.join(" ").replace(/-(?=\d)/g, "−")}));
}

/** The meaning of the figures on the cards. @param {any} deal */
export function legend({exact}) {
  const mark = (kind, text) => el("span", {class: `stamp ${kind}`, text});
  return el("p", {class: "legend"}, el("span", {}, el("b", {text: "Under a card"}),
    ": the points by which its player wins the deal with it, on average over all hands that it "
    + `cannot see; then ${exact ? "the same with all cards open" : "± half its 95 % interval"}.`),
  mark("best", "✓ best"), mark("slip", `? ${SLIP} or more worse`),
  mark("blunder", `?? ${BLUNDER} or more`), mark("played", "played"));
}

/**
 * The table of all cards. `show` marks the place on the board.
 * @param {any} deal @param {(at: number) => void} go
 */
export function cardList(deal, go) {
  const moments = new Map(deal.moments.map((moment) => [moment.number, moment]));
  let before = 0;
  /** @type {HTMLTableRowElement[]} */
  const rows = deal.steps.map(([seat, action], at) => {
    const moment = moments.get(at);
    const trick = moment?.trick || 0;
    const isFirst = trick !== before;
    before = trick;
    const {lost, better} = givenAway(moment);
    return el("tr", {class: isFirst ? "first" : ""},
      el("td", {class: "n", text: isFirst && trick ? String(trick) : ""}),
      el("td", {class: "player", text: deal.names[seat]}),
      el("td", {}, cardButton(action, moment, () => go(at))), el("td", {class: "n", text: lost}),
      el("td", {class: "better"}, ...better.map(chip)));
  });
  const heads = ["Trick", "Player", "Card", "Given away", "Better"].map((text) =>
    el("th", {scope: "col", class: ["Trick", "Given away"].includes(text) ? "n" : null, text}));
  const element = el("section", {class: "list", "aria-label": "Card by card"},
    el("table", {}, el("caption", {text: "Card by card"}),
      el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
  return {
    element,
    /** @param {number} at */
    show(at) {
      for (const [place, row] of rows.entries()) {
        row.classList.toggle("now", place === at);
        row.querySelector("button").setAttribute("aria-current", place === at ? "step" : "false");
      }
      if (!rows[at] || element.scrollHeight <= element.clientHeight) return;
      element.scrollTo({top: rows[at].offsetTop - element.clientHeight / 2, behavior: "auto"});
    },
  };
}

/** @param {string} action @param {any} moment @param {() => void} press */
function cardButton(action, moment, press) {
  const made = button("", press, {class: "go"});
  made.append(OTHERS[action] || chip(action));
  if (moment?.mark) {
    made.append(el("span", {class: `stamp ${moment.mark === "??" ? "blunder" : "slip"}`,
      text: moment.mark}));
  }
  return made;
}

/**
 * The points that a card gave away and the better cards, empty if it was forced.
 * @param {any} moment
 */
function givenAway(moment) {
  const isForced = !moment || Object.keys(moment.means || {}).length === 1
    || Object.keys(moment.values || {}).length === 1;
  if (isForced || !moment.worlds) return {lost: "", better: []};
  const isBest = !moment.expected_loss || moment.better.includes(moment.card);
  return {lost: moment.expected_loss.toFixed(2), better: isBest ? [] : moment.better.slice(0, 2)};
}
