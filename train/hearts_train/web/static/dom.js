// Elements of the page, made without a framework.

import {changes, isSecond} from "hearts/clicks.js";

/**
 * An element with attributes, listeners and children.
 * `text`, `on` (listeners by event) and `data` are special. Null, undefined and false omit an
 * attribute, true writes an empty one.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {any}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") node.textContent = value;
    else if (key === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (key === "data") Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child) node.append(child);
  return node;
}

/**
 * An element of a picture.
 * @param {string} tag @param {Record<string, any>} given @param {...(Node|string)} children
 * @returns {any}
 */
export function draw(tag, given, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(given)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}

/**
 * A button of the page.
 * @param {string} label
 * @param {() => void} press
 * @param {Record<string, any>} [props]
 * @returns {HTMLButtonElement}
 */
export function button(label, press, props = {}) {
  return el("button", {type: "button", on: {click: press}, ...props}, label);
}

/**
 * Radio buttons in a row.
 * @param {string} legend
 * @param {string} name unique on the page
 * @param {Array<[string, string]>} options value and label
 * @param {string} chosen
 * @param {(value: string) => void} change
 */
export function choices(legend, name, options, chosen, change) {
  const labels = options.map(([value, label]) => el("label", {class: "choice"},
      el("input", {type: "radio", name, value, checked: value === chosen,
        on: {change: () => change(value)}}),
      el("span", {text: label})));
  return el("fieldset", {class: "choices"}, el("legend", {text: legend}), ...labels);
}

/**
 * A select with a label above it.
 * @param {string} label
 * @param {Array<[string, string]>} options value and label
 * @param {string} chosen
 * @param {(value: string) => void} change
 * @param {[string, Array<[string, string]>]} [group] more options below a heading
 */
export function picker(label, options, chosen, change, group) {
  const made = (these) => these.map(([value, text]) =>
    el("option", {value, text, selected: value === chosen}));
  const select = el("select", {on: {change: () => change(select.value)}}, ...made(options),
    group && el("optgroup", {label: group[0]}, ...made(group[1])));
  return el("label", {class: "field"}, el("span", {text: label}), select);
}

/**
 * Opens a dialog and waits for a button.
 * @param {{title: string, body?: Array<Node|string>, buttons: Array<[string, string]>,
 *   wide?: boolean}} parts buttons as value and label, the first one the main one
 * @returns {Promise<string>} the value of the button, or ""
 */
export function ask({title, body = [], buttons, wide = false}) {
  const opener = document.activeElement;
  const heading = el("h2", {id: "asked", text: title});
  const close = (value) => isSecond() || dialog.close(value);
  const [main, ...others] = buttons;
  const dialog = el("dialog", {"aria-labelledby": "asked", class: wide ? "wide" : ""},
    el("form", {method: "dialog", on: {submit(event) {
      event.preventDefault(); // Enter in a field is the main button
      close(main[0]);
    }}}, heading, ...body, el("div", {class: "buttons"},
      el("button", {class: "main", autofocus: true, text: main[1]}),
      ...others.map(([value, label]) => button(label, () => close(value))))));
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (opener && opener.isConnected) opener.focus({preventScroll: true});
      resolve(dialog.returnValue);
    });
    changes(); // the second click of a double-click presses none of the buttons
    dialog.showModal();
  });
}

/** A page with one sentence and a way to the lobby. @param {string} title @param {string} [text] */
export function lost(title, text) {
  return el("section", {class: "lobby"}, el("h1", {text: title}), text && el("p", {text}),
    el("p", {}, el("a", {class: "button main", href: "/", text: "To the lobby"})));
}

/** A value that this browser saved, or null. @param {string} key @returns {any} */
export function load(key) {
  try {
    return JSON.parse(localStorage.getItem(key) || "null");
  } catch {
    return null; // damaged, or storage is forbidden here
  }
}

/** Saves a value in this browser, if it allows that. @param {string} key @param {any} value */
export function save(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // It lasts as long as this page is open.
  }
}

let telling = 0;

/**
 * Shows a short message that goes away by itself.
 * @param {string} text
 * @param {{bad?: boolean, seconds?: number}} [how]
 */
export function notice(text, {bad = false, seconds = 5} = {}) {
  const box = document.getElementById("notices");
  const line = el("p", {class: bad ? "notice bad" : "notice", text});
  box.append(line);
  while (box.children.length > 3) box.firstElementChild.remove();
  setTimeout(() => line.remove(), seconds * 1000);
}

/**
 * Says a line to screen readers. The last one counts.
 * @param {string} text
 */
export function say(text) {
  const live = document.getElementById("live");
  // The same words again are a change only if the text changes.
  telling += 1;
  live.textContent = telling % 2 ? text : `${text}\u00a0`;
}
