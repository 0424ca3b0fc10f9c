"""Truncation of a follower's log: its request, and the handling of the response.

The rules are those of ``replication/truncation.py``; here they meet the requests of a fetcher
thread. After OFFSET_OUT_OF_RANGE the log is cut too, or restarted.

A broker becomes a follower of a partition, by a new state that the control plane gives it.

It hands the partition to the fetcher of its leader, and completes the requests that wait for it.
"""

from tidegauge.actors.fetches import fetcher_thread
from tidegauge.actors.fetches.fetch_purgatory import wake_fetches
from tidegauge.actors.fetches.produce_purgatory import wake_produces
from tidegauge.actors.leaders.leader import take_state, update_assignment
from tidegauge.actors.process.lifecycle import exit_by_itself
from tidegauge.actors.session.zookeeper_client import topic_config
from tidegauge.actors.state.brokers import FETCHED, Brokers, epochs_of
from tidegauge.actors.storage.group_offsets import stop_coordinating
from tidegauge.actors.storage.logs import cut_log, empty_log
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import truncation
from tidegauge.replication.fetcher import (
    STOP_BROKER,
    TRUNCATE_FULLY_AND_START_AT,
    TRUNCATE_TO,
    TRUNCATING,
    add_partition,
    complete_truncation,
    delay_partition,
    fetch_offset_and_truncate,
    mark_partition_failed,
    restart_at,
)
from tidegauge.replication.isr_update import commit_isr
from tidegauge.replication.leader_epoch_cache import end_offset_for, latest_epoch
from tidegauge.replication.partition import make_follower
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.release_rules import TRUNCATE_KIP_101
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.events import free_event, items_of, new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.controller_requests import LeaderAndIsrPartition
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.codes import STOP_OUT_OF_RANGE
from tidegauge.simulation.trace_rows.replica_rows import BecameFollower

_TRUE = code(True)


@inner_rule
def truncate_or_ask(world: Brokers, index: int, departure_us: int) -> bool:
    """Truncate all partitions of a fetcher that have to; whether it asks the leader first.

    Source: AbstractFetcherThread.maybeTruncate@0.11.0.0 and @2.4.0.
    """
    fetcher = world.fetchers[index]
    rules = world.rules[fetcher.broker]
    request = client_requests.OffsetsForLeaderEpochRequest.to(world, fetcher.source_broker)
    for row in FETCHED.of(world, fetcher):
        state = world.fetch_states[row]
        partition = world.replicas[row]
        if state.state == TRUNCATING and not state.delayed:
            if truncation.asks_for_epoch_end(rules, partition):
                item = new_item(
                    world, request, world.hosted[row].partition, client_requests.EpochAsked
                )
                item.leader_epoch = latest_epoch(epochs_of(world, row), partition.epoch_count)
                item.current_leader_epoch = truncation.leader_epoch_of_epoch_request(rules, state)
                item.asked_in_epoch = state.current_leader_epoch
            else:
                offset = truncation.fallback_offset(rules, partition, state)
                _truncate(world, row, offset, _TRUE)
    if request.item_count == 0:
        free_event(world, request)
        return False
    fetcher_thread.send_as_fetcher(world, index, request, departure_us)
    return True


@inner_rule
def take_epoch_end_offsets(world: Brokers, response: client_requests.EpochResponse) -> None:
    """Truncate each partition by the leader's response about its epoch.

    Source: AbstractFetcherThread.truncateToEpochEndOffsets@2.4.0.
    """
    for item in items_of(world, response, client_requests.EpochEndOffset):
        row = fetcher_thread.replica_of_response(world, response, item.partition)
        if row != NONE and world.fetch_states[row].state == TRUNCATING:
            _take_epoch_end_offset(world, row, item)


@inner_rule
def _take_epoch_end_offset(world: Brokers, row: int, item: client_requests.EpochEndOffset) -> None:
    rules = world.rules[world.hosted[row].broker]
    state = world.fetch_states[row]
    action = truncation.epoch_answer_action(
        rules, item.error, item.asked_in_epoch, state.current_leader_epoch
    )
    if action == truncation.DROP_ANSWER:
        return
    if action == truncation.TAKE_ANSWER:
        epoch = item.leader_epoch
        if rules.truncation_protocol == TRUNCATE_KIP_101:
            epoch = UNDEFINED  # version 0 of the answer has no such field
        fallback = truncation.fallback_offset(rules, world.replicas[row], state)
        follow_answer(world, row, epoch, item.end_offset, fallback)
    elif action == truncation.PARTITION_FENCED:
        mark_partition_failed(rules, state)
        fetcher_thread.after_error(world, row)
    else:
        delay_partition(state)
        fetcher_thread.set_delay(world, row)


