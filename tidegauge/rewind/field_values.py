"""The values of a record's fields: ids, names and units in place of numbers of the kernel.

The layout of a record has the name and the width of each field. The suffix of a name is its unit.
What else a number stands for, a broker, a replica, a state, is in the tables below: by the name of
the field, and first by record and field where the name alone does not say it.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tidegauge.actors.state import brokers, lifecycles
from tidegauge.actors.state.brokers import CLOCK_OFFSET_MS, NEVER_US
from tidegauge.clients import client_state
from tidegauge.clients.client_state import LEADERLESS
from tidegauge.compiled.lists import LinkedList
from tidegauge.compiled.records import dtype_of, new_records
from tidegauge.controller.events import broker_changes
from tidegauge.controller.partitions import leader_and_isr, partition_changes, replica_state_machine
from tidegauge.controller.state import control_plane
from tidegauge.replication import errors, fetcher
from tidegauge.replication.replica_list import EMPTY, unpack
from tidegauge.replication.replication_quota import UNLIMITED
from tidegauge.replication.voter_set import ANY_DIRECTORY
from tidegauge.runs.trace_events import Names
from tidegauge.runs.zookeeper import ZnodePaths
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation import events
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import EventList
from tidegauge.simulation.messages.kinds import NAMES as EVENT_NAMES
from tidegauge.simulation.trace_rows import codes

#: A number, a name, a list of these, or None for nothing.
Value = Any


class FieldValue(NamedTuple):
    """The value of a field for programs, and its text for people."""

    value: Value
    text: str


class About(NamedTuple):
    """The context of a record: what its slots and lists of slots are about."""

    names: Names
    #: The number of its partition; -1: it is about none.
    partition: int = -1


def _plain(value: Value) -> FieldValue:
    return FieldValue(value, "none" if value is None else str(value))


def _named(name: str | None, number: int) -> FieldValue:
    """A name; without one the number, which below 0 is nothing."""
    if name is not None:
        return FieldValue(name, name)
    return _plain(None if number < 0 else number)


def _broker(about: About, number: int) -> FieldValue:
    return _plain(about.names.broker_id(number))


def _listed(about: About, number: int) -> FieldValue:
    if number == LEADERLESS:
        return _plain("partitions without a leader")
    return _broker(about, number)


def _process(about: About, number: int) -> FieldValue:
    return _named(about.names.process(number) if number >= 0 else None, number)


def _slot(about: About, slot: int) -> FieldValue:
    if about.partition < 0 or slot < 0:
        return _plain(None if slot < 0 else f"slot {slot}")
    return _plain(dict(enumerate(about.names.slots(about.partition))).get(slot))


def _replicas(about: About, replicas: int) -> FieldValue:
    if replicas < 0:
        return _plain(None)
    if about.partition < 0 and replicas != EMPTY:
        return FieldValue(unpack(replicas), f"slots {unpack(replicas)}")
    found = about.names.brokers_in(replicas, about.partition) if replicas != EMPTY else []
    return FieldValue(found, f"[{', '.join(map(str, found))}]")


def _partition(about: About, number: int) -> FieldValue:
    return _named(about.names.partition(number) if number >= 0 else None, number)


def _topic(about: About, number: int) -> FieldValue:
    return _named(about.names.topic(number) if number >= 0 else None, number)


def _replica(about: About, row: int) -> FieldValue:
    return _named(about.names.replica(row) if row >= 0 else None, row)


def _voter(about: About, number: int) -> FieldValue:
    controllers = about.names.controllers
    return _plain(controllers[number] if 0 <= number < len(controllers) else None)


def _voters(about: About, bits: int) -> FieldValue:
    found = [each for place, each in enumerate(about.names.controllers) if bits >> place & 1]
    return FieldValue(found, f"[{', '.join(map(str, found))}]")


def _voter_set(about: About, voters: int) -> FieldValue:
    keys = about.names.voter_keys(voters)
    return FieldValue(keys, f"[{', '.join(keys)}]")


def _voter_directory(_about: About, number: int) -> FieldValue:
    """The number of a controller's metadata directory; 0: none is named."""
    return _plain({0: None, int(ANY_DIRECTORY): "any"}.get(number, number))


