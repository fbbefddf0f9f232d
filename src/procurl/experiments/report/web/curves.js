// Learning curves: strategies switched on and off, two pools, three horizontal axes, a reading under the mouse.

const AXES = {
  steps: { label: "training steps", format: stepLabel },
  env: { label: "environment steps, training and teacher", format: stepLabel },
  seconds: { label: "seconds of training", format: duration },
};
const FIRST_SHOWN = 12;
const LABELLED = 12;
const MOMENTS = 60; // at which the cursor stops where evaluations differ between strategies
const LONGEST_NAME = 24;

function learningCurves() {
  const host = byId("curve-chart");
  const state = { axis: "steps", pool: "train", single: false, cursor: null, chart: null, shown: report.curves.map((_, i) => i < FIRST_SHOWN) };

  const read = (at) => {
    state.cursor = at;
    tellReading(at, state.axis, markReading(state.chart, state.axis, at));
  };
  const forget = () => {
    state.cursor = null;
    state.chart.marks.replaceChildren();
    byId("curve-reading").replaceChildren(html("span", {}, "Move the pointer over the chart, or use the arrow keys, to read values."));
  };
  const redraw = keepDrawn(host, (width) => {
    const curves = report.curves.map((curve, i) => ({ ...curve, ...curve[state.pool], i })).filter(({ i }) => state.shown[i]);
    state.chart = drawCurves(width, curves, state);
    host.replaceChildren(state.chart.root);
    if (state.cursor !== null) read(state.cursor);
  });
  const changed = () => {
    forget();
    redraw();
  };

  forget();
  host.addEventListener("pointermove", (event) => {
    const place = nearestStop(state.chart, state.axis, event.clientX);
    if (place !== null) read(place);
  });
  host.addEventListener("pointerleave", forget);
  host.addEventListener("keydown", (event) => {
    if (event.key === "Escape") forget();
    const place = nextStop(stops(state.chart.curves, state.axis), state.cursor, event.key);
    if (place === null) return;
    event.preventDefault();
    read(place);
  });
  byId("curve-axis").addEventListener("change", (event) => {
    state.axis = event.target.value;
    changed();
  });
  byId("curve-pool")?.addEventListener("change", (event) => {
    state.pool = event.target.value;
    changed();
  });
  byId("single-runs").addEventListener("change", (event) => {
    state.single = event.target.checked;
    redraw();
  });
  strategySwitches(state.shown, changed);
}

// The range of heights: from 0 where no return is negative, up to 1 where none can be higher.
function verticalDomain(curves, single) {
  const heights = curves.flatMap(({ mean, half, runs }) => [
    ...mean.flatMap((value, k) => (known(value) ? [value - (half[k] ?? 0), value + (half[k] ?? 0)] : [])),
    ...(single ? runs.flat() : []),
  ]);
  const [lo, hi] = extent(heights);
  return report.unit ? [0, Math.min(1, Math.max(0.1, hi * 1.04))] : [Math.min(lo, hi > 0 ? 0 : lo), hi];
}

// Bands or single runs first, means over them, names at their ends where there is room.
function drawCurves(width, curves, { axis, single }) {
  const named = width > 640 && curves.length <= LABELLED;
  const longest = Math.max(0, ...curves.map(({ label }) => label.length));
  const chart = axes(width, {
    height: Math.round(Math.max(280, Math.min(430, width * 0.5))),
    xDomain: [0, Math.max(...curves.flatMap((curve) => curve[axis]).filter(known), 0) || report.steps],
    yDomain: verticalDomain(curves, single),
    xLabel: AXES[axis].label, yLabel: "mean return", xFormat: AXES[axis].format,
    right: named ? Math.min(190, 30 + 6.8 * longest) : 14,
  });
  const inside = clipped(chart);
  for (const curve of curves) (single ? drawRuns : drawBand)(chart, inside, curve, curve[axis]);
  for (const curve of curves) drawMean(chart, inside, curve, curve[axis]);
  if (named) drawNames(chart, curves, axis);
  const marks = svg("g");
  chart.root.append(marks);
  return { ...chart, curves, marks };
}

function drawBand({ x, y }, inside, { i, mean, half }, at) {
  const edges = mean.map((value, k) => (known(value) && known(half[k]) ? [at[k], value - half[k], value + half[k]] : [at[k], null, null]));
  inside.append(svg("path", { class: "band", d: band(edges, x, y), fill: colorOf(i) }));
}

function drawRuns({ x, y }, inside, { i, runs }, at) {
  for (const run of runs) {
    inside.append(svg("path", { class: "curve thin", d: path(run.map((value, k) => [at[k], value]), x, y), stroke: colorOf(i) }));
  }
}

