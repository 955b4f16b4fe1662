// Elements of the page, made without a framework.

/**
 * An element with attributes, listeners and children.
 * `text`, `on` (listeners by event) and `data` are special; null, undefined and false leave an
 * attribute out, true writes an empty one.
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
 * Choices of which one holds, as radio buttons in a row.
 * @param {string} legend
 * @param {string} name unique on the page
 * @param {Array<[string, string]>} options value and label
 * @param {string} chosen
 * @param {(value: string) => void} change
 */
export function choices(legend, name, options, chosen, change) {
  const labels = options.map(([value, label]) =>
    el("label", {class: "choice"},
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
 */
export function picker(label, options, chosen, change) {
  numbered += 1;
  const id = `field-${numbered}`;
  const select = el("select", {id, on: {change: () => change(select.value)}},
    ...options.map(([value, text]) => el("option", {value, text, selected: value === chosen})));
  return el("div", {class: "field"}, el("label", {for: id, text: label}), select);
}

let numbered = 0;

/**
 * Opens a dialog and waits for what was pressed.
 * @param {{title: string, body?: Array<Node|string>, buttons: Array<[string, string]>,
 *   wide?: boolean, must?: boolean}} parts buttons as value and label, the first one the main one;
 *   with `must`, Escape does not close it
 * @returns {Promise<string>} the value of the button, "" when closed without one
 */
export function ask({title, body = [], buttons, wide = false, must = false}) {
  const opener = /** @type {HTMLElement|null} */ (document.activeElement);
  const heading = el("h2", {id: "asked", text: title});
  const dialog = el("dialog", {"aria-labelledby": "asked", class: wide ? "wide" : ""}, heading,
    el("div", {class: "asked"}, ...body),
    el("div", {class: "buttons"}, ...buttons.map(([value, label], index) =>
      button(label, () => dialog.close(value),
        {class: index === 0 ? "main" : "", autofocus: index === 0}))));
  document.body.append(dialog);
  return new Promise((resolve) => {
    if (must) {
      dialog.addEventListener("cancel", (/** @type {Event} */ event) => event.preventDefault());
    }
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (opener && opener.isConnected) opener.focus({preventScroll: true});
      resolve(dialog.returnValue);
    });
    dialog.showModal();
  });
}

let telling = 0;

/**
 * Shows a short message that goes away by itself.
 * @param {string} text
 * @param {{bad?: boolean, seconds?: number}} [how]
 */
export function notice(text, {bad = false, seconds = 5} = {}) {
  const box = document.getElementById("notices");
  if (!box) return;
  const line = el("p", {class: bad ? "notice bad" : "notice", text});
  box.append(line);
  while (box.children.length > 3) box.firstElementChild?.remove();
  setTimeout(() => line.remove(), seconds * 1000);
}

/**
 * Says something to those who listen to the page: one line, the last one counts.
 * @param {string} text
 */
export function say(text) {
  const live = document.getElementById("live");
  if (!live) return;
  // The same words again are a change only if the text changes.
  telling += 1;
  live.textContent = telling % 2 ? text : `${text}\u00a0`;
}

/**
 * Brings the style of a part into the page, once; an offline file has it already.
 * @param {string} name such as "board.css"
 */
export async function loadStyle(name) {
  const href = `/static/${name}`;
  if (document.getElementById("styles") || document.querySelector(`link[href="${href}"]`)) return;
  const link = el("link", {rel: "stylesheet", href});
  const loaded = new Promise((resolve) => {
    link.addEventListener("load", resolve);
    link.addEventListener("error", resolve); // plain, but all is there
  });
  document.head.append(link);
  await loaded;
}
