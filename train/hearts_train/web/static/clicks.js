// Tells the second click of a double-click from a wish of its own: once the first has changed
// something, the second falls on whatever has come under the pointer. A held key is the same.

const INTERVAL = 500; // milliseconds between the clicks of a double-click, as on most systems
const DISTANCE = 30; // pixels that a finger may be off by

/** @type {MouseEvent|null} */
let latest = null;
/** The last click that changed something, or was refused as its second. */
/** @type {MouseEvent|null} */
let acted = null;
let second = false;

addEventListener("click", (event) => {
  second = latest !== null && acted === latest && isClose(latest, event);
  latest = event;
}, {capture: true});

addEventListener("pointerdown", () => {
  second = false; // what follows may be no click, but a card dropped
}, {capture: true});
addEventListener("keydown", () => {
  second = false;
  latest = null;
}, {capture: true});

/** @param {MouseEvent} first @param {MouseEvent} event */
function isClose(first, event) {
  if (!event.detail) return false; // by the keyboard, or by a program
  return Math.hypot(event.clientX - first.clientX, event.clientY - first.clientY) <= DISTANCE
    && (event.detail > 1 || event.timeStamp - first.timeStamp < INTERVAL);
}

/** Notes that the latest click has changed something. */
export function changes() {
  acted = latest;
}

/**
 * Whether the latest click is the second of a double-click that has changed something already; a
 * third at once is another second.
 */
export function isSecond() {
  if (second) changes();
  return second;
}

/** Whether the latest click may change something; if so, notes that it does. */
export function begins() {
  const isFirst = !isSecond();
  changes();
  return isFirst;
}

/**
 * Whether a key that acts is being held: it acts once.
 * @param {KeyboardEvent} event
 */
export function isHeld(event) {
  return event.repeat && /^([0-9]|Enter)$/.test(event.key);
}
