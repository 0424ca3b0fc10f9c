"""The configuration of a cluster as its own lines tell it: release, features and settings.

A printed value ran, so it comes before a default and before a file that lies beside the logs. A
value that no line prints is assumed, and a line of the output says so.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tidegauge.real_cluster.logs import log_events
from tidegauge.real_cluster.logs.broker_states import of_kind
from tidegauge.real_cluster.logs.log_events import LogEvent
from tidegauge.real_cluster.logs.log_files import LogFile, LogsError
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.replication.release_versions import (
    DEFAULT_RELEASES,
    KRAFT_MODE,
    LAST_PATCH,
    ZOOKEEPER_MODE,
    Mode,
    ProtocolVersion,
    Release,
)
from tidegauge.scenario.model.settings import SESSION_TIMEOUTS, broker_defaults, controller_defaults

_ELR_FEATURE = "eligible.leader.replicas.version"
#: The first lines whose logs have a history of partitions; and of brokers.
_FIRST_LINES: Mapping[Mode, tuple[int, ...]] = {ZOOKEEPER_MODE: (2, 4), KRAFT_MODE: (3, 3)}
_FIRST_LINE_WITH_FENCES = (3, 6)
_TOO_OLD: Mapping[Mode, str] = {
    ZOOKEEPER_MODE: "leaders before 2.4 log changes of the ISR at level TRACE only",
    KRAFT_MODE: "KRaft before 3.3 was not fit for production (KIP-833), and is not simulated",
}
_FIRST_LINE_WITHOUT_ZOOKEEPER = (4, 0)

Value = int | bool | str


class LoggedRelease(NamedTuple):
    """The release of a cluster's nodes."""

    #: Of Apache Kafka: "4.1.0".
    number: str
    #: A line names it; else it is the newest one with the mode.
    is_logged: bool
    notices: tuple[str, ...] = ()


class LoggedSettings(NamedTuple):
    """The settings that nodes print when they start."""

    #: Those on which all brokers agree.
    common: dict[str, Value]
    #: By broker, where they differ.
    own: dict[int, dict[str, Value]]
    #: Of a quorum's controllers; brokers print them, too, mostly of one configuration ...
    controllers: dict[str, Value]
    #: ... but only controllers know them.
    controllers_print: bool = True
    notices: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of those that the nodes print for which they count."""
        of_controllers = self.controllers if self.controllers_print else ()
        own = (name for values in self.own.values() for name in values)
        return sorted({*self.common, *of_controllers, *own})


class LoggedFeatures(NamedTuple):
    """The features of a quorum."""

    #: None: that of the release, or unknown.
    metadata_version: str | None
    has_eligible_leader_replicas: bool
    #: A line shows whether it has them; else it is the default of a new cluster.
    is_logged: bool


class ShownByPartitions(NamedTuple):
    """The parts of partitions' lines that show whether there are eligible leader replicas."""

    #: The ISRs of partitions without a leader.
    leaderless_isrs: set[tuple[int, ...]]
    #: A partition has an eligible leader replica.
    has_eligible_leader: bool


class Configuration(NamedTuple):
    """The configuration of a cluster."""

    mode: Mode
    release: LoggedRelease
    features: LoggedFeatures
    settings: LoggedSettings
    #: 0: no line has it.
    session_timeout_ms: int

    @property
    def notices(self) -> list[str]:
        """Lines about all that is not as printed."""
        return [*self.release.notices, *self.settings.notices]


def configuration_of(
    events: Sequence[LogEvent],
    files: Collection[LogFile],
    shown: ShownByPartitions,
) -> Configuration:
    """The configuration that lines tell.

    Args:
        events: all events, in the order of time.
        files: the files of all nodes.
        shown: by the lines about partitions.

    Raises:
        LogsError: the release is too old.
    """
    mode = _mode_of(events)
    release = _release_of(of_kind(events, log_events.KafkaVersion), mode)
    settings = _settings_of(events, files, release.number, mode)
    features = LoggedFeatures(None, has_eligible_leader_replicas=False, is_logged=True)
    if mode == KRAFT_MODE:
        features = _features_of(events, release.number, shown)
    of_session = settings.controllers if mode == KRAFT_MODE else settings.common
    session_timeout_ms = int(of_session.get(SESSION_TIMEOUTS[mode], 0))
    return Configuration(mode, release, features, settings, session_timeout_ms)


