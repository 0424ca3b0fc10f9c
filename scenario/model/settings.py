"""Settings under Kafka's own names: their existence and their valid values.

The settings and their defaults depend on the release. A setting that the simulator reads must have
a value that Kafka accepts. Any other setting is accepted, so that a cluster's own settings can be
used unchanged. It is listed as not modelled, since it has no effect. The list also marks names that
Kafka does not have. An unknown name that is nearly one of Kafka's is refused as a typing error.
Names with underscores are Tidegauge's own: constants of Kafka, and

``isr_change_notification_batching``
    true (default): a leader batches its ISR changes before it notifies the controller, as in Kafka.
    false: it sends a notification for each change at once.
"""

import math
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, PlainValidator, WithJsonSchema

from tidegauge.replication.release_defaults import DEFAULTS, defaults_of
from tidegauge.replication.release_versions import (
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    Cell,
    Mode,
    Release,
    Table,
    cells_that_apply,
)
from tidegauge.scenario.model.kafka_setting_names import KAFKA_NAMES, is_known_to_kafka
from tidegauge.scenario.model.parts import (
    CONNECTION_DEFAULTS,
    REBOOTSTRAP,
    REPLICA_SELECTOR,
    REPLICA_SELECTORS,
    STRATEGY,
    connection_defaults,
)
from tidegauge.scenario.text.errors import Path, Problem, ProblemsError, path_text

PRODUCER_SETTINGS = (
    *("acks", "retries", "request.timeout.ms", "delivery.timeout.ms", "retry.backoff.ms"),
    *("max.in.flight.requests.per.connection", "metadata.max.age.ms", "enable.idempotence"),
    *("linger.ms", "batch.size", "max.request.size", "buffer.memory", "max.block.ms"),
    "send.buffer.bytes",
)
#: With KRaft: a controller that observes asks to become a voter by itself (KIP-1186).
AUTO_JOIN = "controller.quorum.auto.join.enable"
#: With KRaft: of every node, broker or controller. Brokers have no use for the last two here, as
#: no node reads their copies of the metadata log.
_OF_EVERY_NODE = (
    *("metadata.log.max.record.bytes.between.snapshots", "metadata.log.max.snapshot.interval.ms"),
    *("metadata.max.retention.bytes", "metadata.max.retention.ms"),
)
#: With KRaft: of controllers alone. With ZooKeeper the last two are those of brokers.
SETTINGS_OF_CONTROLLERS = (
    *("broker.session.timeout.ms", "metadata.max.idle.interval.ms"),
    *("controller.quorum.append.linger.ms", "controller.quorum.election.timeout.ms"),
    *("controller.quorum.election.backoff.max.ms", "controller.quorum.fetch.timeout.ms"),
    *("controller.quorum.request.timeout.ms", "controller.quorum.retry.backoff.ms"),
    *("controller.quorum.fetch.max.bytes", "controller.quorum.fetch.snapshot.max.bytes"),
    AUTO_JOIN,
    "unclean.leader.election.interval.ms",
    *("auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds"),
)
#: With KRaft: of controllers.
CONTROLLER_SETTINGS = (*_OF_EVERY_NODE, *SETTINGS_OF_CONTROLLERS)
#: With KRaft: settings of brokers of which controllers decide with their own value. Where they have
#: none, it is taken to be that of the brokers.
#: Source: KafkaConfigSchema.resolveEffectiveTopicConfig@4.4.0, ReplicationControlManager@4.4.0.
DECIDED_BY_CONTROLLERS = (
    *("default.replication.factor", "min.insync.replicas", "unclean.leader.election.enable"),
)
#: The setting of the session timeout of a broker; with KRaft the active controller's counts.
SESSION_TIMEOUTS: Mapping[Mode, str] = {
    ZOOKEEPER_MODE: "zookeeper.session.timeout.ms",
    KRAFT_MODE: "broker.session.timeout.ms",
}
#: The topic to which groups commit (Topic.GROUP_METADATA_TOPIC_NAME).
OFFSETS_TOPIC = "__consumer_offsets"

