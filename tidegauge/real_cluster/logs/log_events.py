"""Lines about brokers, controllers and topics: patterns, and the event that each tells.

``EVENT_LINES`` is the table: the kind of event, the opening by which the line is found, what must
follow it, and a character for each group: ``i`` integer, ``s`` text, ``l`` list of brokers. The
teller is the node whose file it is, unless a group is named ``node``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tidegauge.real_cluster.logs.log_layout import Opening, opening_of
from tidegauge.real_cluster.logs.partition_rows import brokers_in

Value = int | str | tuple[int, ...]


class EventLine(NamedTuple):
    """A kind of line about something that happens seldom."""

    kind: str
    opening: Opening
    #: Of the message from its beginning.
    pattern: re.Pattern[bytes]
    #: The group of the teller; 0: it is the node whose file it is.
    node: int
    #: The other groups, and what each is made into.
    groups: tuple[int, ...]
    made: tuple[Callable[[bytes], Value], ...]
    #: The event matters for the values alone, and is kept once for each of them.
    once: bool = False

    def values(self, match: re.Match[bytes]) -> tuple[Value, ...]:
        """The groups of a match, as their types say."""
        return tuple(
            [make(match[group] or b"") for make, group in zip(self.made, self.groups, strict=True)]
        )


def _integer(text: bytes) -> int:
    return int(text) if text else -1


def _text(text: bytes) -> str:
    return text.decode("utf-8", "replace")


_VALUES: dict[str, Callable[[bytes], Value]] = {
    "i": _integer,
    "s": _text,
    "l": brokers_in,
}


def _line(
    kind: str,
    speaker: bytes,
    words: bytes,
    rest: bytes = b"",
    types: str = "",
    *,
    once: bool = False,
) -> EventLine:
    """A kind of line: ``speaker`` and ``words`` find it, and ``rest`` must follow."""
    pattern = re.compile(speaker + words + rest)
    node = pattern.groupindex.get("node", 0)
    groups = tuple(group for group in range(1, pattern.groups + 1) if group != node)
    made = tuple(_VALUES[letter] for letter in types)
    return EventLine(kind, opening_of(speaker, words), pattern, node, groups, made, once)


_KAFKA_SERVER = rb"\[KafkaServer id=(?P<node>\d+)\] "
_BROKER_SERVER = rb"\[BrokerServer id=(?P<node>\d+)\] "
_LIFECYCLE = rb"\[BrokerLifecycleManager id=(?P<node>\d+)[^\]]*\] "
_CONTROLLER = rb"\[Controller id=(?P<node>\d+)\] "
_QUORUM = rb"\[QuorumController id=(?P<node>\d+)\] "
_RAFT = rb"\[RaftManager (?:id|nodeId)=(?P<node>\d+)\] "
_ANY_QUORUM = rb"(?:\[QuorumController id=\d+\] )?"
_ZOOKEEPER_CLIENT = rb"\[ZooKeeperClient Kafka server\] "
_NOBODY = b""


#: Settings of a start's dump, which follow it in lines of their own.
SETTINGS = (
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "replica.lag.time.max.ms",
    "zookeeper.session.timeout.ms",
    "broker.session.timeout.ms",
    "controller.quorum.voters",
    "inter.broker.protocol.version",
    "broker.rack",
    "process.roles",
)

EVENT_LINES: tuple[EventLine, ...] = (
    # The process of a broker, or of a controller.
    _line("starting", _NOBODY, rb"starting \(kafka\.server\.KafkaServer\)"),
    _line("starting", _BROKER_SERVER, rb"Transition from SHUTDOWN to STARTING"),
    _line("starting", rb"\[ControllerServer id=(?P<node>\d+)\] ", rb"Starting controller"),
    _line("started", _KAFKA_SERVER, rb"started \(kafka\.server\.KafkaServer\)"),
    _line("started", _BROKER_SERVER, rb"Transition from STARTING to STARTED"),
    _line("stopping", _KAFKA_SERVER, rb"Starting controlled shutdown"),
    _line("stopping", _LIFECYCLE, rb"Beginning controlled shutdown"),
    _line("stopped", _KAFKA_SERVER, rb"shut down completed \("),
    _line("stopped", _BROKER_SERVER, rb"shut down completed \("),
    _line(
        "unclean_start",
        _NOBODY,
        rb"(?:Recovering|Attempting)",
        rb".* since no clean shutdown file was found",
    ),
    _line("clean_start", _NOBODY, rb"Skipping recovery (?:for all logs in |of \d+ logs)"),
    _line(
        "log_dir_failed",
        rb"\[ReplicaManager broker=(?P<node>\d+)\] ",
        rb"Stopping serving replicas in dir ",
        rb"(\S+)",
        "s",
    ),
    # ZooKeeper.
    _line("registering", _NOBODY, rb"Creating /brokers/ids/", rb"(?P<node>\d+) "),
    _line(
        "registered",
        _NOBODY,
        rb"Registered broker ",
        rb"(?P<node>\d+) at path \S+ with addresses: .*, czxid \(broker epoch\): (\d+)(?= )",
        "i",
    ),
    _line("session_expired", _ZOOKEEPER_CLIENT, rb"Session expired"),
    _line(
        "elected",
        _CONTROLLER,
        rb"\d+ successfully elected as the controller",
        rb"\. Epoch incremented to (\d+) ",
        "i",
    ),
    _line("resigned", _CONTROLLER, rb"Resigned"),
    _line(
        "brokers_changed",
        _CONTROLLER,
        rb"Newly added brokers: ",
        rb"([\d,]*), deleted brokers: ([\d,]*), bounced brokers: ([\d,]*), all live brokers:"
        rb" ([\d,]*)(?= )",
        "llll",
    ),
    _line(
        "brokers_found",
        _CONTROLLER,
        rb"Initialized broker epochs cache: ",
        rb"\w+\((.*)\)(?= )",
        "s",
    ),
    _line(
        "brokers_cached",
        _CONTROLLER,
        rb"Updated broker epochs cache: ",
        rb"\w+\((.*)\)(?= )",
        "s",
    ),
    _line(
        "topic_deleted",
        rb"(?:\[Topic Deletion Manager \d+\] )?",
        rb"Deletion of topic ",
        rb"(\S+) successfully completed",
        "s",
    ),
    # The quorum.
    _line(
        "incarnation",
        _LIFECYCLE,
        rb"Incarnation ",
        rb"([\w-]+) of broker \d+ in cluster \S+ is now STARTING",
        "s",
    ),
    _line(
        "broker_epoch",
        _LIFECYCLE,
        rb"Successfully registered broker ",
        rb"\d+ with broker epoch (\d+)(?= )",
        "i",
    ),
    _line("recovering", _LIFECYCLE, rb".*? ?Transitioning from STARTING to RECOVERY"),
    _line("unfenced", _LIFECYCLE, rb".*? ?Transitioning from RECOVERY to RUNNING"),
    _line(
        "quorum_leader",
        _RAFT,
        rb"Completed transition to Leader",
        rb"(?:State)?\(.*?\bepoch=(\d+), ",
        "i",
    ),
    _line(
        "active",
        _QUORUM,
        rb"Becoming the active controller at epoch ",
        rb"(\d+)(?:, next write offset (\d+)|[, ])",
        "ii",
    ),
    _line("active_seen", _QUORUM, rb"In the new epoch ", rb"(\d+), the leader is (\d+)\.", "ii"),
    _line(
        "renounced",
        _QUORUM,
        rb"Renouncing the leadership",
        rb".*? epoch (\d+)(?:.*?last stable offset (\d+))?",
        "ii",
    ),
    _line(
        "register_record",
        _QUORUM,
        rb"Replayed (?:initial )?RegisterBrokerRecord ",
        rb"(?:for|modifying|establishing).*?RegisterBrokerRecord\(brokerId=(\d+),"
        rb".*? incarnationId=([\w-]+), brokerEpoch=(\d+),.*?fenced=(\w+)",
        "isis",
    ),
    _line(
        "change_record",
        _QUORUM,
        rb"Replayed BrokerRegistrationChangeRecord ",
        rb".*?BrokerRegistrationChangeRecord\("
        rb"brokerId=(\d+), brokerEpoch=(\d+), fenced=(-?\d+), inControlledShutdown=(-?\d+)[,)]",
        "iiii",
    ),
    _line(
        "unregister_record",
        _QUORUM,
        rb"Replayed [^(]*?UnregisterBrokerRecord",
        rb".*?brokerId=(\d+), brokerEpoch=(\d+)",
        "ii",
    ),
    _line(
        "fencing",
        _QUORUM,
        rb"Fencing broker ",
        rb"(\d+) (?:at epoch \d+ )?because its session has timed out",
        "i",
    ),
    _line(
        "topic_record",
        _ANY_QUORUM,
        rb"Replayed TopicRecord for topic ",
        rb"(\S+) with topic ID ([\w-]+)\.",
        "ss",
    ),
    _line(
        "topic_deleted",
        _ANY_QUORUM,
        rb"Replayed RemoveTopicRecord for topic ",
        rb"(\S+) with ",
        "s",
    ),
    _line(
        "topic_setting",
        _ANY_QUORUM,
        rb"Replayed ConfigRecord for ConfigResource\(type=TOPIC, ",
        rb"name='([^']*)'\) which set configuration"
        rb" (min\.insync\.replicas|unclean\.leader\.election\.enable) to (\w+)",
        "sss",
    ),
    _line(
        "feature",
        _ANY_QUORUM,
        rb"Replayed a FeatureLevelRecord setting ",
        rb"(?:feature )?(\S+) to (\S+)",
        "ss",
        once=True,
    ),
    # The release.
    _line("release", _NOBODY, rb"Kafka version: ", rb"(\d+\.\d+(?:\.\d+)?)", "s", once=True),
)
