"""The output of ``tidegauge show faults``: the cost of each fault, and the steps beside them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from textwrap import fill
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.runs.causes import outcomes_of_steps
from tidegauge.runs.run import Run
from tidegauge.scenario.text.errors import counted, duration_text
from tidegauge.simulation.quantities import time_text
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.cluster_picture import conditions_of

#: More faults than these are not printed one by one; and more steps.
_TOLD = 20
#: The number of sessions, errors and topics that are named.
_NAMED = 4
_TOPICS = 3
_WIDTH = 21

#: Changes, as the lines call them.
_CHANGES = {
    "elections": "leaders elected",
    "isr_shrinks": "ISRs shrunk",
    "isr_expands": "ISRs expanded",
    "isr_removals": "dead replicas taken out",
    "fenced": "brokers no longer taken for active",
    "controllers": "active controllers elected",
}

#: The parts of a failover in ``fault_costs``, as the line calls them.
_PARTS = {
    "detection_us": "session",
    "no_replica_us": "no replica may lead",
    "notice_us": "until its event is queued",
    "queue_us": "in the controller's queue",
    "election_us": "controller and ZooKeeper",
    "takeover_us": "LeaderAndIsr",
}
#: ... of a KRaft cluster.
_PARTS_WITH_QUORUM = _PARTS | {
    "election_us": "controller and commit",
    "takeover_us": "publication at its broker",
}


class FaultCosts(NamedTuple):
    """The rows of one fault in the tables of costs."""

    costs: dict[str, Any]
    #: By the name of the condition.
    outages: dict[str, dict[str, Any]]
    failures: list[dict[str, Any]]
    sessions: list[dict[str, Any]]
    #: The row of ``fault_service``.
    service: dict[str, Any]
    topics: list[dict[str, Any]]
    #: The truncations of logs that it has a part in.
    truncations: list[dict[str, Any]]


def fault_costs(tables: RunTables) -> list[FaultCosts]:
    """The costs of all faults that began, in the order in which they did."""
    tables.make(
        (
            *("fault_costs", "fault_outages", "fault_failures", "fault_sessions"),
            *("fault_service", "fault_topics", "cause_counts", "steps", "truncations"),
        )
    )
    costs = tables.rows("select * exclude (run) from fault_costs order by begin_us, fault")
    outages = tables.rows("select * exclude (run) from fault_outages order by fault, condition")
    failures = tables.rows(
        "select * exclude (run) from fault_failures order by batches desc, error, failure, fault"
    )
    sessions = tables.rows(
        "select * exclude (run) from fault_sessions order by time_us, broker, fault"
    )
    services = {
        row["fault"]: row for row in tables.rows("select * from fault_service order by fault")
    }
    topics = tables.rows("select * from fault_topics order by partitions desc, topic, fault")

    truncations = tables.rows("select * from truncations order by time_us, process, sequence")

    def of(fault: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if row["fault"] == fault]

    return [
        FaultCosts(
            each,
            {row["condition"]: row for row in of(each["fault"], outages)},
            of(each["fault"], failures),
            of(each["fault"], sessions),
            services[each["fault"]],
            of(each["fault"], topics),
            [row for row in truncations if each["fault"] in (row["faults"] or ())],
        )
        for each in costs
    ]


def show_faults(out: Console, run: Run, tables: RunTables) -> None:
    """Print a table of the faults of a run, the account of each, and its steps."""
    costs = fault_costs(tables)
    if costs:
        out.print(_table_of(costs))
    else:
        out.print("No fault began.")
    for each in costs[:_TOLD]:
        out.print()
        _show_account(out, each, run)
    if len(costs) > _TOLD:
        out.print(f"\n... and {len(costs) - _TOLD} more; --json has the accounts of all")
    if len(costs) > 1:
        out.print(
            "\nEach fault is charged with all that it has a part in, whenever that happens; an "
            "effect that several faults share counts for each of them. `tidegauge blame` runs "
            "without each, and has the difference.",
            style="dim",
        )
    for line in (*_cause_lines(tables), *_standing_lines(tables)):
        out.print(line, style="dim")
    _show_given_up(out, run)
    _show_steps(out, run, tables)


def _table_of(costs: Sequence[FaultCosts]) -> Table:
    """A row for each fault: its times, its worst effects, and the topics that it hit."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("fault", "from", "to", "new leader", "stalled", "longest", "lost", "topics"):
        is_text = title in {"fault", "topics"}
        table.add_column(
            title, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text
        )
    for each in costs:
        begin_us, led_us = each.costs["begin_us"], each.costs["first_led_us"]
        stalled = each.outages.get("stalled")
        table.add_row(
            escape(each.costs["fault_name"]),
            time_text(begin_us),
            _end(each.costs),
            "-" if led_us is None else f"{duration_text(led_us - begin_us)} after",
            f"{stalled['partitions']:,}" if stalled else "0",
            duration_text(stalled["longest_us"]) if stalled else "-",
            f"{each.costs['records_lost'] or 0:,}",
            escape(_topics(each.topics)),
        )
    return table


