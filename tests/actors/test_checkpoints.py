"""What a start finds: high watermarks, the mark of a clean stop, what was written back.

Broker 2 of three follows; broker 3 leads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_stories import process_named
from life_stories import batches, fault, of_broker, story
from scenario_runs import rows_of, run_of
from tidegauge.actors.storage.logs import note_append, offset_on_disk
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.trace_rows.codes import STOP_CLEAN, STOP_KILLED
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
NEVER_WRITTEN = -1


def readings(run: RunFolder, broker: int) -> list[list[int]]:
    """For each start of a broker, the high watermarks that it found, by partition."""
    process = process_named(run, f"broker {broker}")
    starts: list[list[int]] = []
    for row in run.all_rows(wanted=lambda kind: kind.name in {"broker_loading", "checkpoint_read"}):
        if row["process"] == process:
            if row.kind == "broker_loading":
                starts.append([])
            else:
                starts[-1].append(row["high_watermark"])
    return starts


def clean_marks(run: RunFolder, broker: int) -> list[bool]:
    """For each start of a broker, whether it takes the stop before it for a clean one."""
    return [bool(row["clean"]) for row in of_broker(run, "broker_loading", broker)]


@pytest.mark.parametrize("release", ["0.10.2", "2.6"])
def test_a_broker_that_dies_again_soon_finds_all_its_high_watermarks(
    release: str, tmp_path: Path
) -> None:
    """Rule 1.9: the checkpoints begin with the first LeaderAndIsr and name all of its partitions.

    A checkpoint that was written between one partition and the next would lose the others'.
    """
    scenario = story(
        [[3, 2, 1]] * 6,
        [batches(range(6), 10)],
        release=release,
        settings={"replica.lag.time.max.ms": 20_000},
        faults=[{"kind": "crash", "at": at, "for": "6s", "brokers": [2]} for at in ("14s", "24s")],
        duration="40s",
    )
    assert readings(run_of(scenario, tmp_path / "run"), 2) == [[10] * 6] * 2


def test_a_clean_stop_before_any_leader_and_isr_leaves_the_checkpoint_as_it_was(
    tmp_path: Path,
) -> None:
    """After a crash the controller does not reach broker 2, which is then stopped cleanly."""
    scenario = story(
        [[3, 2]] * 2,
        [batches(range(2), 10)],
        controller=1,
        settings={
            "replica.lag.time.max.ms": 30_000,
            "controller.socket.timeout.ms": 500,
            "controlled.shutdown.max.retries": 1,
            "controlled.shutdown.retry.backoff.ms": 100,
        },
        faults=[
            {"kind": "crash", "at": "14s", "for": "6s", "brokers": [2]},
            {
                "kind": "cut_link",
                "at": "15s",
                "for": "14s",
                "between": [["controller:1"], ["broker:2"]],
            },
            {"kind": "restart", "at": "22s", "for": "5s", "brokers": [2]},
        ],
        duration="45s",
        release="0.10.2",
    )
    run = run_of(scenario, tmp_path / "run")
    assert [row["stop"] for row in of_broker(run, "broker_stopped", 2)] == [STOP_KILLED, STOP_CLEAN]
    assert clean_marks(run, 2) == [False, True]
    assert readings(run, 2) == [[10, 10], [10, 10]]


@pytest.mark.parametrize(
    ("release", "taken_for_clean"),
    [("2.6", True), ("2.8", False)],
)
def test_a_broker_that_dies_while_it_loads_its_logs(
    release: str, taken_for_clean: bool, tmp_path: Path
) -> None:
    """KAFKA-10471: until 2.8 the mark of the clean stop stays until all logs are loaded."""
    scenario = story(
        [[3, 2, 1]],
        [batches([0], 10)],
        release=release,
        protocol="2.6",
        faults=[
            fault("restart", 2, at="14s", **{"for": "5s"}),
            # A start takes half a second.
            fault("crash", 2, at="19200ms", **{"for": "5s"}),
        ],
        duration="40s",
    )
    run = run_of(scenario, tmp_path / "run")
    assert [row["stop"] for row in of_broker(run, "broker_stopped", 2)] == [STOP_CLEAN, STOP_KILLED]
    assert clean_marks(run, 2) == [True, taken_for_clean]
    (read,) = rows_of(run, "checkpoint_read", process=process_named(run, "broker 2"))
    assert (read["high_watermark"], read["log_end_offset"]) == (10, 10)


@pytest.mark.parametrize(
    ("release", "found"),
    [("0.10.2", 0), ("0.11", 0), ("1.0", NEVER_WRITTEN), ("2.6", NEVER_WRITTEN)],
)
def test_before_1_0_a_follower_checkpoints_even_if_there_is_nothing_to_truncate(
    release: str, found: int, tmp_path: Path
) -> None:
    """LogManager.truncateTo: the file has the log after its first LeaderAndIsr, or after a minute.

    Leader 3 truncates nothing in any release.
    """
    dies = [fault("crash", 2, at="14s"), fault("crash", 3, at="14s")]
    for number, each in enumerate(dies):
        each |= {"name": f"crash-{number}", "for": "5s"}
    scenario = story([[3, 2]], [batches([0], 10)], release=release, faults=dies, duration="30s")
    run = run_of(scenario, tmp_path / "run")
    assert [row["recovery_point"] for row in of_broker(run, "checkpoint_read", 2)] == [found]
    assert [row["recovery_point"] for row in of_broker(run, "checkpoint_read", 3)] == [
        NEVER_WRITTEN
    ]


@pytest.mark.parametrize("again_after", [2, 10])
def test_what_was_appended_behind_a_truncation_is_not_on_disk_yet(again_after: int) -> None:
    """The system writes pages back after a while: 0 to 80 are old, the rest is new.

    A truncation to 50 and an append of 20 leave 50 records on disk, not 70.
    """
    one_broker: dict[str, Any] = {"brokers": [1], "kind": "power_loss", "at": "5s", "for": "1s"}
    group = Group(ClusterPlan(story([[1, 2]], [], faults=[one_broker])), [0])
    brokers, context = group.world, group.world.context[0]
    # Inner rules are called from rules only, so it is their plain functions that are tested.
    append_noted: Any = getattr(note_append, "py_func", note_append)
    on_disk: Any = getattr(offset_on_disk, "py_func", offset_on_disk)
    replica = brokers.replicas[0]
    for second, first_offset, end_offset in [
        (100, 0, 80),
        (150, 80, 100),
        (150 + again_after, 50, 70),
    ]:
        replica.log_end_offset = min(replica.log_end_offset, first_offset)
        context.time_us = second * SECOND
        append_noted(context, brokers, 0, first_offset)
        replica.log_end_offset = end_offset
    assert on_disk(context, brokers, 0) == 50
    context.time_us += 60 * SECOND
    assert on_disk(context, brokers, 0) == 70
