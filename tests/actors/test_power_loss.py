"""Machines that lose power: what of each log is on disk when it is back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from life_stories import at, batches, begins, fault, of_broker, once, stops, story
from partition_fates import log_of
from scenario_runs import rows_of, run_of
from small_clusters import FIRST_CLIENT, cluster_of, producers_of
from tidegauge.simulation.messages.client_requests import ProduceRequest
from tidegauge.simulation.trace_rows.codes import STOP_CLEAN, STOP_POWER
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000


# Loss of power.


def power_lost(
    after: str, *, seed: int = 1, settings: Any = None, others: dict[str, Any] | None = None
) -> Any:
    """Broker 1 has ten records, two in a batch, and loses power so long after."""
    steps = [batches([0] * 5, 2), begins("power_loss", {"after": after})]
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
    """A point is drawn between what is on disk and the end: LogSegment.recover keeps batches."""
    found = {kept(run_of(power_lost("1s", seed=seed), tmp_path / str(seed))) for seed in range(8)}
    assert len(found) > 3
    assert found <= set(range(0, 11, 2))


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


# A whole rack.


def test_a_rack_takes_down_what_else_stands_in_it_while_others_fail_too(tmp_path: Path) -> None:
    """ZooKeeper and a producer stand in rack b; meanwhile broker 1, of rack a, is killed.

    ZooKeeper misses nobody while it is without power, and all sessions have their whole time-out
    again when it is back. The producer sends nothing, and does not make up for it.
    """
    scenario = cluster_of(
        duration="45s",
        cluster={
            "brokers": 3,
            "racks": {"a": [1, 2], "b": [3]},
            "settings": {
                "zookeeper.session.timeout.ms": 6000,
                "replica.fetch.wait.max.ms": 1000,
                "replica.lag.time.max.ms": 5000,
            },
        },
        zookeeper={"rack": "b"},
        faults=[
            fault("power_loss", "rack:b", "zookeeper", "client:shop", at="8s", **{"for": "8s"}),
            fault("crash", 1, at="9s", **{"for": "3s"}),
        ],
        workload={"producers": [producers_of(5, "1s", "40s")]},
    )
    run = run_of(scenario, tmp_path / "run")
    hit = {row["process"] for row in rows_of(run, "fault_began", fault=0)}
    names = {run.manifest["processes"][process]["name"] for process in hit}
    assert names == {"broker 3", "controller of broker 3", "zookeeper", "client shop-0"}
    expired = [row["time_us"] for row in run.rows("session_expired")]
    assert len(expired) == 2
    assert all(22 * SECOND <= time_us <= 26 * SECOND for time_us in expired)
    produced = [row for row in run.rows("message") if row["message_kind"] == ProduceRequest.KIND]
    sent_us = [row["time_us"] for row in produced if row["from_process"] == FIRST_CLIENT]
    assert not [time_us for time_us in sent_us if 8.1 * SECOND < time_us < 16 * SECOND]
    assert run.summary is not None
    # Five a second for 39 seconds, but for eight of them.
    assert run.summary["records_sent"] == 5 * (39 - 8)
    assert log_of(run, 3) == log_of(run, 1) == log_of(run, 2)
