"""The lines on which pictures show faults over time.

The processes and links that the faults of a run hit, and when: the attribution asks for them.

A fault that stops brokers acts on each until the control plane takes it for active again: it has to
start, load its logs and register. The restarts of a rolling restart are one fault: the roll.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.analysis.causes import Links
from tidegauge.simulation.trace_rows.codes import BROKER_ACTIVE
from tidegauge.traces.directory import CONTROL_PLANES
from tidegauge.traces.run_files import OF_LOGS

#: Rows of the result table ``faults``.
FaultRows = Sequence[Mapping[str, Any]]


def fault_lanes(faults: FaultRows, most: int) -> dict[str, FaultRows]:
    """Faults by their line: by name up to so many names, else by kind."""
    by_name = _grouped(faults, "fault_name")
    if len(by_name) <= most:
        return by_name
    return {
        of_kind[0]["fault_name"] if len(of_kind) == 1 else f"{len(of_kind)} x {kind}": of_kind
        for kind, of_kind in _grouped(faults, "fault_kind").items()
    }


def _grouped(faults: FaultRows, column: str) -> dict[str, FaultRows]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for each in faults:
        groups.setdefault(each[column], []).append(each)
    return {**groups}


#: Faults, by their numbers.
Faults = frozenset[int]

NOBODY: Faults = frozenset()
#: Later than every row.
NEVER_US = 1 << 62

#: Kinds of faults that stop processes, and those of them that a process prepares for.
_STOPS = frozenset({"crash", "power_loss", "restart", "rolling_restart"})
PLANNED = frozenset({"restart", "rolling_restart"})
#: ... for which a process does not respond; for which a replica is gone; and for which it is slow.
SILENT = _STOPS | {"pause", "zookeeper_outage"}
GONE = SILENT | {"log_directory_failure"}
SLOW = frozenset({"slow_disk"})
POWER = frozenset({"power_loss"})
#: Kinds of faults that hit links, and not the processes at their ends.
_BETWEEN = ("cut_link", "slow_link")
#: Kinds of faults that are over as they begin.
_AT_ONCE = ("controller_move",)

#: A fault that acted for less than this part of a time does not explain it.
_LEAST_PART = 1 / 4


class Roles(NamedTuple):
    """The roles of processes in a run, as its manifest has them."""

    #: The process of each member of the cluster: brokers, and behind them a quorum's controllers.
    members: tuple[int, ...]
    #: The processes of a quorum's controllers; with ZooKeeper there are none.
    quorum: tuple[int, ...]
    #: The brokers that the control plane does not know as the run begins.
    unregistered: tuple[int, ...]
    #: The process of ZooKeeper; None: a quorum holds the cluster's state.
    zookeeper: int | None
    #: By partition: the broker of each slot, and the replicas, the preferred leader first.
    slots: tuple[tuple[int, ...], ...]
    replicas: tuple[tuple[int, ...], ...]
    #: By partition, as the run begins.
    min_insync_replicas: tuple[int, ...]
    #: The kinds of its faults, by number, and of those of links the processes at both ends.
    fault_kinds: tuple[str, ...]
    fault_sides: tuple[tuple[Faults, Faults] | None, ...]
    #: broker.session.timeout.ms: brokers that are silent for longer are fenced (KRaft).
    session_us: int
    #: controller.quorum.fetch.timeout.ms: followers elect another leader of the quorum after it.
    fetch_us: int
    #: The logs of a real cluster do not have its faults.
    is_of_logs: bool


class Span(NamedTuple):
    """A fault as it acts on one process."""

    fault: int
    kind: str
    sides: tuple[Faults, Faults] | None
    from_us: int
    to_us: int


def roles_of(manifest: Mapping[str, Any]) -> Roles:
    """Take the roles from the manifest of a run."""
    place = {broker: process for process, broker in enumerate(manifest["brokers"])}
    roles = [(each["role"], each["process"]) for each in manifest["processes"]]
    zookeeper, quorum = ([p for role, p in roles if role == plane] for plane in CONTROL_PLANES)
    partitions = manifest["partitions"]
    settings = (manifest["scenario"].get("controllers") or {}).get("settings", {})
    return Roles(
        (*place.values(), *quorum),
        tuple(quorum),
        tuple(place[id_] for id_ in set(place) - set(manifest["registered_before"])),
        zookeeper[0] if zookeeper else None,
        tuple(tuple(place[id_] for id_ in each["slots"]) for each in partitions),
        tuple(tuple(place[id_] for id_ in each["replicas"]) for each in partitions),
        tuple(each["min_insync_replicas"] for each in partitions),
        tuple(fault["kind"] for fault in manifest["faults"]),
        tuple(_sides(fault.get("sides")) for fault in manifest["faults"]),
        settings.get("broker.session.timeout.ms", 9_000) * 1000,
        settings.get("controller.quorum.fetch.timeout.ms", 2_000) * 1000,
        manifest.get("source") == OF_LOGS,
    )


def _sides(sides: list[list[int]] | None) -> tuple[Faults, Faults] | None:
    return (frozenset(sides[0]), frozenset(sides[1])) if sides else None


class FaultReach:
    """The faults of one run, and when each acts on which process or link."""

    def __init__(self, links: Links, roles: Roles) -> None:
        """Take them from the rows with which they begin and end."""
        self._whole = _wholes(links)
        self._roles = roles
        self._spans = self._found_spans(links)
        #: By its place the row with which a fault begins or ends, and which it is.
        self.fault_at = {
            row: self._whole.get(fault, fault)
            for kind in ("fault_began", "fault_ended")
            for row, fault in _faults_of(links, kind)
        }

    def on(self, process: int, kinds: frozenset[str], from_us: int, to_us: int) -> Faults:
        """The faults of some kinds that can explain a process's action, or its absence."""
        return self._explaining(process, lambda span: span.kind in kinds, from_us, to_us)

    def between(self, one: int, other: int, from_us: int, to_us: int) -> Faults:
        """The faults of the links between two processes that explain a time without messages."""
        ends = {one, other}

        def is_met(span: Span) -> bool:
            if span.kind not in _BETWEEN:
                return False
            if span.sides is None:  # a manifest of before they were written
                return any(span.fault == each.fault for each in self._spans.get(other, ()))
            first, second = (len(side & ends) for side in span.sides)
            return first == second == 1

        return self._explaining(one, is_met, from_us, to_us)

    def _explaining(
        self, process: int, counts: Callable[[Span], bool], from_us: int, to_us: int
    ) -> Faults:
        """Those that acted for some part of the time, and not just for a moment of it."""
        lasted_us = {
            span.fault: min(span.to_us, to_us) - max(span.from_us, from_us)
            for span in self._spans.get(process, ())
            if span.from_us <= to_us and span.to_us >= from_us and counts(span)
        }
        least_us = (to_us - from_us) * _LEAST_PART
        return frozenset(fault for fault, part_us in lasted_us.items() if part_us >= least_us)

    def _found_spans(self, links: Links) -> dict[int, list[Span]]:
        ends: dict[tuple[int, int], list[int]] = {}
        for row, fault in _faults_of(links, "fault_ended"):
            ends.setdefault((fault, int(links.process[row])), []).append(int(links.time_us[row]))
        active_us = _active_us(links)
        found: dict[int, list[Span]] = {}
        for row, fault in _faults_of(links, "fault_began"):
            process, from_us = int(links.process[row]), int(links.time_us[row])
            kind = self._roles.fault_kinds[fault]
            later = [end_us for end_us in ends.get((fault, process), ()) if end_us >= from_us]
            to_us = from_us if kind in _AT_ONCE else min(later, default=NEVER_US)
            if kind in _STOPS and process in active_us:
                returns = active_us[process]
                nth = bisect_left(returns, to_us)
                to_us = returns[nth] if nth < len(returns) else NEVER_US
            whole, sides = self._whole.get(fault, fault), self._roles.fault_sides[fault]
            found.setdefault(process, []).append(Span(whole, kind, sides, from_us, to_us))
        return found


