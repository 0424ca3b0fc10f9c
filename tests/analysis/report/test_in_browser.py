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
from tidegauge.report.page import page
from tidegauge.report.report import write_report
from tidegauge.report.section import Section, Words

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")

#: What a reader of the page sees of the colour ``var(--ink)``.
INK = {"light": "rgb(27, 32, 37)", "dark": "rgb(230, 233, 236)"}

#: What reaches beyond the edge of the page, of all that is seen; hidden headings are clipped.
CUT = """[...document.querySelectorAll('main *')].filter((each) =>
  each.getBoundingClientRect().width > 1 && each.getBoundingClientRect().right > innerWidth + 1
  && !each.closest('thead') && !each.closest('.replay')).map((each) => each.outerHTML)"""


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
    assert seen.value(CUT) == []
    assert seen.overlaps() == []
    inks = seen.value(
        "[...document.querySelectorAll('.plot text')].map((each) => getComputedStyle(each).fill)"
    )
    assert len(inks) > 50
    assert {*inks} == {INK[theme]}
    assert seen.said == []


def test_the_first_screen_says_what_happened(browser: Page, report: str, tmp_path: Path) -> None:
    """On a telephone, too: the verdict, and the beginning of what clients saw."""
    seen = opened(browser, report, tmp_path, "light", 390)
    ends = seen.value("document.querySelector('.verdict').getBoundingClientRect().bottom")
    assert 0 < ends < 400
    begins = seen.value("document.querySelector('#clients h2').getBoundingClientRect().bottom")
    assert ends < begins < 800


def test_the_replay_opens_at_the_worst_moment(browser: Page, report: str, tmp_path: Path) -> None:
    """The only partition has no leader, from the loss of power on."""
    seen = opened(browser, report, tmp_path, "light")
    seen.wait_for("document.querySelector('.replay').dataset.ready === 'true'")
    assert seen.value("Number(document.querySelector('.replay').dataset.timeUs)") >= 8_000_000
    assert seen.value("document.querySelector('[data-figure=offline] b').textContent") == "1"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Both modes side by side: that section alone."""
    folder = tmp_path_factory.mktemp("compared")
    runs = [simulate(in_mode(mode), folder / mode).path for mode in MODES]
    section = side_by_side.section(RunTables(runs, folder / "tables"))
    assert section is not None
    return page("compared", [], [section])


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", INK)
def test_variants_side_by_side_are_readable(
    browser: Page, compared: str, theme: str, width: int, tmp_path: Path
) -> None:
    """Each dot is drawn, in the colour of its variant's column."""
    seen = opened(browser, compared, tmp_path, theme, width)
    assert seen.value("document.documentElement.scrollWidth") <= width
    assert seen.value(CUT) == []
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
    """Folded parts open by keys; all that is named has a name."""
    seen = opened(browser, report, tmp_path, "light")
    seen.value("document.querySelector('summary').focus()")
    seen.press(" ")
    assert seen.value("document.querySelector('details').open") is False
    seen.value("document.getElementById('theme').focus()")
    seen.press(" ")
    assert seen.value("getComputedStyle(document.body).color") == INK["dark"]
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
        " getComputedStyle(document.querySelector('.plot text')).fill; })"
    )
    printed = seen.printed()
    seen.wait_for("window.printed !== undefined")
    assert seen.value("window.printed") == INK["light"]
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") > 3


def test_what_goes_wrong_would_be_seen(browser: Page, tmp_path: Path) -> None:
    """The twin: a foreign image, a script that fails, a wide text, and two texts in one place."""
    whole = page("words", [], [Section("words", "Words", [Words("They are read.")])])
    for broken, said in (
        ('<main><img src="https://localhost:1/x.png">', "Content Security Policy"),
        ("<main><script>{</script>", "SyntaxError"),
    ):
        seen = opened(browser, whole.replace("<main>", broken), tmp_path, "light")
        assert any(said in each for each in seen.said)
    wide = whole.replace("<main>", '<main><p style="min-width:99rem">wide</p>')
    assert opened(browser, wide, tmp_path, "light", 390).value(CUT) != []
    over = '<p style="height:0">first</p><p style="margin-top:-9px">second</p><main>'
    broken = whole.replace("<main>", over)
    assert ("first", "second") in opened(browser, broken, tmp_path, "light").overlaps()
