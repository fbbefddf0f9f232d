// Small charts of what the picked tasks were like over training, one per feature.

const DENSE = 200; // points, from which a line is drawn finer

let trendMarks = [];

function trends(run, step) {
  const host = byId("trends");
  trendMarks = [];
  byId("trends-figure").hidden = run.trend === null || features.length === 0;
  if (run.trend === null || features.length === 0) return;
  const steps = unpack(run.trend.steps);
  byId("trends-text").textContent = `Means over blocks of ${whole(run.trend.block)} picked tasks. The dashed line is the mean of the pool.`;
  const places = features.map(() => html("div", { class: "chart" }));
  host.replaceChildren(...places);
  features.forEach((feature, i) => {
    keepDrawn(places[i], (width) => {
      trendMarks[i] = drawTrend(places[i], width, feature, steps, unpack(run.trend.means[i]), colorOf(run.strategy));
      trendMarks[i](step());
    });
  });
}

// Draws one feature; gives the function that moves its mark.
function drawTrend(host, width, feature, steps, means, color) {
  const name = feature.trend;
  // At least the middle half of the pool is in view, so that chance looks like chance.
  const [lo, hi] = extent([...means, feature.mean, ...feature.spread]);
  const chart = axes(width, {
    height: 190, xDomain: [0, Math.max(report.steps, steps.at(-1))], yDomain: [lo - 0.05 * (hi - lo), hi + 0.05 * (hi - lo)],
    xLabel: "training steps", yLabel: name, label: `${name} of the picked tasks over training`,
  });
  chart.root.append(svg("line", { class: "reference", x1: chart.left, x2: chart.right, y1: chart.y(feature.mean), y2: chart.y(feature.mean) }));
  chart.root.append(svg("path", { class: steps.length > DENSE ? "curve fine" : "curve", d: path(steps.map((step, k) => [step, means[k]]), chart.x, chart.y), stroke: color }));
  if (steps.length === 1) chart.root.append(svg("circle", { class: "dot", r: 4, cx: chart.x(steps[0]), cy: chart.y(means[0]), fill: color }));
  const mark = svg("line", { class: "cursor", y1: chart.top, y2: chart.bottom });
  chart.root.append(mark);
  host.replaceChildren(chart.root);
  return (step) => {
    mark.setAttribute("x1", chart.x(step));
    mark.setAttribute("x2", chart.x(step));
  };
}

function moveTrendMarks(step) {
  for (const move of trendMarks) move?.(step);
}
