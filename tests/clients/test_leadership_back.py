"""Leadership is given back to restarted brokers: after a time, or once they are in sync.

KAFKA-3436 asks for it: a broker that has just come back, and still copies what it has missed, is to
lead only some time later. Broker 1 prefers to lead t0, broker 2 t1, broker 3 t2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from both_modes import MODES, RELEASE
from process_groups import groups_of
from scenario_runs import rows_of, run_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.warnings import warnings_of
from tidegauge.simulation.trace_rows.codes import ROLL_IN_SYNC, ROLL_PREFERS, ROLL_STARTED
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import SECOND


def rolled(mode: str, back: Any, **others: Any) -> Scenario:
    """All brokers are restarted from 10 s on, one after the other, each down for 5 s."""
    roll = {"kind": "rolling_restart", "at": "10s", "stopped_for": "5s", "poll": "1s"}
    story: dict[str, Any] = {
        "mode": mode,
        "release": RELEASE,
        "duration": "120s",
        "liveness": False,
        "cluster": {
            "brokers": 3,
            "start_spread": "0s",
        },
        "topics": [
            {"name": f"t{place}", "assignment": {0: replicas}, "size": "100MB"}
            for place, replicas in enumerate(([1, 2, 3], [2, 3, 1], [3, 1, 2]))
        ],
        "workload": {
            "producers": [
                {
                    "name": "shop",
                    "topics": ["t0", "t1", "t2"],
                    "batches_per_second": 30,
                    "settings": {"acks": "all"},
                }
            ]
        },
        "faults": [roll | {"leadership_back": back} | others],
    }
    part = story["cluster"] if mode == "zookeeper" else story.setdefault("controllers", {})
    part["settings"] = {"auto.leader.rebalance.enable": False}
    return scenario_from_mapping(story, "rolled")


def when(run: RunFolder, progress: int, broker: int) -> int:
    """When the operator has done something with a broker, by its id."""
    (row,) = rows_of(run, "roll_progress", progress=progress, broker=broker - 1)
    return int(row["time_us"])


def led_again(run: RunFolder, broker: int) -> int:
    """When a broker was elected leader of the partition that prefers it, by its id."""
    times = [
        row["time_us"]
        for row in run.rows("leader_elected")
        if (row["partition"], row["leader"]) == (broker - 1, broker - 1)
    ]
    return int(times[-1])


@pytest.mark.parametrize("mode", MODES)
def test_a_broker_leads_again_so_long_after_it_was_started(mode: str, tmp_path: Path) -> None:
    """... though the rolling restart is over by then."""
    run = run_of(rolled(mode, {"after": "40s"}, brokers=[1]), tmp_path / "run")
    given_us = when(run, ROLL_PREFERS, 1)
    assert given_us - when(run, ROLL_STARTED, 1) == 40 * SECOND
    assert given_us < led_again(run, 1) < given_us + SECOND
    (ended,) = rows_of(run, "fault_ended", fault=0)
    assert ended["time_us"] < given_us


@pytest.mark.parametrize("mode", MODES)
def test_each_batch_has_its_own_time_while_later_ones_are_restarted(
    mode: str, tmp_path: Path
) -> None:
    run = run_of(rolled(mode, {"after": "40s"}), tmp_path / "run")
    for broker in (1, 2, 3):
        waited_us = when(run, ROLL_PREFERS, broker) - when(run, ROLL_STARTED, broker)
        assert waited_us == 40 * SECOND
    assert when(run, ROLL_STARTED, 2) < when(run, ROLL_PREFERS, 1)


@pytest.mark.parametrize("mode", MODES)
def test_a_broker_leads_again_once_it_is_in_all_of_its_isrs(mode: str, tmp_path: Path) -> None:
    """... however far the next batch is, which does not wait for it here."""
    scenario = rolled(mode, "in_sync", wait_for_full_isr=False, pause="20s", brokers=[1, 2])
    run = run_of(scenario, tmp_path / "run")
    expands = run.rows("isr_expanded")
    given_us = when(run, ROLL_PREFERS, 1)
    started_us = when(run, ROLL_STARTED, 1)
    joined = {
        row["partition"] for row in expands if started_us - SECOND < row["time_us"] <= given_us
    }
    assert joined == {0, 1, 2}
    assert given_us < led_again(run, 1) < given_us + SECOND


def test_in_sync_and_after_each_batch_are_the_same_where_the_operator_waits(tmp_path: Path) -> None:
    one = run_of(rolled("kraft", "in_sync"), tmp_path / "one")
    other = run_of(rolled("kraft", "after_each_batch"), tmp_path / "other")
    for broker in (1, 2, 3):
        assert when(one, ROLL_PREFERS, broker) == pytest.approx(
            when(other, ROLL_IN_SYNC, broker), abs=SECOND
        )


def test_three_groups_of_processes_give_leadership_back_as_one(tmp_path: Path) -> None:
    scenario = rolled("zookeeper", {"after": "20s"})
    one = simulate(scenario, tmp_path / "one")
    three = simulate(scenario, tmp_path / "three", make_engine=inline(groups_of(scenario, 3)))
    other = simulate(rolled("zookeeper", {"after": "21s"}), tmp_path / "other")
    hashes = [run.summary["trace_sha256"] for run in (one, three, other) if run.summary]
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


def test_a_controller_that_rebalances_may_be_earlier() -> None:
    """``validate`` and ``run`` warn of it: auto.leader.rebalance.enable is on by default."""
    scenario = rolled("zookeeper", {"after": "40s"})
    assert not any("leadership_back" in line for line in warnings_of(scenario))
    cluster = scenario.cluster.model_copy(update={"settings": {}})
    (warning,) = (
        line
        for line in warnings_of(scenario.model_copy(update={"cluster": cluster}))
        if "leadership_back" in line
    )
    assert "faults[0].leadership_back" in warning
    assert "every 300 s" in warning


@pytest.mark.parametrize(
    ("back", "problem"),
    [("later", "must be"), ({"aftr": "10m"}, "did you mean after"), ({"after": "10"}, "after")],
)
def test_other_values_are_refused(back: Any, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        rolled("kraft", back)
