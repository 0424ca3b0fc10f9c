"""Settings in ZooKeeper: those of topics, and throttles of replication (KIP-73).

A change of a topic's settings writes /config/topics/<topic>, and then a child of /config/changes;
every broker watches that, reads the settings and applies them. Here both are one request. A start
reads the settings of all topics.

Throttles are settings, too: /config/brokers/<id> has leader.replication.throttled.rate and
follower.replication.throttled.rate, /config/topics/<topic> has
leader.replication.throttled.replicas and follower.replication.throttled.replicas. A broker gets its
own rates, and its own throttled replicas.

kafka-reassign-partitions --throttle throttles, of each partition that is to be moved, the present
replicas as leaders and the new ones as followers, and sets the rate of all brokers that have any of
them. The first --verify after the last move has ended removes all throttles.

Source: AdminZkClient.changeTopicConfig@2.4.0, DynamicConfigManager@2.4.0 and @2.6.0,
BrokerConfigHandler, TopicConfigHandler@2.6.0, ReassignPartitionsCommand.calculateMoveMap@2.6.3.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import SESSIONS, ControlPlane
from tidegauge.replication.replica_list import contains, without
from tidegauge.replication.replication_quota import UNLIMITED
from tidegauge.simulation.events import items_of, new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.trace_rows.codes import THROTTLE_MOVES, THROTTLE_NAMED
from tidegauge.simulation.trace_rows.controller_rows import TopicConfigured
from tidegauge.simulation.zookeeper_tree import is_administered, reassign_partitions_znode


@inner_rule
def configure_topic(
    world: ControlPlane, request: zookeeper_requests.ZkConfigureRequest, departure_us: int
) -> None:
    """Write a topic's settings, and send them to all brokers that have a session."""
    topic = request.topic
    config = world.topic_configs[topic]
    if request.min_insync_replicas != NONE:
        config.min_insync_replicas = request.min_insync_replicas
    if request.unclean_leader_election != NONE:
        config.unclean_leader_election = request.unclean_leader_election == 1
    TopicConfigured.write(
        world, config, topic=topic, unclean_enabled=1 if config.unclean_leader_election else 0
    )
    for number in SESSIONS.of(world, world.ensemble[0]):
        session = world.zookeeper_sessions[number]
        news = zookeeper_requests.ConfigChanged.to(world, session.broker, session=number)
        _add_settings(world, news, topic)
        send(world, news, departure_us)


@inner_rule
def add_all_configs(world: ControlPlane, response: zookeeper_requests.ZkResponse) -> None:
    """Let a response bring the settings of all topics."""
    for topic in range(world.sizes[0].topics):
        _add_settings(world, response, topic)


@inner_rule
def _add_settings(world: ControlPlane, event: Event, topic: int) -> None:
    settings = new_item(world, event, NONE, zookeeper_requests.TopicSettings)
    settings.topic = topic
    settings.min_insync_replicas = world.topic_configs[topic].min_insync_replicas
    settings.unclean_leader_election = world.topic_configs[topic].unclean_leader_election


@inner_rule
def write_throttles(
    world: ControlPlane, request: zookeeper_requests.ZkThrottleRequest, departure_us: int
) -> None:
    """Write throttles, and send them to all brokers that have a session of their own."""
    if request.scope == THROTTLE_NAMED:
        _write_named(world, request)
    elif request.scope == THROTTLE_MOVES:
        _write_moves(world, request)
    elif _is_reassigning(world):
        return
    else:
        _remove_all(world)
    for number in SESSIONS.of(world, world.ensemble[0]):
        tell_throttles(world, number, departure_us)


@inner_rule
def _is_reassigning(world: ControlPlane) -> bool:
    znode = reassign_partitions_znode(world)
    return is_administered(world) and world.znodes[znode].exists


@inner_rule
def tell_throttles(world: ControlPlane, session: int, departure_us: int) -> None:
    """Send a broker its rates, and its throttled replicas; all others are not throttled."""
    broker = world.zookeeper_sessions[session].broker
    news = zookeeper_requests.ThrottlesChanged.to(world, broker)
    news.session = session
    news.leader_rate = world.throttled_rates[broker].leader_rate
    news.follower_rate = world.throttled_rates[broker].follower_rate
    for row in range(len(world.slots)):
        throttled = world.replica_throttles[row]
        is_throttled = throttled.leader or throttled.follower
        if is_throttled and world.slots[row].broker == broker:
            item = new_item(
                world, news, world.slots[row].partition, zookeeper_requests.ThrottledReplica
            )
            item.as_leader = throttled.leader
            item.as_follower = throttled.follower
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
def _write_named(world: ControlPlane, request: zookeeper_requests.ZkThrottleRequest) -> None:
    for target in items_of(world, request, zookeeper_requests.ThrottleTarget):
        if target.broker != NONE:
            _set_rates(world, target.broker, request)
        else:
            _set_throttled(world, target.partition, target.leaders, target.followers)


@inner_rule
def _write_moves(world: ControlPlane, request: zookeeper_requests.ZkThrottleRequest) -> None:
    """Throttle the moved replicas, by the assignments as the tool does; nothing else of a topic.

    Source: ReassignPartitionsCommand.calculateLeaderThrottles, calculateFollowerThrottles@2.6.3.
    """
    for moved in items_of(world, request, zookeeper_requests.NamedPartition):
        _forget_topic(world, world.partitions[moved.partition].topic)
    for moved in items_of(world, request, zookeeper_requests.NamedPartition):
        facts = world.partitions[moved.partition]
        sources = world.assignments[moved.partition].replicas
        destinations = without(moved.replicas, sources)
        _set_throttled(world, moved.partition, sources, destinations)
        for slot in range(facts.slot_count):
            if contains(sources, slot) or contains(destinations, slot):
                _set_rates(world, world.slots[facts.first_slot + slot].broker, request)


@inner_rule
def _set_rates(
    world: ControlPlane, broker: int, request: zookeeper_requests.ZkThrottleRequest
) -> None:
    rates = world.throttled_rates[broker]
    if request.leader_rate != NONE:
        rates.leader_rate = request.leader_rate
    if request.follower_rate != NONE:
        rates.follower_rate = request.follower_rate


@inner_rule
def _set_throttled(world: ControlPlane, partition: int, leaders: int, followers: int) -> None:
    facts = world.partitions[partition]
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
