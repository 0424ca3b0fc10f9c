"""Settings of topics: /config/topics/<topic>, and the news of a change.

Whoever changes a topic's settings writes them, and then a child of /config/changes; every
broker watches that, reads the settings and applies them. Here both are one request. A start
reads the settings of all topics.

Source: AdminZkClient.changeTopicConfig@2.4.0, DynamicConfigManager@2.4.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.simulation.events import new_event, new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.zookeeper_requests import (
    ConfigChanged,
    TopicSettings,
    ZkConfigureRequest,
    ZkResponse,
)
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.control_plane_rows import TopicConfigured


@inner_rule
def configure_topic(world: ControlPlane, request: ZkConfigureRequest, departure_us: int) -> None:
    """Write a topic's settings, and tell all brokers that have a session."""
    topic = request.topic
    config = world.topic_configs[topic]
    if request.min_insync_replicas != NONE:
        config.min_insync_replicas = request.min_insync_replicas
    if request.unclean_leader_election != NONE:
        config.unclean_leader_election = request.unclean_leader_election == 1
    written = new_row(world, request.destination, TopicConfigured)
    written.topic = topic
    written.min_insync_replicas = config.min_insync_replicas
    written.unclean_enabled = 1 if config.unclean_leader_election else 0
    write_row(world, written)
    number = world.ensemble[0].first_session
    while number != NONE:
        session = world.zookeeper_sessions[number]
        news = new_event(world, request.destination, session.broker, ConfigChanged)
        news.session = number
        _add_settings(world, news, topic)
        send(world, news, departure_us)
        number = session.next


@inner_rule
def add_all_configs(world: ControlPlane, response: ZkResponse) -> None:
    """Let a response bring the settings of all topics."""
    for topic in range(world.sizes[0].topics):
        _add_settings(world, response, topic)


@inner_rule
def _add_settings(world: ControlPlane, event: Event, topic: int) -> None:
    settings = new_item(world, event, NONE, TopicSettings)
    settings.topic = topic
    settings.min_insync_replicas = world.topic_configs[topic].min_insync_replicas
    settings.unclean_leader_election = world.topic_configs[topic].unclean_leader_election
