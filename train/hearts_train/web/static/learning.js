// Learning curves as pictures: lines with bands, with colour, dashes and marks.

import {draw, el} from "hearts/dom.js";
import {ruled, signed} from "hearts/figures.js";

const [WIDTH, HEIGHT] = [460, 300];
const EDGE = {left: 52, right: 12, top: 14, bottom: 42};
const STYLES = 8;
const MARKS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M-3.5-3.5h7v7h-7z", "M0-4.5L4.2 3.5h-8.4z",
  "M0-4.8L4.8 0L0 4.8L-4.8 0z", "M0 4.5L4.2-3.5h-8.4z", "M-4-1.3h2.7V-4h2.6v2.7H4v2.6H1.3V4h-2.6V1.3H-4z",
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M-3.5-3.5h7v7h-7z",
];

/**
 * @typedef {{label: string, runs: number, x: number[], mean: number[], low: number[],
 *   high: number[]}} Curve
 */

/**
 * What each colour stands for.
 * @param {string[]} labels
 * @param {Record<string, string[]>} groups the runs of each curve
 */
export function legend(labels, groups) {
  return el("ul", {class: "run-legend"}, ...labels.map((label, i) => el("li", {title:
    groups[label].join(", ")},
  draw("svg", {viewBox: "-16 -8 32 16", width: 32, height: 16, "aria-hidden": "true",
    class: `curve-${i % STYLES}`},
  draw("path", {d: "M-16 0H16", class: "line"}), draw("path", {d: MARKS[i % STYLES],
    class: "mark"})),
  el("span", {text: groups[label].length > 1 ? `${label} (${groups[label].length} runs, ± sd)`
    : label}))));
}

/**
 * A panel: one quantity against decisions or minutes.
 * @param {{quantity: string, label: string, curves: Curve[]}} drawn
 * @param {string} xLabel
 * @param {string[]} labels of all curves, for their colours
 */
export function panel({quantity, label, curves}, xLabel, labels) {
  const said = curves.map((curve) => `${curve.label}: ${(curve.mean.at(-1) ?? 0).toFixed(2)} after `
    + `${(curve.x.at(-1) ?? 0).toFixed(1)}`).join("; ");
  const isLog = quantity === "exploitability" && curves.every(({mean}) => mean.every((v) => v > 0));
  return el("figure", {class: "run-panel"},
    picture(curves, xLabel, label, labels, isLog, said, isLog || quantity === "lost"),
    el("figcaption", {text: label}));
}

/**
 * @param {Curve[]} curves @param {string} xLabel @param {string} label @param {string[]} labels
 * @param {boolean} isLog @param {string} said @param {boolean} isPlain figures without a plus sign
 */
function picture(curves, xLabel, label, labels, isLog, said, isPlain) {
  const all = curves.flatMap(({low, high, mean}) => (isLog ? mean : [...low, ...high]));
  const last = Math.max(1e-9, ...curves.flatMap(({x}) => x));
  const scale = isLog ? Math.log10 : (value) => value;
  let [low, high] = [scale(Math.min(...all)), scale(Math.max(...all))];
  const pad = (high - low || 1) * 0.06;
  [low, high] = [low - pad, high + pad];
  const x = (value) => EDGE.left
    + (value / last) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value) => EDGE.top
    + ((high - Math.max(low, scale(value))) / (high - low)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const svg = draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": `${label}, against ${xLabel}. ${said}`});
  for (const value of isLog ? decades(low, high) : ruled(low, high)) {
    svg.append(draw("path", {d: `M${EDGE.left} ${y(value)}H${WIDTH - EDGE.right}`,
      class: value === 0 ? "zero" : "rule"}),
    draw("text", {x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end"}, labelled(value, isPlain)));
  }
  for (const value of ruled(0, last)) {
    svg.append(draw("path", {d: `M${x(value)} ${HEIGHT - EDGE.bottom}v5`, class: "tick"}),
      draw("text", {x: x(value), y: HEIGHT - EDGE.bottom + 18, "text-anchor": "middle"},
        labelled(value, true)));
  }
  svg.append(draw("path", {d: `M${EDGE.left} ${HEIGHT - EDGE.bottom}H${WIDTH - EDGE.right}`,
    class: "tick"}), draw("text", {x: (EDGE.left + WIDTH - EDGE.right) / 2, y: HEIGHT - 6,
    "text-anchor": "middle"}, xLabel));
  for (const curve of curves) svg.append(line(curve, labels.indexOf(curve.label) % STYLES, x, y));
  return svg;
}

/**
 * @param {Curve} curve @param {number} style @param {(n: number) => number} x
 * @param {(n: number) => number} y
 */
function line(curve, style, x, y) {
  const at = (values) => values.map((value, i) =>
    `${x(curve.x[i]).toFixed(1)} ${y(value).toFixed(1)}`);
  const every = Math.max(1, Math.ceil(curve.x.length / 10));
  return draw("g", {class: `curve-${style}`},
    draw("title", {}, `${curve.label}: ${signed(curve.mean.at(-1) ?? 0, 3)} at the end`),
    draw("path", {d: `M${[...at(curve.high), ...at(curve.low).reverse()].join("L")}Z`,
      class: "band"}),
    draw("path", {d: `M${at(curve.mean).join("L")}`, class: "line"}),
    ...curve.x.flatMap((value, i) => (i % every && i !== curve.x.length - 1 ? []
      : [draw("path", {d: MARKS[style], class: "mark",
        transform: `translate(${x(value).toFixed(1)} ${y(curve.mean[i]).toFixed(1)})`})])));
}

/** Round values of a logarithmic scale. @param {number} low @param {number} high of logarithms */
function decades(low, high) {
  const found = [];
  for (let power = Math.floor(low); power <= high; power += 1) {
    for (const n of [1, 2, 5]) {
      const value = n * 10 ** power;
      if (Math.log10(value) >= low && Math.log10(value) <= high) found.push(value);
    }
  }
  return found;
}

/** @param {number} value @param {boolean} isPlain */
function labelled(value, isPlain) {
  const text = Number(value.toPrecision(6));
  return isPlain ? String(text) : signed(text, Math.abs(text % 1) > 1e-9 ? Math.max(1,
    (String(text).split(".")[1] || "").length) : 0);
}
