"""The claim of KRaft's active controller: its start, its end, and the state from before the run.

**A cluster from before the run**: the metadata log begins with its state. Its brokers are
registered, and unfenced unless they are down and in no ISR that has a leader. The first process of
a broker in the run counts as the one from before, and is not fenced while it starts; only that of a
broker that was down is a new one, after an unclean shutdown.

**A controller that is elected** has replayed all that is committed before its own epoch begins. So
its state in memory is the committed one, whatever the number of partitions, and it appends nothing.
It gives every unfenced broker a session of its own: without any contact yet.

**A controller that renounces** answers all pending and later requests with NOT_CONTROLLER. One that
has been superseded without knowing it, since it is paused or cut off, still counts itself active,
and answers nothing: nothing that it appends is committed.

Source: QuorumController.claim, renounce, ClusterControlManager.activate,
BrokerHeartbeatManager.register, OffsetControlManager.deactivate@4.1.0.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft.elections import append_broker
from tidegauge.controller.kraft.features import recall_features
from tidegauge.controller.kraft.metadata_log import append_partition, append_record, commit_next
from tidegauge.controller.kraft.partition_records import count_partition
from tidegauge.controller.kraft.periodic_tasks import begin_tasks
from tidegauge.controller.kraft.state import QUORUM, TOPIC_RECORD, Quorum, copy_registration
from tidegauge.controller.kraft_partitions.partition_change import NO_LEADER
from tidegauge.controller.raft.measured import respond
from tidegauge.controller.raft.snapshots import begin_epoch
from tidegauge.controller.raft.state import name_of_voter, this_voter, voter_of
from tidegauge.controller.raft.voters import found_voters
from tidegauge.controller.state.control_plane import write_existing_records
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.events import take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import CommittedResponse
from tidegauge.simulation.messages.controller_timers import LeadershipClaimed, LeadershipLost
from tidegauge.simulation.topology import quorum_process
from tidegauge.simulation.trace_rows.codes import (
    BROKER_FENCED,
    BROKER_REGISTERS,
    BROKER_SHUTTING_DOWN,
    LEADER,
)
from tidegauge.simulation.trace_rows.controller_rows import ControllerActive

#: Behind the LeaderChange and the KRaftVersionRecord of the first epoch.
_FIRST_VOTERS_OFFSET = code(2)


@inner_rule
def restore_preexisting_states(world: Quorum) -> None:
    """Write the records about all that was there before; they have no cause."""
    voter = this_voter(world)
    recall_features(world, voter_of(world, world.context[0].handling))
    # The first record is that of the leader's election; the kraft.version and the voters follow, if
    # these may change.
    voter.log_end_offset = _FIRST_VOTERS_OFFSET + 1 if voter.kraft_version > 0 else 1
    world.active_controller[0].committed_offset = voter.log_end_offset
    # They come from no event, and wait for nothing.
    voter.event_written = True
    voter.drains = True
    for broker in range(world.sizes[0].brokers):
        known = world.quorum_brokers[broker]
        if known.registered:
            known.broker_epoch = voter.log_end_offset
            append_broker(world, broker, BROKER_REGISTERS)
    for number in range(world.sizes[0].topics):
        topic = world.quorum_topics[number]
        if not topic.exists:
            continue
        topic.topic_id = append_record(world, TOPIC_RECORD, number).offset
        for place in range(topic.partition_count):
            append_partition(world, topic.first_partition + place)
    for partition in range(world.sizes[0].partitions):
        epoch = world.registrations[partition].leader_epoch
        write_existing_records(world, partition, epoch)
    voter.event_written = False
    voter.drains = False
    _commit(world, voter.log_end_offset)


@inner_rule
def _commit(world: Quorum, end_offset: int) -> None:
    """All controllers but new ones have had these records before the run."""
    context = world.context[0]
    state = world.active_controller[0]
    first = context.handling
    epoch = this_voter(world).epoch
    while state.committed_offset < end_offset:
        context.cause_process = NONE
        context.cause_sequence = NONE
        commit_next(world, epoch)
    context.cause_process = NONE
    context.cause_sequence = NONE
    founders = this_voter(world).voter_set
    kraft_version = this_voter(world).kraft_version
    for number in range(len(world.voters)):
        context.handling = quorum_process(world, number)
        voter = this_voter(world)
        if voter.is_new:
            continue
        voter.log_end_offset = end_offset
        voter.drained_offset = end_offset
        voter.flushed_offset = end_offset
        begin_epoch(world, epoch, 0)
        if kraft_version > 0:
            found_voters(world, _FIRST_VOTERS_OFFSET, founders, kraft_version)
    context.handling = first


@QUORUM.handles(LeadershipClaimed)
@inner_rule
def handle_leadership_claimed(world: Quorum, timer: LeadershipClaimed) -> bool:
    """The voter leads, and has committed a record of its epoch: once all is replayed, claim.

    More is committed already if its log lacks committed records, as controllers have lost their
    disks: such a controller does not become active.
    """
    voter = this_voter(world)
    if voter.state != LEADER or voter.epoch != timer.epoch:
        return False
    state = world.active_controller[0]
    if state.committed_offset < timer.offset:
        LeadershipClaimed.after(world, 0, timer)
    elif state.committed_offset == timer.offset or state.epoch == NONE:
        _claim(world)
    return False


@inner_rule
def _claim(world: Quorum) -> None:
    """Be the active controller from now on, in the epoch that this voter leads."""
    state = world.active_controller[0]
    voter = this_voter(world)
    is_first = state.epoch == NONE
    voter.claimed_epoch = voter.epoch
    state.voter = voter_of(world, world.context[0].handling)
    state.epoch = voter.epoch
    state.claims += 1
    recall_features(world, state.voter)
    _recall_topics(world)
    _recall_brokers(world)
    _recall_partitions(world)
    ControllerActive.write(
        world,
        broker=name_of_voter(world, world.context[0].handling),
        controller_epoch=this_voter(world).claimed_epoch,
    )
    begin_tasks(world, is_first)


@QUORUM.handles(LeadershipLost)
@inner_rule
def handle_leadership_lost(world: Quorum, timer: LeadershipLost) -> bool:
    """The voter leads no longer: another leader decides whether pending records are committed."""
    voter = this_voter(world)
    if voter.claimed_epoch != timer.epoch:
        return False
    forget_claim(world)
    while voter.deferred.first != NONE:
        response = view_as(take_first(world, voter.deferred), CommittedResponse)
        response.error = errors.NOT_CONTROLLER
        respond(world, response)
    return False


@inner_rule
def forget_claim(world: Quorum) -> None:
    """Be active no longer, because of a message to this controller or of its death."""
    voter = this_voter(world)
    state = world.active_controller[0]
    own = voter_of(world, world.context[0].handling)
    if voter.claimed_epoch != NONE and state.voter == own:
        state.voter = NONE
        ControllerActive.write(world, broker=NONE, controller_epoch=this_voter(world).claimed_epoch)
    voter.claimed_epoch = NONE


@inner_rule
def _recall_topics(world: Quorum) -> None:
    for number in range(world.sizes[0].topics):
        topic = world.quorum_topics[number]
        topic.exists = topic.committed
        topic.topic_id = topic.committed_topic_id
        topic.min_insync_replicas = topic.committed_min_insync_replicas
        topic.unclean_leader_election = topic.committed_unclean_leader_election
    for throttled in world.throttled_replicas:
        throttled.as_leader = throttled.committed_as_leader
        throttled.as_follower = throttled.committed_as_follower


@inner_rule
def _recall_brokers(world: Quorum) -> None:
    """Every unfenced broker has a session from now on; there was no heartbeat yet."""
    state = world.active_controller[0]
    now_us = world.context[0].time_us
    for number in range(world.sizes[0].brokers):
        broker = world.quorum_brokers[number]
        broker.registered = broker.committed_epoch != NONE
        broker.broker_epoch = broker.committed_epoch
        broker.incarnation = broker.committed_incarnation
        broker.registration_offset = broker.committed_registration_offset
        broker.software = broker.committed_software
        broker.fenced = broker.committed_state == BROKER_FENCED
        broker.in_controlled_shutdown = broker.committed_state == BROKER_SHUTTING_DOWN
        broker.cordoned_directories = broker.committed_cordoned_directories
        broker.leader_rate = broker.committed_leader_rate
        broker.follower_rate = broker.committed_follower_rate
        broker.metadata_offset = NONE
        broker.shutdown_offset = NONE
        broker.leader_count = 0
        is_tracked = broker.registered and (not broker.fenced or state.fenced_sessions_restart)
        broker.contact_us = now_us if is_tracked else NONE
        if broker.offline_directories != broker.committed_offline_directories:
            # The next heartbeat names them again.
            broker.offline_directories = 0
            for place in range(broker.replica_count):
                world.hosted_replicas[broker.first_replica + place].offline = False


@inner_rule
def _recall_partitions(world: Quorum) -> None:
    state = world.active_controller[0]
    state.leaderless_partitions = 0
    state.imbalanced_partitions = 0
    for number in range(world.sizes[0].partitions):
        registration = world.registrations[number]
        known = world.committed_partitions[number]
        copy_registration(registration, known)
        if known.exists:
            count_partition(world, number, 1)
        else:
            registration.leader = NO_LEADER
            registration.isr = EMPTY
            registration.elr = EMPTY
            registration.last_known_elr = EMPTY
            registration.adding = EMPTY
            registration.removing = EMPTY
