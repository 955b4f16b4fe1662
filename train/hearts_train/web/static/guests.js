// Free seats and onlookers: the link for friends, and taking a seat.

import {begins} from "hearts/clicks.js";
import {ask, button, el, notice} from "hearts/dom.js";
import {choose, setting} from "hearts/settings.js";

/**
 * The banner above a table that waits for people or is only watched.
 * @param {any} room of table.js
 * @returns {Node[]}
 */
export function invitation(room) {
  const {table} = room;
  const {watching} = table;
  const watchers = watching > 0 && el("p", {class: "banner", role: "status",
    text: watching === 1 ? "Someone is watching." : `${watching} people are watching.`});
  const free = table.seats.some((seat) => seat.kind === "open");
  if (table.you === null) {
    return [el("p", {class: "banner", text: free
      ? "You are watching. There is a free seat: press “Sit here”."
      : "You are watching; all hands are hidden."})];
  }
  if (!free) return watchers ? [watchers] : [];
  const address = `${location.origin}/t/${table.id}`;
  const field = el("input", {type: "text", readonly: true, value: address,
    "aria-label": "Link for friends", on: {focus: () => field.select()}});
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);
  return [el("div", {class: "banner"},
    el("span", {text: isHere ? "This link works on this computer only. For friends elsewhere, start "
      + "the server with --host 0.0.0.0."
      : "Send this link to a friend, who can then take the free seat:"}),
    field, button("Copy", () => {
      field.select(); // for browsers that copy only with encryption
      navigator.clipboard?.writeText(address).then(() => notice("Copied."));
    })), watchers].filter(Boolean);
}

/**
 * Takes a free seat.
 * @param {any} room
 * @param {number} seat
 */
export async function seated(room, seat) {
  if (!begins()) return;
  const name = await nameOf();
  if (name !== null) room.ask("sit", {seat, name});
}

/** The person's name, asked for once, or null if the question is closed. @returns {Promise<string|null>} */
async function nameOf() {
  if (setting("name")) return setting("name");
  const field = el("input", {type: "text", maxlength: "24", autocomplete: "nickname",
    autofocus: true});
  const answer = await ask({title: "Sit down", body: [el("label", {class: "field"},
    el("span", {text: "Your name, for the other players"}), field)],
  buttons: [["sit", "Sit down"]]});
  if (!answer) return null;
  choose("name", field.value.trim());
  return field.value.trim();
}
