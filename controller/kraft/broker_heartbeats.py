"""Registrations and heartbeats of brokers at KRaft's controller.

**A registration** (Kafka: ClusterControlManager) has a broker epoch: the offset at which its batch
begins. While the session of the former process is valid, a new one is refused. From 4.0 on a
session outlives fencing and a clean shutdown, so a restart takes at least as long as the rest of
it. A broker whose release does not support the finalized features is refused as well.

**A heartbeat** (Kafka: BrokerHeartbeatManager, BrokerHeartbeatTracker) has the state that a broker
wants to be in; the next state follows:

===================  ==========================================  ==================================
it is                it wants                                    it is next
===================  ==========================================  ==================================
fenced               to shut down                                gone: it may shut down now
fenced               to be unfenced, and has published its       unfenced
                     registration record
unfenced             to be fenced                                fenced
unfenced             to shut down, and leads something           in controlled shutdown
unfenced             to shut down, and leads nothing             gone
in controlled        whatever, and leads nothing, and all        gone
shutdown             active brokers have published what took
                     its leaderships away
===================  ==========================================  ==================================

A broker that is gone is fenced. From 4.0 on a contact counts when it arrives (``note_arrival``),
before only when the thread takes it.

Blocks of producer ids (Kafka: ProducerIdControlManager): any registered broker is granted the next
one.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft import elections
from tidegauge.controller.kraft.features import supports_finalized
from tidegauge.controller.kraft.metadata_log import append_record, respond_when_committed
from tidegauge.controller.kraft.partition_records import is_active, place_of_replica
from tidegauge.controller.kraft.state import (
    PRODUCER_IDS_RECORD,
    WRITES,
    Quorum,
    these_controller_stats,
)
from tidegauge.controller.raft.measured import respond
from tidegauge.controller.raft.state import this_voter
from tidegauge.replication import errors
from tidegauge.simulation.events import items_of, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import OfflineReplica
from tidegauge.simulation.messages.controller_timers import FencingCheck
from tidegauge.simulation.messages.kinds import KEY_OF_KIND
from tidegauge.simulation.messages.quorum_requests import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ASKS_FOR_FENCE,
    BROKER_REGISTERS,
    BROKER_SESSION_CLOSED,
)
from tidegauge.simulation.trace_rows.process_rows import RequestRefused


@WRITES.handles(BrokerRegistrationRequest)
@inner_rule
def handle_broker_registration(world: Quorum, request: BrokerRegistrationRequest) -> None:
    """Register a process of a broker, or refuse it.

    Source: ClusterControlManager.registerBroker@4.1.0.
    """
    state = world.active_controller[0]
    voter = this_voter(world)
    known = world.quorum_brokers[request.broker_id]
    response = new_response(world, request, BrokerRegistrationResponse)
    # A broker of before the run has no incarnation yet: the process that comes is that one.
    was_there_before = known.registered and known.incarnation == NONE
    known.returns = was_there_before and not known.fenced
    is_same = was_there_before or (known.registered and known.incarnation == request.incarnation)
    if not is_same and has_valid_session(world, request.broker_id):
        response.error = errors.DUPLICATE_BROKER_REGISTRATION
    elif not supports_finalized(world, world.software[request.software]):
        response.error = errors.UNSUPPORTED_VERSION
    if response.error != errors.NONE:
        RequestRefused.write(
            world,
            api_key=KEY_OF_KIND[request.kind],
            partition=NONE,
            from_process=request.source,
            error=response.error,
            offset=NONE,
        )
        respond(world, response)
        return
    batch_offset = voter.log_end_offset
    if not is_same:
        is_clean = known.registered and known.broker_epoch == request.previous_broker_epoch
        elections.take_out_former_process(world, request.broker_id, is_clean)
    known.incarnation = request.incarnation
    known.software = request.software
    keeps_epoch = was_there_before or (is_same and state.incarnation_keeps_epoch)
    if not keeps_epoch:
        known.registered = True
        known.broker_epoch = batch_offset
        known.fenced = True
        known.in_controlled_shutdown = False
        known.contact_us = NONE
        known.metadata_offset = NONE
        known.shutdown_offset = NONE
    _note_directories(world, request)
    elections.append_broker(world, request.broker_id, BROKER_REGISTERS)
    if not state.has_heartbeat_tracker:
        note_contact(world, request.broker_id)
    response.broker_epoch = known.broker_epoch
    respond_when_committed(world, response)


@inner_rule
def _note_directories(world: Quorum, request: BrokerRegistrationRequest) -> None:
    """Take the broker's offline log directories from the request."""
    known = world.quorum_brokers[request.broker_id]
    known.cordoned_directories = NONE
    if known.offline_directories != 0:
        for number in range(known.replica_count):
            world.hosted_replicas[known.first_replica + number].offline = False
    known.offline_directories = request.offline_directories
    for item in items_of(world, request, OfflineReplica):
        place = place_of_replica(world, item.partition, request.broker_id)
        if place != NONE:
            world.hosted_replicas[place].offline = True


