"""AlterPartition at the controller: a leader proposes ISRs, and the controller writes them.

One request names partitions of one leader (KIP-497). Those that the controller's own context
lets pass are written to ZooKeeper, all in one go, each on the condition that its state still
has the version that the leader knows. The leader and its epoch stay; the controller epoch is
that of this controller. What was written is read back, all brokers are told of every
partition that was asked for, and the leader is answered for each.

======================================================  =====================================
what a leader asks                                      its answer
======================================================  =====================================
its leader or partition epoch is newer than known       NOT_CONTROLLER (3.3+): there must be
                                                        another controller by now
the partition is not known                              UNKNOWN_TOPIC_OR_PARTITION
another leader has been elected since                   FENCED_LEADER_EPOCH
what is stored already                                  success, and nothing is written
an older partition epoch                                INVALID_UPDATE_VERSION: at once
                                                        (3.3+), or as ZooKeeper says BADVERSION
somebody in the ISR is not alive, or about to stop      INELIGIBLE_REPLICA (3.3+)
======================================================  =====================================

Source: KafkaController.processAlterIsr@2.7.0, tryProcessAlterPartition@3.3.0 and @3.8.0.
"""

from __future__ import annotations

from tidegauge.controller.partition_changes import live_replicas, read_state, write_state
from tidegauge.controller.request_batch import send_requests, touch
from tidegauge.controller.state import ControlPlane, broker_at, partition_at, state_at
from tidegauge.replication import errors
from tidegauge.replication.compiled import code, inner_rule
from tidegauge.replication.records import UNDEFINED, LeaderAndIsr
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.replica_list import EMPTY, without
from tidegauge.simulation.events import add_item, free_event, new_answer
from tidegauge.simulation.kernel import NONE, Event, Kernel, PartitionData
from tidegauge.simulation.kinds import ALTER_PARTITION_RESPONSE, ZK_SET
from tidegauge.simulation.links import send
from tidegauge.simulation.row_kinds import ISR_ALTERED
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import Topology, broker_of, controller_process
from tidegauge.simulation.zookeeper_errors import OK

# Phases.
_WRITE = code(0)
_READ_BACK = code(1)


@inner_rule
def advance_alter_partition(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """One phase of an AlterPartition."""
    state = plane.controllers[controller]
    request = kernel.events[state.request]
    phase = state.phase
    state.phase += 1
    if phase == _WRITE:
        request.error = _request_error(topology, plane, controller, request)
        if request.error == errors.NONE:
            _write_all(kernel, topology, plane, controller, request)
            return
    elif phase == _READ_BACK:
        _read_back(kernel, topology, plane, controller, request)
        return
    else:
        _tell_all(kernel, topology, plane, controller, request)
    state.request = NONE
    state.event = NONE
    answer_alter_partition(kernel, request, request.error)


@inner_rule
def _request_error(topology: Topology, plane: ControlPlane, controller: int, request: Event) -> int:
    """Why the request as a whole is refused, if it is."""
    if not plane.controllers[controller].active:
        return errors.NOT_CONTROLLER
    known = broker_at(topology, plane, controller, request.broker)
    if not known.alive or known.broker_epoch != request.version:
        return errors.STALE_BROKER_EPOCH
    return errors.NONE


@inner_rule
def alter_partition_error(
    rules: ReleaseRules, current: LeaderAndIsr, item: PartitionData, live: int
) -> int:
    """Why the controller does not write a proposed ISR, as far as it knows itself."""
    is_checked = rules.alter_partition_epoch_checked
    if is_checked and (
        item.version > current.partition_epoch or item.leader_epoch > current.leader_epoch
    ):
        return errors.NOT_CONTROLLER
    if item.leader_epoch < current.leader_epoch:
        return errors.FENCED_LEADER_EPOCH
    if stores_already(current, item):
        return errors.NONE
    if is_checked and item.version < current.partition_epoch:
        return errors.INVALID_UPDATE_VERSION
    if rules.alter_partition_requires_eligible and without(item.isr, live) != EMPTY:
        return errors.INELIGIBLE_REPLICA
    return errors.NONE


@inner_rule
def stores_already(current: LeaderAndIsr, item: PartitionData) -> bool:
    """Whether the state is what a leader asks for, whatever version it knows.

    Source: LeaderAndIsr.equalsIgnoreZk@2.7.0, equalsAllowStalePartitionEpoch@3.3.0.
    """
    return (
        current.leader == item.leader
        and current.leader_epoch == item.leader_epoch
        and current.isr == item.isr
    )


@inner_rule
def _write_all(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, request: Event
) -> None:
    """Write what passes; these entries have a controller epoch from now on."""
    cursor = request.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        partition = item.partition
        if not partition_at(topology, plane, controller, partition).has_state:
            item.error = errors.UNKNOWN_TOPIC_OR_PARTITION
            continue
        current = state_at(topology, plane, controller, partition)
        live = live_replicas(topology, plane, controller, partition)
        item.error = alter_partition_error(plane.rules[controller], current, item, live)
        if item.error != errors.NONE:
            continue
        if stores_already(current, item):
            item.version = current.partition_epoch
            continue
        item.controller_epoch = plane.controllers[controller].controller_epoch
        proposal = plane.proposal[0]
        proposal.leader = item.leader
        proposal.leader_epoch = item.leader_epoch
        proposal.isr = item.isr
        proposal.partition_epoch = item.version
        write_state(kernel, topology, plane, controller, partition, ZK_SET)
    # ZooKeeper answers in the order of the writes.
    request.cursor = request.first_item


@inner_rule
def take_altered_state(kernel: Kernel, plane: ControlPlane, controller: int, answer: Event) -> None:
    """Take ZooKeeper's answer to one write."""
    request = kernel.events[plane.controllers[controller].request]
    while kernel.items[request.cursor].partition != answer.partition:
        request.cursor = kernel.items[request.cursor].next
    item = kernel.items[request.cursor]
    if answer.error == OK:
        item.version = answer.version
    else:
        item.error = errors.INVALID_UPDATE_VERSION


@inner_rule
def _read_back(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, request: Event
) -> None:
    """Take over from ZooKeeper what was written.

    Source: KafkaController.updateLeaderAndIsrCache@2.7.0.
    """
    cursor = request.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        if item.controller_epoch != UNDEFINED and item.error == errors.NONE:
            read_state(kernel, topology, plane, controller, item.partition)


@inner_rule
def _tell_all(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, request: Event
) -> None:
    """Tell all brokers of every partition that the request names, whatever came of it."""
    cursor = request.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        touch(topology, plane, controller, item.partition)
        altered = new_row(kernel, controller_process(topology, controller), ISR_ALTERED)
        altered.values[0] = item.partition
        altered.values[1] = broker_of(topology, item.partition, item.leader)
        altered.values[2] = item.leader_epoch
        altered.values[3] = item.isr
        altered.values[4] = item.version
        altered.values[5] = item.error
        write_canonical(kernel, altered)
    send_requests(kernel, topology, plane, controller)


@inner_rule
def answer_alter_partition(kernel: Kernel, request: Event, error: int) -> None:
    """Tell the leader what came of each partition, or why of none."""
    answer = new_answer(kernel, request, ALTER_PARTITION_RESPONSE)
    answer.error = error
    cursor = request.first_item
    while error == errors.NONE and cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        told = add_item(kernel, answer, item.partition)
        told.error = item.error
        told.leader = item.leader
        told.leader_epoch = item.leader_epoch
        told.isr = item.isr
        told.version = item.version
    send(kernel, answer, kernel.context[0].time_us)
    free_event(kernel, request)
