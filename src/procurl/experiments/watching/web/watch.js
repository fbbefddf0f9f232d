// Asks for the progress every few seconds, and shows the report again when there is more in it.

const SECONDS = 3;
const state = document.getElementById("state");
const list = document.getElementById("contenders");
const follow = document.getElementById("follow");
const report = document.getElementById("report");
let shown = null;

function item(one) {
  const bar = document.createElement("progress");
  bar.value = one.progress;
  const score = one.performance === null ? "" : `, mean return ${one.performance.toFixed(3)}`;
  const running = one.running ? `, ${one.running} running` : "";
  const entry = document.createElement("li");
  entry.append(bar, `${one.label}: ${one.finished} of ${one.planned} runs${running}${score}`);
  return entry;
}

function ago(seconds) {
  return seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

// The frame is loaded again; the reader stays where they were.
function update() {
  const place = report.contentWindow.scrollY;
  report.addEventListener("load", () => report.contentWindow.scrollTo(0, place), { once: true });
  report.contentWindow.location.reload();
}

async function look() {
  try {
    const answer = await fetch("/status");
    if (!answer.ok) throw new Error(answer.statusText);
    const now = await answer.json();
    const news = `latest record ${ago(now.since)} ago`;
    state.textContent = now.finished ? "All runs are finished" : [now.left, news].filter(Boolean).join(", ");
    list.replaceChildren(...now.contenders.map(item));
    if (shown === null) shown = now.version;
    if (follow.checked && now.version !== shown) {
      shown = now.version;
      update();
    }
  } catch (error) {
    state.textContent = `No answer from procurl watch (${error.message})`;
  }
  setTimeout(look, 1000 * SECONDS);
}

look();
