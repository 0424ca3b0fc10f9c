"""A broker's one ZooKeeper session: how it is opened, kept alive and replaced.

Requests carry the session. A request of a session that has expired gets SESSION_EXPIRED; the broker
then opens a new one, registers again and repeats its pending writes. A request that gets no answer
(a cut, an outage) simply waits: Kafka's client retries without limit.

Settings of topics as a broker applies them: read with each session, and at each change.

Source: DynamicConfigManager and TopicConfigHandler@2.4.0, LogManager.fetchLogConfig@2.6.0.
"""

from tidegauge.actors.state.broker_records import BrokerTopic
from tidegauge.actors.state.brokers import LOGS, Brokers, take_min_insync_replicas
from tidegauge.actors.state.handlers import BROKER
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import items_of
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.messages.controller_timers import (
    ControllerStart,
    SessionLost,
    UncleanElectionEnabled,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import SessionPing, SessionReconnects
from tidegauge.simulation.random_streams import RECONNECT, draw_below
from tidegauge.simulation.topology import controller_process, zookeeper_process
from tidegauge.simulation.zookeeper_tree import (
    CONTROLLER_ZNODE,
    broker_znode,
    log_dir_event_znode,
    state_znode,
)

#: The time before the only server of an ensemble is tried again.
_ONE_SERVER_SPIN_US = code(1_000_000)
_MOST_SLEEP_US = code(1_000_000)


@inner_rule
def send_in_session(
    world: Brokers, request: zookeeper_requests.ZooKeeperRequest, znode: int
) -> None:
    """Send a request about a znode, or none, under the session of its broker."""
    broker = request.source
    request.broker = broker
    request.session = world.brokers[broker].session
    request.znode = znode
    world.brokers[broker].zookeeper_sent_us = world.context[0].time_us
    send(world, request, world.context[0].time_us)


@inner_rule
def connect(world: Brokers, broker: int) -> None:
    """Open a session."""
    state = world.brokers[broker]
    state.session = UNDEFINED
    state.connects += 1
    request = zookeeper_requests.ZkConnectRequest.to(world, zookeeper_process(world))
    request.correlation_id = state.connects
    request.session_timeout_ms = state.zookeeper_session_timeout_ms
    send_in_session(world, request, UNDEFINED)


@inner_rule
def reconnect(world: Brokers, broker: int) -> None:
    """Connect anew after the server was lost; only the server can end the session.

    The client gives a server up without a message from it for two thirds of the session's timeout,
    a process that was stopped as soon as it goes on. Then it sleeps for up to a second, tries, and
    so on.

    Source: ClientCnxn.SendThread.run and startConnect, StaticHostProvider.next of ZooKeeper
    3.5.9.
    """
    state = world.brokers[broker]
    now_us = world.context[0].time_us
    timeout_us = state.zookeeper_session_timeout_ms * 1000
    lost_us = max(
        state.zookeeper_heard_us + timeout_us * 2 // 3, world.processes[broker].resumed_us
    )
    seed = world.context[0].seed
    sleep_us = draw_below(_MOST_SLEEP_US, seed, RECONNECT, broker, state.connects)
    if state.zookeeper_servers == 1:
        sleep_us += _ONE_SERVER_SPIN_US
    connecting_us = timeout_us // state.zookeeper_servers
    since_us = max(0, now_us - lost_us) % (sleep_us + connecting_us)
    state.reconnecting = True
    world.zookeeper_stats[broker].disconnects += 1
    SessionReconnects.after(world, max(0, sleep_us - since_us), session=state.session)


@inner_rule
def close_session(world: Brokers, broker: int) -> None:
    """Give the session back, and with it the registration.

    Source: ZooKeeperClient.close@2.4.0.
    """
    if world.brokers[broker].session != UNDEFINED:
        request = zookeeper_requests.ZkCloseRequest.to(world, zookeeper_process(world))
        send_in_session(world, request, UNDEFINED)


@inner_rule
def register(world: Brokers, broker: int) -> None:
    """Create /brokers/ids/<id>, which lives as long as the session.

    From 2.2 on it is set in the same transaction, whose response has its czxid, the broker epoch.

    Source: KafkaZkClient.registerBroker@2.4.0 (KIP-380).
    """
    request = zookeeper_requests.ZkCreateRequest.to(world, zookeeper_process(world))
    request.sets_data = world.rules[broker].bounced_brokers_detected
    send_in_session(world, request, broker_znode(world, broker))


@inner_rule
def new_state_write(world: Brokers, partition: int) -> zookeeper_requests.ZkSetRequest:
    """A write of a partition's state, which is the caller's to fill and to send."""
    request = zookeeper_requests.ZkSetRequest.to(world, zookeeper_process(world))
    request.partition = partition
    return request


@inner_rule
def send_state_write(world: Brokers, request: zookeeper_requests.ZkSetRequest) -> None:
    """Send the write of a partition's state."""
    send_in_session(world, request, state_znode(world, request.partition))


@inner_rule
def read_controller(world: Brokers) -> None:
    """Read /controller."""
    request = zookeeper_requests.ZkGetRequest.to(world, zookeeper_process(world))
    send_in_session(world, request, CONTROLLER_ZNODE)


@inner_rule
def create_log_dir_event(world: Brokers, broker: int, directory: int) -> None:
    """Source: KafkaZkClient.propagateLogDirEvent@2.6.0."""
    request = zookeeper_requests.ZkCreateRequest.to(world, zookeeper_process(world))
    send_in_session(world, request, log_dir_event_znode(world, broker, directory))


@inner_rule
def tell_controller_of_loss(world: Brokers, broker: int) -> None:
    """Notify the controller on the same broker that the session has expired."""
    send(world, SessionLost.to(world, controller_process(world, broker)), world.context[0].time_us)


@inner_rule
def start_controller(world: Brokers, broker: int) -> None:
    """Let the controller of this broker begin under the session, unless it has already.

    Source: KafkaController.startup@2.6.3.
    """
    state = world.brokers[broker]
    if state.told_session != state.session:
        state.told_session = state.session
        news = ControllerStart.to(world, controller_process(world, broker), state)
        send(world, news, world.context[0].time_us)


@inner_rule
def ping_later(world: Brokers, broker: int) -> None:
    """Ping when nothing has been sent for a third of the session's time-out.

    Simplified: a client that something else wakes after a second without sending pings up to a
    second earlier, and none waits for more than 10 s.

    Source: ClientCnxn.SendThread.run of ZooKeeper 3.5.9.
    """
    state = world.brokers[broker]
    third_us = state.zookeeper_session_timeout_ms * 1000 // 3
    due_us = state.zookeeper_sent_us + third_us
    if due_us <= world.context[0].time_us:
        due_us = world.context[0].time_us + third_us
    SessionPing.at(world, due_us)


@BROKER.handles(SessionPing)
@inner_rule
def handle_session_ping(world: Brokers, timer: SessionPing) -> None:
    """Keep the session alive, unless something else has done so meanwhile."""
    broker = timer.destination
    state = world.brokers[broker]
    idle_us = world.context[0].time_us - state.zookeeper_sent_us
    if state.session != UNDEFINED and idle_us >= state.zookeeper_session_timeout_ms * 1000 // 3:
        _ping(world)
    ping_later(world, broker)


@inner_rule
def _ping(world: Brokers) -> None:
    ping = zookeeper_requests.ZkPingRequest.to(world, zookeeper_process(world))
    send_in_session(world, ping, UNDEFINED)


@inner_rule
def read_topic_configs(world: Brokers, broker: int) -> None:
    """Settings of topics are read that it has not hosted since it runs.

    The log of changes has them; only the sign of life counts here.

    Source: Partition.createLog@2.6.3, KafkaZkClient.getEntityConfigs@2.6.3.
    """
    state = world.brokers[broker]
    if state.reads_topic_configs and state.session != UNDEFINED:
        _ping(world)
    state.reads_topic_configs = False


@inner_rule
def topic_config(world: Brokers, broker: int, partition: int) -> BrokerTopic:
    """A broker's knowledge of the settings of a partition's topic."""
    topic = world.partitions[partition].topic
    return world.broker_topics[broker * world.sizes[0].topics + topic]


@inner_rule
def take_configs(world: Brokers, news: Event) -> None:
    """Apply the settings that ZooKeeper has sent."""
    broker = news.destination
    for settings in items_of(world, news, zookeeper_requests.TopicSettings):
        known = world.broker_topics[broker * world.sizes[0].topics + settings.topic]
        known.min_insync_replicas = settings.min_insync_replicas
        known.unclean_leader_election = settings.unclean_leader_election
        if settings.unclean_leader_election and news.kind == zookeeper_requests.ConfigChanged.KIND:
            _tell_controller(world, broker, settings.topic)
    for row in LOGS.of(world, world.brokers[broker]):
        hosted = world.hosted[row]
        if hosted.exists:
            config = topic_config(world, broker, hosted.partition)
            take_min_insync_replicas(world, row, config.min_insync_replicas)


@inner_rule
def _tell_controller(world: Brokers, broker: int, topic: int) -> None:
    """A controller elects at once in a topic that allows unclean election, from 2.1 on."""
    if world.rules[broker].unclean_switch_elects and world.brokers[broker].broker_epoch >= 0:
        controller = controller_process(world, broker)
        enabled = UncleanElectionEnabled.to(world, controller, topic=topic)
        send(world, enabled, world.context[0].time_us)
