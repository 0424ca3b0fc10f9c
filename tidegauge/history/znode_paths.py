"""The paths of znodes, for their numbers in rows of the trace.

The numbers are those of ``simulation/zookeeper_tree.py``. The highest ones are places for children
of /isr_change_notification. A place is reused when its child is deleted, so only the sequence
number that ZooKeeper gave to the child identifies its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from tidegauge.scenario.model.steps import ADMIN_STEPS
from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    BROKERS,
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    DELETIONS,
    FIXED_ZNODES,
    LOG_DIR_EVENT,
    LOG_DIR_EVENTS,
    NOTIFICATIONS,
    NOTIFICATIONS_ZNODE,
    PREFERRED_ELECTION_ZNODE,
    REASSIGNMENT,
    STATES,
    TOPIC_DELETIONS,
    TOPICS,
    TOPICS_ZNODE,
    tree_ranges,
)

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


#: The sorts with a range of their own; all behind these are notifications.
_SORTS = {
    BROKERS: ZnodeSort.BROKER,
    TOPICS: ZnodeSort.TOPIC,
    STATES: ZnodeSort.STATE,
    REASSIGNMENT: ZnodeSort.REASSIGNMENT,
    DELETIONS: ZnodeSort.DELETIONS,
    TOPIC_DELETIONS: ZnodeSort.TOPIC_DELETION,
    LOG_DIR_EVENTS: ZnodeSort.LOG_DIR_EVENTS,
    LOG_DIR_EVENT: ZnodeSort.LOG_DIR_EVENT,
}


class KnownZnode(NamedTuple):
    """The meaning of a znode's number."""

    sort: ZnodeSort
    #: Its place among those of its sort: index of the broker, number of the topic or partition.
    number: int


class ZnodePaths:
    """The znodes of one run."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        """Count brokers, topics and partitions in a manifest (``traces/run_folder.py``)."""
        self._brokers: list[int] = list(manifest["brokers"])
        self._partitions = [(each["topic"], each["partition"]) for each in manifest["partitions"]]
        scenario = manifest["scenario"]
        steps = scenario.get("steps", ())
        directories = scenario.get("cluster", {}).get("log_directories", 1)
        kinds = {fault["kind"] for fault in scenario.get("faults", ())}
        #: Names of topics, in the order of their numbers.
        self.topics: tuple[str, ...] = tuple(dict.fromkeys(topic for topic, _ in self._partitions))
        self._ranges = tree_ranges(
            len(self._brokers),
            len(self.topics),
            len(self._partitions),
            any(step["do"] in ADMIN_STEPS for step in steps),
            len(self._brokers) * directories if "log_directory_failure" in kinds else 0,
        )

    def known(self, znode: int) -> KnownZnode:
        """The sort and the object of a znode, by its number."""
        if znode in {CONTROLLER_ZNODE, CONTROLLER_EPOCH_ZNODE}:
            is_epoch = znode == CONTROLLER_EPOCH_ZNODE
            return KnownZnode(ZnodeSort.CONTROLLER_EPOCH if is_epoch else ZnodeSort.CONTROLLER, 0)
        if znode == PREFERRED_ELECTION_ZNODE:
            return KnownZnode(ZnodeSort.PREFERRED_ELECTION, 0)
        if znode < FIXED_ZNODES:
            return KnownZnode(ZnodeSort.PARENT, znode)
        for place, sort in _SORTS.items():
            if znode in self._ranges[place]:
                return KnownZnode(sort, znode - self._ranges[place].start)
        return KnownZnode(ZnodeSort.NOTIFICATION, znode - self._ranges[NOTIFICATIONS].start)

    def path(self, znode: int, sequence_number: int | None = None) -> str:
        """The path of a znode; for a notification with ``*`` if its number is not given."""
        sort, number = self.known(znode)
        if sort is ZnodeSort.BROKER:
            return f"{FIXED_PATHS[int(BROKER_IDS_ZNODE)]}/{self._brokers[number]}"
        if sort is ZnodeSort.TOPIC:
            return f"{FIXED_PATHS[int(TOPICS_ZNODE)]}/{self.topics[number]}"
        if sort is ZnodeSort.STATE:
            topic, partition = self._partitions[number]
            return f"{FIXED_PATHS[int(TOPICS_ZNODE)]}/{topic}/partitions/{partition}/state"
        if sort in _CHILDREN:
            named = "*" if sequence_number is None else f"{sequence_number:010}"
            return _CHILDREN[sort] + named
        if sort is ZnodeSort.TOPIC_DELETION:
            return f"{_PATHS[ZnodeSort.DELETIONS]}/{self.topics[number]}"
        return FIXED_PATHS.get(znode) or _PATHS.get(sort, f"znode {znode}")
