"""The steps, the rolling restarts, the faults and the pins of a scenario as records.

A step's record has its time and its action; that of a fault has the processes that it hits. The
replicas that a topic's settings throttle are numbers.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tidegauge.clients import client_state, rolling_restarts, step_conditions
from tidegauge.clients.step_requests import STEP_CODES
from tidegauge.compiled.records import Records, column, new_records
from tidegauge.replication.replica_list import pack, unpack
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.fault import Stop
from tidegauge.scenario.model.process_faults import LeadershipAfter, RollingRestartFault
from tidegauge.scenario.model.selectors import LinkEnd
from tidegauge.scenario.model.settings import THROTTLED_REPLICAS, Value, throttled_replicas
from tidegauge.scenario.model.step import AlteredMove, Condition, LeaderIs, Numbers, StepOfAnyKind
from tidegauge.simulation.faults import FAULT_CODES
from tidegauge.simulation.jvm_orders import java_hash
from tidegauge.simulation.kernel import CLIENT, NONE, Kernel
from tidegauge.simulation.links import NETWORK_TABLES
from tidegauge.simulation.messages.kinds import NAMES
from tidegauge.simulation.pins import NEVER, PIN_CODES
from tidegauge.simulation.rows import COST_NAMES

#: Buckets of a hash map at first.
_FEWEST_BUCKETS = 16


class StepTables(NamedTuple):
    """All steps; the brokers that they name, and the partitions that they move and throttle."""

    steps: Records[client_state.Step]
    members: Records[client_state.Member]
    moves: Records[client_state.RequestedMove]
    throttled: Records[client_state.Throttled]


def new_steps(plan: ClusterPlan) -> StepTables:
    """All steps of a plan, none of which is taken."""
    numbers = _Numbers(plan)
    steps = new_records(client_state.Step, len(plan.scenario.steps))
    for number, planned in enumerate(plan.scenario.steps):
        row = steps[number]
        _plan_start(numbers, planned, row)
        row.action = STEP_CODES[planned.action()]
        row.to = NONE
        row.partition = NONE
        planned.plan(row, numbers)
    members = new_records(client_state.Member, len(numbers.members))
    column(members, "broker")[:] = numbers.members
    moves = new_records(client_state.RequestedMove, len(numbers.moved))
    for number, moved in enumerate(numbers.moved):
        moves[number].partition, moves[number].replicas = moved
    throttled = new_records(client_state.Throttled, len(numbers.throttled_replicas))
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
        #: The moves of steps: numbers of partitions, with a replica list of each.
        self.moved: list[tuple[int, int]] = []
        #: The replicas that steps throttle.
        self.throttled_replicas: list[ThrottledPartition] = []

    def broker(self, id_: int) -> int:
        return self._plan.broker_index(id_)

    def partition(self, topic: str, partition: int) -> int:
        return self._plan.partition_number(topic, partition)

    def topic(self, name: str) -> int:
        return [topic.name for topic in self._plan.scenario.topics].index(name)

    def metadata_version(self, text: str) -> int:
        return self._plan.metadata_versions.index(text)

    def fault(self, name: str) -> int:
        place = [fault.name for fault in self._plan.scenario.faults].index(name)
        return self._plan.fault_numbers[place]

    def pin(self, name: str) -> int:
        return [pin.name for pin in self._plan.scenario.pins].index(name)

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


def _plan_start(numbers: _Numbers, planned: StepOfAnyKind, step: client_state.Step) -> None:
    first = len(numbers.members)
    if planned.at_us is not None:
        step.start = step_conditions.AT
        step.time_us = planned.at_us
    elif planned.after_us is not None:
        step.start = step_conditions.AFTER
        step.time_us = planned.after_us
    elif planned.when is not None:
        step.within_us = planned.within_us or 0
        _plan_condition(numbers, planned.when, step)
    step.first_member, step.member_count = first, len(numbers.members) - first


def _plan_condition(numbers: _Numbers, when: Condition, step: client_state.Step) -> None:
    if when.isr is not None:
        step.start = step_conditions.WHEN_ISR
        step.condition_partition = numbers.partition(when.isr.topic, when.isr.partition)
        numbers.brokers(when.isr.members)
    elif when.leader is not None:
        _plan_leader(numbers, when.leader, step)
    elif when.controller is not None:
        step.start = step_conditions.WHEN_CONTROLLER
        step.condition_leader = numbers.broker(when.controller)
    elif when.quiescent is not None:
        step.start = step_conditions.WHEN_QUIESCENT
    elif when.reassigned is not None:
        step.start = step_conditions.WHEN_REASSIGNED
    elif when.answered is not None:
        step.start = step_conditions.WHEN_ANSWERED
    elif when.rolled is not None:
        step.start = step_conditions.WHEN_ROLLED
        step.condition_fault = numbers.fault(when.rolled)
    elif any(each is not None for each in (when.observes, when.voters, when.leads)):
        _plan_quorum(when, step)
    else:
        _plan_registered(numbers, when, step)


def _plan_quorum(when: Condition, step: client_state.Step) -> None:
    if when.observes is not None:
        step.start = step_conditions.WHEN_OBSERVES
        step.condition_observer = when.observes
    else:
        is_about_voters = when.voters is not None
        step.start = step_conditions.WHEN_VOTERS if is_about_voters else step_conditions.WHEN_LEADS
        step.condition_controllers = sum(1 << each for each in when.voters or when.leads or ())


def _plan_registered(numbers: _Numbers, when: Condition, step: client_state.Step) -> None:
    if when.unregistered is not None:
        step.start = step_conditions.WHEN_UNREGISTERED
        numbers.brokers(when.unregistered)
    else:
        step.start = step_conditions.WHEN_REGISTERED
        numbers.brokers(when.registered or ())


def _plan_leader(numbers: _Numbers, leader: LeaderIs, step: client_state.Step) -> None:
    step.condition_partition = numbers.partition(leader.topic, leader.partition)
    if leader.leader is not None:
        step.start = step_conditions.WHEN_LEADER
        step.condition_leader = numbers.broker(leader.leader)
    elif leader.former is not None:
        step.start = step_conditions.WHEN_LEADER_IS_NOT
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


_LEADERSHIP_BACK = {
    "none": rolling_restarts.NEVER,
    "after_each_batch": rolling_restarts.AFTER_EACH_BATCH,
    "at_end": rolling_restarts.AT_END,
    "in_sync": rolling_restarts.ONCE_IN_SYNC,
}


def new_rolls(
    plan: ClusterPlan,
) -> tuple[Records[client_state.Roll], Records[client_state.RolledServer]]:
    """All rolling restarts, none of which has begun, and their servers in turn."""
    rolled = new_records(client_state.RolledServer, len(plan.rolled))
    column(rolled, "node")[:] = [plan.node_of(server) for _, server in plan.rolled]
    column(rolled, "fault")[:] = plan.restart_numbers
    turns = list(_turns(plan))
    rolls = new_records(client_state.Roll, len(turns))
    first_server = 0
    numbers: dict[int, int] = {}
    for number, (place, position) in enumerate(turns):
        planned, roll = plan.rolling_restart(place), rolls[number]
        roll.fault = plan.fault_numbers[place]
        if position is None:
            numbers[place] = number
            roll.first_server = first_server
            roll.server_count = len(planned.servers(plan.scenario))
            first_server += int(roll.server_count)
            _plan(planned, roll)
            continue
        main = rolls[numbers[place]]
        roll.gives_back_for = numbers[place]
        roll.first_server = main.first_server
        roll.position = position
        roll.batch = planned.batch
        roll.server_count = min(position + planned.batch, int(main.server_count))
        roll.poll_us = planned.poll_us
    return rolls, rolled


def _turns(plan: ClusterPlan) -> Iterator[tuple[int, int | None]]:
    """The places of rolling restarts, and then of batches of theirs that give leadership back.

    A batch has the position of its first server. What a branch adds is behind what its past had.
    """
    places = list(dict.fromkeys(place for place, _ in plan.rolled))
    joints = (0, *plan.faults_before_joints, len(plan.scenario.faults))
    for first, end in itertools.pairwise(joints):
        here = [place for place in places if first <= place < end]
        yield from ((place, None) for place in here)
        for place in here:
            planned = plan.rolling_restart(place)
            back = planned.leadership_back
            if isinstance(back, LeadershipAfter) or back == "in_sync":
                count = len(planned.servers(plan.scenario))
                yield from ((place, position) for position in range(0, count, planned.batch))


def _plan(planned: RollingRestartFault, roll: client_state.Roll) -> None:
    roll.batch = planned.batch
    roll.has_active_last = planned.has_active_last
    roll.waits_for_isr = planned.wait_for_full_isr
    roll.poll_us = planned.poll_us
    roll.timeout_us = planned.timeout_us
    roll.stops_on_timeout = planned.on_timeout == "stop"
    roll.pause_us = planned.pause_us
    if isinstance(planned.leadership_back, LeadershipAfter):
        roll.leadership_back = rolling_restarts.AFTER_A_WHILE
        roll.leadership_back_us = planned.leadership_back.after_us
    else:
        roll.leadership_back = _LEADERSHIP_BACK[planned.leadership_back]


class ThrottledPartition(NamedTuple):
    """The replicas of a partition that are throttled; -1: that setting is absent."""

    partition: int
    #: Throttled replicas of leaders and of followers: replica lists.
    leaders: int
    followers: int


def throttled_partitions(
    plan: ClusterPlan, topic: str, settings: Mapping[str, Value]
) -> list[ThrottledPartition]:
    """A topic's settings for each of its partitions; none if they do not name it."""
    said = [settings.get(name) for name in THROTTLED_REPLICAS]
    if all(value is None for value in said):
        return []
    return [
        ThrottledPartition(number, *(_slots(plan, number, value) for value in said))
        for number in plan.numbers_of[topic]
    ]


