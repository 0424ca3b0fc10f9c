"""The end of ``tidegauge run``: figures, verdicts of checks, the story of an unexpected break."""

from typing import Any

import typer
from rich.console import Console

from tidegauge.report.headline import reassignment_lines
from tidegauge.runs.causes import cause_strands
from tidegauge.runs.replicas import misled_replica
from tidegauge.runs.run import Run
from tidegauge.runs.stories import story_line
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text
from tidegauge.traces.checks import CHECKS
from tidegauge.views.story_lines import print_lines

#: Longer times are in seconds.
_LONG_MS = 1_000

#: The number of settings without effect that are listed.
_LISTED = 5


def show_summary(summary: dict[str, Any], *, has_quorum: bool) -> None:
    """Print the most important figures; those of the control plane depend on its mode."""
    typer.echo(
        f"{counted(summary['events'], 'event')} in {summary['loop_seconds']:.2f} s: "
        f"{summary['times_real_time']:,.4g} times real time"
    )
    if len(summary["groups"]) > 1:
        _show_groups(summary)
    _show_stalls(summary)
    typer.echo(
        f"records: {summary['records_offered']:,} offered = "
        f"{summary['records_acknowledged']:,} acknowledged + "
        f"{summary['records_failed']:,} failed + {summary['records_unsent']:,} unsent + "
        f"{summary['records_in_flight']:,} in flight; "
        f"{summary['records_acknowledged_lost']:,} of the acknowledged ones lost, "
        f"{summary['records_acknowledged_unavailable']:,} unavailable; "
        f"{summary['records_duplicated']:,} duplicated, {summary['records_consumed']:,} consumed"
    )
    typer.echo(
        f"ISR: {counted(summary['isr_shrinks'], 'shrink')} and "
        f"{counted(summary['isr_expands'], 'expand')} by leaders, "
        f"{counted(summary['isr_removals'], 'removal')} by controllers"
        f"{'' if has_quorum else ', ' + counted(summary['isr_notifications'], 'notification')}"
    )

    from_us = round(summary["figures_from_seconds"] * 1e6)
    typer.echo(f"figures from {time_text(from_us)} on: start-up does not count")
    typer.echo(
        f"partition-seconds: {summary['partition_seconds_offline']:,.1f} offline, "
        f"{summary['partition_seconds_not_accepting']:,.1f} without a leader that accepts writes, "
        f"{summary['partition_seconds_under_min_isr']:,.1f} under min.insync.replicas, "
        f"{summary['partition_seconds_at_min_isr']:,.1f} at it"
    )
    typer.echo(
        f"controllers: {summary['failovers']}; leaders elected: {summary['leader_elections']}, "
        f"{summary['unclean_elections']} of them uncleanly; brokers started: {summary['starts']} "
        "times"
    )
    if has_quorum:
        queued = _about(summary["controller_queue_ms"]["max"])
        typer.echo(
            f"active controller: busy for {summary['controller_busy_seconds']:,.1f} s; "
            f"an event waited in its queue for {queued} at most"
        )
    for line in reassignment_lines(summary):
        typer.echo(f"reassignment: {line}")
    _show_losses(summary["records_lost_by_partition"])
    for name, latency in summary["produce_ms"].items():
        p50, p99, longest = (_about(latency[word]) for word in ("p50", "p99", "max"))
        typer.echo(
            f"batches of {name}: an outcome within {p50} (half of them), {p99} (P99), "
            f"{longest} (all){_blocked(summary, name)}"
            if latency["max"]
            else f"batches of {name}: none"
        )
    not_modelled = summary["settings_not_modelled"]
    if not_modelled:
        typer.echo("settings not modelled, without effect:")
        for line in not_modelled[:_LISTED]:
            typer.echo(f"  {line}")
        if len(not_modelled) > _LISTED:
            typer.echo(f"  ... and {len(not_modelled) - _LISTED} more: see summary.json")
    typer.echo(f"trace_sha256 {summary['trace_sha256']}")


def _show_stalls(summary: dict[str, Any]) -> None:
    """Print the number of partitions that were stalled for clients, and the times."""
    for reads, clients in (("", "producers"), ("reads_", "consumers")):
        seconds = summary[f"partition_seconds_{reads}stalled"]
        typer.echo(
            f"stalled for {clients}: {counted(summary[f'partitions_{reads}stalled'], 'partition')} "
            f"({summary[f'partitions_{reads}stalled_most']:,} at once), "
            f"{seconds:,.1f} partition-seconds, longest "
            f"{summary[f'longest_{reads}stall_seconds']:,.1f} s"
            if seconds
            else f"stalled for {clients}: no partition for over 1 s"
        )


def _blocked(summary: dict[str, Any], group: str) -> str:
    """The time for which the applications of a group waited for memory."""
    seconds = summary["blocked_seconds"][group]
    return f"; send() blocked for {seconds:,.1f} s" if seconds else ""


def show_chance(left_to_chance: list[str], over_seeds: str) -> None:
    """Print the draws that have decided the run, and the command that shows other outcomes."""
    for place, decided in enumerate(left_to_chance):
        typer.echo(f"{'       ' if place else 'chance:'} {decided}")
    if left_to_chance:
        typer.echo(f"This is one seed. The spread: {over_seeds}")


def _show_losses(lost: dict[str, int]) -> None:
    """Print the partitions that lost acknowledged records."""
    if not lost:
        return
    named = ", ".join(f"{name} {count:,}" for name, count in list(lost.items())[:_LISTED])
    more = f" and {len(lost) - _LISTED:,} more" if len(lost) > _LISTED else ""
    typer.echo(f"acknowledged records lost of: {named}{more}")
    typer.echo(f"  the story: tidegauge show partition DIR {next(iter(lost))}")


def _about(milliseconds: float) -> str:
    """A time with two digits, since more are not known; long times are in seconds."""
    value, unit = (milliseconds, "ms") if milliseconds < _LONG_MS else (milliseconds / 1000, "s")
    return f"{float(f'{value:.2g}'):,g} {unit}"


def _show_groups(summary: dict[str, Any]) -> None:
    """Print the costs of several groups, each an actor."""
    groups = summary["groups"]
    exchange = max(group["exchange_cpu_us_per_window"] for group in groups)
    busiest = max(groups, key=lambda group: float(group["kernel_cpu_seconds"]))
    typer.echo(
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


def show_verdicts(out: Console, run: Run) -> list[str]:
    """Print a line for each check, and return the names of the unexpected ones."""
    assert run.summary is not None
    checks: dict[str, dict[str, Any]] = run.summary["checks"]
    if not checks:
        out.print("No check is judged: logs have no records.")
    width = max((len(name) for name in checks), default=0)
    for name, found in checks.items():
        style = "" if found["as_expected"] else "bold red"
        text = _verdict_text(found)
        if name == _LOSS and found["verdict"] is True:
            text += _permitted_loss(run.summary)
        out.print(f"check {name:{width}}  {text}", style=style, soft_wrap=True)
        _explain_release(out, run, found)
    for reason in (run.summary["liveness"] or {}).get("reasons", []):
        out.print(f"  after the liveness phase {reason}")
    unexpected = [name for name, found in checks.items() if not found["as_expected"]]
    for name in unexpected:
        _tell_first_event(out, run, name, checks[name])
    return unexpected


def _verdict_text(found: dict[str, Any]) -> str:
    text = "holds" if found["verdict"] is True else found["verdict"]
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
