"""Groups of consumers: what they commit, who coordinates them, and what becomes of it (KIP-27 on).

The topic ``story`` is written to ten times a second from 3 s on; the group ``billing`` commits once
a second. Of __consumer_offsets there is one partition, led by broker 1 and then by broker 2.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import (
    BROKER_1,
    BROKER_2,
    FIRST_CLIENT,
    MS,
    SECOND,
    cluster_of,
    log_end_offset,
    producers_of,
    topic_of,
)
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.replication import errors
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.settings import OFFSETS_TOPIC
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder, TraceRow

CONSUMER = FIRST_CLIENT + 1
#: Number of the partition of __consumer_offsets; ``story`` comes before it.
OFFSETS = 1
NAMES = ("billing", "b")
RESTARTED = {"do": "restart_consumers", "group": "billing"}


def cluster(
    replicas: list[int] | None = None, group: dict[str, Any] | None = None, **parts: Any
) -> Any:
    """Broker 3 leads ``story`` and controls; __consumer_offsets is on these brokers."""
    settings = {"enable.auto.commit": True, "auto.commit.interval.ms": 1000}
    own = {"zookeeper.session.timeout.ms": 4000, "replica.fetch.wait.max.ms": 500}
    consumers = {"name": "billing", "topics": ["story"], "start": "2s"} | dict(group or {})
    consumers["settings"] = settings | consumers.get("settings", {})
    offsets = {"name": OFFSETS_TOPIC, "assignment": {0: replicas or [1, 2]}}
    offsets["settings"] = parts.pop("offsets", {})
    producer = producers_of(10, "3s", "40s", acks="all")
    return cluster_of(
        **{
            "topics": [topic_of([3]), offsets],
            "workload": {"producers": [producer], "consumers": [consumers]},
            "duration": "25s",
            "settings": own | parts.pop("settings", {}),
        }
        | parts
    )


def run_with(folder: Path, *args: Any, **parts: Any) -> RunFolder:
    return run_of(cluster(*args, **parts), folder / "run")


def committed(run: RunFolder) -> list[TraceRow]:
    """The commits that the group knows of."""
    return rows_of(run, "offset_committed", process=CONSUMER)


def only(run: RunFolder, kind: str, **columns: int) -> TraceRow:
    """The one row of a kind."""
    (row,) = rows_of(run, kind, **columns)
    return row


def crash(broker: int, at: str, lasts: str) -> list[dict[str, Any]]:
    return [{"kind": "crash", "at": at, "for": lasts, "brokers": [broker]}]


def test_a_group_commits_what_it_has_processed_every_auto_commit_interval(tmp_path: Path) -> None:
    """ConsumerCoordinator.maybeAutoCommitOffsetsAsync: one record for each partition it reads."""
    run = run_with(tmp_path)
    offsets = [row["committed_offset"] for row in committed(run) if row["time_us"] > 4 * SECOND]
    assert {later - before for before, later in pairwise(offsets)} == {10}
    # One record is its membership, one more each second.
    assert log_end_offset(run, BROKER_1, OFFSETS) == 1 + 23
    assert log_end_offset(run, BROKER_2, OFFSETS) == 1 + 23
    (joined,) = rows_of(run, "member_joined", process=BROKER_1)
    assert joined["time_us"] < 2 * SECOND


def test_a_consumer_that_is_slow_commits_no_record_before_it_has_processed_it(
    tmp_path: Path,
) -> None:
    run = run_with(tmp_path, group={"records_per_second": 5})
    for row in committed(run):
        assert row["committed_offset"] <= max(0, 5 * (row["time_us"] / SECOND - 3) + 1)
    assert committed(run)[-1]["committed_offset"] > 50


def test_a_consumer_that_was_killed_reads_again_what_it_had_not_committed(tmp_path: Path) -> None:
    """It joins when the session of what it was before is over: session.timeout.ms."""
    run = run_with(tmp_path, steps=[{"at": "9500ms"} | RESTARTED])
    first, again = rows_of(run, "consumer_resumed")
    assert (first["committed_offset"], first["new_offset"]) == (-1, 0)
    before = [row for row in committed(run) if row["time_us"] < 9500 * MS][-1]
    assert again["new_offset"] == again["committed_offset"] == before["committed_offset"]
    assert again["offset"] - again["new_offset"] == 4
    expired = only(run, "member_expired")
    assert expired["silent_us"] == 10 * SECOND
    assert 0 < again["time_us"] - expired["time_us"] < 200 * MS
    read_twice = again["offset"] - again["new_offset"]
    consumed = only(run, "client_totals", process=CONSUMER)["records_consumed"]
    assert consumed - read_twice == rows_of(run, "consumer_sampled")[-1]["offset"] + 10


def test_the_coordinator_moves_with_its_partitions_leader_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    """GroupCoordinator.onElection: broker 2 reads what is committed, and the group finds it."""
    run = run_with(tmp_path, faults=crash(1, "10s", "5s"))
    loading = only(run, "coordinator_loading", process=BROKER_2)
    loaded = only(run, "coordinator_loaded", process=BROKER_2)
    assert loaded["time_us"] == loading["until_us"]
    # offsets_load of the cost model, and some microseconds for what the log holds.
    assert loaded["time_us"] - loading["time_us"] == pytest.approx(5 * MS, abs=20)
    assert (loaded["offset_count"], loaded["member_count"]) == (1, 1)
    lost = only(run, "coordinator_lost")
    assert (lost["broker"], lost["error"]) == (BROKER_1, errors.NETWORK_EXCEPTION)
    first, found = rows_of(run, "coordinator_found")
    assert (first["broker"], found["broker"]) == (BROKER_1, BROKER_2)
    # It is told of the new leader by whom it asks, before or after that one has read everything.
    assert abs(found["time_us"] - loaded["time_us"]) < 500 * MS
    assert len(rows_of(run, "consumer_resumed")) == 1
    again = only(run, "commits_succeed_again")
    failing = only(run, "commits_fail")
    assert again["failing_us"] == again["time_us"] - failing["time_us"]
    assert again["failing_us"] > 3 * SECOND
    assert committed(run)[-1]["committed_offset"] > 200


@pytest.mark.parametrize(("release", "reads"), [("2.4", False), ("2.6", True)])
def test_without_a_coordinator_an_older_consumer_reads_nothing(
    release: str, reads: bool, tmp_path: Path
) -> None:
    """KafkaConsumer.poll@2.4.0 returns nothing while it looks for the coordinator."""
    settings = {"replica.lag.time.max.ms": 30_000}
    parts = {"release": release, "settings": settings, "faults": crash(1, "10s", "10s")}
    run = run_with(tmp_path, [1], **parts)
    taken = [row for row in run.rows("consumed") if row["end_offset"] > row["fetch_offset"]]
    meanwhile = [row for row in taken if 11 * SECOND < row["time_us"] < 19 * SECOND]
    assert bool(meanwhile) == reads
    assert [row for row in taken if row["time_us"] > 23 * SECOND]


def test_nobody_commits_under_min_isr(tmp_path: Path) -> None:
    """Commits are appended with acks=all; NOT_ENOUGH_REPLICAS is COORDINATOR_NOT_AVAILABLE."""
    offsets = {"min.insync.replicas": 2}
    run = run_with(tmp_path, offsets=offsets, faults=crash(2, "8s", "8s"))
    failing = only(run, "commits_fail")
    shrunk = only(run, "removed_from_isr", partition=OFFSETS)
    again = only(run, "commits_succeed_again")
    back = rows_of(run, "isr_expanded", partition=OFFSETS)[-1]
    assert failing["error"] in (errors.COORDINATOR_NOT_AVAILABLE, errors.REQUEST_TIMED_OUT)
    assert 8 * SECOND < failing["time_us"] < shrunk["time_us"] + 2 * SECOND
    assert 0 < again["time_us"] - back["time_us"] < SECOND
    refused = [row["error"] for row in rows_of(run, "request_refused", partition=OFFSETS)]
    assert errors.NOT_ENOUGH_REPLICAS in refused
    between = [row for row in committed(run) if 13 * SECOND < row["time_us"] < 16 * SECOND]
    assert between == []
    # The records are read all the same.
    assert rows_of(run, "consumer_sampled")[-1]["offset"] > 200


def test_a_commit_that_an_unclean_election_loses_sends_the_consumer_backwards(
    tmp_path: Path,
) -> None:
    """What was acknowledged by one coordinator the next one does not find in its log."""
    run = run_with(
        tmp_path,
        offsets={"unclean.leader.election.enable": True},
        group={"settings": {"session.timeout.ms": 3000, "heartbeat.interval.ms": 1000}},
        faults=[*crash(2, "6s", "6s"), *crash(1, "11s", "13s")],
        steps=[{"at": "11500ms"} | RESTARTED],
    )
    assert only(run, "leader_elected", partition=OFFSETS, unclean=1)["leader"] == BROKER_2
    last = [row for row in committed(run) if row["time_us"] < 11 * SECOND][-1]
    first, backwards = rows_of(run, "consumer_resumed")
    assert first["committed_offset"] == -1
    # Broker 2 was gone at 6 s, after three seconds of ten records each.
    assert 0 < backwards["committed_offset"] <= 31
    assert backwards["new_offset"] == backwards["committed_offset"] < last["committed_offset"]


def test_a_member_that_is_cut_off_for_longer_than_its_session_joins_anew(tmp_path: Path) -> None:
    """UNKNOWN_MEMBER_ID: what it has read since its last commit it reads once more."""
    cut = {
        "kind": "cut_link",
        "at": "8500ms",
        "for": "8s",
        "between": [["broker:1"], ["client:billing"]],
    }
    settings = {"session.timeout.ms": 6000, "request.timeout.ms": 4000}
    run = run_with(tmp_path, group={"settings": settings}, faults=[cut])
    expired = only(run, "member_expired", process=BROKER_1)
    reason = run.canonical_row(expired["because_process"], expired["because_sequence"])
    assert reason is not None
    assert reason.kind == "fault_began"
    _, again = rows_of(run, "consumer_resumed")
    assert again["time_us"] > 16500 * MS
    assert again["new_offset"] < again["offset"]
    assert len(rows_of(run, "member_joined")) == 2


def test_three_groups_of_processes_come_to_the_hash_of_one(tmp_path: Path) -> None:
    """What is committed goes round with their frames (``offset_commits.py``)."""
    scenario = cluster(
        group={"clients": 2, "settings": {"session.timeout.ms": 3000}},
        topics=[{"name": "story", "assignment": {0: [3, 1], 1: [1, 2]}}],
        settings={"offsets.topic.num.partitions": 3, "offsets.topic.replication.factor": 2},
        faults=[*crash(2, "6s", "6s"), *crash(1, "11s", "9s")],
        steps=[{"at": "11500ms"} | RESTARTED],
    )
    processes = len(ClusterPlan(scenario).processes)
    apart = [list(range(first, processes, 3)) for first in range(3)]
    one = simulate(scenario, tmp_path / "one")
    three = simulate(scenario, tmp_path / "three", make_engine=inline(apart))
    assert one.summary is not None
    assert three.summary is not None
    assert three.summary["process_hashes"] == one.summary["process_hashes"]
    assert len(rows_of(one, "coordinator_loaded")) > 3
    assert len(rows_of(one, "consumer_resumed")) == 4


def test_a_group_belongs_to_the_partition_of_its_names_hash() -> None:
    """GroupMetadataManager.partitionFor: "billing".hashCode() is -109829509."""
    settings = {"enable.auto.commit": True}
    groups = [{"name": name, "topics": ["story"], "settings": settings} for name in NAMES]
    scenario = cluster_of(workload={"consumers": groups})
    plan = ClusterPlan(scenario)
    assert scenario.topic(OFFSETS_TOPIC).partition_count == 50
    assert scenario.replication_factor(scenario.topic(OFFSETS_TOPIC)) == 3
    placed = [plan.group_partition(group) for group in scenario.workload.consumers]
    assert [plan.partitions[number].number for number in placed] == [109829509 % 50, 98 % 50]
    assert scenario_from_mapping(scenario.resolved(), "again") == scenario


def test_a_cluster_that_is_too_small_for_the_offsets_topic_is_refused() -> None:
    """KIP-115: offsets.topic.replication.factor is enforced."""
    group = {"name": "billing", "topics": ["story"], "settings": {"enable.auto.commit": True}}
    with pytest.raises(ScenarioError, match="3 replicas need as many brokers"):
        cluster_of(cluster={"brokers": 2}, topics=[topic_of([1])], workload={"consumers": [group]})


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("offsets.topic.num.partitions", 0, "must be from 1 to"),
        ("offsets.topic.num.partitions", "many", "must be a whole number"),
        ("offsets.topic.num.partitions", 2_000_001, "have 2,000,002 partitions"),
        ("offsets.topic.replication.factor", 16, "16 replicas are more than 15"),
    ],
)
def test_an_offsets_topic_that_cannot_be_is_refused(setting: str, value: Any, message: str) -> None:
    group = {"name": "billing", "topics": ["story"], "settings": {"enable.auto.commit": True}}
    brokers = {"brokers": 20, "settings": {setting: value}}
    with pytest.raises(ScenarioError, match=message):
        cluster_of(cluster=brokers, topics=[topic_of([1])], workload={"consumers": [group]})


def test_the_offsets_topic_has_hosts_of_its_own() -> None:
    """What was known of the scenario without it is not taken for the whole."""
    group = {"name": "billing", "topics": ["story"], "settings": {"enable.auto.commit": True}}
    data = cluster_of(workload={"consumers": [group]})
    alone = data.model_copy(update={"topics": data.topics[:1]})
    vars(alone).pop("_hosts", None)
    assert len(alone.hosts_of(alone.topics[0])) == data.topics[0].partition_count
    whole = alone.with_offsets_topic()
    assert whole.hosts_of(whole.topic(OFFSETS_TOPIC)) == whole.assignments(whole.topics[-1])
    assert OFFSETS_TOPIC not in vars(alone)["_hosts"]


def test_a_group_that_does_not_commit_cannot_begin_anew_where_it_was() -> None:
    with pytest.raises(ScenarioError, match=r"needs enable\.auto\.commit"):
        cluster(group={"settings": {"enable.auto.commit": False}}, steps=[{"at": "3s"} | RESTARTED])