TOPIC_SETTINGS = ("min.insync.replicas", "unclean.leader.election.enable")
#: Settings of retention (``scenario/timetable.py``), of which not all have a default.
RETENTION_SETTINGS = {
    "topics": {"retention.bytes", "retention.ms", "segment.bytes", "cleanup.policy"},
    "brokers": {
        *("log.retention.bytes", "log.retention.ms", "log.retention.minutes"),
        *("log.retention.hours", "log.segment.bytes", "log.retention.check.interval.ms"),
        "log.cleanup.policy",
    },
}
#: The throttled replicas of a topic, as their leader sends or as they fetch (KIP-73).
THROTTLED_REPLICAS = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
#: A broker's limits of throttled replicas, in bytes per second. ZooKeeper holds them, not
#: server.properties.
THROTTLED_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")

#: Of a broker: bytes per second of moves between its log directories (KIP-113).
ALTER_LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
#: Of a broker: its log directories that get no new replicas (KIP-1066).
CORDONED_LOG_DIRS = "cordoned.log.dirs"
#: All log directories of a broker, however many it has: a bit for each.
_ALL_LOG_DIRS = 2**62 - 1

# fmt: off
CONSUMER_DEFAULTS: Table = {
    "fetch.max.wait.ms": (Cell("0.10.2.0", 500, "ConsumerConfig.DEFAULT_FETCH_MAX_WAIT_MS"),),
    "fetch.min.bytes": (Cell("0.10.2.0", 1, "ConsumerConfig.DEFAULT_FETCH_MIN_BYTES"),),
    "max.partition.fetch.bytes": (
        Cell("0.10.2.0", 1024 * 1024, "ConsumerConfig.DEFAULT_MAX_PARTITION_FETCH_BYTES"),
    ),
    "fetch.max.bytes": (
        Cell("0.10.2.0", 50 * 1024 * 1024, "ConsumerConfig.DEFAULT_FETCH_MAX_BYTES@0.10.2.0"),
    ),
    "receive.buffer.bytes": (
        Cell("0.10.2.0", 64 * 1024, "ConsumerConfig.RECEIVE_BUFFER_CONFIG@0.10.2.0"),
    ),
    "request.timeout.ms": (
        Cell("0.10.2.0", 305_000, "KIP-62"),
        Cell("2.0.0", 30_000, "KIP-266"),
    ),
    "retry.backoff.ms": (Cell("0.10.2.0", 100, "ConsumerConfig.RETRY_BACKOFF_MS_CONFIG"),),
    "metadata.max.age.ms": (Cell("0.10.2.0", 300_000, "ConsumerConfig.METADATA_MAX_AGE_CONFIG"),),
    # Kafka's default is true. Here only a group with true commits, and creates __consumer_offsets.
    "enable.auto.commit": (Cell("0.10.2.0", False, "Tidegauge"),),
    "auto.commit.interval.ms": (
        Cell("0.10.2.0", 5_000, "ConsumerConfig.AUTO_COMMIT_INTERVAL_MS_CONFIG@0.10.2.0"),
    ),
    "heartbeat.interval.ms": (
        Cell("0.10.2.0", 3_000, "ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG@0.10.2.0"),
    ),
    "session.timeout.ms": (
        Cell("0.10.2.0", 10_000, "ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG@0.10.2.0"),
        Cell("3.0.0", 45_000, "KIP-735, ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG@3.0.0"),
    ),
    # Kafka's default is latest. Here consumers begin with the first record, so they read all of a
    # topic.
    "auto.offset.reset": (Cell("0.10.2.0", "earliest", "Tidegauge"),),
}
# fmt: on

_IDEMPOTENCE = "enable.idempotence"
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_FIVE_IN_FLIGHT = Release.parse("1.0.0")

_BATCHING = "isr_change_notification_batching"
_ONLY_OF_PRODUCERS = set(PRODUCER_SETTINGS) - {"request.timeout.ms"}
_ONLY_OF_CONTROLLERS = set(SETTINGS_OF_CONTROLLERS[:-2])

