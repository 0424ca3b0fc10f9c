"""A cluster that was there before the run: leaders and ISRs as kafka-topics found them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from small_clusters import SECOND, cluster_of
from tidegauge.command_line import app
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.runs.partitions import TopicDescription, describe_topics, partition_line, topic_lines
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder


def topics_of(run: RunFolder, at_us: int) -> list[TopicDescription]:
    """The topics at a time."""
    return describe_topics(Run(run.path), at_us)


DOWN = {"name": "down", "kind": "crash", "at": "0s", "brokers": [2]}
STORY: dict[str, Any] = {
    "name": "story",
    "assignment": {0: [1, 2, 3], 1: [2, 3, 1], 2: [2, 1], 3: [1, 3]},
    "state": {
        0: {"leader": 3, "isr": [3, 1], "leader_epoch": 7},
        1: {"leader": 1, "isr": [1]},
        2: {"leader": "none", "isr": [2]},
        3: {"leader": 3, "isr": [3, 1]},
    },
    "settings": {"min.insync.replicas": 2, "unclean.leader.election.enable": False},
}
DESCRIBED = """\
Topic: story\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: min.insync.replicas=2,unclean.leader.election.enable=false
\tTopic: story\tPartition: 0\tLeader: 3\tReplicas: 1,2,3\tIsr: 3,1
\tTopic: story\tPartition: 1\tLeader: 1\tReplicas: 2,3,1\tIsr: 1
\tTopic: story\tPartition: 2\tLeader: none\tReplicas: 2,1\tIsr: 2
\tTopic: story\tPartition: 3\tLeader: 3\tReplicas: 1,3\tIsr: 3,1
"""  # noqa: E501  # a line of the tool is as long as it is


def described(**parts: Any) -> Scenario:
    """Three brokers of which broker 2 is down, and nobody rebalances leaders."""
    settings = {"auto.leader.rebalance.enable": False, "replica.fetch.wait.max.ms": 5000}
    cluster = {"brokers": 3, "start_spread": "0s", "settings": settings}
    return cluster_of(**{"cluster": cluster, "topics": [STORY], "faults": [DOWN]} | parts)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return simulate(described(duration="10s"), tmp_path_factory.mktemp("described") / "run")


def describe(run: RunFolder, *options: str) -> str:
    result = CliRunner().invoke(app, ["describe", str(run.path), *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_described_state_is_there_at_time_zero(run: RunFolder) -> None:
    """... word by word as the tool of Kafka 2.6 prints it."""
    assert describe(run, "--at", "0s") == DESCRIBED


def test_leaders_and_isrs_stay_until_brokers_change_them(run: RunFolder) -> None:
    """The first controller finds leaders alive, and broker 2 nowhere.

    Replicas out of the ISR are alive here and come back at once; that of broker 2 stays out.
    """
    lines = [partition_line(each, "2.6") for each in topics_of(run, 9 * SECOND)[0].partitions]
    assert [line.split("\t")[3:] for line in lines] == [
        ["Leader: 3", "Replicas: 1,2,3", "Isr: 3,1"],
        ["Leader: 1", "Replicas: 2,3,1", "Isr: 1,3"],
        ["Leader: none", "Replicas: 2,1", "Isr: 2"],
        ["Leader: 3", "Replicas: 1,3", "Isr: 3,1"],
    ]
    elections = [row["partition"] for row in run.rows("leader_elected")]
    assert elections == []


def test_a_leader_goes_on_in_the_epoch_that_it_had(run: RunFolder) -> None:
    leaders = {row["partition"]: row for row in run.rows("became_leader")}
    assert (leaders[0]["process"], leaders[0]["leader_epoch"]) == (2, 7)


def test_nobody_is_controller_before_the_former_session_ends(run: RunFolder) -> None:
    """With ZooKeeper's first tick, after 2 s; all that live have registered by then."""
    (elected,) = run.rows("controller_elected")
    registered = [row for row in run.rows("session_opened") if row["time_us"] < elected["time_us"]]
    assert 2 * SECOND <= elected["time_us"] < 3 * SECOND
    assert len(registered) == 2


def test_partitions_that_nobody_leads_count_from_the_beginning(run: RunFolder) -> None:
    assert run.summary is not None
    assert run.summary["partition_seconds_offline"] == pytest.approx(10.0)


