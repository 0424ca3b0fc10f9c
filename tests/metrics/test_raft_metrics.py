"""raft-metrics and the controllers' own gauges: they say what has happened, by the trace alone.

The active controller 3000 is killed in the 15th second, and is back after 20 s. A broker has been
killed before, one is killed after that: either controller has elected leaders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from cluster_snapshots import healthy, kraft_plan_of, values_of
from scenario_runs import rows_of
from small_clusters import BROKER_3, SECOND, network_of
from tidegauge.compiled.records import new_records
from tidegauge.engine.simulate import Scrapes, simulate
from tidegauge.metrics.samples.exposition import Exposition, Presentation
from tidegauge.metrics.samples.successive_snapshots import IdleRatios
from tidegauge.metrics.samples.targets import controllers_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.messages.quorum_requests import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    RaftFetchRequest,
    VoteRequest,
)
from tidegauge.simulation.sampled_stats import (
    SampledStat,
    most_of,
    record_value,
    total_of,
    values_in,
    window_us,
)
from tidegauge.simulation.trace_rows.codes import CANDIDATE, LEADER
from tidegauge.traces.run_folder import RunFolder

CONTROLLER = "kafka_controller_kafkacontroller_"
RAFT = "kafka_server_raftmetrics_"
CHANNEL = "kafka_server_raftchannelmetrics_"
KILLED_S, BACK_S, END_S = 15, 35, 55


class Story(NamedTuple):
    """The run, and a snapshot for each second."""

    plan: ClusterPlan
    run: RunFolder
    snapshots: list[Snapshot]

    def values(self, name: str, second: int) -> dict[int, float]:
        """The values of a metric at the end of a second, by index of the broker or controller."""
        first = controllers_of(self.plan)[0]
        found = values_of(self.plan, self.snapshots[second - 1], name)
        return {
            target if target >= 0 else len(self.plan.brokers) + target - first: value
            for (target, _), value in found.items()
        }


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Controllers 3, 4 and 5 by their indexes, behind brokers 0, 1 and 2."""
    scenario = scenario_from_mapping(
        {
            "release": "4.1",
            "duration": f"{END_S}s",
            "liveness": False,
            "trace": "all",
            "cluster": {"brokers": 3},
            "controllers": {"count": 3},
            "topics": [{"name": "story", "partitions": 6, "replication_factor": 3}],
            "network": network_of("1ms"),
            "faults": [
                {"kind": "crash", "brokers": [1], "at": "3s", "for": "6s"},
                {"kind": "crash", "brokers": [2], "at": "26s", "for": "6s"},
                {
                    "kind": "crash",
                    "brokers": ["controller:0"],
                    "at": f"{KILLED_S}s",
                    "for": f"{BACK_S - KILLED_S}s",
                },
            ],
        },
        "raft",
    )
    snapshots: list[Snapshot] = []
    run = simulate(
        scenario,
        tmp_path_factory.mktemp("raft") / "run",
        scrapes=Scrapes(SECOND, snapshots.append),
    )
    return Story(ClusterPlan(scenario), run, snapshots)


def numbers_in(values: dict[int, float]) -> set[int]:
    """Of which nodes there is a value."""
    return {index for index, value in values.items() if not np.isnan(value)}


def test_one_controller_is_active_and_the_next_one_has_a_later_epoch(story: Story) -> None:
    active = [story.values(f"{CONTROLLER}activecontrollercount", s + 1) for s in range(END_S)]
    assert all(counts == {3: 1, 4: 0, 5: 0} for counts in active[: KILLED_S - 1])
    # It is gone, and not 0; another one is active within 4.5 s.
    assert all(3 not in counts for counts in active[KILLED_S : BACK_S - 1])
    (successor,) = [index for index, value in active[KILLED_S + 5].items() if value == 1]
    assert all(counts[successor] == sum(counts.values()) == 1 for counts in active[KILLED_S + 5 :])
    first, last = story.values(f"{RAFT}current_epoch", 14), story.values(f"{RAFT}current_epoch", 25)
    assert set(first.values()) == {1}
    assert len(set(last.values())) == 1
    assert min(last.values()) > 1
    leaders = story.values(f"{RAFT}current_leader", 25)
    assert set(leaders.values()) == {story.plan.controllers[successor - 3]}
    assert story.values(f"{CONTROLLER}newactivecontrollerscount", 25)[successor] == 2


