// The page: receives samples and gives them to its parts.

import { byId, element, setChildren, setClass, setText, shape } from "./dom.js";
import { bytes, clock, count, duration, rate } from "./format.js";
import { Details, TONES, stateText } from "./details.js";
import { Graph } from "./graph.js";
import { History } from "./history.js";
import { Plots } from "./plots.js";
import { Stream, command } from "./stream.js";
import { Table } from "./tables.js";

const STALE_MS = 2000;
const DRAW_MS = 100;
const REOPEN_MS = 50;
const EVENTS_MAX = 200;

const history = new History();
const events = [];
let state = null;
let lastEvent = 0;
let lastSample = 0;
let connection = "connecting";
/** The time of the newest sample in seconds since 1970, by the clock of the robot. */
let robotTime = 0;
let skippedSamples = 0;
let reopenTimer = 0;

/** True for a topic that keeps a message of a publisher that has left. */
const isKept = (topic) => topic.latched && topic.publishers === 0 && topic.sent > 0;
const lossTone = (number) => (number > 0 ? "bad" : "");

function sparkline(cell, topic) {
  let line = cell.querySelector("polyline");
  if (!line) {
    line = shape("polyline", { points: "" });
    cell.append(shape("svg", { class: "spark", viewBox: "0 0 120 20" }, line));
  }
  line.setAttribute("points", history.line(topic.topic, 120, 20));
}

const topics = new Table(
  byId("topics"),
  [
    { title: "Topic", text: (topic) => topic.topic, isName: true },
    { title: "Type", text: (topic) => topic.message_type, isName: true },
    {
      title: "Rate",
      text: (topic) => (isKept(topic) ? "latched" : rate(topic.rate_hz)),
      value: (topic) => topic.rate_hz,
      isNumber: true,
    },
    { title: "Last minute", text: () => "", value: (topic) => topic.rate_hz, draw: sparkline },
    {
      title: "Bytes/s",
      text: (topic) => bytes(topic.bytes_per_second),
      value: (topic) => topic.bytes_per_second,
      isNumber: true,
    },
    {
      title: "P×S",
      text: (topic) => `${topic.publishers}×${topic.subscribers}`,
      value: (topic) => topic.publishers + topic.subscribers,
    },
    {
      title: "Lost/s",
      text: (topic) => count(Math.ceil(topic.lost_per_second)),
      value: (topic) => topic.lost_per_second,
      tone: (topic) => lossTone(topic.lost_per_second),
      isNumber: true,
    },
    {
      title: "Refused/s",
      text: (topic) => count(Math.ceil(topic.refused_per_second)),
      value: (topic) => topic.refused_per_second,
      tone: (topic) => lossTone(topic.refused_per_second),
      isNumber: true,
    },
    {
      title: "p99",
      text: (topic) => duration(topic.latency?.p99_ns),
      value: (topic) => topic.latency?.p99_ns,
      isNumber: true,
    },
  ],
  (topic) => topic.topic,
  (name) => select("topic", name),
);

const path = (node) => `${node.scheduler}/${node.node}`;

const nodes = new Table(
  byId("nodes"),
  [
    { title: "Node", text: path, isName: true },
    { title: "State", text: stateText, tone: (node) => TONES[node.state] ?? "bad" },
    {
      title: "Rate",
      text: (node) => rate(node.rate_hz),
      value: (node) => node.rate_hz,
      isNumber: true,
    },
    ...[
      ["p50", "p50_ns"],
      ["p99", "p99_ns"],
      ["Max", "max_ns"],
      ["Late p99", "lateness_p99_ns"],
    ].map(([title, key]) => ({
      title,
      text: (node) => duration(node[key]),
      value: (node) => node[key],
      isNumber: true,
    })),
    {
      title: "Misses",
      text: (node) => count(node.misses),
      value: (node) => node.misses,
      tone: (node) => lossTone(node.misses),
      isNumber: true,
    },
    { title: "Last error", text: (node) => node.last_error, tone: () => "bad", isName: true },
  ],
  path,
  (name) => select("node", name),
);

const plots = new Plots(byId("plots"), history, reopen);
const details = new Details(byId("details-title"), byId("details"), plots, act, () =>
  select(details.kind, details.name),
);
const graph = new Graph(byId("graph"), (name) => select("topic", name));

/** Opens the details of a topic or node; closes them if they are open. */
function select(kind, name) {
  if (details.kind === kind && details.name === name) {
    details.close();
  } else if (kind === "topic") {
    details.openTopic(name);
  } else {
    details.openNode(name);
  }
  topics.mark(details.kind === "topic" ? name : null);
  nodes.mark(details.kind === "node" ? name : null);
  if (state) {
    details.show(state);
  }
  reopen();
}

