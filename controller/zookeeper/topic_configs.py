"""Settings of topics: /config/topics/<topic>, and the news of a change.

Whoever changes a topic's settings writes them, and then a child of /config/changes; every
broker watches that, reads the settings and applies them. Here both are one request. A start
reads the settings of all topics.

Source: AdminZkClient.changeTopicConfig@2.4.0, DynamicConfigManager@2.4.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.simulation.events import add_item, old_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event, PartitionData
from tidegauge.simulation.messages.kinds import CONFIG_CHANGED
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.control_plane_rows import TopicConfigured


@inner_rule
def configure_topic(world: ControlPlane, request: Event, departure_us: int) -> None:
    """Write a topic's settings, and tell all brokers that have a session.

    ``count`` is min.insync.replicas, ``acks`` unclean.leader.election.enable; -1 stays as it is.
    """
    topic = request.offset
    config = world.topic_configs[topic]
    if request.count != NONE:
        config.min_insync_replicas = request.count
    if request.acks != NONE:
        config.unclean_leader_election = request.acks == 1
    written = new_row(world, request.destination, TopicConfigured)
    written.topic = topic
    written.min_insync_replicas = config.min_insync_replicas
    written.unclean_enabled = 1 if config.unclean_leader_election else 0
    write_row(world, written)
    number = world.ensemble[0].first_session
    while number != NONE:
        session = world.zookeeper_sessions[number]
        news = old_event(world, request.destination, session.broker, CONFIG_CHANGED)
        news.value = number
        _fill(world, add_item(world, news, topic), topic)
        send(world, news, departure_us)
        number = session.next


@inner_rule
def add_all_configs(world: ControlPlane, answer: Event) -> None:
    """Let an answer bring the settings of all topics."""
    for topic in range(world.sizes[0].topics):
        _fill(world, add_item(world, answer, topic), topic)


@inner_rule
def _fill(world: ControlPlane, item: PartitionData, topic: int) -> None:
    item.offset = world.topic_configs[topic].min_insync_replicas
    item.may_move = world.topic_configs[topic].unclean_leader_election
