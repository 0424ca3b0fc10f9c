"""The current states of a group's replicas and partitions, for observers from outside."""

from tidegauge.actors.state.brokers import Brokers, runs_of
from tidegauge.compiled.records import Record, Records, flag, i64, new_records
from tidegauge.compiled.rules import rule
from tidegauge.controller.kraft.described import is_quorum_hosted
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.controller.zookeeper.held_states import (
    has_state,
    is_control_plane_hosted,
    isr_of,
    leader_of,
)
from tidegauge.replication.fetcher import TRUNCATING
from tidegauge.replication.records import EMPTY
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.random_streams import mix
from tidegauge.simulation.topology import broker_of


class ObservedReplica(Record):
    """A replica, as its broker has it."""

    log_end_offset: i64
    #: A hash over what the log holds.
    content: i64
    #: The broker runs, has been told to host it, has given it up, asks where to truncate it.
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


def new_states(plan: ClusterPlan) -> tuple[Records[ObservedReplica], Records[ObservedPartition]]:
    """An entry for each slot of the topology, and for each partition, all zeros."""
    slots = sum(len(partition.slots) for partition in plan.partitions)
    return new_records(ObservedReplica, slots), new_records(ObservedPartition, len(plan.partitions))
