// Numbers and pairs of processes as text, as the command `horus` writes them.

/** 1234567 → 1,234,567 */
export function count(number) {
  return Math.round(number).toLocaleString("en-US");
}

/** 1000.12 → 1000.1 Hz */
export function rate(hertz) {
  if (hertz === null || hertz === undefined) {
    return "-";
  }
  return `${hertz >= 10000 ? count(hertz) : hertz.toFixed(1)} Hz`;
}

function scaled(number, units, step) {
  let index = 0;
  while (number >= step && index < units.length - 1) {
    number /= step;
    index += 1;
  }
  const digits = index === 0 || number >= 100 ? 0 : 1;
  return `${number.toFixed(digits)} ${units[index]}`;
}

/** Nanoseconds → 12 µs */
export function duration(ns) {
  return ns === null || ns === undefined ? "-" : scaled(ns, ["ns", "µs", "ms", "s"], 1000);
}

/** Bytes → 1.2 MB */
export function bytes(number) {
  return number === null || number === undefined
    ? "-"
    : scaled(number, ["B", "kB", "MB", "GB"], 1000);
}

/** Nanoseconds since 1970 → 12:04:09.113, local time */
export function clock(ns) {
  const date = new Date(ns / 1e6);
  const part = (number, digits) => String(number).padStart(digits, "0");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return `${time.map((number) => part(number, 2)).join(":")}.${part(date.getMilliseconds(), 3)}`;
}

/** A number with about five digits, for labels: 0.12346, 1.796e+18 */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) {
    return "-";
  }
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) {
    return value.toExponential(3);
  }
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(5)));
}

/** Returns the texts that name the processes of a sample, by their owner ids: two processes may
 * have the same process id. */
export function processLabels(state) {
  return new Map(state.processes.map((one) => [one.owner_id, `${one.name} (${one.pid})`]));
}

/** Returns a sentence about a publisher and a subscriber that do not match. */
export function unmatchedText({ publisher, subscriber, cause }) {
  const process = (one) => (one ? `${one.name} (${one.pid})` : "a process that is gone");
  const reasons = {
    type: "they use different messages",
    reliability: "it offers best effort, and the subscriber requests reliable",
  };
  const both = `from ${process(publisher)} to ${process(subscriber)}`;
  return `no message passes ${both}: ${reasons[cause] ?? cause}`;
}
