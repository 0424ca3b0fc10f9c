"""Reports in a real browser, offline: charts are drawn, in light and dark, without an error."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tidegauge.analysis.report.charts import layout
from tidegauge.analysis.report.page import page
from tidegauge.analysis.report.section import Chart, Section

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine"),
]

#: What a reader of the page sees of the colour ``var(--ink)``.
INK = {"light": "rgb(27, 32, 37)", "dark": "rgb(230, 233, 236)"}


class Seen(NamedTuple):
    """What came of a page."""

    dom: str
    #: What the console said.
    said: list[str]


def opened(text: str, folder: Path, theme: str) -> Seen:
    """A page after its scripts have run."""
    file = folder / "report.html"
    file.write_text(text)
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--disable-sync", "--no-first-run"),
            *("--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"),
            f"--user-data-dir={folder / 'browser'}",
            f"{file.as_uri()}#{theme}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return Seen(done.stdout, re.findall(r"CONSOLE.*", done.stderr))


def charts(*layouts: dict[str, object]) -> str:
    """A page with a chart for each."""
    data = [{"type": "bar", "x": [1, 2], "y": [3, 4], "name": "bars", "showlegend": True}]
    drawn = [Chart("bars", data, each) for each in layouts]
    return page("charts", [Section("charts", "Charts", "They are drawn.", drawn, ["tidegauge"])])


@pytest.mark.parametrize("theme", INK)
def test_charts_are_drawn_in_the_colours_of_the_theme(theme: str, tmp_path: Path) -> None:
    (other,) = INK.keys() - {theme}
    seen = opened(charts(layout(200), layout(300)), tmp_path, theme)
    assert seen.said == []
    assert seen.dom.count('class="plot-container plotly"') == 2
    assert INK[theme] in seen.dom
    assert INK[other] not in seen.dom


def test_what_goes_wrong_would_be_seen(tmp_path: Path) -> None:
    """The twin: a page that asks for something from elsewhere, and a chart that is none."""
    broken = charts(layout(200)).replace("<main>", '<main><img src="https://localhost:1/x.png">')
    assert any("Content Security Policy" in each for each in opened(broken, tmp_path, "light").said)
    broken = charts(layout(200)).replace('{"data":', '{"data:')
    assert any("SyntaxError" in each for each in opened(broken, tmp_path, "light").said)