#: Only a cluster with KRaft has such events.
_OF_QUORUM = (
    log_events.QuorumNodeStarting,
    log_events.RegisterBrokerRecord,
    log_events.BrokerRegistrationChangeRecord,
    log_events.QuorumLeader,
    log_events.ActiveController,
    log_events.Incarnation,
    log_events.FeatureLevel,
    log_events.MetadataVersion,
)


def _mode_of(events: Sequence[LogEvent]) -> Mode:
    versions = of_kind(events, log_events.KafkaVersion)
    is_new = any(
        _line_of(_apache_release(each)) >= _FIRST_LINE_WITHOUT_ZOOKEEPER for each in versions
    )
    is_kraft = is_new or any(isinstance(event, _OF_QUORUM) for event in events)
    return KRAFT_MODE if is_kraft else ZOOKEEPER_MODE


#: Builds of Confluent, whose releases have numbers of their own.
_CONFLUENT = re.compile(r"(?:^|-)(?:ccs|ce)(?:-|$)")
#: The line of Apache Kafka in the first release of each of Confluent's majors; from 7 on the minor
#: is the same, and the major is larger by 4.
_FIRST_LINE_OF_CONFLUENT = {5: (2, 0), 6: (2, 6)}


def _apache_release(version: log_events.KafkaVersion) -> str:
    """The number of Apache Kafka's release, of a line that may name one of Confluent."""
    numbers = [*map(int, version.release.split("."))]
    if _CONFLUENT.search(version.build) is None or numbers[0] < min(_FIRST_LINE_OF_CONFLUENT):
        return version.release
    major, minor = _FIRST_LINE_OF_CONFLUENT.get(numbers[0], (numbers[0] - 4, 0))
    line = f"{major}.{minor + numbers[1]}"
    # Patches are Confluent's own.
    return f"{line}.{min(numbers[2] if numbers[2:] else 0, LAST_PATCH.get(line, 0))}"


