"""The partitions of a cluster in numbers: an array for each property, none of them an object.

A million partitions are a few arrays, which the tables of a run take over as columns. A
:class:`PlannedPartition` is made when one of them is asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from tidegauge.scenario.model.cluster import FormerState, Topic
from tidegauge.scenario.model.replica_placement import Assignments
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import RETENTION_SETTINGS, TOPIC_SETTINGS, Value
from tidegauge.scenario.timetable import Retention, retention_of

_DEFAULT_RECORD_BYTES = 100
#: Record size of a topic that has a size, but no producers.
_EXISTING_RECORD_BYTES = 1000

#: Settings of brokers that decide about the partitions that they lead.
_DECIDING = frozenset((*TOPIC_SETTINGS, *RETENTION_SETTINGS["brokers"]))

#: In place of a retention: no segments are deleted.
_NONE = -1

Numbers = NDArray[np.int64]


class PlannedPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    topic_number: int
    number: int
    #: Indexes of its replicas' brokers as it is created, the preferred leader first.
    replicas: tuple[int, ...]
    #: Indexes of these brokers and of those that reassignments add; a broker's place is its slot.
    slots: tuple[int, ...]
    min_insync_replicas: int
    #: As the controller decides with it: that of its own settings, if it has one.
    controllers_min_insync_replicas: int
    unclean_leader_election: bool
    record_bytes: int
    #: Records of a batch; the greatest common divisor of those of all that write to the topic.
    batch_records: int
    #: Leader and ISR as the run begins, if the partition existed before.
    state: FormerState | None
    #: Records in the log of each slot's broker as the run begins.
    existing_records: tuple[int, ...]
    #: None: no segments are deleted.
    retention: Retention | None

    @property
    def name(self) -> str:
        """Its name in output, such as ``orders-0``."""
        return f"{self.topic}-{self.number}"


class PartitionColumns(NamedTuple):
    """The properties of partitions: an entry for each partition, replica or slot."""

    topic_numbers: Numbers
    numbers: Numbers
    replica_counts: Numbers
    #: The index of each replica's broker as partitions are created, partition by partition.
    replicas: Numbers
    slot_counts: Numbers
    #: The index of each slot's broker, partition by partition.
    hosts: Numbers
    min_insync_replicas: Numbers
    controllers_min_insync_replicas: Numbers
    unclean_leader_election: Numbers
    record_bytes: Numbers
    batch_records: Numbers
    #: Whether the partition existed before the run.
    existed: Numbers
    #: Records in the log of each slot's broker as the run begins.
    slot_records: Numbers
    #: Places among the retentions, -1 for none.
    retentions: Numbers


class PlannedPartitions(Sequence[PlannedPartition]):
    """All partitions of a scenario, topic by topic."""

    def __init__(
        self, scenario: Scenario, columns: PartitionColumns, retentions: Sequence[Retention]
    ) -> None:
        """Take the columns; retentions are numbered by their places."""
        self._scenario = scenario
        self.columns = columns
        self._retentions = retentions

    @classmethod
    def of(
        cls, scenario: Scenario, record_bytes: Mapping[str, int], batch_records: Mapping[str, int]
    ) -> Self:
        """Plan the partitions of a scenario.

        Args:
            scenario: it has the topics, and the brokers that decide about their partitions.
            record_bytes: the size of records, by the topics that have producers.
            batch_records: the records of a batch, by these topics and those of steps.
        """
        deciding = _DecidingBrokers(scenario)
        parts = [_NO_PARTITIONS]
        for number, topic in enumerate(scenario.topics):
            default = _DEFAULT_RECORD_BYTES if topic.size is None else _EXISTING_RECORD_BYTES
            size = record_bytes.get(topic.name, default)
            batch = batch_records.get(topic.name, 1)
            parts.append(_columns_of(scenario, number, deciding, size, batch))
        joined = map(np.concatenate, zip(*parts, strict=True))
        return cls(scenario, PartitionColumns(*joined), deciding.retentions)

    def with_hosts(self, hosts: Mapping[int, Sequence[int]]) -> Self:
        """The same with slots for other brokers in some partitions; no log existed before."""
        planned = [hosts.get(number, each.slots) for number, each in enumerate(self)]
        indexes = [index for each in planned for index in each]
        columns = self.columns._replace(
            slot_counts=np.array([len(each) for each in planned], np.int64),
            hosts=np.array(indexes, np.int64),
            slot_records=np.zeros(len(indexes), np.int64),
        )
        return type(self)(self._scenario, columns, self._retentions)

    @cached_property
    def first_slots(self) -> Numbers:
        """The first slot of each partition."""
        return np.cumsum(self.columns.slot_counts) - self.columns.slot_counts

    @cached_property
    def first_replicas(self) -> Numbers:
        """The place of each partition's preferred leader among all replicas."""
        return np.cumsum(self.columns.replica_counts) - self.columns.replica_counts

    @cached_property
    def of_replicas(self) -> Numbers:
        """The partition of each replica."""
        return np.repeat(np.arange(len(self)), self.columns.replica_counts)

    @cached_property
    def of_slots(self) -> Numbers:
        """The partition of each slot."""
        return np.repeat(np.arange(len(self)), self.columns.slot_counts)

    @cached_property
    def own_states(self) -> dict[int, FormerState]:
        """The states that the scenario gives, by partition; others that existed are well."""
        firsts = np.cumsum([0, *(topic.partition_count for topic in self._scenario.topics)])
        return {
            int(first) + number: state
            for first, topic in zip(firsts, self._scenario.topics, strict=False)
            for number, state in (topic.state or {}).items()
        }

    @cached_property
    def most_records(self) -> Numbers:
        """The records of the longest log of each partition as the run begins."""
        if len(self) == 0:
            return self.first_slots
        return np.asarray(np.maximum.reduceat(self.columns.slot_records, self.first_slots))

    @property
    def slot_count(self) -> int:
        """The number of slots of all partitions."""
        return len(self.columns.hosts)

    def count_replicas(self, which: NDArray[np.bool_]) -> Numbers:
        """For each partition, the number of its replicas that are selected."""
        return np.bincount(self.of_replicas[which], minlength=len(self))

    @property
    def preferred_leaders(self) -> Numbers:
        """The index of the preferred leader's broker of each partition."""
        return self.columns.replicas[self.first_replicas]

    @cached_property
    def leader_epochs(self) -> Numbers:
        """The leader epoch of each partition that existed before the run."""
        epochs = np.zeros(len(self), np.int64)
        for number, state in self.own_states.items():
            epochs[number] = state.leader_epoch
        return epochs

    def retained(self) -> Iterator[tuple[Retention, Numbers]]:
        """Each retention, with the numbers of its partitions."""
        for place, retention in enumerate(self._retentions):
            yield retention, np.flatnonzero(self.columns.retentions == place)

    def names(self) -> Iterator[str]:
        """The names of all partitions."""
        for topic in self._scenario.topics:
            yield from (f"{topic.name}-{number}" for number in range(topic.partition_count))

    def name(self, partition: int) -> str:
        """The name of a partition."""
        topic = self._scenario.topics[self.columns.topic_numbers[partition]].name
        return f"{topic}-{self.columns.numbers[partition]}"

    @overload
    def __getitem__(self, place: int) -> PlannedPartition: ...

    @overload
    def __getitem__(self, place: slice) -> list[PlannedPartition]: ...

    def __getitem__(self, place: int | slice) -> PlannedPartition | list[PlannedPartition]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        partition = range(len(self))[place]
        columns = self.columns
        topic = self._scenario.topics[columns.topic_numbers[partition]]
        number = int(columns.numbers[partition])
        first, first_slot = self.first_replicas[partition], self.first_slots[partition]
        slots = slice(first_slot, first_slot + columns.slot_counts[partition])
        replicas = columns.replicas[first : first + columns.replica_counts[partition]].tolist()
        brokers = self._scenario.broker_ids()
        retention = int(columns.retentions[partition])
        return PlannedPartition(
            topic.name,
            int(columns.topic_numbers[partition]),
            number,
            tuple(replicas),
            tuple(columns.hosts[slots].tolist()),
            int(columns.min_insync_replicas[partition]),
            int(columns.controllers_min_insync_replicas[partition]),
            bool(columns.unclean_leader_election[partition]),
            int(columns.record_bytes[partition]),
            int(columns.batch_records[partition]),
            topic.state_of(number, [brokers[index] for index in replicas]),
            tuple(columns.slot_records[slots].tolist()),
            None if retention == _NONE else self._retentions[retention],
        )

    def __len__(self) -> int:
        return len(self.columns.numbers)


