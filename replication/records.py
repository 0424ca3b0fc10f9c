"""The records that the rules work on: one class per record, one comment per field.

A record is a row of a numpy structured array. Its class below *is* the layout: the
annotations name the columns and their types, and ``dtype_of`` turns them into a numpy
dtype whose rows are instances of the class. So ``partitions[i].high_watermark`` reads and
writes the array's memory, in plain Python and compiled alike, and mypy knows the fields.

Offsets are log positions, times are milliseconds of the broker's clock, replicas are
slots (``replica_list.py``). Absent is -1, as on Kafka's wire.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, cast, get_type_hints, overload

import numpy as np
from numpy.typing import NDArray

i64 = Annotated[int, np.int64]
flag = Annotated[bool, np.bool_]

#: Absent: no offset, no epoch, no replica. Typed, as ``codes.code`` says why.
UNDEFINED = cast(int, np.int64(-1))


if TYPE_CHECKING:
    # numpy's stubs forbid what numpy allows, to derive from `np.record`.
    class Record:
        """A row of a structured array; see the module's docstring."""

        dtype: np.dtype[np.void]

else:

    class Record(np.record):
        """A row of a structured array; see the module's docstring."""


R = TypeVar("R", bound=Record)
R_co = TypeVar("R_co", bound=Record, covariant=True)


class Records(Protocol[R_co]):
    """A one-dimensional array of records."""

    @overload
    def __getitem__(self, index: int) -> R_co: ...

    @overload
    def __getitem__(self, index: slice) -> Records[R_co]: ...

    def __setitem__(self, index: int, row: Record) -> None: ...

    def __len__(self) -> int: ...

    @property
    def ctypes(self) -> Any:
        """The address, as numpy has it, for system calls (``simulation/system_calls.py``)."""


class EpochEntry(Record):
    """A leader epoch and the offset of its first record (Kafka: ``EpochEntry``).

    A leader-epoch cache is a list of them, and so is a log's true content: its *epoch
    runs*. A record's identity is (leader epoch, offset), so two logs are equal exactly
    if their runs and their ends are.
    """

    #: Leader epoch, -1 for records of a message format that carries none.
    epoch: i64
    #: Offset of the first record of this epoch.
    start_offset: i64


class RemoteReplica(Record):
    """What a leader knows of one follower (Kafka: ``Replica``, ``ReplicaState``)."""

    #: Id of the follower's broker.
    broker: i64
    #: The follower's log end offset, as of its last fetch; -1 before its first.
    log_end_offset: i64
    #: The follower's log start offset, as of its last fetch.
    log_start_offset: i64
    #: The leader's own log end offset when it read for that fetch.
    last_fetch_leader_log_end_offset: i64
    #: Time of that fetch.
    last_fetch_time_ms: i64
    #: The last time at which the follower had all that the leader had.
    last_caught_up_time_ms: i64


class Partition(Record):
    """One replica as its broker hosts it (Kafka: ``Partition`` and its ``Log``).

    Log and leadership are one record, so that a fetch touches one place in memory.
    """

    #: Offset of the first record that has not been deleted.
    log_start_offset: i64
    #: Offset of the next record (LEO).
    log_end_offset: i64
    #: First offset that consumers cannot read (HW).
    high_watermark: i64
    #: Number of epoch runs in the log.
    run_count: i64
    #: Number of entries in the leader-epoch cache.
    epoch_count: i64

    #: This broker's own slot.
    local_replica: i64
    #: Assigned replicas in order of preference (AR); a replica list.
    replicas: i64
    #: Replicas that an ongoing reassignment adds; a replica list.
    adding_replicas: i64
    #: ... and those that it will remove.
    removing_replicas: i64
    #: Where the views of the followers begin: slot s is at ``first_follower + s``.
    first_follower: i64
    #: ``min.insync.replicas`` of the topic.
    min_insync_replicas: i64

    #: Slot of the leader, -1 if none is known.
    leader: i64
    #: Epoch of that leader.
    leader_epoch: i64
    #: Epoch of the controller that elected it.
    controller_epoch: i64
    #: Version of the partition's state in ZooKeeper (from 3.x: partition epoch).
    partition_epoch: i64
    #: The leader's log end offset when its epoch began; -1 on followers.
    leader_epoch_start_offset: i64

    #: Replicas in sync, as committed; a replica list in the stored order.
    isr: i64
    #: The ISR and who may be about to join it: holds back high watermark and acks=all.
    maximal_isr: i64
    #: ISR in the change that is in flight; empty if none is.
    proposed_isr: i64


