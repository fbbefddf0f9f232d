// Everything is put in its place; each part stands on its own.

function themeButton() {
  const button = byId("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colors`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();
}

// A copy button for each command. If a page from disk may not use the clipboard, select the text.
function copyButtons() {
  for (const block of document.querySelectorAll(".command")) {
    const text = block.querySelector("pre");
    const button = html("button", { type: "button", class: "quiet" }, "Copy");
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(text);
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
    });
    block.append(button);
  }
}

themeButton();
copyButtons();
placeSwatches();
document.querySelectorAll("#final table").forEach(sortableTable);
if (report.curves.length > 0) {
  learningCurves();
  costBars();
} else {
  for (const id of ["curve-chart", "cost-chart"]) {
    byId(id).replaceWith(html("p", { class: "empty" }, "No run has been evaluated yet."));
  }
  for (const part of document.querySelectorAll("#curves .controls, #curves fieldset, #curves .reading")) part.remove();
}
curriculumExplorer();
document.documentElement.dataset.ready = "";
