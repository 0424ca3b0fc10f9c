"""Events of brokers, controllers and topics in logs: the fields of each kind, and its lines.

A kind of event is a class, with a decorator for each line that it is read from: the speaker and the
words by which the line is found, and the rest that must follow. A named group of a pattern is the
field of that name, read by the type of the field. The group ``node`` is the node of the event,
which else is the node of the file. To add a kind of event, add a class.
"""

import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any, NamedTuple, Self, TypeVar, dataclass_transform, get_type_hints

from tidegauge.real_cluster.logs.log_layout import LinePattern, line_pattern
from tidegauge.real_cluster.logs.partition_rows import brokers_in
from tidegauge.scenario.model.settings import AUTO_JOIN

#: The ids of brokers and their epochs, as the controller of a cluster with ZooKeeper caches them.
BrokerEpochs = tuple[tuple[int, int], ...]

#: The ids of a quorum's voters, with those of their directories.
Voters = tuple[tuple[int, str], ...]

_EPOCH_OF = re.compile(rb"(\d+) -> (\d+)")
#: Up to 4.0 the id of a directory is an ``Optional[...]``.
_VOTER = re.compile(rb"ReplicaKey\(id=(\d+), directoryId=(?:Optional\[)?([\w-]+)")
#: The reader of a group, by the type of its field; a group without text is -1.
_READERS: dict[object, Callable[[bytes], object]] = {
    int: lambda text: int(text or -1),
    str: lambda text: text.decode("utf-8", "replace"),
    bool: lambda text: text != b"false",
    tuple[int, ...]: brokers_in,
    BrokerEpochs: lambda text: tuple((int(a), int(b)) for a, b in _EPOCH_OF.findall(text)),
    Voters: lambda text: tuple(sorted((int(a), b.decode()) for a, b in _VOTER.findall(text))),
}


@dataclass(frozen=True)
class LogEvent:
    """A rare event of a broker, a controller or a topic, from a line of a log."""

    #: By the clock of the node, until the events of all nodes have one clock.
    time_ms: int
    #: The id of the node whose line it is.
    node: int

    def earlier(self, by_ms: int) -> Self:
        """The event with all of its times earlier."""
        return replace(self, time_ms=self.time_ms - by_ms)


class EventLine(NamedTuple):
    """A line that an event is read from."""

    line: LinePattern
    kind: type[LogEvent]
    readers: dict[str, Callable[[bytes], object]]
    #: The fields matter alone, not the time: the event is kept once for each of their values.
    is_kept_once: bool

    def event(self, match: re.Match[bytes], time_ms: int, node: int) -> LogEvent:
        """The event of a line, of this node if the line names none."""
        groups = match.groupdict(b"")
        fields: dict[str, Any] = {name: self.readers[name](text) for name, text in groups.items()}
        return self.kind(**{"time_ms": time_ms, "node": node} | fields)


#: The lines of all kinds of events.
EVENT_LINES: list[EventLine] = []
_Kind = TypeVar("_Kind", bound=LogEvent)


@dataclass_transform(frozen_default=True)
def _read_from(
    speaker: bytes, words: bytes, rest: bytes = b"", *, is_kept_once: bool = False
) -> Callable[[type[_Kind]], type[_Kind]]:
    """Declare a line that a kind of event is read from; a kind may have several."""
    line = line_pattern(speaker, words, rest)

    def declared(kind: type[_Kind]) -> type[_Kind]:
        if "__dataclass_params__" not in vars(kind):
            kind = dataclass(frozen=True)(kind)
        readers = {name: _READERS[hint] for name, hint in get_type_hints(kind).items()}
        EVENT_LINES.append(EventLine(line, kind, readers, is_kept_once))
        return kind

    return declared


_BROKER_SERVER = rb"\[BrokerServer id=(?P<node>\d+)\] "
_LIFECYCLE = rb"\[BrokerLifecycleManager id=(?P<node>\d+)[^\]]*\] "
_CONTROLLER = rb"\[Controller id=(?P<node>\d+)\] "
_QUORUM = rb"\[QuorumController id=(?P<node>\d+)\] "
_ANY_QUORUM = rb"(?:\[QuorumController id=\d+\] )?"
_ANY = b""
#: Some layouts shorten the logger, put the number of the line behind it, or have none.
_KAFKA_SERVER = rb"\((?:[\w.]*\bKafkaServer(?::\d+)?)?\)"

# The process of a broker or a controller.