def _directory(_about: About, number: int) -> FieldValue:
    return _plain(number + 1 if number >= 0 else None)


def _directories(_about: About, bits: int) -> FieldValue:
    if bits < 0:
        return _plain(None)
    found = [place + 1 for place in range(bits.bit_length()) if bits >> place & 1]
    return FieldValue(found, f"[{', '.join(map(str, found))}]")


def _fault(about: About, number: int) -> FieldValue:
    return _named(about.names.fault_name(number) if number >= 0 else None, number)


def _step(_about: About, number: int) -> FieldValue:
    return _plain(number + 1 if number >= 0 else None)


def _znode(about: About, number: int) -> FieldValue:
    return _named(ZnodePaths(about.names).path(number) if number >= 0 else None, number)


def _rate(_about: About, bytes_per_second: int) -> FieldValue:
    if bytes_per_second < 0:
        return _plain(None)
    if bytes_per_second == UNLIMITED:
        return _plain("unlimited")
    return FieldValue(bytes_per_second, f"{bytes_per_second} bytes a second")


def _link_rate(about: About, bytes_per_second: int) -> FieldValue:
    return _rate(about, bytes_per_second or int(UNLIMITED))


def _acks(_about: About, acks: int) -> FieldValue:
    return _plain("all" if acks == NONE else acks)


def _place(_about: About | None, place: int) -> FieldValue:
    return _plain(None) if place < 0 else FieldValue(place, f"place {place}")


def _event(_about: About, place: int) -> FieldValue:
    """A place in ``Kernel.events``, which says no more than that the event is there."""
    return _plain(None if place < 0 else "an event")


def _coded(names: Mapping[int, str]) -> "Reading":
    return lambda _about, number: _named(names.get(number), number)


def _constants(module: Any, *names: str, without: str = "") -> "Reading":
    """The names of constants of a module, in small letters."""
    return _coded({int(vars(module)[name]): name.removesuffix(without).lower() for name in names})


#: The value of a field by its number.
Reading = Callable[[About, int], FieldValue]

_ROLES = {0: "broker", 1: "controller", 2: "zookeeper", 3: "client", 4: "quorum controller"}

