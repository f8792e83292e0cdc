// The page in a frame: its questions go to Python, the answers back.
function render({model, el}) {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts allow-forms allow-downloads";
  frame.title = "jaxzero";
  frame.style = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.srcdoc = model.get("page");
  const ask = event => { if (event.source === frame.contentWindow) model.send(event.data); };
  const answer = message => frame.contentWindow?.postMessage(message, "*");
  addEventListener("message", ask);
  model.on("msg:custom", answer);
  el.append(frame);
  return () => { removeEventListener("message", ask); model.off("msg:custom", answer); };
}
export default {render};
