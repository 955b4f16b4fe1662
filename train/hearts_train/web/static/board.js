// The page of the analysis board: a deal from the address, from a text, or inside an offline file.

import {button, el, picker} from "hearts/dom.js";
import {boardAt, fromFragment} from "hearts/line.js";
import {mount as review} from "hearts/review.js";
import {asked} from "hearts/server.js";

/** @typedef {{documents?: any[], title?: (text: string) => void}} Context `documents` are the deals
 *  of an offline file */

/** standard against pro, seed 3: a deal with blunders in it. */
const EXAMPLE = `[Rules "two_player"]
[Player 0 "standard"]
[Player 1 "pro"]
[Deal "0"]
[Dealer "0"]
[Hand 0 "2C QC AC 4D TD AD 4S 6S 8S TS AS 6H TH"]
[Hand 1 "4C 6C 8C TC 2D 6D QD 2S QS 2H 4H 8H AH"]
[Kitty "8D QH"]
[Scores "4 15"]

1. 0: 2C 4C
2. 1: 6D AD
3. 0: 4D QD
4. 1: 2D TD
5. 0: 4S 2S
6. 0: 6S QS
7. 1: 6C AC
8. 0: 8S 8C
9. 0: 6H 2H
10. 0: TH 4H
11. 0: TS TC
12. 0: QC AH
13. 1: 8H AS
`;

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
  return online(board);
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
    root.append(picker("Deal", documents.map((deal, i) => [String(i), titleOf(deal, i)]), "0",
      (value) => show(Number(value))));
  }
  root.append(place);
  show(0);
  return () => end();
}

/** @param {any} deal @param {number} i */
function titleOf(deal, i) {
  const scores = deal.scores ? `: ${deal.names.map((name, seat) =>
    `${name} ${deal.scores[seat]}`).join(", ")}` : "";
  return `${i + 1} of ${deal.rules.title}${scores}`;
}

/** A deal that the server looks at. @param {HTMLElement} root */
function online(root) {
  let end = () => {};
  const show = async (text, at = 0, seat = undefined) => {
    end();
    const left = new AbortController();
    end = () => left.abort(); // the server then stops its work
    root.replaceChildren(el("p", {class: "waiting", role: "status",
      text: "Looking at the deal …"}));
    try {
      const document = await asked("/api/review", {deal: text}, left.signal);
      const place = el("div");
      root.replaceChildren(el("h1", {class: "unseen", text: "Analysis board"}), place, el("p", {}, button("Another deal", () => {
        history.replaceState(null, "", location.pathname);
        end();
        form("");
      })));
      end = review(place, {document, at, seat, link: linkTo});
      history.replaceState(null, "", boardAt(text, at, seat));
    } catch (error) {
      if (left.signal.aborted) return;
      form(text, String(error.message || error));
    }
  };
  const form = (text, wrong = "") => {
    root.replaceChildren(entry(text, wrong, (given) => show(given)));
  };
  const follow = () => {
    const {text, at, seat} = addressed();
    if (text === null) form("", location.hash.startsWith("#deal=")
      ? "The address does not hold a deal; it may have been cut off." : "");
    else show(text, at, seat);
  };
  window.addEventListener("hashchange", follow);
  follow();
  return () => {
    window.removeEventListener("hashchange", follow);
    end();
  };
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
    el("p", {text: "See the worth of every card of a deal. Paste the text of a deal, as the board "
      + "copies it or “hearts play --save” writes it."}),
    wrong && el("p", {class: "wrong", id: "deal-wrong", role: "alert", text: wrong}),
    el("label", {class: "field"}, el("span", {text: "The text of the deal"}), box),
    el("p", {}, button("Look at it", () => use(box.value), {class: "main"}), " ",
      button("Show an example", () => use(EXAMPLE))));
}

/** The deal, the card and the seat of the address. */
function addressed() {
  const given = new URLSearchParams(location.hash.slice(1));
  const coded = given.get("deal");
  return {text: coded ? fromFragment(coded) : null, at: Number(given.get("at")) || 0,
    seat: given.has("seat") ? Number(given.get("seat")) || 0 : undefined};
}

/** @param {any} deal @param {number} at @param {number} seat */
function linkTo(deal, at, seat) {
  return location.origin + boardAt(deal.deal, at, seat);
}