#: Settings that no broker reads with ZooKeeper.
ONLY_WITH_KRAFT = {
    name for name, cells in DEFAULTS.items() if all(cell.mode == KRAFT_MODE for cell in cells)
}

#: The settings of each kind that any release has.
NAMES = {
    "brokers": [
        *(name for name in DEFAULTS if name not in _ONLY_OF_PRODUCERS | _ONLY_OF_CONTROLLERS),
        _BATCHING,
    ],
    "controllers": [*CONTROLLER_SETTINGS, *DECIDED_BY_CONTROLLERS],
    "producers": [*PRODUCER_SETTINGS, *CONNECTION_DEFAULTS],
    "consumers": [*CONSUMER_DEFAULTS, *CONNECTION_DEFAULTS],
    "topics": [*TOPIC_SETTINGS, *THROTTLED_REPLICAS],
}

_OFFSET_RESET = "auto.offset.reset"
#: KIP-1106, from the release on: the oldest record that is not older than an ISO 8601 duration.
_BY_DURATION, _FIRST_BY_DURATION = "by_duration:", Release.parse("4.0.0")
_ISO_DURATION = re.compile(
    r"P(?=[\dT])(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?", re.ASCII | re.IGNORECASE
)
_CHOICES: dict[str, tuple[int | str, ...]] = {
    "acks": ("all", "0", "1", "-1", 0, 1, -1),
    _OFFSET_RESET: ("earliest", "latest", "none"),
    STRATEGY: ("none", REBOOTSTRAP),
}

# A periodic action with an interval of 0 would repeat forever.
_MAY_BE_ZERO = {
    *(
        "replica.fetch.wait.max.ms",
        "replica.fetch.min.bytes",
        "leader.imbalance.per.broker.percentage",
    ),
    *("max.incremental.fetch.session.cache.slots", "log.initial.task.delay.ms"),
    *("metadata.max.idle.interval.ms", "controller.quorum.append.linger.ms"),
    *("controller.quorum.retry.backoff.ms", "metadata.log.max.snapshot.interval.ms"),
    *("isr_change_notification_quiet_ms", "isr_change_notification_max_delay_ms"),
    *("retries", "retry.backoff.ms", "fetch.max.wait.ms", "fetch.min.bytes"),
    "metadata.recovery.rebootstrap.trigger.ms",
    *THROTTLED_RATES,
    *("linger.ms", "batch.size", "max.block.ms"),
}
#: -1: as the operating system has them.
_SOCKET_BUFFERS = {
    *("socket.send.buffer.bytes", "socket.receive.buffer.bytes"),
    *("replica.socket.receive.buffer.bytes", "send.buffer.bytes", "receive.buffer.bytes"),
}
_LARGEST = 2**31 - 1
#: KafkaConfig.FetchMaxBytes@2.6.0. Consumers may ask for less.
_LEAST_OF_BROKERS = {("brokers", "fetch.max.bytes"): 1024}
_LARGEST_OF_ALL = 2**63 - 1
_LARGEST_OF_COUNTS = dict.fromkeys(
    (
        *("log.flush.interval.messages", *THROTTLED_RATES, ALTER_LOG_DIRS_RATE),
        *("metadata.log.max.record.bytes.between.snapshots", "metadata.max.retention.bytes"),
        "buffer.memory",
    ),
    _LARGEST_OF_ALL,
)
_LIKE_NO_VALUE = {type(None): "nothing", list: "a list", dict: "a mapping"}

