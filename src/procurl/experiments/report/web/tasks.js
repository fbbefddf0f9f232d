// Views of the tasks at one moment of one run.

const FEW = 12; // values of a feature at which tasks would hide each other
const LOW = 250; // pixels, the charts next to the map

const taskRow = new Map(report.explorer.tasks.map((task, row) => [task, row]));
const features = report.explorer.features;

// What is known of a task, as pairs of name and value.
function describe(task) {
  const row = taskRow.get(task);
  const text = report.explorer.texts[task];
  return [
    ...(text === undefined ? [] : [["task", text]]),
    ...features.map(({ name, values }) => [name, plain(values[row])]),
  ];
}

function picture(task) {
  const source = report.explorer.pictures[task];
  return source === undefined ? null : html("img", { src: source, alt: `Drawing of task ${task}` });
}

function terms(pairs) {
  return html("dl", {}, ...pairs.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
}

// Tasks with their numbers at this moment, the most likely first.
function tasksAt({ set, p, s, a }) {
  const [probability, estimate, achieved] = [unpack(p), s === null ? null : unpack(s), unpack(a)];
  return report.explorer.sets[set]
    .map((task, k) => ({ task, p: probability[k] ?? 0, s: estimate === null ? null : estimate[k], a: achieved[k] }))
    .sort((left, right) => right.p - left.p || left.task - right.task);
}

// How well an episode went, from 0 to 1 over all that this report shows.
const returns = (() => {
  const ends = report.explorer.runs.flatMap(({ moments }) => moments.flatMap(({ snapshot }) => (snapshot === null ? [] : [snapshot.a.lo, snapshot.a.hi])));
  const [lo, hi] = report.unit ? [0, 1] : extent(ends);
  return { lo, hi, share: (value) => (known(value) ? Math.max(0, Math.min(1, (value - lo) / (hi - lo))) : 0) };
})();

function taskDot(x, y, radius, achieved) {
  const share = returns.share(achieved);
  return svg("circle", {
    cx: x.toFixed(1), cy: y.toFixed(1), r: radius.toFixed(2),
    fill: `color-mix(in oklab, var(--solved) ${Math.round(100 * share)}%, var(--unsolved))`,
    stroke: `color-mix(in oklab, var(--solved) ${Math.round(100 * share)}%, var(--unsolved))`,
    "fill-opacity": (0.08 + 0.62 * share).toFixed(2), "stroke-width": 1.2,
  });
}

// The features that tell most tasks apart, which the map shows first.
function firstAxes() {
  const ranked = features.map((_, i) => i).sort((a, b) => new Set(features[b].values).size - new Set(features[a].values).size);
  return [...ranked.slice(0, 2).sort((a, b) => a - b), null, null].slice(0, 2);
}

// A number between −1 and 1 that is a task's own, to set it apart from others at the same place.
const apart = (task, turn) => 2 * ((task * turn) % 1) - 1;

// Between neighboring values of a feature.
function gaps(values) {
  const distinct = [...new Set(values.filter(known))].sort((a, b) => a - b);
  return distinct.slice(1).map((value, i) => value - distinct[i]);
}

function hasFew(axis) {
  const count = axis === null ? 0 : gaps(features[axis].values).length;
  return count > 0 && count < FEW && count < features[axis].values.length - 1;
}

// Where tasks lie along one feature; those of a feature with few values are spread around them.
function along(axis, turn) {
  if (axis === null) return null;
  const { values } = features[axis];
  const reach = hasFew(axis) ? 0.36 * Math.min(...gaps(values)) : 0;
  return (task) => values[taskRow.get(task)] + reach * apart(task, turn);
}

// The tasks by two of their features; by number and probability where they have fewer.
function taskMap(host, tasks, [across, up], chosen) {
  const width = host.clientWidth;
  const place = [along(across, 0.618034) ?? ((task) => task), along(up, 0.754878)];
  const points = tasks.map((at) => ({ ...at, x: place[0](at.task), y: place[1] === null ? at.p : place[1](at.task) }));
  const room = ([lo, hi]) => [lo - 0.06 * (hi - lo), hi + 0.06 * (hi - lo)];
  const chart = axes(width, {
    height: Math.round(Math.max(300, Math.min(420, width * 0.85))),
    xDomain: room(extent(points.map(({ x }) => x))),
    yDomain: room(extent(points.map(({ y }) => y))),
    xLabel: across === null ? "task" : features[across].name,
    yLabel: up === null ? "probability" : features[up].name,
    xFormat: plain, xLeast: across === null ? 1 : 0, yFormat: up === null ? percentTick : plain, label: "Map of the tasks",
  });
  const mean = tasks.reduce((sum, { p }) => sum + p, 0) / tasks.length || 1;
  const usual = Math.max(1.8, Math.min(5, 32 / Math.sqrt(tasks.length)));
  for (const at of points.toReversed()) {
    const radius = Math.max(1.4, Math.min(18, usual * Math.sqrt(at.p / mean)));
    const dot = taskDot(chart.x(at.x), chart.y(at.y), radius, at.a);
    dot.dataset.task = at.task;
    chart.root.append(dot);
    if (at.task === chosen) chart.root.append(svg("circle", { class: "chosen", cx: chart.x(at.x), cy: chart.y(at.y), r: radius + 3 }));
  }
  host.replaceChildren(chart.root);
  byId("map-text").textContent = hasFew(across) || hasFew(up) ? "Tasks of a feature with few values are spread around them." : "";
}

// Bars from the most to the least likely task.
function distribution(host, tasks, chosen) {
  const uniform = 1 / report.tasks;
  const chart = axes(host.clientWidth, {
    height: LOW, xDomain: [0, tasks.length], yDomain: [0, Math.max(uniform * 1.25, tasks[0].p * 1.05)],
    xLabel: "tasks, the most likely first", yLabel: "probability", xFormat: whole, xLeast: 1, yFormat: percentTick,
    label: "Probability of every task",
  });
  const step = chart.x(1) - chart.x(0);
  tasks.forEach(({ task, p, a }, k) => {
    const share = Math.round(100 * returns.share(a));
    chart.root.append(svg("rect", {
      x: chart.x(k).toFixed(2), y: chart.y(p).toFixed(2), width: Math.max(0.6, step * 0.86).toFixed(2), height: Math.max(0, chart.bottom - chart.y(p)).toFixed(2),
      fill: task === chosen ? "var(--ink)" : `color-mix(in oklab, var(--solved) ${share}%, var(--unsolved))`, opacity: 0.85,
    }));
  });
  chart.root.append(svg("line", { class: "reference", x1: chart.left, x2: chart.right, y1: chart.y(uniform), y2: chart.y(uniform) }));
  chart.root.append(svg("text", { x: chart.right, y: chart.y(uniform) - 5, "text-anchor": "end" }, "uniform"));
  host.replaceChildren(chart.root);
}

const BINS = 8;

// Success as the teacher estimates it against what an episode achieved, and means over bins.
function truth(host, tasks) {
  const points = tasks.filter(({ s, a }) => known(s) && known(a));
  const { lo, hi } = returns;
  const chart = axes(host.clientWidth, {
    height: LOW, xDomain: [0, 1], yDomain: [lo - 0.06 * (hi - lo), hi + 0.06 * (hi - lo)],
    xLabel: "estimated probability of success", yLabel: "return achieved", xFormat: plain, yFormat: plain,
    label: "Estimated success against return achieved",
  });
  if (report.unit) chart.root.append(svg("line", { class: "reference", x1: chart.x(0), y1: chart.y(0), x2: chart.x(1), y2: chart.y(1) }));
  for (const { task, s, a } of points) {
    // Tasks with the same return would lie on one line: their numbers spread them a little.
    const jitter = 0.035 * apart(task, 0.618034) * (hi - lo);
    chart.root.append(taskDot(chart.x(Math.max(0, Math.min(1, s))), chart.y(a + jitter), 3, a));
  }
  const bins = Array.from({ length: BINS }, () => []);
  for (const at of points) bins[Math.max(0, Math.min(BINS - 1, Math.floor(at.s * BINS)))].push(at);
  const means = bins.filter((bin) => bin.length > 0).map((bin) => [
    bin.reduce((sum, { s }) => sum + s, 0) / bin.length,
    bin.reduce((sum, { a }) => sum + a, 0) / bin.length,
  ]);
  chart.root.append(svg("path", { class: "curve", d: path(means, chart.x, chart.y), stroke: "var(--ink)" }));
  for (const [s, a] of means) chart.root.append(svg("circle", { class: "dot", cx: chart.x(s), cy: chart.y(a), r: 4.5, fill: "var(--ink)" }));
  host.replaceChildren(chart.root);
}

// The tasks that were picked most often since the moment before.
function mostPicked(host, moment) {
  const items = moment.picked.map(([task, times]) =>
    html("li", {}, picture(task), html("strong", {}, `Task ${task}`), `picked ${whole(times)} ×`, terms(describe(task))),
  );
  host.replaceChildren(...items);
  const image = host.querySelector("img");
  if (image !== null) {
    image.decode().then(() => host.classList.toggle("broad", image.naturalWidth > 1.5 * image.naturalHeight)).catch(() => {});
  }
}
