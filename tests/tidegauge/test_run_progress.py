"""What is said of a run, or of other work, while it is under way."""

from __future__ import annotations

import time

import pytest

from tidegauge.compiled.compile_all import Compiled
from tidegauge.engine.contract import Passed
from tidegauge.views.progress import CompilationPace, Lines, Rates, working

SECOND = 1_000_000


def test_speed_and_events_are_those_of_the_last_seconds() -> None:
    """A slow beginning is forgotten."""
    rates = Rates()
    assert rates.of(Passed(0, 0), now=100.0) == ""
    rates.of(Passed(1 * SECOND, 10), now=110.0)
    rates.of(Passed(21 * SECOND, 2010), now=112.0)
    assert rates.of(Passed(41 * SECOND, 4010), now=114.0) == "10 times real time, 1,000 events/s"


def test_the_actor_that_had_most_to_do_is_named() -> None:
    rates = Rates()
    rates.of(Passed(0, 0, {"broker 1": 5.0, "the controllers": 9.0}), now=1.0)
    words = rates.of(Passed(SECOND, 10, {"broker 1": 5.5, "the controllers": 9.1}), now=2.0)
    assert words.endswith("slowest: broker 1 (50 % CPU)")


def test_where_there_is_no_terminal_a_line_says_every_ten_seconds_how_far_it_is() -> None:
    lines = Lines(300 * SECOND, now_s=100.0)
    assert lines.line(Passed(0, 0), 100.0) is None
    assert lines.line(Passed(30 * SECOND, 3_000), 109.0) is None
    assert lines.line(Passed(33 * SECOND, 3_300), 110.0) == (
        "33s of 300s of virtual time, 3.3 times real time, 330 events/s, some 81 s left"
    )
    assert lines.line(Passed(60 * SECOND, 6_000), 119.0) is None
    assert lines.line(Passed(301 * SECOND, 6_000), 121.0) == (
        "over; all faults have ended: waiting until the cluster has recovered"
    )


def test_how_much_time_is_left_follows_from_the_speed_of_the_last_seconds() -> None:
    rates = Rates()
    assert rates.left(100 * SECOND) == ""
    rates.of(Passed(0, 0), now=0.0)
    rates.of(Passed(20 * SECOND, 10), now=2.0)
    assert rates.left(100 * SECOND) == ", some 8 s left"
    assert rates.left(10_000 * SECOND) == ", some 17 min left"
    assert rates.left(20 * SECOND) == ""


def test_a_run_that_begins_again_from_a_snapshot_is_as_fast_as_from_then_on() -> None:
    """After the death of an actor virtual time goes back."""
    rates = Rates()
    rates.of(Passed(0, 0), now=0.0)
    rates.of(Passed(90 * SECOND, 900), now=9.0)
    assert rates.of(Passed(60 * SECOND, 600), now=12.0) == ""
    assert rates.of(Passed(64 * SECOND, 640), now=14.0) == "2 times real time, 20 events/s"
    assert rates.left(100 * SECOND) == ", some 18 s left"


def test_what_is_at_work_says_so_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A large trace, Spark, the compiler: on standard error, so that --json stays JSON."""
    monkeypatch.setattr("tidegauge.views.progress.LINE_S", 0.05)
    with working("reading runs/first") as tell:
        time.sleep(0.12)
        tell("reading runs/first: elections")
        time.sleep(0.12)
    said = capsys.readouterr()
    assert said.out == ""
    first, *_, last = said.err.splitlines()
    assert first == "reading runs/first: 0 s so far"
    assert last == "reading runs/first: elections: 0 s so far"
    with working("short"):
        pass
    assert capsys.readouterr().err == ""


def test_a_compilation_goes_on_by_the_work_that_is_done_and_not_by_functions_alone() -> None:
    """The last 35 of 1,877 functions take a third of the time: the count alone stands still."""
    pace = CompilationPace(now_s=100.0)
    assert pace.words(Compiled(5, 1877, 0.001), 103.0) == "compiling, 0 % (5 of 1,877 functions)"
    begun = "compiling, 60 % (1,842 of 1,877 functions)"
    assert pace.words(Compiled(1842, 1877, 0.6), 160.0) == f"{begun}, some 40 s left"
    assert pace.words(Compiled(1842, 1877, 0.6), 190.0) == f"{begun}, some 60 s left"
