// The views of one moment's snapshot: map, distribution, estimates, and the task that is chosen.

function snapshotViews(state) {
  const { run, k, axes: shown } = state;
  const { snapshot, entropy } = run.moments[k];
  state.tasks = snapshot === null ? [] : tasksAt(snapshot);
  if (snapshot === null) {
    noSnapshot();
    return;
  }
  if (!state.tasks.some(({ task }) => task === state.task)) state.task = state.tasks[0].task;
  taskMap(byId("map-chart"), state.tasks, shown, state.task);
  distribution(byId("distribution-chart"), state.tasks, state.task);
  byId("distribution-text").textContent = `Colors as on the map. ${spreadText(entropy)}${followedText(state.tasks)}`;
  truthView(state.tasks, report.curves[run.strategy].label);
  taskCard(state.tasks, state.task);
}

function noSnapshot() {
  for (const id of ["map-chart", "distribution-chart", "truth-chart"]) {
    byId(id).replaceChildren(html("p", { class: "empty" }, "The distribution over tasks was not recorded at this evaluation."));
  }
  for (const id of ["distribution-text", "truth-text", "map-text", "task-card"]) byId(id).replaceChildren();
}

function spreadText(entropy) {
  if (!known(entropy)) return "";
  return `As spread out as ${trim(Math.exp(entropy))} equally likely tasks of ${whole(report.tasks)} (exponential of the entropy).`;
}

function followedText(tasks) {
  if (tasks.length >= report.tasks) return "";
  const held = tasks.reduce((sum, { p }) => sum + p, 0);
  return ` The ${whole(tasks.length)} tasks drawn hold ${percent(held)} of the probability.`;
}

function truthView(tasks, label) {
  const host = byId("truth-chart");
  if (tasks.every(({ s }) => !known(s))) {
    byId("truth-text").textContent = "";
    host.replaceChildren(html("p", { class: "empty" }, `${label} does not estimate success.`));
    return;
  }
  const right = report.unit ? ", shifted slightly up or down to avoid overlap. On the dashed line, estimates are exact" : "";
  byId("truth-text").textContent = `Each dot is a task${right}. The solid line joins means of tasks with similar estimates.`;
  truth(host, tasks);
}

function taskCard(tasks, chosen) {
  const rank = tasks.findIndex(({ task }) => task === chosen);
  const { task, p, s, a } = tasks[rank];
  const pairs = [
    ["picked next", `${percent(p)}, ${trim(p * report.tasks)} × uniform`],
    ...(known(s) ? [["estimate", fixed(s)]] : []),
    ["achieved", fixed(a, report.range)],
    ...describe(task),
  ];
  const text = html("div", {}, html("strong", {}, `Task ${task}, the ${ordinal(rank + 1)} likely`), terms(pairs));
  byId("task-card").replaceChildren(...[picture(task), text].filter((part) => part !== null));
}

// "most", "2nd most", "11th most".
function ordinal(rank) {
  if (rank === 1) return "most";
  const teens = rank % 100 > 10 && rank % 100 < 14;
  return `${rank}${(teens ? null : { 1: "st", 2: "nd", 3: "rd" }[rank % 10]) ?? "th"} most`;
}
