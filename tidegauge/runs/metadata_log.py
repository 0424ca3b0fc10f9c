"""The metadata log of a KRaft cluster, as far as rows have it.

The rows of the cluster's state are written as a batch is committed, so they are its records, in
their order: a state of a partition together with its replicas is one, of a broker, of the settings
of a topic. Records are named as ``kafka-dump-log --cluster-metadata-decoder`` names them. NoOp
records, features and offsets of records are no rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.story import Names, spoken
from tidegauge.simulation.codes.occasions import (
    BROKER_REGISTERS,
    STATE_CREATED,
    STATE_DELETED,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

_KINDS = frozenset({"partition_state", "partition_replicas", "broker_state", "topic_configured"})

#: The fields of a PARTITION_CHANGE_RECORD that are there only if they have changed.
_CHANGED = (
    *("isr", "leader", "replicas", "removingReplicas", "addingReplicas"),
    *("leaderRecoveryState", "eligibleLeaderReplicas", "lastKnownElr"),
)


class NamedRecord(NamedTuple):
    """A record that was committed."""

    time_us: int
    #: Such as ``PARTITION_CHANGE_RECORD``.
    name: str
    data: dict[str, Any]


def check_has_quorum(run: RunFolder, view: str) -> None:
    """Check that a run is one of a KRaft cluster.

    Raises:
        TidegaugeError: it has ZooKeeper.
    """
    if not run.directory.controllers:
        raise TidegaugeError(
            f"show {view}: the cluster has no quorum; show zookeeper has its ZooKeeper"
        )


def metadata_records(run: RunFolder, names: Names) -> Iterator[NamedRecord]:
    """All records that were committed, in their order.

    Raises:
        TraceError: a trace file is damaged.
    """
    known: dict[int, dict[str, Any]] = {}
    created: set[int] = set()
    rows = list(run.all_rows(wanted=lambda kind: kind.name in _KINDS))
    for place, row in enumerate(rows):
        if row.kind == "partition_state":
            behind = rows[place + 1] if place + 1 < len(rows) else None
            yield from _partition(row, behind, names, known, created)
        elif row.kind == "broker_state":
            yield _broker(row, names)
        elif row.kind == "topic_configured":
            yield from _configs(row, names)


def _partition(
    row: TraceRow,
    behind: TraceRow | None,
    names: Names,
    known: dict[int, dict[str, Any]],
    created: set[int],
) -> Iterator[NamedRecord]:
    number, time_us = row["partition"], row["time_us"]
    topic, partition = names.topic_and_partition(number)
    topic_number = names.all_partitions[number].topic_number
    if row["change"] == STATE_DELETED:
        if topic_number in created:
            created.discard(topic_number)
            yield NamedRecord(time_us, "REMOVE_TOPIC_RECORD", {"topicId": topic})
        known.pop(number, None)
        return
    before = known.get(number, {})
    now = before | {
        "isr": names.brokers_in(row["isr"], number),
        "leader": -1 if row["leader"] < 0 else names.broker_id(row["leader"]),
    }
    if behind is not None and (behind.kind, behind.columns.get("partition")) == (
        "partition_replicas",
        number,
    ):
        now |= _replicas(behind, names)
    known[number] = now
    if row["change"] == STATE_CREATED:
        if topic_number not in created:
            created.add(topic_number)
            yield NamedRecord(time_us, "TOPIC_RECORD", {"name": topic, "topicId": topic})
        epochs = {"leaderEpoch": row["leader_epoch"], "partitionEpoch": row["partition_epoch"]}
        data = {"partitionId": partition, "topicId": topic} | now | epochs
        yield NamedRecord(time_us, "PARTITION_RECORD", data)
        return
    changed = {name: now[name] for name in _CHANGED if now.get(name) != before.get(name)}
    data = {"partitionId": partition, "topicId": topic} | changed
    yield NamedRecord(time_us, "PARTITION_CHANGE_RECORD", data)


def _replicas(row: TraceRow, names: Names) -> dict[str, Any]:
    number = row["partition"]
    last = row["last_known_leader"]
    return {
        "replicas": names.brokers_in(row["replicas"], number),
        "removingReplicas": names.brokers_in(row["removing"], number),
        "addingReplicas": names.brokers_in(row["adding"], number),
        "leaderRecoveryState": row["recovering"],
        "eligibleLeaderReplicas": names.brokers_in(row["eligible_leaders"], number),
        "lastKnownElr": [] if last < 0 else [names.broker_id(last)],
    }


def _broker(row: TraceRow, names: Names) -> NamedRecord:
    broker: dict[str, Any] = {"brokerId": names.broker_id(row["broker"])}
    epoch = {"brokerEpoch": row["broker_epoch"]}
    if row["state_reason"] == BROKER_REGISTERS:
        data = broker | epoch | {"fenced": True}
        return NamedRecord(row["time_us"], "REGISTER_BROKER_RECORD", data)
    data = broker | epoch | {"state": spoken(row, "state", names)}
    return NamedRecord(row["time_us"], "BROKER_REGISTRATION_CHANGE_RECORD", data)


def _configs(row: TraceRow, names: Names) -> Iterator[NamedRecord]:
    values = {
        "min.insync.replicas": row["min_insync_replicas"],
        "unclean.leader.election.enable": bool(row["unclean_enabled"]),
    }
    for name, value in values.items():
        data = {"resourceName": names.topic(row["topic"]), "name": name, "value": value}
        yield NamedRecord(row["time_us"], "CONFIG_RECORD", data)
