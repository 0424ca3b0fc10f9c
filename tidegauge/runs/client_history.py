"""The history of clients: one producer or consumer, or all of a group.

A client's history is every row of its own process, and every refusal that a broker sent it. Counts
of records come from the totals that a client writes at the end of the run, and the times in which
it was stalled from the result table of stalls.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegauge.analysis.tables.interval_queries import united
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.row_selection import Mask, selected
from tidegauge.runs.story import Names
from tidegauge.simulation.durations import format_duration, time_text
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table, TraceKind

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables

#: The most clients that are listed in an error about an unknown one.
LISTED = 20
#: Columns of the totals of clients.
_TOTALS = (
    *("records_offered", "records_acknowledged", "records_failed", "records_unsent"),
    *("records_in_flight", "records_duplicated", "records_consumed", "blocked_us"),
)
#: Rows of a client that are too many for its story, unless all are wanted.
_ACCOUNTS = frozenset({"client_totals"})


class Outcome(NamedTuple):
    """Errors of one kind that a client has met."""

    #: ``gives up`` of its own, ``is refused`` by brokers.
    words: str
    error: int
    times: int
    first: TraceRow


class StalledTime(NamedTuple):
    """A time in which some of these clients were stalled at some partition, without a break."""

    begin_us: int
    end_us: int
    #: As in the table ``unavailable``: ``stalled`` or ``reads_stalled``.
    condition: str
    partitions: int
    #: The names of the faults that were active at its beginning, in the order of the scenario.
    faults: tuple[str, ...]


class Unreachable(NamedTuple):
    """A time in which a client reached none of the brokers that its metadata names."""

    process: int
    begin_us: int
    #: None: until the end of the run.
    end_us: int | None
    brokers: int


def clients_called(name: str, names: Names) -> list[int]:
    """The processes of a client, such as ``shop-0``, or of a group, such as ``shop``.

    Raises:
        TidegaugeError: there is no such client or group; the message lists the known groups.
    """
    groups: dict[str, list[int]] = {}
    for number, client in names.clients.items():
        if client.name == name:
            return [number]
        groups.setdefault(client.group, []).append(number)
    if name in groups:
        return groups[name]
    listed = ", ".join(list(groups)[:LISTED]) or "none"
    raise TidegaugeError(f"{name}: no such client or group; the groups are: {listed}")


def client_rows(
    run: RunFolder, processes: Iterable[int], *, details: bool = False
) -> list[TraceRow]:
    """The rows of the history of clients, in their total order.

    Raises:
        TraceError: a trace file is damaged.
    """
    numbers = list(processes)

    def wanted(kind: TraceKind, table: Table) -> Mask | None:
        if not details and (not kind.canonical or kind.name in _ACCOUNTS):
            return None
        if not len(table["process"]):
            return None
        mask: Mask = np.isin(table["process"], numbers)
        if kind.name == "request_refused":
            mask |= np.isin(table["from_process"], numbers)
        return mask

    return selected(run, wanted)


def totals_of(run: RunFolder, processes: Iterable[int]) -> dict[str, int]:
    """The sums of what these clients told at the end, column by column."""
    numbers = set(processes)
    totals = dict.fromkeys(_TOTALS, 0)
    for row in run.rows("client_totals"):
        if row["process"] in numbers:
            for name in _TOTALS:
                totals[name] += row[name]
    return totals


def outcomes(rows: Iterable[TraceRow]) -> list[Outcome]:
    """The errors in rows of clients with their first rows; the most frequent first."""
    kinds = {"batch_failed": "gives up batches", "request_refused": "is refused"}
    found: dict[tuple[str, int], list[TraceRow]] = {}
    for row in rows:
        if row.kind in kinds:
            found.setdefault((kinds[row.kind], row["error"]), []).append(row)
    listed = [Outcome(words, error, len(each), each[0]) for (words, error), each in found.items()]
    return sorted(listed, key=lambda each: (-each.times, each.words, each.error))


def stalled_times(tables: RunTables, names: Names, processes: Iterable[int]) -> list[StalledTime]:
    """The times in which these clients were stalled, the longest first."""
    tables.add("asked", "client string", [(names.clients[each].name,) for each in processes])
    rows = tables.rows(f"""
        with own as (select s.* from stalls as s join asked on asked.client = s.client),
        spans as ({united("own", ("run", "condition"))}),
        met as (
            select s.begin_us, s.end_us, s.condition, count(distinct o.partition) as partitions
            from spans as s
            join own as o on o.condition = s.condition
                and s.begin_us <= o.begin_us and o.end_us <= s.end_us
            group by s.begin_us, s.end_us, s.condition
        )
        select m.*, f.fault_name
        from met as m
        left join faults as f on f.begin_us <= m.begin_us and m.begin_us <= f.end_us
        order by m.begin_us - m.end_us, m.begin_us, m.condition, f.fault, f.begin_us
    """)
    found: dict[tuple[int, int, str, int], list[str]] = {}
    for row in rows:
        key = (row["begin_us"], row["end_us"], row["condition"], row["partitions"])
        found.setdefault(key, []).extend([row["fault_name"]] if row["fault_name"] else [])
    return [StalledTime(*key, tuple(dict.fromkeys(faults))) for key, faults in found.items()]


def unreachable_times(run: RunFolder, processes: Iterable[int]) -> list[Unreachable]:
    """The times in which clients reached none of the brokers that they knew, in their order."""
    numbers = set(processes)
    begun: dict[int, tuple[int, int]] = {}
    found: list[Unreachable] = []
    rows = [*run.rows("brokers_unreachable"), *run.rows("brokers_reachable")]
    for row in sorted(rows, key=lambda row: row.place):
        process = row["process"]
        if process not in numbers:
            continue
        if row.kind == "brokers_unreachable":
            begun[process] = (row["time_us"] - row["missing_us"], row["brokers"])
        elif process in begun:
            begin_us, brokers = begun.pop(process)
            found.append(Unreachable(process, begin_us, row["time_us"], brokers))
    found += [Unreachable(process, at_us, None, known) for process, (at_us, known) in begun.items()]
    return sorted(found, key=lambda each: (each.begin_us, each.process))


def unreachable_lines(run: RunFolder, names: Names, end_us: int) -> Iterator[str]:
    """A line for each group of clients that knew only brokers that it could not reach for long.

    Args:
        run: the run.
        names: its names.
        end_us: the end of the run.
    """
    groups: dict[str, list[Unreachable]] = {}
    for each in unreachable_times(run, names.clients):
        if (each.end_us or end_us) - each.begin_us >= _NOTABLE_US:
            groups.setdefault(names.clients[each.process].group, []).append(each)
    for group, times in groups.items():
        longest = max(times, key=lambda each: (each.end_us or end_us) - each.begin_us)
        until_us = longest.end_us or end_us
        lasted = format_duration((until_us - longest.begin_us) // 1000 * 1000)
        until = "to the end of the run" if longest.end_us is None else f"for {lasted}"
        since = time_text(longest.begin_us)
        clients = len({each.process for each in times})
        words = f"{clients} of its clients" if clients > 1 else "a client"
        yield (
            f"clients of {group} knew only brokers that they could not reach: {words}, since "
            f"{since}, {until}{f' ({lasted})' if longest.end_us is None else ''}; "
            "metadata.recovery.strategy: rebootstrap (from 3.8) helps if other brokers are alive"
        )


#: A shorter time is that of a restart.
_NOTABLE_US = 30_000_000


def read_replicas(rows: Iterable[TraceRow]) -> dict[tuple[int, int], TraceRow]:
    """The last change of the replica that each consumer reads each partition from."""
    return {
        (row["process"], row["partition"]): row
        for row in rows
        if row.kind == "read_replica_changed"
    }
