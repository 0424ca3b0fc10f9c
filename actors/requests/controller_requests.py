"""LeaderAndIsr and UpdateMetadata at a broker (Kafka: ``becomeLeaderOrFollower``).

The controller sends each partition's leader, followers and epoch. ``replication/partition.py``
decides whether it is obeyed; ``leaders/leader.py`` and ``followers/follower_truncation.py`` have
the consequences.

StopReplica at a broker: replicas that stop fetching, or are to be deleted.

A log is also deleted if the broker does not host its partition: so it is when it comes back and a
topic was to be deleted while it was gone.

Source: ReplicaManager.stopReplicas@0.10.2.0 and @2.6.3.
"""

from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher, stop_idle_fetchers
from tidegauge.actors.followers.follower import start_fetchers
from tidegauge.actors.followers.follower_truncation import become_follower
from tidegauge.actors.leaders.leader import become_leader
from tidegauge.actors.process.hosting import host
from tidegauge.actors.process.log_dir_failures import delete_log
from tidegauge.actors.session.zookeeper_client import read_topic_configs
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.request_times import mark_error, wait_for_lock
from tidegauge.actors.storage.checkpoints import start_high_watermark_checkpoints
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.partition import (
    controller_request_error,
    leader_and_isr_error,
    skips_older_partition_epoch,
    stop_replica_error,
)
from tidegauge.replication.replica_list import contains
from tidegauge.simulation import rows
from tidegauge.simulation.events import items_of, new_item, new_response
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import controller_requests
from tidegauge.simulation.messages.kinds import KEY_OF_KIND
from tidegauge.simulation.metadata_log import is_known_alive, move_on
from tidegauge.simulation.topology import broker_of, row_of, slot_of
from tidegauge.simulation.trace_rows.process_rows import RequestRefused
from tidegauge.simulation.trace_rows.replica_rows import ReplicaStopped

_FALSE = code(False)

# Event.phase: leaders first, as Kafka does.
_CHECK = code(0)
_LEADERS = code(1)
_FOLLOWERS = code(2)


@inner_rule
def handle_leader_and_isr(world: Brokers, request: controller_requests.LeaderAndIsrRequest) -> bool:
    """Resume a LeaderAndIsr; True when it is done, False if a lock is taken.

    Each partition takes its time (``become_leader``, ``become_follower`` of the cost model): then
    ``request.cost_us`` is set and the rest follows after it.

    Source: ReplicaManager.becomeLeaderOrFollower@0.10.2.0 and @2.4.0.
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
        if request.error != errors.NONE:
            answer_controller(world, request)
            return True
        broker.controller_epoch = request.controller_epoch
        request.phase = _LEADERS
        request.cursor = request.first_item
    while request.phase <= _FOLLOWERS:
        while request.cursor != NONE:
            item = view_as(world.items[request.cursor], controller_requests.LeaderAndIsrPartition)
            leads = broker_of(world, item.partition, item.leader) == request.destination
            if leads == (request.phase == _LEADERS):
                row = _host(world, request, item)
                if row != NONE and world.hosted[row].locked:
                    wait_for_lock(world, row, request)
                    return False
                request.cursor = item.next
                if row != NONE and _obey(world, row, request, item):
                    table = rows.BECOME_FOLLOWER
                    if leads:
                        table = rows.BECOME_LEADER
                    request.cost_us = rows.cost_us(world, request.destination, table)
                    return False
            else:
                request.cursor = item.next
        request.phase += 1
        request.cursor = request.first_item
    # Not before everything is hosted: the file names the hosted replicas.
    start_high_watermark_checkpoints(world, request.destination)
    stop_idle_fetchers(world, request.destination)
    read_topic_configs(world, request.destination)
    # Nor this: the replicas that one LeaderAndIsr gives to a fetcher are fetched together from the
    # start.
    start_fetchers(world, request.destination)
    answer_controller(world, request)
    return True


@inner_rule
def answer_controller(world: Brokers, request: controller_requests.ControlRequest) -> None:
    """Send the controller the response to its request, with its error.

    Source: KafkaApis.handleLeaderAndIsrRequest and its neighbours@2.4.0.
    """
    if request.error != errors.NONE:
        RequestRefused.write(
            world,
            api_key=KEY_OF_KIND[request.kind],
            partition=NONE,
            from_process=request.source,
            error=request.error,
            offset=NONE,
        )
    response = new_response(world, request, controller_requests.ControlResponse)
    response.broker_id = request.destination
    response.error = request.error
    if request.kind == controller_requests.LeaderAndIsrRequest.KIND:
        _tell_offline_replicas(world, request, response)
    mark_error(world, request, request.error)
    request.cost_us = rows.cost_us(world, request.destination, rows.REQUEST)
    send(world, response, world.context[0].time_us + request.cost_us)


@inner_rule
def _tell_offline_replicas(
    world: Kernel,
    request: controller_requests.ControlRequest,
    response: controller_requests.ControlResponse,
) -> None:
    """Name the replicas whose log directory is offline; of errors of others nothing follows."""
    for item in items_of(world, request, controller_requests.LeaderAndIsrPartition):
        if item.error == errors.KAFKA_STORAGE_ERROR:
            new_item(world, response, item.partition, controller_requests.OfflineReplica)


@inner_rule
def write_refused_partition(
    world: Kernel,
    request: controller_requests.ControlRequest,
    item: controller_requests.ControlPartition,
) -> None:
    """Write down that one partition of a controller's request was refused."""
    RequestRefused.write(
        world, item, api_key=KEY_OF_KIND[request.kind], from_process=request.source, offset=NONE
    )


