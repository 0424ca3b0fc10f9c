"""Figures whose numbers are known from the story: ISRs, leaders, racks, and moves of replicas."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from life_stories import QUIET, Steps, at, batches, begins, ends, fault, once, story
from scenario_runs import rows_of, run_of
from tidegauge.command_line import app
from tidegauge.traces.run_folder import RunFolder

REASSIGNED = once(reassigned=True)


def figures_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


def moves(
    to: Mapping[int, list[int] | None], when: Mapping[str, Any] = QUIET, do: str = "reassign"
) -> Steps:
    """Partitions get these replicas; None: what is on its way is cancelled."""
    partitions = [
        at(number) | ({} if replicas is None else {"replicas": replicas})
        for number, replicas in to.items()
    ]
    return [dict(when) | {"do": do, "partitions": partitions}]


def time_of(run: RunFolder, kind: str, **columns: int) -> int:
    """When the one row was written that has these columns."""
    (row,) = (row for row in rows_of(run, kind) if columns.items() <= row.columns.items())
    return int(row["time_us"])


def test_an_isr_of_one_counts_from_the_removal_to_the_return(tmp_path: Path) -> None:
    """Row 14: of [1,2] broker 2 dies; t1 has no other replica, and so never lacks one."""
    steps = [begins("crash"), ends("crash", {"after": "10s"}), [QUIET | {"do": "wait"}]]
    run = run_of(story([[1, 2], [1], [1, 3]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    alone = time_of(run, "znode_set", isr=1, leader=0)
    (back,) = (row["time_us"] for row in rows_of(run, "znode_set") if row["isr"] == 0x21)
    assert back - alone > 5_000_000
    figures = figures_of(run)
    assert figures["isr_of_one_episodes"] == 1
    assert figures["partition_seconds_isr_of_one"] == (back - alone) / 1e6


def test_replicas_that_are_being_added_leave_no_isr_of_one(tmp_path: Path) -> None:
    """KIP-455: a partition of one replica that gets a second one lacks none meanwhile."""
    run = run_of(
        story([[1]], [batches([0], 5), moves({0: [1, 2]}), [REASSIGNED | {"do": "wait"}]]),
        tmp_path / "run",
    )
    assert figures_of(run)["reassignments"]["steps.1"]["partitions"] == 1
    assert figures_of(run)["isr_of_one_episodes"] == 0


@pytest.mark.parametrize(("others", "broker"), [([], 2), ([[3], [3]], 3)])
def test_the_most_leaders_are_those_of_the_broker_that_had_so_many_first(
    others: list[list[int]], broker: int, tmp_path: Path
) -> None:
    """Row 15: broker 1 leads two and dies, so broker 2 has three; broker 3 may have had as many."""
    steps = [begins("crash"), ends("crash", {"after": "15s"}), [QUIET | {"do": "wait"}]]
    replicas = [[1, 2], [1, 2], [2, 3], [3, 2], *others]
    run = run_of(story(replicas, steps, faults=[fault("crash", 1)]), tmp_path / "run")
    assert figures_of(run)["most_leaders"] == {"partitions": 3, "broker": broker}


def test_an_isr_stands_in_one_rack_while_the_other_rack_s_replica_is_out(tmp_path: Path) -> None:
    """t0 spans both racks, t1 never does; without racks there is no such figure."""
    steps = [begins("crash"), ends("crash", {"after": "10s"}), [QUIET | {"do": "wait"}]]
    racks = {"racks": {"a": [1, 3], "b": [2]}}
    topics = [[1, 2, 3], [3, 1]]
    faults = [fault("crash", 2)]
    run = run_of(story(topics, steps, faults=faults, cluster=racks), tmp_path / "run")
    states = [row for row in rows_of(run, "znode_set") if row["leader"] >= 0]
    out, back = (row["time_us"] for row in states[:2])
    figures = figures_of(run)
    from_us = figures["figures_from_seconds"] * 1e6
    assert figures["isr_in_one_rack_most"] == 2
    assert figures["partition_seconds_isr_in_one_rack"] == pytest.approx(
        40 - from_us / 1e6 + (back - out) / 1e6
    )
    plain = run_of(story(topics, [[QUIET | {"do": "wait"}]]), tmp_path / "plain")
    assert not [name for name in figures_of(plain) if "in_one_rack" in name]


def test_the_controller_is_busy_as_long_as_its_events_take(tmp_path: Path) -> None:
    """Each event takes 35 ms and what ZooKeeper takes: TotalTimeMs of ControllerStats."""
    steps = [[QUIET | {"do": "wait"}]]
    run = run_of(story([[1, 2]], steps, measure_from="0s"), tmp_path / "run")
    spent_us = [row["processing_us"] for row in rows_of(run, "controller_event_done")]
    assert len(spent_us) > 3
    assert figures_of(run)["controller_busy_seconds"] == sum(spent_us) / 1e6 > 0


def test_a_reassignment_lasts_from_its_request_to_its_last_partition(tmp_path: Path) -> None:
    """KIP-455: each step has its own time, however many partitions it moves."""
    steps = [
        batches([0, 1], 5),
        moves({0: [2, 3], 1: [3]}),
        [REASSIGNED | {"do": "wait"}],
        moves({1: [1]}),
        [REASSIGNED | {"do": "wait"}],
    ]
    run = run_of(story([[1, 2], [1]], steps), tmp_path / "run")
    ended = [row["time_us"] for row in rows_of(run, "reassignment_done")]
    asked = [time_of(run, "step_taken", step=step) for step in (2, 4)]
    assert figures_of(run)["reassignments"] == {
        "steps.2": {
            "seconds": (ended[1] - asked[0]) / 1e6,
            "partitions": 2,
            "unfinished": 0,
            "replaced": 0,
        },
        "steps.4": {
            "seconds": (ended[2] - asked[1]) / 1e6,
            "partitions": 1,
            "unfinished": 0,
            "replaced": 0,
        },
    }


def test_a_move_to_a_dead_broker_lasts_to_the_end_and_is_unfinished(tmp_path: Path) -> None:
    """The tool asks for nothing meanwhile (ReassignPartitionsCommand@2.4.0): nothing is moved."""
    steps = [
        begins("crash"),
        moves({0: [2], 1: [3]}, once(unregistered=[2])),
        moves({1: [1]}, {"after": "3s"}),
    ]
    run = run_of(story([[1], [1]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    asked = time_of(run, "step_taken", step=1)
    assert figures_of(run)["reassignments"] == {
        "steps.1": {
            "seconds": 40 - asked / 1e6,
            "partitions": 2,
            "unfinished": 1,
            "replaced": 0,
        },
        "steps.2": {"seconds": 0, "partitions": 0, "unfinished": 0, "replaced": 0},
    }


def test_a_move_that_is_replaced_is_another_step_s_from_then_on(tmp_path: Path) -> None:
    """AlterPartitionReassignments, KIP-455: t0 goes elsewhere, and that comes to its end."""
    steps = [
        batches([0], 5),
        begins("crash"),
        moves({0: [2]}, once(unregistered=[2])),
        moves({0: [3]}, {"after": "2s"}, "alter_reassignments"),
        [REASSIGNED | {"do": "wait"}],
    ]
    run = run_of(story([[1]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    first, second = figures_of(run)["reassignments"].values()
    assert (first["partitions"], first["unfinished"], first["replaced"]) == (1, 0, 1)
    assert (second["partitions"], second["unfinished"], second["replaced"]) == (1, 0, 0)
    (done,) = rows_of(run, "reassignment_done")
    asked = [time_of(run, "step_taken", step=step) for step in (2, 3)]
    assert second["seconds"] == (done["time_us"] - asked[1]) / 1e6
    replaced = rows_of(run, "reassignment_begun")[1]
    assert first["seconds"] == (replaced["time_us"] - asked[0]) / 1e6


def test_figures_are_listed_with_unit_and_meaning() -> None:
    """Without a scenario: forms; each on a line of its own."""
    result = CliRunner().invoke(app, ["sweep", "--figures"])
    assert result.exit_code == 0, result.output
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert {"produce_ms.GROUP.p99", "FAULT.seconds", "reassignments.STEP.seconds"} <= lines.keys()
    assert lines["records_lost_by_topic.TOPIC"].split()[1:] == [
        *("records", "acknowledged", "and", "lost,", "of", "this", "topic"),
    ]


def test_figures_of_a_scenario_are_listed_by_its_own_names() -> None:
    result = CliRunner().invoke(app, ["sweep", "throttled-move", "--figures"])
    assert result.exit_code == 0, result.output
    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert {"produce_ms.shop.p99", "reassignments.steps.0.seconds"} < {*names}
    assert not [name for name in names if "in_one_rack" in name], "it has no racks"
    assert not [name for name in names if "TOPIC" in name or "FAULT" in name], "and no faults"
    rolled = CliRunner().invoke(app, ["sweep", "rolling-restart", "--figures"])
    names = [line.split()[0] for line in rolled.stdout.splitlines()]
    assert {"roll.seconds", "records_lost_by_topic.orders"} < {*names}
