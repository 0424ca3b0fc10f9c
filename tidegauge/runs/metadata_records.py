"""The committed records of the metadata log, as far as rows have them.

The rows of the cluster's state are written as a batch is committed, so they are its records, in
their order: a state of a partition together with its replicas is one, of a broker, of the settings
of a topic. Records are named as ``kafka-dump-log --cluster-metadata-decoder`` names them; so are
the control records of voters and kraft.version, which the leader's rows ``quorum_voters`` are. NoOp
records, features and offsets of records are no rows.
"""

from collections.abc import Iterator
from heapq import merge
from typing import Any, NamedTuple

from tidegauge.runs.quorum import VotersInForce, id_of_key, voters_over_time
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.trace_rows import codes

_RECORDED = ("partition_state", "partition_replicas", "broker_state", "topic_configured")

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


def metadata_records(run: Run) -> Iterator[NamedRecord]:
    """All records that were committed, in their order.

    Raises:
        TraceError: a trace file is damaged.
    """
    return merge(_records_of_state(run), _control_records(run), key=lambda record: record.time_us)


def _control_records(run: Run) -> Iterator[NamedRecord]:
    """The voters that are committed in the run; with another kraft.version both are one batch."""
    before: VotersInForce | None = None
    for each in voters_over_time(run):
        if before is not None and each.committed_us is not None:
            if each.kraft_version != before.kraft_version:
                level = {"kRaftVersion": each.kraft_version}
                yield NamedRecord(each.committed_us, "KRaftVersion", level)
            voters = [
                {"voterId": id_of_key(key), "voterDirectoryId": key if "#" in key else None}
                for key in each.voters
            ]
            yield NamedRecord(each.committed_us, "KRaftVoters", {"voters": voters})
        before = each


def _records_of_state(run: Run) -> Iterator[NamedRecord]:
    known: dict[str, dict[str, Any]] = {}
    created: set[str] = set()
    events = list(run.events_of(*_RECORDED))
    for event, behind in zip(events, [*events[1:], None], strict=True):
        if event.kind == "partition_state":
            yield from _partition(event, behind, known, created)
        elif event.kind == "broker_state":
            yield _broker(event)
        elif event.kind == "topic_configured":
            yield from _configs(event)


def _partition(
    event: TraceEvent,
    behind: TraceEvent | None,
    known: dict[str, dict[str, Any]],
    created: set[str],
) -> Iterator[NamedRecord]:
    name, time_us = str(event.partition), event.time_us
    topic, partition = event.names.topic_and_partition(event.row["partition"])
    place = {"partitionId": partition, "topicId": topic}
    if event.row["change"] == codes.STATE_DELETED:
        if topic in created:
            created.discard(topic)
            yield NamedRecord(time_us, "REMOVE_TOPIC_RECORD", {"topicId": topic})
        known.pop(name, None)
        return
    before = known.get(name, {})
    now = before | {"isr": event.isr, "leader": -1 if event.leader is None else event.leader}
    if behind is not None and (behind.kind, behind.partition) == ("partition_replicas", name):
        now |= _replicas(behind)
    known[name] = now
    if event.row["change"] == codes.STATE_CREATED:
        if topic not in created:
            created.add(topic)
            yield NamedRecord(time_us, "TOPIC_RECORD", {"name": topic, "topicId": topic})
        epochs = {"leaderEpoch": event.leader_epoch, "partitionEpoch": event.partition_epoch}
        yield NamedRecord(time_us, "PARTITION_RECORD", place | now | epochs)
        return
    changed = {field: now[field] for field in _CHANGED if now.get(field) != before.get(field)}
    yield NamedRecord(time_us, "PARTITION_CHANGE_RECORD", place | changed)


def _replicas(event: TraceEvent) -> dict[str, Any]:
    last = event.last_known_leader
    return {
        "replicas": event.replicas,
        "removingReplicas": event.removing,
        "addingReplicas": event.adding,
        "leaderRecoveryState": int(event.recovering),
        "eligibleLeaderReplicas": event.eligible_leaders,
        "lastKnownElr": [] if last is None else [last],
    }


def _broker(event: TraceEvent) -> NamedRecord:
    broker = {"brokerId": event.broker, "brokerEpoch": event.broker_epoch}
    if event.row["state_reason"] == codes.BROKER_REGISTERS:
        return NamedRecord(event.time_us, "REGISTER_BROKER_RECORD", broker | {"fenced": True})
    data = broker | {"state": event.state}
    return NamedRecord(event.time_us, "BROKER_REGISTRATION_CHANGE_RECORD", data)


def _configs(event: TraceEvent) -> Iterator[NamedRecord]:
    values = {
        "min.insync.replicas": event.min_insync_replicas,
        "unclean.leader.election.enable": event.unclean_enabled,
    }
    for name, value in values.items():
        data = {"resourceName": event.topic, "name": name, "value": value}
        yield NamedRecord(event.time_us, "CONFIG_RECORD", data)
