// The curve of a deal: the margin after every card, to look at, to press and to walk along.

import {cardText} from "hearts/cards.js";
import {draw, el} from "hearts/dom.js";
import {ruled, signed} from "hearts/figures.js";

const HEIGHT = 190;
const EDGE = {left: 40, right: 14, top: 22, bottom: 24};

/**
 * @typedef {Object} Curve
 * @property {(number|null)[]} values the margin after 0, 1, 2 … actions; null where unknown
 * @property {{at: number, card: string, mark: string, seat: number}[]} slips cards that lost points
 * @property {number[]} tricks after how many actions each trick begins
 * @property {string} label what is drawn, in words
 * @property {boolean} steps whether it goes from value to value in steps
 */

/**
 * The curve with a slider below it.
 * @param {Curve} curve
 * @param {(at: number) => void} go
 * @param {(at: number) => string} describe a place in words
 */
export function curveOf(curve, go, describe) {
  const box = el("div", {class: "curve-box"});
  const slider = el("input", {type: "range", min: 0, max: curve.values.length - 1, step: 1,
    value: 0, class: "curve-slider", "aria-label": "Card of the deal",
    on: {input: () => go(Number(slider.value))}});
  const figure = el("figure", {class: "curve"},
    el("figcaption", {text: curve.label}), box, slider);
  let at = 0;
  /** @type {{at: number, value: number}|null} */
  let branch = null;

  function redraw() {
    const width = Math.max(160, box.clientWidth || 640);
    box.replaceChildren(picture(curve, width, at, branch, go));
  }
  new ResizeObserver(redraw).observe(box);
  return {
    figure,
    /** @param {number} place @param {{at: number, value: number}|null} aside */
    show(place, aside) {
      [at, branch] = [place, aside];
      slider.value = String(place);
      slider.setAttribute("aria-valuetext", describe(place));
      redraw();
    },
  };
}

/**
 * @param {Curve} curve @param {number} width @param {number} at
 * @param {{at: number, value: number}|null} branch @param {(at: number) => void} go
 */
function picture(curve, width, at, branch, go) {
  const known = curve.values.filter((value) => value !== null);
  const values = branch ? [...known, branch.value] : known;
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const pad = Math.max(1, (high - low) * 0.12);
  const last = Math.max(1, curve.values.length - 1);
  /** @param {number} place */
  const x = (place) => EDGE.left + (place / last) * (width - EDGE.left - EDGE.right);
  /** @param {number} value */
  const y = (value) => EDGE.top
    + ((high + pad - value) / (high - low + 2 * pad)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const svg = draw("svg", {viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true",
    class: "curve-picture"});
  for (const value of ruled(low, high, 1)) {
    svg.append(draw("path", {d: `M${EDGE.left} ${y(value)}H${width - EDGE.right}`,
      class: value === 0 ? "zero" : "rule"}),
    draw("text", {x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end"}, signed(value)));
  }
  curve.tricks.forEach((place, index) => {
    svg.append(draw("path", {d: `M${x(place)} ${HEIGHT - EDGE.bottom}v4`, class: "rule"}));
    const middle = (place + (curve.tricks[index + 1] ?? last)) / 2;
    if (width / curve.tricks.length > 20 || index % 2 === 0) {
      svg.append(draw("text", {x: x(middle), y: HEIGHT - 7, "text-anchor": "middle"},
        String(index + 1)));
    }
  });
  svg.append(draw("path", {d: path(curve, x, y), class: "curve-line"}));
  if (branch) {
    svg.append(draw("path", {class: "branch",
      d: `M${x(branch.at - 1)} ${y(curve.values[branch.at - 1] ?? branch.value)}`
        + `L${x(branch.at)} ${y(branch.value)}H${x(last)}`}));
  }
  const fine = Boolean(branch) || curve.values[at] === null || curve.values[at] === undefined;
  svg.append(draw("path", {d: `M${x(at)} ${EDGE.top - 8}V${HEIGHT - EDGE.bottom}`, class: "here"}));
  if (!fine) {
    svg.append(draw("circle", {cx: x(at), cy: y(Number(curve.values[at])), r: 4.5, class: "dot"}));
  }
  for (const slip of curve.slips) svg.append(...slipSigns(slip, curve, x, y));
  svg.addEventListener("click", (event) => {
    const {left, width: wide} = svg.getBoundingClientRect();
    const place = ((event.clientX - left) * width / wide - EDGE.left)
      / (width - EDGE.left - EDGE.right) * last;
    go(Math.min(last, Math.max(0, Math.round(place))));
  });
  return svg;
}

/** @param {Curve} curve @param {(n: number) => number} x @param {(n: number) => number} y */
function path(curve, x, y) {
  let drawn = "";
  let before = 0;
  curve.values.forEach((value, place) => {
    if (value === null) return;
    if (!drawn) drawn = `M${x(place)} ${y(value)}`;
    else if (curve.steps) drawn += `H${x((before + place) / 2)}V${y(value)}H${x(place)}`;
    else drawn += `L${x(place)} ${y(value)}`;
    before = place;
  });
  return drawn;
}

/**
 * A sign where a card lost points: a circle for the seat below on the board, a square for others.
 * @param {{at: number, card: string, mark: string, seat: number}} slip
 * @param {Curve} curve @param {(n: number) => number} x @param {(n: number) => number} y
 */
function slipSigns(slip, curve, x, y) {
  const [middle, height] = [x(slip.at), y(Number(curve.values[slip.at]))];
  const sign = slip.seat === 0
    ? draw("circle", {cx: middle, cy: height, r: 5, class: "slip-own"})
    : draw("rect", {x: middle - 4.5, y: height - 4.5, width: 9, height: 9, class: "slip-other"});
  const text = draw("text", {x: middle, y: slip.seat === 0 ? height + 18 : height - 9,
    "text-anchor": "middle", class: "slip-text"}, `${cardText(slip.card)} ${slip.mark}`.trim());
  return [sign, text];
}
