"""The voters of a quorum in its logs (KIP-853): each set that a node has read, in their order.

A voter is a controller with one of its directories. Lines have the ids of directories; here each
is known by its number: 1 for the first one of a controller that a set names, 2 for the next.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from tidegauge.real_cluster.logs import log_events
from tidegauge.real_cluster.logs.broker_states import of_kind
from tidegauge.real_cluster.logs.log_events import LogEvent
from tidegauge.replication import errors
from tidegauge.replication.records import MOST_DIRECTORIES
from tidegauge.simulation.trace_rows import codes

#: The offset of the voters with which a directory was formatted, as lines have it.
FORMATTED = -1


class LoggedVoters(NamedTuple):
    """A node has read a set of voters in the metadata log."""

    time_ms: int
    node: int
    #: -1: in the snapshot with which its directory was formatted.
    offset: int
    #: Ids of controllers with the numbers of their directories.
    voters: tuple[tuple[int, int], ...]

    @property
    def keys(self) -> list[str]:
        """The voters as views name them: ``3000#1``."""
        return [f"{node}#{number}" for node, number in self.voters]


class AbortedAddition(NamedTuple):
    """A leader has not added a voter: the error of its answer, and the reason as rows have it."""

    time_ms: int
    leader: int
    node: int
    directory: int
    error: int
    refusal: int


def logged_voters(events: Iterable[LogEvent]) -> list[LoggedVoters]:
    """All sets in the order in which nodes have read them."""
    events = [*events]
    numbers = _directory_numbers(events)
    return [
        LoggedVoters(event.time_ms, event.node, event.offset, _numbered(event.voters, numbers))
        for event in of_kind(events, log_events.VotersLearned)
    ]


def aborted_additions(events: Iterable[LogEvent]) -> list[AbortedAddition]:
    """The voters that leaders did not add, in their order."""
    events = [*events]
    numbers = _directory_numbers(events)
    return [
        AbortedAddition(event.time_ms, event.node, *voter, *_REASONS[event.reason])
        for event in of_kind(events, log_events.AdditionAborted)
        for voter in _numbered(event.voters, numbers)
    ]


#: The error of the answer, and the reason, by the first words of the line.
_REASONS = {
    "API_VERSIONS": (int(errors.REQUEST_TIMED_OUT), int(codes.NEW_VOTER_NOT_AVAILABLE)),
    "kraft.version": (int(errors.INVALID_REQUEST), int(codes.KRAFT_VERSION_NOT_SUPPORTED)),
    "it is": (int(errors.REQUEST_TIMED_OUT), int(codes.NEW_VOTER_LAGS)),
}


def _directory_numbers(events: Sequence[LogEvent]) -> Mapping[int, Mapping[str, int]]:
    """The numbers of directories by the ids of their controllers and their own.

    Those of sets come first, in the order of the metadata log.
    """
    learned = of_kind(events, log_events.VotersLearned)
    in_order = sorted(learned, key=lambda each: (each.offset, each.time_ms))
    named = [each.voters for each in in_order]
    named += [each.voters for each in of_kind(events, log_events.AdditionAborted)]
    numbers: dict[int, dict[str, int]] = defaultdict(dict)
    for node, directory in chain.from_iterable(named):
        known = numbers[node]
        known.setdefault(directory, min(len(known) + 1, int(MOST_DIRECTORIES)))
    return numbers


def _numbered(
    voters: log_events.Voters, numbers: Mapping[int, Mapping[str, int]]
) -> tuple[tuple[int, int], ...]:
    return tuple((node, numbers[node][directory]) for node, directory in voters)


def successive_voters(learned: Sequence[LoggedVoters]) -> list[LoggedVoters]:
    """Each set that others followed in the metadata log, as the first node has read it."""
    found: list[LoggedVoters] = []
    for each in sorted(learned, key=lambda one: (one.offset, one.time_ms)):
        if each.voters and (not found or each.voters != found[-1].voters):
            found.append(each)
    return found


def first_voters(events: Iterable[LogEvent]) -> list[int]:
    """Ids of the controllers with which the quorum was formatted; empty: its voters are static."""
    sets = successive_voters(logged_voters(events))
    named = of_kind(events, log_events.Setting)
    is_static = any(each.name == "controller.quorum.voters" and "@" in each.value for each in named)
    if not sets or is_static:
        return []
    return [node for node, _ in sets[0].voters]
