"""Znodes by their numbers in rows of the trace: their paths, sorts and partitions.

The run's directory has the ranges of their numbers: the fixed znodes first, then one for each
broker, topic and partition, and so on. All behind the last of them are places for children of
/isr_change_notification. A place is reused when its child is deleted, so only the sequence number
that ZooKeeper gave to the child identifies its path.
"""

from enum import Enum
from typing import NamedTuple

from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    FIXED_ZNODES,
    NOTIFICATIONS_ZNODE,
    PREFERRED_ELECTION_ZNODE,
    TOPICS_ZNODE,
)
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_folder import TraceRow

#: Znodes that exist from the beginning have only a path.
FIXED_PATHS: dict[int, str] = {
    int(CONTROLLER_ZNODE): "/controller",
    int(CONTROLLER_EPOCH_ZNODE): "/controller_epoch",
    int(BROKER_IDS_ZNODE): "/brokers/ids",
    int(TOPICS_ZNODE): "/brokers/topics",
    int(NOTIFICATIONS_ZNODE): "/isr_change_notification",
    int(PREFERRED_ELECTION_ZNODE): "/admin/preferred_replica_election",
}


class ZnodeSort(Enum):
    """The content of a znode."""

    CONTROLLER = "the broker that is controller"
    CONTROLLER_EPOCH = "the newest controller epoch"
    PARENT = "nothing; it has children"
    PREFERRED_ELECTION = "partitions that preferred replicas are to lead"
    BROKER = "one broker's registration"
    TOPIC = "one topic's assignment"
    STATE = "one partition's leader and ISR"
    REASSIGNMENT = "partitions whose replicas are to be moved, and to where"
    DELETIONS = "nothing; its children are topics that are to be deleted"
    TOPIC_DELETION = "nothing; its topic is to be deleted"
    LOG_DIR_EVENTS = "nothing; it has children, too"
    LOG_DIR_EVENT = "the broker of which a log directory has failed"
    NOTIFICATION = "partitions whose ISR has changed"


_PATHS = {
    ZnodeSort.REASSIGNMENT: "/admin/reassign_partitions",
    ZnodeSort.DELETIONS: "/admin/delete_topics",
    ZnodeSort.LOG_DIR_EVENTS: "/log_dir_event_notification",
}
#: Children with a sequence number of ZooKeeper.
_CHILDREN = {
    ZnodeSort.NOTIFICATION: f"{FIXED_PATHS[int(NOTIFICATIONS_ZNODE)]}/isr_change_",
    ZnodeSort.LOG_DIR_EVENT: f"{_PATHS[ZnodeSort.LOG_DIR_EVENTS]}/log_dir_event_",
}


#: Fixed znodes with content of their own; the others have children.
_FIXED_SORTS = {
    int(CONTROLLER_ZNODE): ZnodeSort.CONTROLLER,
    int(CONTROLLER_EPOCH_ZNODE): ZnodeSort.CONTROLLER_EPOCH,
    int(PREFERRED_ELECTION_ZNODE): ZnodeSort.PREFERRED_ELECTION,
}


class KnownZnode(NamedTuple):
    """The meaning of a znode's number."""

    sort: ZnodeSort
    #: Its place among those of its sort: index of the broker, number of the topic or partition.
    number: int


class ZnodePaths:
    """The znodes of one run."""

    def __init__(self, names: Directory) -> None:
        """Take the ranges of numbers in a run's directory."""
        self._names = names

    def known(self, znode: int) -> KnownZnode:
        """The sort and the object of a znode, by its number."""
        if znode in _FIXED_SORTS:
            return KnownZnode(_FIXED_SORTS[znode], 0)
        if znode < FIXED_ZNODES:
            return KnownZnode(ZnodeSort.PARENT, znode)
        tree = self._names.zookeeper_tree
        among = next((each for each in tree if znode < each.end), tree[-1])
        return KnownZnode(ZnodeSort[among.sort.upper()], znode - among.first)

    def path(self, znode: int, sequence_number: int | None = None) -> str:
        """The path of a znode; for a notification with ``*`` if its number is not given."""
        sort, number = self.known(znode)
        if sort is ZnodeSort.BROKER:
            return f"{FIXED_PATHS[int(BROKER_IDS_ZNODE)]}/{self._names.broker_id(number)}"
        if sort is ZnodeSort.TOPIC:
            return f"{FIXED_PATHS[int(TOPICS_ZNODE)]}/{self._names.topic(number)}"
        if sort is ZnodeSort.STATE:
            topic, partition = self._names.topic_and_partition(number)
            return f"{FIXED_PATHS[int(TOPICS_ZNODE)]}/{topic}/partitions/{partition}/state"
        if sort in _CHILDREN:
            named = "*" if sequence_number is None else f"{sequence_number:010}"
            return _CHILDREN[sort] + named
        if sort is ZnodeSort.TOPIC_DELETION:
            return f"{_PATHS[ZnodeSort.DELETIONS]}/{self._names.topic(number)}"
        return FIXED_PATHS.get(znode) or _PATHS.get(sort, f"znode {znode}")


#: The kind of row about a new znode.
CREATED = "znode_created"
#: ... and about a deleted one.
DELETED = "znode_deleted"


def path_of(row: TraceRow, names: Directory) -> str:
    """The path of the znode that a row is about."""
    return ZnodePaths(names).path(row["znode"], row.columns.get("sequence_number"))


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
