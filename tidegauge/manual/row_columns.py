"""The columns of the trace's rows: the type, the unit and the meaning of each.

A column means the same in every kind of row that has it. ``tests/docs/test_generated_pages.py``
fails for a column that is missing here.
"""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.manual.markdown import NONE

#: Types: what the integer of a column stands for.
COUNT, FLAG, NUMBER, OFFSET, EPOCH = "count", "0 or 1", "number", "offset", "epoch"
BROKER, PROCESS, TIME, LIST, CODE = (
    "broker index",
    "process number",
    "time",
    "replica list",
    "code",
)

#: Units by the end of a column's name.
_UNITS = {"_us": "us", "_ms": "ms", "_rate_bytes": "bytes/s"}


class Column(NamedTuple):
    """A column, for people."""

    type: str
    meaning: str
    #: Unless its name ends in it.
    unit: str = NONE


#: The columns that every row has.
COMMON = {
    "time_us": Column(TIME, "virtual time since the start of the run"),
    "process": Column(PROCESS, "the process that writes the row"),
    "sequence": Column(NUMBER, "number of the row within its process; counts canonical rows only"),
    "minor": Column(NUMBER, "0 in a canonical row; counts the other rows after it"),
    "cause_process": Column(PROCESS, "with cause_sequence: the row that caused this one; -1: none"),
    "cause_sequence": Column(NUMBER, "`sequence` of that row"),
    "because_process": Column(PROCESS, "with because_sequence: a second reason; -1: none"),
    "because_sequence": Column(NUMBER, "`sequence` of that row"),
}