def _slots(plan: ClusterPlan, number: int, value: Value | None) -> int:
    """The slots of a partition that a setting names; brokers without a replica do not count."""
    if value is None:
        return -1
    partition = plan.partitions[number]
    pairs = throttled_replicas(str(value))
    if pairs is None:
        return pack(range(len(partition.slots)))
    named = {broker for part, broker in pairs if part == partition.number}
    return pack(
        slot for slot, broker in enumerate(partition.slots) if plan.brokers[broker] in named
    )


class ThrottledReplica(NamedTuple):
    """Whether a replica is throttled as the run begins, by its row."""

    row: int
    as_leader: bool
    as_follower: bool


def throttled_replicas_of(plan: ClusterPlan) -> Iterator[ThrottledReplica]:
    """The replicas of topics with throttles from the start on."""
    for topic in plan.scenario.topics:
        for each in throttled_partitions(plan, topic.name, topic.settings):
            leaders, followers = (unpack(max(slots, 0)) for slots in each[1:])
            first_row = int(plan.partitions.first_slots[each.partition])
            for slot in range(int(plan.partitions.columns.slot_counts[each.partition])):
                yield ThrottledReplica(first_row + slot, slot in leaders, slot in followers)


def plan_faults(plan: ClusterPlan, world: Kernel) -> None:
    """Enter each fault and the processes that it hits; none has begun."""
    count = len(plan.processes)
    for field in ("row_process", "row_sequence", "began_us", "acted_us"):
        column(world.fault_roles, field)[:] = NONE
    tables = itertools.count(int(NETWORK_TABLES) + len(COST_NAMES))
    for number, planned in enumerate(plan.faults):
        fault = world.faults[number]
        fault.kind = FAULT_CODES[planned.kind]
        fault.suspends = planned.suspends
        fault.stops = planned.stop is not Stop.NEVER
        fault.is_between = planned.is_between
        fault.is_over_at_once = planned.is_over_at_once
        fault.lasts_us = NONE
        fault.stopped_us = NONE
        if planned.at_us is None and planned.for_us is not None:
            fault.lasts_us = planned.for_us
        if planned.drawn_delay() is not None:
            fault.delay_table = next(tables)
        planned.plan(fault)
        if number in plan.left_out:
            continue
        for bit, hit in enumerate(planned.sides(plan.scenario)):
            for end in hit:
                world.fault_roles[number * count + plan.process_of(end)].side |= 1 << bit
    for place, (roll, _) in enumerate(plan.rolled):
        restart = world.faults[plan.restart_numbers[place]]
        restart.stopped_us = plan.rolling_restart(roll).stopped_for_us
        after = plan.upgrades[place]
        if after is not None:
            restart.upgrade = plan.software_of(after)


