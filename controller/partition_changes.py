"""How a controller changes leaders and ISRs: what it decides, writes and then tells.

A change is proposed by the rules, written to ZooKeeper on the condition that the state has
the version that the controller knows, and taken over when that has succeeded. If a leader
has changed the ISR meanwhile the state is read again and the rules decide anew.
"""

from __future__ import annotations

from tidegauge.controller.channels import broker_at
from tidegauge.controller.elections import (
    ELECTED_UNCLEAN,
    NOBODY_ELECTED,
    offline_partition_leader_election,
)
from tidegauge.controller.leader_and_isr import initialize_leader_and_isr, remove_replica_from_isr
from tidegauge.controller.partition_state_machine import (
    NEW_PARTITION,
    OFFLINE_PARTITION,
    ONLINE_PARTITION,
)
from tidegauge.controller.state import ControlPlane
from tidegauge.controller.zookeeper_requests import issue, new_request
from tidegauge.replication.compiled import inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import EMPTY, append
from tidegauge.simulation.events import add_item
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import ZK_CREATE, ZK_GET, ZK_SET
from tidegauge.simulation.row_kinds import LEADER_ELECTED, REMOVED_FROM_ISR
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import (
    Topology,
    broker_of,
    controller_process,
    slot_of,
    state_znode,
)
from tidegauge.simulation.zookeeper_errors import BAD_VERSION, OK


@inner_rule
def live_replicas(topology: Topology, plane: ControlPlane, controller: int, partition: int) -> int:
    """Replicas whose brokers the controller knows as alive; a replica list."""
    facts = topology.partitions[partition]
    live = EMPTY
    for slot in range(facts.slot_count):
        broker = topology.slots[facts.first_slot + slot].broker
        if broker_at(topology, plane, controller, broker).alive:
            live = append(live, slot)
    return live


