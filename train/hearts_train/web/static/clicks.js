// Recognises the second click of a double-click. Once the first has changed the page, the second
// would hit something else.

const INTERVAL = 500; // milliseconds between the clicks of a double-click, as on most systems
const DISTANCE = 30; // pixels that a finger may be off by

/** @type {MouseEvent|null} */
let latest = null;
/** The last click that changed something or was ignored as a second one. @type {MouseEvent|null} */
let acted = null;
let second = false;

addEventListener("click", (event) => {
  second = latest !== null && acted === latest && event.detail > 0 // not by the keyboard
    && Math.hypot(event.clientX - latest.clientX, event.clientY - latest.clientY) <= DISTANCE
    && (event.detail > 1 || event.timeStamp - latest.timeStamp < INTERVAL);
  latest = event;
}, {capture: true});

addEventListener("keydown", () => {
  second = false;
  latest = null;
}, {capture: true});

/** Notes that the latest click has changed something. */
export function changes() {
  acted = latest;
}

/** Returns true if the latest click is a second one. A third counts as another second. */
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