@_read_from(_ANY, rb"starting " + _KAFKA_SERVER)
class ProcessStarting(LogEvent):
    """The process of a node starts."""

    #: The last line of the process before: only it shows when a killed process ended; -1: none.
    previous_line_ms: int = -1

    def earlier(self, by_ms: int) -> Self:
        """The event with all of its times earlier."""
        if self.previous_line_ms < 0:
            return super().earlier(by_ms)
        return replace(super().earlier(by_ms), previous_line_ms=self.previous_line_ms - by_ms)


@_read_from(_BROKER_SERVER, rb"Transition from SHUTDOWN to STARTING")
@_read_from(rb"\[ControllerServer id=(?P<node>\d+)\] ", rb"Starting controller")
class QuorumNodeStarting(ProcessStarting):
    """The process of a broker or a controller of a quorum starts."""


@_read_from(rb"\[KafkaServer id=(?P<node>\d+)\] ", rb"started " + _KAFKA_SERVER)
@_read_from(_BROKER_SERVER, rb"Transition from STARTING to STARTED")
class ProcessStarted(LogEvent):
    """A broker serves requests."""


@_read_from(rb"\[KafkaServer id=(?P<node>\d+)\] ", rb"shut down completed \(")
@_read_from(_BROKER_SERVER, rb"shut down completed \(")
class ProcessStopped(LogEvent):
    """A broker has shut down."""


@_read_from(
    _ANY,
    rb"Kafka version ?: ",
    rb"(?P<release>0\.\d+\.\d+(?:\.\d+)?|\d+\.\d+(?:\.\d+)?)(?P<build>[\w.-]*)",
    is_kept_once=True,
)
class KafkaVersion(LogEvent):
    """The release of a node."""

    release: str
    #: The rest of its name: ``-ccs``.
    build: str

    @property
    def printed(self) -> str:
        """Its name as the node prints it: ``8.1.0-ccs``."""
        return self.release + self.build


#: The settings of interest in the dump of a start, each in a line of its own.
SETTINGS = (
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "replica.lag.time.max.ms",
    "replica.fetch.wait.max.ms",
    "zookeeper.session.timeout.ms",
    "broker.session.timeout.ms",
    "broker.heartbeat.interval.ms",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.election.timeout.ms",
    "auto.leader.rebalance.enable",
    "controller.quorum.voters",
    AUTO_JOIN,
)


@dataclass(frozen=True)
class Setting(LogEvent):
    """A setting of a node."""

    name: str
    value: str


@_read_from(_ANY, rb"Cluster ID = ", rb"(?P<cluster_id>[\w-]+) \(")
@_read_from(
    _LIFECYCLE, rb"Incarnation ", rb"\S+ of broker \d+ in cluster (?P<cluster_id>[\w-]+) is"
)
@_read_from(_QUORUM, rb"Creating new QuorumController with clusterId ", rb"(?P<cluster_id>[\w-]+)")
class ClusterNamed(LogEvent):
    """A node names the id of its cluster."""

    cluster_id: str


# ZooKeeper.


@_read_from(
    _ANY,
    rb"Session establishment complete on server ",
    rb".*?negotiated timeout = (?P<timeout_ms>\d+)",
    is_kept_once=True,
)
class SessionNegotiated(LogEvent):
    """ZooKeeper has granted a session with this timeout."""

    timeout_ms: int


@_read_from(_ANY, rb"Creating /brokers/ids/", rb"(?P<node>\d+) ")
class Registering(LogEvent):
    """A broker is about to register."""


@_read_from(
    _ANY,
    rb"Registered broker ",
    rb"(?P<node>\d+) at path \S+ with addresses: .*,"
    rb" czxid \(broker epoch\): (?P<broker_epoch>\d+)(?= )",
)
class Registered(LogEvent):
    """A broker has registered."""

    broker_epoch: int


@_read_from(
    _CONTROLLER,
    rb"\d+ successfully elected as the controller",
    rb"\. Epoch incremented to (?P<controller_epoch>\d+) ",
)
class ControllerElected(LogEvent):
    """A broker has become the controller."""

    controller_epoch: int


@_read_from(
    _CONTROLLER,
    rb"Newly added brokers: ",
    rb"(?P<added>[\d,]*), deleted brokers: (?P<deleted>[\d,]*),"
    rb" bounced brokers: (?P<bounced>[\d,]*), all live brokers: (?P<live>[\d,]*)(?= )",
)
class BrokersChanged(LogEvent):
    """The controller has found other brokers registered than before."""

    added: tuple[int, ...]
    deleted: tuple[int, ...]
    bounced: tuple[int, ...]
    live: tuple[int, ...]