#: By the name of a field.
_READINGS: dict[str, Reading] = {
    **dict.fromkeys(("broker", "source_broker", "broker_id", "controller_id"), _broker),
    **dict.fromkeys(("replica_id", "known_controller", "coordinator", "coordinator_told"), _broker),
    **dict.fromkeys(("commit_asked", "id_broker", "metadata_broker", "read_replica"), _broker),
    **dict.fromkeys(("preferred_read_replica", "deleting_broker", "owner"), _broker),
    **dict.fromkeys(("condition_leader", "answer_broker", "follower", "gives_back_for"), _broker),
    **dict.fromkeys(("process", "source", "destination", "cause_process"), _process),
    **dict.fromkeys(("because_process", "row_process", "peer", "asker", "relayed_to"), _process),
    **dict.fromkeys(("group_asked", "asked", "shutdown_controller", "request_source"), _process),
    **dict.fromkeys(("alter_partition_controller", "isr_controller"), _process),
    **dict.fromkeys(("leader", "local_replica", "written_leader", "replica"), _slot),
    **dict.fromkeys(("isr", "maximal_isr", "proposed_isr", "written_isr"), _replicas),
    **dict.fromkeys(("submitted_isr", "replicas", "adding", "removing"), _replicas),
    **dict.fromkeys(("adding_replicas", "removing_replicas", "elr"), _replicas),
    **dict.fromkeys(("last_known_elr", "leaders", "followers", "target"), _replicas),
    **dict.fromkeys(("partition", "group_partition", "condition_partition"), _partition),
    "topic": _topic,
    **dict.fromkeys(("row", "expiring_row", "looking_up"), _replica),
    **dict.fromkeys(("voter", "voted_for", "candidate"), _voter),
    **dict.fromkeys(("votes_granted", "votes_rejected", "fetched_voters"), _voters),
    **dict.fromkeys(("bootstrap_servers", "condition_controllers"), _voters),
    **dict.fromkeys(("condition_observer", "changed_voter"), _voter),
    **dict.fromkeys(("voter_set", "told_voters"), _voter_set),
    **dict.fromkeys(("voted_directory", "changed_directory", "voter_directory"), _voter_directory),
    "candidate_directory": _voter_directory,
    **dict.fromkeys(("directory", "future_directory"), _directory),
    **dict.fromkeys(("offline_directories", "named_directories", "told_directories"), _directories),
    **dict.fromkeys(("cordoned_directories", "cordoned_log_dirs"), _directories),
    **dict.fromkeys(("committed_offline_directories", "clean_directories"), _directories),
    **dict.fromkeys(("committed_cordoned_directories", "unreadable_directories"), _directories),
    **dict.fromkeys(("committed_cordoned_log_dirs", "failing_directories"), _directories),
    "untold_failures": _directories,
    "fault": _fault,
    "step": _step,
    **dict.fromkeys(("first_entry", "first_batch", "first_sample", "first_thread"), _place),
    **dict.fromkeys(("first_target", "first_known", "first_replica", "first_partition"), _place),
    **dict.fromkeys(("first_follower", "first_network_thread"), _place),
    "znode": _znode,
    "acks": _acks,
    **dict.fromkeys(("leader_rate", "follower_rate", "committed_leader_rate"), _rate),
    "committed_follower_rate": _rate,
    "role": _coded(_ROLES),
    **dict.fromkeys(("error", "answer_error"), _coded(errors.NAMES)),
    **dict.fromkeys(("request_kind", "operation"), _coded(EVENT_NAMES)),
}

_CHANGES = {
    int(vars(broker_changes)[f"_{name}"]): name.lower() for name in ("APPEARED", "BOUNCED", "GONE")
}