_NO_PARTITIONS = PartitionColumns(*(np.empty(0, np.int64) for _ in PartitionColumns._fields))


class _OfTopic(NamedTuple):
    """A topic in the partitions that brokers of one kind lead."""

    min_insync_replicas: int
    controllers_min_insync_replicas: int
    unclean_leader_election: int
    #: Its place among the retentions.
    retentions: int


class _DecidingBrokers:
    """The kinds of brokers: those of one kind have equal settings for what they lead."""

    def __init__(self, scenario: Scenario) -> None:
        self._decided = scenario.decided_by_controllers()
        self._settings: list[dict[str, int]] = []
        self._said: list[Mapping[str, Value]] = []
        self._places: dict[Retention, int] = {}
        known: dict[object, int] = {}
        kinds = []
        for broker in scenario.broker_ids():
            own = scenario.cluster.broker_settings.get(broker, {})
            deciding = {name: value for name, value in own.items() if name in _DECIDING}
            kind = (scenario.release_of(broker).release, *sorted(deciding.items()))
            if kind not in known:
                known[kind] = len(known)
                self._settings.append(scenario.settings_of(broker))
                self._said.append(scenario.said_of_broker(broker))
            kinds.append(known[kind])
        #: The kind of each broker, by its index.
        self.kinds = np.array(kinds)

    @property
    def retentions(self) -> tuple[Retention, ...]:
        """All retentions so far, by their places."""
        return tuple(self._places)

    def of_topic(self, topic: Topic, kind: int) -> _OfTopic:
        """The settings of a topic where a broker of this kind leads."""
        settings = self._settings[kind]
        effective = topic.effective(settings)
        of_controllers = topic.effective(settings | self._decided)
        retention = retention_of(
            topic.name, topic.settings, self._said[kind], existed=topic.size is not None
        )
        return _OfTopic(
            effective["min.insync.replicas"],
            of_controllers["min.insync.replicas"],
            of_controllers["unclean.leader.election.enable"],
            _NONE if retention is None else self._places.setdefault(retention, len(self._places)),
        )


