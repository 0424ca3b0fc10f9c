"""Elections of KRaft's controller: requested, periodic, and after a broker's change.

Every leader.imbalance.check.interval.seconds it elects preferred leaders, whatever the value of
leader.imbalance.per.broker.percentage. Every unclean.leader.election.interval.ms (from 3.9 on) it
tries partitions without a leader whose topic allows unclean election. A run makes at most 1000
elections; the next follows at once while there may be more.

A broker's change and its partitions are one batch with the broker's own record:

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

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft import partition_records
from tidegauge.controller.kraft.metadata_log import append_record, respond_when_committed
from tidegauge.controller.kraft.state import BROKER_RECORD, WRITES, Quorum
from tidegauge.controller.kraft_partitions import partition_target
from tidegauge.replication import errors
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.events import items_of, new_item, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import OfflineReplica
from tidegauge.simulation.messages.controller_timers import (
    PreferredLeaderBalance,
    UncleanElectionCheck,
)
from tidegauge.simulation.messages.quorum_requests import (
    AdminResponse,
    BrokerHeartbeatRequest,
    ElectLeadersRequest,
    PartitionOutcome,
)
from tidegauge.simulation.topology import slot_of
from tidegauge.simulation.trace_rows import codes

#: ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE
_MOST_ELECTIONS = code(1000)

#: The delay until a task that still has work runs again.
AGAIN_US = code(10_000)


@WRITES.handles(ElectLeadersRequest)
@inner_rule
def handle_elect_leaders(world: Quorum, request: ElectLeadersRequest) -> None:
    """Hold the elections that an operator asks for.

    Source: ReplicationControlManager.electLeaders@4.1.0.
    """
    response = new_response(world, request, AdminResponse)
    election = partition_target.UNCLEAN if request.is_unclean else partition_target.PREFERRED
    for asked in items_of(world, request, PartitionOutcome):
        error = _elect(world, asked.partition, election)
        new_item(world, response, asked.partition, PartitionOutcome, error=error)
    respond_when_committed(world, response)


@inner_rule
def _elect(world: Quorum, partition: int, election: int) -> int:
    """Hold an election of a kind; its outcome.

    Source: ReplicationControlManager.electLeader@4.1.0.
    """
    if not world.quorum_topics[world.partitions[partition].topic].exists:
        return errors.UNKNOWN_TOPIC_OR_PARTITION
    if not partition_target.election_is_needed(world.registrations[partition], election):
        return errors.ELECTION_NOT_NEEDED
    partition_records.begin_change(world, partition, election)
    if partition_records.append_change(
        world, partition, partition_records.acceptable_leaders(world, partition, NONE, NONE), 0
    ):
        return errors.NONE
    if election == partition_target.PREFERRED:
        return errors.PREFERRED_LEADER_NOT_AVAILABLE
    return errors.ELIGIBLE_LEADERS_NOT_AVAILABLE


@inner_rule
def plan_elections(world: Quorum) -> None:
    """Plan the next run of each task that is to run and has no timer.

    From 4.0 on they always run. Before, only while there is a reason for them.

    Source: QuorumController.registerElectPreferred, registerElectUnclean@4.1.0,
    maybeScheduleNextBalancePartitionLeaders, maybeScheduleNextElectUncleanLeaders@3.9.0.
    """
    state = world.active_controller[0]
    always = state.has_heartbeat_tracker
    is_imbalanced = always or state.imbalanced_partitions > 0
    if state.auto_leader_rebalance_enable and is_imbalanced and not state.balances:
        state.balances = True
        PreferredLeaderBalance.after(
            world, state.leader_imbalance_check_interval_us, epoch=state.epoch
        )
    interval_us = state.unclean_leader_election_interval_us
    is_leaderless = always or state.leaderless_partitions > 0
    if interval_us > 0 and is_leaderless and not state.elects_uncleanly:
        state.elects_uncleanly = True
        UncleanElectionCheck.after(world, interval_us, epoch=state.epoch)


@inner_rule
def _elects_as_many_as_it_may(world: Quorum, election: int) -> bool:
    """Hold elections of a kind, at most those of one run; whether the next run may find more."""
    held = 0
    for partition in range(world.sizes[0].partitions):
        if held >= _MOST_ELECTIONS:
            break
        topic = world.quorum_topics[world.partitions[partition].topic]
        if election == partition_target.PREFERRED or topic.unclean_leader_election:
            held += 1 if _elect(world, partition, election) == errors.NONE else 0
    return held >= _MOST_ELECTIONS


@WRITES.handles(PreferredLeaderBalance)
@inner_rule
def handle_preferred_leader_balance(world: Quorum, _: PreferredLeaderBalance) -> None:
    """Let preferred replicas lead that can.

    Source: ReplicationControlManager.maybeBalancePartitionLeaders@4.1.0.
    """
    state = world.active_controller[0]
    state.balances = state.imbalanced_partitions > 0 and _elects_as_many_as_it_may(
        world, partition_target.PREFERRED
    )
    if state.balances:
        PreferredLeaderBalance.after(world, AGAIN_US, epoch=state.epoch)


@WRITES.handles(UncleanElectionCheck)
@inner_rule
def handle_unclean_election_check(world: Quorum, _: UncleanElectionCheck) -> None:
    """Elect any replica for partitions without a leader whose topic allows it.

    Source: ReplicationControlManager.maybeElectUncleanLeaders@4.1.0.
    """
    state = world.active_controller[0]
    state.elects_uncleanly = state.leaderless_partitions > 0 and _elects_as_many_as_it_may(
        world, partition_target.UNCLEAN
    )
    if state.elects_uncleanly:
        UncleanElectionCheck.after(world, AGAIN_US, epoch=state.epoch)


@inner_rule
def append_broker(world: Quorum, broker: int, reason: int) -> None:
    """Append the record of a broker's present state in memory."""
    known = world.quorum_brokers[broker]
    record = append_record(world, BROKER_RECORD, broker)
    record.state = control_state_of(world, broker)
    record.broker_epoch = known.broker_epoch
    record.incarnation = known.incarnation
    if reason == codes.BROKER_REGISTERS:
        known.registration_offset = record.offset
    record.registration_offset = known.registration_offset
    record.software = known.software
    record.offline_directories = known.offline_directories
    record.cordoned_directories = known.cordoned_directories
    record.reason = reason


