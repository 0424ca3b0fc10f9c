"""Reports in a real browser, offline: at two widths, in light and dark, by keys, and on paper."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from small_clusters import cluster_of, producers_of
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.report.charts import layout
from tidegauge.analysis.report.page import page
from tidegauge.analysis.report.report import write_report
from tidegauge.analysis.report.section import Chart, Section
from tidegauge.engine.simulate import simulate

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")

#: What a reader of the page sees of the colour ``var(--ink)``.
INK = {"light": "rgb(27, 32, 37)", "dark": "rgb(230, 233, 236)"}

#: Finds texts that overlap, presses the second button that zooms, and tells what it saw.
PROBE = """
<script>
addEventListener("load", () => setTimeout(() => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const boxes = [];
  // What is scrolled out of sight within an element is in nobody's way.
  const clipped = ({ left, right, top, bottom }, element) => {
    for (let each = element; each !== document.body; each = each.parentElement) {
      if (getComputedStyle(each).overflow === "visible") continue;
      const frame = each.getBoundingClientRect();
      left = Math.max(left, frame.left); right = Math.min(right, frame.right);
      top = Math.max(top, frame.top); bottom = Math.min(bottom, frame.bottom);
    }
    return { left, right, top, bottom };
  };
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, .skip")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = parent.closest("svg") ? [parent.getBoundingClientRect()] : range.getClientRects();
    for (const { left, right, top, bottom } of [...rects].map((rect) => clipped(rect, parent))) {
      if (right > left && bottom > top && right > 0 && getComputedStyle(parent).opacity !== "0")
        boxes.push({ node, text: node.data.trim(), left, right, top, bottom });
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  const overlaps = [];
  boxes.forEach((a, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom - 3; j++) {
      const b = boxes[j];
      if (a.node !== b.node && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2)
        overlaps.push([a.text, b.text].sort());
    }
  });
  const plots = [...document.querySelectorAll(".over-time .plot")];
  const range = () => plots.map((plot) => plot._fullLayout.xaxis.range.map((x) => Math.round(x)));
  const before = range();
  const button = document.querySelectorAll(".zoom button")[1];
  if (button) { button.focus(); button.click(); }
  const found = {
    width: innerWidth,
    pageWidth: document.documentElement.scrollWidth,
    texts: boxes.length,
    overlaps,
    tooWide: [...document.querySelectorAll(".plot svg.main-svg")]
      .filter((svg) => svg.getBoundingClientRect().right > innerWidth).length,
    ink: getComputedStyle(document.querySelector(".plot text")).fill,
    unnamed: [...document.querySelectorAll("button, [role], nav, section, table")].filter((each) =>
      !(each.getAttribute("aria-label") || each.getAttribute("aria-labelledby")
        || each.textContent.trim())).length,
    reachable: [...document.querySelectorAll(".wide")].every((each) => each.tabIndex === 0),
    before: before,
    zoomed: range(),
  };
  parent.postMessage(JSON.stringify(found), "*");
}, 500));
</script>
"""


#: A page has the width of its frame: a window cannot be as narrow as a phone.
FRAME = """
<!DOCTYPE html><body style="margin:0"><pre id="probe"></pre>
<script>
addEventListener("message", (told) => {
  document.getElementById("probe").textContent = told.data;
});
</script>
<iframe src="report.html#THEME" style="border:0;width:WIDTHpx;height:900px"></iframe>
"""


class Seen(NamedTuple):
    """What came of a page."""

    dom: str
    #: What the console said.
    said: list[str]

    @property
    def probe(self) -> dict[str, Any]:
        """What the probe has found."""
        (text,) = re.findall(r'<pre id="probe">(.*?)</pre>', self.dom, re.DOTALL)
        found: dict[str, Any] = json.loads(unescape(text))
        return found


def browser(file: Path, address: str, *words: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    return subprocess.run(
        [
            BROWSER,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--disable-sync", "--no-first-run"),
            *("--enable-logging=stderr", "--virtual-time-budget=5000", *words),
            f"--user-data-dir={file.parent / 'browser'}",
            f"{file.as_uri()}#{address}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def opened(text: str, folder: Path, theme: str) -> Seen:
    """A page after its scripts have run."""
    file = folder / "report.html"
    file.write_text(text)
    done = browser(file, theme, "--dump-dom")
    return Seen(done.stdout, re.findall(r"CONSOLE.*", done.stderr))


def probed(text: str, folder: Path, theme: str, width: int = 1280) -> Seen:
    """A page with the probe, in a frame of so many pixels."""
    (folder / "report.html").write_text(text.replace("</body>", f"{PROBE}</body>"))
    frame = folder / "frame.html"
    frame.write_text(FRAME.replace("THEME", theme).replace("WIDTH", str(width)))
    done = browser(frame, "", "--dump-dom", "--window-size=1400,900")
    return Seen(done.stdout, re.findall(r"CONSOLE.*", done.stderr))


def charts(*layouts: dict[str, object]) -> str:
    """A page with a chart for each."""
    data = [{"type": "bar", "x": [1, 2], "y": [3, 4], "name": "bars"}]
    drawn = [Chart("bars", data, each) for each in layouts]
    return page("charts", [Section("charts", "Charts", "They are drawn.", drawn, ["tidegauge"])])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A leader is cut off, and loses its power: the report has all of its sections."""
    folder = tmp_path_factory.mktemp("runs") / "lost"
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 4000},
        duration="30s",
        liveness=True,
        workload={"producers": [producers_of(200, "2s", "28s", acks=1)]},
        faults=[
            {"name": "cut", "kind": "cut_link", "at": "7s", "for": "3s", "between": [[1], [2, 3]]},
            {"name": "power " * 12, "kind": "power_loss", "at": "8s", "for": "9s", "brokers": [1]},
        ],
    )
    simulate(scenario, folder)
    return write_report(RunTables([folder], folder / "tables"), folder).read_text()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", INK)
