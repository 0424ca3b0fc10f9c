"""A fetch request at a broker (Kafka: ``ReplicaManager.fetchMessages``).

All partitions are read first. If a follower asks, the reads are then taken for what they say
of it, partition by partition: its log end offset, whether it may join the ISR, whether the
high watermark may move. At last the fetch is answered, with what was read before all that;
or it is read again, and waits in the purgatory if that brings nothing new.
"""

from __future__ import annotations

from tidegauge.actors.fetches.delayed_operations import delay_fetch, fetch_is_complete
from tidegauge.actors.fetches.fetch_read import answer_fetch, row_on
from tidegauge.actors.fetches.fetch_sessions import name_active, update_session
from tidegauge.actors.leaders.isr_changes import begin_expansion, expands_isr
from tidegauge.actors.leaders.leader import count_fetch, try_high_watermark
from tidegauge.actors.state.broker_stats import mark_fetch
from tidegauge.actors.state.brokers import Brokers, now_ms
from tidegauge.actors.state.handlers import REQUESTS
from tidegauge.actors.state.locks import hold_thread, wait_for_lock
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.high_watermark import high_watermark_of_response
from tidegauge.replication.partition import is_leader
from tidegauge.replication.replica_list import NO_REPLICA
from tidegauge.simulation.codes.occasions import MOMENT_FETCH
from tidegauge.simulation.costs import REQUEST, REQUEST_PARTITION, cost_us
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import FetchPartition, FetchRequest
from tidegauge.simulation.topology import slot_of

# Event.phase
_ARRIVED = code(0)
_READ = code(1)  #: wait until every partition can be read, then read all
_COUNT = code(2)  #: take the partition at the cursor for what it says of the follower
_EXPANDED = code(3)  #: ... whose ISR was being written
_ANSWER = code(4)

_TRUE = code(True)
_FALSE = code(False)


@REQUESTS.handles(FetchRequest)
@inner_rule
def handle_fetch(world: Brokers, request: FetchRequest) -> bool:
    """Go on with a fetch; False if it has to wait for a lock or for ZooKeeper.

    Source: KafkaApis.handleFetchRequest@2.6.0 (KAFKA-9101);
    ReplicaManager.fetchMessages@0.10.2.0 and @2.4.0,
    DelayedOperationPurgatory.tryCompleteElseWatch@2.4.0.
    """
    if request.phase == _ARRIVED:
        most_bytes = world.brokers[request.destination].fetch_max_bytes
        request.max_bytes = min(request.max_bytes, most_bytes)
        request.min_bytes = min(request.min_bytes, request.max_bytes)
        if request.replica_id != NONE:
            update_session(world, request)
        request.phase = _READ
    if request.phase == _READ:
        if request.replica_id != NONE:
            name_active(world, request)
        request.cursor = request.first_item
        if not _all_can_be_read(world, request):
            return False
        request.cost_us = cost_us(world, request.destination, REQUEST)
        partition_us = cost_us(world, request.destination, REQUEST_PARTITION)
        partition_count = request.item_count
        if request.replica_id != NONE:
            session = world.fetch_sessions[request.fetcher]
            session.fetched_ms = now_ms(world.context[0])
            partition_count = session.partition_count
        request.cost_us += partition_count * partition_us
        completes = fetch_is_complete(world, request)
        mark_fetch(world, request)
        # Kept in the request: counting the fetch below may not change the decision.
        request.answers_first_read = completes or request.max_wait_ms <= 0
        request.phase = _COUNT
        request.cursor = request.first_item
    if request.replica_id != NONE and not _count_all(world, request):
        return False
    if request.answers_first_read:
        _take_new_high_watermarks(world, request)
        answer_fetch(world, request, _FALSE)
    elif fetch_is_complete(world, request):
        # Something has come meanwhile, or this fetch has itself moved the high watermark.
        mark_fetch(world, request)
        answer_fetch(world, request, _TRUE)
    else:
        delay_fetch(world, request)
        return True
    free_event(world, request)
    return True


@inner_rule
def _all_can_be_read(world: Brokers, request: FetchRequest) -> bool:
    while request.cursor != NONE:
        item = world.items[request.cursor]
        row = row_on(world, request.destination, item.partition)
        if row != NONE and world.hosted[row].locked:
            wait_for_lock(world, row, request)
            return False
        request.cursor = item.next
    return True


@inner_rule
def _count_all(world: Brokers, request: FetchRequest) -> bool:
    """Take each read for what it says of the follower; False if it has to wait.

    Source: ReplicaManager.updateFollowerFetchState@2.4.0, Partition@2.4.0.
    """
    while request.cursor != NONE:
        item = view_as(world.items[request.cursor], FetchPartition)
        row = row_on(world, request.destination, item.partition)
        replica = slot_of(world, item.partition, request.replica_id)
        if row != NONE and replica != NO_REPLICA and is_leader(world.replicas[row]):
            if request.phase == _COUNT:
                if world.hosted[row].locked:
                    wait_for_lock(world, row, request)
                    return False
                count_fetch(world, row, replica, item)
                expands = item.error == 0 and expands_isr(world, row, replica)
                if expands and begin_expansion(world, row, replica, request.index):
                    request.phase = _EXPANDED
                    hold_thread(world, request)
                    return False
            request.phase = _COUNT
            if item.may_move:
                try_high_watermark(world, row, MOMENT_FETCH)
        request.cursor = item.next
    request.phase = _ANSWER
    return True


@inner_rule
def _take_new_high_watermarks(world: Brokers, request: FetchRequest) -> None:
    """In some releases an answer brings what this very fetch has moved (KAFKA-7104)."""
    rules = world.rules[request.destination]
    if request.replica_id == NONE or not rules.high_watermark_of_response_is_new:
        return
    cursor = request.first_item
    while cursor != NONE:
        item = view_as(world.items[cursor], FetchPartition)
        row = row_on(world, request.destination, item.partition)
        if row != NONE and item.error == 0:
            item.high_watermark = high_watermark_of_response(
                rules, item.high_watermark, world.replicas[row].high_watermark
            )
        cursor = item.next
