"""The cluster of a proposed scenario: brokers, controllers, settings, and their origin.

Settings that nodes print in logs come first, as the manifest has them; then those of
``server.properties``, if there are any, else of the scenario in the run's manifest; then the
release's defaults. Only those that differ from these are written.

The settings also bound the time for which a failure stays unnoticed. A session ends a timeout after
the last heartbeat that arrived, which was up to an interval before the death. So the death is known
up to that interval, and up to the period of the check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.cluster_settings import broker_files, cluster_settings
from tidegauge.real_cluster.describe.described_quorum import described_quorum
from tidegauge.real_cluster.describe.input_file import Notice, named
from tidegauge.real_cluster.describe.server_properties import ServerProperties
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.replication.release_versions import KRAFT_MODE, Mode, Release
from tidegauge.runs.quorum import id_of_key
from tidegauge.scenario.model.settings import SESSION_TIMEOUTS, broker_defaults, controller_defaults

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
    #: Ids of the first voters, if they may change; None: the voters are static.
    first_voters: list[int] | None = None
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

    @property
    def _controller_defaults(self) -> Mapping[str, int]:
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
    release = str(history.scenario["release"])
    topology = Topology(release, Release.parse(release).mode(str(history.scenario["mode"])))
    _take_from_manifest(topology, history)
    newer = Release.parse(release).newer_than_known
    if newer is not None:
        topology.notices.append(Notice("release", newer))
    session_timeout = SESSION_TIMEOUTS[topology.mode]
    if properties:
        _take_properties(topology, history, properties)
    elif history.is_from_logs and session_timeout not in history.logged_settings:
        text = (
            f"no server.properties, and no line prints {session_timeout}: taken are "
            f"{topology.value(session_timeout)} ms; give the files of the nodes if theirs differ, "
            "since deaths are dated by it"
        )
        topology.notices.append(Notice("settings", text))
    topology.notices += [Notice("release", text) for text in history.notices]
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
    printed = replace(topology)
    topology.settings, topology.own, topology.racks = found.common, found.own, found.racks
    topology.notices += [*files.notices, *found.notices]
    if topology.mode == KRAFT_MODE:
        # Without racks: logs name each controller by itself, also when a rack is lost.
        voters = _first_voters(history) or ()
        quorum = described_quorum(files, {}, topology.release, logged_voters=voters)
        topology.notices += quorum.notices
        topology.controller_settings = dict(quorum.data.get("settings", {}))
        topology.controller_count = int(quorum.data["count"])
    _prefer_printed(topology, printed, history.logged_settings)


def _prefer_printed(topology: Topology, printed: Topology, names: frozenset[str]) -> None:
    """Take the settings that nodes print in logs, in place of those that files have.

    Args:
        topology: with the settings of files.
        printed: with those of logs.
        names: of the settings that nodes print.
    """

    def preferred(files: Mapping[str, Any], logs: Mapping[str, Any]) -> dict[str, Any]:
        for name in sorted(names & files.keys()):
            told = logs.get(name, printed.value(name))
            if files[name] != told:
                text = f"{name} is {told}, as nodes print it; a file has {files[name]}"
                topology.notices.append(Notice("settings", text))
        kept = {name: value for name, value in files.items() if name not in names}
        return kept | {name: value for name, value in logs.items() if name in names}

    topology.settings = preferred(topology.settings, printed.settings)
    topology.controller_settings = preferred(
        topology.controller_settings, printed.controller_settings
    )
    topology.own = {
        broker: preferred(topology.own.get(broker, {}), printed.own.get(broker, {}))
        for broker in sorted({*topology.own, *printed.own})
    }


def heed_losses(topology: Topology, history: ClusterHistory, sightings: Sightings) -> None:
    """Take no session timeout that the loss of a broker contradicts, unless nodes print it.

    A session ends a timeout after the last heartbeat that arrived, up to the period of the check
    later. That heartbeat was up to an interval before the broker's peers lost their connections,
    after its last line. Where they did not, the last line bounds the timeout from above.
    """
    name = SESSION_TIMEOUTS[topology.mode]
    if not history.is_from_logs or name in history.logged_settings:
        return
    timings = timings_of(topology)
    seen_us = []
    for broker, events in history.lives.items():
        for expired_us in (event.time_us for event in events if event.is_expired):
            last_line_us = sightings.last_line_us(broker, expired_us) or 0
            lost_us = sightings.death_us(broker, last_line_us, expired_us)
            if lost_us is not None:
                seen_us.append(expired_us - lost_us)
    slack_us = timings.heartbeat_us
    if seen_us:
        least_us, most_us = min(seen_us) - timings.check_us - slack_us, min(seen_us)
    elif history.longest_session_ms is not None:
        least_us, most_us = 0, history.longest_session_ms * _MS
    else:
        return
    if least_us <= timings.session_us <= most_us + slack_us:
        return
    has_kraft = topology.mode == KRAFT_MODE
    settings = topology.controller_settings if has_kraft else topology.settings
    settings[name] = most_us // _MS
    text = (
        f"{name} is not {timings.session_us // _MS}: a session ended {settings[name]} ms after the"
        " last sign of life of its broker; that is taken"
    )
    topology.notices.append(Notice("settings", text))


def number_controllers(topology: Topology, history: ClusterHistory) -> None:
    """Number the controllers: the first active one is 0, which leads the quorum at the start."""
    active = [
        term.controller
        for term in history.terms
        if term.controller is not None and term.controller in history.directory.controllers
    ]
    voters = _first_voters(history)
    ids = list(dict.fromkeys([*active, *(voters or ()), *history.directory.controllers]))
    topology.first_voters = voters
    topology.controllers = ids
    known = max(len(ids), 1)
    count = known
    if voters is None:
        count = next((count for count in _COUNTS if count >= known), _COUNTS[-1])
    if history.directory.controllers:
        topology.controller_count = count
        numbers = ", ".join(f"{node} is controller:{place}" for place, node in enumerate(ids))
        topology.notices.append(Notice("controllers", f"by their first term as active: {numbers}"))
    if count != known:
        text = f"{known} controllers are known ({named(ids)}); simulated are {count}"
        topology.notices.append(Notice("controllers", text))


def _first_voters(history: ClusterHistory) -> list[int] | None:
    """The voters as the run begins; None: those of controller.quorum.voters."""
    if not history.voters or not history.scenario.get("controllers", {}).get("voters"):
        return None
    return [id_of_key(key) for key in history.voters[0].voters]


_MS = 1000
#: ZooKeeper's default tick: sessions end at its multiples.
_TICK_MS = 2000
#: A client of ZooKeeper that is idle sends a ping after a third of the session's timeout.
_PINGS = 3
#: KRaft's controller checks sessions this often in a timeout.
_CHECKS = 8
#: The isr-expiration task runs twice in replica.lag.time.max.ms.
_LEAST_CHECKS = 2
#: A leader of the quorum is elected within about as many timeouts of an election, also after a
#: split vote: 4.6 s after its death is the latest that was recorded.
_ELECTIONS = 3


class Span(NamedTuple):
    """A time that is known up to its bounds."""

    at_us: int
    least_us: int
    most_us: int

    def narrowed(self, least_us: int | None, most_us: int | None = None) -> Span:
        """The span after another bound; a bound that contradicts it is not taken."""
        least, most = self.least_us, self.most_us
        if least_us is not None and least < least_us <= most:
            least = least_us
        if most_us is not None and least <= most_us < most:
            most = most_us
        at_us = self.at_us if least <= self.at_us <= most else (least + most) // 2
        return Span(at_us, least, most)

    @property
    def uncertainty_us(self) -> int:
        """The longest distance from the time to a bound."""
        return max(self.at_us - self.least_us, self.most_us - self.at_us)


class Timings(NamedTuple):
    """The settings that delay the control plane and the leaders in noticing a failure."""

    has_kraft: bool
    session_us: int
    #: From one heartbeat of a broker to the next.
    heartbeat_us: int
    #: From one check of sessions to the next.
    check_us: int
    lag_us: int
    fetch_wait_us: int
    quorum_fetch_us: int
    quorum_election_us: int

    def death_before_expiry(self, expired_us: int) -> Span:
        """The death of a broker whose session expired at this time."""
        least_us = expired_us - self.session_us - self.check_us
        most_us = expired_us - self.session_us + self.heartbeat_us
        return Span((least_us + most_us) // 2, least_us, most_us)

    def last_fetch_before_removal(self, removed_us: int, lag_us: int | None) -> Span:
        """The last fetch at the log end of a follower that left the ISR at this time."""
        if lag_us is not None:
            caught_up_us = removed_us - lag_us
            return Span(caught_up_us, caught_up_us, caught_up_us)
        least_us = removed_us - self.lag_us - self.lag_us // _LEAST_CHECKS
        most_us = removed_us - self.lag_us
        return Span((least_us + most_us) // 2, least_us, most_us)

    def death_before_election(self, active_us: int) -> Span:
        """The loss of KRaft's active controller, before another one became active."""
        least_us = active_us - self.quorum_fetch_us - _ELECTIONS * self.quorum_election_us
        return Span((least_us + active_us) // 2, least_us, active_us)


def timings_of(topology: Topology) -> Timings:
    """The timings of a cluster."""
    has_kraft = topology.mode == KRAFT_MODE
    session_ms = topology.value(SESSION_TIMEOUTS[topology.mode])
    quorum_fetch_ms = quorum_election_ms = 0
    if has_kraft:
        heartbeat_ms = topology.value("broker.heartbeat.interval.ms")
        check_ms = session_ms // _CHECKS
        quorum_fetch_ms = topology.value("controller.quorum.fetch.timeout.ms")
        quorum_election_ms = topology.value("controller.quorum.election.timeout.ms")
    else:
        heartbeat_ms = session_ms // _PINGS
        check_ms = topology.tick_ms or _TICK_MS
    return Timings(
        has_kraft,
        session_ms * _MS,
        heartbeat_ms * _MS,
        check_ms * _MS,
        topology.value("replica.lag.time.max.ms") * _MS,
        topology.value("replica.fetch.wait.max.ms") * _MS,
        quorum_fetch_ms * _MS,
        quorum_election_ms * _MS,
    )
