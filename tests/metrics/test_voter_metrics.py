"""Metrics of a quorum whose voters change (KAFKA-16524): by the log of each node, and the leader's.

Controllers 3000, 3001 and 3002 are voters, 3003 observes. It is added while 3001 and 3002 are
paused, so that the change is committed late; then 3002 is removed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from cluster_snapshots import healthy, kraft_plan_of, values_of
from small_clusters import SECOND
from tidegauge.engine.simulate import Scrapes, simulate
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.targets import controllers_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping

RAFT = "kafka_server_raftmetrics_"
IGNORED = (
    "kafka_controller_kafkacontroller_ignoredstaticvoters",
    "kafka_server_brokermetadatametrics_ignored_static_voters",
)

CHANGES: dict[str, Any] = {
    "release": "4.4",
    "duration": "30s",
    "liveness": False,
    "cluster": {"brokers": 2},
    "controllers": {"count": 4, "voters": [0, 1, 2]},
    "topics": [],
    "faults": [
        {
            "kind": "pause",
            "brokers": ["controller:1", "controller:2"],
            "at": "9900ms",
            "for": "1500ms",
        }
    ],
    "steps": [
        {"do": "add_controller", "at": "10s", "controller": 3},
        {"do": "remove_controller", "at": "20s", "controller": 2},
    ],
}
RAISED: dict[str, Any] = CHANGES | {
    "controllers": {"count": 3},
    "faults": [],
    "steps": [{"do": "update_features", "at": "10s", "kraft_version": 1}],
}


class Story(NamedTuple):
    """The plan of a run, and a snapshot for each second."""

    plan: ClusterPlan
    snapshots: list[Snapshot]

    def values(self, name: str, second: int) -> dict[int, float]:
        """The samples of a metric at the end of a second, by the id of the node."""
        samples = values_of(self.plan, self.snapshots[second - 1], name)
        ids = dict(enumerate(self.plan.brokers))
        ids |= dict(zip(controllers_of(self.plan), self.plan.controllers, strict=True))
        return {ids[target]: value for (target, _), value in samples.items()}

    def states(self, second: int) -> dict[int, str]:
        samples = values_of(self.plan, self.snapshots[second - 1], f"{RAFT}current_state")
        of_controllers = dict(zip(controllers_of(self.plan), self.plan.controllers, strict=True))
        return {
            of_controllers[target]: label.partition('"')[2].rstrip('"')
            for target, label in samples
            if target in of_controllers
        }


def story_of(data: dict[str, Any], factory: pytest.TempPathFactory) -> Story:
    scenario = scenario_from_mapping(data, "voters")
    snapshots: list[Snapshot] = []
    path = factory.mktemp("voters") / "run"
    simulate(scenario, path, scrapes=Scrapes(SECOND, snapshots.append))
    return Story(ClusterPlan(scenario), snapshots)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return story_of(CHANGES, tmp_path_factory)


def test_the_number_of_voters_follows_the_log_of_each_controller(story: Story) -> None:
    """KRaftControlRecordStateMachine: a record counts as soon as it is in the log."""
    everywhere = {0, 1, 3000, 3001, 3002, 3003}
    for second, count in ((5, 3), (15, 4), (25, 3)):
        brokers = {*story.plan.brokers}
        voters = story.values(f"{RAFT}number_of_voters", second)
        assert voters.keys() == brokers | (everywhere - {0, 1})
        assert set(voters.values()) == {count}
    # It is not committed yet, and paused voters have not read it.
    assert story.values(f"{RAFT}number_of_voters", 11)[3000] == 4


def test_the_leader_alone_counts_observers_and_the_change_that_it_makes(story: Story) -> None:
    """KafkaRaftMetrics.addLeaderMetrics@4.1.0."""
    observers = [story.values(f"{RAFT}number_of_observers", at) for at in (5, 15, 25)]
    assert observers == [{3000: 3}, {3000: 2}, {3000: 3}]
    changes = [story.values(f"{RAFT}uncommitted_voter_change", at) for at in (9, 11, 15)]
    assert changes == [{3000: 0}, {3000: 1}, {3000: 0}]


def test_a_controller_that_is_no_voter_is_in_state_observer(story: Story) -> None:
    """KAFKA-14883: a follower that is no voter is an observer."""
    assert story.states(5) == {
        3000: "leader", 3001: "follower", 3002: "follower", 3003: "observer"
    }  # fmt: skip
    assert story.states(25) == {
        3000: "leader", 3001: "follower", 3002: "observer", 3003: "follower"
    }  # fmt: skip


def test_static_voters_are_ignored_once_the_log_has_others(
    story: Story, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """ExternalKRaftMetrics.setIgnoredStaticVoters: controller.quorum.voters is unused."""
    raised = story_of(RAISED, tmp_path_factory)
    for name in IGNORED:
        assert set(raised.values(name, 5).values()) == {0}
        assert set(raised.values(name, 20).values()) == {1}
        assert set(story.values(name, 20).values()) == {0}


@pytest.mark.parametrize(("release", "there"), [("4.0", False), ("4.1", True)])
def test_metrics_of_voters_are_served_from_4_1_on(release: str, *, there: bool) -> None:
    """KAFKA-16524; the voters of a static quorum are all controllers."""
    plan = kraft_plan_of(release=release)
    snapshot = healthy(plan)
    names = {each.family.name for each in Exposition(plan).series(snapshot)}
    expected = {f"{RAFT}{name}" for name in ("number_of_voters", "uncommitted_voter_change")}
    assert (expected & names) == (expected if there else set())
    if there:
        voters = values_of(plan, snapshot, f"{RAFT}number_of_voters")
        assert set(voters.values()) == {3}
