"use strict";
// The theme of the page: that of the system, until the reader changes it.

const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

document.getElementById("theme").addEventListener("click", () => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  root.dataset.theme = isDark ? "light" : "dark";
});
// `report.html#dark` is dark, whatever the system is like.
if (["#dark", "#light"].includes(location.hash)) root.dataset.theme = location.hash.slice(1);

let beforePrint;
addEventListener("beforeprint", () => {
  beforePrint = root.dataset.theme;
  root.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  if (beforePrint) root.dataset.theme = beforePrint;
  else delete root.dataset.theme;
});
