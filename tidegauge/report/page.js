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

const options = { displayModeBar: false };
const paperWidth = 680;
const figures = [...document.querySelectorAll(".chart")];
const overTime = figures.filter((each) => each.classList.contains("over-time"));
let isPrinting = false;
// The part of the run that is shown, in seconds; undefined: all of it.
let shown;

function draw() {
  for (const figure of figures) {
    const { data, layout } = inColours(JSON.parse(figure.querySelector("script").textContent));
    if (shown && overTime.includes(figure)) layout.xaxis.range = [...shown];
    const plot = figure.querySelector(".plot");
    layout.width = isPrinting ? paperWidth : plot.clientWidth;
    const isFirst = !plot.classList.contains("js-plotly-plot");
    Plotly.react(plot, data, layout, options);
    if (isFirst && overTime.includes(figure)) plot.on("plotly_relayout", follow);
  }
}

// What is zoomed in one chart over time is zoomed in all of them.
function follow(change) {
  const from = change["xaxis.range[0]"], to = change["xaxis.range[1]"];
  if (from !== undefined) zoom([from, to]);
  else if (change["xaxis.autorange"]) zoom(undefined);
}

function zoom(span) {
  if (String(span) === String(shown)) return;
  shown = span;
  draw();
}

for (const button of document.querySelectorAll(".zoom button")) {
  button.addEventListener("click", () => {
    zoom([Number(button.dataset.from), Number(button.dataset.to)]);
  });
}

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
}

function show(theme) {
  root.dataset.theme = theme;
  draw();
}

document.getElementById("theme").addEventListener("click", () => show(isDark() ? "light" : "dark"));
prefersDark.addEventListener("change", draw);
// `report.html#dark` is dark, whatever the system is like.
if (["#dark", "#light"].includes(location.hash)) root.dataset.theme = location.hash.slice(1);

let beforePrint;
addEventListener("beforeprint", () => {
  beforePrint = root.dataset.theme;
  isPrinting = true;
  show("light");
});
addEventListener("afterprint", () => {
  isPrinting = false;
  if (beforePrint) return show(beforePrint);
  delete root.dataset.theme;
  draw();
});

// All is drawn once, and again whenever the page has another width.
const main = document.querySelector("main");
let width = main.getBoundingClientRect().width;
draw();
new ResizeObserver(() => {
  const now = main.getBoundingClientRect().width;
  if (now === width || isPrinting) return;
  width = now;
  draw();
}).observe(main);
