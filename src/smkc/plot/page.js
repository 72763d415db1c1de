// Draws the page's charts with uPlot, in the page's own colours.
(() => {
  const DAY = 86_400_000;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const boxes = [...document.querySelectorAll(".chart")];
  const plots = new Map();
  let zoom = null; // of the charts over the whole recording, which zoom together
  let isFollowing = false;

  const css = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
  const clock = (at) => new Date(at).toISOString().slice(0, 19).replace("T", " ");
  const figure = (value) => (value === null || value === undefined ? "-" : Number(value.toPrecision(4)).toString());
  const share = (value) => `${figure(100 * value)}%`;

  const timeWords = (plot, splits, axis, space, step) => splits.map((at, i) => {
    const [day, time] = new Date(at).toISOString().split("T");
    if (step >= DAY) return day;
    const short = step < 60_000 ? time.slice(0, 8) : time.slice(0, 5);
    return i === 0 || at % DAY === 0 ? `${short}\n${day}` : short;
  });

  const options = (chart, box) => {
    const [ink, muted, rule] = ["--ink", "--muted", "--rule"].map(css);
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: muted, font, ticks: { stroke: rule, size: 4 } };
    const values = chart.is_share ? (plot, splits) => splits.map(share) : undefined;
    const along = chart.axis === "time" ? { values: timeWords }
      : chart.axis === "log" ? { splits: () => chart.x, values: (plot, splits) => splits.map(share), filter: null } : {};
    const usual = (chart.usual ?? []).map(() => ({ stroke: "transparent", points: { show: false } }));
    const lines = chart.lines.map((line) => ({
      label: line.name,
      stroke: css(line.colour),
      width: 1.3,
      dash: line.is_dashed ? [3, 3] : undefined,
      paths: line.is_stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
      points: line.has_points ? { show: true, size: 3, fill: css(line.colour) } : { show: false },
    }));
    return {
      width: box.clientWidth,
      height: chart.height,
      ms: 1,
      tzDate: (at) => uPlot.tzDate(new Date(at), "Etc/UTC"),
      padding: [chart.marks ? 20 : 8, 12, 0, 0],
      legend: { show: Boolean(chart.has_legend) },
      cursor: { y: false, drag: { x: chart.axis !== "log", y: false }, points: { show: false } },
      scales: {
        x: { time: chart.axis === "time", distr: chart.axis === "log" ? 3 : 1 },
        y: { range: (plot, low, high) => valueRange(chart, low, high), dir: chart.cells ? -1 : 1 },
      },
      axes: [
        { ...axis, ...along, grid: { show: false } },
        { ...axis, values, size: 52, grid: { stroke: rule, width: 1, show: !chart.cells },
          label: chart.label || undefined, labelFont: font, labelSize: 16, labelGap: 0 },
      ],
      series: [{ label: chart.along ?? "", value: (plot, at) => (at === null ? "" : place(chart, at)) },
        ...usual, ...lines.map((line) => ({ ...line, value: (plot, y) => said(chart, y) }))],
      bands: chart.usual ? [{ series: [2, 1], fill: css("--usual") }] : [],
      hooks: {
        drawClear: [(plot) => drawBehind(plot, chart)],
        draw: [(plot) => drawAbove(plot, chart, ink)],
        setCursor: [(plot) => read(plot, chart, box)],
        setScale: [(plot, scale) => scale === "x" && chart.is_linked && follow(box)],
      },
    };
  };

  const said = (chart, value) => (chart.is_share && value !== null ? share(value) : figure(value));
  const place = (chart, at) => (chart.axis === "time" ? clock(at) : chart.axis === "log" ? share(at) : figure(at));

  const valueRange = (chart, low, high) => {
    if (chart.cells) return [0, chart.cells.names.length];
    if (low === null || low === undefined) return [0, 1];
    const margin = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1;
    return [chart.low ?? low - margin, chart.high ?? high + margin];
  };

  // ------------------------------------------------------------------------ drawing

  const inside = (plot, paint) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    paint(ctx, bbox);
    ctx.restore();
  };

  const extent = (plot, span) => {
    const from = plot.valToPos(span.from, "x", true);
    const to = Math.max(plot.valToPos(span.to, "x", true), from + 2 * devicePixelRatio);
    return [from, to - from];
  };

  const drawBehind = (plot, chart) => {
    inside(plot, (ctx, box) => {
      if (chart.cells) drawCells(plot, chart.cells, chart.x, ctx, box);
      for (const span of chart.spans ?? []) {
        const [from, wide] = extent(plot, span);
        if (span.is_framed) continue;
        ctx.fillStyle = css(span.colour);
        ctx.fillRect(from, box.top, wide, span.is_tip ? 4 * devicePixelRatio : box.height);
      }
    });
  };

  const drawAbove = (plot, chart, ink) => {
    const one = devicePixelRatio;
    inside(plot, (ctx, box) => {
      ctx.lineWidth = one;
      for (const span of (chart.spans ?? []).filter((some) => some.is_framed)) {
        ctx.strokeStyle = css(span.colour);
        ctx.strokeRect(...[extent(plot, span)].flatMap(([from, wide]) => [from, box.top, wide, box.height]));
      }
      ctx.strokeStyle = ink;
      ctx.setLineDash([4 * one, 3 * one]);
      ctx.beginPath();
      if (chart.threshold !== undefined) {
        const level = plot.valToPos(chart.threshold, "y", true);
        ctx.moveTo(box.left, level);
        ctx.lineTo(box.left + box.width, level);
      }
      if (chart.used !== undefined) {
        const at = plot.valToPos(chart.used, "x", true);
        ctx.moveTo(at, box.top);
        ctx.lineTo(at, box.top + box.height);
      }
      ctx.stroke();
    });
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.textAlign = "center";
    ctx.font = `${11 * one}px ${getComputedStyle(document.body).fontFamily}`;
    for (const mark of chart.marks ?? []) {
      const at = plot.valToPos(mark.x, "x", true);
      if (at < bbox.left || at > bbox.left + bbox.width) continue;
      ctx.fillStyle = css(mark.colour);
      ctx.fillText(mark.text, at, bbox.top + (mark.is_inside ? 14 : -5) * one);
    }
    ctx.restore();
  };

  // Presence, a column of cells for each stretch of rows, however long each took.
  const drawCells = (plot, cells, x, ctx, box) => {
    const picture = (cells.picture ??= {})[css("--line-1")] ??= coloured(cells);
    ctx.imageSmoothingEnabled = false;
    const top = plot.valToPos(0, "y", true);
    const high = plot.valToPos(cells.names.length, "y", true) - top;
    for (let column = 0; column < cells.columns; column += 1) {
      const from = Math.floor(plot.valToPos(x[column], "x", true));
      const to = Math.ceil(plot.valToPos(x[column + 1], "x", true));
      if (to < box.left || from > box.left + box.width) continue;
      ctx.drawImage(picture, column, 0, 1, cells.names.length, from, top, Math.max(to - from, 1), high);
    }
  };

  const coloured = (cells) => {
    const canvas = document.createElement("canvas");
    canvas.width = cells.columns;
    canvas.height = cells.names.length;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const [empty, full] = ["--empty", "--line-1"].map((name) => {
      context.fillStyle = css(name);
      context.fillRect(0, 0, 1, 1);
      return context.getImageData(0, 0, 1, 1).data;
    });
    const image = context.createImageData(canvas.width, canvas.height);
    sharesOf(cells).forEach((percent, i) => {
      for (let part = 0; part < 4; part += 1) {
        image.data[4 * i + part] = empty[part] + (percent / 100) * (full[part] - empty[part]);
      }
    });
    context.putImageData(image, 0, 0);
    return canvas;
  };

  const sharesOf = (cells) => (cells.shares ??= Uint8Array.from(atob(cells.bytes), (one) => one.charCodeAt(0)));

  // ------------------------------------------------------------------------ reading and zooming

  const read = (plot, chart, box) => {
    const { idx, left, top } = plot.cursor;
    const reading = box.querySelector(".reading");
    if (idx === null || idx === undefined || left < 0) reading.textContent = "";
    else if (chart.cells) {
      const line = Math.floor(plot.posToVal(top, "y"));
      const at = plot.posToVal(left, "x");
      let column = chart.x.findIndex((one) => one > at) - 1;
      if (column < 0) column = chart.cells.columns - 1;
      const name = chart.cells.names[line];
      const percent = sharesOf(chart.cells)[line * chart.cells.columns + column];
      reading.textContent = name === undefined ? ""
        : `${name}, ${place(chart, chart.x[column])}: observed in ${percent}% of the rows`;
    } else if (!chart.has_legend) {
      const values = chart.lines.map((line) => `${line.name} ${said(chart, line.y[idx])}`);
      reading.textContent = `${place(chart, chart.x[idx])}  ${values.join(", ")}`;
    }
  };

  const follow = (origin) => {
    const plot = plots.get(origin);
    if (isFollowing || !plot) return;
    isFollowing = true;
    const { min, max } = plot.scales.x;
    zoom = { min, max };
    for (const [box, other] of plots) {
      if (box !== origin && charts[box.dataset.chart].is_linked) other.setScale("x", zoom);
    }
    isFollowing = false;
  };

  const draw = (box) => {
    const chart = charts[box.dataset.chart];
    plots.get(box)?.destroy();
    plots.delete(box);
    box.replaceChildren(Object.assign(document.createElement("output"), { className: "reading" }));
    const plot = new uPlot(options(chart, box), [chart.x, ...(chart.usual ?? []), ...chart.lines.map((line) => line.y)], box);
    if (chart.is_linked && zoom) plot.setScale("x", zoom);
    plots.set(box, plot);
  };

  const fitter = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      const plot = plots.get(target);
      if (plot && target.clientWidth) plot.setSize({ width: target.clientWidth, height: charts[target.dataset.chart].height });
    }
  });
  for (const box of boxes) {
    draw(box);
    fitter.observe(box);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => [...plots.keys()].forEach(draw));
})();
