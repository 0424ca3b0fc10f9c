"""The conversion of a scenario: its two modes, and its changes so far.

Settings in the other mode: those of brokers, controllers, topics and clients.

Session timeouts are not converted: with ZooKeeper it is the client's, up to a tick more; with KRaft
the controller's, counted from the last heartbeat. The target has its own default.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode, Release
from tidegauge.scenario.model.parts import connection_defaults
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import (
    CORDONED_LOG_DIRS,
    NAMES,
    ONLY_WITH_KRAFT,
    SESSION_TIMEOUTS,
    SETTINGS_OF_CONTROLLERS,
    broker_defaults,
    consumer_defaults,
    controller_defaults,
    instead_with_kraft,
    producer_defaults,
)
from tidegauge.scenario.text.errors import Path, Problem, path_text


class Change(NamedTuple):
    """A part of a scenario that is changed or left out in the other mode, and how."""

    path: Path
    text: str

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.text}"


class NotConvertibleError(TidegaugeError):
    """A part of a scenario that the target has no counterpart of."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(path, message)


@dataclass
class Conversion:
    """The two modes of a conversion, and the changes so far."""

    #: As it is in its own mode.
    scenario: Scenario
    mode: Mode
    #: In full, such as 4.1.1.
    release: str
    changes: list[Change] = field(default_factory=list)

    @property
    def to_kraft(self) -> bool:
        """Whether ZooKeeper is left for KRaft."""
        return self.mode == KRAFT_MODE and not self.scenario.has_kraft

    @property
    def to_zookeeper(self) -> bool:
        """Whether KRaft is left for ZooKeeper."""
        return self.mode != KRAFT_MODE and self.scenario.has_kraft

    @property
    def leaves_mode(self) -> bool:
        """Whether the mode changes, and not the release alone."""
        return self.to_kraft or self.to_zookeeper

    def note(self, path: Path, text: str) -> None:
        """Add a change."""
        self.changes.append(Change(path, text))

    def knows(self, version: str | None) -> bool:
        """Whether the target's release knows a protocol version or metadata.version."""
        try:
            Release.parse(self.release).version(self.mode, version)
        except ValueError:
            return False
        return True