def test_each_node_has_its_own_log(story: Story) -> None:
    """Of the last row about its log at that time; brokers are observers of it."""
    for second in (14, 25, 50):
        shown = story.values(f"{RAFT}log_end_offset", second)
        committed = story.values(f"{RAFT}high_watermark", second)
        epochs = story.values(f"{RAFT}log_end_epoch", second)
        for index in (3, 4, 5):
            rows = rows_of(story.run, "voter_log", broker=index)
            said = [row for row in rows if row["time_us"] < second * SECOND]
            if index not in shown:
                assert (index, second) == (3, 25)
                continue
            assert shown[index] == said[-1]["log_end_offset"]
            assert committed[index] == said[-1]["high_watermark"]
            assert epochs[index] == said[-1]["quorum_epoch"]
        newest = max(shown.values())
        assert all(newest - 2 <= shown[broker] <= newest for broker in (0, 1, 2))


def test_an_election_takes_from_the_candidacy_to_the_leader(story: Story) -> None:
    """KafkaRaftMetrics.updateElectionStartMs, maybeUpdateElectionLatency."""
    states = rows_of(story.run, "voter_state")
    (led,) = [row for row in states if row["voter_state"] == LEADER and row["time_us"] > 0]
    candidacies = [row for row in states if row["voter_state"] == CANDIDATE]
    (stood,) = [row for row in candidacies if row["quorum_epoch"] == led["quorum_epoch"]]
    for name in ("election_latency_avg", "election_latency_max"):
        shown = story.values(RAFT + name, KILLED_S + 8)
        assert shown[led["broker"]] == (led["time_us"] - stood["time_us"]) / 1000
        # Who was a candidate, too, has waited for the same leader.
        assert numbers_in(shown) == {row["broker"] for row in candidacies}


def test_records_are_appended_by_the_leader_and_fetched_by_all_others(story: Story) -> None:
    """In the 14th second the first window has not ended: it counts as 30 s more (Rate)."""
    second = 14
    rows = rows_of(story.run, "voter_log", broker=3)
    grown = [row["log_end_offset"] for row in rows if row["time_us"] < second * SECOND]
    records = grown[-1] - grown[0]
    appended = story.values(f"{RAFT}append_records_rate", second)
    fetched = story.values(f"{RAFT}fetch_records_rate", second)
    # The window begins with the first record, some time in the first second.
    assert records / (second + 30) <= appended[3] <= records / (second + 29)
    assert [appended[index] for index in (0, 1, 2, 4, 5)] == [0] * 5
    assert fetched[3] == 0
    assert fetched[4] == pytest.approx(appended[3], rel=0.05)
    # 2 ms to the followers and back, and the append and flush of each.
    latency = story.values(f"{RAFT}commit_latency_avg", second)
    assert 2 < latency.pop(3) < 20
    assert numbers_in(latency) == set()


def test_requests_of_the_channel_are_those_that_were_sent(story: Story) -> None:
    """A process counts from its own beginning; what it sends is of its network client alone."""
    kinds = (RaftFetchRequest, VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest)
    wanted = {int(kind.KIND) for kind in kinds}
    sent = [row for row in rows_of(story.run, "message") if row["message_kind"] in wanted]
    names = ("request_total", "response_total", "outgoing_byte_total", "incoming_byte_total")
    requests, responses, outgoing, incoming = (story.values(CHANNEL + name, 14) for name in names)
    for index in (2, 4, 5):
        process = BROKER_3 if index == 2 else index - 3 + _first_controller(story)
        own = [
            row for row in sent if row["from_process"] == process and row["time_us"] < 14 * SECOND
        ]
        assert requests[index] - len(own) in (0, 1, 2)
        assert 0 <= requests[index] - responses[index] <= 1
        assert outgoing[index] >= 100 * requests[index]
        assert incoming[index] > 80 * responses[index]


def _first_controller(story: Story) -> int:
    states = rows_of(story.run, "voter_state", broker=3)
    return int(states[0]["process"])


