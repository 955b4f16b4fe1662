// The dialogs of a table (scores, last trick, rules) and the result of a deal.

import {chip, chips} from "hearts/cards.js";
import {ask, button, el} from "hearts/dom.js";
import {counted, does, signed} from "hearts/figures.js";
import {lastLesson} from "hearts/guide.js";
import {boardAt} from "hearts/line.js";
import {noteDeal, noteLost} from "hearts/record.js";
import {asked} from "hearts/server.js";

/** @typedef {import("hearts/state.js").Table} Table */

/**
 * The scores deal by deal, and the totals.
 * @param {Table} table
 */
function sheet(table) {
  const names = table.seats.map((_, seat) => table.who(seat));
  const {totals} = table;
  const best = isChips(table) ? Math.max(...totals) : Math.min(...totals);
  const head = el("tr", {}, el("th", {scope: "col", text: "Deal"}),
    ...names.map((name) => el("th", {scope: "col", text: name})));
  const rows = table.sheet.map(({net}, deal) => el("tr", {},
    el("th", {scope: "row", text: String(deal + 1)}),
    ...net.map((score) => el("td", {class: "n", text: number(score)}))));
  const foot = el("tr", {}, el("th", {scope: "row", text: "Total"}),
    ...totals.map((total) => el("td", {class: total === best ? "n best" : "n"}, number(total),
      total === best && el("span", {class: "sign", text: " ✓", role: "img",
        "aria-label": ", ahead"}))));
  return el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Score sheet"},
    el("table", {}, el("thead", {}, head),
      el("tbody", {}, ...rows), el("tfoot", {}, foot)));
}

/** A figure with a real minus. @param {number} n */
function number(n) {
  return n.toFixed(Number.isInteger(n) ? 0 : 1).replace("-", "−");
}

/** @param {Table} table */
function isChips(table) {
  return table.rules.fields.settlement !== "points";
}

/** Shows the score sheet. @param {Table} table */
export function showSheet(table) {
  return ask({title: "Score sheet", body: [sheet(table)], buttons: [["", "Close"]], wide: true});
}

/** Shows the last whole trick. @param {Table} table */
export function showLast(table) {
  const rows = table.lastTrick.map(([seat, card]) =>
    el("li", {}, el("span", {text: table.who(seat)}), chips([card])));
  return ask({title: "Last trick", buttons: [["", "Close"]],
    body: [el("ol", {class: "last"}, ...rows)]});
}

/** Shows the rules in sentences. @param {Table} table */
export function showRules({rules}) {
  return ask({title: rules.title, buttons: [["", "Close"]], wide: true,
    body: rules.text.map((text) => el("p", {text}))});
}

/**
 * The panel after the last card: the result, all hands, and the next steps.
 * @param {Table} table
 * @param {() => void} next deals the next deal
 */
export function result(table, next) {
  const over = table.over;
  const scores = over.scores;
  const best = Math.min(...scores);
  const order = scores.map((_, seat) => seat)
    .sort((a, b) => scores[a] - scores[b] || a - b);
  const rows = order.map((seat) => el("tr",
    {class: scores[seat] === best ? "won" : ""},
    el("th", {scope: "row"}, table.who(seat), scores[seat] === best
      && el("span", {class: "sign", role: "img", "aria-label": ", lowest score", text: " ✓"})),
    el("td", {class: "n", data: {label: "score"}, text: number(scores[seat])}),
    !table.match && isChips(table) && el("td", {class: "n", data: {label: "chips"},
      text: number(over.net[seat])}),
    table.match && el("td", {class: "n", data: {label: "total"}, text: number(table.totals[seat])}),
    el("td", {class: "cards"}, chips(over.hands[seat]))));
  const first = lastLesson(table);
  const isNew = table.you !== null && noteDeal(table, marginOf(table));
  const main = table.you !== null && button(table.matchOver ? "Rematch" : "Next deal", next,
    {class: "main"});
  return el("section", {class: "result", "aria-labelledby": "verdict"},
    el("h2", {id: "verdict", tabindex: "-1", text: verdict(table)}),
    first && el("p", {text: first}),
    table.you !== null && lesson(over.deal, table.you, table.players, isNew),
    el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores and hands"},
      el("table", {}, el("thead", {}, el("tr", {}, el("th", {scope: "col", text: "Player"}),
        el("th", {scope: "col", class: "n", text: "Score"}),
        !table.match && isChips(table) && el("th", {scope: "col", class: "n", text: "Chips"}),
        table.match && el("th", {scope: "col", class: "n", text: "Total"}),
        el("th", {scope: "col", text: "Cards dealt"}))), el("tbody", {}, ...rows))),
    over.kitty.length > 0 && el("p", {}, "Not dealt: ", chips(over.kitty)),
    el("div", {class: "buttons"}, main,
      el("a", {class: "button", text: "Analyse", href: boardAt(over.deal, table.near)}),
      el("a", {class: "button", text: "Leave", href: "/"})));
}

/**
 * The costliest card of a seat, once the server has found it.
 * @param {string} deal @param {number} seat @param {number} players
 * @param {boolean} isNew for the record
 */
function lesson(deal, seat, players, isNew) {
  const line = el("p", {class: "lesson", role: "status", text: "Looking at your cards …"});
  asked("/api/costliest", {deal, seat}).then(({choices, card, lost}) => {
    if (isNew && choices) noteLost(lost);
    if (choices) line.replaceChildren(...costliest(card, deal, seat, players));
    else line.remove();
  }, () => line.remove());
  return line;
}

/**
 * The costliest card in a sentence, with a link to the board.
 * @param {any} card null if nothing was given away
 * @param {string} deal @param {number} seat @param {number} players
 * @returns {Array<Node|string>}
 */
function costliest(card, deal, seat, players) {
  if (!card) return ["You gave nothing away: no other card was clearly better."];
  const {at, trick, played, best, lost} = card;
  return ["Your costliest card: ", el("a", {href: boardAt(deal, seat, at)}, chip(played),
    ` in trick ${trick}`, el("span", {class: "unseen", text: ", on the board"})), ". With ",
  chip(best), ` you would have done better by ${number(lost)} on average, counted as ${players > 2
    ? "the others’ average" : "your opponent’s points"} less yours.`];
}

/** The others' mean score less your own. @param {Table} table */
function marginOf({over: {scores}, you}) {
  const others = scores.filter((_, seat) => seat !== you);
  return others.reduce((a, b) => a + b, 0) / others.length - scores[you];
}

/**
 * The result in a sentence, from the viewer's seat.
 * @param {Table} table
 */
function verdict(table) {
  const {scores} = table.over;
  const {you, matchOver} = table;
  if (matchOver) {
    const {winner} = matchOver;
    return winner === null ? "The match is a draw."
      : `${does(table.who(winner), "wins")} the match.`;
  }
  if (you === null) {
    const best = Math.min(...scores);
    const names = scores.map((score, seat) =>
      score === best ? table.who(seat) : "").filter(Boolean);
    return `Lowest score: ${names.join(", ")}.`;
  }
  const others = scores.filter((_, seat) => seat !== you);
  const margin = marginOf(table);
  const mean = margin + scores[you];
  const by = others.length === 1 ? `${table.who(you === 0 ? 1 : 0)} ${number(others[0])}`
    : `the others ${number(mean)} on average`;
  const word = margin > 0 ? "Well played" : margin < 0 ? "Not this time" : "Even";
  return `${word}: you ${counted(scores[you], "point")}, ${by} (${signed(margin,
    Number.isInteger(margin) ? 0 : 1)}).`;
}
