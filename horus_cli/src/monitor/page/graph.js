// The graph: processes that publish, their topics, and processes that subscribe.

import { element, setChildren, setClass, setText, shape } from "./dom.js";
import { count, processLabels, rate, unmatchedText } from "./format.js";

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

function box(kind, y, title, subtitle) {
  const x = COLUMNS[kind];
  const width = WIDTHS[kind];
  const name = shape("text", { x: x + 10, y: y + 15, class: "name" }, cut(title, width - 16));
  const text = shape("text", { x: x + 10, y: y + 28 }, cut(subtitle, width - 16));
  const full = shape("title", {}, `${title}\n${subtitle}`);
  const frame = shape("rect", { x, y, width, height: BOX, rx: kind === "topic" ? 16 : 5 });
  return { root: shape("g", { class: kind }, full, frame, name, text), text };
}

/** Returns the text of an edge to a subscriber, about the publishers that it does not match. */
function edgeTitle(topic, owner) {
  const pairs = topic.unmatched.filter(({ subscriber }) => subscriber?.owner_id === owner);
  return pairs.map(unmatchedText).join("\n");
}

function edge(from, fromY, to, toY, title = "") {
  const x = COLUMNS[from] + WIDTHS[from];
  const end = COLUMNS[to];
  const [a, b, middle] = [fromY + BOX / 2, toY + BOX / 2, (x + end) / 2];
  const line = { d: `M${x},${a} C${middle},${a} ${middle},${b} ${end},${b}` };
  return shape("path", line, ...(title ? [shape("title", {}, title)] : []));
}

/** Returns the mean of the positions, to order one column by its neighbours in another. */
function mean(positions, fallback) {
  const known = positions.filter((position) => position !== undefined);
  return known.length === 0 ? fallback : known.reduce((a, b) => a + b) / known.length;
}

/** Draws the graph when it is another one; in between, only rates and losses change. */
export class Graph {
  constructor(parent, selectTopic) {
    this.parent = parent;
    this.selectTopic = selectTopic;
    this.drawn = "";
    /** For each topic its box, its text, and its edges from publishers and to subscribers. */
    this.parts = new Map();
  }

  show(state) {
    const topics = state.topics.filter(
      (topic) => topic.publisher_owner_ids.length + topic.subscriber_owner_ids.length > 0,
    );
    const labels = processLabels(state);
    const seen = JSON.stringify([
      topics.map((topic) => [
        topic.topic,
        topic.publisher_owner_ids,
        topic.subscriber_owner_ids,
      ]),
      [...labels],
      state.nodes.map((node) => [node.owner_id, node.scheduler, node.node]),
      topics.map((topic) => topic.unmatched),
    ]);
    if (seen !== this.drawn) {
      this.drawn = seen;
      this.parts.clear();
      if (topics.length === 0) {
        setChildren(this.parent, [element("p", { class: "empty" }, "nothing is connected")]);
      } else {
        this.#draw([...topics], labels, state.nodes);
      }
    }
    this.#update(topics);
  }

  #update(topics) {
    const fastest = Math.max(...topics.map((topic) => topic.rate_hz ?? 0), 1);
    for (const topic of topics) {
      const { box: root, text, incoming, outgoing } = this.parts.get(topic.topic);
      const lost = Math.ceil(topic.lost_per_second);
      const unmatchedCount = topic.unmatched.length;
      const losses = lost > 0 ? `, lost ${count(lost)}/s` : "";
      const pairs = unmatchedCount > 0 ? `, ${count(unmatchedCount)} unmatched` : "";
      setText(text, `${rate(topic.rate_hz)}${losses}${pairs}`);
      setClass(root, lost > 0 || unmatchedCount > 0 ? "topic bad" : "topic");
      const part = Math.log1p(topic.rate_hz ?? 0) / Math.log1p(fastest);
      const width = (1 + 2.5 * part).toFixed(1);
      const quiet = topic.rate_hz > 0 ? "edge" : "edge quiet";
      for (const line of [...incoming, ...outgoing]) {
        line.setAttribute("stroke-width", width);
        setClass(line, quiet);
      }
      if (lost > 0) {
        outgoing.forEach((line) => setClass(line, "edge bad"));
      }
      const unmatched = new Set(topic.unmatched.map(({ subscriber }) => subscriber?.owner_id));
      topic.subscriber_owner_ids.forEach((owner, index) => {
        if (unmatched.has(owner)) {
          setClass(outgoing[index], "edge bad unmatched");
        }
      });
    }
  }

  #draw(topics, labels, nodes) {
    const publishers = [...new Set(topics.flatMap((topic) => topic.publisher_owner_ids))];
    const subscribers = [...new Set(topics.flatMap((topic) => topic.subscriber_owner_ids))];
    const sortBy = (items, key) => {
      const keys = new Map(items.map((item, index) => [item, key(item, index)]));
      items.sort((a, b) => keys.get(a) - keys.get(b));
    };
    // Two rounds leave few crossings.
    for (let round = 0; round < 2; round += 1) {
      const left = new Map(publishers.map((owner, index) => [owner, index / publishers.length]));
      sortBy(topics, (topic, index) => {
        const positions = topic.publisher_owner_ids.map((owner) => left.get(owner));
        return mean(positions, 1 + index / topics.length);
      });
      const places = (key, owner) =>
        topics.map((topic, index) => (topic[key].includes(owner) ? index : undefined));
      sortBy(publishers, (owner) => mean(places("publisher_owner_ids", owner), 0));
      sortBy(subscribers, (owner) => mean(places("subscriber_owner_ids", owner), 0));
    }
    const rows = Math.max(publishers.length, topics.length, subscribers.length);
    const place = (items) => {
      const space = (rows * ROW) / Math.max(items.length, 1);
      return new Map(items.map((item, index) => [item, (index + 0.5) * space - BOX / 2 + 4]));
    };
    const [left, middle, right] = [place(publishers), place(topics), place(subscribers)];
    const process = (kind, owner, y) => {
      const own = nodes.filter((node) => node.owner_id === owner);
      const listed = own.map((node) => node.node).join(", ");
      const title = labels.get(owner) ?? "process";
      return box(kind, y, title, listed ? `nodes: ${listed}` : "no nodes").root;
    };
    const boxes = [
      ...publishers.map((owner) => process("publisher", owner, left.get(owner))),
      ...subscribers.map((owner) => process("subscriber", owner, right.get(owner))),
    ];
    const edges = [];
    for (const topic of topics) {
      const y = middle.get(topic);
      const { root, text } = box("topic", y, topic.topic, "");
      root.addEventListener("click", () => this.selectTopic(topic.topic));
      boxes.push(root);
      const incoming = topic.publisher_owner_ids.map((owner) =>
        edge("publisher", left.get(owner), "topic", y),
      );
      const outgoing = topic.subscriber_owner_ids.map((owner) =>
        edge("topic", y, "subscriber", right.get(owner), edgeTitle(topic, owner)),
      );
      edges.push(...incoming, ...outgoing);
      this.parts.set(topic.topic, { box: root, text, incoming, outgoing });
    }
    const height = rows * ROW + 8;
    const picture = shape("svg", { viewBox: `0 0 ${WIDTH} ${height}` }, ...edges, ...boxes);
    setChildren(this.parent, [picture]);
  }
}
