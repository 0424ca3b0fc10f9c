"""The steps of a scenario as records: when each is due, and what it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tidegauge.clients import step_codes
from tidegauge.clients.client_state import Member, RequestedMove, Step, Throttled
from tidegauge.clients.step_codes import STEP_CODES
from tidegauge.compiled.records import Records, column, new_records
from tidegauge.engine.layout.throttled_replicas import ThrottledPartition, throttled_partitions
from tidegauge.replication.replica_list import pack
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.settings import Value
from tidegauge.scenario.model.step import (
    AlteredMove,
    Condition,
    LeaderIs,
    Numbers,
    StepOfAnyKind,
)
from tidegauge.simulation.jvm.java_hash import java_hash
from tidegauge.simulation.kernel import CLIENT, NONE

#: Buckets of a hash map at first.
_FEWEST_BUCKETS = 16


class StepTables(NamedTuple):
    """All steps; the brokers that they name, and the partitions that they move and throttle."""

    steps: Records[Step]
    members: Records[Member]
    moves: Records[RequestedMove]
    throttled: Records[Throttled]


def new_steps(plan: ClusterPlan) -> StepTables:
    """All steps of a plan, none of which is taken."""
    numbers = _Numbers(plan)
    steps = new_records(Step, len(plan.scenario.steps))
    for number, planned in enumerate(plan.scenario.steps):
        row = steps[number]
        _plan_start(numbers, planned, row)
        row.action = STEP_CODES[planned.action()]
        row.to = NONE
        row.partition = NONE
        planned.plan(row, numbers)
    members = new_records(Member, len(numbers.members))
    column(members, "broker")[:] = numbers.members
    moves = new_records(RequestedMove, len(numbers.moved))
    for number, moved in enumerate(numbers.moved):
        moves[number].partition, moves[number].replicas = moved
    throttled = new_records(Throttled, len(numbers.throttled_replicas))
    for number, each in enumerate(numbers.throttled_replicas):
        limited = throttled[number]
        limited.partition, limited.leaders, limited.followers = each
    return StepTables(steps, members, moves, throttled)


class _Numbers(Numbers):
    """The numbers of all that steps name, and the lists of brokers and partitions in them."""

    def __init__(self, plan: ClusterPlan) -> None:
        self._plan = plan
        #: The brokers that steps name.
        self.members: list[int] = []
        #: What steps move: numbers of partitions, with a replica list of each.
        self.moved: list[tuple[int, int]] = []
        #: The replicas that steps throttle.
        self.throttled_replicas: list[ThrottledPartition] = []

    def broker(self, id_: int) -> int:
        return self._plan.broker_index(id_)

    def partition(self, topic: str, partition: int) -> int:
        return self._plan.partition_number(topic, partition)

    def topic(self, name: str) -> int:
        return [topic.name for topic in self._plan.scenario.topics].index(name)

    def fault(self, name: str) -> int:
        return [fault.name for fault in self._plan.scenario.faults].index(name)

    def consumers(self, group: str) -> range:
        first = self._plan.process_ranges[CLIENT].start
        named = [each.group is not None and each.group.name == group for each in self._plan.clients]
        return range(first + named.index(True), first + named.index(True) + sum(named))

    def brokers(self, ids: Iterable[int]) -> range:
        first = len(self.members)
        self.members += map(self.broker, ids)
        return range(first, len(self.members))

    def moves(self, moves: Sequence[AlteredMove]) -> range:
        first = len(self.moved)
        for move in in_order_of_hashes(moves):
            number = self.partition(move.topic, move.partition)
            slots = self._plan.partitions[number].slots
            replicas = pack(slots.index(self.broker(id_)) for id_ in move.replicas or ())
            self.moved.append((number, replicas))
        return range(first, len(self.moved))

    def throttled(self, topic: str, settings: Mapping[str, Value]) -> range:
        first = len(self.throttled_replicas)
        self.throttled_replicas += throttled_partitions(self._plan, topic, settings)
        return range(first, len(self.throttled_replicas))


def _plan_start(numbers: _Numbers, planned: StepOfAnyKind, step: Step) -> None:
    first = len(numbers.members)
    if planned.at_us is not None:
        step.start = step_codes.AT
        step.time_us = planned.at_us
    elif planned.after_us is not None:
        step.start = step_codes.AFTER
        step.time_us = planned.after_us
    elif planned.when is not None:
        step.within_us = planned.within_us or 0
        _plan_condition(numbers, planned.when, step)
    step.first_member, step.member_count = first, len(numbers.members) - first


def _plan_condition(numbers: _Numbers, when: Condition, step: Step) -> None:
    if when.isr is not None:
        step.start = step_codes.WHEN_ISR
        step.condition_partition = numbers.partition(when.isr.topic, when.isr.partition)
        numbers.brokers(when.isr.members)
    elif when.leader is not None:
        _plan_leader(numbers, when.leader, step)
    elif when.controller is not None:
        step.start = step_codes.WHEN_CONTROLLER
        step.condition_leader = numbers.broker(when.controller)
    elif when.quiescent is not None:
        step.start = step_codes.WHEN_QUIESCENT
    elif when.reassigned is not None:
        step.start = step_codes.WHEN_REASSIGNED
    elif when.answered is not None:
        step.start = step_codes.WHEN_ANSWERED
    elif when.unregistered is not None:
        step.start = step_codes.WHEN_UNREGISTERED
        numbers.brokers(when.unregistered)
    else:
        step.start = step_codes.WHEN_REGISTERED
        numbers.brokers(when.registered or ())


def _plan_leader(numbers: _Numbers, leader: LeaderIs, step: Step) -> None:
    step.condition_partition = numbers.partition(leader.topic, leader.partition)
    if leader.leader is not None:
        step.start = step_codes.WHEN_LEADER
        step.condition_leader = numbers.broker(leader.leader)
    elif leader.former is not None:
        step.start = step_codes.WHEN_LEADER_IS_NOT
        step.condition_leader = numbers.broker(leader.former)


def in_order_of_hashes(moves: Sequence[AlteredMove]) -> list[AlteredMove]:
    """The order in which a controller takes them up: that of Scala's hash map.

    Source: KafkaController.processZkPartitionReassignment@2.6.3 (partitionsToReassign),
    TopicPartition.hashCode@2.6.3.
    """
    buckets = _FEWEST_BUCKETS
    while len(moves) >= buckets * 3 // 4:
        buckets *= 2

    def place(move: AlteredMove) -> tuple[int, int]:
        hashed = (31 * (31 + move.partition) + java_hash(move.topic)) & 0xFFFFFFFF
        hashed ^= hashed >> 16
        # Within a bucket by the hash, which is a signed number.
        return hashed & (buckets - 1), hashed - (hashed >> 31 << 32)

    return sorted(moves, key=place)