#: By record and field, where the name of the field alone does not say it.
_OF_RECORDS: dict[str, Reading] = {
    "Slot.broker_id": lambda _about, broker_id: _plain(broker_id),
    "QuorumTopic.first_partition": _partition,
    **dict.fromkeys(("KnownPartition.leader", "PartitionLeader.leader"), _broker),
    **dict.fromkeys(("IdleFetch.leader", "ContextOwner.controller"), _broker),
    **dict.fromkeys(("Voter.leader", "Lifecycle.leader", "RaftResponse.leader"), _voter),
    **dict.fromkeys(("BeginQuorumEpochRequest.leader", "EndQuorumEpochRequest.leader"), _voter),
    **dict.fromkeys(("Voter.fetch_to", "Client.controller"), _voter),
    **dict.fromkeys(("VoterSetAt.voters", "FetchedEpoch.voters"), _voter_set),
    **dict.fromkeys(("Voter.directory", "FollowerProgress.directory"), _voter_directory),
    **dict.fromkeys(("RaftFetchRequest.directory", "ChangedVoter.directory"), _voter_directory),
    "FetchSnapshotRequest.directory": _voter_directory,
    "Voter.change": _coded({0: "none"} | codes.VOTER_CHANGES),
    **dict.fromkeys(("Answer.voters", "DescribeQuorumStateResponse.voters"), _voters),
    **dict.fromkeys(("RequestInFlight.to", "ZnodeWatch.process"), _process),
    **dict.fromkeys(("SampledBroker.leaders", "VoterStats.leaders"), lambda _about, n: _plain(n)),
    "Target.listed": _listed,
    "Batch.target": _place,
    "ProducerWakes.target": _place,
    "Controller.removing": _broker,
    "Controller.moving": _partition,
    **dict.fromkeys(("Controller.leaving", "Controller.offline"), _replicas),
    "Controller.deleting": _topic,
    "Batch.broker": _broker,
    "Bandwidth.bytes_per_second": _link_rate,
    "IncomingBandwidth.bytes_per_second": _link_rate,
    "FollowerFetch.fetcher": _place,
    "ReplicaMemory.fetcher": _place,
    **dict.fromkeys(("FetchSession.waiting", "ReplicaMemory.writing_request"), _event),
    **dict.fromkeys(("BrokerMemory.alter_partition", "Controller.request"), _event),
    **dict.fromkeys(("LifecycleMemory.pending", "LifecycleMemory.publishing"), _event),
    **dict.fromkeys(("Controller.listing", "Controller.log_dir_listing"), _event),
    **dict.fromkeys(("ControllerBroker.building", "ControllerBroker.stopping"), _event),
    **dict.fromkeys(("HandlerResume.request_index", "FetchExpires.request_index"), _event),
    "ReplicationQuota.bytes_per_second": _rate,
    "PartitionFetchState.state": _constants(fetcher, "NOT_FETCHED", "TRUNCATING", "FETCHING"),
    "Lifecycle.state": _constants(
        lifecycles,
        *("NOT_RUNNING", "STARTING", "RECOVERY", "RUNNING"),
        "PENDING_CONTROLLED_SHUTDOWN",
    ),
    "Lifecycle.phase": _constants(lifecycles, "IDLE", "READS_CHECKPOINTS", "LOADS_LOGS", "APPLIES"),
    "Client.kind": _constants(client_state, "PRODUCER", "CONSUMER", "OPERATOR"),
    "Voter.state": _coded(codes.VOTER_STATES),
    "QuorumBroker.committed_state": _coded(codes.BROKER_STATES),
    **dict.fromkeys(
        ("Controller.event", "Controller.done", "Voter.event_kind"),
        _coded(codes.CONTROLLER_EVENT_NAMES),
    ),
    "Controller.strategy": _constants(
        leader_and_isr,
        *("OFFLINE", "PREFERRED", "CONTROLLED_SHUTDOWN", "REASSIGN", "RAISE_EPOCH", "UNCLEAN"),
    ),
    "ControllerBroker.change": _coded({0: "none"} | _CHANGES),
    "ControllerPartition.state": _constants(
        partition_changes,
        *("NEW_PARTITION", "ONLINE_PARTITION", "OFFLINE_PARTITION", "NON_EXISTENT_PARTITION"),
        without="_PARTITION",
    ),
    "ControllerReplica.state": _constants(
        replica_state_machine,
        *(name for name in vars(replica_state_machine) if name.endswith("_REPLICA")),
        without="_REPLICA",
    ),
    **dict.fromkeys(
        ("ZkResponse.error", "Controller.answer_error"), _coded(codes.ZOOKEEPER_ERROR_NAMES)
    ),
}

#: Units, by the suffix of a field.
_UNITS = {
    "_bytes": "bytes",
    "_bytes_in": "bytes",
    "_bytes_out": "bytes",
    "_seconds": "s",
    "_s": "s",
}


def _list_fields() -> frozenset[str]:
    """The fields with places of a list's records, by the declarations of lists."""
    declared = (
        each
        for module in (control_plane, client_state, brokers, events)
        for each in vars(module).values()
        if isinstance(each, LinkedList)
    )
    names = ((each.following, each.first, each.last, each.previous) for each in declared)
    return frozenset(name for of_list in names for name in of_list if name is not None)


_LIST_FIELDS = _list_fields()


def seconds(time_us: int) -> str:
    """A time or a duration in seconds, exactly: ``63.2s``, ``0.00005s``."""
    return _decimal(time_us, 6)


def _decimal(number: int, digits: int) -> str:
    """Seconds, of so many digits behind the point."""
    sign, number = ("-", -number) if number < 0 else ("", number)
    whole, part = divmod(number, 10**digits)
    return f"{sign}{whole}.{part:0{digits}}".rstrip("0").rstrip(".") + "s"


