"""Recordings of KRaft's controller, played through ``partition_change``.

A recording has each record of the metadata log. Records of brokers, topics and configurations, and
the steps of the schedule, are *causes*. From the cause alone follows which partitions get a record,
and which: only then is it compared with the log. So a record that is missing, or one too many, is a
difference too. An AlterPartition request is in no log: its input is the ISR that the record has,
which is the leader's decision, not the controller's.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replication_stories import with_fields
from tidegauge.compiled.records import new_record
from tidegauge.controller.kraft_partitions import partition_target as causes
from tidegauge.controller.kraft_partitions.alter_partition import (
    KRaftSwitches,
    alter_partition_error,
)
from tidegauge.controller.kraft_partitions.partition_change import (
    LEADER_NAMED,
    UNCHANGED,
    clear_elr,
    create_partition,
    partition_change,
)
from tidegauge.controller.kraft_partitions.partition_target import PartitionTarget
from tidegauge.replication import errors
from tidegauge.replication.isr_update import isr_table_size, place_in_isr
from tidegauge.replication.kraft_releases import kraft_rules_of
from tidegauge.replication.records import PartitionRegistration
from tidegauge.replication.release_rules import ISR_HASHED
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import pack, unpack

#: What comes along: schedules that were played on real controllers.
GOLDEN_KRAFT = Path(__file__).parents[1] / "data" / "golden_kraft"

Change = Callable[[KRaftSwitches, PartitionRegistration, PartitionTarget, int], int]

STOPS = {"kill", "restart", "term"}


@dataclass
class State:
    """All that a metadata log says of a partition, by broker ids."""

    leader: int
    isr: list[int]
    elr: list[int]
    last_known_elr: list[int]
    leader_epoch: int
    partition_epoch: int
    recovering: int
    replicas: list[int] = field(default_factory=list)
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)


@dataclass
class MetadataRecord:
    """One record of the metadata log, and the step of the schedule in which it was written."""

    step: int
    kind: str
    key: str
    data: dict[str, Any]
    offset: int

    @property
    def is_change(self) -> bool:
        return self.kind == "PartitionChangeRecord"

    @property
    def is_of_broker(self) -> bool:
        # A record about cordoned directories (KIP-1066) has neither field.
        return self.kind in {"RegisterBrokerRecord", "BrokerRegistrationChangeRecord"} and (
            "fenced" in self.data or "in_controlled_shutdown" in self.data
        )

    @property
    def stands_last(self) -> bool:
        """Whether a broker's record stands behind the partition records of its event."""
        return self.kind == "RegisterBrokerRecord" or self.data.get("fenced") is True


@dataclass
class Difference:
    """Something that the rules give otherwise than the log has it."""

    where: str
    cause: str
    before: object
    acceptable: list[int]
    recorded: object
    got: object

    def __str__(self) -> str:
        return (
            f"{self.where}\n  cause:    {self.cause}; acceptable leaders {self.acceptable}\n"
            f"  before:   {self.before}\n  recorded: {self.recorded}\n  got:      {self.got}"
        )


@dataclass
class Wanted:
    """A partition record that follows from a cause."""

    cause: str
    acceptable: list[int]
    outcome: int
    before: State
    after: State


class ReplayedPartition:
    """A partition, its slots, and the states that the recording has of it."""

    def __init__(self, assignment: list[int]) -> None:
        self.slots = list(assignment)
        self.registration = new_record(PartitionRegistration)

    def packed(self, brokers: list[int]) -> int:
        """These brokers as a replica list; those without a slot get one."""
        self.slots += [broker for broker in brokers if broker not in self.slots]
        return pack(self.slots.index(broker) for broker in brokers)

    def by_broker_id(self, brokers: list[int]) -> int:
        """The slots of all brokers of the partition and of these, by broker id."""
        return self.packed(sorted({*self.slots, *brokers}))

    def known(self, brokers: set[int]) -> int:
        """Those of these brokers that have a slot."""
        return self.packed([broker for broker in self.slots if broker in brokers])

    def brokers(self, replicas: int) -> list[int]:
        return [self.slots[slot] for slot in unpack(int(replicas))]

    def state(self) -> State:
        """The state as it is now."""
        registration = self.registration
        leader = int(registration.leader)
        return State(
            leader=self.slots[leader] if leader >= 0 else leader,
            isr=self.brokers(registration.isr),
            elr=sorted(self.brokers(registration.elr)),
            last_known_elr=self.brokers(registration.last_known_elr),
            leader_epoch=int(registration.leader_epoch),
            partition_epoch=int(registration.partition_epoch),
            recovering=int(registration.recovering),
            replicas=self.brokers(registration.replicas),
            adding=self.brokers(registration.adding),
            removing=self.brokers(registration.removing),
        )

    def set(self, state: State) -> None:
        """Go on from a state: from the recorded one, a difference does not make others."""
        fields: dict[str, int] = {
            name: self.packed(value) if isinstance(value, list) else value
            for name, value in vars(state).items()
        }
        elr = sorted(unpack(self.packed(state.elr)))
        leader = self.slots.index(state.leader) if state.leader >= 0 else state.leader
        with_fields(self.registration, **fields | {"elr": pack(elr), "leader": leader})