def test_each_controller_counts_the_elections_of_its_own(story: Story) -> None:
    """A sum over controllers never jumps: what one has elected another one does not show."""
    elected = [row["time_us"] for row in rows_of(story.run, "leader_elected")]
    name = "tidegauge_leader_elections_total"
    before = story.values(name, 14)
    assert before == {3: sum(time_us < 14 * SECOND for time_us in elected), 4: 0, 5: 0}
    assert before[3] > 0
    after = story.values(name, END_S)
    assert sum(after.values()) == sum(time_us > KILLED_S * SECOND for time_us in elected)
    assert after[3] == 0


def test_unclean_elections_are_known_to_all_if_that_is_asked_for(story: Story) -> None:
    """ControllerMetricsChanges: in Kafka every controller counts what it reads in the log."""
    snapshot = story.snapshots[-1]
    controllers = snapshot.controllers.copy()
    controllers["unclean_leader_elections"] = [0, 2, 0]
    controllers["known_unclean_leader_elections"] = [1, 2, 2]
    name = "kafka_controller_controllerstats_uncleanleaderelections_total"
    for every_controller, expected in ((False, [0, 2, 0]), (True, [1, 2, 2])):
        exposition = Exposition(story.plan, Presentation(every_controller=every_controller))
        series = exposition.series(snapshot._replace(controllers=controllers))
        (shown,) = [samples for samples in series if samples.family.name == name]
        assert shown.values.tolist() == expected


def test_events_wait_for_the_controllers_thread_and_take_it(story: Story) -> None:
    started = story.values(f"{CONTROLLER}eventqueueoperationsstartedcount", 14)
    assert started[3] > 40
    assert started[4] == started[5] == 0
    counts = story.values("kafka_controller_controllereventmanager_eventqueuetimems_count", 14)
    assert counts == started


def test_a_thread_is_idle_while_it_does_not_write_to_its_disk(story: Story) -> None:
    """TimeRatio: since the measurement before; brokers' threads are not simulated."""
    ratios = IdleRatios()
    for snapshot in story.snapshots[:14]:
        idle = ratios.of(snapshot)["writing"]
    assert np.isnan(idle[:3]).all()
    assert (idle[3:] > 0.9).all()
    assert (idle[3:] < 1).all()


def test_the_thread_of_the_active_controller_and_a_brokers_metadata_loader_are_idle_in_between(
    story: Story,
) -> None:
    """KAFKA-19467, KAFKA-19791: topics were created, and each broker has published them."""
    idle = IdleRatios().of(story.snapshots[14])
    assert 0.5 < idle["handling"][3] < 1
    assert idle["handling"][4:].tolist() == [1, 1]
    assert (idle["loading"][:3] < 1).all()
    assert idle["loading"][3:].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("release", "expected"),
    [("4.1", {}), ("4.2", {"metadataVersion": 29, "eligibleLeaderReplicasVersion": 1})],
)
def test_levels_of_features_are_served_from_4_2_on(release: str, expected: dict[str, int]) -> None:
    """KIP-1180: metadata.version 4.2-IV1 is level 29."""
    plan = kraft_plan_of(release=release)
    series = Exposition(plan).series(healthy(plan))
    found = [each for each in series if each.family.name.endswith("finalizedlevel")]
    levels = {
        feature: int(value)
        for samples in found
        for feature in expected
        if feature in str(samples.labels[0])
        for value in samples.values
    }
    assert levels == expected
    assert bool(found) == bool(expected)


def test_a_sampled_value_counts_for_thirty_to_sixty_seconds() -> None:
    """SampledStat: two samples of 30 s; Rate.windowSize counts at least one whole window."""
    stat = new_records(SampledStat, 1)[0]
    for second, value in ((10, 5), (20, 7), (41, 1)):
        record_value(stat, second * SECOND, value)
    measured = [
        (values_in(stat, at), total_of(stat, at), most_of(stat, at), window_us(stat, at) // SECOND)
        for at in (second * SECOND for second in (41, 69, 70, 100, 101))
    ]
    assert measured == [(3, 13, 7, 31), (3, 13, 7, 59), (1, 1, 1, 59), (1, 1, 1, 59), (0, 0, 0, 30)]
