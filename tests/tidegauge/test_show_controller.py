"""Who was controller, and what its queue held: ``tidegauge show controller``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from night_story import (
    CONTROLLER_1,
    CONTROLLER_2,
    FIRST,
    SECOND,
    THIRD,
    a_night,
    folder_of,
    line_with,
    shown,
    the_evening,
    the_stop,
)
from tidegauge.scenario.text.errors import duration_text
from written_rows import S, WrittenRows


@pytest.fixture
def night(tmp_path: Path) -> Path:
    return folder_of(a_night(), tmp_path / "night")


def test_terms_end_in_zookeeper_before_the_controller_knows_it(night: Path) -> None:
    lines = shown(night, "controller").splitlines()
    assert lines[1].split() == ["1", "1", "2.000s", "16.000s", "30.000s"]
    assert lines[2].split() == ["2", "2", "17.000s", "-", "-"]


def test_only_faults_that_hit_a_controller_in_office_are_told(tmp_path: Path) -> None:
    rows = WrittenRows()
    rows.write("fault_began", 500_000, CONTROLLER_2, fault=1, fault_kind=5)
    the_evening(rows)
    the_stop(rows)
    story = shown(folder_of(rows, tmp_path / "run"), "controller")
    assert line_with("begins", story).split()[1:5] == ["controller", "of", "broker", "1"]
    assert "crash" not in story


def test_a_controller_that_does_not_know_that_it_is_none_is_told_as_that(night: Path) -> None:
    state = shown(night, "controller", "--at", "20s")
    assert state.startswith("Broker 2 is controller, in epoch 2 (elected at 17.000s), at 20.000s")
    assert "still believes to be:  broker 1, epoch 1" in state
    assert "/controller names:     broker 2" in state
    assert "still believes" not in shown(night, "controller", "--at", "30s")


def test_it_knows_as_alive_who_was_registered_and_has_not_gone_since(night: Path) -> None:
    assert "knows as alive:        1, 2, 3\n" in shown(night, "controller", "--at", "10s")
    # Broker 1 was not registered any more when broker 2 became controller.
    assert "knows as alive:        2, 3\n" in shown(night, "controller", "--at", "17s")


def test_it_knows_as_alive_who_registers_later(tmp_path: Path) -> None:
    rows = a_night()
    rows.write("broker_registered", 32 * S, CONTROLLER_2, broker=FIRST)
    rows.write("broker_failed", 33 * S, CONTROLLER_1, broker=SECOND)  # another's view
    folder = folder_of(rows, tmp_path / "run")
    assert "knows as alive:        1, 2, 3\n" in shown(folder, "controller", "--at", "33s")


def test_who_fails_later_is_not_known_as_alive(tmp_path: Path) -> None:
    rows = a_night()
    rows.write("broker_failed", 47 * S, CONTROLLER_2, broker=THIRD)
    folder = folder_of(rows, tmp_path / "run")
    assert "knows as alive:        2, 3\n" in shown(folder, "controller", "--at", "46s")
    assert "knows as alive:        2\n" in shown(folder, "controller", "--at", "47s")


def test_partitions_whose_leader_is_dead_are_without_one(night: Path) -> None:
    state = shown(night, "controller", "--at", "20s")
    assert "without a leader:      1 partition" in state
    assert "leader 1 of epoch 0 is not alive: orders-5" in state
    early = shown(night, "controller", "--at", "2s")
    assert "no leader was ever elected: orders-0, orders-1" in early


def test_a_time_without_a_controller_is_told_as_that(night: Path) -> None:
    state = shown(night, "controller", "--at", "1s")
    assert state.startswith("No broker is controller at 1.000s")
    assert "/controller names:     none" in state


EVENT, EVENT_DONE = "controller_event", "controller_event_done"


def story_of(folder: Path, *rows: tuple[str, int, int, int]) -> str:
    """The story of events: each with kind of row, process, kind of event and duration."""
    written = WrittenRows()
    for place, (kind, process, event_kind, duration_us) in enumerate(rows):
        column = "queued_us" if kind == EVENT else "processing_us"
        values: dict[str, Any] = {"event_kind": event_kind, column: duration_us}
        written.write(kind, place * S, process, **values)
    return shown(folder_of(written, folder), "controller")


def test_an_event_took_as_long_as_the_row_of_its_end_says(tmp_path: Path) -> None:
    story = story_of(
        tmp_path / "run",
        (EVENT, CONTROLLER_1, 1, 10),
        (EVENT, CONTROLLER_2, 3, 20),
        (EVENT_DONE, CONTROLLER_2, 3, 900),
        (EVENT_DONE, CONTROLLER_1, 1, 700),
        (EVENT, CONTROLLER_1, 2, 30),  # its controller resigned: it was never done
        (EVENT, CONTROLLER_1, 1, 40),
        (EVENT_DONE, CONTROLLER_1, 1, 800),
    )
    said = [
        line.split(": ", 1)[1] for line in story.splitlines() if "waited" in line and "us," in line
    ]
    assert said == [
        "waited 10 us, took 700 us",
        "waited 20 us, took 900 us",
        "waited 40 us, took 800 us",
    ]
    assert line_with("waited 30", story).endswith("waited 30 us")


def test_an_event_that_never_ends_has_only_waited(tmp_path: Path) -> None:
    story = story_of(tmp_path / "run", (EVENT, CONTROLLER_1, 1, 10))
    assert line_with("waited 10", story).endswith("BrokerChange: waited 10 us")
    assert line_with("BrokerChange   ", story).split()[-3:] == ["-", "-", "-"]


def test_percentiles_are_durations_that_occurred(tmp_path: Path) -> None:
    begun = [(EVENT, CONTROLLER_1, 1, waited_us) for waited_us in range(200, 0, -1)]
    story = story_of(tmp_path / "run", *begun)
    line = line_with("BrokerChange     200", story)
    assert line.split()[2:8] == ["100", "us", "198", "us", "200", "us"]


def test_the_most_frequent_kind_of_event_is_first(tmp_path: Path) -> None:
    begun = [(EVENT, CONTROLLER_1, kind, 0) for kind in (1, 3, 3, 99)]
    story = story_of(tmp_path / "run", *begun).splitlines()
    first = next(place for place, line in enumerate(story) if line.startswith("event  "))
    kinds = [line[:12].strip() for line in story[first + 1 : first + 4]]
    assert kinds == ["IsrChange", "BrokerChange", "event 99"]


@pytest.mark.parametrize(
    ("duration_us", "text"),
    [(0, "0 us"), (999, "999 us"), (6_175, "6.17 ms"), (999_999, "1000.00 ms"), (S, "1.00 s")],
)
def test_durations_have_the_unit_that_suits_them(duration_us: int, text: str) -> None:
    assert duration_text(duration_us) == text