COLUMNS = {
    "acks": Column(NUMBER, "acks of the requests: 0, 1, or -1 for all"),
    "adding": Column(LIST, "replicas that a reassignment adds"),
    "again_offset": Column(OFFSET, "first offset of the second copy of a batch"),
    "api_key": Column(CODE, "Kafka's number of the request; see [api_key](#api_key)"),
    "asked_epoch": Column(EPOCH, "the leader epoch that a request asks about"),
    "at_min_isr": Column(
        COUNT, "partitions led here with exactly min.insync.replicas in sync", "partitions"
    ),
    "attempt": Column(NUMBER, "number of the attempt, from 1"),
    "attempts": Column(COUNT, "attempts that a producer made", "attempts"),
    "base_offset": Column(OFFSET, "first offset of the records"),
    "batch": Column(NUMBER, "number of the batch within its producer"),
    "broker": Column(BROKER, "the broker that the row is about; -1: none"),
    "broker_count": Column(COUNT, "brokers in the batch of a rolling restart", "brokers"),
    "broker_epoch": Column(EPOCH, "epoch of a broker's registration (ZooKeeper: its czxid)"),
    "change": Column(CODE, "what has happened to the state; see [change](#change)"),
    "checkpoint": Column(CODE, "which checkpoint file; see [checkpoint](#checkpoint)"),
    "checkpointed": Column(OFFSET, "high watermark in the checkpoint file; -1: none"),
    "clean": Column(FLAG, "1: the broker was stopped cleanly before"),
    "committed_offset": Column(OFFSET, "offset that a consumer group has committed; -1: none"),
    "controller_epoch": Column(EPOCH, "controller epoch"),
    "directory": Column(NUMBER, "log directory of the broker, from 0; -1: unknown"),
    "diverging_end_offset": Column(OFFSET, "offset to which a response has the follower truncate"),
    "eligible_leaders": Column(LIST, "eligible leader replicas (KIP-966); KRaft only"),
    "end_offset": Column(OFFSET, "the offset after the last record"),
    "epoch": Column(EPOCH, "leader epoch of the records; -1: none"),
    "epoch_count": Column(COUNT, "entries of the leader-epoch cache", "entries"),
    "error": Column(CODE, "Kafka's error code, or ZooKeeper's (-101 and below); 0: none"),
    "event_kind": Column(CODE, "kind of the controller's event; `tidegauge show` names it"),
    "failing_us": Column(TIME, "time since the first failed commit"),
    "failures": Column(COUNT, "commits that have failed", "commits"),
    "fault": Column(NUMBER, "place of the fault in the scenario, from 0"),
    "fetch_offset": Column(OFFSET, "offset that a fetch asks for"),
    "first_offset": Column(OFFSET, "first offset of the records"),
    "follower_rate_bytes": Column(NUMBER, "limit of replication as follower; -1: none"),
    "follower_replicas": Column(COUNT, "replicas throttled as followers", "replicas"),
    "from_process": Column(PROCESS, "the sender"),
    "high_watermark": Column(
        OFFSET, "high watermark; below 0 a reason, see [high_watermark](#high_watermark)"
    ),
    "is_new_leader": Column(FLAG, "1: the broker did not lead before; 0: it stays leader"),
    "isr": Column(LIST, "in-sync replicas"),
    "kind": Column(CODE, "kind of the fault; the manifest names it"),
    "lag_ms": Column(TIME, "longest time since one of the removed followers was caught up"),
    "last_known_leader": Column(BROKER, "the last leader of a partition without ISR; KRaft only"),
    "leader": Column(BROKER, "the leader; -1: none. In a znode's row: its slot in replica lists"),
    "leader_epoch": Column(EPOCH, "leader epoch"),
    "leader_rate_bytes": Column(NUMBER, "limit of replication as leader; -1: none"),
    "leader_replicas": Column(COUNT, "replicas throttled as leaders", "replicas"),
    "leaders": Column(COUNT, "partitions that the broker leads", "partitions"),
    "leads": Column(FLAG, "1: the replica is the leader"),
    "log_end_offset": Column(OFFSET, "log end offset of the replica"),
    "logs": Column(COUNT, "logs that the broker loads", "logs"),
    "member_count": Column(COUNT, "members of the groups", "consumers"),
    "member_end_offset": Column(OFFSET, "log end offset of the follower that joins the ISR"),
    "message_kind": Column(CODE, "kind of the message; `tidegauge show` names it"),
    "min_insync_replicas": Column(COUNT, "min.insync.replicas", "replicas"),
    "missing_us": Column(TIME, "time without a coordinator"),
    "moment": Column(CODE, "the occasion on which a high watermark moves; see [moment](#moment)"),
    "new_offset": Column(OFFSET, "offset from which a consumer reads on"),
    "notification": Column(
        NUMBER, "number of the isr_change_notification: sent, of its broker; read, of the znode"
    ),
    "offset": Column(OFFSET, "offset of a request or of its response; -1: none"),
    "offset_count": Column(COUNT, "committed offsets that were read", "offsets"),
    "old_end_offset": Column(OFFSET, "the end before"),
    "old_high_watermark": Column(OFFSET, "the high watermark before"),
    "old_isr": Column(LIST, "in-sync replicas before"),
    "old_leader": Column(BROKER, "the leader before; -1: none"),
    "old_offset": Column(OFFSET, "the leader's copy of the log end offset before the fetch"),
    "partition": Column(NUMBER, "number of the partition within the cluster; -1: none"),
    "partition_count": Column(COUNT, "partitions in the request or notification", "partitions"),
    "partition_epoch": Column(NUMBER, "partition epoch; with ZooKeeper the state's version"),
    "partitions": Column(COUNT, "replicas that the broker hosts", "partitions"),
    "position": Column(NUMBER, "place of the entry in the leader-epoch cache, from 0"),
    "processing_us": Column(TIME, "time that the controller worked on an event"),
    "progress": Column(CODE, "state of a rolling restart; see [progress](#progress)"),
    "queue_length": Column(COUNT, "events in the controller's queue", "events"),
    "queued_us": Column(TIME, "time that an event waited in the controller's queue"),
    "quiet_ms": Column(TIME, "time since the leader's last ISR change"),
    "reason": Column(CODE, "the occasion of the row; see [reason](#reason)"),
    "reassigning": Column(COUNT, "partitions led here that are being reassigned", "partitions"),
    "records": Column(COUNT, "records in the batch", "records"),
    "records_acknowledged": Column(COUNT, "records acknowledged to the client", "records"),
    "records_consumed": Column(COUNT, "records that the client consumed", "records"),
    "records_duplicated": Column(COUNT, "records that retries appended twice", "records"),
    "records_failed": Column(COUNT, "records that the producer gave up", "records"),
    "records_to_recover": Column(COUNT, "records behind recovery points", "records"),
    "recovery_point": Column(OFFSET, "recovery point in the checkpoint file; -1: none"),
    "remaining": Column(COUNT, "partitions that the broker still leads", "partitions"),
    "recovering": Column(FLAG, "1: the leader recovers from an unclean election; KRaft only"),
    "removing": Column(LIST, "replicas that a reassignment removes"),
    "replica": Column(BROKER, "the broker that hosts the replica"),
    "replicas": Column(LIST, "all replicas, the preferred leader first"),
    "request": Column(NUMBER, "number of the request within its sender"),
    "sequence_number": Column(NUMBER, "number that ZooKeeper gives to a sequential znode"),
    "session": Column(NUMBER, "number of the ZooKeeper session"),
    "silent_us": Column(TIME, "time since the last message"),
    "since_propagation_ms": Column(TIME, "time since the last notification of this broker"),
    "start": Column(COUNT, "restarts of the consumer before", "restarts"),
    "start_offset": Column(OFFSET, "the first offset of an epoch"),
    "state": Column(CODE, "what the control plane takes a broker for; see [state](#state)"),
    "state_reason": Column(CODE, "why it does; see [state_reason](#state_reason)"),
    "step": Column(NUMBER, "place of the step in the scenario, from 0"),
    "stop": Column(CODE, "the way in which a process ended; see [stop](#stop)"),
    "timeout_ms": Column(TIME, "session timeout"),
    "to_process": Column(PROCESS, "the receiver"),
    "topic": Column(NUMBER, "number of the topic, in the order of the scenario"),
    "unclean": Column(FLAG, "1: an unclean election"),
    "unclean_enabled": Column(FLAG, "1: unclean.leader.election.enable is true"),
    "under_min_isr": Column(
        COUNT, "partitions led here with fewer than min.insync.replicas in sync", "partitions"
    ),
    "under_replicated": Column(COUNT, "partitions with a replica outside of the ISR", "partitions"),
    "unregistered": Column(COUNT, "brokers that are not registered", "brokers"),
    "until_us": Column(TIME, "virtual time at which the work is done"),
    "version": Column(NUMBER, "version of the znode"),
    "waited": Column(FLAG, "1: the fetch waited in the purgatory and was read again"),
    "writer": Column(
        BROKER, "the broker that writes; -1: the operator or the session; -2: before the run"
    ),
    "znode": Column(NUMBER, "number of the znode; `tidegauge show` prints its path"),
}


def unit_of(name: str, column: Column) -> str:
    """The unit of a column."""
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), column.unit)
