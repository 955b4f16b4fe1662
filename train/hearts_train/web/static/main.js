// The page: its head, and the part that belongs to the address.

import {loadCards} from "hearts/cards.js";
import {changes} from "hearts/clicks.js";
import {ask, choices, el, lost, say} from "hearts/dom.js";
import {choose, setting} from "hearts/settings.js";
import {Connection} from "hearts/socket.js";

/**
 * The context of each part of the page.
 * @typedef {object} Context
 * @property {Connection} connection to the server
 * @property {(path: string) => void} go shows another address
 * @property {(title: string) => void} title names the page
 */

/** By the first part of the address: the module, which exports `mount(root, context)`. */
const PARTS = {
  "": () => import("hearts/lobby.js"),
  t: () => import("hearts/table.js"),
  board: () => import("hearts/board.js"),
};
const LINKS = [["/", "Play"], ["/board", "Board"]];

const main = document.getElementById("main");
const connection = new Connection();
/** @type {(() => void)|void} */
let unmount;
let visits = 0;

/** @type {Context} */
const context = {
  connection,
  go(path) {
    changes();
    history.pushState(null, "", path);
    route();
  },
  title(text) {
    document.title = text ? `${text} · Hearts` : "Hearts";
  },
};

/** Shows the part that belongs to the address. */
async function route() {
  visits += 1;
  const visit = visits;
  unmount?.();
  unmount = undefined;
  const name = location.pathname.split("/")[1];
  mark(name);
  document.getElementById("notices").replaceChildren();
  const root = el("div", {class: "root"});
  const load = PARTS[name];
  if (!load) {
    main.replaceChildren(lost("There is no such page"));
    return;
  }
  main.replaceChildren(root);
  try {
    if (name === "" || name === "t") connection.open();
    const [part] = await Promise.all([load(), loadCards()]);
    if (visit !== visits) return;
    const end = await part.mount(root, context);
    if (visit === visits) unmount = end;
    else end?.();
  } catch (error) {
    if (visit !== visits) return;
    console.error(error);
    root.replaceChildren(lost("This page could not be shown",
      `${error.message}. Reload it; if that does not help, the server may be `
      + "of another version."));
  }
}

/** The links at the top. */
function head() {
  const top = document.getElementById("top");
  top.replaceChildren(
    el("a", {class: "home", href: "/"}, el("span", {class: "heart", "aria-hidden": "true",
      text: "♥"}), el("span", {class: "word", text: "Hearts"})),
    el("nav", {"aria-label": "Pages"}, ...LINKS.map(([href, text]) => el("a", {href, text}))),
    el("p", {class: "line-lost", role: "status"}),
    el("button", {type: "button", class: "tool settings", on: {click: settings}},
      el("span", {"aria-hidden": "true", text: "⚙\ufe0e\u00a0"}),
      el("span", {class: "word", text: "Settings"})));
}

/** Marks the link of the current page. @param {string} name the first part of the address */
function mark(name) {
  for (const link of document.querySelectorAll("#top nav a")) {
    if (link.pathname === (name === "t" ? "/" : `/${name}`)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** The settings: taps, pace, sounds, guide. */
function settings() {
  const set = (key) => (value) => choose(key, value);
  const pick = (legend, key, options) => choices(legend, `set-${key}`, options, setting(key), set(key));
  ask({title: "Settings", buttons: [["", "Done"]], body: [
    pick("A card is played by", "tap", [["two", "Two taps"], ["one", "One tap"]]),
    pick("Pace", "pace", [["calm", "Calm"], ["quick", "Quick"], ["none", "At once"]]),
    pick("Sounds", "sound", [["on", "On"], ["off", "Off"]]),
    pick("Guide through a deal", "guide", [["on", "On"], ["off", "Off"]]),
  ]});
}

/** Follows a link within the site without loading the page again. */
function follow(event) {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey
      || event.altKey) return;
  const link = event.target.closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin || link.target
      || link.hasAttribute("download")) return;
  if (link.pathname === location.pathname && link.hash) return;
  event.preventDefault();
  context.go(link.pathname + link.search + link.hash);
}

connection.addEventListener("status", (event) => {
  const isLost = event.detail !== "open";
  document.querySelector(".line-lost").textContent = isLost ? "Reconnecting …" : "";
  if (!isLost) say("Connected.");
});
addEventListener("popstate", route);
document.addEventListener("click", follow);
head();
route();