def test_views_of_a_description(run: RunFolder) -> None:
    def partitions(*options: str) -> list[str]:
        return [line.split("\t")[2][11:] for line in describe(run, *options).splitlines()]

    assert partitions("--at", "0s", "--under-replicated-partitions") == ["0", "1", "2"]
    assert partitions("--at", "0s", "--under-min-isr-partitions") == ["1", "2"]
    assert partitions("--at", "9s", "--unavailable-partitions") == ["2"]
    (topic,) = json.loads(describe(run, "--at", "9s", "--json", "--unavailable-partitions"))
    assert topic["partitions"] == [
        {
            "partition": 2,
            "leader": None,
            "replicas": [2, 1],
            "isr": [2],
            "adding": [],
            "removing": [],
        }
    ]


def test_the_tool_of_old_releases_writes_otherwise(run: RunFolder) -> None:
    first, *_ = topic_lines(topics_of(run, 0), "0.10.2")
    assert first.startswith("Topic:story\tPartitionCount:4\tReplicationFactor:3\tConfigs:min.")
    nobody = topics_of(run, 0)[0].partitions[2]
    assert "\tLeader: -1\t" in partition_line(nobody, "2.1")
    assert "\tLeader: none\t" in partition_line(nobody, "2.2")


def test_one_group_and_three_begin_alike(tmp_path: Path) -> None:
    scenario = described(duration="6s")
    processes = len(ClusterPlan(scenario).processes)
    groups = [list(range(first, processes, 3)) for first in range(3)]
    alone = simulate(scenario, tmp_path / "alone")
    three = simulate(scenario, tmp_path / "three", make_engine=inline(groups))
    assert alone.summary is not None
    assert three.summary is not None
    assert alone.summary["process_hashes"] == three.summary["process_hashes"]


def test_what_is_resolved_begins_alike() -> None:
    """A manifest keeps the state, so that the run can be repeated from it."""
    again = scenario_from_mapping(described().resolved(), "again")
    assert again.topics[0].state == described().topics[0].state


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": {4: {"leader": 3, "isr": [3]}}}, r"state\[4\]: the assignment has no such"),
        ({"state": {0: {"isr": [], "elr": [4]}}}, r"state\[0\]\.elr: broker 4 has no replica"),
        ({"state": STORY["state"] | {1: {"leader": 4, "isr": [4]}}}, "broker 4 has no replica"),
        ({"state": STORY["state"] | {2: {"leader": 1, "isr": [2]}}}, "broker 1 is not in the ISR"),
        ({"state": STORY["state"] | {2: {"leader": 2, "isr": [2, 2]}}}, "2 appears twice"),
        ({"state": STORY["state"] | {2: {"leader": 2}}}, "isr"),
    ],
    ids=["partition", "elr", "replica", "leader", "twice", "no-isr"],
)
def test_a_state_that_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        described(topics=[STORY | changes])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--topic", "stories"], "--topic stories: there is no such topic"),
        (["--at", "soon"], "--at"),
        (
            ["--unavailable-partitions", "--under-replicated-partitions"],
            "--under-replicated-partitions and --unavailable-partitions exclude each other",
        ),
    ],
)
def test_what_cannot_be_described_is_said(run: RunFolder, options: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["describe", str(run.path), *options])
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_partitions_that_are_not_named_are_well(tmp_path: Path) -> None:
    """Of a healthy topic nothing but `state: {}` has to be written."""
    run = simulate(described(topics=[STORY | {"state": {}}], duration="3s"), tmp_path / "run")
    states = [(each.leader, each.isr) for each in topics_of(run, 0)[0].partitions]
    assert states == [(1, [1, 2, 3]), (2, [2, 3, 1]), (2, [2, 1]), (1, [1, 3])]


