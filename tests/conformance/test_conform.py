"""One schedule, played with several seeds, as far as it can be played."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recordings import own, seen, written
from tidegauge.laboratory.conformance.comparison import EXACT, NOT_PLAYED, VARIED
from tidegauge.laboratory.conformance.conform import Conformance, conform, figures, idle_rows
from tidegauge.laboratory.conformance.known_differences import KnownDifferences, known_differences
from tidegauge.laboratory.conformance.recorded_schedule import load_schedule

NOTHING_KNOWN = KnownDifferences(())

ROW = "| {} | all | {} | `{}` | {} | Kafka does so. | Times are short. |"


def held(
    recording: dict[str, Any], folder: Path, table: KnownDifferences = NOTHING_KNOWN, seeds: int = 3
) -> Conformance:
    file = written(recording, folder / "mine.json")
    return conform(load_schedule(file), folder / "runs", table, seeds=seeds)


def table_of(folder: Path, *rows: str) -> KnownDifferences:
    head = (
        "| schedules | mode | releases | fields | kind | cause | consequence |\n"
        "|---|---|---|---|---|---|---|"
    )
    file = folder / "table.md"
    file.write_text("\n".join([head, *rows]))
    return known_differences(file)


def paths(result: Conformance) -> list[tuple[int, str, str]]:
    return [(each.step.number, each.field.kind, each.field.path) for each in result.differences]


# Seeds: who becomes controller when its znode is deleted is a race.


def race(**seen_after_it: Any) -> dict[str, Any]:
    return own({"step": {"op": "del_controller"}, "obs": seen_after_it})


def folder_of(result: Conformance) -> Path:
    assert result.run is not None
    return result.run.path


def test_the_first_seed_that_is_as_recorded_counts_and_its_run_alone_is_kept(
    tmp_path: Path,
) -> None:
    seeds = {}
    for broker in (1, 2, 3):
        folder = tmp_path / str(broker)
        folder.mkdir()
        result = held(race(exact={"controller": broker}), folder, seeds=6)
        assert [each.name for each in (folder / "runs").iterdir()] == [f"seed-{result.seed}"]
        assert folder_of(result).name == f"seed-{result.seed}"
        if not result.differences:
            seeds[broker] = result.seed
    assert min(seeds.values()) == 1
    assert len(set(seeds.values())) == len(seeds) > 1


def test_of_seeds_that_all_differ_the_one_with_fewest_differences_counts(tmp_path: Path) -> None:
    wanted = {"controller": 3, "controller_epoch": 7}
    few, one = held(race(exact=wanted), tmp_path, seeds=6), tmp_path / "one"
    one.mkdir()
    assert paths(few) == [(1, EXACT, "controller_epoch")]
    assert few.seed == held(race(exact={"controller": 3}), one, seeds=6).seed


def test_no_seed_beyond_those_allowed_is_tried(tmp_path: Path) -> None:
    result = held(race(exact={"controller": 9}), tmp_path, seeds=2)
    assert (result.seed, paths(result)) == (1, [(1, EXACT, "controller")])


def test_what_varied_must_be_one_of_the_values_that_were_seen(tmp_path: Path) -> None:
    for name, values, differs in (("some", [1, 2, 3], False), ("none", [7, 8], True)):
        folder = tmp_path / name
        folder.mkdir()
        result = held(race(varies={"controller": values}), folder)
        assert result.compared == {VARIED: 1}
        assert bool(result.unexplained) is differs


# What cannot be played.


def test_a_schedule_is_played_up_to_the_first_step_that_is_not_known(tmp_path: Path) -> None:
    alive = {"step": {"op": "sleep", "s": 1}, "obs": seen(registered=[1, 2, 3])}
    unknown = {"step": {"op": "shut_the_lid"}, "obs": seen(registered=[1, 2, 3])}
    result = held(own(alive, unknown, alive), tmp_path)
    assert result.compared == {EXACT: 1}
    assert paths(result) == [(2, NOT_PLAYED, "shut_the_lid")]
    assert result.not_played is not None
    assert "'shut_the_lid'" in result.not_played.field.text()


def test_a_step_that_never_ends_is_not_played_nor_are_those_behind_it(tmp_path: Path) -> None:
    alone = {"step": {"op": "wait", "tp": "t-0", "isr": [1]}}
    alive = {"step": {"op": "sleep", "s": 1}, "obs": seen(registered=[1, 2, 3])}
    result = held(own(alive, alone, alive), tmp_path, seeds=1)
    assert result.compared == {EXACT: 1}
    assert paths(result) == [(2, NOT_PLAYED, "wait")]
    assert result.not_played is not None
    assert "did not come to an end" in result.not_played.field.text()


@pytest.mark.parametrize(
    ("recording", "reason"),
    [
        (own(release="2.9.9"), "2.9.9"),
        (own({"step": {"op": "produce", "tp": "t-0"}}), "steps.1: produce cannot be read: "),
        ({"release": "2.6", "brokers": [1], "steps": [{"step": {"op": "x"}}]}, "none of its steps"),
    ],
)
def test_a_schedule_that_makes_no_scenario_is_one_difference(
    tmp_path: Path, recording: dict[str, Any], reason: str
) -> None:
    result = held(recording, tmp_path)
    assert (result.run, result.compared.total()) == (None, 0)
    assert paths(result) == [(0, NOT_PLAYED, "scenario")]
    assert reason in result.unexplained[0].field.text()


def test_a_topic_may_have_dots_in_its_name(tmp_path: Path) -> None:
    create = {
        "step": {"op": "create", "topic": "a.b", "assign": {"0": [1]}},
        "obs": {
            "exact": {"partitions": {"a.b-0": {"zk": {"leader": 1}}}},
            "varies": {"partitions.a.b-0.zk.version": [0, 0]},
        },
    }
    result = held(own(create), tmp_path)
    assert (result.compared, result.differences) == ({EXACT: 1, VARIED: 1}, [])


# The table.


def test_a_difference_that_a_row_explains_is_not_unexplained(tmp_path: Path) -> None:
    table = table_of(tmp_path, ROW.format("mine", "all", "controller", "exact"))
    result = held(race(exact={"controller": 9, "controller_epoch": 7}), tmp_path, table)
    assert [each.field.path for each in result.explained] == ["controller"]
    assert [each.field.path for each in result.unexplained] == ["controller_epoch"]
    assert figures([result, result], EXACT) == (4, 2, 2)


def test_when_all_is_explained_no_other_seed_is_tried(tmp_path: Path) -> None:
    table = table_of(tmp_path, ROW.format("mine", "all", "controller", "exact"))
    for broker in (1, 2, 3):
        folder = tmp_path / str(broker)
        folder.mkdir()
        # Each of them wins with some seed, but that need not be found out.
        assert held(race(exact={"controller": broker}), folder, table, seeds=6).seed == 1


def test_a_row_that_explains_nothing_is_idle_and_one_that_does_is_not(tmp_path: Path) -> None:
    works = ROW.format("mine", "all", "controller", "exact")
    # The first row that matches explains, so the same row once more has nothing left to do.
    table = table_of(tmp_path, works, works, ROW.format("mine", "0.11", "controller", "exact"))
    result = held(race(exact={"controller": 9}), tmp_path, table)
    assert [row.line for row in idle_rows(table, [result])] == [4, 5]
    assert idle_rows(table, []) == list(table.rows)


# A reassignment that stays pending.


def moved(*replicas: int, **ranges_ms: list[float]) -> dict[str, Any]:
    """A move of partition 0, and how long the harness waited for it."""
    step = {"op": "reassign", "to": {"t-0": list(replicas)}}
    return {"step": step, "result": {"ranges_ms": ranges_ms}}


def test_a_reassignment_to_a_broker_that_is_down_ends_when_it_is_back(tmp_path: Path) -> None:
    """KafkaController.processZkPartitionReassignment@2.6.2 does not ask whether targets live.

    The harness gave up waiting for the znode's end; in the simulation the step ends as well.
    """
    create = {"step": {"op": "create", "topic": "t", "assign": {"0": [1, 2]}}}
    kill = {"step": {"op": "kill", "b": [3]}}
    pending = moved(3, 2, step_ms=[4000, 5000]) | {
        "obs": seen(partitions={"t-0": {"replicas_assigned": [3, 2, 1], "zk": {"isr": [1, 2]}}})
    }
    start = {"step": {"op": "start", "b": [3]}}
    wait = {"step": {"op": "wait", "tp": "t-0", "isr": [2, 3]}}
    asleep = {
        "step": {"op": "sleep", "s": 2},
        "obs": seen(
            partitions={"t-0": {"replicas_assigned": [3, 2], "zk": {"isr": [2, 3], "leader": 3}}}
        ),
    }
    result = held(
        {
            "release": "2.6.3",
            "brokers": [1, 2, 3],
            "steps": [create, kill, pending, start, wait, asleep],
        },
        tmp_path,
    )
    assert [difference.field.text() for difference in result.unexplained] == []
    assert result.not_played is None
