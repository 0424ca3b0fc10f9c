"""Settings of topics as a broker applies them: read with each session, and at each change.

Source: DynamicConfigManager and TopicConfigHandler@2.4.0, LogManager.fetchLogConfig@2.6.0.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers, BrokerTopic
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import new_event
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import CONFIG_CHANGED, UNCLEAN_ELECTION_ENABLED
from tidegauge.simulation.links import send
from tidegauge.simulation.topology import Topology, controller_process


@inner_rule
def topic_config(topology: Topology, brokers: Brokers, broker: int, partition: int) -> BrokerTopic:
    """What a broker knows of the settings of a partition's topic."""
    topic = topology.partitions[partition].topic
    return brokers.topics[broker * topology.sizes[0].topics + topic]


@inner_rule
def take_configs(kernel: Kernel, topology: Topology, brokers: Brokers, news: Event) -> None:
    """Apply the settings that ZooKeeper has told."""
    broker = news.destination
    cursor = news.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        known = brokers.topics[broker * topology.sizes[0].topics + item.partition]
        known.min_insync_replicas = item.offset
        known.unclean_leader_election = item.may_move
        if item.may_move and news.kind == CONFIG_CHANGED:
            _tell_controller(kernel, topology, brokers, broker, item.partition)
    row = brokers.brokers[broker].first_log
    while row != NONE:
        hosted = brokers.hosted[row]
        if hosted.exists:
            config = topic_config(topology, brokers, broker, hosted.partition)
            brokers.replicas[row].min_insync_replicas = config.min_insync_replicas
        row = hosted.next_log


@inner_rule
def _tell_controller(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, topic: int
) -> None:
    """A controller elects at once in a topic that allows unclean election, from 2.1 on."""
    if brokers.rules[broker].unclean_switch_elects and brokers.brokers[broker].broker_epoch >= 0:
        controller = controller_process(topology, broker)
        enabled = new_event(kernel, broker, controller, UNCLEAN_ELECTION_ENABLED)
        enabled.offset = topic
        send(kernel, enabled, kernel.context[0].time_us)