function drawMean({ root, x, y }, inside, { i, mean }, at) {
  const points = mean.map((value, k) => [at[k], value]);
  inside.append(svg("path", { class: "curve", "data-strategy": i, d: path(points, x, y), stroke: colorOf(i), "stroke-dasharray": dashOf(i) }));
  const there = points.filter(([, value]) => known(value));
  if (there.length === 1) root.append(svg("circle", { class: "dot", r: 4.5, cx: x(there[0][0]), cy: y(there[0][1]), fill: colorOf(i) }));
}

function drawNames({ root, x, y, bottom }, curves, axis) {
  const ends = curves.flatMap((curve) => {
    const k = curve.mean.findLastIndex(known);
    return k < 0 ? [] : [{ ...curve, at: x(curve[axis][k]), from: y(curve.mean[k]), y: y(curve.mean[k]) }];
  });
  for (const { i, label, at, from, y: to } of spread(ends, 15, bottom)) {
    if (Math.abs(to - from) > 4) root.append(svg("path", { d: `M${at + 3} ${from}L${at + 9} ${to}`, stroke: colorOf(i), fill: "none" }));
    root.append(svg("text", { class: "name", x: at + 11, y: to + 4 }, cut(label, LONGEST_NAME)));
  }
}

// What every strategy had reached by `at` on this axis, its latest evaluation until then: the best
// first, each with a dot on the chart.
function markReading({ x, y, top, bottom, curves, marks }, axis, at) {
  marks.replaceChildren(svg("line", { class: "cursor", x1: x(at), x2: x(at), y1: top, y2: bottom }));
  const found = curves.flatMap((curve) => {
    const k = curve[axis].findLastIndex((time, j) => known(time) && time <= at * (1 + 1e-9) && known(curve.mean[j]));
    return k < 0 ? [] : [{ ...curve, time: curve[axis][k], value: curve.mean[k], width: curve.half[k], count: curve.counts[k] }];
  });
  found.sort((a, b) => b.value - a.value);
  for (const { i, time, value } of found) marks.append(svg("circle", { class: "dot", r: 4.5, cx: x(time), cy: y(value), fill: colorOf(i) }));
  return found;
}

function tellReading(at, axis, found) {
  const place = byId("curve-reading");
  place.replaceChildren(
    html("span", {}, `By ${axis === "seconds" ? duration(at) : `${stepLabel(at)} steps`}:`),
    ...found.map(({ i, label, value, width, count }) => {
      const half = known(width) ? ` ± ${fixed(width, report.range)}` : "";
      return html("span", {}, swatch(i), `${label} `, html("b", {}, `${fixed(value, report.range)}${half}`), ` (${count})`);
    }),
  );
  // It may grow, and never shrinks: what stands below would jump about.
  place.style.minHeight = `${place.offsetHeight}px`;
}

// The places at which the cursor stops: evaluations, or even moments where those differ.
function stops(curves, axis) {
  const times = curves.flatMap((curve) => curve[axis]).filter(known);
  if (axis === "steps" || times.length === 0) return [...new Set(times)].sort((a, b) => a - b);
  const last = Math.max(...times);
  return Array.from({ length: MOMENTS }, (_, k) => (last * (k + 1)) / MOMENTS);
}

function nearestStop({ root, x, curves }, axis, clientX) {
  const box = root.getBoundingClientRect();
  const pixel = ((clientX - box.left) / box.width) * root.viewBox.baseVal.width;
  const places = stops(curves, axis);
  return places.length === 0 ? null : places[nearest(places.map(x), pixel)];
}

// Where a key leads from the cursor, null where it leads nowhere.
function nextStop(places, cursor, key) {
  const here = cursor === null ? -1 : places.findLastIndex((place) => place <= cursor * (1 + 1e-9));
  const there = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: places.length - 1 }[key];
  if (there === undefined || places.length === 0) return null;
  return places[Math.max(0, Math.min(places.length - 1, there))];
}

// A box to tick for every strategy, and two buttons where there are many.
function strategySwitches(shown, changed) {
  const host = byId("curve-strategies");
  const boxes = report.curves.map(({ label }, i) => {
    const box = html("input", { type: "checkbox", value: i });
    box.checked = shown[i];
    box.addEventListener("change", () => {
      shown[i] = box.checked;
      changed();
    });
    host.append(html("label", {}, box, swatch(i), label));
    return box;
  });
  if (boxes.length < 4) return;
  const all = [["All", true], ["None", false]].map(([name, on]) => {
    const button = html("button", { type: "button", class: "quiet" }, name);
    button.addEventListener("click", () => {
      boxes.forEach((box, i) => {
        box.checked = on;
        shown[i] = on;
      });
      changed();
    });
    return button;
  });
  host.append(html("span", { class: "all" }, ...all));
}
