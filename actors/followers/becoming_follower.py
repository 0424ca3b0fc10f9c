"""A broker becomes a follower of a partition, by a new state that the control plane gives it.

It hands the partition to the fetcher of its leader, and completes the requests that wait for it.
"""

from __future__ import annotations

from tidegauge.actors.fetches.delayed_operations import wake_fetches, wake_produces
from tidegauge.actors.fetches.fetcher_thread import (
    add_to_fetcher,
    fetcher_for,
    remove_from_fetcher,
)
from tidegauge.actors.leaders.becoming_leader import take_state, update_assignment
from tidegauge.actors.leaders.leader import keep_room_for_epochs
from tidegauge.actors.state.brokers import Brokers, epochs_of
from tidegauge.actors.storage.group_offsets import stop_coordinating
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.fetcher import add_partition
from tidegauge.replication.isr_update import commit_isr
from tidegauge.replication.leader_epoch_cache import latest_epoch
from tidegauge.replication.partition import make_follower
from tidegauge.replication.replica_list import EMPTY
from tidegauge.replication.truncation import initial_fetch_offset
from tidegauge.simulation.messages.controller_requests import LeaderAndIsrPartition
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.replica_rows import BecameFollower


@inner_rule
def become_follower(world: Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Follow the leader of a partition's new state, or continue to follow it.

    Source: ReplicaManager.makeFollowers@2.4.0, Partition.makeFollower@2.4.0.
    """
    restarts = turn_follower(world, row, state)
    if not restarts:
        return
    remove_from_fetcher(world, row)
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
    written = new_row(world, hosted.broker, BecameFollower)
    written.partition = hosted.partition
    written.leader = broker_of(world, hosted.partition, partition.leader)
    written.leader_epoch = partition.leader_epoch
    written.version = partition.partition_epoch
    written.log_end_offset = partition.log_end_offset
    written.high_watermark = partition.high_watermark
    write_row(world, written)
    hosted.follows_row = written.sequence
    stop_coordinating(world, row)
    wake_produces(world, row)
    wake_fetches(world, row)
    keep_room_for_epochs(world, row)
    return restarts


@inner_rule
def start_to_follow(world: Brokers, row: int) -> None:
    """Hand a replica to the fetcher of its leader; it is in none."""
    partition = world.replicas[row]
    hosted = world.hosted[row]
    rules = world.rules[hosted.broker]
    leader = broker_of(world, hosted.partition, partition.leader)
    epoch = latest_epoch(epochs_of(world, row), partition.epoch_count)
    offset = initial_fetch_offset(rules, partition)
    add_partition(rules, world.fetch_states[row], offset, partition.leader_epoch, epoch)
    fetcher = fetcher_for(world, row, leader)
    add_to_fetcher(world, row, fetcher)


@inner_rule
def continue_to_follow(world: Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Take over another assignment in the same term: the fetcher continues.

    Source: Partition.makeFollower@4.1.0.
    """
    update_assignment(world, row, state)
    commit_isr(world.replicas[row], EMPTY, state.partition_epoch)
