"""The steps of a scenario as records: when each is due, and what it does."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.clients import step_codes
from tidegauge.clients.client_state import Step
from tidegauge.compiled.records import Records, new_records
from tidegauge.engine.layout.throttled_replicas import ThrottledPartition, throttled_partitions
from tidegauge.replication.replica_list import pack
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.settings import THROTTLED_RATES
from tidegauge.scenario.model.steps import (
    AlteredMove,
    AlterReassignmentsStep,
    AskEpochStep,
    BeginFaultStep,
    Condition,
    ConfigureStep,
    CreateTopicStep,
    DeleteTopicStep,
    EndFaultStep,
    FetchStep,
    LeaderIs,
    ObserveStep,
    PreferredElectionStep,
    ProduceStep,
    ReassignStep,
    RestartConsumersStep,
    StepOfAnyKind,
    VerifyReassignmentStep,
)
from tidegauge.simulation.java_hash import java_hash
from tidegauge.simulation.kernel import CLIENT, NONE

#: Buckets of a hash map at first.
_FEWEST_BUCKETS = 16


def new_steps(
    plan: ClusterPlan,
    members: list[int],
    moves: list[tuple[int, int]],
    throttled: list[ThrottledPartition],
) -> Records[Step]:
    """All steps; the brokers that they name are added to ``members``.

    What they move is added to ``moves``: numbers of partitions, with a replica list of each; the
    replicas that they throttle to ``throttled``.
    """
    rows = new_records(Step, len(plan.scenario.steps))
    for number, planned in enumerate(plan.scenario.steps):
        _plan_start(plan, planned, rows[number], members)
        _plan_action(plan, planned, rows[number])
        if isinstance(planned, ReassignStep | AlterReassignmentsStep):
            _plan_moves(plan, planned, rows[number], moves)
        elif isinstance(planned, ConfigureStep):
            _plan_settings(plan, planned, rows[number], members, throttled)
    return rows


def _plan_start(plan: ClusterPlan, planned: StepOfAnyKind, step: Step, members: list[int]) -> None:
    step.first_member = len(members)
    if planned.at_us is not None:
        step.start = step_codes.AT
        step.time_us = planned.at_us
    elif planned.after_us is not None:
        step.start = step_codes.AFTER
        step.time_us = planned.after_us
    elif planned.when is not None:
        step.within_us = planned.within_us or 0
        _plan_condition(plan, planned.when, step, members)
    step.member_count = len(members) - step.first_member


def _plan_condition(plan: ClusterPlan, when: Condition, step: Step, members: list[int]) -> None:
    if when.isr is not None:
        step.start = step_codes.WHEN_ISR
        step.condition_partition = plan.partition_number(when.isr.topic, when.isr.partition)
        members += [plan.broker_index(broker) for broker in when.isr.members]
    elif when.leader is not None:
        _plan_leader(plan, when.leader, step)
    elif when.controller is not None:
        step.start = step_codes.WHEN_CONTROLLER
        step.condition_leader = plan.broker_index(when.controller)
    elif when.quiescent is not None:
        step.start = step_codes.WHEN_QUIESCENT
    elif when.reassigned is not None:
        step.start = step_codes.WHEN_REASSIGNED
    elif when.answered is not None:
        step.start = step_codes.WHEN_ANSWERED
    elif when.unregistered is not None:
        step.start = step_codes.WHEN_UNREGISTERED
        members += [plan.broker_index(broker) for broker in when.unregistered]
    else:
        step.start = step_codes.WHEN_REGISTERED
        members += [plan.broker_index(broker) for broker in when.registered or ()]


def _plan_leader(plan: ClusterPlan, leader: LeaderIs, step: Step) -> None:
    step.condition_partition = plan.partition_number(leader.topic, leader.partition)
    if leader.leader is not None:
        step.start = step_codes.WHEN_LEADER
        step.condition_leader = plan.broker_index(leader.leader)
    elif leader.former is not None:
        step.start = step_codes.WHEN_LEADER_IS_NOT
        step.condition_leader = plan.broker_index(leader.former)


def _plan_action(plan: ClusterPlan, planned: StepOfAnyKind, step: Step) -> None:
    step.to = NONE
    step.partition = NONE
    if isinstance(planned, ProduceStep | FetchStep | AskEpochStep):
        _plan_request(plan, planned, step)
    elif isinstance(planned, PreferredElectionStep):
        step.action = step_codes.PREFERS
        if planned.topic is not None and planned.partition is not None:
            step.partition = plan.partition_number(planned.topic, planned.partition)
    elif isinstance(planned, CreateTopicStep):
        step.action = step_codes.CREATES_TOPIC
        step.topic = _topic_number(plan, planned.topic)
    elif isinstance(planned, DeleteTopicStep):
        step.action = step_codes.DELETES_TOPIC
        step.topic = _topic_number(plan, planned.topic)
    elif isinstance(planned, BeginFaultStep | EndFaultStep):
        step.action = (
            step_codes.BEGINS_FAULT
            if isinstance(planned, BeginFaultStep)
            else step_codes.ENDS_FAULT
        )
        step.fault = [fault.name for fault in plan.scenario.faults].index(planned.fault)
    elif isinstance(planned, RestartConsumersStep):
        step.action = step_codes.RESTARTS_CONSUMERS
        restarted = [
            plan.process_ranges[CLIENT][number]
            for number, client in enumerate(plan.clients)
            if client.group is not None and client.group.name == planned.group
        ]
        step.first_process = restarted[0]
        step.process_count = len(restarted)
    elif isinstance(planned, VerifyReassignmentStep):
        step.action = step_codes.VERIFIES
    else:
        step.action = step_codes.OBSERVES if isinstance(planned, ObserveStep) else step_codes.WAITS


def _plan_settings(
    plan: ClusterPlan,
    planned: ConfigureStep,
    step: Step,
    members: list[int],
    throttled: list[ThrottledPartition],
) -> None:
    """What a topic, or brokers, are set to; -1 for what stays."""
    settings = planned.settings
    step.leader_rate, step.follower_rate = (int(settings.get(name, -1)) for name in THROTTLED_RATES)
    step.first_broker = len(members)
    step.first_throttled = len(throttled)
    if planned.topic is None:
        step.action = step_codes.CONFIGURES_BROKERS
        members += [plan.broker_index(broker) for broker in planned.brokers or ()]
    else:
        step.action = step_codes.CONFIGURES
        step.topic = _topic_number(plan, planned.topic)
        step.min_insync_replicas = int(settings.get("min.insync.replicas", -1))
        step.unclean = int(settings.get("unclean.leader.election.enable", -1))
        throttled += throttled_partitions(plan, planned.topic, settings)
    step.broker_count = len(members) - step.first_broker
    step.throttled_count = len(throttled) - step.first_throttled


def _plan_moves(
    plan: ClusterPlan,
    planned: ReassignStep | AlterReassignmentsStep,
    step: Step,
    moves: list[tuple[int, int]],
) -> None:
    step.action = step_codes.ALTERS_REASSIGNMENTS
    if isinstance(planned, ReassignStep):
        step.action = step_codes.REASSIGNS
        step.leader_rate = step.follower_rate = -1 if planned.throttle is None else planned.throttle
    step.first_move = len(moves)
    step.move_count = len(planned.partitions)
    for move in in_order_of_hashes(planned.partitions):
        number = plan.partition_number(move.topic, move.partition)
        slots = plan.partitions[number].slots
        replicas = pack(slots.index(plan.broker_index(id_)) for id_ in move.replicas or ())
        moves.append((number, replicas))


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


def _plan_request(
    plan: ClusterPlan, planned: ProduceStep | FetchStep | AskEpochStep, step: Step
) -> None:
    step.partition = plan.partition_number(planned.topic, planned.partition)
    to = planned.broker if isinstance(planned, AskEpochStep) else planned.to
    if to is not None:
        step.to = plan.broker_index(to)
    if isinstance(planned, ProduceStep):
        step.action = step_codes.PRODUCES
        step.records = planned.records
        step.acks = planned.acks
        step.timeout_us = planned.timeout_us
        step.unattended = not planned.wait
    elif isinstance(planned, FetchStep):
        step.action = step_codes.FETCHES
        step.offset = planned.offset
    else:
        step.action = step_codes.ASKS_EPOCH
        step.leader_epoch = planned.leader_epoch


def _topic_number(plan: ClusterPlan, name: str) -> int:
    return [topic.name for topic in plan.scenario.topics].index(name)
