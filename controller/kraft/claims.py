"""A controller becomes the active one, and gives that up.

A controller that is elected has replayed all that is committed before its own epoch begins. So its
state in memory is the committed one, whatever the number of partitions, and it appends nothing. It
gives every broker that is unfenced a session of its own: it has heard of none.

A controller that is no longer active answers what waits for a commit, and all that it is asked,
with NOT_CONTROLLER. One that has been superseded without knowing it, since it is paused or cut off,
still believes itself active, and answers nothing: nothing that it appends is committed.

Source: QuorumController.claim, renounce, ClusterControlManager.activate,
BrokerHeartbeatManager.register, OffsetControlManager.deactivate@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.handlers import QUORUM
from tidegauge.controller.kraft.partition_records import count_partition
from tidegauge.controller.kraft.periodic_tasks import begin_tasks
from tidegauge.controller.kraft.registrations import copy_registration
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.kraft_partitions.partition_change import NO_LEADER
from tidegauge.controller.raft.responses import respond
from tidegauge.controller.raft.voters import name_of_voter, this_voter, voter_of
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.codes.occasions import BROKER_FENCED, BROKER_SHUTTING_DOWN
from tidegauge.simulation.codes.voter_states import LEADER
from tidegauge.simulation.events import new_event, set_timer, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import CommittedResponse
from tidegauge.simulation.messages.raft_timers import LeadershipClaimed, LeadershipLost
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.control_plane_rows import ControllerActive


@QUORUM.handles(LeadershipClaimed)
@inner_rule
def handle_leadership_claimed(world: Quorum, timer: LeadershipClaimed) -> bool:
    """The voter leads, and has committed a record of its epoch: once all is replayed, claim."""
    voter = this_voter(world)
    if voter.state != LEADER or voter.epoch != timer.epoch:
        return False
    if world.active_controller[0].committed_offset >= timer.offset:
        _claim(world)
        return False
    again = new_event(world, timer.destination, timer.destination, LeadershipClaimed)
    again.epoch = timer.epoch
    again.offset = timer.offset
    set_timer(world, again, world.context[0].time_us)
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
    _recall_topics(world)
    _recall_brokers(world)
    _recall_partitions(world)
    _write_active(world, name_of_voter(world, world.context[0].handling))
    begin_tasks(world, is_first)


@QUORUM.handles(LeadershipLost)
@inner_rule
def handle_leadership_lost(world: Quorum, timer: LeadershipLost) -> bool:
    """The voter leads no longer: whether what is not committed will be is for others to say."""
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
    """Be active no longer, because of what this controller has heard or of its death."""
    voter = this_voter(world)
    state = world.active_controller[0]
    own = voter_of(world, world.context[0].handling)
    if voter.claimed_epoch != NONE and state.voter == own:
        state.voter = NONE
        _write_active(world, NONE)
    voter.claimed_epoch = NONE


@inner_rule
def _write_active(world: Quorum, name: int) -> None:
    active = new_row(world, world.context[0].handling, ControllerActive)
    active.broker = name
    active.controller_epoch = this_voter(world).claimed_epoch
    write_row(world, active)


@inner_rule
def _recall_topics(world: Quorum) -> None:
    for number in range(world.sizes[0].topics):
        topic = world.quorum_topics[number]
        topic.exists = topic.committed
        topic.topic_id = topic.committed_topic_id
        topic.min_insync_replicas = topic.committed_min_insync_replicas
        topic.unclean_leader_election = topic.committed_unclean_leader_election


@inner_rule
def _recall_brokers(world: Quorum) -> None:
    """Every unfenced broker has a session from now on; no heartbeat has said anything yet."""
    state = world.active_controller[0]
    now_us = world.context[0].time_us
    for number in range(world.sizes[0].brokers):
        broker = world.quorum_brokers[number]
        broker.registered = broker.committed_epoch != NONE
        broker.broker_epoch = broker.committed_epoch
        broker.incarnation = broker.committed_incarnation
        broker.registration_offset = broker.committed_registration_offset
        broker.fenced = broker.committed_state == BROKER_FENCED
        broker.in_controlled_shutdown = broker.committed_state == BROKER_SHUTTING_DOWN
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
