"""The directory of a run: the names of all that has a number in rows, as its manifest holds them.

``scenario/cluster_directory.py`` writes it, once for each run. A process has a role and a number
within this role, which is the index of the broker for a broker and for its controller. A member of
the cluster is a broker by its index, or behind these a controller of a KRaft quorum. A partition
has its topic, the brokers in its slots and its need for in-sync replicas. All that ZooKeeper holds
has numbers, too: a range for each sort (``simulation/zookeeper_tree.py``).
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

#: The lists of a manifest that are its directory; rows refer to most of their items by number.
LISTS = (
    *("processes", "brokers", "registered_before", "topics", "partitions", "faults"),
    *("controllers", "zookeeper_tree"),
)

#: A client's process is called so.
_CLIENT = "client "

#: The roles of processes that hold a cluster's state, of which a run has one.
CONTROL_PLANES = ("zookeeper", "quorum controller")


class NamedProcess(NamedTuple):
    """A process."""

    name: str
    #: ``broker``, ``controller``, ``zookeeper``, ``client`` or ``quorum controller``.
    role: str
    #: Its number within its role; for a broker and its controller the broker's index.
    number: int


class NamedClient(NamedTuple):
    """A producer or consumer of the scenario."""

    #: Such as ``shop-0``.
    name: str
    #: The name of its group, such as ``shop``.
    group: str


class NamedPartition(NamedTuple):
    """A partition; brokers are ids."""

    topic: str
    #: Number of the topic within the cluster.
    topic_number: int
    #: Number of the partition within its topic.
    number: int
    #: As it is created, the preferred leader first.
    replicas: tuple[int, ...]
    #: All brokers that ever have a replica of it.
    slots: tuple[int, ...]
    #: The indexes of these.
    hosts: tuple[int, ...]
    #: min.insync.replicas as the run begins.
    min_insync_replicas: int
    #: The most that counts of min.insync.replicas; None: there is no limit.
    most_insync_replicas: int | None

    def effective_min_isr(self, min_insync_replicas: int) -> int:
        """The effective min.insync.replicas, for a value of the setting.

        Source: Partition.effectiveMinIsr@3.7.0.
        """
        most = self.most_insync_replicas
        return min_insync_replicas if most is None else min(min_insync_replicas, most)


class NamedFault(NamedTuple):
    """A fault of the scenario, or a restart of a rolling restart."""

    name: str
    kind: str
    #: Kind and targets.
    text: str
    #: For a fault of links, the processes at both ends; None: it hits processes, or the manifest is
    #: older than this field.
    sides: tuple[list[int], list[int]] | None = None


class TreeRange(NamedTuple):
    """The numbers of one sort in ZooKeeper's tree."""

    sort: str
    first: int
    #: The number behind the last one; of notifications there are more.
    end: int


def created_later(steps: Iterable[tuple[str, str]]) -> set[str]:
    """The topics that do not exist from the start: the first step about them creates them.

    Args:
        steps: the names of actions, each with the topic that it is about, in their order.
    """
    first: dict[str, str] = {}
    for action, topic in steps:
        if action in ("create_topic", "delete_topic"):
            first.setdefault(topic, action)
    return {topic for topic, action in first.items() if action == "create_topic"}


