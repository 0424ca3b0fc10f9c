"""Reports in a real browser, offline: at two widths, in light and dark, by keys, and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from both_modes import MODES, in_mode
from browser import BROWSER, Page, opened_browser
from small_clusters import cluster_of, producers_of
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.engine.simulate import simulate
from tidegauge.report import side_by_side
from tidegauge.report.charts import layout
from tidegauge.report.page import page
from tidegauge.report.report import write_report
from tidegauge.report.section import Chart, Section

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")

#: What a reader of the page sees of the colour ``var(--ink)``.
INK = {"light": "rgb(27, 32, 37)", "dark": "rgb(230, 233, 236)"}

#: A page's charts over time, as spans of whole seconds.
SPANS = """[...document.querySelectorAll(".over-time .plot")]
  .map((plot) => plot._fullLayout.xaxis.range.map((x) => Math.round(x)))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def opened(browser: Page, text: str, folder: Path, theme: str, width: int = 1280) -> Page:
    """A page after its scripts have run, with all that was folded."""
    file = folder / "report.html"
    file.write_text(text)
    browser.open(file, f"#{theme}", width=width)
    browser.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    return browser


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
def test_a_report_is_readable(
    browser: Page, report: str, theme: str, width: int, tmp_path: Path
) -> None:
    seen = opened(browser, report, tmp_path, theme, width)
    assert seen.value("innerWidth") == width
    assert seen.value("document.documentElement.scrollWidth") <= width
    edges = seen.value(
        "[...document.querySelectorAll('.plot svg.main-svg')]"
        ".map((svg) => svg.getBoundingClientRect().right)"
    )
    assert len(edges) > 10
    assert max(edges) <= width
    assert seen.overlaps() == []
    ink = seen.value("getComputedStyle(document.querySelector('.plot text')).fill")
    assert ink == INK[theme]
    assert seen.said == []


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Both modes side by side: that section alone."""
    folder = tmp_path_factory.mktemp("compared")
    runs = [simulate(in_mode(mode), folder / mode).path for mode in MODES]
    section = side_by_side.section(RunTables(runs, folder / "tables"))
    assert section is not None
    return page("compared", [section])


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", INK)
def test_variants_side_by_side_are_readable(
    browser: Page, compared: str, theme: str, width: int, tmp_path: Path
) -> None:
    """The table scrolls in itself; each dot is drawn, in the colour of its variant's column."""
    seen = opened(browser, compared, tmp_path, theme, width)
    assert seen.value("document.documentElement.scrollWidth") <= width
    assert seen.overlaps() == []
    dots = seen.value(
        "[...document.querySelectorAll('.dots circle')].map((dot) => getComputedStyle(dot).fill)"
    )
    heads = seen.value(
        "[...document.querySelectorAll('.compared thead i')]"
        ".map((mark) => getComputedStyle(mark).backgroundColor)"
    )
    assert len(dots) > 20
    assert set(dots) == set(heads)
    assert len(heads) == len(set(heads)) == len(MODES)
    assert seen.said == []


def test_a_report_is_used_without_a_mouse(browser: Page, report: str, tmp_path: Path) -> None:
    """Buttons zoom all charts over time; tables scroll by keys; all that is named has a name."""
    seen = opened(browser, report, tmp_path, "light")
    before = seen.value(SPANS)
    assert len(before) > 5
    assert before == [[0, 30]] * len(before)
    seen.value("document.querySelectorAll('.zoom button')[1].focus()")
    seen.press(" ")
    assert seen.value(SPANS) == [[6, 11]] * len(before)  # the cut, 7 s to 10 s
    assert seen.value("[...document.querySelectorAll('.wide')].every((it) => it.tabIndex === 0)")
    unnamed = seen.value(
        "[...document.querySelectorAll('button, [role], nav, section, table')].filter((each) =>"
        " !(each.getAttribute('aria-label') || each.getAttribute('aria-labelledby')"
        " || each.textContent.trim())).length"
    )
    assert unnamed == 0


def test_a_report_is_printed_in_light_colours_and_whole(
    browser: Page, report: str, tmp_path: Path
) -> None:
    seen = opened(browser, report, tmp_path, "dark")
    seen.value(
        "addEventListener('beforeprint', () => { window.printed ="
        " [...document.querySelectorAll('.plot')].map((plot) => [plot._fullLayout.width,"
        " getComputedStyle(plot.querySelector('text')).fill]); })"
    )
    printed = seen.printed()
    seen.wait_for("window.printed !== undefined")
    charts_on_paper = seen.value("window.printed")
    assert len(charts_on_paper) > 10
    assert charts_on_paper == [[680, INK["light"]]] * len(charts_on_paper)
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") > 3


@pytest.mark.parametrize("theme", INK)
def test_charts_are_drawn_in_the_colours_of_the_theme(
    browser: Page, theme: str, tmp_path: Path
) -> None:
    (other,) = INK.keys() - {theme}
    seen = opened(browser, charts(layout(200), layout(300)), tmp_path, theme)
    assert seen.said == []
    drawn = seen.value("document.documentElement.outerHTML")
    assert drawn.count('class="plot-container plotly"') == 2
    assert INK[theme] in drawn
    assert INK[other] not in drawn


def test_what_goes_wrong_would_be_seen(browser: Page, tmp_path: Path) -> None:
    """The twin: a foreign image, a chart that is none, and two texts in one place."""
    broken = charts(layout(200)).replace("<main>", '<main><img src="https://localhost:1/x.png">')
    seen = opened(browser, broken, tmp_path, "light")
    assert any("Content Security Policy" in each for each in seen.said)
    broken = charts(layout(200)).replace('{"data":', '{"data:')
    seen = opened(browser, broken, tmp_path, "light")
    assert any("SyntaxError" in each for each in seen.said)
    over = '<p style="height:0">first</p><p style="margin-top:-9px">second</p><main>'
    broken = charts(layout(200)).replace("<main>", over)
    assert ("first", "second") in opened(browser, broken, tmp_path, "light").overlaps()
