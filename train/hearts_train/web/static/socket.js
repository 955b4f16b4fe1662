// The connection to the server. It restores itself, and a token identifies the person.

import {load, save} from "hearts/dom.js";

const TOKEN = "hearts.token";
const TABLES = "hearts.tables";
const MOST_TABLES = 24; // as many as the server takes
const PING_AFTER = 20_000;
const LOST_AFTER = 10_000;
const WAITS = [200, 500, 1000, 2000, 4000];
const LOST = {code: "lost", text: "The connection to the server is lost; reconnecting."};

/** The refusal of a request. */
class Refusal extends Error {
  /** @param {{code: string, text: string}} error */
  constructor({code, text}) {
    super(text);
    this.code = code;
  }
}

/**
 * Emits `message` (detail: a message of the server) and `status` (detail: "open" or "lost").
 */
export class Connection extends EventTarget {
  constructor() {
    super();
    this.status = "lost";
    /** @type {WebSocket|null} */
    this.socket = null;
    this.tries = 0;
    this.count = 0;
    /** @type {Map<string, {resolve: (m: any) => void, reject: (e: Error) => void}>} */
    this.waiting = new Map();
    this.heard = 0;
    this.retry = 0;
    addEventListener("online", () => this.hurry());
    addEventListener("offline", () => this.drop());
    addEventListener("pageshow", () => this.hurry());
    document.addEventListener("visibilitychange", () => this.hurry());
    setInterval(() => this.watch(), 5000);
  }

  /** Connects, and tries until it succeeds. */
  open() {
    if (this.socket) return;
    clearTimeout(this.retry);
    const socket = new WebSocket(`${location.origin.replace("http", "ws")}/ws`);
    this.socket = socket;
    this.heard = Date.now();
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify(hello()));
    });
    socket.addEventListener("message", (event) => {
      this.heard = Date.now();
      this.hear(JSON.parse(event.data));
    });
    socket.addEventListener("close", () => this.lose(socket));
  }

  /** @param {any} message */
  hear(message) {
    if (message.type === "welcome") {
      const known = token();
      if (known && known !== message.token) {
        this.socket?.close(); // another tab got a token first: connect again with that
        return;
      }
      const isNew = this.status !== "open";
      this.tries = 0;
      this.status = "open";
      secret = message.token;
      save(TOKEN, secret);
      if (isNew) this.dispatchEvent(new CustomEvent("status", {detail: "open"}));
    }
    const waiting = message.id === undefined ? undefined : this.waiting.get(message.id);
    if (waiting) {
      this.waiting.delete(message.id);
      if (message.type === "error") waiting.reject(new Refusal(message));
      else waiting.resolve(message);
    }
    if (message.type === "table" && message.you !== null) {
      save(TABLES, [...tables().filter((id) => id !== message.table), message.table]);
    }
    this.dispatchEvent(new CustomEvent("message", {detail: message}));
  }

  /** @param {WebSocket} socket */
  lose(socket) {
    if (socket !== this.socket) return;
    this.socket = null;
    this.status = "lost";
    for (const {reject} of this.waiting.values()) {
      reject(new Refusal(LOST));
    }
    this.waiting.clear();
    this.dispatchEvent(new CustomEvent("status", {detail: "lost"}));
    const wait = WAITS[Math.min(this.tries, WAITS.length - 1)] * (0.8 + 0.4 * Math.random());
    this.tries += 1;
    this.retry = setTimeout(() => this.open(), wait);
  }

  /** Tries again now, as when a closed lid opens. */
  hurry() {
    if (document.visibilityState === "hidden") return;
    if (this.socket) this.watch();
    else this.open();
  }

  /** Gives up the connection. */
  drop() {
    const {socket} = this;
    if (!socket) return;
    socket.close();
    this.lose(socket); // closing a dead connection takes the browser a minute
  }

  /** Pings a silent server, and closes the connection if there is no answer. */
  watch() {
    if (!this.socket || this.status !== "open") return;
    const silence = Date.now() - this.heard;
    if (silence > PING_AFTER + LOST_AFTER) this.drop();
    else if (silence > PING_AFTER) this.send({type: "ping"});
  }

  /**
   * Sends a message, without waiting for an answer.
   * @param {Record<string, any>} message
   * @returns {boolean} true if it was sent
   */
  send(message) {
    if (!this.socket || this.status !== "open") return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /**
   * Sends a message and waits for the answer to it.
   * @param {Record<string, any>} message
   * @returns {Promise<any>} rejected with a `Refusal`
   */
  request(message) {
    this.count += 1;
    const id = `c${this.count}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, {resolve, reject});
      if (!this.send({...message, id})) {
        this.waiting.delete(id);
        reject(new Refusal(LOST));
      }
    });
  }

  /** Connects, and returns a `welcome` with our tables and the agents as they are now. */
  async greet() {
    this.open();
    while (this.status !== "open") {
      await new Promise((resolve) => this.addEventListener("status", resolve, {once: true}));
    }
    return this.request(hello());
  }
}

let secret = ""; // where the browser saves nothing

function token() {
  const saved = load(TOKEN) || secret;
  return /^[0-9a-f]{32}$/.test(saved) ? saved : undefined;
}

/** The tables where the person has a seat, the latest last. @returns {string[]} */
function tables() {
  return [load(TABLES)].flat().filter((id) => /^[0-9a-f]{16}$/.test(id)).slice(-MOST_TABLES);
}

/** Takes a table off the list. @param {string} table */
export function forget(table) {
  save(TABLES, tables().filter((id) => id !== table));
}

function hello() {
  return {type: "hello", v: 1, token: token(), tables: tables()};
}
