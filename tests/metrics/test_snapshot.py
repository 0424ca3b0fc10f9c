"""What a snapshot shows is what has happened: counted once more, from the trace alone.

The trace is of all requests. Counters are those of a broker's process, as JMX has them: rows of
before its last start do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from scenario_runs import shipped
from tidegauge.engine.group import Group
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import Scrapes, simulate
from tidegauge.metrics.snapshots.snapshot import Snapshot, merged, new_snapshot, part_of
from tidegauge.replication.errors import NOT_ENOUGH_REPLICAS
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.traces.run_folder import RunFolder, TraceRow

S = 1_000_000
#: Names every partition in every fetch, so that the trace shows each one that is read.
WITHOUT_SESSIONS = {"fetch_sessions": False}


class Observed(NamedTuple):
    """A run and the snapshots that were taken of it."""

    run: RunFolder
    snapshots: list[Snapshot]


@cache
def rows_of(run: RunFolder, kind: str) -> list[TraceRow]:
    """The rows of a kind: all tests count them, once for each snapshot."""
    return list(run.rows(kind))


@cache
def scenario(seconds: int = 60) -> Scenario:
    """The quickstart with its crash, its slow disk and its cut, in a quarter of the time."""
    faults: list[dict[str, Any]] = [
        {"name": "crash", "kind": "crash", "at": "8s", "for": "14s", "brokers": [2]},
        {
            "name": "disk",
            "kind": "slow_disk",
            "at": "20s",
            "for": "8s",
            "brokers": [5],
            "delay": "40ms",
        },
        {
            "name": "partition",
            "kind": "cut_link",
            "at": "30s",
            "for": "14s",
            "between": [["rack:a", "rack:b"], ["rack:c"]],
        },
    ]
    cluster = {
        "brokers": 6,
        "racks": ["a", "b", "c"],
        "settings": {
            "offsets.topic.num.partitions": 6,
            "replica.lag.time.max.ms": 9000,
            "zookeeper.session.timeout.ms": 6000,
        },
    }
    begun = [fault for fault in faults if int(fault["at"].removesuffix("s")) < seconds]
    changes = {"duration": f"{seconds}s", "trace": "all", "faults": begun, "cluster": cluster}
    return shipped("quickstart-zookeeper", changes)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """The run, looked at every 5 s of virtual time."""
    snapshots: list[Snapshot] = []
    run = simulate(
        scenario(),
        tmp_path_factory.mktemp("observed") / "run",
        switches=WITHOUT_SESSIONS,
        scrapes=Scrapes(5 * S, snapshots.append),
    )
    return Observed(run, snapshots)


def counted(
    observed: Observed, snapshot: Snapshot, kind: str, add: Callable[[TraceRow], int]
) -> list[int]:
    """By topic at a broker: what rows of a kind come to since the broker's process began."""
    plan = ClusterPlan(scenario())
    topics = len(plan.scenario.topics)
    totals: Counter[int] = Counter()
    for row in rows_of(observed.run, kind):
        broker = row["process"]
        if broker >= len(plan.brokers):
            continue
        since_us = int(snapshot.brokers["started_us"][broker])
        lives = bool(snapshot.brokers["alive"][broker])
        if lives and since_us <= row["time_us"] < snapshot.time_us:
            topic = plan.partitions[row["partition"]].topic_number
            totals[broker * topics + topic] += add(row)
    return [totals[place] for place in range(len(snapshot.broker_topics))]


def test_records_in_are_those_that_leaders_have_appended(observed: Observed) -> None:
    """MessagesInPerSec (BrokerTopicStats): a follower's appends are not counted."""
    for snapshot in observed.snapshots:
        appended = counted(
            observed,
            snapshot,
            "appended",
            lambda row: (row["end_offset"] - row["base_offset"]) * row["leads"],
        )
        assert snapshot.broker_topics["messages_in"].tolist() == appended
    assert sum(appended) > 10_000


def test_bytes_out_are_those_that_consumers_were_sent(observed: Observed) -> None:
    """BytesOutPerSec leaves out what followers fetch: that is ReplicationBytesOutPerSec."""
    brokers = len(ClusterPlan(scenario()).brokers)
    snapshot = observed.snapshots[-1]
    sent = [
        counted(
            observed,
            snapshot,
            "fetch_answered",
            lambda row: (
                200 * (row["end_offset"] - row["fetch_offset"]) * (row["to_process"] >= brokers)
            ),
        ),
        counted(
            observed,
            snapshot,
            "fetch_answered",
            lambda row: row["to_process"] < brokers and row["end_offset"] - row["fetch_offset"],
        ),
    ]
    topics = len(scenario().topics)
    assert snapshot.broker_topics["bytes_out"].tolist() == sent[0]
    of_orders = np.array(sent[1]).reshape(-1, topics)[:, 0]
    of_groups = np.array(sent[1]).reshape(-1, topics)[:, 1]
    record_bytes = [partition.record_bytes for partition in ClusterPlan(scenario()).partitions]
    expected = of_orders * record_bytes[0] + of_groups * record_bytes[-1]
    assert snapshot.brokers["replication_bytes_out"].tolist() == expected.tolist()
    assert np.count_nonzero(expected) >= 5


