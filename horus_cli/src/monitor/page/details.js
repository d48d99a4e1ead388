// Details of the selected topic or node.

import { element, setChildren, setClass, setText } from "./dom.js";
import { bytes, count, duration, processLabels, rate, unmatchedText } from "./format.js";
import { FIGURES } from "./history.js";
import { Picture } from "./picture.js";

/** The colours of the states of a node; all others are bad. */
export const TONES = { active: "", paused: "waiting", backing_off: "waiting" };

/** The state of a node, with "paused" beside another state. */
export const stateText = (node) =>
  node.is_paused && node.state !== "paused" ? `${node.state}, paused` : node.state;

/** The path of a number in a message, as the server takes it. */
const PATH = /^[^.[\]:]+(\.[^.[\]:]+|\[\d{1,9}\])*$/;

const IMAGES = new Set(["Image", "DepthImage", "CompressedImage"]);

/** A list of names and texts, of which only the texts change. */
class Facts {
  constructor() {
    this.root = element("dl");
    this.texts = new Map();
  }

  /** Shows rows of a name, a text and a tone; a fourth element is a button. */
  show(rows) {
    const nodes = rows.flatMap(([name, text, tone, button]) => {
      let row = this.texts.get(name);
      if (!row) {
        row = { name: element("dt", {}, name), text: element("span"), value: element("dd") };
        row.value.append(row.text);
        if (button) {
          row.value.prepend(button());
        }
        this.texts.set(name, row);
      }
      setText(row.text, text);
      setClass(row.text, tone ?? "");
      return [row.name, row.value];
    });
    setChildren(this.root, nodes);
  }
}

/** The lines of a message, each with a button that plots it. */
class Lines {
  constructor(plotButton) {
    this.plotButton = plotButton;
    this.body = element("tbody");
    this.root = element("table", { class: "values" }, this.body);
    this.rows = new Map();
  }

  show(lines) {
    const rows = lines.map((line) => {
      let row = this.rows.get(line.path);
      if (!row || row.isNumber !== line.is_number) {
        const text = element("td", { class: line.is_number ? "number" : "" });
        const button = line.is_number ? [this.plotButton(line.path)] : [];
        const node = element(
          "tr",
          {},
          element("td", {}, ...button),
          element("th", { scope: "row" }, line.path || "value"),
          text,
        );
        row = { node, text, isNumber: line.is_number };
        this.rows.set(line.path, row);
      }
      setText(row.text, line.text);
      return row.node;
    });
    setChildren(this.body, rows);
    // The keys of a value may be others in each message.
    if (this.rows.size > 2 * lines.length + 100) {
      this.rows.clear();
    }
  }
}

/** Returns the bars of a histogram whose bucket i counts ticks below 2^i ns. */
function histogram(title, buckets) {
  const first = buckets.findIndex((number) => number > 0);
  const last = buckets.findLastIndex((number) => number > 0);
  const rows = [];
  const highest = Math.max(...buckets, 1);
  for (let index = first; first >= 0 && index <= last; index += 1) {
    const meter = element("meter", { min: "0", max: "1", value: String(buckets[index] / highest) });
    rows.push(
      element(
        "tr",
        {},
        element("th", { scope: "row" }, `< ${duration(2 ** index)}`),
        element("td", { class: "number" }, count(buckets[index])),
        element("td", { class: "bar" }, meter),
      ),
    );
  }
  const table = element("table", { class: "histogram" }, element("tbody", {}, ...rows));
  return element("div", {}, element("h3", {}, title), table);
}

/** The panel. */
export class Details {
  /** `act(command)` sends a command for a node; `close` is called by the button of the panel. */
  constructor(title, parent, plots, act, close) {
    this.closeButton = element(
      "button",
      { type: "button", class: "close", onclick: close, "aria-label": "close the details" },
      "×",
    );
    this.title = title;
    this.parent = parent;
    this.plots = plots;
    this.act = act;
    this.kind = null;
    this.name = null;
    this.close();
  }

  close() {
    this.kind = null;
    this.name = null;
    this.picture?.close();
    this.picture = null;
    setText(this.title, "Details");
    const hint = "Select a topic to see its messages, or a node to see its times.";
    setChildren(this.parent, [element("p", { class: "empty" }, hint)]);
  }

