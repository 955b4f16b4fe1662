// The page of the analysis board: a deal from the address, from a text, or inside an offline file.

import {begins} from "hearts/clicks.js";
import {button, el, notice, picker} from "hearts/dom.js";
import {boardAt, playersOf} from "hearts/line.js";
import {mount as review} from "hearts/review.js";
import {asked} from "hearts/server.js";
import {setting} from "hearts/settings.js";

/** @typedef {{documents?: any[], title?: (text: string) => void, connection?: any,
 *  go?: (path: string) => void}} Context `documents` are the deals of an offline file */

/**
 * @param {HTMLElement} root
 * @param {Context} [context]
 * @returns {() => void} ends it
 */
export function mount(root, context = {}) {
  context.title?.("Analysis board");
  const board = el("div", {class: "board-page"});
  root.replaceChildren(board);
  if (context.documents) return many(board, context.documents);
  return online(board, context);
}

/** Deals that are here already. @param {HTMLElement} root @param {any[]} documents */
function many(root, documents) {
  const place = el("div");
  let end = () => {};
  const show = (number) => {
    end();
    end = review(place, {document: documents[number]});
  };
  if (documents.length > 1) {
    root.append(picker("Deal", documents.map((deal, i) => [String(i), `${i + 1}: ${playersOf(deal)}`]),
      "0", (value) => show(Number(value))));
  }
  root.append(place);
  show(0);
  return () => end();
}

/** A deal that the server looks at. @param {HTMLElement} root @param {Context} context */
function online(root, context) {
  let end = () => {};
  const show = async (text, at, seat) => {
    end();
    const left = new AbortController();
    end = () => left.abort(); // the server then stops its work
    root.replaceChildren(el("p", {class: "waiting", role: "status",
      text: "Looking at the deal …"}));
    try {
      const document = await asked("/api/review", {deal: text}, left.signal);
      const place = el("div");
      root.replaceChildren(el("h1", {class: "unseen", text: "Analysis board"}), place,
        el("p", {}, button("Another deal", () => {
          history.replaceState(null, "", location.pathname);
          end();
          form("");
        })));
      end = review(place, {document, at, seat,
        tried: (deal, at, card) => asked("/api/try", {deal, at, card}, left.signal)
          .catch((error) => {
            if (!left.signal.aborted) notice(error.message, {bad: true});
          }),
        playOn: (deal, at, seat) => playOn(context, deal, at, seat),
        moved: (to) => history.replaceState(null, "", boardAt(text, seat, to))});
    } catch (error) {
      if (left.signal.aborted) return;
      form(text, String(error.message || error));
    }
  };
  const form = (text, wrong = "") => {
    root.replaceChildren(entry(text, wrong, (given) => show(given, undefined, "")));
  };
  const follow = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    const deal = given.get("deal");
    const at = given.get("at");
    if (deal) show(deal, at === null ? undefined : Number(at) || 0, given.get("seat") || "");
    else form("");
  };
  window.addEventListener("hashchange", follow);
  follow();
  return () => {
    window.removeEventListener("hashchange", follow);
    end();
  };
}

/**
 * Opens a table that continues a deal against the same agents.
 * @param {Context} context @param {any} deal @param {number} at @param {number} bottom
 */
async function playOn({connection, go}, deal, at, bottom) {
  if (!begins()) return;
  try {
    const {agents} = await connection.greet();
    const fits = ({name, games}) => name === setting("strength") && games.includes(deal.rules.name);
    const other = agents.some(fits) ? setting("strength") : "pro"; // for a person, in any game
    const known = (name) => (agents.some((agent) => agent.name === name) ? name : other);
    const seats = deal.names.map((name, seat) => (seat === bottom ? {me: true}
      : {agent: known(name)}));
    const {table} = await connection.request({type: "create", rules: deal.rules.name, seats,
      name: setting("name"), deal: deal.deal, at});
    go(`/t/${table}`);
  } catch (error) {
    notice(error.message, {bad: true});
  }
}

/**
 * A form for the text of a deal.
 * @param {string} text @param {string} wrong the reason why it was refused
 * @param {(text: string) => void} use
 */
function entry(text, wrong, use) {
  const box = el("textarea", {id: "deal-text", rows: 12, spellcheck: "false",
    "aria-describedby": wrong ? "deal-wrong" : null});
  box.value = text;
  return el("section", {class: "entry"}, el("h1", {text: "Analysis board"}),
    el("p", {text: "See the worth of every card of a deal. Play one and press “Analyse”, or paste "
      + "the text of a deal, as the board or “hearts play --save” saves it."}),
    wrong && el("p", {class: "wrong", id: "deal-wrong", role: "alert", text: wrong}),
    el("label", {class: "field"}, el("span", {text: "The text of the deal"}), box),
    el("p", {}, button("Look at it", () => use(box.value), {class: "main"})));
}
