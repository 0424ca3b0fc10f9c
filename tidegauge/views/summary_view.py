"""The end of ``tidegauge run``: figures, verdicts of checks, the story of an unexpected break."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import typer
from rich.console import Console

from tidegauge.report.headline import reassignment_lines
from tidegauge.runs.causes import cause_strands
from tidegauge.runs.replicas import misled_replica
from tidegauge.runs.run import Run
from tidegauge.runs.stories import story_line
from tidegauge.scenario.model.scenario import ANY_VERDICT
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text
from tidegauge.traces.checks import CHECKS
from tidegauge.views.output import console, print_command, print_hanging
from tidegauge.views.story_lines import print_lines

#: Longer times are in seconds.
_LONG_MS = 1_000

#: The number of items that a line names: partitions, settings, groups of clients, checks.
_LISTED = 5
#: The number of lines with figures in the short output, which has 15 lines with all others.
_FIGURES = 7


def show_summary(summary: dict[str, Any], *, has_quorum: bool, is_verbose: bool) -> None:
    """Print the most important figures, the worst first; all of them if wanted.

    Args:
        summary: the summary of the run.
        has_quorum: whether the cluster has KRaft, whose control plane has other figures.
        is_verbose: also print the other figures, in which groups of clients have a line each.
    """
    for line in islice(_figure_lines(summary), None if is_verbose else _FIGURES):
        print_hanging(console(), "", line)
    for line in _other_lines(summary, has_quorum=has_quorum) if is_verbose else ():
        print_hanging(console(), "", line)


def _figure_lines(summary: dict[str, Any]) -> Iterator[str]:
    """Stalls of clients, losses, outages, and the slowest clients."""
    yield f"stalled for {_stalls(summary, 'producers', '')}"
    if summary["partition_seconds_reads_stalled"]:
        yield f"stalled for {_stalls(summary, 'consumers', 'reads_')}"
    yield (
        f"records: {summary['records_offered']:,} offered = "
        f"{summary['records_acknowledged']:,} acknowledged + "
        f"{summary['records_failed']:,} failed + {summary['records_unsent']:,} unsent + "
        f"{summary['records_in_flight']:,} in flight"
    )
    yield (
        f"         of the acknowledged ones {summary['records_acknowledged_lost']:,} lost, "
        f"{summary['records_acknowledged_unavailable']:,} unavailable; "
        f"{summary['records_duplicated']:,} duplicated, {summary['records_consumed']:,} consumed"
    )
    lost = summary["records_lost_by_partition"]
    if lost:
        permitted = summary["records_acknowledged_lost_permitted"]
        yield (
            f"acknowledged records lost of: {_some([f'{name} {lost[name]:,}' for name in lost])}; "
            f"settings permit {permitted:,} of {sum(lost.values()):,}"
        )
    yield (
        f"partition-seconds: {summary['partition_seconds_offline']:,.1f} offline, "
        f"{summary['partition_seconds_not_accepting']:,.1f} not accepting writes, "
        f"{summary['partition_seconds_under_min_isr']:,.1f} under min ISR, "
        f"{summary['partition_seconds_at_min_isr']:,.1f} at it"
    )
    moves = "; ".join(reassignment_lines(summary))
    if moves:
        yield f"reassignment: {moves}"
    slowest = [
        f"{name} {_about(latency['p99'])}"
        for name, latency in _slowest_first(summary["produce_ms"])
        if latency["max"]
    ]
    if slowest:
        yield f"slowest batches (P99): {_some(slowest)}"
    not_modelled = summary["settings_not_modelled"]
    if not_modelled:
        yield f"settings not modelled, without effect: {_some(not_modelled)}"


def _other_lines(summary: dict[str, Any], *, has_quorum: bool) -> Iterator[str]:
    """The cost of the run, the changes of the cluster, the control plane, each group of clients."""
    yield (
        f"{counted(summary['events'], 'event')} in {summary['loop_seconds']:.2f} s: "
        f"{summary['times_real_time']:,.4g} times real time"
    )
    if len(summary["groups"]) > 1:
        yield _groups_line(summary)
    yield (
        f"ISR: {counted(summary['isr_shrinks'], 'shrink')} and "
        f"{counted(summary['isr_expands'], 'expand')} by leaders, "
        f"{counted(summary['isr_removals'], 'removal')} by controllers"
        f"{'' if has_quorum else ', ' + counted(summary['isr_notifications'], 'notification')}"
    )
    from_us = round(summary["figures_from_seconds"] * 1e6)
    yield f"figures from {time_text(from_us)} on: start-up does not count"
    yield (
        f"controllers: {summary['failovers']}; leaders elected: {summary['leader_elections']}, "
        f"{summary['unclean_elections']} of them uncleanly; brokers started: {summary['starts']} "
        "times"
    )
    if has_quorum:
        queued = _about(summary["controller_queue_ms"]["max"])
        yield (
            f"active controller: busy for {summary['controller_busy_seconds']:,.1f} s; "
            f"an event waited in its queue for {queued} at most"
        )
    for name, latency in _slowest_first(summary["produce_ms"]):
        p50, p99, longest = (_about(latency[word]) for word in ("p50", "p99", "max"))
        yield (
            f"batches of {name}: an outcome within {p50} (half of them), {p99} (P99), "
            f"{longest} (all){_blocked(summary, name)}"
            if latency["max"]
            else f"batches of {name}: none"
        )
    for line in summary["settings_not_modelled"]:
        yield f"not modelled: {line}"
    yield f"trace_sha256 {summary['trace_sha256']}"


def _slowest_first(produce_ms: dict[str, dict[str, float]]) -> list[tuple[str, dict[str, float]]]:
    """Groups of producers with the times of their batches."""
    return sorted(produce_ms.items(), key=lambda each: (-each[1]["p99"], -each[1]["max"]))


def _some(items: Sequence[str]) -> str:
    """The first items, and the number of others."""
    more = f" and {len(items) - _LISTED:,} more" if len(items) > _LISTED else ""
    return ", ".join(items[:_LISTED]) + more


def _stalls(summary: dict[str, Any], clients: str, reads: str) -> str:
    """The number of partitions that were stalled for clients, and the times."""
    seconds = summary[f"partition_seconds_{reads}stalled"]
    return (
        f"{clients}: {counted(summary[f'partitions_{reads}stalled'], 'partition')} "
        f"({summary[f'partitions_{reads}stalled_most']:,} at once), "
        f"{seconds:,.1f} partition-seconds, longest "
        f"{summary[f'longest_{reads}stall_seconds']:,.1f} s"
        if seconds
        else f"{clients}: no partition for over 1 s"
    )


def _blocked(summary: dict[str, Any], group: str) -> str:
    """The time for which the applications of a group waited for memory."""
    seconds = summary["blocked_seconds"][group]
    return f"; send() blocked for {seconds:,.1f} s" if seconds else ""


def show_chance(left_to_chance: list[str], over_seeds: str | None, *, is_verbose: bool) -> None:
    """Print the command that shows other outcomes, if draws have decided the run; and which."""
    for place, decided in enumerate(left_to_chance if is_verbose else ()):
        typer.echo(f"{'       ' if place else 'chance:'} {decided}")
    if left_to_chance and over_seeds is not None:
        print_command("This is one seed. The spread", over_seeds)


def _about(milliseconds: float) -> str:
    """A time with two digits, since more are not known; long times are in seconds."""
    value, unit = (milliseconds, "ms") if milliseconds < _LONG_MS else (milliseconds / 1000, "s")
    return f"{float(f'{value:.2g}'):,g} {unit}"


def _groups_line(summary: dict[str, Any]) -> str:
    """The costs of several groups, each an actor."""
    groups = summary["groups"]
    exchange = max(group["exchange_cpu_us_per_window"] for group in groups)
    busiest = max(groups, key=lambda group: float(group["kernel_cpu_seconds"]))
    return (
        f"{counted(len(groups), 'actor')}: "
        f"{summary['windows_per_virtual_second']:,.0f} windows a virtual second of "
        f"{summary['events_per_window']:,.1f} events; exchange {exchange:.1f} us of CPU a window "
        f"at most; busiest: {busiest['name']}, {busiest['kernel_cpu_seconds']:.1f} s"
    )


#: The check that counts records.
_LOSS = "acknowledged_records_lost"

#: The number of causes of the first event that are printed.
_CAUSES = 8

#: The bug and its releases. Source: AbstractFetcherThread.processFetchRequest@3.4.0.
_KAFKA_14704 = (
    "KAFKA-14704: a follower of releases 2.8.0 to 3.4.0 takes over the high watermark of a "
    "response that has it truncate, and only then truncates. In between consumers could read the "
    "truncated records from it, never from a leader. Fixed in 3.4.1 and 3.5.0"
)


def show_verdicts(out: Console, run: Run, *, is_verbose: bool) -> list[str]:
    """Print the number of checks by verdict, and the first unexpected one; return their names.

    Args:
        out: the output.
        run: the run.
        is_verbose: print a line for each check, and the events that led to an unexpected verdict.
    """
    assert run.summary is not None
    checks: dict[str, dict[str, Any]] = run.summary["checks"]
    unexpected = [name for name, found in checks.items() if not found["as_expected"]]
    more = "" if is_verbose or not checks else "; --verbose prints each, and all other figures"
    print_hanging(out, "", f"{_counts_line(checks)}{more}")
    for each in run.summary.get("sometimes", ()):
        seen = "seen" if each["is_met"] else "not seen"
        print_hanging(out, "sometimes ", f"{each['expected']}: {seen} with this seed")
    width = max((len(name) for name in checks), default=0)
    for name in checks if is_verbose else unexpected[:1]:
        found = checks[name]
        style = "" if found["as_expected"] else "bold red"
        holds = f"holds{_permitted_loss(run.summary) if name == _LOSS else ''}"
        text = _verdict_text(found, holds)
        out.print(f"check {name:{width}}  {text}", style=style, soft_wrap=True)
        if is_verbose:
            _explain_release(out, run, found)
    if is_verbose:
        for reason in (run.summary["liveness"] or {}).get("reasons", []):
            out.print(f"  after the liveness phase {reason}")
        for name in unexpected:
            _tell_first_event(out, run, name, checks[name])
    return unexpected


def _counts_line(checks: dict[str, dict[str, Any]]) -> str:
    """The number of checks that hold, and the names of those without that verdict."""
    if not checks:
        return "No check is judged: logs have no records."
    parts = [f"{sum(each['verdict'] is True for each in checks.values())} of {len(checks)} hold"]
    expected = {name: each for name, each in checks.items() if each["as_expected"]}
    for words, are_wanted in (
        ("given up by settings", lambda each: each["verdict"] is False and not each["broken"]),
        ("broken as expected", lambda each: each["verdict"] is False and each["broken"]),
        ("not judged", lambda each: not isinstance(each["verdict"], bool)),
    ):
        names = [name for name, each in expected.items() if are_wanted(each)]
        if names:
            parts.append(f"{words}: {_some(names)}")
    of_file = [name for name, each in checks.items() if _is_of_another_release(each)]
    if of_file:
        parts.append(f"broken in the scenario's own release only: {_some(of_file)}")
    return f"checks: {'; '.join(parts)}"


def _is_of_another_release(found: dict[str, Any]) -> bool:
    """Whether a check holds that is expected to be broken in the scenario's own release."""
    return found["verdict"] is True and found["expected"] == ANY_VERDICT


