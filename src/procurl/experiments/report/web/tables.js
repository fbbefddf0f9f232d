// The table of final results, sorted by the column whose head is pressed, and the bars of the cost.

function sortableTable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  // Numbers stand in data-value; what is missing goes last, whichever way is up.
  const value = (row, column) => row.cells[column].dataset.value ?? "";
  heads.forEach((head, column) => {
    const button = html("button", { type: "button" }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const text = column === 0;
      const first = head.dataset.first;
      const now = head.getAttribute("aria-sort");
      const direction = now === null ? first : now === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction);
      const sign = direction === "ascending" ? 1 : -1;
      const rows = [...body.rows].sort((a, b) => {
        const [left, right] = [value(a, column), value(b, column)];
        if (left === "" || right === "") return (left === "") - (right === "");
        return sign * (text ? left.localeCompare(right) : Number(left) - Number(right));
      });
      body.append(...rows);
    });
  });
}

// Swatches into the places that the tables keep for them.
function placeSwatches() {
  for (const place of document.querySelectorAll("[data-swatch]")) {
    place.replaceChildren(swatch(Number(place.dataset.swatch)));
  }
}

const ROW = 46;

function costBars() {
  const host = byId("cost-chart");
  const most = Math.max(1, ...report.cost.map(({ train, teacher }) => train + teacher));
  keepDrawn(host, (width) => {
    const room = width - 150;
    const root = svg("svg", { viewBox: `0 0 ${width} ${report.cost.length * ROW + 30}`, role: "img", "aria-label": "Environment steps of every strategy" });
    report.cost.forEach(({ label, train, teacher, seconds }, i) => {
      const top = i * ROW + 6;
      const [a, b] = [(train / most) * room, (teacher / most) * room];
      const times = (train + teacher) / (train || 1);
      root.append(svg("text", { class: "name", x: 0, y: top + 10 }, cut(label, 48)));
      root.append(svg("rect", { x: 0, y: top + 17, width: Math.max(1, a), height: 12, rx: 2, fill: "var(--solved)" }));
      if (b > 0) root.append(svg("rect", { x: a + 1.5, y: top + 17, width: Math.max(1, b), height: 12, rx: 2, fill: "var(--c4)" }));
      root.append(svg("text", { x: a + b + 10, y: top + 27 }, `${stepLabel(train + teacher)}${teacher > 0 ? `, ${trim(times)}×` : ""} · ${duration(seconds)}`));
    });
    const y = report.cost.length * ROW + 18;
    root.append(svg("rect", { x: 0, y: y - 9, width: 12, height: 10, rx: 2, fill: "var(--solved)" }), svg("text", { x: 18, y }, "training"));
    root.append(svg("rect", { x: 84, y: y - 9, width: 12, height: 10, rx: 2, fill: "var(--c4)" }), svg("text", { x: 102, y }, "teacher"));
    host.replaceChildren(root);
  });
}
