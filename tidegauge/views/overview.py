"""``tidegauge show partitions`` and ``show cause``: where to look first, and where it began.

The first lists partitions, those with losses first. The second is the chain of triggers of one row,
back to the first fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.report.headline import reassignment_lines
from tidegauge.report.stalled_writes import stalled_partitions
from tidegauge.runs.causes import Strand, cause_strands
from tidegauge.runs.clients import unreachable_lines
from tidegauge.runs.run import Run
from tidegauge.runs.stories import story_line
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.text.errors import counted, duration_text
from tidegauge.simulation.quantities import whole_time_text
from tidegauge.traces.run_files import snapshot_times_us
from tidegauge.views.output import in_column, name_width, print_hanging
from tidegauge.views.story_lines import LISTED, print_lines

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables

#: The worst first: losses, then possible losses, then the time that producers waited; for logs,
#: which do not have that, the time in which writes were refused.
_RANKED = """
    select * from partition_figures order by records_lost desc, records_unavailable desc,
        unclean_elections desc, leader is null desc, records_given_up desc,
        coalesce(stalled_us, not_accepting_us + under_min_isr_us) desc,
        not_accepting_us + under_min_isr_us desc, records_truncated desc,
        batches_appended_twice desc, isr_changes desc, partition
"""

#: Why records of a partition are lost, the most frequent reasons first.
_LOSSES = """
    select partition, coalesce(fault_name, 'no known fault') as fault,
        coalesce(permitted_by, 'nothing permits it') as permitted_by, sum(records) as records
    from lost group by all order by records desc, fault, permitted_by