class PartitionReplay:
    """One repeat of one recording, event by event."""

    def __init__(
        self, recording: dict[str, Any], repeat: int, change: Change = partition_change
    ) -> None:
        self.name = f"{recording['name']}, repeat {repeat}"
        self.recording = recording
        self.change = change
        self.steps = [step["step"] for step in recording["steps"]]
        self.records = list(_records(recording, repeat))
        self.written = _written_states(recording, repeat)
        self.switches = new_record(KRaftSwitches)
        elr = recording["features"].get("eligible.leader.replicas.version", 0)
        self.switches.eligible_leader_replicas = elr > 0
        self.isr_is_hashed = rules_of(recording["release"]).isr_order == ISR_HASHED
        self.switches.reassignment_rule = kraft_rules_of(recording["release"]).reassignment_rule
        self.target = new_record(PartitionTarget)
        self.partitions: dict[str, ReplayedPartition] = {}
        self.configs: dict[str, dict[str, str]] = defaultdict(dict)
        #: Brokers that are unfenced and not in controlled shutdown.
        self.active: set[int] = set()
        #: Steps whose request is not answered yet.
        self.asked = {
            number for number, step in enumerate(self.steps) if step["op"] in {"pref", "reassign"}
        }
        self.differences: list[Difference] = []
        #: Records that were compared, by what caused them.
        self.compared: Counter[str] = Counter()

    def play(self) -> PartitionReplay:
        """Play all records; what differs is in ``differences``."""
        place = 0
        while place < len(self.records):
            place += self._play_event(place)
        left = {partition: states for partition, states in self.written.items() if states}
        assert not left, f"{self.name}: states that no record of the timeline has: {left}"
        assert not any(self._had_effect(number) for number in self.asked), f"{self.name}: requests"
        return self

    def _had_effect(self, number: int) -> bool:
        # Whether a request was answered by a change: then it must have been found in the log.
        answer = self.recording["steps"][number]["result"]["exact"]["admin"]
        return "NONE" in answer.get("results", {"all": "NONE"}).values()

    def _play_event(self, place: int) -> int:
        # One event, or what is recorded of it; how many records it has.
        record = self.records[place]
        if record.is_change:
            return self._play_changes(place)
        if record.is_of_broker:
            return self._play_broker(place)
        if record.kind == "PartitionRecord":
            self._create(record)
        elif record.kind == "ConfigRecord" and record.key.startswith("2:"):
            self.configs[record.key[2:]] |= record.data
        elif record.kind == "ClearElrRecord":
            self._clear_elr(record)
        elif record.kind == "RemoveTopicRecord":
            for name in self._of_topic(record.key):
                del self.partitions[name]
        return 1

    def _play_changes(self, place: int) -> int:
        end = place
        while end < len(self.records) and self.records[end].is_change:
            end += 1
        if end < len(self.records) and self.records[end].stands_last:
            wanted = self._wanted_by_broker(self.records[end])
            distance = self.records[end].offset - self.records[place].offset
            if distance == end - place == len(wanted) and self._are_records_from(place, wanted):
                self._compare(place, wanted)
                return end - place + self._play_broker(end)
        step = self.records[place].step
        wanted = self._wanted_by_request(step) if step in self.asked else {}
        if wanted and self._are_records_from(place, wanted):
            self.asked.remove(step)
            return self._compare(place, wanted)
        return self._compare(place, self._wanted_by_leader(self.records[place]))

    def _play_broker(self, place: int) -> int:
        record = self.records[place]
        broker = int(record.key[1:])
        wanted = self._wanted_by_broker(record)
        if record.data.get("fenced") is False:
            self.active.add(broker)
        else:
            self.active.discard(broker)
        if record.stands_last:
            # Those that it has stood before it, and were taken: now there are none.
            missing = wanted
            count = 0
        else:
            missing = {} if self._are_records_from(place + 1, wanted) else wanted
            count = 0 if missing else self._compare(place + 1, wanted)
        for partition, each in missing.items():
            self._differs(record, partition, each, "no record")
        return 1 + count

    def _are_records_from(self, place: int, wanted: dict[str, Wanted]) -> bool:
        # Whether these partitions, in any order, have the next records, without a gap.
        records = self.records[place : place + len(wanted)]
        return all(record.is_change for record in records) and (
            {record.key for record in records} == wanted.keys()
            and (not records or records[-1].offset - records[0].offset == len(records) - 1)
        )

    def _wanted_by_broker(self, record: MetadataRecord) -> dict[str, Wanted]:
        broker = int(record.key[1:])
        if record.data.get("fenced") is False:
            return self._wanted(f"unfencing of {broker}", self.active | {broker})
        left = self.active - {broker}
        if record.kind == "RegisterBrokerRecord" and self._was_killed(broker, record.step):
            return self._wanted(f"unclean registration of {broker}", left, unclean=broker)
        event = {
            "RegisterBrokerRecord": "clean registration",
            "BrokerRegistrationChangeRecord": "fencing",
        }[record.kind]
        event = event if record.stands_last else "controlled shutdown"
        return self._wanted(f"{event} of {broker}", left, removed=broker)

    def _wanted(
        self, cause: str, acceptable: set[int], removed: int = -1, unclean: int = -1
    ) -> dict[str, Wanted]:
        found: dict[str, Wanted] = {}
        for name, partition in self.partitions.items():
            state = partition.state()
            self._begin(name)
            if removed in state.isr:
                causes.remove_replica(self.target, partition.slots.index(removed))
            elif unclean in [*state.isr, *state.elr]:
                causes.remove_after_unclean_shutdown(self.target, partition.slots.index(unclean))
            elif removed >= 0 or unclean >= 0 or state.leader >= 0:
                continue
            self._change(found, name, cause, acceptable)
        return found

    def _wanted_by_request(self, number: int) -> dict[str, Wanted]:
        step = self.steps[number]
        found: dict[str, Wanted] = {}
        if step["op"] == "reassign":
            for name, brokers in step["to"].items():
                partition = self.partitions[name]
                self._begin(name, causes.ONLINE)
                if brokers is None:
                    causes.cancel_reassignment(self.target)
                    self._change(found, name, "cancelled reassignment", self.active)
                    continue
                by_broker_id = partition.by_broker_id(brokers)
                causes.reassign(self.target, partition.packed(brokers), by_broker_id)
                self._change(found, name, f"reassignment to {brokers}", self.active)
            return found
        election = causes.UNCLEAN if step.get("type") else causes.PREFERRED
        for name, partition in self.partitions.items():
            if causes.election_is_needed(partition.registration, election):
                self._begin(name, election)
                self._change(found, name, f"ElectLeaders {step.get('type', 0)}", self.active)
        return found

    def _wanted_by_leader(self, record: MetadataRecord) -> dict[str, Wanted]:
        partition = self.partitions[record.key]
        state = partition.state()
        isr = record.data.get("Isr", state.isr)
        joining = [broker for broker in isr if broker not in state.isr]
        isr = [*state.isr, *joining] if joining else isr
        if self.isr_is_hashed and "Isr" in record.data:
            size = isr_table_size(len(isr), bool(joining))
            isr = sorted(isr, key=lambda broker: int(place_in_isr(broker, size)))
        cause = f"AlterPartition with ISR {isr}"
        proposed = partition.packed(isr)
        registration = partition.registration
        error = alter_partition_error(
            self.switches,
            registration,
            registration.leader,
            registration.leader_epoch,
            registration.partition_epoch,
            proposed,
            False,
            partition.known(self.active),
        )
        found: dict[str, Wanted] = {}
        self._begin(record.key)
        causes.take_leaders_isr(self.target, proposed, False)
        self._change(found, record.key, f"{cause} (error {error})", self.active)
        if error != errors.NONE or record.key not in found:
            unchanged = Wanted(cause, sorted(self.active), UNCHANGED, state, state)
            return {record.key: unchanged}
        return found

    def _begin(self, name: str, election: int | None = None) -> None:
        topic = name.rpartition("-")[0]
        config = self.configs[topic]
        if election is None:
            unclean = config.get("unclean.leader.election.enable", "false") == "true"
            election = causes.election_of_topic(unclean)
        min_insync_replicas = causes.effective_min_insync_replicas(
            int(config.get("min.insync.replicas", 1)),
            self.partitions[f"{topic}-0"].registration.replicas,
        )
        registration = self.partitions[name].registration
        causes.target_as_is(self.target, registration, election, min_insync_replicas)

    def _change(
        self, found: dict[str, Wanted], name: str, cause: str, acceptable: set[int]
    ) -> None:
        # Enter what the target makes of the partition, unless that is nothing.
        partition = self.partitions[name]
        before = partition.state()
        outcome = self.change(
            self.switches, partition.registration, self.target, partition.known(acceptable)
        )
        if outcome != UNCHANGED:
            found[name] = Wanted(cause, sorted(acceptable), outcome, before, partition.state())
        partition.set(before)

    def _compare(self, place: int, wanted: dict[str, Wanted]) -> int:
        for record in self.records[place : place + len(wanted)]:
            each = wanted[record.key]
            recorded = self._recorded(record.key)
            self.compared[" ".join(each.cause.split()[:2])] += 1
            names_leader = "Leader" in record.data
            if recorded != each.after or names_leader != (each.outcome >= LEADER_NAMED):
                self._differs(record, record.key, each, recorded)
            self.partitions[record.key].set(recorded)
        return len(wanted)

    def _recorded(self, name: str) -> State:
        state = self.written[name].pop(0)
        if not state.replicas:  # they are written down only where they matter
            state.replicas = self.partitions[name].state().replicas
        return state

    def _differs(
        self, record: MetadataRecord, partition: str, each: Wanted, recorded: object
    ) -> None:
        where = f"{self.name}, step {record.step}, {partition} (offset {record.offset})"
        self.differences.append(
            Difference(where, each.cause, each.before, each.acceptable, recorded, each.after)
        )

    def _create(self, record: MetadataRecord) -> None:
        number = record.key.rpartition("-")[2]
        assignment = self.steps[record.step]["assign"][number]
        partition = self.partitions[record.key] = ReplayedPartition(assignment)
        before = partition.state()
        create_partition(
            partition.registration, partition.packed(assignment), partition.known(self.active)
        )
        created = Wanted("creation", sorted(self.active), LEADER_NAMED, before, partition.state())
        self.compared["creation"] += 1
        recorded = self._recorded(record.key)
        if recorded != created.after:
            self._differs(record, record.key, created, recorded)
        partition.set(recorded)

    def _clear_elr(self, record: MetadataRecord) -> None:
        for name in self._of_topic(record.key):
            partition = self.partitions[name]
            before = partition.state()
            if clear_elr(partition.registration):
                self.compared["ClearElrRecord"] += 1
                cleared = Wanted("ClearElrRecord", [], UNCHANGED, before, partition.state())
                recorded = self._recorded(name)
                if recorded != cleared.after:
                    self._differs(record, name, cleared, recorded)

    def _of_topic(self, topic: str) -> list[str]:
        return [name for name in self.partitions if name.rpartition("-")[0] == topic]

    def _was_killed(self, broker: int, step: int) -> bool:
        # Whether a broker that registers did not stop cleanly.
        stops = [
            each["op"]
            for each in self.steps[: step + 1]
            if each["op"] in STOPS
            and broker in (each["b"] if isinstance(each["b"], list) else [each["b"]])
        ]
        return not stops or stops[-1] != "term"


