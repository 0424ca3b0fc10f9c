"""StopReplica at a broker: replicas that are not to fetch any more, or are to be deleted.

A log is deleted also if the broker has not been told to host its partition: so it is when it
comes back and a topic was to be deleted while it was gone.

Source: ReplicaManager.stopReplicas@0.10.2.0 and @2.6.3.
"""

from __future__ import annotations

from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher, stop_idle_fetchers
from tidegauge.actors.process.deleted_logs import delete_log
from tidegauge.actors.requests.controller_requests import answer_controller, write_refused_partition
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.locks import wait_for_lock
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.controller_requests import controller_request_error, stop_replica_error
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import (
    StopReplicaPartition,
    StopReplicaRequest,
)
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import slot_of
from tidegauge.simulation.trace_rows.replica_rows import ReplicaStopped

# Event.phase.
_CHECK = code(0)
_STOP = code(1)


@inner_rule
def handle_stop_replica(world: Brokers, request: StopReplicaRequest) -> bool:
    """Take replicas out of their fetchers, and delete those that are to be.

    False: one of these is locked, and the request goes on when it is not.
    """
    broker = world.brokers[request.destination]
    if request.phase == _CHECK:
        request.error = controller_request_error(
            world.rules[request.destination],
            broker.controller_epoch,
            request.controller_epoch,
            broker.broker_epoch,
            request.broker_epoch,
        )
        request.phase = _STOP
        request.cursor = NONE
        if request.error == errors.NONE:
            broker.controller_epoch = request.controller_epoch
            request.cursor = request.first_item
    while request.cursor != NONE:
        item = view_as(world.items[request.cursor], StopReplicaPartition)
        slot = slot_of(world, item.partition, request.destination)
        row = world.partitions[item.partition].first_slot + slot
        if slot >= 0 and item.deletes and world.hosted[row].locked:
            wait_for_lock(world, row, request)
            return False
        request.cursor = item.next
        stops = slot >= 0 and _stops(world, row, request, item)
        if stops and item.deletes and world.on_disk[row].exists:
            delete_log(world, row)
    if request.error == errors.NONE:
        stop_idle_fetchers(world, request.destination)
    answer_controller(world, request)
    return True


@inner_rule
def _stops(
    world: Brokers, row: int, request: StopReplicaRequest, item: StopReplicaPartition
) -> bool:
    """Stop a replica, if it is hosted; False if it is told so in an older epoch."""
    if world.hosted[row].offline:
        item.error = errors.KAFKA_STORAGE_ERROR
        write_refused_partition(world, request, item)
        return False
    if not world.hosted[row].exists:
        return True
    known_epoch = world.replicas[row].leader_epoch
    rules = world.rules[request.destination]
    item.error = stop_replica_error(rules, known_epoch, item.leader_epoch)
    if item.error != errors.NONE:
        write_refused_partition(world, request, item)
        return False
    remove_from_fetcher(world, row)
    written = new_row(world, request.destination, ReplicaStopped)
    written.partition = item.partition
    written.leader_epoch = item.leader_epoch
    write_row(world, written)
    return True