KRAFT_STORY: dict[str, Any] = {
    "name": "story",
    "assignment": {0: [1, 2, 3], 1: [2, 3], 2: [2, 1], 3: [2, 3]},
    "state": {
        0: {"leader": 3, "isr": [3], "elr": [1, 2], "leader_epoch": 7},
        1: {"leader": "none", "isr": [], "elr": [2, 3], "last_known_leader": 2},
        2: {"leader": "none", "isr": [], "last_known_leader": 2},
        3: {"leader": 3, "isr": [3], "elr": [2], "leader_epoch": 1},
    },
    "settings": {"min.insync.replicas": 2},
}
DESCRIBED_WITH_KRAFT = """\
Topic: story\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: min.insync.replicas=2
\tTopic: story\tPartition: 0\tLeader: 3\tReplicas: 1,2,3\tIsr: 3\tElr: 1,2\tLastKnownElr: 
\tTopic: story\tPartition: 1\tLeader: none\tReplicas: 2,3\tIsr: \tElr: 2,3\tLastKnownElr: 2
\tTopic: story\tPartition: 2\tLeader: none\tReplicas: 2,1\tIsr: \tElr: \tLastKnownElr: 2
\tTopic: story\tPartition: 3\tLeader: 3\tReplicas: 2,3\tIsr: 3\tElr: 2\tLastKnownElr: 
"""  # noqa: W291  # as the tool prints columns without a value


def with_kraft(**parts: Any) -> Scenario:
    cluster = {"brokers": 3, "start_spread": "0s"}
    return described(**{"release": "4.1", "cluster": cluster, "topics": [KRAFT_STORY]} | parts)


@pytest.fixture(scope="module")
def kraft_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Broker 2 is down, and comes back after 20 s; what it had written last is not known."""
    down = DOWN | {"for": "20s"}
    scenario = with_kraft(duration="30s", faults=[down])
    return simulate(scenario, tmp_path_factory.mktemp("described") / "kraft")


def test_eligible_leader_replicas_are_there_at_time_zero(kraft_run: RunFolder) -> None:
    """KIP-966: leader, ISR, ELR and the last known leader, as the tool of Kafka 4.1 prints them."""
    assert describe(kraft_run, "--at", "0s") == DESCRIBED_WITH_KRAFT


def test_with_kraft_brokers_that_were_there_are_not_fenced_as_they_start(
    kraft_run: RunFolder,
) -> None:
    """They stay leaders in their epochs; live members of the ELR re-enter the ISR."""
    states = topics_of(kraft_run, 15 * SECOND)[0].partitions
    assert (states[0].leader, states[0].leader_epoch) == (3, 7)
    assert (states[3].leader, states[3].leader_epoch) == (3, 1)
    assert (list(states[0].isr), list(states[0].eligible_leaders)) == ([3, 1], [])


def test_a_broker_that_was_down_comes_back_after_an_unclean_shutdown(kraft_run: RunFolder) -> None:
    """Its registration strikes it off the ELR; as the last known leader it leads once unfenced."""
    before, after = (topics_of(kraft_run, at * SECOND)[0].partitions for at in (15, 29))
    assert (before[1].leader, before[2].leader) == (3, None)
    assert list(before[3].eligible_leaders) == [2]
    assert after[2].leader == 2
    assert [list(after[number].isr) for number in (1, 2, 3)] == [[3, 2], [2, 1], [3, 2]]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"leader": 3, "isr": [3], "elr": [3]}, r"elr: broker 3 is in the ISR, too"),
        ({"leader": 3, "isr": [3, 1], "elr": [2]}, r"elr: must be empty: the ISR has .* \(2\)"),
        ({"leader": 3, "isr": [3], "last_known_leader": 1}, "no meaning while there is a leader"),
        ({"isr": [], "last_known_leader": 4}, "broker 4 has no replica"),
    ],
)
def test_kafkas_laws_of_eligible_leader_replicas(state: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        with_kraft(topics=[KRAFT_STORY | {"state": {0: state}}])


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"release": "2.6"}, r"state\[0\]\.elr: has no meaning in mode zookeeper"),
        ({"eligible_leader_replicas": False}, r"state\[0\]\.elr: eligible_leader_replicas are off"),
    ],
)
def test_where_there_are_no_eligible_leader_replicas(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        with_kraft(**parts)


def test_after_the_end_there_is_nothing_to_describe(run: RunFolder) -> None:
    result = CliRunner().invoke(app, ["describe", str(run.path), "--at", "99h"])
    assert result.exit_code == 2
    assert "--at 99h: the run ends at 10." in result.stderr