# BrokerControlState@4.1.0
_FENCED = code(0)
_UNFENCED = code(1)
_CONTROLLED_SHUTDOWN = code(2)
_SHUTDOWN_NOW = code(3)

#: A metadata offset that all have reached where there is no active broker.
_ANY_OFFSET = code(2**62)


@inner_rule
def note_arrival(world: Quorum, request: BrokerHeartbeatRequest) -> None:
    """A heartbeat has arrived: from 4.0 on it counts as contact with its broker.

    Source: QuorumController.processBrokerHeartbeat, BrokerHeartbeatTracker.touch@4.1.0.
    """
    known = world.quorum_brokers[request.broker_id]
    is_its = known.registered and known.broker_epoch == request.broker_epoch
    if world.active_controller[0].has_heartbeat_tracker and is_its:
        note_contact(world, request.broker_id)


@inner_rule
def note_contact(world: Quorum, broker: int) -> None:
    """Contact with a broker; up to 3.9 its session is watched exactly."""
    state = world.active_controller[0]
    now_us = world.context[0].time_us
    world.quorum_brokers[broker].contact_us = now_us
    if not state.has_heartbeat_tracker and not state.fences:
        check_sessions_at(world, now_us + state.session_timeout_us + 1)


@inner_rule
def check_sessions_at(world: Quorum, time_us: int) -> None:
    """Have sessions checked at a time."""
    world.active_controller[0].fences = True
    FencingCheck.at(world, time_us, epoch=world.active_controller[0].epoch)


@inner_rule
def is_overdue(world: Quorum, broker: int) -> bool:
    """Whether a broker is to be fenced: no contact for its session timeout.

    Source: BrokerHeartbeatTracker.isExpired@4.1.0, BrokerHeartbeatManager.findOneStaleBroker@3.9.0.
    """
    state = world.active_controller[0]
    known = world.quorum_brokers[broker]
    is_tracked = known.contact_us != NONE and (state.has_heartbeat_tracker or not known.fenced)
    return is_tracked and world.context[0].time_us - known.contact_us > state.session_timeout_us


@inner_rule
def has_valid_session(world: Quorum, broker: int) -> bool:
    """Whether a process of a broker counts as alive.

    Source: BrokerHeartbeatTracker.hasValidSession@4.1.0,
    BrokerHeartbeatManager.hasValidSession@3.9.0.
    """
    known = world.quorum_brokers[broker]
    if known.contact_us == NONE or is_overdue(world, broker):
        return False
    return bool(world.active_controller[0].has_heartbeat_tracker) or not known.fenced