class PartitionFetchState(Record):
    """A follower's fetcher about one partition (Kafka: ``PartitionFetchState``)."""

    #: NOT_FETCHED, TRUNCATING or FETCHING (``fetcher.py``).
    state: i64
    #: Next offset to fetch; while TRUNCATING where truncation falls back to.
    fetch_offset: i64
    #: The leader epoch under which the partition was handed to the fetcher.
    current_leader_epoch: i64
    #: Epoch of the last record in the log, sent along from 2.8 on; -1 if unknown.
    last_fetched_epoch: i64
    #: A response has been taken since the partition was handed over (Kafka: ``lag`` is known).
    answered: flag
    #: ... and its records reached the leader's high watermark (Kafka: ``isReplicaInSync``).
    in_sync: flag
    #: No request until the back-off is over.
    delayed: flag
    #: Given up until the next LeaderAndIsr (Kafka: ``failedPartitions``).
    failed: flag


class QuotaSample(Record):
    """One window of a rate (Kafka: ``SampledStat.Sample``)."""

    #: When it began.
    start_ms: i64
    size_bytes: i64


class ReplicationQuota(Record):
    """Throttled replication of a broker in one direction (Kafka: ``ReplicationQuotaManager``)."""

    #: leader- or follower.replication.throttled.rate; UNLIMITED where none is set.
    bytes_per_second: i64
    #: replication.quota.window.num, and replication.quota.window.size.seconds in milliseconds.
    window_count: i64
    window_ms: i64
    #: Where its samples lie, how many there are, and which is the current one.
    first_sample: i64
    sample_count: i64
    current: i64


class LeaderAndIsr(Record):
    """A partition's state in ZooKeeper and in the controller (Kafka: ``LeaderAndIsr``)."""

    #: Slot of the leader; -1 none, -2 the topic is being deleted.
    leader: i64
    #: Grows by one with every change that the controller makes.
    leader_epoch: i64
    #: Replicas in sync; a replica list in the stored order.
    isr: i64
    #: Version of the znode (from 3.x: partition epoch).
    partition_epoch: i64


def dtype_of(record: type[Record]) -> np.dtype[np.void]:
    """The numpy dtype of a record's rows, aligned as a C struct would be."""
    return _laid_out(cast("Any", record))  # mypy takes no class for hashable


@cache
def _laid_out(record: Any) -> np.dtype[np.void]:
    hints = get_type_hints(record, include_extras=True)
    fields = [
        # A record inside a record, or a number.
        (name, dtype_of(hint) if isinstance(hint, type) else hint.__metadata__[0])
        for name, hint in hints.items()
    ]
    layout = np.dtype(fields, align=True)
    # numpy does not align a record within a record: it has to stand behind numbers, not flags.
    for inner, offset, *_ in (layout.fields or {}).values():
        assert inner.fields is None or offset % layout.alignment == 0, record
    return np.dtype((record, layout))


def new_records(record: type[R], count: int) -> Records[R]:
    """An array of ``count`` records, all fields zero."""
    rows: NDArray[np.void] = np.zeros(count, dtype=dtype_of(record))
    return cast("Records[R]", rows)  # numpy has no type for rows of a class


def column(rows: Records[R], field: str) -> NDArray[np.int64]:
    """One field of all rows, as an array that shares their memory."""
    columns = cast("NDArray[np.void]", rows)
    return cast("NDArray[np.int64]", columns[field])


def grown(rows: Records[R], count: int) -> Records[R]:
    """A copy with room for ``count`` rows, those that are new all zero."""
    old = cast("NDArray[np.void]", rows)
    longer: NDArray[np.void] = np.zeros(count, dtype=old.dtype)
    longer[: len(old)] = old
    return cast("Records[R]", longer)


def new_record(record: type[R]) -> R:
    """One record, all fields zero."""
    return new_records(record, 1)[0]
