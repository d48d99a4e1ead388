// The graph: processes that publish, their topics, and processes that subscribe.

import { element, setChildren, shape } from "./dom.js";
import { count, rate } from "./format.js";

const ROW = 46;
const BOX = 34;
const WIDTH = 960;
const COLUMNS = { publisher: 10, topic: 370, subscriber: 710 };
const WIDTHS = { publisher: 240, topic: 220, subscriber: 240 };

/** Returns the text, cut in the middle if it is too long for a box. */
function cut(text, width) {
  const letters = Math.floor(width / 7.4);
  if (text.length <= letters) {
    return text;
  }
  const half = Math.floor((letters - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

function box(kind, y, title, subtitle, tone, select) {
  const x = COLUMNS[kind];
  const width = WIDTHS[kind];
  const texts = [shape("text", { x: x + 10, y: y + 15, class: "name" }, cut(title, width - 16))];
  texts.push(shape("text", { x: x + 10, y: y + 28 }, cut(subtitle, width - 16)));
  const full = shape("title", {}, `${title}\n${subtitle}`);
  const frame = shape("rect", { x, y, width, height: BOX, rx: kind === "topic" ? 16 : 5 });
  const attributes = { class: `${kind} ${tone}` };
  if (select) {
    attributes.onclick = select;
  }
  return shape("g", attributes, full, frame, ...texts);
}

function edge(from, fromY, to, toY, tone, width) {
  const x = COLUMNS[from] + WIDTHS[from];
  const end = COLUMNS[to];
  const [a, b, middle] = [fromY + BOX / 2, toY + BOX / 2, (x + end) / 2];
  const d = `M${x},${a} C${middle},${a} ${middle},${b} ${end},${b}`;
  return shape("path", { d, class: `edge ${tone}`, "stroke-width": width });
}

/** Returns the mean of the positions, to order one column by its neighbours in another. */
function mean(positions, fallback) {
  const known = positions.filter((position) => position !== undefined);
  return known.length === 0 ? fallback : known.reduce((a, b) => a + b) / known.length;
}

/** Draws the graph if it is another one, or its rates are. */
export class Graph {
  constructor(parent, selectTopic) {
    this.parent = parent;
    this.selectTopic = selectTopic;
    this.drawn = "";
  }

  show(state) {
    const topics = state.topics.filter(
      (topic) => topic.publisher_pids.length + topic.subscriber_pids.length > 0,
    );
    const names = new Map(state.processes.map(({ pid, name }) => [pid, name]));
    const seen = JSON.stringify([
      topics.map((topic) => [
        topic.topic,
        topic.publisher_pids,
        topic.subscriber_pids,
        rate(topic.rate_hz),
        Math.ceil(topic.lost_per_second),
      ]),
      [...names],
      state.nodes.map((node) => [node.process_id, node.scheduler, node.node]),
    ]);
    if (seen === this.drawn) {
      return;
    }
    this.drawn = seen;
    if (topics.length === 0) {
      setChildren(this.parent, [element("p", { class: "empty" }, "nothing is connected")]);
      return;
    }
    this.#draw(topics, names, state.nodes);
  }

  #draw(topics, names, nodes) {
    const publishers = [...new Set(topics.flatMap((topic) => topic.publisher_pids))];
    const subscribers = [...new Set(topics.flatMap((topic) => topic.subscriber_pids))];
    const sortBy = (items, key) => {
      const keys = new Map(items.map((item, index) => [item, key(item, index)]));
      items.sort((a, b) => keys.get(a) - keys.get(b));
    };
    // Two rounds leave few crossings.
    for (let round = 0; round < 2; round += 1) {
      const left = new Map(publishers.map((pid, index) => [pid, index / publishers.length]));
      sortBy(topics, (topic, index) =>
        mean(topic.publisher_pids.map((pid) => left.get(pid)), 1 + index / topics.length),
      );
      const places = (key, pid) =>
        topics.map((topic, index) => (topic[key].includes(pid) ? index : undefined));
      sortBy(publishers, (pid) => mean(places("publisher_pids", pid), 0));
      sortBy(subscribers, (pid) => mean(places("subscriber_pids", pid), 0));
    }
    const rows = Math.max(publishers.length, topics.length, subscribers.length);
    const place = (items) => {
      const space = (rows * ROW) / Math.max(items.length, 1);
      return new Map(items.map((item, index) => [item, (index + 0.5) * space - BOX / 2 + 4]));
    };
    const [left, middle, right] = [place(publishers), place(topics), place(subscribers)];
    const fastest = Math.max(...topics.map((topic) => topic.rate_hz ?? 0), 1);
    const edges = topics.flatMap((topic) => {
      const part = Math.log1p(topic.rate_hz ?? 0) / Math.log1p(fastest);
      const width = (1 + 2.5 * part).toFixed(1);
      const y = middle.get(topic);
      const tone = topic.lost_per_second > 0 ? "bad" : "";
      const quiet = topic.rate_hz > 0 ? "" : "quiet";
      return [
        ...topic.publisher_pids.map((pid) =>
          edge("publisher", left.get(pid), "topic", y, quiet, width),
        ),
        ...topic.subscriber_pids.map((pid) =>
          edge("topic", y, "subscriber", right.get(pid), tone || quiet, width),
        ),
      ];
    });
    const process = (kind, pid, y) => {
      const own = nodes.filter((node) => node.process_id === pid);
      const listed = own.map((node) => node.node).join(", ");
      const title = `${names.get(pid) ?? "process"} (${pid})`;
      return box(kind, y, title, listed ? `nodes: ${listed}` : "no nodes", "", null);
    };
    const boxes = [
      ...publishers.map((pid) => process("publisher", pid, left.get(pid))),
      ...topics.map((topic) => {
        const lost = Math.ceil(topic.lost_per_second);
        const subtitle = `${rate(topic.rate_hz)}${lost > 0 ? `, lost ${count(lost)}/s` : ""}`;
        const select = () => this.selectTopic(topic.topic);
        const tone = lost > 0 ? "bad" : "";
        return box("topic", middle.get(topic), topic.topic, subtitle, tone, select);
      }),
      ...subscribers.map((pid) => process("subscriber", pid, right.get(pid))),
    ];
    const height = rows * ROW + 8;
    const picture = shape("svg", { viewBox: `0 0 ${WIDTH} ${height}` }, ...edges, ...boxes);
    setChildren(this.parent, [picture]);
  }
}