@WRITES.handles(BrokerHeartbeatRequest)
@inner_rule
def handle_broker_heartbeat(world: Quorum, request: BrokerHeartbeatRequest) -> None:
    """Give a broker the next state, and send it.

    Source: ReplicationControlManager.processBrokerHeartbeat@4.1.0.
    """
    state = world.active_controller[0]
    voter = this_voter(world)
    known = world.quorum_brokers[request.broker_id]
    response = new_response(world, request, BrokerHeartbeatResponse)
    if not known.registered or known.broker_epoch != request.broker_epoch:
        response.error = errors.STALE_BROKER_EPOCH
        respond(world, response)
        return
    if world.context[0].time_us > request.time_us + state.heartbeat_deadline_us:
        _time_out(world, request, response)
        return
    following = _next_state(world, request)
    if following != _current_state(world, request.broker_id):
        if following == _UNFENCED:
            elections.unfence_broker(world, request.broker_id)
        elif following == _CONTROLLED_SHUTDOWN:
            elections.begin_controlled_shutdown(world, request.broker_id)
        elif following == _SHUTDOWN_NOW:
            elections.fence_broker(world, request.broker_id, BROKER_SESSION_CLOSED)
        else:
            elections.fence_broker(world, request.broker_id, BROKER_ASKS_FOR_FENCE)
    known.metadata_offset = request.metadata_offset
    if not state.has_heartbeat_tracker:
        note_contact(world, request.broker_id)
    elections.take_directories_offline(world, request)
    elections.take_cordoned_directories(world, request)
    is_first = known.shutdown_offset == NONE or state.shutdown_offset_grows
    if following == _CONTROLLED_SHUTDOWN and is_first:
        known.shutdown_offset = voter.log_end_offset - 1
    response.is_caught_up = request.metadata_offset >= known.registration_offset
    if known.returns and not request.wants_fence:
        known.returns = False
        elections.elect_for_unfenced(world, request.broker_id)
    response.is_fenced = following in (_FENCED, _SHUTDOWN_NOW) or known.returns
    response.should_shut_down = following == _SHUTDOWN_NOW
    respond_when_committed(world, response)


@inner_rule
def _time_out(
    world: Quorum, request: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse
) -> None:
    """A heartbeat has waited in the queue for too long: it changes no state.

    Source: ReplicationControlManager.processExpiredBrokerHeartbeat@4.1.0.
    """
    state = world.active_controller[0]
    these_controller_stats(world).timed_out_heartbeats += 1
    if state.expired_heartbeats_count and not state.has_heartbeat_tracker:
        note_contact(world, request.broker_id)
    response.error = errors.REQUEST_TIMED_OUT
    respond(world, response)


@inner_rule
def _current_state(world: Quorum, broker: int) -> int:
    """Source: BrokerHeartbeatManager.currentBrokerState@4.1.0."""
    known = world.quorum_brokers[broker]
    if known.shutdown_offset != NONE:
        return _CONTROLLED_SHUTDOWN
    return _FENCED if known.fenced else _UNFENCED


@inner_rule
def _next_state(world: Quorum, request: BrokerHeartbeatRequest) -> int:
    """Source: BrokerHeartbeatManager.calculateNextBrokerState@4.1.0."""
    known = world.quorum_brokers[request.broker_id]
    current = _current_state(world, request.broker_id)
    leads = known.leader_count > 0
    if current == _FENCED:
        if request.wants_shut_down:
            return _SHUTDOWN_NOW
        is_caught_up = request.metadata_offset >= known.registration_offset
        return _UNFENCED if is_caught_up and not request.wants_fence else _FENCED
    if current == _UNFENCED:
        if request.wants_fence and not known.returns:
            return _SHUTDOWN_NOW if request.wants_shut_down else _FENCED
        if not request.wants_shut_down:
            return _UNFENCED
        return _CONTROLLED_SHUTDOWN if leads else _SHUTDOWN_NOW
    has_left = not leads and known.shutdown_offset <= _lowest_active_offset(world)
    return _SHUTDOWN_NOW if has_left else _CONTROLLED_SHUTDOWN


@inner_rule
def _lowest_active_offset(world: Quorum) -> int:
    """The lowest offset of the brokers that are unfenced and do not shut down.

    Source: BrokerHeartbeatManager.lowestActiveOffset@4.1.0.
    """
    lowest = _ANY_OFFSET
    for broker in range(world.sizes[0].brokers):
        if is_active(world, broker):
            lowest = min(lowest, world.quorum_brokers[broker].metadata_offset)
    return lowest


@WRITES.handles(AllocateProducerIdsRequest)
@inner_rule
def handle_allocate_producer_ids(world: Quorum, request: AllocateProducerIdsRequest) -> None:
    """Grant a broker the next block of producer ids.

    Source: ProducerIdControlManager.generateNextProducerId@3.9.0.
    """
    known = world.quorum_brokers[request.broker_id]
    response = new_response(world, request, AllocateProducerIdsResponse)
    if not known.registered or known.broker_epoch != request.broker_epoch:
        response.error = errors.STALE_BROKER_EPOCH
        respond(world, response)
        return
    append_record(world, PRODUCER_IDS_RECORD, request.broker_id)
    respond_when_committed(world, response)