def _end(costs: dict[str, Any]) -> str:
    return "the end" if costs["end_us"] is None else time_text(costs["end_us"])


def _show_account(out: Console, each: FaultCosts, run: RunFolder) -> None:
    """Print what a fault has cost: its outages as a table, all else in lines."""
    out.print(_heading(each.costs), style="bold", markup=False)
    indent = " " * (_WIDTH + 4)
    for label, words in _lines(each, run):
        line = fill(words, out.width, initial_indent=indent, subsequent_indent=indent)
        out.print(Text(f"  {label:{_WIDTH}}  {line.lstrip()}"), soft_wrap=True)
    outages = {
        label: each.outages[name]
        for name, label in conditions_of(run.directory).items()
        if name in each.outages
    }
    if outages:
        out.print(Padding(_outage_table(outages, each.costs["begin_us"]), (0, 0, 0, 2)))


def _outage_table(outages: dict[str, dict[str, Any]], begin_us: int) -> Table:
    """A row for each condition that the fault brought partitions into."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("partitions", min_width=_WIDTH)
    for title in ("all", "at once", "seconds", "shared", "longest", "over after"):
        table.add_column(title, justify="right")
    for label, outage in outages.items():
        over_us = outage["over_us"]
        table.add_row(
            label,
            f"{outage['partitions']:,}",
            f"{outage['at_once']:,}",
            f"{outage['partition_seconds']:,.1f}",
            f"{outage['shared_seconds']:,.1f}" if outage["shared_seconds"] else "-",
            duration_text(outage["longest_us"]),
            "still so at the end" if over_us is None else duration_text(over_us - begin_us),
        )
    return table


def faults_for_programs(run: RunFolder, tables: RunTables) -> list[dict[str, Any]]:
    """The costs of all faults for programs; times are virtual microseconds, brokers are ids."""
    records_requests = run.manifest["trace"] == "all"
    return [
        {
            **each.costs,
            "fault": each.costs["fault_name"],
            "update_metadata_requests": (
                each.costs["update_metadata_requests"] if records_requests else None
            ),
            "sessions_ended": [
                {"broker": row["broker"], "time_us": row["time_us"]} for row in each.sessions
            ],
            **{
                name: _without_names(each.outages.get(name))
                for name in conditions_of(run.directory)
            },
            "produce_failures": [_without_names(row) for row in each.failures],
            "service": _without_names(each.service),
            "topics": {row["topic"]: row["partitions"] for row in each.topics},
        }
        for each in fault_costs(tables)
    ]


def _without_names(row: dict[str, Any] | None) -> dict[str, Any] | None:
    names = ("run", "fault", "fault_name", "condition")
    return None if row is None else {key: row[key] for key in row if key not in names}


def _heading(costs: dict[str, Any]) -> str:
    last = ""
    if costs["last_effect_us"] is not None:
        last = f"; its last effect at {time_text(costs['last_effect_us'])}"
    return (
        f"{costs['fault_name']}: {costs['fault_text']}, from {time_text(costs['begin_us'])} to "
        f"{_end(costs)}{last}"
    )


def _lines(each: FaultCosts, run: RunFolder) -> Iterator[tuple[str, str]]:
    costs = each.costs
    begin_us = costs["begin_us"]
    has_quorum = bool(run.directory.controllers)
    if costs["records_lost"]:
        yield "LOST", counted(costs["records_lost"], "acknowledged record")
    if each.truncations:
        yield "truncated", _truncated(each.truncations)
    if each.sessions:
        yield "sessions ended", _sessions(each.sessions, begin_us)
    if costs["first_led_us"] is not None:
        yield from _failover_lines(costs, _PARTS_WITH_QUORUM if has_quorum else _PARTS)
    yield from _service_lines(each.service)
    if costs["last_effect_us"] is None and not each.failures:
        yield "other effects", "none: no election, no change of an ISR, no outage"
        return
    if not run.is_of_logs:
        yield "clients", _clients(each.failures)
    yield from _control_lines(costs, run, has_quorum=has_quorum)


def _control_lines(
    costs: dict[str, Any], run: RunFolder, *, has_quorum: bool
) -> Iterator[tuple[str, str]]:
    """The changes by brokers and controllers, and the work of controllers."""
    yield (
        "leaders elected",
        f"{costs['elections']:,}, {costs['unclean_elections']} of them uncleanly",
    )
    yield (
        "ISRs",
        (
            f"{costs['isr_shrinks']:,} shrunk and {costs['isr_expands']:,} expanded by leaders, "
            f"{costs['isr_removals']:,} dead replicas taken out by the controller"
        ),
    )
    if costs["fenced"] or costs["controllers"]:
        yield (
            "control plane",
            (
                f"{counted(costs['fenced'], 'broker')} no longer taken for active, "
                f"{counted(costs['controllers'], 'active controller')} elected"
            ),
        )
    if costs["shared"]:
        yield (
            "shared",
            f"{costs['shared']:,} of these changes: another fault has a part in them, too",
        )
    meanwhile = (
        f"{counted(costs['controller_events'], 'event')}, "
        f"busy for {duration_text(costs['controller_busy_us'])}, "
        f"longest wait in its queue {duration_text(costs['longest_queued_us'])}"
    )
    if has_quorum:
        yield "controller meanwhile", meanwhile
        return
    notifications = counted(costs["notifications"], "isr_change_notification")
    yield "controller meanwhile", f"{meanwhile}; {notifications}"
    requests = "not recorded: run with --trace-level all"
    if run.manifest["trace"] == "all":
        requests = f"{costs['update_metadata_requests'] or 0:,} meanwhile"
    yield "UpdateMetadata", requests


def _truncated(truncations: list[dict[str, Any]]) -> str:
    """The logs that were truncated, and the first of them: records that a new leader may lack."""
    named = (
        f"broker {row['broker']} {counted(row['records'], 'record')} of {row['topic_partition']} "
        f"at {time_text(row['time_us'])}"
        for row in truncations
    )
    return _first_of(named, len(truncations), " logs")


def _sessions(sessions: list[dict[str, Any]], begin_us: int) -> str:
    named = (
        f"broker {row['broker']} at {time_text(row['time_us'])} "
        f"({duration_text(row['time_us'] - begin_us)} after it began)"
        for row in sessions
    )
    return _first_of(named, len(sessions), "")


def _first_of(named: Iterator[str], count: int, noun: str) -> str:
    more = f" and {count - _NAMED:,} more{noun}" if count > _NAMED else ""
    return ", ".join(islice(named, _NAMED)) + more


def _failover_lines(costs: dict[str, Any], parts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    spent = [
        f"{words} {duration_text(costs[part])}" for part, words in parts.items() if costs[part]
    ]
    whole_us = sum(costs[part] for part in parts)
    yield (
        "first new leader",
        (
            f"at {time_text(costs['first_led_us'])}, {duration_text(whole_us)} after its cause = "
            f"{' + '.join(spent)}"
        ),
    )
    yield (
        "last new leader",
        (
            f"at {time_text(costs['last_led_us'])}, "
            f"{duration_text(costs['last_led_us'] - costs['first_led_us'])} after the first"
        ),
    )


def _cause_lines(tables: RunTables) -> Iterator[str]:
    """The changes of the whole run by their causes: the sums are the figures of the summary."""
    causes = tables.rows("""
        select * from cause_counts order by cause <> 'one fault', cause <> 'several faults', cause
    """)
    for name, words in _CHANGES.items():
        parts = [f"{row[name]:,} by {row['cause']}" for row in causes if row[name]]
        if parts:
            yield f"{words}: {sum(row[name] for row in causes):,} = {' + '.join(parts)}"


def _clients(failures: list[dict[str, Any]]) -> str:
    refused = [row for row in failures if row["failure"] == "refused"]
    named = [f"{row['batches']:,} {row['error']}" for row in refused[:_NAMED]]
    if len(refused) > _NAMED:
        named.append(f"{sum(row['batches'] for row in refused[_NAMED:]):,} others")
    records = sum(row["records"] for row in failures)
    return (
        f"produce requests refused: {', '.join(named) or 'none'}; "
        f"producers gave up {counted(records, 'record')}"
    )


def _topics(topics: list[dict[str, Any]]) -> str:
    """The topics with the most partitions that the fault hit, with their numbers."""
    named = [f"{row['topic']} ({row['partitions']:,})" for row in topics[:_TOPICS]]
    more = len(topics) - _TOPICS
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _service_lines(service: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Throughput and latency of clients during the effects of a fault and before; controllers."""
    rate, before = (service[f"{when}acknowledged_per_second"] for when in ("", "before_"))
    if rate is not None:
        against = "" if before is None else f" ({before:,.0f} before)"
        silent = f"; none for {duration_text(service['silent_us'])}" if service["silent_us"] else ""
        yield "acknowledged", f"{rate:,.0f} records/s{against}{silent}"
    if service["batch_us"] is not None:
        yield (
            "batches took",
            ", ".join(
                f"{duration_text(service[name])} {words}{_before(service[f'before_{name}'])}"
                for name, words in (("batch_us", "in the mean"), ("longest_batch_us", "at most"))
            ),
        )
    if service["controller_less_us"]:
        yield "no active controller", f"for {duration_text(service['controller_less_us'])}"


