// The newest image of a topic, a few times a second.

import { element, setText } from "./dom.js";
import { request } from "./stream.js";

const PERIOD_MS = 250;
const WIDTH = 480;

export class Picture {
  constructor(topic) {
    this.topic = topic;
    this.number = 0;
    this.image = element("img", { alt: `newest image of ${topic}`, hidden: true });
    this.text = element("figcaption", {}, "no image yet");
    this.root = element("figure", { class: "picture" }, this.image, this.text);
    this.timer = setInterval(() => this.#load(), PERIOD_MS);
    this.isLoading = false;
  }

  close() {
    clearInterval(this.timer);
    URL.revokeObjectURL(this.image.src);
  }

  async #load() {
    // WHY not while it is hidden: nobody sees it.
    if (this.isLoading || document.hidden) {
      return;
    }
    this.isLoading = true;
    try {
      const topic = encodeURIComponent(this.topic);
      const query = `topic=${topic}&width=${WIDTH}&after=${this.number}`;
      const response = await request(`/api/image?${query}`);
      if (response.status === 200) {
        this.number = response.headers.get("Horus-Number");
        const url = URL.createObjectURL(await response.blob());
        URL.revokeObjectURL(this.image.src);
        this.image.src = url;
        this.image.hidden = false;
        setText(this.text, `message ${this.number}, ${response.headers.get("Horus-Picture")}`);
      } else if (response.status !== 204) {
        setText(this.text, (await response.json()).error);
      }
    } catch {
      // The stream reports a server that does not answer.
    } finally {
      this.isLoading = false;
    }
  }
}
