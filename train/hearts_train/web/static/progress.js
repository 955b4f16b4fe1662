// How much one's own deals gave away, from the first to the last, and deals from files.

import {draw, el} from "hearts/dom.js";
import {ruled} from "hearts/figures.js";
import {judged, keep, ownDeals} from "hearts/own.js";

const MEAN = 10; // deals
const [WIDTH, HEIGHT] = [460, 190];
const EDGE = {left: 40, right: 14, top: 14, bottom: 36};

/**
 * Shows how one's deals went; those that the server has not seen yet are looked at first.
 * @param {HTMLElement} place
 * @param {() => void} again called when deals have been added
 */
export async function showHistory(place, again) {
  const waiting = ownDeals().filter(({cards}) => !cards);
  const line = el("p", {class: "note", role: "status"});
  place.replaceChildren(el("h2", {text: "How your deals go"}), line);
  for (const [done, {deal, seat}] of waiting.entries()) {
    line.textContent = `Looking at deal ${done + 1} of ${waiting.length} …`;
    try {
      await judged(deal, seat);
    } catch (error) {
      line.textContent = `${waiting.length - done} deals were not looked at: ${error.message}.`;
      break;
    }
    if (!place.isConnected) return;
  }
  const lost = ownDeals().filter(({cards}) => cards).map((own) => own.lost);
  if (lost.length) line.textContent = inWords(lost);
  place.append(...(lost.length > 1 ? [chart(lost)] : []), entry(again));
}

/** @param {number[]} lost */
function inWords(lost) {
  const told = `${lost.length} ${lost.length === 1 ? "deal" : "deals"}: you gave away `
    + `${mean(lost).toFixed(1)} points a deal`;
  return lost.length > MEAN ? `${told}, ${mean(lost.slice(-MEAN)).toFixed(1)} in the last ${MEAN}.`
    : `${told}.`;
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Each deal as a dot, and the mean of the last ones as a line. @param {number[]} lost */
function chart(lost) {
  const means = lost.map((_, i) => mean(lost.slice(Math.max(0, i + 1 - MEAN), i + 1)));
  const high = Math.max(1, ...lost);
  /** @param {number} deal from 1 */
  const x = (deal) => EDGE.left
    + ((deal - 1) / (lost.length - 1)) * (WIDTH - EDGE.left - EDGE.right);
  /** @param {number} value */
  const y = (value) => HEIGHT - EDGE.bottom - (value / high) * (HEIGHT - EDGE.top - EDGE.bottom);
  const told = `Points given away in each deal, and the mean of the last ${MEAN} deals`;
  return el("figure", {class: "curve progress-chart"}, el("figcaption", {text: told}),
    draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve-picture", role: "img",
      "aria-label": `${told}: ${means[means.length - 1].toFixed(1)} at the end`},
    ...ruled(0, high).flatMap((value) => [
      draw("path", {d: `M${EDGE.left} ${y(value)}H${WIDTH - EDGE.right}`,
        class: value ? "rule" : "zero"}),
      draw("text", {x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end"}, String(value))]),
    ...ruled(1, lost.length, 1).map((deal) =>
      draw("text", {x: x(deal), y: HEIGHT - 20, "text-anchor": "middle"}, String(deal))),
    draw("text", {x: WIDTH / 2, y: HEIGHT - 4, "text-anchor": "middle"}, "deals"),
    ...lost.map((value, i) => draw("circle", {cx: x(i + 1), cy: y(value), r: 4, class: "dot"})),
    draw("path", {d: `M${means.map((value, i) => `${x(i + 1)} ${y(value)}`).join("L")}`,
      class: "curve-line"})));
}

/** A field for deals that were played elsewhere. @param {() => void} again */
function entry(again) {
  const told = el("p", {class: "note", role: "status"});
  const file = el("input", {type: "file", multiple: true, accept: ".txt,text/plain", on: {
    change: async () => {
      const texts = await Promise.all([...file.files].map((one) => one.text()));
      const deals = texts.flatMap((text) => text.split(/^(?=\[Rules )/m)).flatMap((text) => {
        const seat = text.match(/^\[Player (\d+) "You"\]/m);
        return seat ? [{deal: text.trim(), seat: Number(seat[1])}] : [];
      });
      const known = new Set(ownDeals().map(({deal}) => deal));
      for (const own of deals) if (!known.has(own.deal)) keep(own);
      if (deals.length) again();
      else told.textContent = "These files have no deal of a player called You.";
    }}});
  return el("details", {class: "panel"}, el("summary", {},
    el("h3", {text: "Add deals that you played at the terminal"})),
  el("label", {class: "field"}, el("span", {text: "Files that “hearts play” wrote"}), file), told);
}
