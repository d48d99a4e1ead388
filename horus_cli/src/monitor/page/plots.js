// Plots of the last minute: figures of topics, and fields of messages.

import { element, setText } from "./dom.js";
import { clock, number } from "./format.js";
import { FIGURES } from "./history.js";

const SECONDS = 60;
const HEIGHT = 170;
const STORE = "horus-monitor-plots";
export const PLOTS_MAX = 16;

/** The colours of lines, which can be told apart on both backgrounds. */
const COLORS = ["#2a8ae0", "#e0663a", "#2fa866", "#b565d9", "#c79a1e", "#d94f86"];

/** A plot of one line, or of a band if several values came at once. Points are times, and the lowest and highest value at that time. */
class Plot {
  constructor(topic, field, index, close) {
    this.topic = topic;
    this.field = field;
    this.data = [[], [], []];
    this.color = COLORS[index % COLORS.length];
    this.value = element("output", {}, "no value yet");
    const title = element("h3", {}, element("b", {}, topic), ` ${FIGURES[field] ?? field} `);
    const button = element(
      "button",
      { type: "button", class: "close", onclick: close, "aria-label": `close ${field}` },
      "×",
    );
    this.box = element("div", { class: "box" });
    this.root = element(
      "figure",
      {},
      element("figcaption", {}, title, this.value, button),
      this.box,
    );
    this.chart = null;
  }

  add(points) {
    for (const [time, low, high] of points) {
      this.data[0].push(time);
      this.data[1].push(low);
      this.data[2].push(high);
    }
  }

  /** Draws what happened until `now`. */
  draw(now) {
    const old = this.data[0].findIndex((time) => time >= now - SECONDS);
    const excess = old < 0 ? this.data[0].length : old;
    for (const column of this.data) {
      column.splice(0, excess);
    }
    this.range = [now - SECONDS, now];
    this.chart ??= this.#chart();
    const width = this.box.clientWidth;
    if (width > 0 && width !== this.chart.width) {
      this.chart.setSize({ width, height: HEIGHT });
    }
    this.chart.setData(this.data);
    const last = this.data[1].length - 1;
    setText(this.value, last < 0 ? "no value" : this.#range(last));
  }

  #range(index) {
    const [low, high] = [number(this.data[1][index]), number(this.data[2][index])];
    return low === high ? low : `${low} … ${high}`;
  }

  #chart() {
    const axis = {
      stroke: getComputedStyle(this.value).color,
      font: "11px system-ui, sans-serif",
      grid: { stroke: getComputedStyle(this.root).borderTopColor, width: 1 },
      ticks: { show: false },
    };
    const line = { stroke: this.color, width: 1.5, points: { show: false } };
    const range = (_, low, high) => {
      const margin = (high - low) * 0.08 || Math.abs(high) * 0.05 || 1;
      return [low - margin, high + margin];
    };
    const options = {
      width: this.box.clientWidth || 400,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: true, range: () => this.range }, y: { range } },
      axes: [
        {
          ...axis,
          size: 24,
          space: 80,
          incrs: [5, 10, 15, 30],
          values: (_, ticks) => ticks.map((tick) => clock(tick * 1e9).slice(0, 8)),
        },
        {
          ...axis,
          size: 58,
          space: 32,
          values: (_, ticks) => ticks.map((tick) => number(tick)),
        },
      ],
      series: [{}, line, line],
      bands: [{ series: [2, 1], fill: `${this.color}33` }],
    };
    return new uPlot(options, this.data, this.box);
  }
}

/** All plots of the page. They stay when the page is loaded again. */
export class Plots {
  constructor(parent, history, change) {
    this.parent = parent;
    this.history = history;
    this.change = change;
    this.plots = new Map();
    this.empty = element("p", { class: "empty" }, "no plot yet");
    parent.append(this.empty);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.#restyle());
    for (const [topic, field] of JSON.parse(sessionStorage.getItem(STORE) ?? "[]")) {
      this.#add(topic, field);
    }
  }

  has(topic, field) {
    return this.plots.has(`${topic}:${field}`);
  }

  /** Adds a plot, or removes it if it is there. */
  toggle(topic, field) {
    const key = `${topic}:${field}`;
    if (this.plots.has(key)) {
      this.plots.get(key).root.remove();
      this.plots.delete(key);
    } else if (this.plots.size < PLOTS_MAX) {
      this.#add(topic, field);
    }
    const kept = [...this.plots.values()].map((plot) => [plot.topic, plot.field]);
    sessionStorage.setItem(STORE, JSON.stringify(kept));
    this.empty.hidden = this.plots.size > 0;
    this.change();
  }

  #add(topic, field) {
    const used = new Set([...this.plots.values()].map((plot) => plot.color));
    const free = COLORS.findIndex((color) => !used.has(color));
    const index = free < 0 ? this.plots.size : free;
    const plot = new Plot(topic, field, index, () => this.toggle(topic, field));
    this.plots.set(`${topic}:${field}`, plot);
    this.parent.append(plot.root);
    this.empty.hidden = true;
  }

  #restyle() {
    for (const plot of this.plots.values()) {
      plot.chart?.destroy();
      plot.chart = null;
    }
  }

  /** Returns the part of the stream's query that asks for the fields. */
  query() {
    const fields = [...this.plots.values()].filter((plot) => !(plot.field in FIGURES));
    return fields.map((plot) => `plot=${encodeURIComponent(`${plot.topic}:${plot.field}`)}`);
  }

  /** Adds points that the stream brought. */
  receive(received) {
    for (const { topic, field, points } of received) {
      this.plots.get(`${topic}:${field}`)?.add(points);
    }
  }

  /** Draws all plots up to `now`, in seconds since 1970. */
  draw(now) {
    for (const plot of this.plots.values()) {
      if (plot.field in FIGURES) {
        const past = this.history.topics.get(plot.topic);
        const values = past?.[plot.field] ?? [];
        plot.data = [[...(past?.times ?? [])], [...values], [...values]];
      }
      plot.draw(now);
    }
  }
}