  #entitle(text) {
    setText(this.title, text);
    this.title.append(this.closeButton);
  }

  openTopic(name) {
    this.close();
    this.kind = "topic";
    this.name = name;
    this.buttons = new Map();
    this.facts = new Facts();
    this.lines = new Lines((field) => this.#plotButton(field));
    this.note = element("p", { class: "empty" }, "no message yet");
    this.#entitle(`Topic ${name}`);
    setChildren(this.parent, [this.facts.root, this.note, this.lines.root, this.#anyField()]);
  }

  openNode(name) {
    this.close();
    this.kind = "node";
    this.name = name;
    this.facts = new Facts();
    this.controls = element("div", { class: "controls" });
    this.charts = element("div", { class: "histograms" });
    this.#entitle(`Node ${name}`);
    setChildren(this.parent, [this.controls, this.facts.root, this.charts]);
  }

  /** Returns the part of the stream's query that asks for the messages. */
  query() {
    return this.kind === "topic" ? [`values=${encodeURIComponent(this.name)}`] : [];
  }

  #plotButton(field) {
    const toggle = () => this.plots.toggle(this.name, field);
    const label = `plot ${FIGURES[field] ?? field}`;
    const button = element(
      "button",
      { type: "button", class: "plot", onclick: toggle, title: label, "aria-label": label },
      "∿",
    );
    this.buttons.set(field, button);
    this.#mark();
    return button;
  }

  /** Returns an input for fields that have no line, such as the middle of a long array. */
  #anyField() {
    const label = "another field to plot";
    const input = element("input", { placeholder: "ranges[100]", "aria-label": label });
    const plot = () => {
      const field = input.value.trim();
      const isPath = PATH.test(field);
      input.setAttribute("aria-invalid", String(!isPath));
      if (isPath && !this.plots.has(this.name, field)) {
        this.plots.toggle(this.name, field);
      }
    };
    input.addEventListener("keydown", (event) => event.key === "Enter" && plot());
    const button = element("button", { type: "button", onclick: plot }, "plot");
    return element("p", { class: "any" }, input, button);
  }

  #mark() {
    for (const [field, button] of this.buttons) {
      button.setAttribute("aria-pressed", String(this.plots.has(this.name, field)));
    }
  }

  /** Shows the newest message. */
  receive({ topic, number, lines }) {
    if (this.kind === "topic" && topic === this.name) {
      setText(this.note, `message ${count(number)}:`);
      this.lines.show(lines);
    }
  }

  /** Shows a new sample. */
  show(state) {
    if (this.kind === "topic") {
      this.#mark();
      this.#showTopic(state);
    } else if (this.kind === "node") {
      this.#showNode(state);
    }
  }

  #showTopic(state) {
    const topic = state.topics.find((other) => other.topic === this.name);
    if (!topic) {
      this.facts.show([["state", "it is gone", "bad"]]);
      return;
    }
    const labels = processLabels(state);
    const processes = (owners) => owners.map((owner) => labels.get(owner) ?? "unknown").join(", ");
    const figure = (field) => () => this.#plotButton(field);
    const tone = (number) => (number > 0 ? "bad" : "");
    this.facts.show([
      ["type", `${topic.message_type}, ${topic.has_variable_size ? "up to " : ""}${bytes(topic.message_bytes)}`],
      ["quality", `${topic.reliability}, ${count(topic.capacity)} slots, ${topic.backend}`],
      ["publishers", processes(topic.publisher_owner_ids) || "none"],
      ["subscribers", processes(topic.subscriber_owner_ids) || "none"],
      ["rate", rate(topic.rate_hz), "", figure("rate_hz")],
      ["bytes/s", bytes(topic.bytes_per_second), "", figure("bytes_per_second")],
      ["lost", count(topic.lost), tone(topic.lost), figure("lost_per_second")],
      ["refused", count(topic.refused), tone(topic.refused), figure("refused_per_second")],
      [
        "latency",
        topic.latency
          ? `p50 ${duration(topic.latency.p50_ns)}, p99 ${duration(topic.latency.p99_ns)}`
          : "not measured",
      ],
      ...(topic.unmatched.length > 0
        ? [["unmatched", topic.unmatched.map(unmatchedText).join("; "), "bad"]]
        : []),
    ]);
    if (IMAGES.has(topic.message_type) && !this.picture) {
      this.picture = new Picture(this.name);
      this.parent.insertBefore(this.picture.root, this.note);
    }
  }

  #showNode(state) {
    const isIt = (node) => `${node.scheduler}/${node.node}` === this.name;
    const index = state.nodes.findIndex(isIt);
    if (index < 0) {
      this.facts.show([["state", "it is gone", "bad"]]);
      return;
    }
    const node = state.nodes[index];
    const tone = (number) => (number > 0 ? "bad" : "");
    const topics = (key) => {
      const found = state.topics.filter((topic) => topic[key].includes(node.owner_id));
      return found.map((topic) => topic.topic).join(", ") || "nothing";
    };
    this.facts.show([
      ["state", stateText(node), TONES[node.state] ?? "bad"],
      ["class", `${node.class}, ${rate(node.rate_hz)}`],
      ["process", String(node.process_id ?? "-")],
      ["ticks", count(node.ticks)],
      ["misses", count(node.misses), tone(node.misses)],
      ["skipped", count(node.skipped_ticks), tone(node.skipped_ticks)],
      ["failed", count(node.failures), tone(node.failures)],
      ["panicked", count(node.panics), tone(node.panics)],
      ["last error", node.last_error || "none", node.last_error ? "bad" : ""],
      ["its process publishes", topics("publisher_owner_ids")],
      ["and subscribes to", topics("subscriber_owner_ids")],
    ]);
    const { durations, lateness } = state.histograms[index];
    setChildren(this.charts, [
      histogram("Duration of ticks", durations),
      histogram("Lateness of ticks", lateness),
    ]);
    if (state.allow_control && this.controls.childNodes.length === 0) {
      const { scheduler, node: name } = node;
      for (const command of ["pause", "resume"]) {
        const send = () => this.act({ command, scheduler, node: name });
        this.controls.append(element("button", { type: "button", onclick: send }, command));
      }
      const input = element("input", {
        type: "number",
        min: "0.001",
        step: "any",
        value: String(node.rate_hz ?? ""),
        "aria-label": "rate in hertz",
      });
      const set = () =>
        this.act({ command: "rate", scheduler, node: name, rate_hz: input.valueAsNumber });
      const button = element("button", { type: "button", onclick: set }, "set Hz");
      this.controls.append(element("span", { class: "rate" }, input, button));
    }
  }
}
