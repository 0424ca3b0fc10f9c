"""Which processes the faults of a run hit, and when: what the attribution asks of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tidegauge.analysis.causes import Links
from tidegauge.traces.directory import CONTROL_PLANES

#: Faults, by their numbers.
Faults = frozenset[int]

NOBODY: Faults = frozenset()
#: Later than every row.
NEVER_US = 1 << 62
#: Kinds of faults that are over as they begin.
_AT_ONCE = ("controller_move",)
#: Kinds of faults that hit links, and not the processes at their ends.
_BETWEEN = ("cut_link", "slow_link")


class Roles(NamedTuple):
    """Who is who in a run, as its manifest says."""

    #: Whoever holds the cluster's state: ZooKeeper, or a quorum's active controller.
    control_plane: int
    #: By partition: the process of the broker of each slot.
    slots: tuple[tuple[int, ...], ...]
    #: The kinds of its faults, by number.
    fault_kinds: tuple[str, ...]


class Span(NamedTuple):
    """A fault as it acts on one process."""

    fault: int
    from_us: int
    to_us: int


def roles_of(manifest: Mapping[str, Any]) -> Roles:
    """Take who is who from the manifest of a run."""
    place = {broker: process for process, broker in enumerate(manifest["brokers"])}
    return Roles(
        next(each["process"] for each in manifest["processes"] if each["role"] in CONTROL_PLANES),
        tuple(tuple(place[id_] for id_ in each["slots"]) for each in manifest["partitions"]),
        tuple(fault["kind"] for fault in manifest["faults"]),
    )


class FaultReach:
    """The faults of one run. The restarts of a rolling restart are one fault: the roll."""

    def __init__(self, links: Links, roles: Roles) -> None:
        """Take them from the rows with which they begin and end."""
        self._whole = _wholes(links)
        self._kinds = roles.fault_kinds
        self.spans = self._spans(links)
        #: When each began first.
        self.first_us: dict[int, int] = {}
        for span in (span for spans in self.spans.values() for span in spans):
            first_us = self.first_us.get(span.fault, NEVER_US)
            self.first_us[span.fault] = min(first_us, span.from_us)
        #: By its place the row with which a fault begins or ends, and which it is.
        self.fault_at = {
            row: self.whole(fault)
            for kind in ("fault_began", "fault_ended")
            for row, fault in _faults_of(links, kind)
        }
        #: Those that hit the control plane itself, and not a link of it.
        self.of_control_plane = frozenset(
            span.fault
            for span in self.spans.get(roles.control_plane, ())
            if not self._is_between(span.fault)
        )

    def whole(self, fault: int) -> int:
        """The fault itself, or the roll of which it is a part."""
        return self._whole.get(fault, fault)

    def acting(self, processes: Iterable[int], from_us: int, to_us: int) -> Faults:
        """Those that act in a time on one of some processes; of a link on both ends of it."""
        hits: dict[int, int] = {}
        for process in processes:
            for fault in {
                span.fault
                for span in self.spans.get(process, ())
                if span.from_us <= to_us and span.to_us >= from_us
            }:
                hits[fault] = hits.get(fault, 0) + 1
        return frozenset(
            fault for fault, count in hits.items() if count > 1 or not self._is_between(fault)
        )

    def _is_between(self, fault: int) -> bool:
        return self._kinds[fault] in _BETWEEN

    def _spans(self, links: Links) -> dict[int, list[Span]]:
        ends: dict[tuple[int, int], list[int]] = {}
        for row, fault in _faults_of(links, "fault_ended"):
            ends.setdefault((fault, int(links.process[row])), []).append(int(links.time_us[row]))
        found: dict[int, list[Span]] = {}
        for row, fault in _faults_of(links, "fault_began"):
            process, from_us = int(links.process[row]), int(links.time_us[row])
            later = [end_us for end_us in ends.get((fault, process), ()) if end_us >= from_us]
            is_over = self._kinds[fault] in _AT_ONCE
            to_us = from_us if is_over else min(later, default=NEVER_US)
            found.setdefault(process, []).append(Span(self.whole(fault), from_us, to_us))
        return found


def _wholes(links: Links) -> dict[int, int]:
    """The roll that a restart is a part of: that which told the broker to stop."""
    roll_at = {
        (int(links.process[row]), int(links.sequence[row])): roll
        for row, roll in _faults_of(links, "roll_progress")
    }
    causes = {
        fault: (int(links.cause_process[row]), int(links.cause_sequence[row]))
        for row, fault in _faults_of(links, "fault_began")
    }
    return {fault: roll_at[cause] for fault, cause in causes.items() if cause in roll_at}


def _faults_of(links: Links, kind: str) -> list[tuple[int, int]]:
    """The places of the rows of a kind, and the fault that each is about."""
    table = links.details[kind]
    return list(zip(table["place"].tolist(), table["fault"].tolist(), strict=True))
