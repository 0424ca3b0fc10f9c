"""The content of ZooKeeper at a moment of a run: paths, Kafka's JSON, versions, owners.

The tree is built from ZooKeeper's rows about creations, writes and deletions. Data have the format
of Kafka (``ZkData.scala@2.6.0``), in its order of keys, with simulated fields only: a registration
has no endpoints, and a state no ``leader_recovery_state``. Timestamps are virtual, in milliseconds
since the beginning of the run.

Rows do not have the content of a notification. It is the set of partitions that the leader had
changed since its last notification; a broker has at most one of them on its way.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import Release
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.runs.zookeeper import FIXED_PATHS, ZnodePaths, ZnodeSort

_ISR_CHANGES = frozenset({"isr_shrunk", "isr_expanded"})
_ROWS = _ISR_CHANGES | {
    "notification_sent",
    "partition_replicas",
    "session_opened",
    "znode_created",
    "znode_set",
    "znode_deleted",
}

#: The content that a broker writes about itself.
_OF_BROKERS = {ZnodeSort.CONTROLLER, ZnodeSort.BROKER, ZnodeSort.LOG_DIR_EVENT}
#: Requests and events.
_OF_OTHERS = {
    ZnodeSort.NOTIFICATION,
    ZnodeSort.PREFERRED_ELECTION,
    ZnodeSort.REASSIGNMENT,
    ZnodeSort.TOPIC_DELETION,
}

#: KIP-455: assignments have lists of replicas that are being added and removed.
_REASSIGNMENT_IN_TOPIC = Release.parse("2.4.0")
#: KIP-584: registrations have features.
_FEATURES_IN_REGISTRATION = Release.parse("2.7.0")


class Owner(NamedTuple):
    """The session of an ephemeral znode."""

    #: Id of the broker.
    broker: int
    #: The number of the broker's session.
    session: int


class _Assignment(NamedTuple):
    """The brokers of one partition."""

    replicas: Sequence[int | None]
    adding: Sequence[int | None] = ()
    removing: Sequence[int | None] = ()


class TreeNode(NamedTuple):
    """One znode."""

    path: str
    #: None if it was never written, or if the trace lacks its content.
    data: str | None
    version: int
    #: None for one that is not ephemeral.
    owner: Owner | None


def znode_tree(run: Run, at_us: int | None = None) -> list[TreeNode]:
    """The znodes that existed at a time (by default the end of the run), parents first.

    Raises:
        TraceError: a trace file is damaged.
        TidegaugeError: the cluster has no ZooKeeper.
    """
    if run.directory.controllers:
        raise TidegaugeError(
            "show zookeeper: a KRaft cluster has no ZooKeeper; show quorum has its controllers, "
            "show metadata-log the records that they have committed"
        )
    tree = _ZnodeTree(run)
    for event in run.events_of(*_ROWS, until_us=at_us):
        tree.take(event)
    return sorted(tree.znodes.values(), key=lambda node: _place(node.path))


def _place(path: str) -> list[tuple[bool, int, str]]:
    """A key for the order of paths: siblings by name, numbers by value."""
    return [
        (False, int(name), "") if name.isdecimal() else (True, 0, name)
        for name in path.split("/")[1:]
    ]


class _ZnodeTree:
    """The tree, row by row."""

    def __init__(self, run: Run) -> None:
        self._names = run.directory
        self._paths = ZnodePaths(self._names)
        #: By topic and number of the partition: all, those being added, those being removed.
        self._assignments: dict[str, dict[int, _Assignment]] = defaultdict(dict)
        for number in self._names.partitions.values():
            topic, partition = self._names.topic_and_partition(number)
            self._assignments[topic][partition] = _Assignment(self._names.replicas(number))
        scenario = run.manifest["scenario"]
        self._release = Release.parse(scenario["release"])
        self._racks = {
            broker: rack
            for rack, brokers in scenario["cluster"]["racks"].items()
            for broker in brokers
        }
        #: By the broker's id.
        self._sessions: dict[int, int] = {}
        #: Partitions that a broker has changed since its last notification, by its index. A
        #: set in Kafka; here those that were changed first come first.
        self._changed: defaultdict[int, dict[int, None]] = defaultdict(dict)
        #: The content of the last notification of a broker.
        self._sent: dict[int, list[int]] = {}
        #: By number; the parents exist from the beginning.
        self.znodes = {
            znode: TreeNode(path, None, 0, None)
            for znode, path in FIXED_PATHS.items()
            if self._paths.known(znode).sort is ZnodeSort.PARENT
        }

    def take(self, event: TraceEvent) -> None:
        """Apply one row to the tree; rows come in their total order."""
        if event.kind in _ISR_CHANGES:
            changer = self._names.broker_of_process(event.row["process"])
            self._changed[changer][event.row["partition"]] = None
        elif event.kind == "notification_sent":
            sender = self._names.broker_of_process(event.row["process"])
            self._sent[sender] = list(self._changed.pop(sender, ()))
        elif event.kind == "partition_replicas":
            topic, number = self._names.topic_and_partition(event.row["partition"])
            assigned = _Assignment(event.replicas, event.adding, event.removing)
            self._assignments[topic][number] = assigned
        elif event.kind == "session_opened":
            self._sessions[event.broker] = event.session
        elif event.kind == "znode_created":
            self._create(event)
        elif event.kind == "znode_set":
            known = self.znodes[event.row["znode"]]
            now = known._replace(data=self._data(event), version=event.version)
            self.znodes[event.row["znode"]] = now
        else:
            self.znodes.pop(event.row["znode"], None)

    def _create(self, event: TraceEvent) -> None:
        number, owner = event.row["znode"], None
        if self._paths.known(number).sort in {ZnodeSort.CONTROLLER, ZnodeSort.BROKER}:
            owner = Owner(_writer(event), self._sessions.get(event.writer, -1))
        self.znodes[number] = TreeNode(event.znode, self._data(event), 0, owner)

    def _data(self, event: TraceEvent) -> str | None:
        """The data of a creation or a write."""
        sort, number = self._paths.known(event.row["znode"])
        if sort is ZnodeSort.CONTROLLER_EPOCH:
            return str(event.controller_epoch)
        if sort in _OF_OTHERS:
            # Rows about znodes do not have the content of these.
            is_notification = sort is ZnodeSort.NOTIFICATION
            sent = self._sent.get(event.row["writer"]) if is_notification else None
            return None if sent is None else _json(self._notification(sent))
        if sort in _OF_BROKERS:
            return _json(self._of_broker(sort, event))
        if sort is ZnodeSort.TOPIC:
            return _json(self._topic(self._names.topic(number)))
        return _json(_state(event))

    def _of_broker(self, sort: ZnodeSort, event: TraceEvent) -> dict[str, object]:
        """Source: ControllerZNode and LogDirEventNotificationSequenceZNode.encode@2.6.0."""
        broker = _writer(event)
        if sort is ZnodeSort.CONTROLLER:
            return {"version": 1, "brokerid": broker, "timestamp": _timestamp(event)}
        if sort is ZnodeSort.LOG_DIR_EVENT:
            return {"version": 1, "broker": broker, "event": 1}
        return self._registration(event)

    def _registration(self, event: TraceEvent) -> dict[str, object]:
        """Source: BrokerIdZNode.encode@2.6.0."""
        version = 5 if self._release >= _FEATURES_IN_REGISTRATION else 4
        broker = event.writer
        rack = {"rack": self._racks[broker]} if broker in self._racks else {}
        return {**rack, "timestamp": _timestamp(event), "version": version}

    def _topic(self, topic: str) -> dict[str, object]:
        """Source: TopicZNode.encode@2.3.0 and @2.4.0."""
        assigned = self._assignments[topic]
        assignment = {str(number): each.replicas for number, each in assigned.items()}
        if self._release < _REASSIGNMENT_IN_TOPIC:
            return {"version": 1, "partitions": assignment}
        adding = {str(number): each.adding for number, each in assigned.items() if each.adding}
        removing = {
            str(number): each.removing for number, each in assigned.items() if each.removing
        }
        moves = {"adding_replicas": adding, "removing_replicas": removing}
        return {"version": 2, "partitions": assignment, **moves}

    def _notification(self, partitions: list[int]) -> dict[str, object]:
        """Source: IsrChangeNotificationSequenceZNode.encode@2.6.0."""
        named = map(self._names.topic_and_partition, partitions)
        return {
            "version": 1,
            "partitions": [{"topic": topic, "partition": number} for topic, number in named],
        }


def _state(event: TraceEvent) -> dict[str, object]:
    """Source: TopicPartitionStateZNode.encode@2.6.0."""
    return {
        "controller_epoch": event.controller_epoch,
        "leader": -1 if event.leader is None else event.leader,
        "version": 1,
        "leader_epoch": event.leader_epoch,
        "isr": event.isr,
    }


def _writer(event: TraceEvent) -> int:
    """Id of the broker that writes; -1 for none, or none of this run."""
    return -1 if event.writer is None else int(event.writer)


def _timestamp(event: TraceEvent) -> str:
    return str(event.time_us // 1000)


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)
