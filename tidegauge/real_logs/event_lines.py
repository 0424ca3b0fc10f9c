"""Lines about brokers, controllers and topics: patterns, and the event that each tells.

``EVENT_LINES`` is the table: a marker by which the line is found, a pattern that must match, the
kind of event, and a character for each group: ``i`` integer, ``s`` text, ``l`` list of brokers. A
teller of ``None`` is the node whose file it is; a group named ``node`` tells it otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tidegauge.real_logs.partition_lines import beginning_of
from tidegauge.real_logs.told import brokers_in


class EventLine(NamedTuple):
    """A kind of line about something that happens seldom."""

    kind: str
    marker: bytes
    pattern: re.Pattern[bytes]
    #: Of each group but ``node``.
    types: str = ""
    #: How the messages of such lines begin.
    begins: tuple[bytes, ...] = ()
    #: The event matters for the values alone, and is kept once for each of them.
    once: bool = False

    def values(self, match: re.Match[bytes]) -> tuple[int | str | tuple[int, ...], ...]:
        """The groups of a match, as their types say."""
        node = self.pattern.groupindex.get("node", 0)
        groups = [text for place, text in enumerate(match.groups(), 1) if place != node]
        return tuple(
            _VALUES[kind](text or b"") for kind, text in zip(self.types, groups, strict=True)
        )


def _integer(text: bytes) -> int:
    return int(text) if text else -1


def _text(text: bytes) -> str:
    return text.decode("utf-8", "replace")


_VALUES: dict[str, Callable[[bytes], int | str | tuple[int, ...]]] = {
    "i": _integer,
    "s": _text,
    "l": brokers_in,
}

_CONTROLLER = rb"\[Controller id=(?P<node>\d+)\] "
_QUORUM = rb"\[QuorumController id=(?P<node>\d+)\] "
_BY_QUORUM = (b"[QuorumController", b"Replayed")


def _line(
    kind: str,
    marker: bytes,
    pattern: bytes,
    types: str = "",
    *,
    begins: tuple[bytes, ...] = (),
    once: bool = False,
) -> EventLine:
    begins = begins or (beginning_of(pattern),)
    return EventLine(kind, marker, re.compile(pattern), types, begins, once)


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
    _line(
        "starting",
        b" starting (kafka.server.KafkaServer)",
        rb" starting \(kafka",
        begins=(b"starting",),
    ),
    _line(
        "starting", b"] Transition from SHUTDOWN to STARTING", rb"\[BrokerServer id=(?P<node>\d+)\]"
    ),
    _line("starting", b"] Starting controller", rb"\[ControllerServer id=(?P<node>\d+)\]"),
    _line(
        "started",
        b"] started (kafka.server.KafkaServer)",
        rb"\[KafkaServer id=(?P<node>\d+)\] started",
    ),
    _line(
        "started",
        b"] Transition from STARTING to STARTED",
        rb"\[BrokerServer id=(?P<node>\d+)\] Transition from STARTING to STARTED",
    ),
    _line("stopping", b"] Starting controlled shutdown", rb"\[KafkaServer id=(?P<node>\d+)\]"),
    _line(
        "stopping",
        b"] Beginning controlled shutdown",
        rb"\[BrokerLifecycleManager id=(?P<node>\d+)",
    ),
    _line(
        "stopped",
        b"] shut down completed (",
        rb"\[(?:KafkaServer|BrokerServer) id=(?P<node>\d+)\] shut down completed",
        begins=(b"[KafkaServer", b"[BrokerServer"),
    ),
    _line(
        "unclean_start",
        b" since no clean shutdown file was found",
        rb"(?:Recovering|Attempting)",
        begins=(b"Recovering", b"Attempting"),
    ),
    _line("clean_start", b"Skipping recovery for all logs in ", rb"Skipping recovery"),
    _line("clean_start", b"Skipping recovery of ", rb"Skipping recovery of \d+ logs"),
    _line(
        "log_dir_failed",
        b"Stopping serving replicas in dir ",
        rb"\[ReplicaManager broker=(?P<node>\d+)\] Stopping serving replicas in dir (\S+)",
        "s",
    ),
    # ZooKeeper.
    _line("registering", b"Creating /brokers/ids/", rb"Creating /brokers/ids/(?P<node>\d+) "),
    _line(
        "registered",
        b"Registered broker ",
        rb"Registered broker (?P<node>\d+) at path \S+ with addresses: .*, czxid \(broker epoch\):"
        rb" (\d+)(?= )",
        "i",
    ),
    _line(
        "session_expired",
        b"[ZooKeeperClient Kafka server] Session expired",
        rb"Session expired",
        begins=(b"[ZooKeeperClient",),
    ),
    _line(
        "elected",
        b" successfully elected as the controller",
        _CONTROLLER + rb"\d+ successfully elected as the controller\. Epoch incremented to (\d+) ",
        "i",
    ),
    _line("resigned", b"] Resigned", _CONTROLLER + rb"Resigned"),
    _line(
        "brokers_changed",
        b"] Newly added brokers: ",
        _CONTROLLER + rb"Newly added brokers: ([\d,]*), deleted brokers: ([\d,]*), bounced brokers:"
        rb" ([\d,]*), all live brokers: ([\d,]*)(?= )",
        "llll",
    ),
    _line(
        "brokers_found",
        b"] Initialized broker epochs cache: ",
        _CONTROLLER + rb"Initialized broker epochs cache: \w+\((.*)\)(?= )",
        "s",
    ),
    _line(
        "brokers_cached",
        b"] Updated broker epochs cache: ",
        _CONTROLLER + rb"Updated broker epochs cache: \w+\((.*)\)(?= )",
        "s",
    ),
    _line(
        "topic_deleted",
        b"Deletion of topic ",
        rb"Deletion of topic (\S+) successfully completed",
        "s",
        begins=(b"[Topic Deletion", b"Deletion"),
    ),
    # The quorum.
    _line(
        "incarnation",
        b"] Incarnation ",
        rb"\[BrokerLifecycleManager id=(?P<node>\d+)[^\]]*\] Incarnation ([\w-]+) of broker \d+"
        rb" in cluster \S+ is now STARTING",
        "s",
    ),
    _line(
        "broker_epoch",
        b"] Successfully registered broker ",
        rb"\[BrokerLifecycleManager id=(?P<node>\d+)[^\]]*\] Successfully registered broker \d+"
        rb" with broker epoch (\d+)(?= )",
        "i",
    ),
    _line(
        "recovering",
        b" Transitioning from STARTING to RECOVERY",
        rb"\[BrokerLifecycleManager id=(?P<node>\d+)",
    ),
    _line(
        "unfenced",
        b" Transitioning from RECOVERY to RUNNING",
        rb"\[BrokerLifecycleManager id=(?P<node>\d+)",
    ),
    _line(
        "quorum_leader",
        b"] Completed transition to Leader",
        rb"\[RaftManager (?:id|nodeId)=(?P<node>\d+)\] Completed transition to Leader(?:State)?"
        rb"\(.*?\bepoch=(\d+), ",
        "i",
    ),
    _line(
        "active",
        b"] Becoming the active controller at epoch ",
        _QUORUM
        + rb"Becoming the active controller at epoch (\d+)(?:, next write offset (\d+)|[, ])",
        "ii",
    ),
    _line(
        "active_seen",
        b"] In the new epoch ",
        _QUORUM + rb"In the new epoch (\d+), the leader is (\d+)\.",
        "ii",
    ),
    _line(
        "renounced",
        b"] Renouncing the leadership",
        _QUORUM + rb"Renouncing the leadership.*? epoch (\d+)(?:.*?last stable offset (\d+))?",
        "ii",
    ),
    _line(
        "register_record",
        b" RegisterBrokerRecord ",
        _QUORUM + rb"Replayed (?:initial )?RegisterBrokerRecord (?:for|modifying|establishing).*?"
        rb"RegisterBrokerRecord\(brokerId=(\d+),.*? incarnationId=([\w-]+), brokerEpoch=(\d+),"
        rb".*?fenced=(\w+)",
        "isis",
    ),
    _line(
        "change_record",
        b" BrokerRegistrationChangeRecord ",
        _QUORUM + rb"Replayed BrokerRegistrationChangeRecord .*?BrokerRegistrationChangeRecord\("
        rb"brokerId=(\d+), brokerEpoch=(\d+), fenced=(-?\d+), inControlledShutdown=(-?\d+)[,)]",
        "iiii",
    ),
    _line(
        "unregister_record",
        b" UnregisterBrokerRecord",
        _QUORUM + rb"Replayed .*?UnregisterBrokerRecord.*?brokerId=(\d+), brokerEpoch=(\d+)",
        "ii",
    ),
    _line(
        "fencing",
        b" because its session has timed out",
        _QUORUM + rb"Fencing broker (\d+) ",
        "i",
    ),
    _line(
        "topic_record",
        b"Replayed TopicRecord for topic ",
        rb"Replayed TopicRecord for topic (\S+) with topic ID ([\w-]+)\.",
        "ss",
        begins=_BY_QUORUM,
    ),
    _line(
        "topic_deleted",
        b"Replayed RemoveTopicRecord for topic ",
        rb"Replayed RemoveTopicRecord for topic (\S+) with ",
        "s",
        begins=_BY_QUORUM,
    ),
    _line(
        "topic_setting",
        b"Replayed ConfigRecord for ConfigResource(type=TOPIC",
        rb"ConfigResource\(type=TOPIC, name='([^']*)'\) which set configuration"
        rb" (min\.insync\.replicas|unclean\.leader\.election\.enable) to (\w+)",
        "sss",
        begins=_BY_QUORUM,
    ),
    _line(
        "feature",
        b"FeatureLevelRecord setting ",
        rb"FeatureLevelRecord setting (?:feature )?(\S+) to (\S+)",
        "ss",
        begins=_BY_QUORUM,
        once=True,
    ),
    # The release.
    _line("release", b"Kafka version: ", rb"Kafka version: (\d+\.\d+(?:\.\d+)?)", "s", once=True),
)
