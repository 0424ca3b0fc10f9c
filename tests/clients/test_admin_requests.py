"""The operator of a KRaft cluster: it asks the active controller, and waits for its responses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.engine.simulate import simulate
from tidegauge.replication import errors
from tidegauge.runs.metadata_records import metadata_records
from tidegauge.runs.quorum import described_quorum
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import BROKER_ACTIVE, BROKER_FENCED
from tidegauge.traces.run_folder import RunFolder

S = 1_000_000
MS = 1000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Broker 1 dies and returns; then all that the operator can ask of the controller."""
    steps: list[dict[str, Any]] = [
        {"do": "wait", "after": "9s"},
        {"do": "wait", "when": {"unregistered": [1]}, "within": "30s"},
        {"do": "wait", "when": {"registered": [1]}, "within": "40s"},
        {"do": "wait", "when": {"quiescent": True}, "within": "20s"},
        {"do": "preferred_election", "after": "1s", "topic": "orders", "partition": 0},
        {"do": "preferred_election", "after": "1s"},
        {
            "do": "configure",
            "after": "1s",
            "topic": "orders",
            "settings": {"min.insync.replicas": 1},
        },
        {"do": "begin_fault", "after": "1s", "fault": "gone"},
        {"do": "wait", "when": {"unregistered": [4]}, "within": "30s"},
        {"do": "reassign", "after": "1s", "partitions": [moved(0, [1, 4])]},
        {"do": "reassign", "after": "1s", "partitions": [moved(1, [3, 1])]},
        {"do": "alter_reassignments", "after": "1s", "partitions": [moved(0, None)]},
        {"do": "wait", "when": {"reassigned": True}, "within": "10s"},
        {"do": "delete_topic", "after": "1s", "topic": "orders"},
        {"do": "create_topic", "after": "1s", "topic": "orders"},
    ]
    scenario = {
        "release": "4.1",
        "duration": "90s",
        "liveness": False,
        "cluster": {"brokers": 4},
        "topics": [{"name": "orders", "assignment": {0: [1, 2], 1: [2, 3]}}],
        "faults": [
            {"name": "kill", "kind": "crash", "brokers": [1], "at": "10s", "for": "20s"},
            {"name": "gone", "kind": "crash", "brokers": [4]},
        ],
        "steps": steps,
    }
    folder = tmp_path_factory.mktemp("kraft") / "run"
    return simulate(scenario_from_mapping(scenario, "kraft"), folder)


def moved(partition: int, replicas: list[int] | None) -> dict[str, Any]:
    asked: dict[str, Any] = {"topic": "orders", "partition": partition}
    return asked if replicas is None else asked | {"replicas": replicas}


def taken_us(run: RunFolder) -> list[int]:
    return [row["time_us"] for row in run.rows("step_taken")]


def outcomes(run: RunFolder) -> dict[int, str]:
    return {row["step"]: errors.NAMES[row["error"]] for row in run.rows("step_answered")}


def first_us(run: RunFolder, broker: int, state: int, after_us: int = 0) -> int:
    return next(
        row["time_us"]
        for row in run.rows("broker_state")
        if (row["broker"], row["state"]) == (broker, state) and row["time_us"] > after_us
    )


def test_topics_are_created_once_all_brokers_are_unfenced(run: RunFolder) -> None:
    created = next(run.rows("partition_state"))["time_us"]
    unfenced = max(first_us(run, broker, int(BROKER_ACTIVE)) for broker in range(4))
    assert unfenced < created < unfenced + 200 * MS


def test_a_broker_is_registered_for_a_condition_while_it_is_unfenced(run: RunFolder) -> None:
    """The operator asks every 100 ms: a quorum has no watches."""
    fenced, unfenced = taken_us(run)[1:3]
    gone = first_us(run, 0, int(BROKER_FENCED), 10 * S)
    assert gone < fenced < gone + 120 * MS
    back = first_us(run, 0, int(BROKER_ACTIVE), 30 * S)
    assert back < unfenced < back + 120 * MS


def test_responses_of_the_controller_are_outcomes_of_steps(run: RunFolder) -> None:
    """ReassignPartitionsCommand@4.1.0 asks nothing while a reassignment is in progress."""
    assert outcomes(run) == {
        4: "NONE",
        5: "ELECTION_NOT_NEEDED",
        6: "NONE",
        9: "NONE",
        10: "REASSIGNMENT_IN_PROGRESS",
        11: "NONE",
        13: "NONE",
        14: "NONE",
    }
    assert run.summary is not None
    assert (run.summary["steps_taken"], run.summary["steps_timed_out"]) == (15, 0)


def test_each_partition_without_an_election_has_its_error(run: RunFolder) -> None:
    """ReplicationControlManager.electLeader@4.1.0: the preferred replicas lead already."""
    refused = [(row["step"], row["partition"], row["error"]) for row in
               run.rows("step_partition_answered")]  # fmt: skip
    code = errors.CODES["ELECTION_NOT_NEEDED"]
    assert refused == [(5, 0, code), (5, 1, code)]


def test_the_metadata_log_has_records_as_kafka_names_them(run: RunFolder) -> None:
    records = list(metadata_records(Run(run.path)))
    begun = Counter(each.name for each in records if each.time_us < 5 * S)
    assert begun == {
        "REGISTER_BROKER_RECORD": 4,
        "BROKER_REGISTRATION_CHANGE_RECORD": 4,
        "TOPIC_RECORD": 1,
        "PARTITION_RECORD": 2,
    }
    (taken,) = [
        each.data
        for each in records
        if each.name == "PARTITION_CHANGE_RECORD" and 10 * S < each.time_us < 25 * S
        if each.data["partitionId"] == 0
    ]
    assert taken == {"partitionId": 0, "topicId": "orders", "isr": [2], "leader": 2}
    assert records[-3].name == "TOPIC_RECORD"


def test_the_quorum_is_led_by_its_active_controller_and_observed_by_brokers(
    run: RunFolder,
) -> None:
    quorum = described_quorum(Run(run.path))
    assert quorum is not None
    voters = [each.node for each in quorum.nodes if each.is_voter]
    assert sorted(voters) == [3000, 3001, 3002]
    assert (voters[0], quorum.nodes[0].state) == (quorum.leader, "leader")
    # Broker 4 has been dead for long, all others are at most two NoOpRecords behind.
    lags = {each.node: quorum.lag_of(each) for each in quorum.nodes}
    assert max(lag for node, lag in lags.items() if node != 4) <= 2 < lags[4]


def test_a_step_that_elects_has_its_outcomes_by_partition(run: RunFolder) -> None:
    """ElectLeadersResponse has an error for each partition, and no count of those that it led."""
    shown = CliRunner().invoke(app, ["show", "faults", str(run.path)]).output
    (first, second) = (line for line in shown.splitlines() if "preferred_election" in line)
    assert "1 elected: preferred_election" in first
    assert "2 not needed: preferred_election" in second


def test_views_of_another_control_plane_name_the_alternative(run: RunFolder) -> None:
    result = CliRunner().invoke(app, ["show", "zookeeper", str(run.path)])
    assert result.exit_code != 0
    assert "show quorum has its controllers" in result.output
    shown = CliRunner().invoke(app, ["show", "quorum", str(run.path), "--at", "20s"])
    assert "LeaderId:               300" in shown.output