@inner_rule
def bring_online(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Create the state of new partitions, and elect leaders for those that are offline.

    Source: PartitionStateMachine.triggerOnlinePartitionStateChange@2.4.0.
    """
    sizes = topology.sizes[0]
    plane.controllers[controller].removing = NONE
    for partition in range(sizes.partitions):
        known = plane.partitions[controller * sizes.partitions + partition]
        if known.known and known.state in (NEW_PARTITION, OFFLINE_PARTITION):
            _propose(kernel, topology, plane, controller, partition)


@inner_rule
def remove_from_isrs(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, broker: int
) -> None:
    """Take a dead broker out of every ISR that it is in.

    Source: ReplicaStateMachine.removeReplicasFromIsr@2.4.0.
    """
    sizes = topology.sizes[0]
    plane.controllers[controller].removing = broker
    for partition in range(sizes.partitions):
        if plane.partitions[controller * sizes.partitions + partition].has_state:
            _propose(kernel, topology, plane, controller, partition)


@inner_rule
def _propose(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, partition: int
) -> None:
    """Let the rules decide on one partition, and write what they say, if anything."""
    index = controller * topology.sizes[0].partitions + partition
    known = plane.partitions[index]
    current = plane.leader_and_isr[index]
    proposal = plane.proposal[0]
    proposal.leader = current.leader
    proposal.leader_epoch = current.leader_epoch
    proposal.isr = current.isr
    proposal.partition_epoch = current.partition_epoch
    kind = ZK_SET
    if plane.controllers[controller].removing != NONE:
        replica = slot_of(topology, partition, plane.controllers[controller].removing)
        changes = replica >= 0 and remove_replica_from_isr(
            plane.rules[controller],
            proposal,
            replica,
            topology.partitions[partition].unclean_leader_election,
        )
    elif known.has_state:
        changes = _elect(topology, plane, controller, partition)
    else:
        kind = ZK_CREATE
        live = live_replicas(topology, plane, controller, partition)
        changes = initialize_leader_and_isr(proposal, topology.partitions[partition].replicas, live)
    if changes:
        _write(kernel, topology, plane, controller, partition, kind)


@inner_rule
def _elect(topology: Topology, plane: ControlPlane, controller: int, partition: int) -> bool:
    facts = topology.partitions[partition]
    outcome = offline_partition_leader_election(
        plane.proposal[0],
        facts.replicas,
        live_replicas(topology, plane, controller, partition),
        facts.unclean_leader_election,
    )
    known = plane.partitions[controller * topology.sizes[0].partitions + partition]
    known.unclean = outcome == ELECTED_UNCLEAN
    return outcome != NOBODY_ELECTED


@inner_rule
def _write(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    controller: int,
    partition: int,
    kind: int,
) -> None:
    proposal = plane.proposal[0]
    known = plane.partitions[controller * topology.sizes[0].partitions + partition]
    known.written_leader = proposal.leader
    known.written_epoch = proposal.leader_epoch
    known.written_isr = proposal.isr
    znode = state_znode(topology, partition)
    request = new_request(kernel, topology, plane, controller, kind, znode)
    request.partition = partition
    request.version = proposal.partition_epoch
    item = add_item(kernel, request, partition)
    item.leader = proposal.leader
    item.leader_epoch = proposal.leader_epoch
    item.isr = proposal.isr
    item.controller_epoch = plane.controllers[controller].controller_epoch
    issue(kernel, plane, controller, request)


@inner_rule
def take_state_answer(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    """Take ZooKeeper's answer about one partition's state: read, or written."""
    if answer.value == ZK_GET:
        _take_state(kernel, topology, plane, controller, answer)
    elif answer.error == OK:
        _confirm(kernel, topology, plane, controller, answer)
    elif answer.error == BAD_VERSION:
        znode = state_znode(topology, answer.partition)
        request = new_request(kernel, topology, plane, controller, ZK_GET, znode)
        request.partition = answer.partition
        # Asked because a write was refused: propose again.
        request.wait_ms = 1
        issue(kernel, plane, controller, request)


@inner_rule
def read_state(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, partition: int
) -> None:
    """Read the state of a partition into the controller's cache."""
    znode = state_znode(topology, partition)
    request = new_request(kernel, topology, plane, controller, ZK_GET, znode)
    request.partition = partition
    issue(kernel, plane, controller, request)


@inner_rule
def _take_state(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    if answer.error != OK:
        return
    index = controller * topology.sizes[0].partitions + answer.partition
    item = kernel.items[answer.first_item]
    state = plane.leader_and_isr[index]
    state.leader = item.leader
    state.leader_epoch = item.leader_epoch
    state.isr = item.isr
    state.partition_epoch = item.version
    known = plane.partitions[index]
    known.has_state = True
    known.controller_epoch = item.controller_epoch
    if answer.wait_ms == 1:
        _propose(kernel, topology, plane, controller, answer.partition)


@inner_rule
def _confirm(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    """A state is written: take it over, and remember that brokers have to be told."""
    index = controller * topology.sizes[0].partitions + answer.partition
    known = plane.partitions[index]
    state = plane.leader_and_isr[index]
    old_leader = state.leader if known.has_state else UNDEFINED
    state.leader = known.written_leader
    state.leader_epoch = known.written_epoch
    state.isr = known.written_isr
    state.partition_epoch = answer.version
    known.has_state = True
    known.controller_epoch = plane.controllers[controller].controller_epoch
    known.touched = True
    known.led_anew = True
    if plane.controllers[controller].removing == NONE:
        known.state = ONLINE_PARTITION
        _write_election(kernel, topology, plane, controller, answer.partition, old_leader)
    else:
        _write_removal(kernel, topology, plane, controller, answer.partition)


@inner_rule
def _write_election(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    controller: int,
    partition: int,
    old_leader: int,
) -> None:
    index = controller * topology.sizes[0].partitions + partition
    state = plane.leader_and_isr[index]
    written = new_row(kernel, controller_process(topology, controller), LEADER_ELECTED)
    written.values[0] = partition
    written.values[1] = broker_of(topology, partition, state.leader)
    written.values[2] = state.leader_epoch
    written.values[3] = state.isr
    written.values[4] = state.partition_epoch
    written.values[5] = broker_of(topology, partition, old_leader)
    written.values[6] = 1 if plane.partitions[index].unclean else 0
    write_canonical(kernel, written)


@inner_rule
def _write_removal(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, partition: int
) -> None:
    state = plane.leader_and_isr[controller * topology.sizes[0].partitions + partition]
    written = new_row(kernel, controller_process(topology, controller), REMOVED_FROM_ISR)
    written.values[0] = partition
    written.values[1] = plane.controllers[controller].removing
    written.values[2] = broker_of(topology, partition, state.leader)
    written.values[3] = state.leader_epoch
    written.values[4] = state.isr
    written.values[5] = state.partition_epoch
    write_canonical(kernel, written)
