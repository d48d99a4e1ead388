// The last minute of the figures that samples bring, for each topic.

const SECONDS = 60;

/** Names of the figures of a topic that can be plotted, with their units. */
export const FIGURES = {
  rate_hz: "messages/s",
  bytes_per_second: "bytes/s",
  lost_per_second: "lost/s",
  refused_per_second: "refused/s",
};

export class History {
  constructor() {
    /** For each topic: times in seconds, and the values of each figure. */
    this.topics = new Map();
  }

  /** Notes a sample. */
  note(state) {
    const time = state.timestamp_ns / 1e9;
    const names = new Set(state.topics.map((topic) => topic.topic));
    for (const name of this.topics.keys()) {
      if (!names.has(name)) {
        this.topics.delete(name);
      }
    }
    for (const topic of state.topics) {
      let past = this.topics.get(topic.topic);
      if (!past) {
        past = { times: [] };
        for (const figure of Object.keys(FIGURES)) {
          past[figure] = [];
        }
        this.topics.set(topic.topic, past);
      }
      past.times.push(time);
      for (const figure of Object.keys(FIGURES)) {
        past[figure].push(topic[figure] ?? null);
      }
      const old = past.times.findIndex((other) => other >= time - SECONDS);
      if (old > 0) {
        past.times.splice(0, old);
        for (const figure of Object.keys(FIGURES)) {
          past[figure].splice(0, old);
        }
      }
    }
  }

  /** Returns the points of a line through the rates of a topic, for a box of this size. */
  line(name, width, height) {
    const past = this.topics.get(name);
    if (!past || past.times.length < 2) {
      return "";
    }
    const last = past.times[past.times.length - 1];
    const highest = Math.max(...past.rate_hz, 1e-9);
    const points = past.times.map((time, index) => {
      const x = width * (1 - (last - time) / SECONDS);
      const y = height - 1 - (height - 2) * ((past.rate_hz[index] ?? 0) / highest);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
    return points.join(" ");
  }
}
