// The settings of a person on this device, saved in the browser and applied to the page's style.

import {load, save} from "hearts/dom.js";

const KEY = "hearts.settings";

/** @type {Record<string, string>} */
const DEFAULTS = {
  deck: "two", // two | four colours
  guide: "on", // on | off: sentences for a first deal
  pace: "calm", // calm | quick | none: how long a finished trick stays
  motion: "auto", // auto | off
  tap: "two", // two | one taps play a card
  name: "",
};

/** @type {Record<string, string>} */
let values = {...DEFAULTS, ...Object.fromEntries(Object.entries(load(KEY) || {}).filter(
  ([key, value]) => key in DEFAULTS && typeof value === "string"))};
/** @type {Set<(key: string) => void>} */
const listeners = new Set();

/** @param {string} key */
export function setting(key) {
  return values[key];
}

/**
 * Changes a setting, saves it and calls the listeners.
 * @param {string} key
 * @param {string} value
 */
export function choose(key, value) {
  values = {...values, [key]: value};
  save(KEY, values);
  apply();
  for (const listener of [...listeners]) listener(key);
}

/**
 * Calls `listener` at each change.
 * @param {(key: string) => void} listener
 * @returns {() => void} ends it
 */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Sets `data-deck` and `data-motion` on the root for the style sheet. */
export function apply() {
  const data = document.documentElement.dataset;
  for (const key of ["deck", "motion"]) data[key] = values[key];
}

/** Whether things may move, by the settings of the page and the system. */
export function moves() {
  return values.motion !== "off" && !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** The time that a finished trick stays and the time between two cards, in milliseconds. */
export function pauses() {
  return {calm: [1100, 350], quick: [500, 120], none: [0, 0]}[values.pace] || [1100, 350];
}
