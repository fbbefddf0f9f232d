// The curriculum of one run: choose it, move through its training, see what its teacher did.

const PLAY_MILLISECONDS = 450;

function curriculumExplorer() {
  const runs = report.explorer.runs.filter(({ moments }) => moments.length > 0);
  if (runs.length === 0) {
    byId("explorer").replaceWith(html("p", { class: "empty" }, "No run has been evaluated yet."));
    return;
  }
  byId("explorer").hidden = false;
  const state = { run: runs[0], k: runs[0].moments.length - 1, task: null, tasks: [], axes: firstAxes() };

  const showTasks = () => snapshotViews(state);
  const show = () => {
    const moment = state.run.moments[state.k];
    tellMoment(moment);
    story(state, (k) => {
      state.k = k;
      show();
    });
    showTasks();
    pickedView(state);
    moveTrendMarks(moment.step);
  };
  const chooseRun = (run) => {
    const { step } = state.run.moments[state.k];
    state.run = run;
    state.k = nearest(run.moments.map((moment) => moment.step), step);
    tellRun(run);
    trends(run, () => state.run.moments[state.k].step);
    show();
  };

  runChoice(runs, chooseRun);
  axisChoice(state.axes, (axes) => {
    state.axes = axes;
    showTasks();
  });
  byId("moment").addEventListener("input", (event) => {
    state.k = Number(event.target.value);
    show();
  });
  player(byId("moment"));
  taskChoice(state, showTasks);
  chooseRun(state.run);
  keepDrawn(byId("explorer"), show);
}

// What the slider's row says of a run and of a moment.
function tellRun(run) {
  byId("moment").max = run.moments.length - 1;
  byId("run-note").textContent = known(run.stopped) ? `This run stopped at step ${whole(run.stopped)}: a value was not finite. Later evaluations show its last state.` : "";
}

function tellMoment({ step }) {
  byId("moment").setAttribute("aria-valuetext", `${whole(step)} steps`);
  byId("moment-text").textContent = `${whole(step)} steps`;
}

// Return and estimate over training, and where the slider stands; a press moves it.
function story({ run, k }, move) {
  const host = byId("story-chart");
  byId("moment").value = k;
  const { moments, strategy } = run;
  const means = moments.map(({ step, performance }) => [step, performance]);
  const estimates = moments.map(({ step, estimate }) => [step, estimate]);
  const estimated = report.unit && estimates.some(([, value]) => known(value));
  const { root, x, y, top, bottom } = axes(host.clientWidth, {
    height: 210, xDomain: [0, Math.max(report.steps, moments.at(-1).step)],
    yDomain: report.unit ? [0, 1] : extent(means.map(([, value]) => value)),
    xLabel: "training steps", yLabel: "mean over the pool", right: 16, label: "This run over training",
  });
  const { step, performance, estimate } = moments[k];
  if (estimated) root.append(svg("path", { class: "curve", d: path(estimates, x, y), stroke: "var(--soft)", "stroke-dasharray": "5 4" }));
  root.append(svg("path", { class: "curve", d: path(means, x, y), stroke: colorOf(strategy) }));
  root.append(svg("line", { class: "cursor", x1: x(step), x2: x(step), y1: top, y2: bottom }));
  if (estimated && known(estimate)) root.append(svg("circle", { class: "dot", cx: x(step), cy: y(estimate), r: 4.5, fill: "var(--soft)" }));
  if (known(performance)) root.append(svg("circle", { class: "dot", cx: x(step), cy: y(performance), r: 5, fill: colorOf(strategy) }));
  host.replaceChildren(root);
  host.onclick = (event) => {
    const box = root.getBoundingClientRect();
    move(nearest(moments.map((moment) => x(moment.step)), ((event.clientX - box.left) / box.width) * root.viewBox.baseVal.width));
  };
  const guess = known(estimate) ? `, while its teacher estimated a mean success of ${fixed(estimate)}${estimated ? " (dashed line)" : ""}` : "";
  byId("story-text").textContent = `At ${whole(step)} steps this run had a mean return of ${fixed(performance, report.range)} (solid line)${guess}.`;
}

// The most picked tasks since the previous moment, and the number of episodes.
function pickedView({ run, k }) {
  const moment = run.moments[k];
  mostPicked(byId("picked"), moment);
  const since = k > 0 ? `since step ${whole(run.moments[k - 1].step)}` : "before this moment";
  const said = moment.picks > 0 ? `Of the ${whole(moment.picks)} episodes that ended ${since}.` : "The picked tasks were not recorded.";
  const missing = report.explorer.missing ? ` There are no pictures: ${report.explorer.missing}.` : "";
  byId("picked-text").textContent = said + missing;
}

// The two menus; another strategy keeps the seed if it has it.
function runChoice(runs, choose) {
  const [strategies, seeds] = [byId("run-strategy"), byId("run-seed")];
  for (const i of new Set(runs.map(({ strategy }) => strategy))) {
    strategies.append(html("option", { value: i }, report.curves[i].label));
  }
  const ofStrategy = () => runs.filter(({ strategy }) => strategy === Number(strategies.value));
  const fill = () => {
    const before = seeds.value;
    seeds.replaceChildren(...ofStrategy().map(({ seed }) => html("option", { value: seed }, String(seed))));
    if (ofStrategy().some(({ seed }) => String(seed) === before)) seeds.value = before;
  };
  const tell = () => choose(ofStrategy().find(({ seed }) => seed === Number(seeds.value)));
  strategies.addEventListener("change", () => {
    fill();
    tell();
  });
  seeds.addEventListener("change", tell);
  fill();
}

// Which features the map shows, where there are more than two.
function axisChoice(shown, choose) {
  if (features.length < 3) return;
  const lists = ["Across", "Up"].map((name, side) => {
    const list = html("select", {}, ...features.map((feature, i) => html("option", { value: i }, feature.name)));
    list.value = shown[side];
    list.addEventListener("change", () => choose(lists.map(({ value }) => Number(value))));
    byId("map-axes").append(html("label", { class: "field" }, `${name} `, list));
    return list;
  });
}

// A task is chosen by the mouse over its dot, or by arrow keys in the order of probability.
function taskChoice(state, changed) {
  const map = byId("map-chart");
  const choose = (task) => {
    state.task = task;
    changed();
  };
  map.addEventListener("pointermove", (event) => {
    const task = Number(event.target.dataset.task ?? NaN);
    if (!Number.isNaN(task) && task !== state.task) choose(task);
  });
  map.addEventListener("keydown", (event) => {
    const here = state.tasks.findIndex(({ task }) => task === state.task);
    const there = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: state.tasks.length - 1 }[event.key];
    if (there === undefined || state.tasks.length === 0) return;
    event.preventDefault();
    choose(state.tasks[Math.max(0, Math.min(state.tasks.length - 1, there))].task);
  });
}

// Moves the slider from moment to moment until its end.
function player(slider) {
  const button = byId("play");
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
    button.setAttribute("aria-pressed", "false");
  };
  const move = (to) => {
    slider.value = to;
    slider.dispatchEvent(new Event("input"));
  };
  button.addEventListener("click", () => {
    if (timer !== null) {
      stop();
      return;
    }
    button.textContent = "Pause";
    button.setAttribute("aria-pressed", "true");
    if (Number(slider.value) === Number(slider.max)) move(0);
    timer = setInterval(() => {
      move(Number(slider.value) + 1);
      if (Number(slider.value) === Number(slider.max)) stop();
    }, PLAY_MILLISECONDS);
  });
}