def _columns_of(
    scenario: Scenario, number: int, deciding: _DecidingBrokers, record_bytes: int, batch: int
) -> PartitionColumns:
    """The partitions of one topic."""
    topic, brokers = scenario.topics[number], np.array(scenario.broker_ids())
    assigned, hosts = scenario.assignments(topic), scenario.hosts_of(topic)
    leaders = np.searchsorted(brokers, assigned.table[:, 0])
    kinds, kind_of = np.unique(deciding.kinds[leaders], return_inverse=True)
    of_kinds = np.array([deciding.of_topic(topic, kind) for kind in kinds.tolist()], np.int64)
    by_name = dict(zip(_OfTopic._fields, of_kinds[kind_of].T, strict=True))
    return PartitionColumns(
        topic_numbers=np.full(len(assigned), number),
        numbers=np.arange(len(assigned)),
        replica_counts=assigned.counts,
        replicas=np.searchsorted(brokers, assigned.flat),
        slot_counts=hosts.counts,
        hosts=np.searchsorted(brokers, hosts.flat),
        record_bytes=np.full(len(assigned), record_bytes),
        batch_records=np.full(len(assigned), batch),
        existed=np.full(len(assigned), int(topic.existed)),
        slot_records=_existing_records(topic, assigned, hosts, record_bytes),
        **by_name,
    )


def _existing_records(
    topic: Topic, assigned: Assignments, hosts: Assignments, record_bytes: int
) -> Numbers:
    """The records in the log of each slot's broker as the run begins.

    A replica outside of the ISR lacks records at its end: all of them, if the state does not give
    the bytes that it is behind.
    """
    slots = np.arange(hosts.table.shape[1])
    is_slot = slots < hosts.counts[:, None]
    records = np.zeros(hosts.table.shape, np.int64)
    if topic.existed:
        sizes = np.array([topic.size_of(number) for number in range(len(assigned))])
        in_sync = slots < assigned.counts[:, None]
        records = np.where(in_sync, sizes[:, None] // record_bytes, 0)
        for number, state in (topic.state or {}).items():
            size = int(sizes[number])
            for slot, broker in enumerate(hosts[number]):
                missing = 0 if state.is_complete(broker) else state.behind.get(broker, size)
                records[number, slot] = max(0, size - missing) // record_bytes
    return records[is_slot]
