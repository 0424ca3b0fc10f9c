"""What the bar of a run says of its speed."""

from __future__ import annotations

from tidegauge.commands.run_progress import Rates
from tidegauge.engine import Passed

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
