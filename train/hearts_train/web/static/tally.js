// A deal beside the board: its result, a summary in sentences, and a table of all cards.

import {OTHERS, chip} from "hearts/cards.js";
import {button, el} from "hearts/dom.js";

/**
 * The head of a deal: the scores, the costliest cards as links, and the summary folded.
 * @param {any} deal @param {number} bottom the seat that comes first
 * @param {(at: number) => void} go
 */
export function summaryOf({names, scores, rules, tags, summary, players}, bottom, go) {
  const order = names.map((_, i) => (bottom + i) % names.length);
  const heads = order.map((seat) => (scores ? `${names[seat]} ${scores[seat]}` : names[seat]));
  return el("header", {class: "summary"}, el("h2", {text: heads.join(" : ")}),
    el("p", {class: "verdict"}, ...players[bottom].verdict.map((part) => (typeof part === "string"
      ? part : button(part[1], () => go(part[0]), {class: "link"})))),
    el("details", {}, el("summary", {text: "All figures"}), el("p", {class: "about-deal",
      text: [rules.title, tags.Event, tags.Date].filter(Boolean).join(" · ")}),
    el("p", {text: summary.join(" ").replace(/-(?=\d)/g, "−")})));
}

/**
 * The meaning of the bars and of the figures on the cards.
 * @param {any} deal @param {string} name the seat of the bars
 * @param {boolean} canTry
 */
export function legend({exact, marks}, name, canTry) {
  const mark = (kind, text) => el("span", {class: `stamp ${kind}`, text});
  return el("p", {class: "legend"}, canTry && el("span", {},
    el("b", {text: "Tap another card"}), " that may be played to try it."),
  el("span", {}, el("b", {text: "The bars"}), `: ${name === "You" ? "your margin" : `the margin of ${name}`} after `
    + `each card, up if it wins${exact ? ", with all cards open and the best play from there" : ""}.`),
  el("span", {}, el("b", {text: "Under a card"}),
    ": the points by which its player wins the deal with it, on average over all hands that it "
    + `cannot see; then ${exact ? "the same with all cards open" : "± half its 95 % interval"}.`),
  mark("best", "✓ best"), mark("slip", `? ${marks.slip} or more worse`),
  mark("blunder", `?? ${marks.blunder} or more`), mark("played", "played"));
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
    const {given = "", instead = []} = moment || {};
    return el("tr", {class: isFirst ? "first" : ""},
      el("td", {class: "n", text: isFirst && trick ? String(trick) : ""}),
      el("td", {class: "player", text: deal.names[seat]}),
      el("td", {}, cardButton(action, moment, () => go(at))), el("td", {class: "n", text: given}),
      el("td", {class: "better"}, ...instead.map(chip)));
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
 * The margin after each card as bars, with the seat's mistakes marked. A click goes there.
 * @param {any} deal @param {number} bottom @param {number} count of the bars that fit
 * @param {(at: number) => void} go
 */
export function strip({names, players, steps, moments, rules}, bottom, count, go) {
  const {course, mistakes} = players[bottom];
  const marks = new Map(moments.map(({number, mark}) => [number, mark]));
  const margins = new Map(course);
  const bars = steps.map((_, at) => {
    const margin = margins.get(at);
    const bar = el("span", {class: margin === undefined ? "bar none" : margin < 0 ? "bar down" : "bar",
      data: {at}, on: {click: () => go(at)}}, el("i"),
    mistakes.includes(at) && el("b", {text: marks.get(at)}));
    bar.style.setProperty("--margin", String(margin ?? 0));
    return bar;
  });
  const element = el("div", {class: "strip", role: "img",
    "aria-label": `The margin of ${names[bottom]} after each card, mistakes marked`}, ...bars);
  element.style.setProperty("--most", String(rules.most));
  element.style.setProperty("--count", String(Math.max(count, steps.length)));
  return {
    element,
    /** @param {number} at */
    show(at) {
      for (const [place, bar] of bars.entries()) bar.classList.toggle("now", place === at);
    },
  };
}