@_read_from(_CONTROLLER, rb"Initialized broker epochs cache: ", rb"\w+\((?P<epochs>.*)\)(?= )")
class BrokerEpochsInitialized(LogEvent):
    """A new controller has listed the brokers that are registered."""

    epochs: BrokerEpochs


@_read_from(_CONTROLLER, rb"Updated broker epochs cache: ", rb"\w+\((?P<epochs>.*)\)(?= )")
class BrokerEpochsUpdated(LogEvent):
    """The controller lists the brokers that are registered now."""

    epochs: BrokerEpochs


# The quorum.


@_read_from(
    _LIFECYCLE,
    rb"Incarnation ",
    rb"(?P<incarnation_id>[\w-]+) of broker \d+ in cluster \S+ is now STARTING",
)
class Incarnation(LogEvent):
    """A broker has the id of its incarnation, and is about to register."""

    incarnation_id: str


@_read_from(
    _LIFECYCLE,
    rb"Successfully registered broker ",
    rb"\d+ with broker epoch (?P<broker_epoch>\d+)(?= )",
)
class BrokerEpochReceived(LogEvent):
    """A broker has learned the epoch of its registration."""

    broker_epoch: int


@_read_from(
    _QUORUM,
    rb"Replayed a FeatureLevelRecord ",
    rb"(?:setting|removing) (?:feature )?(?P<name>[\w.]+)(?: to (?P<level>[\w.-]+))? ",
)
class FeatureLevel(LogEvent):
    """A feature has another level."""

    name: str
    #: 0, or nothing: the feature is off.
    level: str


@_read_from(
    rb"(?:\[ControllerServer id=(?P<node>\d+)\] )?",
    rb"Loaded new metadata \w*Features",
    rb".*?finalizedFeatures=\{(?P<features>[^}]*)\}",
)
class FinalizedFeatures(LogEvent):
    """A controller lists all features that are on: ``group.version=1, metadata.version=27``."""

    features: str


@_read_from(
    rb"\[BrokerMetadataPublisher id=(?P<node>\d+)\] ",
    rb"Publishing initial metadata at offset ",
    rb".*? with metadata\.version (?:Optional\[)?(?P<version>\d+\.\d+(?:-IV\d+)?)[\]. ]",
    is_kept_once=True,
)
class MetadataVersion(LogEvent):
    """A broker names the metadata.version of the cluster."""

    version: str


@_read_from(_LIFECYCLE, rb".*? ?Transitioning from STARTING to RECOVERY")
class UnfencingRequested(LogEvent):
    """A broker is about to request that it is unfenced."""


@_read_from(_LIFECYCLE, rb".*? ?Transitioning from RECOVERY to RUNNING")
class UnfencingReceived(LogEvent):
    """A broker has learned that it is unfenced."""


@_read_from(
    rb"\[RaftManager (?:id|nodeId)=(?P<node>\d+)\] ",
    rb"Completed transition to Leader",
    rb"(?:State)?\(.*?\bepoch=(?P<controller_epoch>\d+), ",
)
class QuorumLeader(LogEvent):
    """A controller has become the leader of the quorum."""

    controller_epoch: int


@_read_from(
    rb"\[RaftManager (?:id|nodeId)=(?P<node>\d+)\] ",
    rb"Latest set of voters is VoterSet",
    rb"\(voters=\{(?P<voters>.*)\}\) at offset (?P<offset>-?\d+) ",
)
class VotersLearned(LogEvent):
    """A node has read a set of voters in the metadata log (KIP-853)."""

    voters: Voters
    offset: int


@_read_from(
    rb"\[RaftManager (?:id|nodeId)=(?P<node>\d+)\] ",
    rb"Aborting add voter operation for ",
    rb"(?P<voters>ReplicaKey\(.*?)(?: at .*?)? since (?P<reason>API_VERSIONS|kraft\.version|it is)",
)
class AdditionAborted(LogEvent):
    """A leader does not add a voter that does not respond, is too old, or lags (KIP-853)."""

    #: The one voter.
    voters: Voters
    #: The first words of the reason.
    reason: str