def test_a_report_is_readable(report: str, theme: str, width: int, tmp_path: Path) -> None:
    seen = probed(report, tmp_path, theme, width)
    assert seen.said == []
    found = seen.probe
    assert found["width"] == width
    assert found["pageWidth"] <= width
    assert found["tooWide"] == 0
    assert found["texts"] > 300
    assert found["overlaps"] == []
    assert found["ink"] == INK[theme]


def test_a_report_is_used_without_a_mouse(report: str, tmp_path: Path) -> None:
    """Buttons zoom all charts over time; tables scroll by keys; all that is named has a name."""
    found = probed(report, tmp_path, "light").probe
    assert len(found["before"]) > 5
    assert found["before"] == [[0, 30]] * len(found["before"])
    assert found["zoomed"] == [[6, 11]] * len(found["before"])  # the cut, 7 s to 10 s
    assert found["reachable"]
    assert found["unnamed"] == 0


def test_a_report_is_printed_in_light_colours_and_whole(report: str, tmp_path: Path) -> None:
    watched = """<script>addEventListener("beforeprint", () => setTimeout(() => 0));
    addEventListener("afterprint", () => console.log("charts are " +
      [...new Set([...document.querySelectorAll(".plot")].map((p) => p._fullLayout.width))]));
    </script>"""
    file = tmp_path / "report.html"
    file.write_text(report.replace("<main>", f"{watched}<main>"))
    paper = tmp_path / "report.pdf"
    done = browser(file, "dark", f"--print-to-pdf={paper}")
    assert re.findall(r'CONSOLE.*?"(.*?)"', done.stderr) == ["charts are 680"]
    printed = paper.read_bytes()
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") > 3


@pytest.mark.parametrize("theme", INK)
def test_charts_are_drawn_in_the_colours_of_the_theme(theme: str, tmp_path: Path) -> None:
    (other,) = INK.keys() - {theme}
    seen = opened(charts(layout(200), layout(300)), tmp_path, theme)
    assert seen.said == []
    assert seen.dom.count('class="plot-container plotly"') == 2
    assert INK[theme] in seen.dom
    assert INK[other] not in seen.dom


def test_what_goes_wrong_would_be_seen(tmp_path: Path) -> None:
    """The twin: a foreign image, a chart that is none, and two texts in one place."""
    broken = charts(layout(200)).replace("<main>", '<main><img src="https://localhost:1/x.png">')
    assert any("Content Security Policy" in each for each in opened(broken, tmp_path, "light").said)
    broken = charts(layout(200)).replace('{"data":', '{"data:')
    assert any("SyntaxError" in each for each in opened(broken, tmp_path, "light").said)
    over = '<p style="height:0">first</p><p style="margin-top:-9px">second</p><main>'
    broken = charts(layout(200)).replace("<main>", over)
    assert ["first", "second"] in probed(broken, tmp_path, "light").probe["overlaps"]
