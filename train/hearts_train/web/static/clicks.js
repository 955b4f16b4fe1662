// Recognises the second click of a double-click. Once the first has changed the page, the second
// would hit something else. A held key is the same.

const INTERVAL = 500; // milliseconds between the clicks of a double-click, as on most systems
const DISTANCE = 30; // pixels that a finger may be off by

/** @type {MouseEvent|null} */
let latest = null;
/** The last click that changed something or was ignored as a second one. @type {MouseEvent|null} */
let acted = null;
let second = false;

addEventListener("click", (event) => {
  second = latest !== null && acted === latest && isClose(latest, event);
  latest = event;
}, {capture: true});

addEventListener("pointerdown", () => {
  second = false;
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
 * Returns true if the latest click is the second of a double-click and the first changed something.
 * A third click counts as another second.
 */
export function isSecond() {
  if (second) changes();
  return second;
}

/** Returns true if the latest click may change something, and notes that it does. */
export function begins() {
  const isFirst = !isSecond();
  changes();
  return isFirst;
}

/**
 * Returns true if a key that acts is held down. It acts once.
 * @param {KeyboardEvent} event
 */
export function isHeld(event) {
  return event.repeat && /^([0-9]|Enter)$/.test(event.key);
}
