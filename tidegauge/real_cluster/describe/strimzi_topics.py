"""The topics of a cluster that Strimzi runs, as they are right after they were created.

Each KafkaTopic is a topic. Numbers that it does not have are those of the settings of the cluster.
Its replicas are where Kafka places those of a new topic, since no resource has their places. If
there is no KafkaTopic, one topic is assumed.
"""

from collections.abc import Sequence

from tidegauge.real_cluster.describe.describe_dump import (
    DescribedPartition,
    DescribedTopic,
    DescribeDump,
)
from tidegauge.real_cluster.describe.strimzi_cluster import (
    REPLICATION_FACTOR,
    StrimziCluster,
    number_of,
    text_of,
)
from tidegauge.real_cluster.describe.strimzi_resources import (
    KafkaTopicSpec,
    Resource,
    StrimziResources,
)
from tidegauge.scenario.model.limits import MOST_PARTITIONS
from tidegauge.scenario.model.replica_placement import JavaRandom, drawn_placement
from tidegauge.scenario.text.errors import counted

_ASSUMED_TOPIC = "assumed-topic"
#: Partitions of that topic, for each broker, and its replicas if no setting has a number.
_ASSUMED_PARTITIONS = 3
_ASSUMED_REPLICAS = 3
#: In a KafkaTopic: the number in default.replication.factor.
_DEFAULT_REPLICAS = -1


def topics_as_created(resources: StrimziResources, cluster: StrimziCluster) -> DescribeDump:
    """The topics of a cluster of these nodes.

    Raises:
        InputError: a KafkaTopic has another form, or too many partitions.
    """
    dump = DescribeDump(resources.kafka.file)
    _add_topics(dump, resources.topics, cluster)
    if not dump.topics:
        _assume_a_topic(dump, cluster)
    dump.notices.add(
        "partitions",
        "replicas are placed as Kafka places those of a new topic: the output of "
        "kafka-topics.sh --describe has the real places",
    )
    return dump


def _add_topics(dump: DescribeDump, resources: Sequence[Resource], cluster: StrimziCluster) -> None:
    too_large = []
    brokers = len(cluster.rack_of)
    for each in resources:
        spec = each.spec(KafkaTopicSpec)
        name = spec.topic_name or each.metadata.name
        partitions = spec.partitions or number_of(cluster.config, "num.partitions") or 1
        replicas = spec.replicas
        if replicas in (None, _DEFAULT_REPLICAS):
            replicas = number_of(cluster.config, REPLICATION_FACTOR)
        if partitions > MOST_PARTITIONS:
            message = f"must be {MOST_PARTITIONS:,} at most"
            raise each.error(("spec", "partitions"), message)
        if (replicas or 1) > brokers:
            too_large.append(f"{name} ({replicas})")
            continue
        line = each.line("spec", "config")
        topic = DescribedTopic(name, each.file, line, partitions)
        topic.settings = {
            setting: text_of(each, ("spec", "config", setting), value)
            for setting, value in spec.config.items()
        }
        topic.partitions = _placed(cluster, name, partitions, replicas or 1)
        dump.topics[name] = topic
    dump.notices.name(
        "partitions",
        f"topics of more replicas than the {counted(brokers, 'broker')}, which cannot be created, "
        "are left out",
        too_large,
    )


def _assume_a_topic(dump: DescribeDump, cluster: StrimziCluster) -> None:
    brokers = len(cluster.rack_of)
    partitions = brokers * _ASSUMED_PARTITIONS
    wanted = number_of(cluster.config, REPLICATION_FACTOR) or _ASSUMED_REPLICAS
    replicas = min(wanted, brokers)
    topic = DescribedTopic(_ASSUMED_TOPIC, dump.file, 1, partitions)
    topic.partitions = _placed(cluster, _ASSUMED_TOPIC, partitions, replicas)
    dump.topics[_ASSUMED_TOPIC] = topic
    dump.notices.add(
        "partitions",
        f"no KafkaTopic is in the files: assumed is {_ASSUMED_TOPIC}, of "
        f"{counted(partitions, 'partition')} and {counted(replicas, 'replica')}: add the output of "
        "kafka-topics.sh --describe, or KafkaTopic resources, to the files",
    )


def _placed(
    cluster: StrimziCluster, topic: str, partitions: int, replicas: int
) -> dict[int, DescribedPartition]:
    """The partitions of a new topic, all in health."""
    random = JavaRandom.of(0, topic)
    placed = drawn_placement(cluster.rack_of, partitions, replicas, cluster.mode, random)
    return {
        number: DescribedPartition(number, brokers[0], tuple(brokers), tuple(brokers))
        for number, brokers in enumerate(placed)
    }
