// The connection to the server. EventSource cannot send the token in a header, so the stream of
// server-sent events is read with fetch.

const RETRY_MS = 1000;
const STORE = "horus-monitor-token";

/** Takes the token from the address, so that it is neither shown nor sent to anybody. */
function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("t");
  if (found) {
    sessionStorage.setItem(STORE, found);
    history.replaceState(null, "", location.pathname);
  }
  return found ?? sessionStorage.getItem(STORE) ?? "";
}

const token = takeToken();

/** Sends a request with the token. */
export function request(path, options = {}) {
  const headers = { ...options.headers, Authorization: `Bearer ${token}` };
  return fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
}

/** Sends a command, and returns the text of the answer. */
export async function command(body) {
  const headers = { "Content-Type": "application/json" };
  const options = { method: "POST", headers, body: JSON.stringify(body) };
  try {
    const response = await request("/api/command", options);
    const answer = await response.json();
    return answer.error ?? answer.done;
  } catch (error) {
    return `not sent: ${error.message}`;
  }
}

/** A stream of events that is opened again when it ends. */
export class Stream {
  /** `receive(name, data)` is called for each event, `report(state, text)` for each change. */
  constructor(receive, report) {
    this.receive = receive;
    this.report = report;
    this.query = "";
    this.abort = null;
    this.timer = 0;
  }

  /** Opens the stream anew with this query. */
  open(query) {
    this.query = query;
    this.abort?.abort();
    clearTimeout(this.timer);
    this.abort = new AbortController();
    this.#run(this.abort.signal);
  }

  async #run(signal) {
    try {
      const response = await request(`/api/stream?${this.query}`, { signal });
      if (!response.ok) {
        const { error } = await response.json();
        this.report("refused", error);
        // With a wrong token there is nothing to try again.
        if (response.status === 401) {
          return;
        }
      } else {
        this.report("live", "");
        await this.#read(response.body.getReader());
        this.report("lost", "the server has closed the connection");
      }
    } catch (error) {
      if (signal.aborted) {
        return;
      }
      this.report("lost", "the server does not answer");
    }
    if (!signal.aborted) {
      this.timer = setTimeout(() => this.open(this.query), RETRY_MS);
    }
  }

  async #read(reader) {
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) {
        return;
      }
      text += decoder.decode(value, { stream: true });
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) {
        const [name, data] = event.split("\n");
        this.receive(name.slice("event: ".length), JSON.parse(data.slice("data: ".length)));
      }
    }
  }
}
