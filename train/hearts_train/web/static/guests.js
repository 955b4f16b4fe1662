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
  const free = table.seats.some((seat) => seat.kind === "open");
  if (table.you === null) {
    return [el("p", {class: "banner", text: free
      ? "You are watching. There is a free seat: press “Sit here”."
      : "You are watching; all hands are hidden."})];
  }
  if (!free) return [];
  const address = `${location.origin}/t/${table.id}`;
  const field = el("input", {type: "text", readonly: true, value: address,
    "aria-label": "Link for friends", on: {focus: () => field.select()}});
  return [el("div", {class: "banner"},
    el("span", {text: "Send this link to a friend, who can then take the free seat:"}),
    field, button("Copy", () => {
      field.select(); // for browsers that copy only with encryption
      navigator.clipboard?.writeText(address).then(() => notice("Copied."));
    }))];
}

/**
 * Takes a free seat.
 * @param {any} room
 * @param {number} seat
 */
export async function seated(room, seat) {
  if (begins()) room.ask("sit", {seat, name: await nameOf()});
}

/** The person's name. It is asked for once. @returns {Promise<string>} */
async function nameOf() {
  if (setting("name")) return setting("name");
  const field = el("input", {type: "text", maxlength: "24", autocomplete: "nickname",
    autofocus: true});
  await ask({title: "Sit down", body: [el("label", {class: "field"},
    el("span", {text: "Your name, for the other players"}), field)],
  buttons: [["sit", "Sit down"]]});
  choose("name", field.value.trim());
  return field.value.trim();
}
