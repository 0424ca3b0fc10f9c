"""Rows of ZooKeeper in words, and the objects behind the znodes in them.

Rows of the cluster's state say whether a broker is registered, and which one is the controller.
Stories tell them with the znodes that hold this: a broker is active while /brokers/ids has it.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegauge.runs.znode_paths import ZnodePaths, ZnodeSort
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.codes import BROKER_ACTIVE, BROKER_DELETED, FORMER_WRITER
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_folder import TraceRow

#: The kind of row about what is new in ZooKeeper.
CREATED = "znode_created"
#: ... and about what is gone.
DELETED = "znode_deleted"


def path_of(row: TraceRow, names: Directory) -> str:
    """The path of the znode that a row is about."""
    return ZnodePaths(names).path(row["znode"], row.columns.get("sequence_number"))


def _registration(row: TraceRow, names: Directory) -> str:
    broker = names.broker_id(row["broker"])
    if row["state"] == BROKER_ACTIVE:
        return f"/brokers/ids/{broker} is created by broker {broker}"
    by_request = row["state_reason"] == BROKER_DELETED
    writer = f"broker {broker}" if by_request else "the end of its session"
    return f"/brokers/ids/{broker} is deleted by {writer}"


def _controller(row: TraceRow, names: Directory) -> str:
    if row["broker"] == NONE:
        return "/controller is deleted by the end of its session"
    if row["broker"] == FORMER_WRITER:
        return "/controller is created by a process before the run"
    return f"/controller is created by broker {names.broker_id(row['broker'])}"


#: The words for rows of the cluster's state, by their kind.
TOLD_BY_ZOOKEEPER: dict[str, Callable[[TraceRow, Directory], str]] = {
    "broker_state": _registration,
    "controller_active": _controller,
}


#: What a column stands for, by its name.
READ_BY_ZOOKEEPER: dict[str, Callable[[TraceRow, Directory], str]] = {"znode": path_of}


def is_notification(row: TraceRow, names: Directory) -> bool:
    """Whether a row is about a child of /isr_change_notification."""
    return ZnodePaths(names).known(row["znode"]).sort is ZnodeSort.NOTIFICATION


class Children:
    """The children of one znode, row by row."""

    #: The kinds of rows that change them.
    CHANGES = frozenset({CREATED, DELETED})

    def __init__(self, names: Directory, sort: ZnodeSort) -> None:
        """Begin without any; the children are of this sort."""
        self._paths = ZnodePaths(names)
        self._sort = sort
        #: Their numbers within their sort.
        self.numbers: set[int] = set()

    def take(self, row: TraceRow) -> None:
        """Apply one row of any kind; rows come in their total order."""
        if row.kind not in self.CHANGES:
            return
        sort, number = self._paths.known(row["znode"])
        if sort is self._sort:
            (self.numbers.add if row.kind == CREATED else self.numbers.discard)(number)


def pending_notifications(names: Directory) -> Children:
    """The notifications of ISR changes that no controller has deleted yet."""
    return Children(names, ZnodeSort.NOTIFICATION)


def topics_of_zookeeper(names: Directory) -> Children:
    """The topics in /brokers/topics: they are there before their partitions have states."""
    return Children(names, ZnodeSort.TOPIC)


def partition_of(row: TraceRow, names: Directory) -> int:
    """The number of the partition that a row is about, or whose state a znode is; -1: none."""
    if "znode" not in row.columns:
        return row.columns.get("partition", -1)
    sort, number = ZnodePaths(names).known(row["znode"])
    return number if sort is ZnodeSort.STATE else -1


def leader_of(row: TraceRow, names: Directory) -> int | None:
    """Id of the leader in a row; a znode has it as a slot of its partition."""
    if "znode" not in row.columns:
        return names.broker_id(row["leader"])
    partition = partition_of(row, names)
    slots = names.slots(partition) if partition >= 0 else []
    return dict(enumerate(slots)).get(row["leader"])
