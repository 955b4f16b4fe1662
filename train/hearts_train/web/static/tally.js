// The summary of a deal: its result, what each player gave away, and all its cards as a table.

import {chip} from "hearts/cards.js";
import {button, el} from "hearts/dom.js";
import {capital, percent, plain, possessive, signed} from "hearts/figures.js";
import {BLUNDER, SLIP} from "hearts/line.js";

const FIGURES = new Set(["Trick", "Margin", "Given away", "Cards open"]);
const OTHERS = {"moon:off": "points off", "moon:others": "others pay", revoke: "revoke"};

/**
 * The head of a deal.
 * @param {any} deal @param {number} bottom the seat whose figures come first
 * @param {(line: any[], note: string) => void} enter shows another line from the first card on
 */
export function summaryOf(deal, bottom, enter) {
  const order = deal.names.map((_, i) => (bottom + i) % deal.names.length);
  const scores = deal.scores
    ? order.map((seat) => `${deal.names[seat]} ${deal.scores[seat]}`)
    : deal.names;
  const about = [deal.rules.title, deal.tags.Event, deal.tags.Date].filter(Boolean).join(" · ");
  return el("header", {class: "summary"},
    el("h2", {}, scores.join(" : ")), el("p", {class: "about-deal", text: about}),
    el("div", {class: "sums"}, deal.exact && deal.scores && equation(deal, order),
      tally(deal, order, enter)));
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
  const {players, luck, scores, names} = deal;
  const result = scores[other] - scores[own];
  /** @param {string} kind @param {string} figure @param {string} words */
  const term = (kind, figure, words) => el("li", {class: kind}, el("b", {text: figure}),
    el("span", {text: words}));
  return el("ul", {class: "equation", "aria-label": "How the margin came about"},
    term("term", signed(luck.dealt[own]), "the cards, played best by both"),
    term("term", signed(-players[own].lost), `${names[own]} gave away, cards open`),
    term("term", signed(players[other].lost), `${names[other]} gave away, cards open`),
    term("term sum-result", signed(result), capital(`${possessive(names[own])} margin`)));
}

/**
 * @param {any} deal @param {number[]} order
 * @param {(line: any[], note: string) => void} enter
 */
function tally(deal, order, enter) {
  const exact = deal.exact;
  const heads = ["Player", deal.scores && "Points", exact && "Cards open", "Given away",
    "Well chosen", exact && "Luck", hasChampion(deal) && "Champion"].filter(Boolean);
  const rows = order.map((seat) => {
    const player = deal.players[seat];
    const champion = player.champion;
    const again = champion ? button(String(champion.points), () =>
      enter(champion.steps, `The same deal with ${champion.agent} in ${possessive(player.name)} `
        + `seat against ${champion.others.join(", ")}: ${champion.points} points.`),
    {class: "watch", "aria-label": `${champion.points} points; show how`}) : "–";
    const cells = [deal.scores && String(deal.scores[seat]), exact && String(player.lost),
      plain(player.expected_loss, 2), percent(player.well_chosen),
      exact && signed(deal.luck.hand[seat], 1), hasChampion(deal) && again].filter(Boolean);
    return el("tr", {}, el("th", {scope: "row", text: player.name}), ...cells.map((cell, i) =>
      el("td", {class: "n", data: {label: heads[i + 1]}}, cell)));
  });
  return el("div", {class: "scrolls", tabindex: "0", role: "group", "aria-label": "The players"},
    el("table", {class: "tally"},
    el("caption", {class: "unseen", text: "The players"}),
    el("thead", {}, el("tr", {}, ...heads.map((text, i) =>
      el("th", {scope: "col", class: i ? "n" : null, text})))),
    el("tbody", {}, ...rows)));
}

/** The first replay by the champion, if there is one. @param {any} deal */
function hasChampion(deal) {
  return deal.players.map((player) => player.champion).find(Boolean);
}

/** @param {any} deal */
function explained(deal) {
  const {exact} = deal;
  const champion = hasChampion(deal);
  /** @type {(string|false|null)[][]} */
  const words = [
    [exact && "Cards open", "Points that the player gave away, seen with all cards open."],
    ["Given away", "Points that the player gave away by what it could know: on average over "
      + `${exact ? "all" : "a sample of the"} hands that it could not see.`],
    ["Well chosen", "100 %: always the best card by what the player could know. 0 %: always the "
      + "worst. Each choice counts by the gap between its best and its worst card."],
    [exact && "Luck", "The points by which the hand as dealt wins, on average over all hands that "
      + "the other player could have, if both play as well as possible with all cards open."],
    [champion && "Champion", champion && `The points of ${champion.agent}, the strongest quick `
      + "player of the package, with the same cards. Press the number to see how."],
  ];
  return el("details", {class: "panel"}, el("summary", {}, el("h3", {text: "What the figures mean"})),
    el("dl", {}, ...words.filter(([name]) => name).flatMap(([name, text]) =>
      [el("dt", {text: name}), el("dd", {text})])));
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
