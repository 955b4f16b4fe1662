// The page of training runs: learning curves, how far each run is, how they differ, "play it".

import {ask, button, choices, el, loadStyle, notice, picker} from "hearts/dom.js";
import {signed} from "hearts/figures.js";
import {legend, panel} from "hearts/learning.js";
import {markdown} from "hearts/markdown.js";
import {asked} from "hearts/server.js";

/** @typedef {import("hearts/main.js").Context} Context */

const EVERY = 5000; // milliseconds between two looks at runs that are training
const DRAWN = 8; // runs that are drawn at first: the newest

/**
 * @param {HTMLElement} root
 * @param {Context} context
 * @returns {Promise<() => void>} ends it
 */
export async function mount(root, context) {
  context.title("Training runs");
  await loadStyle("runs.css");
  const page = new Runs(root, context);
  await page.refresh();
  const timer = setInterval(() => {
    if (!document.hidden && page.isLive) page.refresh().catch(() => {});
  }, EVERY);
  return () => clearInterval(timer);
}

class Runs {
  /** @param {HTMLElement} root @param {Context} context */
  constructor(root, context) {
    this.context = context;
    this.x = "decisions";
    this.by = "";
    /** What is drawn; none: what stands to reason. @type {string} */
    this.y = "";
    /** Runs that are left out of the picture. @type {Set<string>} */
    this.hidden = new Set();
    this.showsSettings = false;
    this.data = null;
    this.drawn = "";
    this.controls = el("div", {class: "run-controls"});
    this.legend = el("div");
    this.panels = el("div", {class: "run-panels"});
    this.list = el("div", {class: "run-list", tabindex: "0", role: "region",
      "aria-label": "Runs"});
    this.page = el("section", {class: "runs"}, el("h1", {text: "Training runs"}),
      this.about = el("p", {class: "small"}), this.controls, this.legend, this.panels, this.list);
    root.replaceChildren(this.page);
  }

  get isLive() {
    return !this.data || !this.data.runs.length
      || this.data.runs.some((run) => run.status === "training");
  }

  /** Reads the runs again, and draws what has changed. */
  async refresh() {
    const data = await asked("/api/runs");
    const isNew = JSON.stringify(data) !== JSON.stringify(this.data);
    if (!this.data) {
      for (const run of data.runs.slice(DRAWN)) {
        if (run.status !== "training") this.hidden.add(run.run);
      }
    }
    this.data = data;
    if (!data.runs.length) {
      this.empty();
      return;
    }
    if (isNew) {
      this.drawControls();
      this.drawList();
    }
    await this.drawCurves();
  }

  empty() {
    const {places} = this.data;
    this.about.textContent = places.length
      ? `There is no run in ${places.join(", ")} yet. Train one: hearts train demo`
      : "This server shows no runs. Start it where there is a folder runs/, or name one: "
        + "hearts serve --runs DIR";
  }

  drawControls() {
    const {quantities, standing, x, differing, runs} = this.data;
    const live = runs.filter((run) => run.status === "training").length;
    this.about.textContent = `${runs.length} run${runs.length > 1 ? "s" : ""}`
      + `${live ? `, ${live} training now` : ""}. Runs that differ in nothing but the seed and the `
      + "machine are one curve: their mean, with a band of one standard deviation; the band of a "
      + "single run is the 95 % interval of its evaluations.";
    if (this.controls.contains(document.activeElement)) return; // not under somebody's hands
    const others = quantities.filter((name) => !standing.includes(name));
    this.controls.replaceChildren(
      picker("What", [["", standing.length ? "margins and exploitability" : "nothing yet"],
        ...standing.map((name) => [name, worded(name)]),
        ...others.map((name) => [name, worded(name)])], this.y, (value) => {
        this.y = value;
        this.drawCurves();
      }),
      picker("One curve for each", [["", "experiment"], ["name", "config"], ["seed", "seed"],
        ...differing.map((name) => [name, name])], this.by, (value) => {
        this.by = value;
        this.drawCurves();
      }),
      choices("Against", "run-x", Object.keys(x).map((name) => [name, name]), this.x, (value) => {
        this.x = value;
        this.drawCurves();
      }));
  }

  async drawCurves() {
    const names = this.data.runs.map((run) => run.run);
    const shown = names.filter((name) => !this.hidden.has(name));
    const query = new URLSearchParams({x: this.x});
    if (this.hidden.size) for (const name of shown) query.append("run", name);
    if (this.y) query.append("y", this.y);
    if (this.by) query.append("by", this.by);
    if (!shown.length) {
      this.panels.replaceChildren(el("p", {text: "No run is chosen below."}));
      this.legend.replaceChildren();
      this.drawn = "";
      return;
    }
    try {
      const data = await asked(`/api/runs/curves?${query}`);
      const text = JSON.stringify(data);
      if (text === this.drawn) return;
      this.drawn = text;
      const labels = Object.keys(data.groups);
      this.legend.replaceChildren(legend(labels, data.groups));
      this.panels.replaceChildren(...data.panels.map((one) => panel(one, data.x, labels)));
    } catch (error) {
      this.drawn = "";
      this.legend.replaceChildren();
      this.panels.replaceChildren(el("p", {text: error.message}));
    }
  }