/** Opens the stream with what the page shows now; once, after several changes. */
function reopen() {
  clearTimeout(reopenTimer);
  reopenTimer = setTimeout(() => {
    stream.open([...details.query(), ...plots.query()].join("&"));
  }, REOPEN_MS);
}

/** Sends a command, and shows the answer. */
async function act(body) {
  notify(await command(body));
}

/** Shows the buttons of the emergency stop, if commands are allowed. */
function showControls() {
  const controls = byId("controls");
  if (!state.allow_control || controls.childNodes.length > 0) {
    return;
  }
  const stop = () => act({ command: "emergency_stop", reason: "the page of horus monitor" });
  const release = () => act({ command: "release_emergency_stop" });
  controls.append(
    element("button", { type: "button", class: "stop", onclick: stop }, "Emergency stop"),
    element("button", { type: "button", onclick: release }, "Release"),
  );
  controls.hidden = false;
}

function isWanted(...texts) {
  const filter = byId("filter").value.trim();
  return texts.some((text) => text.includes(filter));
}

function showSummary() {
  const sum = (key) => state.topics.reduce((all, topic) => all + topic[key], 0);
  const items = [
    ["namespace", state.namespace, ""],
    ["processes", count(state.processes.length), ""],
    ["schedulers", count(state.live_schedulers), ""],
    ["topics", count(state.topics.length), ""],
    ["lost/s", count(Math.ceil(sum("lost_per_second"))), lossTone(sum("lost_per_second"))],
    ["refused/s", count(Math.ceil(sum("refused_per_second"))), lossTone(sum("refused_per_second"))],
  ];
  const parts = items.map(([name, text, tone]) =>
    element("span", {}, `${name} `, element("b", { class: tone }, text)),
  );
  setChildren(byId("summary"), parts);
}

function show() {
  if (!state) {
    return;
  }
  showSummary();
  const shownTopics = state.topics.filter((topic) => isWanted(topic.topic, topic.message_type));
  topics.show(shownTopics);
  setText(byId("topic-count"), `${shownTopics.length} of ${state.topics.length}`);
  const shownNodes = state.nodes.filter((node) => isWanted(path(node)));
  nodes.show(shownNodes);
  setText(byId("node-count"), `${shownNodes.length} of ${state.nodes.length}`);
  details.show(state);
  graph.show(state);
  showControls();
}

function receiveEvents(received) {
  for (const event of received) {
    if (event.number > lastEvent) {
      lastEvent = event.number;
      const line = element(
        "p",
        { class: event.tone },
        element("time", {}, clock(event.timestamp_ns)),
        element("b", {}, ` ${event.scheduler} `),
        event.message,
      );
      events.unshift(line);
    }
  }
  events.length = Math.min(events.length, EVENTS_MAX);
  setChildren(byId("events"), events);
}

function showConnection() {
  const age = performance.now() - lastSample;
  const pill = byId("connection");
  if (connection === "live" && age < STALE_MS) {
    setText(pill, "live");
    setClass(pill, "pill");
    pill.title = skippedSamples > 0 ? `${count(skippedSamples)} samples skipped` : "";
  } else if (connection === "live" || connection === "lost") {
    setText(pill, lastSample > 0 ? `stale ${Math.floor(age / 1000)} s` : connection);
    setClass(pill, "pill bad");
  } else {
    setText(pill, connection);
    setClass(pill, "pill waiting");
  }
}

function notify(text) {
  const notice = byId("notice");
  notice.hidden = text === "";
  setText(notice, text);
}

const receivers = {
  state(received) {
    state = received;
    lastSample = performance.now();
    robotTime = state.timestamp_ns / 1e9;
    history.note(state);
    show();
  },
  events: receiveEvents,
  values: (received) => details.receive(received),
  points: (received) => plots.receive(received),
  skipped({ skipped }) {
    skippedSamples += skipped;
  },
};

const stream = new Stream(
  (name, data) => receivers[name]?.(data),
  (changed, text) => {
    connection = changed;
    notify(text);
    showConnection();
  },
);

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && details.kind) {
    select(details.kind, details.name);
  }
});
byId("filter").addEventListener("input", show);
// The address of another run of the server, in the same tab.
window.addEventListener("hashchange", () => location.reload());
setInterval(showConnection, 500);
setInterval(() => {
  // WHY the robot's clock: that of this computer may differ.
  if (robotTime > 0 && connection === "live") {
    plots.draw(robotTime + (performance.now() - lastSample) / 1000);
  }
}, DRAW_MS);
reopen();
