"""Registrations of brokers (Kafka: ClusterControlManager).

A process is registered under a broker epoch: the offset at which its batch begins. While the
session of the process before it is valid, a new one is refused. From 4.0 on a session outlives
fencing and a clean shutdown, so a restart takes at least as long as the rest of it.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.broker_changes import append_broker, take_out_former_process
from tidegauge.controller.kraft.broker_heartbeats import has_valid_session, note_contact
from tidegauge.controller.kraft.handlers import WRITES
from tidegauge.controller.kraft.metadata_log import respond_when_committed
from tidegauge.controller.kraft.partition_records import place_of_replica
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.raft.responses import respond
from tidegauge.controller.raft.voters import this_voter
from tidegauge.replication import errors
from tidegauge.simulation.codes.occasions import BROKER_REGISTERS
from tidegauge.simulation.events import new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import OfflineReplica
from tidegauge.simulation.messages.kinds import KEY_OF_KIND
from tidegauge.simulation.messages.quorum_requests import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.broker_rows import RequestRefused


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
        refused = new_row(world, request.destination, RequestRefused)
        refused.api_key = KEY_OF_KIND[request.kind]
        refused.partition = NONE
        refused.from_process = request.source
        refused.error = response.error
        refused.offset = NONE
        write_row(world, refused)
        respond(world, response)
        return
    batch_offset = voter.log_end_offset
    if not is_same:
        is_clean = known.registered and known.broker_epoch == request.previous_broker_epoch
        take_out_former_process(world, request.broker_id, is_clean)
    known.incarnation = request.incarnation
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
    append_broker(world, request.broker_id, BROKER_REGISTERS)
    if not state.has_heartbeat_tracker:
        note_contact(world, request.broker_id)
    response.broker_epoch = known.broker_epoch
    respond_when_committed(world, response)


@inner_rule
def _note_directories(world: Quorum, request: BrokerRegistrationRequest) -> None:
    """Take over which of the broker's log directories are offline."""
    known = world.quorum_brokers[request.broker_id]
    if known.offline_directories != 0:
        for number in range(known.replica_count):
            world.hosted_replicas[known.first_replica + number].offline = False
    known.offline_directories = request.offline_directories
    cursor = request.first_item
    while cursor != NONE:
        item = view_as(world.items[cursor], OfflineReplica)
        cursor = item.next
        place = place_of_replica(world, item.partition, request.broker_id)
        if place != NONE:
            world.hosted_replicas[place].offline = True
