"""Settings of topics as a broker applies them: read with each session, and at each change.

Source: DynamicConfigManager and TopicConfigHandler@2.4.0, LogManager.fetchLogConfig@2.6.0.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers, BrokerTopic
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import new_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_timers import UncleanElectionEnabled
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.zookeeper_requests import ConfigChanged, TopicSettings
from tidegauge.simulation.topology import controller_process


@inner_rule
def topic_config(world: Brokers, broker: int, partition: int) -> BrokerTopic:
    """What a broker knows of the settings of a partition's topic."""
    topic = world.partitions[partition].topic
    return world.broker_topics[broker * world.sizes[0].topics + topic]


@inner_rule
def take_configs(world: Brokers, news: Event) -> None:
    """Apply the settings that ZooKeeper has told."""
    broker = news.destination
    cursor = news.first_item
    while cursor != NONE:
        settings = view_as(world.items[cursor], TopicSettings)
        cursor = settings.next
        known = world.broker_topics[broker * world.sizes[0].topics + settings.topic]
        known.min_insync_replicas = settings.min_insync_replicas
        known.unclean_leader_election = settings.unclean_leader_election
        if settings.unclean_leader_election and news.kind == ConfigChanged.KIND:
            _tell_controller(world, broker, settings.topic)
    row = world.brokers[broker].first_log
    while row != NONE:
        hosted = world.hosted[row]
        if hosted.exists:
            config = topic_config(world, broker, hosted.partition)
            world.replicas[row].min_insync_replicas = config.min_insync_replicas
        row = hosted.next_log


@inner_rule
def _tell_controller(world: Brokers, broker: int, topic: int) -> None:
    """A controller elects at once in a topic that allows unclean election, from 2.1 on."""
    if world.rules[broker].unclean_switch_elects and world.brokers[broker].broker_epoch >= 0:
        controller = controller_process(world, broker)
        enabled = new_event(world, broker, controller, UncleanElectionEnabled)
        enabled.topic = topic
        send(world, enabled, world.context[0].time_us)
