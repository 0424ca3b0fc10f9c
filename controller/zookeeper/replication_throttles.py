"""Throttles of replication in ZooKeeper: rates of brokers, throttled replicas of topics (KIP-73).

They are settings like others: /config/brokers/<id> has leader.replication.throttled.rate and
follower.replication.throttled.rate, /config/topics/<topic> has
leader.replication.throttled.replicas and follower.replication.throttled.replicas. A broker is told
of what concerns it: its rates, and its own replicas that are throttled.

kafka-reassign-partitions --throttle throttles, of each partition that is to be moved, the replicas
where it is as leaders and those that it gets as followers, and sets the rate of all brokers that
have any of them. Whoever asks with --verify after the last one has come removes all throttles.

Source: DynamicConfigManager, BrokerConfigHandler, TopicConfigHandler@2.6.0,
ReassignPartitionsCommand.calculateMoveMap@2.6.3.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.replication.replica_list import contains, without
from tidegauge.replication.replication_quota import UNLIMITED
from tidegauge.simulation.events import add_item, old_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event, PartitionData
from tidegauge.simulation.messages.kinds import THROTTLES_CHANGED
from tidegauge.simulation.throttles import THROTTLE_MOVES, THROTTLE_NAMED
from tidegauge.simulation.zookeeper_tree import is_administered, reassign_partitions_znode


@inner_rule
def write_throttles(world: ControlPlane, request: Event, departure_us: int) -> None:
    """Write throttles, and tell all brokers that have a session of their own."""
    if request.acks == THROTTLE_NAMED:
        _write_named(world, request)
    elif request.acks == THROTTLE_MOVES:
        _write_moves(world, request)
    elif _is_reassigning(world):
        return
    else:
        _remove_all(world)
    number = world.ensemble[0].first_session
    while number != NONE:
        tell_throttles(world, request.destination, number, departure_us)
        number = world.zookeeper_sessions[number].next


@inner_rule
def _is_reassigning(world: ControlPlane) -> bool:
    znode = reassign_partitions_znode(world)
    return is_administered(world) and world.znodes[znode].exists


@inner_rule
def tell_throttles(
    world: ControlPlane,
    zookeeper: int,
    session: int,
    departure_us: int,
) -> None:
    """Tell a broker its rates, and which of its replicas are throttled; all others are not."""
    broker = world.zookeeper_sessions[session].broker
    news = old_event(world, zookeeper, broker, THROTTLES_CHANGED)
    news.value = session
    news.min_bytes = world.throttled_rates[broker].leader_rate
    news.max_bytes = world.throttled_rates[broker].follower_rate
    for row in range(len(world.slots)):
        throttled = world.replica_throttles[row]
        is_throttled = throttled.leader or throttled.follower
        if is_throttled and world.slots[row].broker == broker:
            item = add_item(world, news, world.slots[row].partition)
            item.may_move = throttled.leader
            item.deletes = throttled.follower
    send(world, news, departure_us)


@inner_rule
def has_throttles(world: ControlPlane) -> bool:
    """Whether anything is throttled, or any broker has a limit."""
    for broker in range(world.sizes[0].brokers):
        rates = world.throttled_rates[broker]
        if rates.leader_rate != UNLIMITED or rates.follower_rate != UNLIMITED:
            return True
    for row in range(len(world.slots)):
        if world.replica_throttles[row].leader or world.replica_throttles[row].follower:
            return True
    return False


@inner_rule
def _write_named(world: ControlPlane, request: Event) -> None:
    cursor = request.first_item
    while cursor != NONE:
        item = world.items[cursor]
        cursor = item.next
        if item.continues:
            _set_rates(world, item.partition, request)
        else:
            _set_throttled(world, item, item.adding, item.removing)


@inner_rule
def _write_moves(world: ControlPlane, request: Event) -> None:
    """Throttle what moves, as the tool works it out from the assignments; nothing else of a topic.

    Source: ReassignPartitionsCommand.calculateLeaderThrottles, calculateFollowerThrottles@2.6.3.
    """
    cursor = request.first_item
    while cursor != NONE:
        _forget_topic(world, world.partitions[world.items[cursor].partition].topic)
        cursor = world.items[cursor].next
    cursor = request.first_item
    while cursor != NONE:
        item = world.items[cursor]
        cursor = item.next
        facts = world.partitions[item.partition]
        sources = world.assignments[item.partition].replicas
        destinations = without(item.replicas, sources)
        _set_throttled(world, item, sources, destinations)
        for slot in range(facts.slot_count):
            if contains(sources, slot) or contains(destinations, slot):
                _set_rates(world, world.slots[facts.first_slot + slot].broker, request)


@inner_rule
def _set_rates(world: ControlPlane, broker: int, request: Event) -> None:
    rates = world.throttled_rates[broker]
    if request.min_bytes != NONE:
        rates.leader_rate = request.min_bytes
    if request.max_bytes != NONE:
        rates.follower_rate = request.max_bytes


@inner_rule
def _set_throttled(world: ControlPlane, item: PartitionData, leaders: int, followers: int) -> None:
    facts = world.partitions[item.partition]
    for slot in range(facts.slot_count):
        throttled = world.replica_throttles[facts.first_slot + slot]
        if leaders != NONE:
            throttled.leader = contains(leaders, slot)
        if followers != NONE:
            throttled.follower = contains(followers, slot)


@inner_rule
def _forget_topic(world: ControlPlane, topic: int) -> None:
    for row in range(len(world.slots)):
        if world.partitions[world.slots[row].partition].topic == topic:
            world.replica_throttles[row].leader = False
            world.replica_throttles[row].follower = False


@inner_rule
def _remove_all(world: ControlPlane) -> None:
    """Source: ReassignPartitionsCommand.clearAllThrottles@2.6.3."""
    for broker in range(world.sizes[0].brokers):
        world.throttled_rates[broker].leader_rate = UNLIMITED
        world.throttled_rates[broker].follower_rate = UNLIMITED
    for row in range(len(world.slots)):
        world.replica_throttles[row].leader = False
        world.replica_throttles[row].follower = False