def plan_pins(plan: ClusterPlan, world: Kernel) -> None:
    """Enter each pin; none has taken a message."""
    kinds = {name: kind for kind, name in NAMES.items()}
    world.context[0].has_pins = len(plan.scenario.pins) > 0
    for number, planned in enumerate(plan.scenario.pins):
        pin = world.pins[number]
        pin.action = PIN_CODES[planned.action]
        pin.kind = kinds[planned.message]
        pin.partition = NONE
        if planned.topic is not None and planned.partition is not None:
            pin.partition = plan.partition_number(planned.topic, planned.partition)
        pin.first_source, pin.last_source = _span(plan, planned.senders(plan.scenario))
        receivers = planned.receivers(plan.scenario)
        pin.first_destination, pin.last_destination = _span(plan, receivers)
        pin.from_us = planned.after_us
        pin.until_us = NEVER if planned.until_us is None else planned.until_us
        pin.for_us = NEVER if planned.for_us is None else planned.for_us
        pin.nth = planned.nth
        pin.count = NEVER if isinstance(planned.count, str) else planned.count


def _span(plan: ClusterPlan, ends: Sequence[LinkEnd]) -> tuple[int, int]:
    """The first and the last of processes of one role; of no ends, those of all processes."""
    processes = [plan.process_of(end) for end in ends] or [0, len(plan.processes) - 1]
    return min(processes), max(processes)
