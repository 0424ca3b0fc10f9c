"""Observations of a group from outside: its counts, as for JMX, and the states of its replicas."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.actors.state.brokers import Brokers, runs_of
from tidegauge.clients.latency_counts import BUCKETS
from tidegauge.compiled.records import Record, Records, column, flag, i64, new_records
from tidegauge.compiled.rules import rule
from tidegauge.controller.kraft.described import is_quorum_hosted
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.raft.state import Raft
from tidegauge.controller.raft.voters import newest_voters
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.controller.zookeeper.held_states import (
    has_state,
    is_control_plane_hosted,
    isr_of,
    leader_of,
)
from tidegauge.engine.doors import World
from tidegauge.replication.fetcher import TRUNCATING
from tidegauge.replication.replica_list import EMPTY
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import BROKER, CLIENT, CONTROLLER, QUORUM_CONTROLLER
from tidegauge.simulation.links import NETWORK_TABLES
from tidegauge.simulation.random_streams import mix
from tidegauge.simulation.rows import COST_NAMES
from tidegauge.simulation.topology import broker_of

_OF_BROKERS = ("failed_isr_updates", "starts", "reassignment_bytes", "records_deduplicated")
_OF_CONTROLLERS = ("failovers",)
_OF_CLIENTS = (
    *("records_sent", "records_failed", "records_duplicated", "records_consumed"),
    *("steps_taken", "steps_timed_out"),
)
_OF_EACH_CLIENT = ("longest_us", "records_unsent", "blocked_us")


class GroupCounts(NamedTuple):
    """The counts of one group; processes of other groups count nothing."""

    #: For each process: the number of its canonical rows, and the hash over them.
    hashes: dict[int, tuple[int, int]]
    #: By the names that ``summary.json`` has for them.
    counts: dict[str, int]
    #: For each parameter of ``costs``: the number of its uses, and microseconds in all.
    costs: dict[str, tuple[int, int]]
    #: For each client: counts of batches by their times (``clients/latency_counts.py``).
    latencies: NDArray[np.int64]
    #: By the names of :class:`~tidegauge.clients.client_state.Client`, of each client.
    of_clients: dict[str, NDArray[np.int64]]
    #: The number of messages that each pin has taken.
    of_pins: NDArray[np.int64]


def counts_of(hosted: Sequence[int], world: World) -> GroupCounts:
    """The counts of the processes in ``hosted`` so far."""
    processes = world.processes
    hashes = {
        process: (int(processes[process].rows), int(processes[process].hash)) for process in hosted
    }
    counts = {
        field: int(column(table, field).sum())
        for table, fields in (
            (world.brokers, _OF_BROKERS),
            (world.controllers, _OF_CONTROLLERS),
            (world.clients, _OF_CLIENTS),
        )
        for field in fields
    }
    # The active controller of a quorum has taken over as well.
    counts["failovers"] += sum(int(state.claims) for state in world.active_controller)
    costs = {}
    for place, name in enumerate(COST_NAMES, int(NETWORK_TABLES)):
        use = world.quantile_uses[place]
        costs[name] = (int(use.times), int(use.total_us))
    latencies = column(world.latencies, "sends").reshape(-1, int(BUCKETS)).copy()
    of_clients = {name: column(world.clients, name).copy() for name in _OF_EACH_CLIENT}
    of_pins = column(world.pin_states, "taken").reshape(-1, len(processes)).sum(axis=1)
    return GroupCounts(hashes, counts, costs, latencies, of_clients, of_pins)


def forget_counts(world: World, stays: NDArray[np.bool_], *, of_group: bool) -> None:
    """Forget what processes have counted that are in another group from now on.

    Args:
        world: the tables of the group.
        stays: for each process whether it stays.
        of_group: also what belongs to no process.
    """
    processes = np.arange(len(stays))
    roles, numbers = column(world.processes, "role"), column(world.processes, "number")
    for role, table, fields in (
        (BROKER, world.brokers, _OF_BROKERS),
        (CONTROLLER, world.controllers, _OF_CONTROLLERS),
        (CLIENT, world.clients, (*_OF_CLIENTS, *_OF_EACH_CLIENT)),
    ):
        gone = numbers[processes[(roles == int(role)) & ~stays]]
        for field in fields:
            column(table, field)[gone] = 0
        if role == CLIENT:
            column(world.latencies, "sends").reshape(-1, int(BUCKETS))[gone] = 0
    column(world.pin_states, "taken").reshape(-1, len(stays))[:, ~stays] = 0
    if not stays[roles == int(QUORUM_CONTROLLER)].any():
        for state in world.active_controller:
            state.claims = 0
    if of_group:
        context = world.context[0]
        context.handled = context.computed = 0
        column(world.kind_counts, "handled")[:] = 0
        for field in ("times", "total_us"):
            column(world.quantile_uses, field)[:] = 0


class ObservedReplica(Record):
    """A replica, as its broker has it."""

    log_end_offset: i64
    #: A hash over the content of the log.
    content: i64
    #: The broker runs, hosts it, has given it up, asks where to truncate it.
    alive: flag
    hosted: flag
    failed: flag
    truncating: flag


class ObservedPartition(Record):
    """A partition, as the control plane has it."""

    #: Broker's index; -1 none.
    leader: i64
    #: Lists of slots.
    isr: i64
    replicas: i64
    #: A reassignment adds or removes some of them.
    moving: flag
    exists: flag


@rule
def look_at_replicas(world: Brokers, states: Records[ObservedReplica]) -> None:
    """Enter the replicas of all brokers that this group hosts."""
    for row in range(len(world.slots)):
        broker = world.slots[row].broker
        if not world.processes[broker].hosted:
            continue
        state = states[row]
        partition = world.replicas[row]
        state.log_end_offset = partition.log_end_offset
        state.content = partition.log_end_offset
        runs = runs_of(world, row)
        for index in range(partition.run_count):
            state.content = mix(mix(state.content, runs[index].epoch), runs[index].start_offset)
        state.alive = world.processes[broker].alive
        state.hosted = world.hosted[row].exists
        state.failed = world.fetch_states[row].failed
        state.truncating = world.fetch_states[row].state == TRUNCATING


@rule
def look_at_partitions(world: ControlPlane, states: Records[ObservedPartition]) -> None:
    """Enter the partitions, if this group hosts ZooKeeper."""
    if not is_control_plane_hosted(world):
        return
    for partition in range(len(world.partitions)):
        state = states[partition]
        assignment = world.assignments[partition]
        state.exists = has_state(world, partition)
        state.leader = leader_of(world, partition)
        state.isr = isr_of(world, partition)
        state.replicas = assignment.replicas
        state.moving = assignment.adding != EMPTY or assignment.removing != EMPTY


@rule
def look_at_committed(world: Quorum, states: Records[ObservedPartition]) -> None:
    """Enter the partitions as they are committed, if this group hosts the active controller."""
    if not is_quorum_hosted(world):
        return
    for partition in range(len(world.partitions)):
        state = states[partition]
        known = world.committed_partitions[partition]
        state.exists = known.exists
        state.leader = broker_of(world, partition, known.leader)
        state.isr = known.isr
        state.replicas = known.replicas
        state.moving = known.adding != EMPTY or known.removing != EMPTY


class ObservedController(Record):
    """A controller of a quorum whose voters may change, as it knows itself; else all zeros."""

    #: It runs; its state is one of ``simulation/trace_rows/codes.py``.
    runs: flag
    state: i64
    epoch: i64
    leader: i64
    directory: i64
    #: The voters in force on it, and the offset of their record.
    voters: i64
    voters_offset: i64
    high_watermark: i64
    #: As a leader: where its epoch begins in its log.
    epoch_start_offset: i64


@rule
def look_at_controllers(world: Raft, states: Records[ObservedController]) -> None:
    """Enter the controllers, if this group hosts them."""
    if len(world.voters) == 0 or not is_quorum_hosted(world):
        return
    for number in range(len(world.voters)):
        voter = world.voters[number]
        if not voter.voters_may_change:
            return
        state = states[number]
        state.runs = voter.runs
        state.state = voter.state
        state.epoch = voter.epoch
        state.leader = voter.leader
        state.directory = voter.directory
        state.voters = voter.voter_set
        state.voters_offset = newest_voters(world, number, voter.log_end_offset).offset
        state.high_watermark = voter.high_watermark
        state.epoch_start_offset = voter.epoch_start_offset


class States(NamedTuple):
    """The states of all replicas, partitions and controllers, as arrays."""

    replicas: NDArray[np.void]
    partitions: NDArray[np.void]
    controllers: NDArray[np.void]


class StateRecords(NamedTuple):
    """The states of all replicas, partitions and controllers, as records that groups fill in."""

    replicas: Records[ObservedReplica]
    partitions: Records[ObservedPartition]
    controllers: Records[ObservedController]

    def arrays(self) -> States:
        """The same as arrays, which share the memory."""
        return States(*map(np.asarray, self))


def new_states(plan: ClusterPlan) -> StateRecords:
    """An entry for each slot of the topology, each partition and each controller, all zeros."""
    return StateRecords(
        new_records(ObservedReplica, plan.partitions.slot_count),
        new_records(ObservedPartition, len(plan.partitions)),
        new_records(ObservedController, len(plan.controllers)),
    )
