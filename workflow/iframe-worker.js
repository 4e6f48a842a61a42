// Browsers start no worker on a page from file://. There the worker of the site's search runs in a
// hidden frame; the theme does so too where a script of this file's name is loaded.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><title>search</title>";
      const script = new URL(address, location);
      this.ready = new Promise((resolve, reject) => {
        this.frame.onload = () => {
          const inside = this.frame.contentWindow;
          // What the worker says is for the page, not for its own frame.
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const element = inside.document.createElement("script");
          element.src = script;
          element.onload = resolve;
          element.onerror = reject;
          inside.document.body.append(element);
        };
      });
      document.body.append(this.frame);
    }

    async postMessage(data) {
      await this.ready;
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