def _before(time_us: int | None) -> str:
    return "" if time_us is None else f" ({duration_text(time_us)} before)"


def _standing_lines(tables: RunTables) -> Iterator[str]:
    """The partitions that are at or under min ISR by their settings: no fault is charged."""
    (found,) = tables.rows("""
        select count(distinct partition) filter (where at_min_isr) as at,
            count(distinct partition) filter (where under_min_isr) as under
        from partition_states where in_sync >= replicas
    """)
    for where, count in found.items():
        if count:
            yield (
                f"{counted(count, 'partition')} {'is' if count == 1 else 'are'} {where} min ISR "
                "without a fault, as min.insync.replicas asks for all replicas or more: taken off."
            )


def _show_given_up(out: Console, run: RunFolder) -> None:
    """Print the records that producers gave up, also in a run without effects of faults."""
    given_up = (run.summary or {}).get("records_failed", 0)
    if given_up:
        out.print(f"Producers gave up {counted(given_up, 'record')} in the whole run.", style="dim")


def _show_steps(out: Console, run: Run, tables: RunTables) -> None:
    steps = tables.rows("select * from steps order by step")
    if not steps:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("step", "taken", "waited", "lasted"):
        table.add_column(title, justify="right")
    table.add_column("outcome", overflow="fold")
    outcomes = outcomes_of_steps(run)
    for each in steps[:_TOLD]:
        outcome = _counted_outcome(outcomes.get(each["step"])) or each["outcome"] or "not reached"
        waited, lasted = (
            "-" if each[name] is None else duration_text(each[name])
            for name in ("waited_us", "lasted_us")
        )
        table.add_row(
            str(each["step"] + 1),
            "never" if each["taken_us"] is None else time_text(each["taken_us"]),
            waited,
            lasted,
            escape(f"{outcome}: {each['step_text']}"),
        )
    out.print()
    out.print(table)
    if len(steps) > _TOLD:
        out.print(f"... and {len(steps) - _TOLD} more")


def _counted_outcome(partitions: Counter[str] | None) -> str:
    """The outcomes of the partitions of one request, such as ``2 elected, 4 not needed``."""
    words = {"ELECTION_NOT_NEEDED": "not needed"}
    counts = (partitions or Counter()).items()
    return ", ".join(f"{count:,} {words.get(each, each)}" for each, count in counts)