def replays(recording: dict[str, Any], change: Change = partition_change) -> list[PartitionReplay]:
    """All repeats of a recording, played."""
    repeats = range(len(recording["startup_by_repeat"]))
    return [PartitionReplay(recording, repeat, change).play() for repeat in repeats]


def golden_kraft(name: str) -> dict[str, Any]:
    """The content of a recording that comes along."""
    recording: dict[str, Any] = json.loads((GOLDEN_KRAFT / f"{name}.json").read_text())
    return recording


def _records(recording: dict[str, Any], repeat: int) -> Iterator[MetadataRecord]:
    for _, kind, key, data, offset, _ in recording["startup_by_repeat"][repeat]:
        yield MetadataRecord(-1, kind, key, data, offset)
    for number, step in enumerate(recording["steps"]):
        for _, kind, key, data, offset, _ in step["timeline_by_repeat"][repeat]:
            yield MetadataRecord(number, kind, key, data, offset)


def _written_states(recording: dict[str, Any], repeat: int) -> dict[str, list[State]]:
    states: dict[str, list[State]] = defaultdict(list)
    for step in recording["steps"]:
        for partition, writes in step.get("state_writes", {}).items():
            of_repeat = (
                writes["writes"] if "writes" in writes else writes["writes_by_repeat"][repeat]
            )
            for _, leader, isr, elr, last, leader_epoch, epoch, recovering, _, *lists in of_repeat:
                replicas, adding, removing = lists or ([], [], [])
                states[partition].append(
                    State(leader, isr, elr, last, leader_epoch, epoch, recovering)
                )
                states[partition][-1].replicas = replicas
                states[partition][-1].adding, states[partition][-1].removing = adding, removing
    return states