def without(part: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """A copy of a mapping without some of its keys."""
    return {name: value for name, value in part.items() if name not in names}


#: The setting of one mode, and the one with another meaning that the other has.
_SESSION_WITH_ZOOKEEPER = SESSION_TIMEOUTS[ZOOKEEPER_MODE]
_SESSION_WITH_KRAFT = SESSION_TIMEOUTS[KRAFT_MODE]

#: The reason why a setting is left out; None: it stays.
_Reason = Callable[[str], str | None]


def _filtered(
    to: Conversion, path: Path, settings: Mapping[str, Any], reason: _Reason
) -> dict[str, Any]:
    """The settings that stay; the others are noted."""
    kept = {}
    for name, value in settings.items():
        because = reason(name)
        if because is None:
            kept[name] = value
        else:
            to.note((*path, name), because)
    return kept


def with_settings(part: Mapping[str, Any], name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """A part with these settings in that field; without the field, if there are none."""
    return {**part, name: settings} if settings else without(part, name)


def cluster_and_controllers(
    to: Conversion, cluster: Mapping[str, Any], controllers: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts ``cluster`` and ``controllers`` with their settings; some move between them."""
    path: Path = ("cluster", "settings")
    written = dict(cluster.get("settings") or {})
    own = dict(controllers.get("settings") or {})
    if to.to_kraft:
        moved = {name: written[name] for name in written if name in SETTINGS_OF_CONTROLLERS}
        for name in moved:
            now = "; it has an effect now" if name in ONLY_WITH_KRAFT else ""
            to.note((*path, name), f"a setting of controllers: moved to controllers.settings{now}")
        own, written = own | moved, without(written, *moved)
    elif to.to_zookeeper:
        moved = {name: own[name] for name in own if _is_of_brokers(name)}
        for name in moved:
            text = "a setting of brokers with ZooKeeper: moved to cluster.settings"
            to.note(("controllers", "settings", name), text)
        own, written = without(own, *moved), written | moved
    settings = _filtered(to, path, written, _of_brokers(to))
    own = _filtered(to, ("controllers", "settings"), own, _of_controllers(to))
    changed = with_settings(cluster, "settings", settings)
    if cluster.get("broker_settings"):
        changed["broker_settings"] = _of_single_brokers(to, cluster["broker_settings"])
    return changed, with_settings(controllers, "settings", own)


def _is_of_brokers(name: str) -> bool:
    """Whether a setting of KRaft's controllers is one of brokers with ZooKeeper."""
    return name in SETTINGS_OF_CONTROLLERS and name not in ONLY_WITH_KRAFT


def _of_single_brokers(
    to: Conversion, by_broker: Mapping[int, Mapping[str, Any]]
) -> dict[int, dict[str, Any]]:
    """Settings of single brokers: none of these is a controller with KRaft."""
    stays = _of_brokers(to)

    def reason(name: str) -> str | None:
        if to.to_kraft and name in SETTINGS_OF_CONTROLLERS:
            return "left out: with KRaft a setting of controllers, which all have"
        return stays(name)

    return {
        broker: _filtered(to, ("cluster", "broker_settings", broker), settings, reason)
        for broker, settings in by_broker.items()
    }


def _of_brokers(to: Conversion) -> _Reason:
    known = broker_defaults(to.release, to.mode)

    def reason(name: str) -> str | None:
        if to.to_kraft and name == _SESSION_WITH_ZOOKEEPER:
            default = controller_defaults(to.release)[_SESSION_WITH_KRAFT]
            return f"left out, not converted: {_SESSION_WITH_KRAFT} has its default ({default})"
        if to.to_kraft and instead_with_kraft(name) is not None:
            return "left out: a setting of ZooKeeper mode"
        if to.to_zookeeper and name in ONLY_WITH_KRAFT:
            return "left out: a setting of KRaft mode"
        is_new = name in NAMES["brokers"] and name not in known and name not in ONLY_WITH_KRAFT
        if is_new or (name == CORDONED_LOG_DIRS and not _has_cordons(to)):
            return _not_there(to)
        return None

    return reason


def _has_cordons(to: Conversion) -> bool:
    """Whether log directories can be cordoned."""
    is_known = to.mode == KRAFT_MODE and kraft_cells_of(to.release)["cordoned_directories_known"]
    return bool(is_known and is_known.value)


def _of_controllers(to: Conversion) -> _Reason:
    def reason(name: str) -> str | None:
        if to.to_zookeeper and name == _SESSION_WITH_KRAFT:
            default = broker_defaults(to.release, to.mode)[_SESSION_WITH_ZOOKEEPER]
            return f"left out, not converted: {_SESSION_WITH_ZOOKEEPER} has its default ({default})"
        if to.to_zookeeper:
            return "left out: a setting of KRaft mode"
        if name in NAMES["controllers"] and name not in controller_defaults(to.release):
            return _not_there(to)
        return None

    return reason


def configured_settings(to: Conversion, path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a step changes, of a topic or of brokers."""

    def reason(name: str) -> str | None:
        is_missing = name == CORDONED_LOG_DIRS and not _has_cordons(to)
        return _not_there(to) if is_missing else None

    return _filtered(to, path, settings, reason)


def workload(to: Conversion, written: Mapping[str, Any]) -> dict[str, Any]:
    """The clients, with the settings that their release has."""
    known = {
        "producers": {*producer_defaults(to.release), *connection_defaults(to.release)},
        "consumers": {*consumer_defaults(to.release)},
    }
    changed = dict(written)
    for kind, names in known.items():
        groups = []
        for place, group in enumerate(written.get(kind) or ()):
            path: Path = ("workload", kind, place, "settings")

            def reason(
                name: str, kind: str = kind, names: frozenset[str] = frozenset(names)
            ) -> str | None:
                is_new = name in NAMES[kind] and name not in names
                return _not_there(to) if is_new else None

            kept = _filtered(to, path, group.get("settings") or {}, reason)
            groups.append(with_settings(group, "settings", kept))
        if groups:
            changed[kind] = groups
    return changed


def _not_there(to: Conversion) -> str:
    return f"left out: release {to.release} does not have it"