# Their defaults are known, but they have no effect here.
_NOT_READ = {
    "queued.max.requests",
    *("fetch.purgatory.purge.interval.requests", "producer.purgatory.purge.interval.requests"),
    *("max.incremental.fetch.session.cache.slots", "log.flush.start.offset.checkpoint.interval.ms"),
}
#: The beginnings of settings that no broker reads with KRaft, and the alternative.
_ONLY_WITH_ZOOKEEPER = {
    "zookeeper.session.timeout.ms": "broker.session.timeout.ms in controllers.settings",
    "zookeeper.": "controllers",
    "isr.change.": "",
    "isr_change_notification_": "",
    "controlled.shutdown.max.retries": "",
    "controlled.shutdown.retry.backoff.ms": "",
    # Up to 3.9 KRaft's controller accepts it and ignores it; from 4.0 on there is none.
    "leader.imbalance.per.broker.percentage": "",
    "inter.broker.protocol.version": "metadata_version",
    "control.plane.listener.name": "",
}
_SAID_OTHERWISE = {
    "inter.broker.protocol.version": "protocol",
    "broker.rack": "cluster.racks",
    "broker.id": "cluster.brokers",
    "node.id": "cluster.brokers",
}
# Similar enough for a typing error; the names of Kafka's settings resemble each other.
_NEAR = 0.85


Value = bool | int | float | str


