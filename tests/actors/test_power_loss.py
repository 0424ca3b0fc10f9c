"""Machines that lose power: what of each log is on disk when it is back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from life_stories import (
    at,
    batches,
    begins,
    fault,
    of_broker,
    once,
    stops,
    story,
)
from scenario_runs import run_of
from tidegauge.run_folder import RunFolder
from tidegauge.simulation.row_kinds import (
    STOP_CLEAN,
    STOP_POWER,
)

SECOND = 1_000_000
#: The model's figures: a start without logs, and a clean stop.
START_US, STOP_US = 700_000, 1_700_000


# Loss of power.


def power_lost(
    after: str, *, seed: int = 1, settings: Any = None, others: dict[str, Any] | None = None
) -> Any:
    """Broker 1 has ten records that nobody else has, and loses power so long after."""
    steps = [batches([0], 10), begins("power_loss", {"after": after})]
    return story(
        [[1]],
        steps,
        faults=[fault("power_loss", 1, **(others or {}))],
        cluster={"write_back": "6s"},
        settings=settings,
        duration="14s",
        seed=seed,
    )


def kept(run: RunFolder) -> int:
    """What broker 1's log has after a loss of power."""
    lost = [row for row in of_broker(run, "log_lost", 1) if row["old_end_offset"] == 10]
    return int(lost[0]["end_offset"]) if lost else 10


def test_what_is_younger_than_the_write_back_time_may_be_lost(tmp_path: Path) -> None:
    """A point is drawn between what is on disk and the end: now this, now that."""
    found = {kept(run_of(power_lost("1s", seed=seed), tmp_path / str(seed))) for seed in range(8)}
    assert len(found) > 3
    assert found <= set(range(11))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_older_is_on_disk(seed: int, tmp_path: Path) -> None:
    """Written back after 6 s, and a sixth of that."""
    assert kept(run_of(power_lost("7100ms", seed=seed), tmp_path / "run")) == 10


@pytest.mark.parametrize("seed", range(4))
def test_what_was_flushed_is_on_disk(seed: int, tmp_path: Path) -> None:
    settings = {"log.flush.interval.messages": 1}
    run = run_of(power_lost("1s", seed=seed, settings=settings), tmp_path / "run")
    assert [stop for _, stop in stops(run, 1)] == [STOP_POWER]
    assert kept(run) == 10


@pytest.mark.parametrize("offset", [0, 7, 10])
def test_what_a_log_keeps_can_be_pinned(offset: int, tmp_path: Path) -> None:
    kept_log = at(0) | {"broker": 1, "offset": offset}
    run = run_of(power_lost("1s", others={"keeps": [kept_log], "for": "2s"}), tmp_path / "run")
    assert kept(run) == offset
    read = of_broker(run, "checkpoint_read", 1)[0]
    assert read["log_end_offset"] == offset


@pytest.mark.parametrize("seed", range(3))
def test_a_loss_of_power_after_a_clean_stop_takes_nothing(seed: int, tmp_path: Path) -> None:
    steps = [
        batches([0], 10),
        begins("restart", {"after": "10ms"}),
        begins("power_loss", once(unregistered=[1])),
    ]
    faults = [fault("restart", 1), fault("power_loss", 1)]
    parts: dict[str, Any] = {"cluster": {"write_back": "30s"}, "duration": "8s", "seed": seed}
    run = run_of(story([[1]], steps, faults=faults, **parts), tmp_path / "run")
    assert [stop for _, stop in stops(run, 1)] == [STOP_CLEAN]
    assert kept(run) == 10
    assert list(run.rows("log_lost")) == []