def _active_us(links: Links) -> dict[int, list[int]]:
    """The intervals in which the control plane took each broker for active."""
    table = links.details["broker_state"]
    is_active = table["state"] == int(BROKER_ACTIVE)
    brokers, times_us = table["broker"][is_active], links.time_us[table["place"][is_active]]
    found: dict[int, list[int]] = {}
    for broker, time_us in sorted(zip(brokers.tolist(), times_us.tolist(), strict=True)):
        found.setdefault(broker, []).append(time_us)
    return found


def _wholes(links: Links) -> dict[int, int]:
    """The roll that a restart is a part of: the one that stopped the broker."""
    roll_at = {
        (int(links.process[row]), int(links.sequence[row])): roll
        for row, roll in _faults_of(links, "roll_progress")
    }
    causes = {
        fault: (int(links.cause_process[row]), int(links.cause_sequence[row]))
        for row, fault in _faults_of(links, "fault_began")
    }
    return {fault: roll_at[cause] for fault, cause in causes.items() if cause in roll_at}


def _faults_of(links: Links, kind: str) -> Iterator[tuple[int, int]]:
    """The places of the rows of a kind, and the fault that each is about."""
    table = links.details[kind]
    return zip(table["place"].tolist(), table["fault"].tolist(), strict=True)