"""

#: More snapshots than these are listed by the first ones and the last one.
_LISTED_SNAPSHOTS = 8

#: Shorter times are those of any election.
_NOTABLE_US = 1_000_000

#: Times that are shown if they are long, with their words.
_TIMES = {
    "stalled_us": "stalled",
    "reads_stalled_us": "reads stalled",
    "not_accepting_us": "not accepting",
    "under_min_isr_us": "under min ISR",
}

#: Counts that are shown as they are, with their words.
_TOLD = {
    "unclean_elections": "unclean elections",
    "batches_given_up": "batches given up",
    "records_truncated": "records truncated",
    "batches_appended_twice": "batches appended twice",
    "consumers_reset": "consumers reset",
    "given_up_by_followers": "given up by followers",
}


def show_unreachable(out: Console, run: Run) -> None:
    """Print which groups of clients knew for long only brokers that they could not reach."""
    for line in unreachable_lines(run):
        out.print()
        print_hanging(out, "", Text(line, style="yellow"))


def partitions_for_programs(run: Run) -> list[dict[str, Any]]:
    """The figures of all partitions, the worst first, with the reasons of their losses."""
    causes = _causes(run)
    return [
        {
            **{key: each[key] for key in each if key not in {"run", "topic_partition", "replicas"}},
            "partition": each["topic_partition"],
            "replication_factor": each["replicas"],
            "worth_a_look": list(_reasons(each, causes.get(each["partition"], []))),
        }
        for each in run.tables.rows(_RANKED)
    ]


def worst_partition(run: Run) -> str:
    """The name of the first of the partitions, the worst first.

    Raises:
        TidegaugeError: the run has no partition.
    """
    ranked = run.tables.rows(f"select topic_partition from ({_RANKED}) limit 1")  # noqa: S608
    if not ranked:
        raise TidegaugeError(f"{run.path}: the run has no partition")
    name: str = ranked[0]["topic_partition"]
    return name


def _causes(run: Run) -> dict[int, list[str]]:
    """The causes of the losses of each partition, in words."""
    causes: dict[int, list[str]] = {}
    for each in run.tables.rows(_LOSSES):
        words = f"{each['records']:,} by {each['fault']} ({each['permitted_by']})"
        causes.setdefault(each["partition"], []).append(words)
    return causes


def show_partitions(out: Console, run: Run) -> None:
    """Print the moved replicas, and the partitions that are worth a look, with the reasons."""
    partitions = run.tables.rows(_RANKED)
    causes = _causes(run)
    reasons = [list(_reasons(each, causes.get(each["partition"], []))) for each in partitions]
    out.print(_heading(partitions, sum(map(bool, reasons)), of_logs=run.is_of_logs))
    _show_stalled(out, run.tables)
    for moved in reassignment_lines(run.summary) if run.summary and not run.is_of_logs else ():
        out.print(f"reassignment: {moved}")
    width = name_width(each["topic_partition"] for each in partitions)
    out.print(f"\n{'partition':{width}}    lost  ISR changes  terms  worth a look", style="bold")
    for each, its_reasons in list(zip(partitions, reasons, strict=True))[:LISTED]:
        name = in_column(out, each["topic_partition"], width)
        figures = f"{name}  {_lost(each)}  {each['isr_changes']:11}  {each['leader_terms']:5}  "
        print_hanging(out, figures, Text(", ".join(its_reasons), style="red"))
    if len(partitions) > LISTED:
        out.print(f"... and {len(partitions) - LISTED} more")
    if partitions:
        first = partitions[0]["topic_partition"]
        out.print(f"\nIts story:   tidegauge show partition {run.path} {first}", soft_wrap=True)
    snapshots = [whole_time_text(time_us) for time_us in snapshot_times_us(run.path)]
    if len(snapshots) > _LISTED_SNAPSHOTS:
        snapshots[_LISTED_SNAPSHOTS - 1 : -1] = ["..."]
    if snapshots:
        out.print(f"Snapshots:   {', '.join(snapshots)}", soft_wrap=True)


def _show_stalled(out: Console, tables: RunTables) -> None:
    """Print the partitions that were stalled for producers, and the records that were not sent."""
    stalled = stalled_partitions(tables)
    if stalled is None:
        return
    (figures,) = tables.rows("select records_unsent, records_offered from run_figures")
    unsent = ""
    if figures["records_unsent"]:
        unsent = f"; {figures['records_unsent']:,} of {figures['records_offered']:,} records unsent"
    out.print(f"{stalled.text}{unsent}", style="red" if stalled.stalled else None, markup=False)


def _lost(figures: dict[str, Any]) -> str:
    """The lost records; logs have none."""
    return f"{'-':>6}" if figures["records_lost"] is None else f"{figures['records_lost']:6,}"


def _heading(partitions: list[dict[str, Any]], striking: int, *, of_logs: bool) -> str:
    if of_logs:
        of_all = counted(len(partitions), "partition")
        return f"{of_all}, {striking} of them worth a look; logs have no lost records"
    lost = sum(each["records_lost"] for each in partitions)
    where = sum(each["records_lost"] > 0 for each in partitions)
    losses = "no acknowledged record is lost"
    if lost:
        is_or_are = "is" if lost == 1 else "are"
        losses = (
            f"{counted(lost, 'acknowledged record')} of {counted(where, 'partition')} "
            f"{is_or_are} lost"
        )
    return f"{counted(len(partitions), 'partition')}, {striking} of them worth a look; {losses}"


def _reasons(figures: dict[str, Any], causes: list[str]) -> Iterator[str]:
    """The reasons why a partition is worth a look; none if it is not."""
    if figures["records_lost"]:
        yield f"LOST: {', '.join(causes)}"
    if figures["records_unavailable"]:
        yield f"{counted(figures['records_unavailable'], 'acknowledged record')} unavailable"
    if figures["in_sync"] is not None:
        if figures["leader"] is None:
            yield "no leader at the end"
        if figures["in_sync"] < figures["replicas"]:
            yield f"{figures['in_sync']} of {figures['replicas']} in sync at the end"
    for column, words in _TIMES.items():
        if (figures[column] or 0) >= _NOTABLE_US:
            yield f"{words} for {duration_text(figures[column])}"
    for column, words in _TOLD.items():
        if figures[column]:
            yield f"{words}: {figures[column]:,}"


#: The number of rows shown at the beginning of a chain that is too long to list.
LAST = 10


def cause_for_programs(run: Run, event: TraceEvent) -> list[dict[str, Any]]:
    """A row and its chain of triggers, then each cause beside that.

    Raises:
        TraceError: a trace file is damaged.
    """
    return [
        {
            "cause_of": strand.cause_of and strand.cause_of.handle,
            "rows": [story_line([each], run)._asdict() for each in strand.rows],
            "joins": strand.joins and strand.joins.handle,
        }
        for strand in cause_strands(run, event)
    ]


def show_cause(out: Console, run: Run, event: TraceEvent) -> None:
    """Print a row and its chain of triggers, the newest first; then each cause beside that."""
    strands = cause_strands(run, event)
    out.print("The causes of this row, the newest first", style="bold")
    _print_strand(out, strands[0], run)
    for strand in strands[1:LISTED]:
        assert strand.cause_of is not None
        out.print(f"\nThe other cause of {strand.cause_of.handle}", style="bold")
        _print_strand(out, strand, run)
    if len(strands) > LISTED:
        out.print(f"\n... and {len(strands) - LISTED} more causes")


def _print_strand(out: Console, strand: Strand, run: Run) -> None:
    lines = [story_line([event], run) for event in strand.rows]
    if len(lines) > LISTED:
        print_lines(out, lines[: LISTED - LAST], handles=True)
        out.print(f"            ... {len(lines) - LISTED} more ...")
        lines = lines[-LAST:]
    print_lines(out, lines, handles=True)
    if strand.joins is not None:
        out.print(f"            and then {strand.joins.handle}, above")