@inner_rule
def follow_answer(world: Brokers, row: int, epoch: int, end_offset: int, fallback: int) -> None:
    """Truncate by a response: (epoch, end offset), of a question or a fetch."""
    rules = world.rules[world.hosted[row].broker]
    partition = world.replicas[row]
    own_epoch, own_end_offset = end_offset_for(
        rules, epochs_of(world, row), partition.epoch_count, partition.log_end_offset, epoch
    )
    offset, completed = truncation.offset_truncation_state(
        epoch, end_offset, own_epoch, own_end_offset, partition.log_end_offset, fallback
    )
    _truncate(world, row, offset, completed)


@inner_rule
def _truncate(world: Brokers, row: int, offset: int, completed: bool) -> None:
    rules = world.rules[world.hosted[row].broker]
    fetcher_thread.leave_session(world, world.fetchers[world.hosted[row].fetcher])
    cut_log(world, row, offset)
    partition = world.replicas[row]
    epoch = latest_epoch(epochs_of(world, row), partition.epoch_count)
    complete_truncation(rules, world.fetch_states[row], offset, completed, epoch)


@inner_rule
def leave_range(world: Brokers, row: int, item: client_requests.ListedOffsets) -> None:
    """After OFFSET_OUT_OF_RANGE: cut the log to the leader's, or restart it at the leader's start.

    Up to 2.0.0 the broker exits instead where unclean election is disabled.

    Source: AbstractFetcherThread.fetchOffsetAndTruncate@2.4.0.
    """
    rules = world.rules[world.hosted[row].broker]
    partition = world.replicas[row]
    state = world.fetch_states[row]
    action, offset = fetch_offset_and_truncate(
        rules,
        partition.log_end_offset,
        item.log_start_offset,
        item.end_offset,
        topic_config(world, world.hosted[row].broker, item.partition).unclean_leader_election,
    )
    if action == STOP_BROKER:
        exit_by_itself(world, world.hosted[row].broker, STOP_OUT_OF_RANGE)
        return
    fetcher_thread.leave_session(world, world.fetchers[world.hosted[row].fetcher])
    if action == TRUNCATE_TO:
        cut_log(world, row, offset)
    elif action == TRUNCATE_FULLY_AND_START_AT:
        empty_log(world, row, offset)
    restart_at(state, offset, latest_epoch(epochs_of(world, row), partition.epoch_count))


@inner_rule
def become_follower(world: Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Follow the leader of a partition's new state, or continue to follow it.

    Source: ReplicaManager.makeFollowers@2.4.0, Partition.makeFollower@2.4.0.
    """
    restarts = turn_follower(world, row, state)
    if not restarts:
        return
    fetcher_thread.remove_from_fetcher(world, row)
    if not world.brokers[world.hosted[row].broker].stopping:
        start_to_follow(world, row)


@inner_rule
def turn_follower(world: Brokers, row: int, state: LeaderAndIsrPartition) -> bool:
    """Take over the state, and complete pending requests; whether the fetcher restarts."""
    take_state(world, row, state)
    partition = world.replicas[row]
    hosted = world.hosted[row]
    rules = world.rules[hosted.broker]
    restarts = make_follower(rules, partition, world.told_state[0], state.controller_epoch)
    written = BecameFollower.write(
        world,
        partition,
        partition=hosted.partition,
        leader=broker_of(world, hosted.partition, partition.leader),
        version=partition.partition_epoch,
    )
    hosted.follows_row = written.sequence
    stop_coordinating(world, row)
    wake_produces(world, row)
    wake_fetches(world, row)
    return restarts


@inner_rule
def start_to_follow(world: Brokers, row: int) -> None:
    """Hand a replica to the fetcher of its leader; it is in none."""
    partition = world.replicas[row]
    hosted = world.hosted[row]
    rules = world.rules[hosted.broker]
    leader = broker_of(world, hosted.partition, partition.leader)
    epoch = latest_epoch(epochs_of(world, row), partition.epoch_count)
    offset = truncation.initial_fetch_offset(rules, partition)
    add_partition(rules, world.fetch_states[row], offset, partition.leader_epoch, epoch)
    fetcher = fetcher_thread.fetcher_for(world, row, leader)
    fetcher_thread.add_to_fetcher(world, row, fetcher)


@inner_rule
def continue_to_follow(world: Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Take over another assignment in the same term: the fetcher continues.

    Source: Partition.makeFollower@4.1.0.
    """
    update_assignment(world, row, state)
    commit_isr(world.replicas[row], EMPTY, state.partition_epoch)
