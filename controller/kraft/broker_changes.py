"""What a change of a broker does to its partitions, in one batch with the broker's own record.

=====================  ==================================================  ======================
a broker               partitions that are looked at                       order of records
=====================  ==================================================  ======================
is fenced              those whose ISR it is in: it leaves                 partitions, broker
is unfenced            those without a leader: it may lead                 broker, partitions
shuts down             those whose ISR it is in: it leaves                 broker, partitions
registers after a      those whose ISR or ELR it is in: it leaves          partitions, broker
shutdown that was
not clean, with ELR
registers else         those whose ISR it is in: it leaves (from 4.0)      partitions, broker
loses a directory      those in whose ISR its replica there is: it leaves  partitions, broker
=====================  ==================================================  ======================

Kafka cuts such a result into batches of 10,000 records. All of them are written together, so that
shows nowhere here.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.metadata_log import append_record
from tidegauge.controller.kraft.partition_records import (
    acceptable_leaders,
    append_change,
    begin_change,
    election_of,
    place_of_replica,
)
from tidegauge.controller.kraft.registrations import BROKER_RECORD
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.kraft_partitions.partition_target import (
    remove_after_unclean_shutdown,
    remove_replica,
)
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.codes.occasions import (
    BROKER_ACTIVE,
    BROKER_DIRECTORY_OFFLINE,
    BROKER_FENCED,
    BROKER_REGISTERS,
    BROKER_SHUTS_DOWN,
    BROKER_SHUTTING_DOWN,
    BROKER_UNFENCED,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import OfflineReplica
from tidegauge.simulation.messages.quorum_requests import BrokerHeartbeatRequest
from tidegauge.simulation.topology import slot_of


@inner_rule
def append_broker(world: Quorum, broker: int, reason: int) -> None:
    """Append the record that makes a broker what it is in memory by now."""
    known = world.quorum_brokers[broker]
    record = append_record(world, BROKER_RECORD, broker)
    record.state = control_state_of(world, broker)
    record.broker_epoch = known.broker_epoch
    record.incarnation = known.incarnation
    if reason == BROKER_REGISTERS:
        known.registration_offset = record.offset
    record.registration_offset = known.registration_offset
    record.offline_directories = known.offline_directories
    record.reason = reason


@inner_rule
def control_state_of(world: Quorum, broker: int) -> int:
    """What a registered broker is taken for in memory: one of BROKER_STATES."""
    known = world.quorum_brokers[broker]
    if known.fenced:
        return BROKER_FENCED
    return BROKER_SHUTTING_DOWN if known.in_controlled_shutdown else BROKER_ACTIVE


@inner_rule
def fence_broker(world: Quorum, broker: int, reason: int) -> None:
    """Fence a broker: it leaves all ISRs, and others lead.

    Source: ReplicationControlManager.handleBrokerFenced@4.1.0, BrokerHeartbeatManager.fence@4.1.0.
    """
    _leave_isrs(world, broker, reason)
    known = world.quorum_brokers[broker]
    known.fenced = True
    known.shutdown_offset = NONE
    append_broker(world, broker, reason)


@inner_rule
def unfence_broker(world: Quorum, broker: int) -> None:
    """Unfence a broker: partitions without a leader may get one.

    Source: ReplicationControlManager.handleBrokerUnfenced@4.1.0.
    """
    world.quorum_brokers[broker].fenced = False
    append_broker(world, broker, BROKER_UNFENCED)
    elect_for_unfenced(world, broker)


@inner_rule
def elect_for_unfenced(world: Quorum, broker: int) -> None:
    """Elect leaders of partitions without one, now that this broker may lead."""
    if world.active_controller[0].leaderless_partitions == 0:
        return
    for partition in range(world.sizes[0].partitions):
        topic = world.quorum_topics[world.partitions[partition].topic]
        if topic.exists and world.registrations[partition].leader == NONE:
            begin_change(world, partition, election_of(world, partition))
            acceptable = acceptable_leaders(world, partition, broker, NONE)
            append_change(world, partition, acceptable, 0)


@inner_rule
def begin_controlled_shutdown(world: Quorum, broker: int) -> None:
    """Begin a broker's controlled shutdown: it leaves all ISRs, and others lead.

    Source: ReplicationControlManager.handleBrokerInControlledShutdown@4.1.0.
    """
    world.quorum_brokers[broker].in_controlled_shutdown = True
    append_broker(world, broker, BROKER_SHUTS_DOWN)
    _leave_isrs(world, broker, BROKER_SHUTS_DOWN)


@inner_rule
def take_out_former_process(world: Quorum, broker: int, is_clean: bool) -> None:
    """Take the former process of a broker that registers out of ISRs, if it is still there.

    If its shutdown was not clean, it may have lost records that it had acknowledged: with ELR it
    loses its places in ELRs too.

    Source: ReplicationControlManager.handleBrokerShutdown@4.1.0.
    """
    state = world.active_controller[0]
    if not state.registration_clears_isr:
        return
    if is_clean or not world.kraft_switches[0].eligible_leader_replicas:
        _leave_isrs(world, broker, BROKER_REGISTERS)
        return
    known = world.quorum_brokers[broker]
    # ISR and ELR share no replica, and it does not go from one into the other.
    for number in range(known.replica_count):
        partition = world.hosted_replicas[known.first_replica + number].partition
        slot = slot_of(world, partition, broker)
        registration = world.registrations[partition]
        if contains(registration.isr, slot) or contains(registration.elr, slot):
            target = begin_change(world, partition, election_of(world, partition))
            remove_after_unclean_shutdown(target, slot)
            acceptable = acceptable_leaders(world, partition, NONE, broker)
            append_change(world, partition, acceptable, BROKER_REGISTERS)


@inner_rule
def _leave_isrs(world: Quorum, broker: int, reason: int) -> None:
    """Take a broker out of every ISR, and have others lead.

    Source: ReplicationControlManager.generateLeaderAndIsrUpdates@4.1.0 (brokerToRemove).
    """
    known = world.quorum_brokers[broker]
    for number in range(known.replica_count):
        partition = world.hosted_replicas[known.first_replica + number].partition
        _leave_isr(world, partition, broker, reason)


@inner_rule
def _leave_isr(world: Quorum, partition: int, broker: int, reason: int) -> None:
    slot = slot_of(world, partition, broker)
    if contains(world.registrations[partition].isr, slot):
        target = begin_change(world, partition, election_of(world, partition))
        remove_replica(target, slot)
        acceptable = acceptable_leaders(world, partition, NONE, broker)
        append_change(world, partition, acceptable, reason)


@inner_rule
def take_directories_offline(world: Quorum, request: BrokerHeartbeatRequest) -> None:
    """Log directories of a broker are offline: its replicas there leave ISRs.

    Source: ReplicationControlManager.handleDirectoriesOffline@4.1.0.
    """
    broker = request.broker_id
    known = world.quorum_brokers[broker]
    if request.offline_directories & ~known.offline_directories == 0:
        return
    known.offline_directories |= request.offline_directories
    cursor = request.first_item
    while cursor != NONE:
        item = view_as(world.items[cursor], OfflineReplica)
        cursor = item.next
        place = place_of_replica(world, item.partition, broker)
        if place != NONE and not world.hosted_replicas[place].offline:
            world.hosted_replicas[place].offline = True
            _leave_isr(world, item.partition, broker, BROKER_DIRECTORY_OFFLINE)
    append_broker(world, broker, BROKER_DIRECTORY_OFFLINE)
