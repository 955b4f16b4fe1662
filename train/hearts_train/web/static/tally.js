// The summary of a deal: its result, what each player gave away, and all its cards as a table.

import {chip} from "hearts/cards.js";
import {button, el} from "hearts/dom.js";
import {capital, plain, possessive, signed} from "hearts/figures.js";
import {BLUNDER, SLIP} from "hearts/line.js";

const FIGURES = new Set(["Trick", "Margin", "Given away", "Cards open"]);
const OTHERS = {"moon:off": "points off", "moon:others": "others pay", revoke: "revoke"};

/**
 * The head of a deal.
 * @param {any} deal @param {number} bottom the seat whose figures come first
 */
export function summaryOf(deal, bottom) {
  const order = deal.names.map((_, i) => (bottom + i) % deal.names.length);
  const scores = deal.scores
    ? order.map((seat) => `${deal.names[seat]} ${deal.scores[seat]}`)
    : deal.names;
  const about = [deal.rules.title, deal.tags.Event, deal.tags.Date].filter(Boolean).join(" · ");
  return el("header", {class: "summary"},
    el("h2", {}, scores.join(" : ")), el("p", {class: "about-deal", text: about}),
    el("div", {class: "sums"}, deal.exact && deal.scores && equation(deal, order),
      tally(deal, order)));
}

/** The sentences about a deal, and what the figures mean. @param {any} deal */
export function inWords(deal) {
  return el("section", {class: "in-words", "aria-label": "In words"},
    el("details", {class: "panel", open: true}, el("summary", {}, el("h3", {text: "In words"})),
      ...deal.summary.map((line) => el("p", {text: line.replace(/-(?=\d)/g, "−")}))),
    explained(deal));
}

/** Result = cards - own losses + the other's. @param {any} deal @param {number[]} order */
function equation(deal, [own, other]) {
  const {players, before, scores, names} = deal;
  const result = scores[other] - scores[own];
  /** @param {string} kind @param {string} figure @param {string} words */
  const term = (kind, figure, words) => el("li", {class: kind}, el("b", {text: figure}),
    el("span", {text: words}));
  return el("ul", {class: "equation", "aria-label": "How the margin came about"},
    term("term", signed(own === 0 ? before : -before), "the cards, played best by both"),
    term("term", signed(-players[own].lost), `${names[own]} gave away, cards open`),
    term("term", signed(players[other].lost), `${names[other]} gave away, cards open`),
    term("term sum-result", signed(result), capital(`${possessive(names[own])} margin`)));
}

/** @param {any} deal @param {number[]} order */
function tally(deal, order) {
  const {exact, scores, players} = deal;
  const heads = ["Player", scores && "Points", exact && "Cards open", "Given away"].filter(Boolean);
  const rows = order.map((seat) => {
    const {name, lost, expected_loss: given} = players[seat];
    const cells = [scores && String(scores[seat]), exact && String(lost), plain(given, 2)];
    return el("tr", {}, el("th", {scope: "row", text: name}), ...cells.filter(Boolean).map(
      (text, i) => el("td", {class: "n", data: {label: heads[i + 1]}, text})));
  });
  return el("div", {class: "scrolls", tabindex: "0", role: "group", "aria-label": "The players"},
    el("table", {class: "tally"}, el("caption", {class: "unseen", text: "The players"}),
      el("thead", {}, el("tr", {}, ...heads.map((text, i) =>
        el("th", {scope: "col", class: i ? "n" : null, text})))),
      el("tbody", {}, ...rows)));
}

/** @param {any} deal */
function explained({exact}) {
  const words = [
    exact && ["Cards open", "Points that the player gave away, seen with all cards open."],
    ["Given away", "Points that the player gave away by what it could know: on average over "
      + `${exact ? "all" : "a sample of the"} hands that it could not see.`],
  ].filter(Boolean);
  return el("details", {class: "panel"}, el("summary", {}, el("h3", {text: "What the figures mean"})),
    el("dl", {}, ...words.flatMap(([name, text]) => [el("dt", {text: name}), el("dd", {text})])));
}

