"use strict";
// Draws the charts of the page, in the colours of the style sheet as they are now.

const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const probe = document.body.appendChild(document.createElement("i"));
probe.hidden = true;

// What a colour of the style sheet is at the moment: plotly does not know `var(--ink)`.
function colour(text) {
  probe.style.color = text;
  return getComputedStyle(probe).color;
}

function inColours(value) {
  if (typeof value === "string") return /^var\(--[a-z]+\)$/.test(value) ? colour(value) : value;
  if (Array.isArray(value)) return value.map(inColours);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inColours(each)]));
}

const options = { responsive: true, displayModeBar: false };

function draw() {
  for (const figure of document.querySelectorAll(".chart")) {
    const { data, layout } = inColours(JSON.parse(figure.querySelector("script").textContent));
    if (!figure.drawn) figure.drawn = figure.appendChild(document.createElement("div"));
    Plotly.react(figure.drawn, data, layout, options);
  }
}

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
}

function show(theme) {
  root.dataset.theme = theme;
  draw();
}

const button = document.querySelector("button");
button.addEventListener("click", () => show(isDark() ? "light" : "dark"));
prefersDark.addEventListener("change", draw);
// `report.html#dark` is dark, whatever the system is like.
if (["#dark", "#light"].includes(location.hash)) root.dataset.theme = location.hash.slice(1);

let beforePrint;
addEventListener("beforeprint", () => { beforePrint = root.dataset.theme; show("light"); });
addEventListener("afterprint", () => {
  if (beforePrint) return show(beforePrint);
  delete root.dataset.theme;
  draw();
});

draw();
