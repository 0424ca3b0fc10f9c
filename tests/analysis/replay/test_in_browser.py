"""The replay in a real browser, offline: what it shows is what ``tidegauge describe`` prints."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tidegauge.scenarios
from browser import BROWSER, Page, opened_browser
from large_recordings import large_recording
from tidegauge.report.page import page
from tidegauge.report.replay import replay_section
from unpacked_recording import UnpackedRecording

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine"),
]

REAL = Path(tidegauge.scenarios.__file__).parent / "real-cluster"
#: A rack loses power within a rolling restart: 7 of 80 partitions are offline for a while.
FAULTS = (
    "[{name: roll, kind: rolling_restart, at: 30s, stopped_for: 15s}, "
    '{name: power, kind: power_loss, at: 100s, for: 2m, brokers: ["rack:use1-az2"]}]'
)
#: Broker 101 is away; power is lost, and sessions have not expired; partitions are offline.
MOMENTS_S = (38, 105, 150)

REPLAY = "document.querySelector('.replay')"


class Replay(NamedTuple):
    """A run, and the page that replays it."""

    run: Path
    page: Path


def tidegauge_says(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tidegauge", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    folder = tmp_path_factory.mktemp("replay")
    scenario, run = folder / "real.yaml", folder / "run"
    tidegauge_says("import", REAL / "topics.txt", "--properties", REAL, "-o", scenario)
    tidegauge_says("run", scenario, "--set", f"faults={FAULTS}", "--out", run)
    tidegauge_says("replay-view", run)
    return Replay(run, run / "replay.html")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def opened(browser: Page, file: Path, fragment: str = "", **window: Any) -> Page:
    """The page, ready to be played."""
    browser.open(file, fragment, **window)
    browser.wait_for(f"{REPLAY} !== null && {REPLAY}.dataset.ready === 'true'")
    return browser


def figures(browser: Page) -> dict[str, int]:
    """What the tiles say."""
    told: dict[str, str] = browser.value(
        "Object.fromEntries([...document.querySelectorAll('[data-figure]')]"
        ".map((tile) => [tile.dataset.figure, tile.querySelector('b').textContent]))"
    )
    return {name: int(text.replace(",", "")) for name, text in told.items()}


def seconds(browser: Page) -> float:
    """Where the slider stands."""
    shown = browser.value(f"Number({REPLAY}.dataset.timeUs)")
    slider = browser.value("Number(document.querySelector('.slider').value)")
    assert slider == pytest.approx(shown, abs=1)
    return float(shown) / 1e6


def described(run: Path, at_s: int, *options: str) -> list[dict[str, Any]]:
    """The partitions that ``tidegauge describe`` prints."""
    topics = json.loads(tidegauge_says("describe", run, "--at", f"{at_s}s", "--json", *options))
    return [partition for topic in topics for partition in topic["partitions"]]


@pytest.mark.parametrize("at_s", MOMENTS_S)
def test_the_figures_of_a_moment_are_those_of_describe(
    browser: Page, replay: Replay, at_s: int
) -> None:
    shown = figures(opened(browser, replay.page, f"#t={at_s}"))
    under_min_isr = described(replay.run, at_s, "--under-min-isr-partitions")
    assert shown["offline"] == len(described(replay.run, at_s, "--unavailable-partitions"))
    assert shown["under-replicated"] == len(
        described(replay.run, at_s, "--under-replicated-partitions")
    )
    # The tool counts partitions without a leader here, too; for us these are offline.
    assert shown["under-min-isr"] == sum(each["leader"] is not None for each in under_min_isr)
    manifest = json.loads((replay.run / "manifest.json").read_text())
    needs = {(each["topic"], each["partition"]): each for each in manifest["partitions"]}
    topics = json.loads(tidegauge_says("describe", replay.run, "--at", f"{at_s}s", "--json"))
    assert shown["at-min-isr"] == sum(
        each["leader"] is not None
        and len(each["isr"]) == needs[topic["topic"], each["partition"]]["min_insync_replicas"]
        for topic in topics
        for each in topic["partitions"]
    )
    assert browser.said == []


def test_the_moments_are_those_of_an_outage(browser: Page, replay: Replay) -> None:
    """The twin: the figures above are not just zeros."""
    before, unnoticed, during = (
        figures(opened(browser, replay.page, f"#t={each}")) for each in MOMENTS_S
    )
    assert 0 < before["under-replicated"] < during["under-replicated"]
    # Until its session expires, a dead broker leads in the control plane, and accepts nothing.
    assert unnoticed["offline"] < unnoticed["not-accepting"]
    assert before["offline"] < during["offline"]


def test_its_areas_are_the_partition_seconds_of_the_run(replay: Replay) -> None:
    text = replay.page.read_text().partition('class="recording">')[2].partition("<")[0]
    summary = json.loads((replay.run / "summary.json").read_text())
    from_us = round(1e6 * summary["figures_from_seconds"])
    for name, value in UnpackedRecording(text).partition_seconds(from_us).items():
        assert value == pytest.approx(summary[f"partition_seconds_{name}"], abs=1e-6)


def test_keys_move_the_slider(browser: Page, replay: Replay) -> None:
    opened(browser, replay.page, "#t=50")
    places = []
    for key, shift in (
        *(("ArrowRight", False), ("ArrowRight", True), ("ArrowLeft", False)),
        *(("End", False), ("Home", False)),
    ):
        browser.press(key, shift=shift)
        places.append(seconds(browser))
    ends = browser.value("Number(document.querySelector('.slider').max)") / 1e6
    assert places == [51, 61, 60, ends, 0]
    browser.press("PageDown")
    first = seconds(browser)
    browser.press("PageDown")
    assert seconds(browser) > first
    browser.press("PageUp")
    assert seconds(browser) == first
    assert browser.said == []


def test_it_plays_and_pauses(browser: Page, replay: Replay) -> None:
    opened(browser, replay.page, "#t=50")
    browser.press(" ")
    browser.wait_for(f"Number({REPLAY}.dataset.timeUs) > 52e6")
    browser.press(" ")
    stopped = seconds(browser)
    browser.value("new Promise((done) => setTimeout(done, 400))")
    assert seconds(browser) == stopped
    # Now that it stands still, its state is told in words.
    browser.wait_for(f"document.querySelector('.said').textContent.includes('{stopped:.3f}s')")
    # At 60x it comes to the end, and stays there.
    opened(browser, replay.page, "#t=280")
    browser.value("document.querySelector('.replay select').value = '60'")
    browser.press(" ")
    browser.wait_for("(({ value, max }) => value === max)(document.querySelector('.slider'))")
    assert browser.value("document.querySelector('.play').textContent") == "Play"


def test_with_reduced_motion_pictures_stand_for_a_while(browser: Page, replay: Replay) -> None:
    opened(browser, replay.page, "#t=50&measure", is_calm=True)
    browser.wait_for(f"{REPLAY}.dataset.framesPerSecond !== undefined")
    assert 1 <= browser.value(f"Number({REPLAY}.dataset.framesPerSecond)") <= 2


def test_the_board_follows_the_theme_of_the_page(browser: Page, replay: Replay) -> None:
    opened(browser, replay.page, "#t=150")
    colour = (
        "document.querySelector('.floor canvas').getContext('2d')"
        ".getImageData(4, 22, 1, 1).data.join()"
    )
    light = browser.value(colour)
    browser.value("document.querySelector('header button').click()")
    browser.wait_for(f"{colour} !== '{light}'")


def test_a_clicked_replica_tells_the_story_of_its_partition(browser: Page, replay: Replay) -> None:
    opened(browser, replay.page, "#t=150&partition=payments-1")
    name = "document.querySelector('.story input').value"
    assert browser.value(name) == "payments-1"
    box = browser.value(
        "(({x, y}) => ({x, y}))(document.querySelector('.floor canvas').getBoundingClientRect())"
    )
    browser.click(box["x"] + 5, box["y"] + 25)
    clicked = browser.value(name)
    assert clicked != "payments-1"
    number, _, topic = (part[::-1] for part in clicked[::-1].partition("-"))
    lines = browser.value(
        "[...document.querySelectorAll('.story li')].map((line) => line.textContent)"
    )
    assert any("created: " in line for line in lines)
    assert any("roll begins" in line for line in lines)
    told = browser.value("document.querySelector('.story .state').textContent")
    (there,) = (
        each
        for each in described(replay.run, 150, "--topic", topic)
        if each["partition"] == int(number)
    )
    assert f"ISR {', '.join(map(str, there['isr']))}, " in told
    # A time in the story leads there.
    browser.value("document.querySelector('.story li button').click()")
    assert browser.value("document.querySelector('.story li').ariaCurrent") == "true"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_text_overlaps_another(browser: Page, replay: Replay, width: int, theme: str) -> None:
    for at_s in (0, *MOMENTS_S):
        opened(browser, replay.page, f"#t={at_s}", width=width, theme=theme)
        browser.wait_for("document.querySelector('.said').textContent !== ''")
        assert browser.overlaps() == []
        assert browser.value("document.documentElement.scrollWidth") <= width
    ink = {"light": "rgb(27, 32, 37)", "dark": "rgb(230, 233, 236)"}[theme]
    assert browser.value("getComputedStyle(document.body).color") == ink
    assert browser.said == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_text_overlaps_in_a_large_cluster(browser: Page, large: Path, width: int) -> None:
    opened(browser, large, "#t=130", width=width)
    assert browser.overlaps() == []
    assert browser.value("document.documentElement.scrollWidth") <= width


def test_an_overlap_would_be_seen(browser: Page, replay: Replay) -> None:
    """The twin."""
    opened(browser, replay.page)
    browser.value("document.querySelector('.play').style.marginRight = '-4rem'")
    assert browser.overlaps() != []


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_page(tmp_path_factory.mktemp("large"), 60)


def large_page(folder: Path, brokers: int) -> Path:
    """The replay of 20,000 partitions with 200,000 changes."""
    file = folder / f"{brokers}.html"
    recording = large_recording(brokers, partitions=20_000, changes=200_000)
    file.write_text(page("large", [], [replay_section(recording, [])]))
    return file


@pytest.mark.parametrize("brokers", [60, 200])
def test_twenty_thousand_partitions_are_played_fluently(
    browser: Page, tmp_path: Path, brokers: int
) -> None:
    file = large_page(tmp_path, brokers)
    fastest = 0.0
    for _ in range(3):  # the machine may be busy with something else
        opened(browser, file, "#t=100&measure")
        browser.wait_for(f"{REPLAY}.dataset.framesPerSecond !== undefined")
        fastest = max(fastest, browser.value(f"Number({REPLAY}.dataset.framesPerSecond)"))
        if fastest >= 30:
            break
    assert fastest >= 30
    # 60 virtual seconds in each, with the changes of all partitions.
    assert seconds(browser) > 200
    assert browser.said == []


def test_any_moment_of_them_is_reached_at_once_and_is_the_same_from_everywhere(
    browser: Page, large: Path
) -> None:
    opened(browser, large, "#t=450")
    text = large.read_text().partition('class="recording">')[2].partition("<")[0]
    recording = UnpackedRecording(text)
    for at_s in (700, 701, 200, 199, 0, 900):
        browser.value(f"location.hash = '#t={at_s}'")
        browser.wait_for(f"{REPLAY}.dataset.timeUs === '{at_s * 1_000_000}'")
        held = recording.at(at_s * 1_000_000).values()
        assert figures(browser) == {
            "offline": sum(each["conditions"] & 2 > 0 for each in held),
            "not-accepting": sum(each["conditions"] & 4 == 0 for each in held),
            "under-min-isr": sum(each["conditions"] & 8 > 0 for each in held),
            "at-min-isr": sum(each["conditions"] & 16 > 0 for each in held),
            "under-replicated": sum(each["conditions"] & 32 > 0 for each in held),
        }
