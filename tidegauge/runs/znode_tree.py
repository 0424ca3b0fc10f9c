"""The content of ZooKeeper at a moment of a run: paths, Kafka's JSON, versions, owners.

The tree is built from ZooKeeper's rows about creations, writes and deletions. Data have the format
of Kafka (``ZkData.scala@2.6.0``), in its order of keys, with simulated fields only: a registration
has no endpoints, and a state no ``leader_recovery_state``. Timestamps are virtual, in milliseconds
since the beginning of the run.

Rows do not have the content of a notification. It is the set of partitions that the leader had
changed since its last notification; a broker has at most one of them on its way.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import Release
from tidegauge.runs.story import Names
from tidegauge.runs.znode_paths import FIXED_PATHS, ZnodePaths, ZnodeSort
from tidegauge.traces.run_folder import RunFolder, TraceRow

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


def znode_tree(run: RunFolder, at_us: int | None = None) -> list[TreeNode]:
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
    tree = ZnodeTree(run.manifest)
    for row in run.all_rows(wanted=lambda kind: kind.name in _ROWS):
        if at_us is not None and row["time_us"] > at_us:
            break
        tree.take(row)
    return sorted(tree.znodes.values(), key=lambda node: _place(node.path))


def _place(path: str) -> list[tuple[bool, int, str]]:
    """A key for the order of paths: siblings by name, numbers by value."""
    return [
        (False, int(name), "") if name.isdecimal() else (True, 0, name)
        for name in path.split("/")[1:]
    ]


class ZnodeTree:
    """The tree, row by row."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._names = Names(manifest)
        self._paths = ZnodePaths(self._names)
        #: By topic and number of the partition: all, those being added, those being removed.
        self._assignments: dict[str, dict[int, _Assignment]] = defaultdict(dict)
        for number in self._names.partitions.values():
            topic, partition = self._names.topic_and_partition(number)
            self._assignments[topic][partition] = _Assignment(self._names.replicas(number))
        scenario = manifest["scenario"]
        self._release = Release.parse(scenario["release"])
        self._racks = {
            broker: rack
            for rack, brokers in scenario["cluster"]["racks"].items()
            for broker in brokers
        }
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

    def take(self, row: TraceRow) -> None:
        """Apply one row to the tree; rows come in their total order."""
        if row.kind in _ISR_CHANGES:
            changer = self._names.broker_of_process(row["process"])
            self._changed[changer][row["partition"]] = None
        elif row.kind == "notification_sent":
            sender = self._names.broker_of_process(row["process"])
            self._sent[sender] = list(self._changed.pop(sender, ()))
        elif row.kind == "partition_replicas":
            self._assign(row)
        elif row.kind == "session_opened":
            self._sessions[row["broker"]] = row["session"]
        elif row.kind == "znode_created":
            self._create(row)
        elif row.kind == "znode_set":
            path, _, _, owner = self.znodes[row["znode"]]
            self.znodes[row["znode"]] = TreeNode(path, self._data(row), row["version"], owner)
        else:
            self.znodes.pop(row["znode"], None)

    def replicas(self, topic: str, partition: int) -> list[int | None]:
        """The brokers that have replicas of a partition now."""
        return list(self._assignments[topic][partition].replicas)

    def _assign(self, row: TraceRow) -> None:
        topic, number = self._names.topic_and_partition(row["partition"])
        self._assignments[topic][number] = _Assignment(
            *(
                self._names.brokers_in(row[column], row["partition"])
                for column in ("replicas", "adding", "removing")
            )
        )

    def _create(self, row: TraceRow) -> None:
        path = self._paths.path(row["znode"], row["sequence_number"])
        owner = None
        if self._paths.known(row["znode"]).sort in {ZnodeSort.CONTROLLER, ZnodeSort.BROKER}:
            owner = Owner(self._id(row["writer"]), self._sessions.get(row["writer"], -1))
        self.znodes[row["znode"]] = TreeNode(path, self._data(row), 0, owner)

    def _data(self, row: TraceRow) -> str | None:
        """The data of a creation or a write."""
        sort, number = self._paths.known(row["znode"])
        if sort is ZnodeSort.CONTROLLER_EPOCH:
            return str(row["controller_epoch"])
        if sort in _OF_OTHERS:
            # Rows about znodes do not have the content of these.
            is_notification = sort is ZnodeSort.NOTIFICATION
            sent = self._sent.get(row["writer"]) if is_notification else None
            return None if sent is None else _json(self._notification(sent))
        if sort in _OF_BROKERS:
            return _json(self._of_broker(sort, row))
        if sort is ZnodeSort.TOPIC:
            return _json(self._topic(self._names.topic(number)))
        return _json(self._state(row, number))

    def _id(self, index: int) -> int:
        """Id of a broker; -1 for no broker, or none of this run."""
        broker = self._names.broker_id(index)
        return -1 if broker is None else broker

    def _of_broker(self, sort: ZnodeSort, row: TraceRow) -> dict[str, object]:
        """Source: ControllerZNode and LogDirEventNotificationSequenceZNode.encode@2.6.0."""
        broker = self._id(row["writer"])
        if sort is ZnodeSort.CONTROLLER:
            return {"version": 1, "brokerid": broker, "timestamp": _timestamp(row)}
        if sort is ZnodeSort.LOG_DIR_EVENT:
            return {"version": 1, "broker": broker, "event": 1}
        return self._registration(row)

    def _registration(self, row: TraceRow) -> dict[str, object]:
        """Source: BrokerIdZNode.encode@2.6.0."""
        broker = self._id(row["writer"])
        version = 5 if self._release >= _FEATURES_IN_REGISTRATION else 4
        rack = {"rack": self._racks[broker]} if broker in self._racks else {}
        return {**rack, "timestamp": _timestamp(row), "version": version}

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

    def _state(self, row: TraceRow, partition: int) -> dict[str, object]:
        """Source: TopicPartitionStateZNode.encode@2.6.0."""
        replicas = dict(enumerate(self._names.slots(partition)))
        return {
            "controller_epoch": row["controller_epoch"],
            # A slot of the partition's own brokers; -1 for no broker.
            "leader": replicas.get(row["leader"], row["leader"]),
            "version": 1,
            "leader_epoch": row["leader_epoch"],
            "isr": self._names.brokers_in(row["isr"], partition),
        }

    def _notification(self, partitions: list[int]) -> dict[str, object]:
        """Source: IsrChangeNotificationSequenceZNode.encode@2.6.0."""
        named = map(self._names.topic_and_partition, partitions)
        return {
            "version": 1,
            "partitions": [{"topic": topic, "partition": number} for topic, number in named],
        }


def _timestamp(row: TraceRow) -> str:
    return str(row["time_us"] // 1000)


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)