@inner_rule
def _host(
    world: Brokers,
    request: controller_requests.LeaderAndIsrRequest,
    item: controller_requests.LeaderAndIsrPartition,
) -> int:
    """The replica that an entry is about, new or known; NONE if the broker can have none."""
    broker = request.destination
    if slot_of(world, item.partition, broker) < 0:
        return NONE
    row = row_of(world, item.partition, broker)
    if world.hosted[row].exists:
        return row
    if not host(world, row, item):
        item.error = errors.KAFKA_STORAGE_ERROR
        write_refused_partition(world, request, item)
        return NONE
    world.brokers[broker].reads_topic_configs = True
    return row


@inner_rule
def _obey(
    world: Brokers,
    row: int,
    request: controller_requests.LeaderAndIsrRequest,
    item: controller_requests.LeaderAndIsrPartition,
) -> bool:
    """Apply one entry of a LeaderAndIsr; False if it is refused, or has to wait."""
    partition = world.replicas[row]
    broker = world.hosted[row].broker
    rules = world.rules[broker]
    is_replica = contains(item.replicas, partition.local_replica)
    item.error = leader_and_isr_error(
        rules, partition.leader_epoch, item.leader_epoch, is_replica, _FALSE
    )
    if item.error != errors.NONE:
        # A new controller sends the same epoch once more to all: nothing is wrong.
        if item.leader_epoch != partition.leader_epoch:
            write_refused_partition(world, request, item)
        return False
    if skips_older_partition_epoch(rules, partition, item.partition_epoch):
        return False
    leads = item.leader == partition.local_replica
    leader = broker_of(world, item.partition, item.leader)
    if not leads and not is_known_alive(world, world.known_metadata[broker], leader):
        # Only followers of a leader that is there change: ReplicaManager.makeFollowers@2.4.0.
        return False
    rows.caused_by(world, item.row_process, item.row_sequence)
    if leads:
        become_leader(world, row, item)
    else:
        become_follower(world, row, item)
    return True


@inner_rule
def handle_update_metadata(
    world: Brokers, request: controller_requests.UpdateMetadataRequest
) -> None:
    """Apply the controller's list of leaders and of live brokers.

    Source: ReplicaManager.maybeUpdateMetadataCache@0.10.2.0, MetadataCache@2.4.0.
    """
    broker = world.brokers[request.destination]
    request.error = controller_request_error(
        world.rules[request.destination],
        broker.controller_epoch,
        request.controller_epoch,
        broker.broker_epoch,
        request.broker_epoch,
    )
    if request.error == errors.NONE:
        broker.controller_epoch = request.controller_epoch
        broker.known_controller = request.controller_id
        known = world.known_metadata[request.destination]
        move_on(known, request.controller_epoch, request.position, request.names_all)
    answer_controller(world, request)


_STOP = code(1)


@inner_rule
def handle_stop_replica(world: Brokers, request: controller_requests.StopReplicaRequest) -> bool:
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
        item = view_as(world.items[request.cursor], controller_requests.StopReplicaPartition)
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
    world: Brokers,
    row: int,
    request: controller_requests.StopReplicaRequest,
    item: controller_requests.StopReplicaPartition,
) -> bool:
    """Stop a replica, if it is hosted; False if the request has an older epoch."""
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
    ReplicaStopped.write(world, item)
    return True