  drawList() {
    const {runs} = this.data;
    const differing = this.showsSettings ? this.data.differing : [];
    const opponents = [...new Set(runs.flatMap((run) => Object.keys(run.margins)))];
    const isExploited = runs.some((run) => run.exploitability !== null);
    const heads = ["Drawn", "Run", "Config", "Seed", "Progress", "", "",
      ...opponents.map((name) => `Over ${name}`), ...(isExploited ? ["Exploitability"] : []),
      ...differing];
    const focused = document.activeElement?.dataset?.key;
    this.list.replaceChildren(el("table", {},
      el("caption", {text: "Margins in points a deal, with half the 95 % interval"}),
      el("thead", {}, el("tr", {}, ...heads.map((text) => (text
        ? el("th", {scope: "col", text}) : el("td"))))),
      el("tbody", {}, ...runs.map((run) => this.row(run, opponents, isExploited, differing)))));
    if (this.data.differing.length) {
      const all = el("input", {type: "checkbox", checked: this.showsSettings,
        data: {key: "settings"}, on: {change: () => {
          this.showsSettings = all.checked;
          this.drawList();
        }}});
      this.list.prepend(el("label", {class: "run-settings-box"}, all,
        el("span", {text: "the settings in which they differ"})));
    }
    if (focused) {
      this.list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    }
  }

  /**
   * @param {any} run @param {string[]} opponents @param {boolean} isExploited
   * @param {string[]} differing settings to show
   */
  row(run, opponents, isExploited, differing) {
    const box = el("input", {type: "checkbox", checked: !this.hidden.has(run.run),
      "aria-label": `draw ${run.run}`, data: {key: `box ${run.run}`}, on: {change: () => {
        if (box.checked) this.hidden.delete(run.run);
        else this.hidden.add(run.run);
        this.drawCurves();
      }}});
    return el("tr", {},
      el("td", {}, el("label", {class: "run-box"}, box)),
      el("th", {scope: "row", text: run.run}),
      el("td", {text: run.name}),
      el("td", {text: run.seed === null ? "" : String(run.seed)}),
      el("td", {}, progress(run)),
      el("td", {}, run.player && button("Play it", () => this.play(run),
        {"aria-label": `Play against ${run.run}`, data: {key: `play ${run.run}`}})),
      el("td", {}, button("Card", () => this.card(run),
        {"aria-label": `Model card of ${run.run}`, data: {key: `card ${run.run}`}})),
      ...opponents.map((name) => el("td", {class: "number", text: margin(run.margins[name])})),
      ...(isExploited ? [el("td", {class: "number",
        text: run.exploitability === null ? "" : run.exploitability.toFixed(3)})] : []),
      ...differing.map((name) => el("td", {text: shown(run.settings[name])})));
  }

  /** Shows what a run's player is. @param {any} run */
  async card(run) {
    try {
      const {card, settings} = await asked(`/api/runs/card?${new URLSearchParams({run: run.run})}`);
      const rows = Object.entries(settings).map(([name, value]) =>
        el("tr", {}, el("th", {scope: "row", text: name}), el("td", {text: shown(value)})));
      await ask({title: run.run, wide: true, buttons: [["", "Close"]], body: [
        card ? markdown(card) : el("p", {text: "It has no model card yet: that comes at its end."}),
        el("details", {}, el("summary", {text: "All settings"}),
          el("table", {class: "run-settings"}, el("tbody", {}, ...rows)))]});
    } catch (error) {
      notice(error.message, {bad: true});
    }
  }

  /** Opens a table with a run's player in all other seats. @param {any} run */
  async play(run) {
    try {
      const {agent, rules, players} = await asked("/api/runs/play",
        {run: run.run});
      await this.context.connection.ready();
      const others = Array.from({length: players - 1}, () => ({agent}));
      const table = await this.context.connection.request({type: "create", rules, match: false,
        seats: [{me: true}, ...others]});
      this.context.go(`/t/${table.table}`);
    } catch (error) {
      notice(error.message, {bad: true});
    }
  }
}

/** How far a run is. @param {any} run */
function progress({status, share, left, decisions, run}) {
  const millions = `${(decisions / 1e6).toFixed(2)} M decisions`;
  const state = status === "training" && left !== null ? `training, ${minutes(left)} left` : status;
  return el("div", {class: "run-progress"},
    share === null ? null : el("progress", {max: 1, value: share,
      "aria-label": `${run}: ${Math.round(100 * share)} % of its budget`}),
    el("span", {text: `${share === null ? "" : `${Math.round(100 * share)} %, `}${state}`}),
    el("span", {class: "small", text: millions}));
}

/** @param {number} seconds */
function minutes(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** @param {{margin: number, ci95: [number, number]}|undefined} row */
function margin(row) {
  if (!row) return "";
  return `${signed(row.margin, 2)} ± ${((row.ci95[1] - row.ci95[0]) / 2).toFixed(2)}`;
}

/** @param {any} value */
function shown(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @param {string} name */
function worded(name) {
  return name.startsWith("over ") ? `margin ${name}` : name.replaceAll("_", " ");
}
