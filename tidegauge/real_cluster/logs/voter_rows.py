"""Rows of the trace about the voters of a quorum, from its logs (KIP-853)."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tidegauge.real_cluster.logs.logged_voters import LoggedVoters, aborted_additions, logged_voters
from tidegauge.real_cluster.logs.real_history import RealHistory
from tidegauge.replication.voter_set import pack
from tidegauge.simulation.trace_rows import codes, controller_rows
from tidegauge.simulation.trace_rows.row import Row

_UNKNOWN = -1


class VoterRow(NamedTuple):
    """A row that a controller writes: its class and its columns."""

    time_ms: int
    controller: int
    row: type[Row]
    values: Mapping[str, int]


def voter_rows(history: RealHistory, members: Mapping[int, int]) -> Iterator[VoterRow]:
    """The rows of all controllers: sets that they have read, additions that they aborted.

    Args:
        history: of the cluster.
        members: Numbers of the controllers in rows, by their ids, in the order of the quorum.
    """
    places = {node: place for place, node in enumerate(members)}
    for each in _read_in_run(history):
        if each.node not in members:
            continue
        values = {
            "broker": members[each.node],
            "voters": pack((places[node], number) for node, number in each.voters),
            "voters_offset": each.offset,
            "quorum_epoch": _epoch_at(history, each.time_ms),
            "kraft_version": 1,
            "voters_committed": 0,
        }
        yield VoterRow(each.time_ms, each.node, controller_rows.QuorumVoters, values)
    for aborted in aborted_additions(history.events):
        if aborted.leader not in members or aborted.time_ms < history.first_ms:
            continue
        values = {
            "server": members.get(aborted.node, _UNKNOWN),
            "voter_directory": aborted.directory,
            "voter_change": int(codes.ADD_VOTER),
            "error": aborted.error,
            "voter_refusal": aborted.refusal,
        }
        row = controller_rows.VoterChangeAnswered
        yield VoterRow(aborted.time_ms, aborted.leader, row, values)


def _read_in_run(history: RealHistory) -> list[LoggedVoters]:
    """Each set that a node has read; of those before the run, its last one, as the run begins."""
    before: dict[int, LoggedVoters] = {}
    within: list[LoggedVoters] = []
    for each in logged_voters(history.events):
        if each.time_ms < history.first_ms:
            before[each.node] = each._replace(time_ms=history.first_ms)
        else:
            within.append(each)
    return [*before.values(), *within]


def _epoch_at(history: RealHistory, time_ms: int) -> int:
    """The epoch of the last known leader; 0 before the first one."""
    changes = history.controllers
    place = bisect_right(changes, time_ms, key=lambda change: change.time_ms)
    return changes[place - 1].epoch if place > 0 else 0
