// Axes, lines and bands: what all charts share.

// Round numbers between lo and hi, about `count` of them, at least `least` apart.
function ticks(lo, hi, count, least = 0) {
  const raw = (hi - lo) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const share = raw / power;
  const step = Math.max(least, power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10));
  const found = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k += 1) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

// [lowest, highest] with a little room, never empty; `fallback` where there are no numbers.
function extent(values, fallback = [0, 1]) {
  const finite = values.filter(known);
  if (finite.length === 0) return fallback;
  let lo = Infinity;
  let hi = -Infinity;
  for (const value of finite) {
    lo = Math.min(lo, value);
    hi = Math.max(hi, value);
  }
  // Nearer to each other than ticks can be told apart.
  if (hi - lo <= 1e-12 * Math.max(Math.abs(lo), Math.abs(hi))) {
    const room = Math.abs(lo) * 0.1 || 1;
    return [lo - room, hi + room];
  }
  return [lo, hi];
}

// Empty axes. Gives the svg and its scales; `x` and `y` turn numbers into pixels.
function axes(width, { height, xDomain, yDomain, xLabel, yLabel, xFormat = stepLabel, xLeast = 0, yFormat = plain, right = 14, top = 10, label }) {
  const bottom = 40;
  const [x0, x1] = xDomain;
  const [y0, y1] = yDomain;
  const up = ticks(y0, y1, Math.max(3, Math.round((height - bottom - top) / 62)));
  const left = 30 + 7 * Math.max(...up.map((tick) => yFormat(tick).length));
  const across = ticks(x0, x1, Math.max(3, Math.round((width - left - right) / 90)), xLeast);
  const x = (value) => left + ((value - x0) / (x1 - x0)) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - bottom - top);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label ?? `${yLabel} against ${xLabel}` });
  for (const tick of up) {
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }));
    root.append(svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, yFormat(tick)));
  }
  for (const tick of across) {
    root.append(svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: height - bottom, y2: height - bottom + 4 }));
    root.append(svg("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, xFormat(tick)));
  }
  root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  root.append(svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, xLabel));
  const middle = (top + height - bottom) / 2;
  root.append(svg("text", { transform: `translate(11 ${middle}) rotate(-90)`, "text-anchor": "middle" }, yLabel));
  return { root, x, y, left, right: width - right, top, bottom: height - bottom };
}

// The path through points [[x, y], …], interrupted where y is missing.
function path(points, x, y) {
  let drawn = "";
  let pen = "M";
  for (const [px, py] of points) {
    if (!known(py)) {
      pen = "M";
    } else {
      drawn += `${pen}${x(px).toFixed(1)} ${y(py).toFixed(1)}`;
      pen = "L";
    }
  }
  return drawn;
}

// The outline of a band [[x, low, high], …]; what is missing is left out.
function band(points, x, y) {
  const there = points.filter(([, low, high]) => known(low) && known(high));
  if (there.length < 2) return "";
  const upper = there.map(([px, , high]) => `${x(px).toFixed(1)} ${y(high).toFixed(1)}`);
  const lower = there.map(([px, low]) => `${x(px).toFixed(1)} ${y(low).toFixed(1)}`).reverse();
  return `M${upper.join("L")}L${lower.join("L")}Z`;
}

let clips = 0;

// A group whose drawing ends at the axes.
function clipped({ root, left, right, top, bottom }) {
  clips += 1;
  const id = `clip-${clips}`;
  root.append(svg("clipPath", { id }, svg("rect", { x: left, y: top - 2, width: Math.max(0, right - left + 2), height: bottom - top + 4 })));
  const group = svg("g", { "clip-path": `url(#${id})` });
  root.append(group);
  return group;
}

// Move labels apart, keeping their order: [{y, …}] with at least `gap` between neighbors.
function spread(labels, gap, lowest) {
  labels.sort((a, b) => a.y - b.y);
  for (let i = 1; i < labels.length; i += 1) labels[i].y = Math.max(labels[i].y, labels[i - 1].y + gap);
  for (let i = labels.length - 1; i >= 0; i -= 1) {
    labels[i].y = Math.min(labels[i].y, i === labels.length - 1 ? lowest : labels[i + 1].y - gap);
  }
  return labels;
}