def test_a_fetch_counts_each_partition_each_time_that_it_is_read(observed: Observed) -> None:
    """TotalFetchRequestsPerSec: a fetch that waited in the purgatory was read twice."""
    for snapshot in observed.snapshots:
        answered = counted(observed, snapshot, "fetch_answered", lambda row: 1 + row["waited"])
        brokers = len(snapshot.brokers)
        reads = snapshot.broker_topics["fetch_requests"].reshape(brokers, -1).sum(axis=1)
        # Those that wait still have been read once.
        waiting = snapshot.brokers["delayed_fetches"]
        told = np.array(answered).reshape(brokers, -1).sum(axis=1)
        difference = reads - waiting - told
        # What waited as its follower gave up or died is not answered any more.
        assert (difference >= 0).all()
        if snapshot.time_us < 8 * S:
            assert not difference.any()
    assert np.count_nonzero(reads > 1_000) >= 5


def test_the_same_is_counted_with_fetch_sessions(observed: Observed, tmp_path: Path) -> None:
    """KIP-227 changes what a leader looks at, not what it counts.

    Once the cut has ended producers send again whatever is late, in an order that ties decide.
    """
    snapshots: list[Snapshot] = []
    simulate(scenario(), tmp_path / "run", scrapes=Scrapes(5 * S, snapshots.append))
    for with_sessions, without in zip(snapshots, observed.snapshots, strict=True):
        if with_sessions.time_us < 45 * S:
            assert (with_sessions.broker_topics == without.broker_topics).all()
            assert (with_sessions.brokers == without.brokers).all()


def test_refused_appends_count_as_asked_for_and_failed(observed: Observed) -> None:
    """TotalProduceRequestsPerSec; NOT_ENOUGH_REPLICAS is the error that FailedProduce counts."""
    snapshot = observed.snapshots[-1]
    answers = counted(observed, snapshot, "produce_answered", lambda _: 1)
    refused = counted(
        observed, snapshot, "produce_answered", lambda row: row["error"] == NOT_ENOUGH_REPLICAS
    )
    assert snapshot.broker_topics["failed_produce_requests"].tolist() == refused
    waiting = int(snapshot.brokers["delayed_produces"].sum())
    asked = int(snapshot.broker_topics["produce_requests"].sum())
    assert asked == sum(answers) + waiting
    assert sum(refused) > 0


def test_gauges_of_a_broker_are_those_that_the_trace_samples(observed: Observed) -> None:
    """LeaderCount, UnderReplicatedPartitions ...: the trace has them at each sample, too."""
    gauges = {
        "partition_count": "partitions",
        "leader_count": "leaders",
        **{name: name for name in ("under_replicated", "under_min_isr", "at_min_isr")},
    }
    # Nothing changes in the second before these.
    for snapshot in (observed.snapshots[place] for place in (0, 2, 3, 11)):
        sampled = {
            row["process"]: row
            for row in observed.run.rows("broker_sampled")
            if snapshot.time_us - S <= row["time_us"] < snapshot.time_us
        }
        assert len(sampled) == snapshot.brokers["alive"].sum() >= 5
        for broker, row in sampled.items():
            own = snapshot.brokers[broker]
            assert {name: own[name] for name in gauges} == {
                name: row[column] for name, column in gauges.items()
            }


def test_a_restart_begins_to_count_at_0(observed: Observed) -> None:
    """Meters of JMX are those of a process: rate() sees a reset."""
    before, dead, after = (observed.snapshots[place] for place in (0, 3, 5))
    crashed = 1
    assert [s.brokers["alive"][crashed] for s in (before, dead, after)] == [True, False, True]
    assert [s.brokers["starts"][crashed] for s in (before, dead, after)] == [1, 1, 2]
    received = [int(s.brokers["replication_bytes_in"][crashed]) for s in (before, after)]
    assert received[0] > 0
    assert dead.brokers[crashed]["partition_count"] == 0
    assert after.brokers["started_us"][crashed] == 22 * S


def test_shrinks_of_leaders_and_what_zookeeper_holds(observed: Observed) -> None:
    """A crash does not tick IsrShrinks: it is the controller who takes the dead out of ISRs."""
    crashed = next(s for s in observed.snapshots if s.time_us == 20 * S)
    assert crashed.brokers["isr_shrinks"].sum() == 0
    assert crashed.brokers["under_replicated"].sum() > 0
    end = observed.snapshots[-1]
    shrunk = [row for row in observed.run.rows("isr_shrunk") if row["process"] != 1]
    assert end.brokers["isr_shrinks"].sum() >= len(shrunk) > 0
    in_zookeeper = end.partitions["in_sync_replicas"]
    assert in_zookeeper.sum() == sum(
        end.replicas["in_sync_replicas"][end.replicas["leads"].astype(bool)]
    )


def test_groups_of_processes_see_together_what_one_sees(tmp_path: Path) -> None:
    """Whoever hosts what: the parts of all groups add up to the same snapshot."""
    short = scenario(24)
    count = len(ClusterPlan(short).processes)
    grouping = [[*range(count // 2)], [*range(count // 2, count)]]
    looked_at: list[list[Snapshot]] = [[], []]
    for place, groups in enumerate((None, grouping)):
        simulate(
            short,
            tmp_path / str(place),
            make_engine=inline(groups),
            scrapes=Scrapes(8 * S, looked_at[place].append),
        )
    for alone, together in zip(*looked_at, strict=True):
        assert all((one == other).all() for one, other in zip(alone[1:], together[1:], strict=True))
        assert alone.committed["known"].any()


def test_only_what_is_hosted_is_sent() -> None:
    """What a group sends of a snapshot grows with what it hosts, not with the cluster."""
    plan = ClusterPlan(scenario())
    group = Group(plan, [0, 1])
    group.run_to(3 * S, lambda _: None)
    part = part_of(group.snapshot(3 * S))
    assert part[0].places.tolist() == [0, 1]
    empty = merged(plan, 0, [part_of(new_snapshot(plan))])
    assert not any(columns.places.size for columns in part_of(empty))
