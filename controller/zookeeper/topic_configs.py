"""Settings of topics: /config/topics/<topic>, and the news of a change.

Whoever changes a topic's settings writes them, and then a child of /config/changes; every
broker watches that, reads the settings and applies them. Here both are one request. A start
reads the settings of all topics.

Source: AdminZkClient.changeTopicConfig@2.4.0, DynamicConfigManager@2.4.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.simulation.events import add_item, new_event
from tidegauge.simulation.kernel import NONE, Event, Kernel, PartitionData
from tidegauge.simulation.kinds import CONFIG_CHANGED
from tidegauge.simulation.links import send
from tidegauge.simulation.row_kinds import TOPIC_CONFIGURED
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import Topology


@inner_rule
def configure_topic(kernel: Kernel, plane: ControlPlane, request: Event, departure_us: int) -> None:
    """Write a topic's settings, and tell all brokers that have a session.

    ``count`` is min.insync.replicas, ``acks`` unclean.leader.election.enable; -1 stays as it is.
    """
    topic = request.offset
    config = plane.topic_configs[topic]
    if request.count != NONE:
        config.min_insync_replicas = request.count
    if request.acks != NONE:
        config.unclean_leader_election = request.acks == 1
    written = new_row(kernel, request.destination, TOPIC_CONFIGURED)
    written.values[0] = topic
    written.values[1] = config.min_insync_replicas
    written.values[2] = 1 if config.unclean_leader_election else 0
    write_canonical(kernel, written)
    number = plane.ensemble[0].first_session
    while number != NONE:
        session = plane.sessions[number]
        news = new_event(kernel, request.destination, session.broker, CONFIG_CHANGED)
        news.value = number
        _fill(plane, add_item(kernel, news, topic), topic)
        send(kernel, news, departure_us)
        number = session.next


@inner_rule
def add_all_configs(kernel: Kernel, topology: Topology, plane: ControlPlane, answer: Event) -> None:
    """Let an answer bring the settings of all topics."""
    for topic in range(topology.sizes[0].topics):
        _fill(plane, add_item(kernel, answer, topic), topic)


@inner_rule
def _fill(plane: ControlPlane, item: PartitionData, topic: int) -> None:
    item.offset = plane.topic_configs[topic].min_insync_replicas
    item.may_move = plane.topic_configs[topic].unclean_leader_election
