/* Search works from file:// too, where browsers allow no workers: an invisible frame stands in. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      this.loaded = new Promise((resolve) => (inside.whenLoaded = resolve));
      inside.postMessage = (data) => this.tell(data);
      const page = inside.document;
      page.open();
      page.write(`<html><body><script>
        self.postMessage = (data) => self.tell(data);
        self.importScripts = (...urls) => urls.reduce((before, url) => before.then(() =>
          new Promise((done, failed) => {
            const script = document.createElement("script");
            script.src = url; script.onload = done; script.onerror = failed;
            document.body.appendChild(script);
          })), Promise.resolve());
      </script></body></html>`);
      page.close();
      inside.tell = (data) => this.tell(data);
      const script = page.createElement("script");
      script.src = String(url);
      script.onload = () => inside.whenLoaded();
      page.body.appendChild(script);
    }
    tell(data) {
      const event = new MessageEvent("message", { data });
      if (this.onmessage) this.onmessage(event);
      this.dispatchEvent(event);
    }
    postMessage(data) {
      this.loaded.then(() => {
        const inside = this.frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }
    terminate() {
      this.frame.remove();
    }
  };
}
