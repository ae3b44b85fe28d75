// Browsers refuse workers to pages that are opened as files. There the worker's script runs in a hidden frame, which is
// asked and answers as a worker would, so that search works without a server.
if (location.protocol === "file:") {
  window.Worker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.src = new URL(url, document.baseURI).href;
        script.onload = () => done(inside);
        script.onerror = () => failed(new Error("the script of the search could not be loaded"));
        inside.document.body.appendChild(script);
      });
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {}
  };
  window.IFrameWorker = window.Worker;
}
