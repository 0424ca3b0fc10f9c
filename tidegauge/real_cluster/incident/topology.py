"""The cluster of a proposed scenario: brokers, controllers, settings, and their origin.

Settings come from ``server.properties`` if there are any, else from the scenario in the run's
manifest, else they are the release's defaults. Only those that differ from these are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegauge.real_cluster.describe.cluster_settings import broker_files, cluster_settings
from tidegauge.real_cluster.describe.described_quorum import described_quorum
from tidegauge.real_cluster.describe.input_file import Notice, named
from tidegauge.real_cluster.describe.server_properties import ServerProperties
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory
from tidegauge.replication.release_versions import KRAFT_MODE, Mode, Release
from tidegauge.scenario.model.settings import broker_defaults, controller_defaults

_COUNTS = (1, 3, 5)


@dataclass
class Topology:
    """The parts of a scenario that do not change during the run."""

    release: str
    mode: Mode
    #: Settings of all brokers, as written.
    settings: dict[str, Any] = field(default_factory=dict)
    #: By broker, only of those that differ.
    own: dict[int, dict[str, Any]] = field(default_factory=dict)
    racks: dict[str, list[int]] = field(default_factory=dict)
    controller_settings: dict[str, Any] = field(default_factory=dict)
    controller_count: int = 3
    #: Controllers in the order of their numbers in the scenario.
    controllers: list[int] = field(default_factory=list)
    #: Further fields of the scenario, such as metadata_version.
    versions: dict[str, Any] = field(default_factory=dict)
    tick_ms: int | None = None
    notices: list[Notice] = field(default_factory=list)

    def value(self, name: str) -> int:
        """A setting of brokers or controllers, in its own unit: as written, or the default."""
        if self.mode == KRAFT_MODE and name in self._controller_defaults:
            written, defaults = self.controller_settings, self._controller_defaults
        else:
            written, defaults = self.settings, broker_defaults(self.release, self.mode)
        return int(written.get(name, defaults[name]))

    def is_written(self, name: str) -> bool:
        """Whether a setting is not just the default of the release."""
        return name in self.settings or name in self.controller_settings

    @property
    def _controller_defaults(self) -> dict[str, int]:
        return controller_defaults(self.release)

    def selector(self, member: int) -> int | str:
        """A broker or a controller of the quorum, as faults name it."""
        if member in self.controllers:
            return f"controller:{self.controllers.index(member)}"
        return member


def topology_of(history: ClusterHistory, properties: Sequence[ServerProperties]) -> Topology:
    """The cluster of a run.

    Raises:
        InputError: a file of properties cannot be used.
    """
    release = Release.parse(history.release)
    topology = Topology(history.release, release.mode(history.mode))
    _take_from_manifest(topology, history)
    if properties:
        _take_properties(topology, history, properties)
    elif history.is_from_logs:
        text = (
            f"no server.properties: timeouts are the defaults of {history.release}; give the files "
            "of the brokers if theirs differ, since deaths are dated by them"
        )
        topology.notices.append(Notice("settings", text))
    return topology


def _take_from_manifest(topology: Topology, history: ClusterHistory) -> None:
    scenario = history.scenario
    cluster = scenario.get("cluster", {})
    defaults = broker_defaults(topology.release, topology.mode)
    topology.settings = _different(cluster.get("settings", {}), defaults)
    topology.own = {
        int(broker): _different(settings, defaults | topology.settings)
        for broker, settings in cluster.get("broker_settings", {}).items()
    }
    topology.racks = {
        str(rack): [int(broker) for broker in brokers]
        for rack, brokers in cluster.get("racks", {}).items()
    }
    if len(topology.racks) < 2:  # noqa: PLR2004 - all in one rack is none
        topology.racks = {}
    names = ("protocol", "metadata_version", "eligible_leader_replicas")
    topology.versions = {name: scenario[name] for name in names if scenario.get(name) is not None}
    controllers = scenario.get("controllers", {})
    topology.tick_ms = scenario.get("zookeeper", {}).get("tick_ms")
    if topology.mode == KRAFT_MODE:
        own = controllers.get("settings", {})
        topology.controller_settings = _different(own, controller_defaults(topology.release))
        topology.controller_count = int(controllers.get("count", 3))


def _different(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if defaults.get(name) != value}


def _take_properties(
    topology: Topology, history: ClusterHistory, properties: Sequence[ServerProperties]
) -> None:
    files = broker_files(list(properties))
    found = cluster_settings(files, history.brokers, topology.release, topology.mode)
    topology.settings, topology.own, topology.racks = found.common, found.own, found.racks
    topology.notices += [*files.notices, *found.notices]
    if topology.mode == KRAFT_MODE:
        # Of no rack: logs tell of each controller by itself, also when a rack is lost.
        quorum = described_quorum(files, {}, topology.release)
        topology.notices += quorum.notices
        topology.controller_settings = dict(quorum.data.get("settings", {}))
        topology.controller_count = int(quorum.data["count"])


def number_controllers(topology: Topology, history: ClusterHistory) -> None:
    """Number the controllers: the first active one is 0, which leads the quorum at the start."""
    active = [
        term.controller
        for term in history.terms
        if term.controller is not None and term.controller in history.controllers
    ]
    ids = list(dict.fromkeys([*active, *history.controllers]))
    topology.controllers = ids
    known = max(len(ids), 1)
    count = next((count for count in _COUNTS if count >= known), _COUNTS[-1])
    if history.controllers:
        topology.controller_count = count
        numbers = ", ".join(f"{node} is controller:{place}" for place, node in enumerate(ids))
        topology.notices.append(Notice("controllers", f"by their first term as active: {numbers}"))
    if count != known:
        text = f"{known} controllers are known ({named(ids)}); simulated are {count}"
        topology.notices.append(Notice("controllers", text))
