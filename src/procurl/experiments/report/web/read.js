// The report's data, and the small functions that everything else is made of.
// Text from outside reaches the page by textContent alone, so that it can never become markup.

const report = JSON.parse(document.getElementById("report-data").textContent);
const MISSING = 65535;
const byId = (id) => document.getElementById(id);

// An HTML element with attributes; children are elements or text.
function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// An SVG element, likewise.
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// Numbers from base64 of little-endian 16-bit integers between lo and hi; null where missing.
function unpack({ data, lo, hi }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 2 }, (_, i) => {
    const level = view.getUint16(2 * i, true);
    return level === MISSING ? null : lo + ((hi - lo) * level) / (MISSING - 1);
  });
}

// The text with at most `length` letters.
const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

// The place of the number that is nearest to `wanted`.
function nearest(numbers, wanted) {
  return numbers.reduce((best, number, i) => (Math.abs(number - wanted) < Math.abs(numbers[best] - wanted) ? i : best), 0);
}

const known = (value) => value !== null && value !== undefined;

// 250000 as 0.25M, 1500 as 1.5k: the same as step_label in analysis/labels.py.
function stepLabel(steps) {
  if (!known(steps)) return "–";
  const size = Math.abs(steps);
  if (size >= 1e9) return `${trim(steps / 1e9)}G`;
  if (size >= 1e5) return `${trim(steps / 1e6)}M`;
  if (size >= 1e3) return `${trim(steps / 1e3)}k`;
  return String(Math.round(steps));
}

// At most three digits that count, without empty decimals.
function trim(number) {
  return String(Number(number.toPrecision(3))).replace("-", "−");
}

// All digits, as they stand in the data.
function plain(number) {
  return String(number).replace("-", "−");
}

// With as many decimals as a difference of one hundredth of `range` needs.
function fixed(number, range = 1) {
  if (!known(number)) return "–";
  const decimals = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(range || 1))));
  return number.toFixed(decimals).replace("-", "−");
}

const whole = (number) => Math.round(number).toLocaleString("en-US");

function percent(share) {
  return `${trim(100 * share)}%`;
}

// A share at a tick, with all its digits.
function percentTick(share) {
  return `${plain(Number((100 * share).toPrecision(12)))}%`;
}

// Seconds as a person says them.
function duration(seconds) {
  if (!known(seconds)) return "–";
  if (seconds < 120) return `${trim(seconds)} s`;
  if (seconds < 7200) return `${trim(seconds / 60)} min`;
  return `${trim(seconds / 3600)} h`;
}

// Color and dash tell strategies apart, so that color alone never has to.
const colorOf = (i) => `var(--c${report.curves[i].color})`;
const dashOf = (i) => report.curves[i].dash;

function swatch(i) {
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 26 10", "aria-hidden": "true" },
    svg("line", {
      x1: 1, y1: 5, x2: 25, y2: 5,
      stroke: colorOf(i), "stroke-width": 2.5, "stroke-dasharray": dashOf(i),
    }),
  );
}

// Draw now, and again whenever the host's width changes.
function keepDrawn(host, draw) {
  let width = 0;
  const redraw = () => {
    width = host.clientWidth;
    if (width > 0) draw(width);
  };
  new ResizeObserver(() => {
    if (host.clientWidth !== width) redraw();
  }).observe(host);
  redraw();
  return redraw;
}