def _scalar(value: object) -> Value:
    if isinstance(value, int) and not -_LARGEST_OF_ALL <= value <= _LARGEST_OF_ALL:
        raise ValueError("must fit into 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"must be a finite number, not {value}")
    if not isinstance(value, bool | int | float | str):
        raise ValueError(
            f"must be one number, flag or text, not {_LIKE_NO_VALUE.get(type(value), 'this')}"
        )
    return value


#: Settings of brokers, topics, producers or consumers, as a scenario gives them.
Settings = dict[
    str,
    Annotated[
        Value,
        PlainValidator(_scalar),
        WithJsonSchema({"type": ["boolean", "integer", "number", "string"]}),
    ],
]


@cache
def is_internal(topic: str) -> bool:
    """Whether a topic is one of Kafka's own, whose records clients do not send themselves."""
    return topic.startswith("__")


def broker_defaults(release: str, mode: Mode) -> MappingProxyType[str, int]:
    """The defaults of a broker; flags are booleans."""
    others = _ONLY_OF_PRODUCERS
    if mode == KRAFT_MODE:
        others = others | set(SETTINGS_OF_CONTROLLERS)
    defaults = {
        name: value
        for name, value in defaults_of(release, mode).items()
        if isinstance(value, int) and name not in others
    }
    return MappingProxyType(defaults if mode == KRAFT_MODE else {**defaults, _BATCHING: True})


def controller_defaults(release: str) -> dict[str, int]:
    """The defaults of the controllers of a KRaft cluster; flags are booleans."""
    defaults = defaults_of(release, KRAFT_MODE)
    return {
        name: value
        for name, value in defaults.items()
        if name in CONTROLLER_SETTINGS and isinstance(value, int)
    }


def controllers_may_set(release: str) -> dict[str, int]:
    """The settings that controllers read, each with its default in brokers or controllers."""
    of_brokers = broker_defaults(release, KRAFT_MODE)
    decided = {name: of_brokers[name] for name in DECIDED_BY_CONTROLLERS}
    return controller_defaults(release) | decided


def producer_defaults(release: str) -> dict[str, int]:
    """The defaults of a producer; ``acks`` is -1 for all, flags are booleans."""
    defaults = defaults_of(release)
    return {
        name: _producer_value(name, defaults[name])
        for name in PRODUCER_SETTINGS
        if name in defaults
    }


def _producer_value(name: str, value: Value) -> int:
    if name == "acks":
        return acks_number(value)
    return value if isinstance(value, bool) else int(value)


def producer_settings(release: str, own: Mapping[str, Value]) -> dict[str, int]:
    """The settings of a producer as they come into force; ``acks`` is -1 for all.

    An idempotent producer changes the defaults of others, or is not idempotent: where only the
    default asks for it and a setting contradicts. The default of delivery.timeout.ms is raised to
    linger.ms + request.timeout.ms. Settings that Kafka refuses are refused by
    :func:`problems_of_idempotence` and by the coherence of scenarios.

    Source: KafkaProducer.configureAcks, configureRetries, configureInflightRequests@0.11.0.0,
    @1.1.0; ProducerConfig.postProcessAndValidateIdempotenceConfigs@3.2.0;
    KafkaProducer.configureDeliveryTimeout@2.1.0.
    """
    settings = producer_defaults(release)
    own = {name: value for name, value in own.items() if name in settings}
    settings |= {name: _producer_value(name, value) for name, value in own.items()}
    if settings.get(_IDEMPOTENCE):
        forced = {"acks": -1, "retries": _LARGEST, _IN_FLIGHT: _most_in_flight(release)}
        forced[_IN_FLIGHT] = min(settings[_IN_FLIGHT], forced[_IN_FLIGHT])
        settings |= {name: value for name, value in forced.items() if name not in own}
        settings[_IDEMPOTENCE] = not any(contradictions_of_idempotence(release, settings))
    if "delivery.timeout.ms" in settings:
        least = settings["linger.ms"] + settings["request.timeout.ms"]
        settings["delivery.timeout.ms"] = max(settings["delivery.timeout.ms"], least)
    return settings


def contradictions_of_idempotence(
    release: str, settings: Mapping[str, Value]
) -> Iterator[tuple[str, str]]:
    """Producer settings that contradict enable.idempotence, each with the required value."""
    if acks_number(settings["acks"]) != -1:
        yield "acks", "all"
    if settings["retries"] == 0:
        yield "retries", "more than 0"
    most = _most_in_flight(release)
    if int(settings[_IN_FLIGHT]) > most:
        yield _IN_FLIGHT, f"at most {most}"


def problems_of_idempotence(
    path: Path, release: str, own: Mapping[str, Value]
) -> Iterator[Problem]:
    """The settings that Kafka refuses as they contradict an enable.idempotence that is set.

    A contradiction to the default only disables idempotence.

    Source: ProducerConfig.postProcessAndValidateIdempotenceConfigs@3.2.0.
    """
    if own.get(_IDEMPOTENCE) is not True:
        return
    values = {**producer_settings(release, {_IDEMPOTENCE: True}), **own}
    for name, wanted in contradictions_of_idempotence(release, values):
        message = f"Kafka's producer does not start with enable.idempotence unless it is {wanted}"
        yield Problem((*path, name if name in own else _IDEMPOTENCE), message)


def _most_in_flight(release: str) -> int:
    """The most requests in flight of an idempotent producer (KAFKA-5494)."""
    return 5 if Release.parse(release) >= _FIVE_IN_FLIGHT else 1


def consumer_defaults(release: str) -> dict[str, int | str]:
    """The defaults of a consumer."""
    cells = cells_that_apply(CONSUMER_DEFAULTS, release)
    return {name: cell.value for name, cell in cells.items()} | connection_defaults(release)


def problems_of_consumer_settings(
    path: Path, settings: Mapping[str, Value], release: str
) -> Iterator[Problem]:
    """The problems of the settings of a group of consumers.

    Source: AutoOffsetResetStrategy.fromString@4.0.0.
    """
    written = str(settings.get(_OFFSET_RESET, ""))
    if written.startswith(_BY_DURATION):
        settings = {name: value for name, value in settings.items() if name != _OFFSET_RESET}
        if Release.parse(release) < _FIRST_BY_DURATION:
            message = f"by_duration needs release {_FIRST_BY_DURATION} or newer, not {release}"
            yield Problem((*path, _OFFSET_RESET), message)
        elif not _ISO_DURATION.fullmatch(written.removeprefix(_BY_DURATION)):
            message = f"must have an ISO 8601 duration, such as by_duration:PT1H, not {written}"
            yield Problem((*path, _OFFSET_RESET), message)
    yield from problems_of_settings(path, settings, "consumers", consumer_defaults(release))


def throttled_replicas(value: str) -> list[tuple[int, int]] | None:
    """The (partition, broker id) pairs of a topic's throttled replicas; None: all replicas.

    Raises:
        ValueError: the value is neither ``*`` nor pairs such as 0:1,0:2.

    Source: ConfigValidator ThrottledReplicaListValidator@2.6.0.
    """
    if value == "*":
        return None
    pairs = value.split(",") if value else []
    if not all(re.fullmatch(r"[0-9]{1,9}:[0-9]{1,9}", pair) for pair in pairs):
        raise ValueError(f"must be * or partition:broker pairs such as 0:1,0:2, not {value!r}")
    return [(int(number), int(broker)) for number, broker in (pair.split(":") for pair in pairs)]


def _with_log_dirs(settings: Settings) -> Settings:
    try:
        cordoned_log_dirs(settings.get(CORDONED_LOG_DIRS, ""))
    except ValueError as error:
        raise ProblemsError([Problem((CORDONED_LOG_DIRS,), str(error))]) from error
    return settings


#: Settings of brokers.
BrokerSettings = Annotated[Settings, AfterValidator(_with_log_dirs)]


def cordoned_log_dirs(value: Value) -> int:
    """The log directories that cordoned.log.dirs names: a bit for each, the first the lowest.

    Kafka's paths are numbers here, from 1 to the ``log_directories`` of the cluster.

    Raises:
        ValueError: the value is neither ``*`` nor numbers such as 1,2.

    Source: KafkaConfig.cordonedLogDirs@4.3.0.
    """
    if value == "*":
        return _ALL_LOG_DIRS
    numbers = str(value).split(",") if value != "" else []
    if isinstance(value, bool) or not all(re.fullmatch(r"[1-9][0-9]?", each) for each in numbers):
        raise ValueError(f"must be * or numbers of log directories such as 1,2, not {value!r}")
    return sum(1 << int(number) - 1 for number in set(numbers)) & _ALL_LOG_DIRS


def acks_number(acks: Value) -> int:
    """``acks`` as in a request: all is -1."""
    return -1 if acks == "all" else int(acks)


def settings_not_modelled(
    path: Path, settings: Mapping[str, Value], kind: str, defaults: Mapping[str, int | str]
) -> Iterator[str]:
    """The settings of a kind (see ``NAMES``) without effect, and the reason if it is unusual."""
    for name, value in settings.items():
        is_compacted = name.endswith("cleanup.policy") and "compact" in str(value)
        # Retention does not change while the cluster runs.
        if name in RETENTION_SETTINGS.get(kind, ()) and path[0] != "steps" and not is_compacted:
            continue
        if name in (REPLICA_SELECTOR, CORDONED_LOG_DIRS) and kind == "brokers":
            continue
        if name == _OFFSET_RESET and str(value).startswith(("none", _BY_DURATION)):
            yield f"{path_text(path)}.{name}: {value} is simulated as earliest"
            continue
        is_read = name in NAMES[kind] and (name in defaults or name not in ONLY_WITH_KRAFT)
        if is_read and (name not in _NOT_READ or value == defaults.get(name)):
            continue
        place = f"{path_text(path)}.{name}"
        if kind == "controllers" and name in NAMES["brokers"]:
            yield f"{place}: is read of brokers only"
        elif name == "client.rack" and kind == "consumers":
            yield f"{place}: in a scenario, use rack"
        elif name in _SAID_OTHERWISE and kind == "brokers":
            yield f"{place}: in a scenario, use {_SAID_OTHERWISE[name]}"
        elif not is_of_no_release(name, kind):
            yield place
        else:
            yield f"{place}: Kafka has no setting of this name for {kind}"


def is_of_no_release(name: str, kind: str) -> bool:
    """Whether no release of Kafka has such a setting of brokers, topics, producers or consumers."""
    # A file of a controller may have any setting of a broker.
    names = {*NAMES[kind], *(NAMES["brokers"] if kind == "controllers" else ())}
    return name not in names and not is_known_to_kafka(name, kind)


def meant_setting(name: str, kind: str) -> str | None:
    """The setting that a misspelled name means: Kafka has a setting of nearly this name."""
    if not all(is_of_no_release(name, each) for each in NAMES):
        return None
    near = get_close_matches(name, [*NAMES[kind], *KAFKA_NAMES[kind]], 1, _NEAR)
    return near[0] if near else None


def problems_of_settings(
    path: Path, settings: Mapping[str, Value], kind: str, defaults: Mapping[str, int | str]
) -> Iterator[Problem]:
    """The problems of settings of a kind (see ``NAMES``) with these defaults.

    As in Kafka, a broker with ZooKeeper may have settings of KRaft: they have no effect.
    """
    is_with_zookeeper = SESSION_TIMEOUTS[ZOOKEEPER_MODE] in defaults
    for name, value in settings.items():
        if name == REPLICA_SELECTOR and kind == "brokers":
            message = _wrong_selector(value)
        elif name == CORDONED_LOG_DIRS and kind == "brokers":
            continue
        elif name in defaults:
            message = _wrong_value(name, value, defaults[name], kind)
        elif kind == "brokers" and is_with_zookeeper and name in ONLY_WITH_KRAFT:
            continue
        else:
            message = _wrong_place(name, kind)
        if message:
            yield Problem((*path, name), message)


def problems_of_settings_with_kraft(path: Path, settings: Mapping[str, Value]) -> Iterator[Problem]:
    """The settings of brokers that have no meaning with KRaft, each with its alternative."""
    for name in settings:
        instead = instead_with_kraft(name)
        if instead is not None:
            message = "has no meaning in mode kraft: it is a setting of ZooKeeper mode"
            yield Problem((*path, name), f"{message}; use {instead}" if instead else message)


def instead_with_kraft(name: str) -> str | None:
    """The alternative to a setting of ZooKeeper mode, maybe empty; None: KRaft has the setting."""
    begin = next((begin for begin in _ONLY_WITH_ZOOKEEPER if name.startswith(begin)), None)
    return None if begin is None else _ONLY_WITH_ZOOKEEPER[begin]


def problems_of_topic_settings(
    path: Path, settings: Mapping[str, Value], release: str, mode: Mode
) -> Iterator[Problem]:
    """The problems of the settings of a topic."""
    defaults = broker_defaults(release, mode)
    known: dict[str, int | str] = {name: defaults[name] for name in TOPIC_SETTINGS}
    known |= dict.fromkeys(THROTTLED_REPLICAS, "")
    yield from problems_of_settings(path, settings, "topics", known)


def _wrong_selector(value: Value) -> str | None:
    if value in REPLICA_SELECTORS:
        return None
    return f"must be one of {', '.join(REPLICA_SELECTORS)}, not {value}"


def _wrong_place(name: str, kind: str) -> str | None:
    if kind == "brokers" and name in SETTINGS_OF_CONTROLLERS:
        # Settings of ZooKeeper's controller, which is a broker, too: only KRaft gets here.
        return "is a setting of controllers in mode kraft; use controllers.settings"
    if name in NAMES[kind]:
        since = (DEFAULTS.get(name) or CONNECTION_DEFAULTS[name])[0].since
        return f"this release does not have it yet: it was added in {since}"
    others = [other for other, names in NAMES.items() if name in names]
    if others and is_of_no_release(name, kind):
        return f"is a setting of {' and '.join(others)}, not of {kind}"
    meant = meant_setting(name, kind)
    return f"Kafka has no setting of this name: did you mean {meant}?" if meant else None


def _wrong_value(name: str, value: Value, default: int | str, kind: str) -> str | None:
    is_flag = isinstance(value, bool)
    if name in THROTTLED_REPLICAS:
        return _wrong_throttled_replicas(value)
    if name in _CHOICES:
        if is_flag or value not in _CHOICES[name]:
            choices = [choice for choice in _CHOICES[name] if isinstance(choice, str)]
            return f"must be one of {', '.join(choices)}, not {value}"
    elif isinstance(default, bool):
        if not is_flag:
            return f"must be true or false, not {value}"
    elif is_flag or not isinstance(value, int):
        return f"must be a whole number, not {value}"
    elif name not in _SOCKET_BUFFERS or value != -1:
        least = _LEAST_OF_BROKERS.get((kind, name), 0 if name in _MAY_BE_ZERO else 1)
        largest = _LARGEST_OF_COUNTS.get(name, _LARGEST)
        if not least <= value <= largest:
            return f"must be from {least} to {largest}, not {value}"
    return None


def _wrong_throttled_replicas(value: Value) -> str | None:
    try:
        throttled_replicas(str(value))
    except ValueError as error:
        return str(error)
    return None
