"""The history of clients: one producer or consumer, or all of a group.

A client's history is every row of its own process, and every refusal that a broker sent it. Counts
of records come from the totals that a client writes at the end of the run, and the times in which
it was stalled from the result table of stalls.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tidegauge.analysis.tables.dialect import united
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.run import Mask, Run
from tidegauge.runs.trace_events import Names, TraceEvent
from tidegauge.simulation.quantities import format_duration, time_text
from tidegauge.traces.trace_file import Table, TraceKind

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
    #: Kafka's name of it.
    error: str
    times: int
    first: TraceEvent


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

    #: Such as ``client shop-0``.
    process: str
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


def client_events(run: Run, processes: Iterable[int], *, details: bool = False) -> list[TraceEvent]:
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

    return run.selected(wanted)


def totals_of(run: Run, processes: Iterable[int]) -> dict[str, int]:
    """The sums of the totals of these clients, column by column."""
    numbers = set(processes)
    totals = dict.fromkeys(_TOTALS, 0)
    for row in run.rows("client_totals"):
        if row["process"] in numbers:
            for name in _TOTALS:
                totals[name] += row[name]
    return totals


def outcomes(events: Iterable[TraceEvent]) -> list[Outcome]:
    """The errors in rows of clients with their first rows; the most frequent first."""
    kinds = {"batch_failed": "gives up batches", "request_refused": "is refused"}
    found: dict[tuple[str, int], list[TraceEvent]] = {}
    for event in events:
        if event.kind in kinds:
            found.setdefault((kinds[event.kind], event.row["error"]), []).append(event)
    listed = [
        Outcome(words, each[0].error, len(each), each[0]) for (words, _), each in found.items()
    ]
    return sorted(listed, key=lambda each: (-each.times, each.words, each.first.row["error"]))


def stalled_times(run: Run, processes: Iterable[int]) -> list[StalledTime]:
    """The times in which these clients were stalled, the longest first."""
    clients = [(run.directory.clients[each].name,) for each in processes]
    run.tables.add("asked", "client string", clients)
    rows = run.tables.rows(f"""
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


def unreachable_times(run: Run, processes: Iterable[int]) -> list[Unreachable]:
    """The times in which clients reached none of the brokers that they knew, in their order."""
    numbers = set(processes)
    begun: dict[str, Unreachable] = {}
    found: list[Unreachable] = []
    for event in run.events_of("brokers_unreachable", "brokers_reachable"):
        if event.row["process"] not in numbers:
            continue
        if event.kind == "brokers_unreachable":
            begin_us = event.time_us - event.missing_us
            begun[event.process] = Unreachable(event.process, begin_us, None, event.brokers)
        elif event.process in begun:
            found.append(begun.pop(event.process)._replace(end_us=event.time_us))
    return sorted([*found, *begun.values()], key=lambda each: (each.begin_us, each.process))


def unreachable_lines(run: Run) -> Iterator[str]:
    """A line for each group of clients that knew only brokers that it could not reach for long."""
    if len(run.table("brokers_unreachable").get("process", ())) == 0:
        # Nor is the directory needed, which is long for many partitions.
        return
    end_us = run.end_us
    clients = run.directory.clients
    group_of = {run.directory.process(process): each.group for process, each in clients.items()}
    groups: dict[str, list[Unreachable]] = {}
    for each in unreachable_times(run, clients):
        if (each.end_us or end_us) - each.begin_us >= _NOTABLE_US:
            groups.setdefault(group_of[each.process], []).append(each)
    for group, times in groups.items():
        longest = max(times, key=lambda each: (each.end_us or end_us) - each.begin_us)
        until_us = longest.end_us or end_us
        lasted = format_duration((until_us - longest.begin_us) // 1000 * 1000)
        until = "to the end of the run" if longest.end_us is None else f"for {lasted}"
        since = time_text(longest.begin_us)
        hit = len({each.process for each in times})
        words = f"{hit} of its clients" if hit > 1 else "a client"
        yield (
            f"clients of {group} knew only brokers that they could not reach: {words}, since "
            f"{since}, {until}{f' ({lasted})' if longest.end_us is None else ''}; "
            "metadata.recovery.strategy: rebootstrap (from 3.8) helps if other brokers are alive"
        )


#: Shorter times are those of a restart.
_NOTABLE_US = 30_000_000


def read_replicas(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """The last change of the replica that each consumer reads each partition from."""
    changes = (event for event in events if event.kind == "read_replica_changed")
    return list({(event.process, event.partition): event for event in changes}.values())