@_read_from(
    _QUORUM, rb"Becoming the active controller at epoch ", rb"(?P<controller_epoch>\d+)[, ]"
)
class ActiveController(LogEvent):
    """A controller has become the active one."""

    controller_epoch: int


@_read_from(
    _QUORUM, rb"In the new epoch ", rb"(?P<controller_epoch>\d+), the leader is (?P<leader>\d+)\."
)
class LeaderLearned(LogEvent):
    """A controller has learned of the leader of a new epoch."""

    controller_epoch: int
    leader: int


@_read_from(_QUORUM, rb"Renouncing the leadership", rb".*? epoch \d+")
class LeadershipRenounced(LogEvent):
    """A controller is no longer the active one."""


@dataclass(frozen=True)
class RegistrationRecord(LogEvent):
    """A record of the metadata log about a broker's registration, as a controller replays it."""

    broker: int
    broker_epoch: int

    @property
    def content(self) -> tuple[object, ...]:
        """The record itself, without the time and the node of its replay."""
        _, _, *content = astuple(self)
        return (type(self), *content)


@_read_from(
    _QUORUM,
    rb"Replayed (?:initial )?RegisterBrokerRecord ",
    rb"(?:for|modifying|establishing).*?RegisterBrokerRecord\(brokerId=(?P<broker>\d+),"
    rb".*? incarnationId=(?P<incarnation_id>[\w-]+), brokerEpoch=(?P<broker_epoch>\d+),"
    rb".*?fenced=(?P<is_fenced>\w+)",
)
class RegisterBrokerRecord(RegistrationRecord):
    """A broker registers."""

    incarnation_id: str
    is_fenced: bool


@_read_from(
    _QUORUM,
    rb"Replayed BrokerRegistrationChangeRecord ",
    rb".*?BrokerRegistrationChangeRecord\(brokerId=(?P<broker>\d+),"
    rb" brokerEpoch=(?P<broker_epoch>\d+), fenced=(?P<fenced>-?\d+),"
    rb" inControlledShutdown=(?P<in_controlled_shutdown>-?\d+)[,)]",
)
class BrokerRegistrationChangeRecord(RegistrationRecord):
    """A broker is fenced or unfenced, or shuts down: 1 and -1, and 0 without a change."""

    fenced: int
    in_controlled_shutdown: int


@_read_from(
    _QUORUM,
    rb"Replayed [^(]*?UnregisterBrokerRecord",
    rb".*?brokerId=(?P<broker>\d+), brokerEpoch=(?P<broker_epoch>\d+)",
)
class UnregisterBrokerRecord(RegistrationRecord):
    """A registration is removed."""


@_read_from(
    _QUORUM,
    rb"Fencing broker ",
    rb"(?P<broker>\d+) (?:at epoch \d+ )?because its session has timed out",
)
class SessionTimedOut(LogEvent):
    """The active controller is about to fence a broker that sends no heartbeat."""

    broker: int


# Topics, with either control plane.


@_read_from(
    _ANY_QUORUM,
    rb"Replayed TopicRecord for topic ",
    rb"(?P<topic>\S+) with topic ID (?P<topic_id>[\w-]+)\.",
)
class TopicRecord(LogEvent):
    """A topic is created."""

    topic: str
    topic_id: str


@_read_from(
    rb"\[Broker id=(?P<node>\d+)\] ",
    rb"Creating new partition ",
    rb"(?P<topic>\S+)-\d+ with topic id (?P<topic_id>[\w-]+)\.",
    is_kept_once=True,
)
class TopicIdLearned(LogEvent):
    """A broker has a replica of a topic with this id."""

    topic: str
    topic_id: str


@_read_from(
    rb"(?:\[Topic Deletion Manager \d+\] )?",
    rb"Deletion of topic ",
    rb"(?P<topic>\S+) successfully completed",
)
@_read_from(_ANY_QUORUM, rb"Replayed RemoveTopicRecord for topic ", rb"(?P<topic>\S+) with ")
class TopicDeleted(LogEvent):
    """A topic is deleted."""

    topic: str


@_read_from(
    _ANY_QUORUM,
    rb"Replayed ConfigRecord for ConfigResource\(type=TOPIC, ",
    rb"name='(?P<topic>[^']*)'\) which set configuration"
    rb" (?P<name>min\.insync\.replicas|unclean\.leader\.election\.enable) to (?P<value>\w+)",
)
class TopicSetting(LogEvent):
    """A setting of a topic is set."""

    topic: str
    name: str
    value: str