def _quantity(name: str, number: int, default: int) -> FieldValue:
    """A number with the unit of its field; nothing where it is -1, and that is the default."""
    if number == default == NONE:
        return _plain(None)
    if name.endswith("_us"):
        return (
            FieldValue(None, "never") if number == NEVER_US else FieldValue(number, seconds(number))
        )
    if name.endswith("_ms"):
        return _milliseconds(number)
    if name.endswith("_ns"):
        return FieldValue(number, _decimal(number, 9))
    unit = next((unit for suffix, unit in _UNITS.items() if name.endswith(suffix)), None)
    if name in _LIST_FIELDS:
        return _place(None, number)
    return _plain(number) if unit is None else FieldValue(number, f"{number} {unit}")


def _milliseconds(time_ms: int) -> FieldValue:
    """A duration, or a time of a broker's clock, which is shown as that of the run."""
    if time_ms >= CLOCK_OFFSET_MS:
        time_ms -= int(CLOCK_OFFSET_MS)
        return FieldValue(time_ms, seconds(1000 * time_ms))
    return FieldValue(time_ms, f"{time_ms} ms")


@cache
def _reading_of(record: Any, name: str) -> Reading | None:
    for declaring in record.__mro__:
        found = _OF_RECORDS.get(f"{declaring.__name__}.{name}")
        if found is not None:
            return found
    return _READINGS.get(name)


class Field(NamedTuple):
    """A field of a record, as its class declares it."""

    name: str
    layout: np.dtype[Any]
    #: Its value in a new record; 0 for a record within the record.
    default: int


@cache
def fields_of(record: Any) -> tuple[Field, ...]:
    """The fields of a class of records, in the order in which it and its bases declare them."""
    layouts: Mapping[str, Any] = dtype_of(record).fields or {}
    declared = (vars(each).get("__annotations__", {}) for each in reversed(record.__mro__))
    blank = np.asarray(new_records(record, 1))[0]
    names = dict.fromkeys(name for each in declared for name in each if name in layouts)
    return tuple(
        Field(name, layouts[name][0], 0 if layouts[name][0].fields else blank[name])
        for name in names
    )


def field_values(record: Any, record_class: Any, about: About) -> Iterator[tuple[str, FieldValue]]:
    """All fields of a record with their values; those of a record within it as ``outer.inner``.

    Args:
        record: the record; it may be one within another.
        record_class: its class.
        about: its context.
    """
    for name, layout, default in fields_of(record_class):
        value = record[name]
        if layout.type is EventList:
            yield name, FieldValue(int(value["length"]), counted(int(value["length"]), "event"))
        elif layout.fields is not None:
            for inner, read in field_values(value, layout.type, about):
                yield f"{name}.{inner}", read
        elif layout.subdtype is not None:
            yield name, FieldValue(value.tolist(), str(value.tolist()))
        elif layout.kind == "b":
            yield name, FieldValue(bool(value), "yes" if value else "no")
        else:
            reading = _reading_of(record_class, name)
            number = int(value)
            if reading is None:
                yield name, _quantity(name, number, int(default))
            else:
                yield name, reading(about, number)


# The meaning of a field: the comment above it in its class.


@cache
def meanings_of(record: Any) -> Mapping[str, str]:
    """The meaning of each field of a class of records that has a comment, by the field's name.

    Fields below one comment share it.
    """
    found: dict[str, str] = {}
    for declaring in reversed(record.__mro__):
        if vars(declaring).get("__annotations__"):
            found |= _meanings_in(inspect.getsource(declaring))
    return found


def _meanings_in(source: str) -> dict[str, str]:
    found: dict[str, str] = {}
    comment: list[str] = []
    is_read = False
    for line in map(str.strip, source.splitlines()):
        if line.startswith("#:"):
            # The first line after fields begins another comment.
            comment = [*([] if is_read else comment), line.removeprefix("#:").strip()]
            is_read = False
        elif not line or line.startswith("#"):
            comment = []
        elif comment and line.partition(":")[0].isidentifier():
            found[line.partition(":")[0]] = " ".join(comment).replace("``", "")
            is_read = True
    return found