@inner_rule
def control_state_of(world: Quorum, broker: int) -> int:
    """The state of a registered broker in memory: one of BROKER_STATES."""
    known = world.quorum_brokers[broker]
    if known.fenced:
        return codes.BROKER_FENCED
    return codes.BROKER_SHUTTING_DOWN if known.in_controlled_shutdown else codes.BROKER_ACTIVE


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
    append_broker(world, broker, codes.BROKER_UNFENCED)
    elect_for_unfenced(world, broker)


@inner_rule
def elect_for_unfenced(world: Quorum, broker: int) -> None:
    """Elect leaders of partitions without one, now that this broker may lead."""
    if world.active_controller[0].leaderless_partitions == 0:
        return
    for partition in range(world.sizes[0].partitions):
        topic = world.quorum_topics[world.partitions[partition].topic]
        if topic.exists and world.registrations[partition].leader == NONE:
            partition_records.begin_change(
                world, partition, partition_records.election_of(world, partition)
            )
            acceptable = partition_records.acceptable_leaders(world, partition, broker, NONE)
            partition_records.append_change(world, partition, acceptable, 0)


@inner_rule
def begin_controlled_shutdown(world: Quorum, broker: int) -> None:
    """Begin a broker's controlled shutdown: it leaves all ISRs, and others lead.

    Source: ReplicationControlManager.handleBrokerInControlledShutdown@4.1.0.
    """
    world.quorum_brokers[broker].in_controlled_shutdown = True
    append_broker(world, broker, codes.BROKER_SHUTS_DOWN)
    _leave_isrs(world, broker, codes.BROKER_SHUTS_DOWN)


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
        _leave_isrs(world, broker, codes.BROKER_REGISTERS)
        return
    known = world.quorum_brokers[broker]
    # ISR and ELR share no replica, and it does not go from one into the other.
    for number in range(known.replica_count):
        partition = world.hosted_replicas[known.first_replica + number].partition
        slot = slot_of(world, partition, broker)
        registration = world.registrations[partition]
        if contains(registration.isr, slot) or contains(registration.elr, slot):
            target = partition_records.begin_change(
                world, partition, partition_records.election_of(world, partition)
            )
            partition_target.remove_after_unclean_shutdown(target, slot)
            acceptable = partition_records.acceptable_leaders(world, partition, NONE, broker)
            partition_records.append_change(world, partition, acceptable, codes.BROKER_REGISTERS)


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
        target = partition_records.begin_change(
            world, partition, partition_records.election_of(world, partition)
        )
        partition_target.remove_replica(target, slot)
        acceptable = partition_records.acceptable_leaders(world, partition, NONE, broker)
        partition_records.append_change(world, partition, acceptable, reason)


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
    for item in items_of(world, request, OfflineReplica):
        place = partition_records.place_of_replica(world, item.partition, broker)
        if place != NONE and not world.hosted_replicas[place].offline:
            world.hosted_replicas[place].offline = True
            _leave_isr(world, item.partition, broker, codes.BROKER_DIRECTORY_OFFLINE)
    append_broker(world, broker, codes.BROKER_DIRECTORY_OFFLINE)


@inner_rule
def take_cordoned_directories(world: Quorum, request: BrokerHeartbeatRequest) -> None:
    """A broker tells its cordoned log directories: its first heartbeat that does is a record.

    Source: ReplicationControlManager.handleDirectoriesCordoned,
    BrokerRegistration.cordonedDirChanged@4.4.0.
    """
    known = world.quorum_brokers[request.broker_id]
    if request.cordoned_directories not in (NONE, known.cordoned_directories):
        known.cordoned_directories = request.cordoned_directories
        append_broker(world, request.broker_id, codes.BROKER_TELLS_DIRECTORIES)
