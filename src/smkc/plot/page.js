// Draws the page's charts when they come near the screen, in the page's own colours.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const config = { displayModeBar: false, responsive: true };
  const drawn = new Set();
  let isFollowing = false;

  // A colour is written {"css": "--name"}: look it up in the style that holds now.
  const dressed = (part, style) => {
    if (Array.isArray(part)) return part.map((one) => dressed(one, style));
    if (part === null || typeof part !== "object") return part;
    if ("css" in part) return style.getPropertyValue(part.css).trim();
    if (part.family === "inherit") part = { ...part, family: style.fontFamily };
    return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, dressed(one, style)]));
  };

  const draw = (box) => {
    const chart = charts[box.dataset.chart];
    const style = getComputedStyle(document.body);
    const layout = dressed(chart.layout, style);
    const data = dressed(chart.data, style);
    if (chart.row_text) data[0].text = data[0].text.map((name) => data[0].x.map(() => name));
    if (box.layout && box.layout.xaxis) layout.xaxis.range = box.layout.xaxis.range;
    const isFirst = !drawn.has(box);
    drawn.add(box);
    Plotly.react(box, data, layout, config);
    if (isFirst && chart.linked) box.on("plotly_relayout", (change) => follow(box, change));
  };

  // Zooming one of the charts over the whole recording zooms the others along.
  const follow = (origin, change) => {
    const isMoved = "xaxis.range[0]" in change || "xaxis.autorange" in change;
    if (isFollowing || !isMoved) return;
    isFollowing = true;
    const first = charts[origin.dataset.chart].layout.xaxis.range;
    const range = "xaxis.autorange" in change ? first : origin.layout.xaxis.range;
    const others = [...drawn].filter((box) => charts[box.dataset.chart].linked);
    const moves = others.map((box) => Plotly.relayout(box, { "xaxis.range": [...range] }));
    Promise.all(moves).then(() => { isFollowing = false; });
  };

  const boxes = [...document.querySelectorAll(".chart")];
  const watcher = new IntersectionObserver((seen) => {
    for (const one of seen.filter((entry) => entry.isIntersecting)) {
      watcher.unobserve(one.target);
      draw(one.target);
    }
  }, { rootMargin: "600px" });
  boxes.forEach((box) => watcher.observe(box));

  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", () => drawn.forEach(draw));
  addEventListener("beforeprint", () => boxes.forEach(draw));
})();
