"""The voters of a quorum in its logs (KIP-853): each set that a node has read, in their order.

A voter is a controller with one of its directories. Lines have the ids of directories; here each
is known by its number: 1 for the first one of a controller that a set names, 2 for the next.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tidegauge.real_cluster.logs import log_events
from tidegauge.real_cluster.logs.broker_states import of_kind
from tidegauge.real_cluster.logs.log_events import LogEvent
from tidegauge.replication.voter_set import MOST_DIRECTORIES

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


def logged_voters(events: Iterable[LogEvent]) -> list[LoggedVoters]:
    """All sets in the order in which nodes have read them."""
    learned = of_kind(events, log_events.VotersLearned)
    directories: dict[int, dict[str, int]] = defaultdict(dict)
    for event in sorted(learned, key=lambda each: (each.offset, each.time_ms)):
        for node, directory in event.voters:
            known = directories[node]
            known.setdefault(directory, min(len(known) + 1, int(MOST_DIRECTORIES)))
    return [
        LoggedVoters(
            event.time_ms,
            event.node,
            event.offset,
            tuple((node, directories[node][directory]) for node, directory in event.voters),
        )
        for event in learned
    ]


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