/** The meaning of the figures on the cards. @param {any} deal */
export function legend(deal) {
  return el("p", {class: "legend"}, el("span", {}, el("b", {text: "Under a card"}),
    ": the points by which its player wins the deal with it, on average over all hands that it cannot see; ",
    deal.exact ? "then the same with all cards open." : "then how far that estimate may be off."),
  el("span", {class: "stamp best", text: "✓ best"}),
  el("span", {class: "stamp slip", text: `? ${SLIP} or more worse`}),
  el("span", {class: "stamp blunder", text: `?? ${BLUNDER} or more`}),
  el("span", {class: "stamp played", text: "played"}));
}

/**
 * All cards of a deal; the place on the board is marked.
 * @param {any} deal @param {(at: number) => void} go
 */
export function cardList(deal, go) {
  const {exact} = deal;
  const moments = new Map(deal.moments.map((m) => [m.number, m]));
  /** @type {HTMLTableRowElement[]} */
  const rows = [];
  let before = 0;
  const bodies = deal.steps.map(([seat, action], at) => {
    const moment = moments.get(at);
    const trick = moment ? moment.trick : 0;
    const isFirst = trick !== before;
    before = trick;
    const cells = [el("td", {class: "n", text: isFirst && trick ? String(trick) : ""}),
      el("td", {class: "player", text: deal.names[seat]}), el("td", {}, cardButton(action, moment, () => go(at)))];
    if (exact) cells.push(el("td", {class: "n", text: moment ? signed(moment.after) : ""}));
    cells.push(...losses(moment, exact));
    const row = el("tr", {class: isFirst ? "first" : ""}, ...cells);
    rows.push(row);
    return row;
  });
  const heads = ["Trick", "Player", "Card", exact && "Margin",
    exact && "Cards open", "Given away", "Better"].filter(Boolean);
  const element = el("section", {class: "list", "aria-label": "Card by card"},
    el("table", {class: "card-table"}, el("caption", {}, "Card by card",
      exact && el("span", {class: "note", text: `; margins are ${possessive(deal.names[0])}${deal.names[0] === "You" ? "s" : ""}`})),
      el("thead", {}, el("tr", {}, ...heads.map((text) =>
        el("th", {scope: "col", class: FIGURES.has(String(text)) ? "n" : null, text})))),
      el("tbody", {}, ...bodies)));
  return {
    element,
    /** @param {number} at */
    show(at) {
      for (const [place, row] of rows.entries()) {
        row.classList.toggle("now", place === at);
        const pressed = row.querySelector("button");
        if (pressed) pressed.setAttribute("aria-current", place === at ? "step" : "false");
      }
      const row = rows[at];
      if (!row || element.scrollHeight <= element.clientHeight) return;
      const top = row.offsetTop - element.clientHeight / 2;
      element.scrollTo({top, behavior: "auto"});
    },
  };
}

/** @param {string} action @param {any} moment @param {() => void} press */
function cardButton(action, moment, press) {
  const made = button("", press, {class: "go"});
  made.append(OTHERS[action] || chip(action));
  if (moment && moment.mark) {
    made.append(el("span", {class: `stamp ${moment.mark === "??" ? "blunder" : "slip"}`,
      text: moment.mark}));
  }
  return made;
}

/** @param {any} moment @param {boolean} exact */
function losses(moment, exact) {
  const forced = !moment || Object.keys(moment.means || {}).length === 1
    || Object.keys(moment.values || {}).length === 1;
  const isBest = forced || moment.better.includes(moment.card)
    || !(exact || moment.expected_loss);
  const better = isBest ? [] : moment.better.slice(0, 2);
  const cells = [el("td", {class: "n",
    text: forced || !moment.worlds ? "" : moment.expected_loss.toFixed(2)}),
  el("td", {class: "better"}, ...better.map((card) => chip(card)))];
  if (exact) {
    cells.unshift(el("td", {class: "n", text: forced ? "" : moment.lost ? String(moment.lost) : "–"}));
  }
  return cells;
}
