/* Browsers refuse workers to pages on disk, and the search of the site is a worker. On such pages
 * this class runs the worker's script in a hidden frame instead and passes messages both ways. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><title>search</title>";
      this.frame.addEventListener("load", () => this.start(String(url)), { once: true });
      const attach = () => document.body.append(this.frame);
      if (document.body) attach();
      else addEventListener("DOMContentLoaded", attach, { once: true });
    }

    start(url) {
      const inside = this.frame.contentWindow;
      const load = (source) =>
        new Promise((done, fail) => {
          const script = inside.document.createElement("script");
          Object.assign(script, { src: source, onload: done, onerror: fail });
          inside.document.head.append(script);
        });
      inside.postMessage = (data) => this.tell(data);
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      load(url).then(() => {
        this.inside = inside;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    /* Deliver a message of the script to the page. */
    tell(data) {
      const event = new MessageEvent("message", { data });
      if (this.onmessage) this.onmessage(event);
      this.dispatchEvent(event);
    }

    /* Deliver a message of the page to the script. */
    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