def _verdict_text(found: dict[str, Any], holds: str) -> str:
    text = holds if found["verdict"] is True else found["verdict"]
    first = found["first_event"]
    if found["verdict"] is False:
        parts = []
        if found["broken"] and (first is None or first["partition"] is not None):
            parts.append(f"BROKEN in {counted(found['broken'], 'partition')}")
        if found["permitted"]:
            parts.append(
                f"given up in {counted(found['permitted'], 'partition')} by {found['permitted_by']}"
            )
        text = ", ".join(parts) or "BROKEN"
    if first is not None:
        where = "" if first["partition"] is None else f"{first['partition']}, "
        text += f"; first {where}row {first['handle']}"
    if not found["as_expected"]:
        expected = {True: "that it holds", False: "that it is broken"}
        text += f"; expected: {expected.get(found['expected'], found['expected'])}"
    return text


def _explain_release(out: Console, run: Run, found: dict[str, Any]) -> None:
    """Print the records that a replica counted as committed, if its release has KAFKA-14704."""
    first = found["first_event"]
    if not found["permitted"] or found["broken"] or first is None:
        return
    row = run.row_with_handle(first["handle"])
    if row is None or row.kind != "diverging_high_watermark":
        return
    misled = misled_replica(run, run.event(row))
    if misled is None:
        return
    for line in (f"{time_text(misled.time_us)}: {misled.words}", _KAFKA_14704):
        out.print(f"  {line}", soft_wrap=True)


def _permitted_loss(summary: dict[str, Any]) -> str:
    """The records whose loss a setting, or acks, permits."""
    lost = summary["records_acknowledged_lost_permitted"]
    if not lost:
        return ""
    records = counted(lost, "record")
    return (
        f" but for {records} whose loss is permitted: `tidegauge show partitions` names the setting"
    )


def _tell_first_event(out: Console, run: Run, name: str, found: dict[str, Any]) -> None:
    """Print the row that broke a check, and its causes."""
    first = found["first_event"]
    row = run.row_with_handle(first["handle"]) if first else None
    if row is None:
        return
    promise = next(check.promise for check in CHECKS.values() if check.name == name)
    out.print(f"\n{name}: {promise}. The row that broke it, and its causes:", style="bold")
    events = cause_strands(run, run.event(row))[0].rows[:_CAUSES]
    print_lines(out, [story_line([each], run) for each in events], handles=True)
