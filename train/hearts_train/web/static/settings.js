// The settings of a person on this device, saved in the browser. Each change is an event `setting`.

import {load, save} from "hearts/dom.js";

const KEY = "hearts.settings";

/** @type {Record<string, string>} */
const DEFAULTS = {
  guide: "on", // on | off: sentences for a first deal
  pace: "calm", // calm | quick | none: how long a finished trick stays
  sound: "on", // on | off: a quiet tone for each card and trick
  tap: matchMedia("(pointer: fine)").matches ? "one" : "two", // taps that play a card
  name: "",
  strength: "easy", // the agent of "Play now"
};

/** @type {Record<string, string>} */
let values = {...DEFAULTS, ...Object.fromEntries(Object.entries(load(KEY) || {}).filter(
  ([key, value]) => key in DEFAULTS && typeof value === "string"))};

/** @param {string} key */
export function setting(key) {
  return values[key];
}

/**
 * Changes and saves a setting.
 * @param {string} key
 * @param {string} value
 */
export function choose(key, value) {
  values = {...values, [key]: value};
  save(KEY, values);
  dispatchEvent(new Event("setting"));
}

/** The time that a finished trick stays and the time between two cards, in milliseconds. */
export function pauses() {
  return {calm: [1100, 350], quick: [500, 120], none: [0, 0]}[values.pace] || [1100, 350];
}
