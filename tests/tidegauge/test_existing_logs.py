"""Topics with a size: their logs existed before the run, and are copied, recovered and lost.

A record has 100 bytes if a producer sends to the topic, and 1 kB if none does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from both_modes import MODES, RELEASE
from process_groups import groups_of
from sampled_replicas import samples_of
from scenario_runs import rows_of, run_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import REASON_EXISTED
from tidegauge.traces.run_folder import RunFolder

PRODUCERS = [
    {"name": "shop", "topics": ["orders"], "batches_per_second": 20, "settings": {"acks": "all"}}
]
#: Records of 100 bytes in 10 MB.
RECORDS = 100_000


def orders(**others: Any) -> dict[str, Any]:
    """One partition on brokers 1, 2 and 3; each log has 10 MB."""
    return {"name": "orders", "assignment": {0: [1, 2, 3]}, "size": "10MB"} | others


def story(mode: str, topic: dict[str, Any] | None = None, **parts: Any) -> Scenario:
    whole = {
        "mode": mode,
        "release": RELEASE,
        "duration": "40s",
        "cluster": {"brokers": 4, "start_spread": "0s"},
        "topics": [topic or orders()],
        "workload": {"producers": PRODUCERS},
    }
    return scenario_from_mapping(whole | parts, "existing-logs")


def log_ends(run: RunFolder, broker: int) -> list[int]:
    """Where a broker's log of the partition ended at each sample, by the broker's id."""
    return [row["log_end_offset"] for row in samples_of(run, process=broker - 1)]


def summary(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


def all_hold(run: RunFolder) -> bool:
    return all(check["verdict"] is True for check in summary(run)["checks"].values())


@pytest.mark.parametrize("mode", MODES)
def test_logs_that_existed_are_there_from_the_start_and_are_written_on(
    mode: str, tmp_path: Path
) -> None:
    consumers = [{"name": "billing", "topics": ["orders"]}]
    run = run_of(
        story(mode, workload={"producers": PRODUCERS, "consumers": consumers}), tmp_path / "run"
    )
    found = {
        row["process"]: (row["log_end_offset"], row["high_watermark"], row["recovery_point"])
        for row in run.rows("checkpoint_read")
    }
    assert found == dict.fromkeys(range(3), (RECORDS, RECORDS, RECORDS))
    assert all(log_ends(run, broker)[0] >= RECORDS for broker in (1, 2, 3))
    assert log_ends(run, 1)[-1] > RECORDS + 500
    # Consumers had read all that was there before.
    assert 0 < summary(run)["records_consumed"] < 1000
    (existed,) = rows_of(run, "acknowledged", reason=REASON_EXISTED)
    assert (existed["first_offset"], existed["end_offset"]) == (0, RECORDS)
    assert all_hold(run)


def test_a_consumer_whose_settings_name_earliest_reads_all_of_it(tmp_path: Path) -> None:
    consumers = [{"name": "b", "topics": ["orders"], "settings": {"auto.offset.reset": "earliest"}}]
    workload = {"producers": PRODUCERS, "consumers": consumers}
    run = run_of(story("kraft", workload=workload), tmp_path / "run")
    assert summary(run)["records_consumed"] > RECORDS


@pytest.mark.parametrize("mode", MODES)
def test_a_replica_outside_of_the_isr_copies_what_it_lacks(mode: str, tmp_path: Path) -> None:
    """Broker 3 lacks 1 MB of 10 MB; broker 2, of which nothing is said, has nothing."""
    state = {0: {"leader": 1, "isr": [1], "leader_epoch": 7, "behind": {3: "1MB"}}}
    run = run_of(story(mode, orders(state=state)), tmp_path / "run")
    read = {row["process"]: row["log_end_offset"] for row in run.rows("checkpoint_read")}
    assert read == {0: RECORDS, 2: RECORDS * 9 // 10}
    appended = {
        row["process"]: row["epoch"] for row in run.rows("log_end") if row["start_offset"] == 0
    }
    assert appended == {0: 7, 1: 7, 2: 7}
    assert log_ends(run, 2)[-1] == log_ends(run, 3)[-1] == log_ends(run, 1)[-1] > RECORDS
    assert all_hold(run)


@pytest.mark.parametrize("mode", MODES)
def test_a_reassignment_copies_what_there_is(mode: str, tmp_path: Path) -> None:
    """Broker 4 has nothing of it as the reassignment begins."""
    move = {"topic": "orders", "partition": 0, "replicas": [1, 2, 4]}
    steps = [{"at": "10s", "do": "reassign", "partitions": [move]}]
    run = run_of(story(mode, steps=steps), tmp_path / "run")
    assert log_ends(run, 4)[-1] == log_ends(run, 1)[-1] > RECORDS
    assert all_hold(run)


@pytest.mark.parametrize("mode", MODES)
def test_a_crash_recovers_only_what_was_not_flushed(mode: str, tmp_path: Path) -> None:
    """All that existed before the run was flushed: its recovery point is in the checkpoint."""
    crash = {"kind": "crash", "at": "10s", "for": "5s", "brokers": [2]}
    run = run_of(story(mode, faults=[crash]), tmp_path / "run")
    loading, *_ = rows_of(run, "broker_loading", process=1)
    assert loading["logs"] == 1
    assert 0 < loading["records_to_recover"] < 1000
    assert all_hold(run)


def test_checkpoints_of_existing_logs_are_real_files_from_the_start(tmp_path: Path) -> None:
    """A crash before the first checkpoint finds the high watermark of before."""
    crash = {"kind": "crash", "at": "1s", "for": "5s", "brokers": [2]}
    scenario = story("zookeeper", faults=[crash], checkpoint_files=True)
    run = run_of(scenario, tmp_path / "run")
    _, again, *_ = rows_of(run, "checkpoint_read", process=1)
    assert (again["high_watermark"], again["epoch_count"]) == (RECORDS, 1)


@pytest.mark.parametrize("mode", MODES)
def test_a_loss_of_what_existed_before_is_counted(mode: str, tmp_path: Path) -> None:
    """The only replica in sync dies, and one with an empty log is elected uncleanly."""
    topic = orders(
        assignment={0: [1, 2]},
        state={0: {"leader": 1, "isr": [1]}},
        settings={"unclean.leader.election.enable": True},
    )
    # Broker 2 lies behind a cut, so that it does not catch up before.
    faults = [
        {"kind": "cut_link", "at": "0s", "for": "30s", "between": [["broker:1"], ["broker:2"]]},
        {"kind": "crash", "at": "5s", "brokers": [1]},
    ]
    run = run_of(story(mode, topic, faults=faults, workload={}, liveness=False), tmp_path / "run")
    lost = 10_000  # of 1 kB
    assert summary(run)["records_acknowledged_lost"] == lost
    assert summary(run)["records_acknowledged_lost_permitted"] == lost
    (row,) = Run(run.path).tables.rows("select records, permitted_by from lost")
    assert (row["records"], row["permitted_by"]) == (lost, "unclean election")


@pytest.mark.parametrize("mode", MODES)
def test_groups_of_processes_begin_with_the_same_logs(mode: str, tmp_path: Path) -> None:
    state = {0: {"leader": 1, "isr": [1, 2]}}
    scenario = story(mode, orders(state=state), duration="15s")
    one = simulate(scenario, tmp_path / "one")
    three = simulate(scenario, tmp_path / "three", make_engine=inline(groups_of(scenario, 3)))
    assert summary(one)["trace_sha256"] == summary(three)["trace_sha256"]
    other = story(mode, orders(state=state, size="10001kB"), duration="15s")
    larger = simulate(other, tmp_path / "larger")
    assert summary(one)["trace_sha256"] != summary(larger)["trace_sha256"]


@pytest.mark.parametrize(
    ("topic", "problem"),
    [
        ({"size": "10"}, r"topics\[0\].size: must be a number of bytes and its unit"),
        ({"size": {1: "1GB"}}, r"topics\[0\].size\[1\]: there is no such partition"),
        ({"size": {"a": "1GB"}}, r"topics\[0\].size.a: must be the number of a partition"),
        ({"size": {0: 5}}, r"topics\[0\].size\[0\]: must be a number of bytes and its unit"),
        (
            {"state": {0: {"leader": 1, "isr": [1, 2, 3], "behind": {3: "1MB"}}}},
            r"behind\[3\]: is in the ISR",
        ),
        (
            {"state": {0: {"leader": 1, "isr": [1], "behind": {4: "1MB"}}}},
            r"behind\]?: broker 4 has no replica",
        ),
    ],
)
def test_wrong_sizes_are_refused(topic: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        story("kraft", orders(**topic))