def _line_of(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")[:2]))


def _release_of(versions: Sequence[log_events.KafkaVersion], mode: Mode) -> LoggedRelease:
    """The release that most nodes have printed last: they may have been upgraded."""
    if not versions:
        return LoggedRelease(DEFAULT_RELEASES[mode], is_logged=False)
    last = {each.node: _apache_release(each) for each in versions}
    counts = Counter(last.values())
    chosen = max(counts, key=lambda release: (counts[release], _line_of(release)))
    printed = sorted({each.printed for each in versions if _apache_release(each) == chosen})
    name = f"Kafka {chosen}" if printed == [chosen] else f"Kafka {' or '.join(printed)}"
    line, notices = _line_of(chosen), []
    if line < _FIRST_LINES[mode]:
        raise LogsError(f"{name} is too old for its logs to be read: {_TOO_OLD[mode]}")
    if printed != [chosen]:
        notices.append(f"{name} is read as Apache Kafka {chosen}")
    releases = {_apache_release(each) for each in versions}
    if len(releases) > 1:
        others = ", ".join(sorted(releases, key=_line_of))
        notices.append(f"nodes print several releases ({others}): read as {chosen}")
    if mode == KRAFT_MODE and line < _FIRST_LINE_WITH_FENCES:
        notices.append("controllers of KRaft before 3.6 log no fence: brokers' states are missing")
    try:
        number = str(Release.parse(chosen))
    except ValueError:
        number = str(Release.parse(".".join(map(str, line))))
        notices.append(f"no release {chosen} of Kafka is known: it is read as {number}")
    return LoggedRelease(number, is_logged=True, notices=tuple(notices))


def _features_of(
    events: Sequence[LogEvent], release: str, shown: ShownByPartitions
) -> LoggedFeatures:
    """The features of a quorum.

    Without eligible leader replicas the last member of an ISR stays in it, with them it does not
    (KIP-966). So the ISR of a partition without a leader shows it, where no record of the feature
    does. Source: PartitionChangeBuilder.build@4.1.0.
    """
    levels = {each.name: each.level for each in of_kind(events, log_events.FeatureLevel)}
    named = [each.version for each in of_kind(events, log_events.MetadataVersion)][-1:]
    version = _known_version(levels.get("metadata.version", "".join(named)), release)
    cells = kraft_cells_of(release, version)
    lists = of_kind(events, log_events.FinalizedFeatures)
    is_on: bool | None = None
    if lists:
        is_on = f"{_ELR_FEATURE}=" in lists[-1].features
    elif _ELR_FEATURE in levels:
        is_on = levels[_ELR_FEATURE] not in ("", "0")
    elif shown.has_eligible_leader or shown.leaderless_isrs:
        is_on = shown.has_eligible_leader or not all(shown.leaderless_isrs)
    if is_on is None and not cells["eligible_leader_replicas_possible"].value:
        is_on = False
    by_default = bool(cells["eligible_leader_replicas_by_default"].value)
    return LoggedFeatures(version, by_default if is_on is None else is_on, is_on is not None)


def _known_version(text: str, release: str) -> str | None:
    """A metadata.version as a scenario takes it; None: that of the release, or an unknown one."""
    parsed = Release.parse(release)
    try:
        version = parsed.metadata_version(str(ProtocolVersion.parse(text)))
    except ValueError:
        return None
    return None if version == parsed.metadata_version() else str(version)


def _settings_of(
    events: Sequence[LogEvent], files: Collection[LogFile], release: str, mode: Mode
) -> LoggedSettings:
    roles = {file.node: file.node_role for file in files}
    #: By node: the last value that it prints.
    printed: dict[int, dict[str, Value]] = defaultdict(dict)
    for setting in of_kind(events, log_events.Setting):
        printed[setting.node][setting.name] = value_of(setting.value.strip())
    of_brokers = {node: own for node, own in printed.items() if roles.get(node) != "controller"}
    common, own = _common(of_brokers, broker_defaults(release, mode))
    settings = LoggedSettings(common, own, {})
    if mode == ZOOKEEPER_MODE:
        return _with_negotiated(settings, events)
    of_quorum = {node: own for node, own in printed.items() if roles.get(node) != "broker"}
    agreed, differing = _common(of_quorum or printed, controller_defaults(release))
    names = sorted({name for values in differing.values() for name in values})
    notices = [
        f"controllers print different values of {name}: assumed is the default" for name in names
    ]
    return settings._replace(
        controllers=agreed, controllers_print=bool(of_quorum), notices=tuple(notices)
    )


def _common(
    printed: Mapping[int, Mapping[str, Value]], known: Mapping[str, int]
) -> tuple[dict[str, Value], dict[int, dict[str, Value]]]:
    """The known settings on which all nodes agree, and by node those on which they do not."""
    values: dict[str, set[Value]] = defaultdict(set)
    for own in printed.values():
        for name, value in own.items():
            if name in known and type(value) is type(known[name]):
                values[name].add(value)
    common = {name: next(iter(found)) for name, found in sorted(values.items()) if len(found) == 1}
    differing = {name for name in values if name not in common}
    return common, {
        node: {name: own[name] for name in sorted(differing & own.keys())}
        for node, own in sorted(printed.items())
        if differing & own.keys()
    }


def _with_negotiated(settings: LoggedSettings, events: Sequence[LogEvent]) -> LoggedSettings:
    """The settings with the session timeout that ZooKeeper has granted: its ticks bound it."""
    name = SESSION_TIMEOUTS[ZOOKEEPER_MODE]
    granted = {each.timeout_ms for each in of_kind(events, log_events.SessionNegotiated)}
    if len(granted) != 1:
        return settings
    timeout_ms = next(iter(granted))
    notices = list(settings.notices)
    if settings.common.get(name, timeout_ms) != timeout_ms:
        notices.append(
            f"ZooKeeper has granted sessions of {timeout_ms} ms, and not {name} ="
            f" {settings.common[name]}"
        )
    own = {
        node: {each: value for each, value in values.items() if each != name}
        for node, values in settings.own.items()
    }
    return settings._replace(
        common=settings.common | {name: timeout_ms}, own=own, notices=tuple(notices)
    )


def value_of(text: str) -> Value:
    """A printed value: a flag, an integer, or a text."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else text