class Directory:
    """Names and ids for the numbers in rows."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        """Take the directory in a manifest."""
        self._manifest = manifest
        #: Ids; a broker's place is its index.
        self.brokers: tuple[int, ...] = tuple(manifest["brokers"])
        #: Ids of the controllers of a KRaft quorum; with ZooKeeper there are none.
        self.controllers: tuple[int, ...] = tuple(manifest["controllers"])
        #: Names; a topic's place is its number.
        self.topics: tuple[str, ...] = tuple(manifest["topics"])
        #: Indexes of the brokers that count as registered until the control plane has another
        #: state.
        self.registered_before = frozenset(map(self.brokers.index, manifest["registered_before"]))
        self.faults = tuple(NamedFault(**each) for each in manifest["faults"])

    @property
    def is_of_logs(self) -> bool:
        """Whether the rows are those of a real cluster, made of its logs."""
        return bool(self._manifest.get("source") == "logs")

    @cached_property
    def processes(self) -> dict[int, NamedProcess]:
        """All processes, by number."""
        return {
            each["process"]: NamedProcess(each["name"], each["role"], each["number"])
            for each in self._manifest["processes"]
        }

    @cached_property
    def clients(self) -> dict[int, NamedClient]:
        """The producers and consumers, by the numbers of their processes."""
        names = {
            number: each.name.removeprefix(_CLIENT)
            for number, each in self.processes.items()
            if each.name.startswith(_CLIENT)
        }
        return {
            number: NamedClient(name, name.rpartition("-")[0]) for number, name in names.items()
        }

    @cached_property
    def all_partitions(self) -> tuple[NamedPartition, ...]:
        """All partitions; a partition's place is its number within the cluster."""
        topics = {topic: number for number, topic in enumerate(self.topics)}
        indexes = {broker: index for index, broker in enumerate(self.brokers)}
        return tuple(
            NamedPartition(
                each["topic"],
                topics[each["topic"]],
                each["partition"],
                tuple(each["replicas"]),
                tuple(each["slots"]),
                tuple(indexes[broker] for broker in each["slots"]),
                each["min_insync_replicas"],
                each["most_insync_replicas"],
            )
            for each in self._manifest["partitions"]
        )

    @cached_property
    def partitions(self) -> dict[str, int]:
        """The numbers of partitions by their names, such as ``orders-0``."""
        return {
            f"{each.topic}-{each.number}": number for number, each in enumerate(self.all_partitions)
        }

    @cached_property
    def zookeeper_tree(self) -> tuple[TreeRange, ...]:
        """The numbers in ZooKeeper's tree, in order; notifications come last."""
        return tuple(TreeRange(**each) for each in self._manifest["zookeeper_tree"])

    # Processes and brokers.

    def process(self, number: int) -> str:
        """Name of a process."""
        known = self.processes.get(number)
        return f"process {number}" if known is None else known.name

    def processes_with_role(self, role: str) -> list[int]:
        """The processes with this role."""
        return [number for number, each in self.processes.items() if each.role == role]

    def broker_of_process(self, process: int) -> int:
        """Index of the broker of a process; -1 if the process is not a broker."""
        known = self.processes.get(process)
        return known.number if known is not None and known.role == "broker" else -1

    def process_of_broker(self, broker: int) -> int:
        """The process of the broker with this id; -1 if there is none."""
        return self._process_of.get(broker, -1)

    @cached_property
    def _process_of(self) -> dict[int, int]:
        brokers = self.processes_with_role("broker")
        return {self.brokers[self.processes[process].number]: process for process in brokers}

    def broker_id(self, index: int) -> int | None:
        """Id of the broker with this index within the cluster; None for no broker."""
        return self.brokers[index] if 0 <= index < len(self.brokers) else None

    def member_id(self, number: int) -> int | None:
        """Id of a broker, or of a controller of a quorum, by its number; None for none."""
        members = (*self.brokers, *self.controllers)
        return members[number] if 0 <= number < len(members) else None

    def member(self, number: int) -> str:
        """A broker, or a controller of a quorum, in words: ``broker 2``, ``controller 3000``."""
        if self.broker_id(number) is not None:
            return f"broker {self.broker_id(number)}"
        identity = self.member_id(number)
        return "none" if identity is None else f"controller {identity}"

    def voter_keys(self, voters: int) -> list[str]:
        """The voters in a voter set: the id of each controller with the number of its directory.

        ``3000#1`` is the first directory of controller 3000, ``3000#2`` the one after its disk was
        replaced. A voter of controller.quorum.voters has none: ``3000``.
        """
        # Executors of Spark have no compiler, which rules need.
        from tidegauge.replication.voter_set import unpack  # noqa: PLC0415

        return [self._voter_key(*voter) for voter in unpack(voters)] if voters > 0 else []

    def _voter_key(self, controller: int, directory: int) -> str:
        from tidegauge.replication.voter_set import ANY_DIRECTORY  # noqa: PLC0415

        is_known = controller < len(self.controllers)
        identity = self.controllers[controller] if is_known else "?"
        return f"{identity}" if directory == ANY_DIRECTORY else f"{identity}#{directory}"

    # Topics and partitions.

    def topic(self, number: int) -> str:
        """Name of a topic."""
        return self.topics[number] if 0 <= number < len(self.topics) else str(number)

    def topic_and_partition(self, number: int) -> tuple[str, int]:
        """Name of the topic, and the partition's number within it."""
        partition = self.all_partitions[number]
        return partition.topic, partition.number

    def partition(self, number: int) -> str:
        """Name of a partition, such as ``orders-0``."""
        if not 0 <= number < len(self.all_partitions):
            return "no partition"
        return "{}-{}".format(*self.topic_and_partition(number))

    def replica(self, row: int) -> str:
        """A replica by its row, its place among all: ``orders-0 of broker 2``."""
        number = bisect_right(self.first_rows, row) - 1
        broker = self.slots(number)[row - self.first_rows[number]]
        return f"{self.partition(number)} of broker {broker}"

    @cached_property
    def first_rows(self) -> list[int]:
        """The row of the first replica of each partition; the last one is their number."""
        counts = (len(each.slots) for each in self.all_partitions)
        return list(accumulate(counts, initial=0))

    def replicas(self, partition: int) -> list[int]:
        """Ids of the brokers of a new partition, the preferred leader first."""
        return list(self.all_partitions[partition].replicas)

    def slots(self, partition: int) -> list[int]:
        """Ids of the brokers in a partition's slots: all that ever have a replica of it."""
        return list(self.all_partitions[partition].slots)

    def brokers_in(self, replicas: int, partition: int) -> list[int | None]:
        """Ids of the brokers in a replica list; None for a slot without one."""
        brokers = dict(enumerate(self.slots(partition)))
        # Executors of Spark have no compiler, which rules need.
        from tidegauge.replication.replica_list import unpack  # noqa: PLC0415

        return [brokers.get(slot) for slot in unpack(replicas)]

    # Steps, pins and faults.

    def step_text(self, number: int) -> str:
        """What a step of the scenario does, with its fields but those for its time."""
        steps = self._manifest["scenario"].get("steps", ())
        if not 0 <= number < len(steps):
            return f"step {number + 1}"
        fields = steps[number].items()
        said = (f"{name} {_said(value)}" for name, value in fields if name not in _WHEN)
        return " ".join([steps[number]["do"], *said])

    @cached_property
    def pins(self) -> tuple[str, ...]:
        """Names of the scenario's pins; ``pin-2`` for the second one if it has none."""
        pins = self._manifest["scenario"].get("pins", ())
        return tuple(each.get("name") or f"pin-{place + 1}" for place, each in enumerate(pins))

    def pin(self, number: int) -> str:
        """Name of a pin."""
        return self.pins[number] if 0 <= number < len(self.pins) else f"pin {number}"

    def fault(self, number: int) -> str:
        """Kind and name of a fault, such as ``cut_link 'cut-1'``."""
        if not 0 <= number < len(self.faults):
            return f"fault {number}"
        return f"{self.faults[number].kind} {self.faults[number].name!r}"

    def fault_name(self, number: int) -> str:
        """The name of a fault alone."""
        return self.faults[number].name

    def fault_kind(self, number: int) -> str:
        """The kind of a fault alone."""
        return self.faults[number].kind

    def fault_text(self, number: int) -> str:
        """Kind and name of a fault, with its text in the scenario."""
        text = self.faults[number].text if 0 <= number < len(self.faults) else ""
        return f"{self.fault(number)} ({text})" if text else self.fault(number)


#: The fields of a step for its time; ``do`` comes first anyway.
_WHEN = ("at", "after", "when", "within", "do")


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
