"""The verdicts of a run's checks, and the story of an unexpected break."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from tidegauge.runs.cause_chain import cause_strands
from tidegauge.runs.misled_replica import misled_replica, misled_words
from tidegauge.runs.moments import told_moment
from tidegauge.runs.story import Names
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import time_text
from tidegauge.traces.checks import CHECKS
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.story_lines import moment_line, print_lines

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


def show_verdicts(out: Console, run: RunFolder) -> list[str]:
    """Print a line for each check, and return the names of the unexpected ones."""
    assert run.summary is not None
    checks: dict[str, dict[str, Any]] = run.summary["checks"]
    names = Names.of(run)
    if not checks:
        out.print("No check is judged: logs do not tell of records.")
    width = max((len(name) for name in checks), default=0)
    for name, found in checks.items():
        style = "" if found["as_expected"] else "bold red"
        text = _verdict_text(found, names)
        if name == _LOSS and found["verdict"] is True:
            text += _permitted_loss(run.summary)
        out.print(f"check {name:{width}}  {text}", style=style, soft_wrap=True)
        _explain_release(out, run, names, found)
    for reason in (run.summary["liveness"] or {}).get("reasons", []):
        out.print(f"  after the liveness phase {reason}")
    unexpected = [name for name, found in checks.items() if not found["as_expected"]]
    for name in unexpected:
        _tell_first_event(out, run, names, name, checks[name])
    return unexpected


def _verdict_text(found: dict[str, Any], names: Names) -> str:
    text = "holds" if found["verdict"] is True else found["verdict"]
    first = found["first_event"]
    if found["verdict"] is False:
        parts = []
        if found["broken"] and (first is None or first["partition"] >= 0):
            parts.append(f"BROKEN in {counted(found['broken'], 'partition')}")
        if found["permitted"]:
            parts.append(
                f"given up in {counted(found['permitted'], 'partition')} by {found['permitted_by']}"
            )
        text = ", ".join(parts) or "BROKEN"
    if first is not None:
        # What is promised of the controllers of a quorum is about no partition.
        where = f"{names.partition(first['partition'])}, " if first["partition"] >= 0 else ""
        text += f"; first {where}row {first['process']}:{first['sequence']}"
    if not found["as_expected"]:
        expected = {True: "that it holds", False: "that it is broken"}
        text += f"; expected: {expected.get(found['expected'], found['expected'])}"
    return text


def _explain_release(out: Console, run: RunFolder, names: Names, found: dict[str, Any]) -> None:
    """Print the records that a replica took for committed, if its release has KAFKA-14704."""
    first = found["first_event"]
    if not found["permitted"] or found["broken"] or first is None:
        return
    row = run.canonical_row(first["process"], first["sequence"])
    if row is None or row.kind != "diverging_high_watermark":
        return
    misled = misled_replica(run, row)
    if misled is None:
        return
    for line in (
        f"{time_text(misled.time_us)}: {misled_words(misled, names, row['partition'])}",
        _KAFKA_14704,
    ):
        out.print(f"  {line}", soft_wrap=True)


def _permitted_loss(summary: dict[str, Any]) -> str:
    """The records whose loss a setting, or acks, permits."""
    lost = summary["records_acknowledged_lost_permitted"]
    if not lost:
        return ""
    return (
        f" but for {counted(lost, 'record')} whose loss is permitted: `tidegauge show` says by what"
    )


def _tell_first_event(
    out: Console, run: RunFolder, names: Names, name: str, found: dict[str, Any]
) -> None:
    """Print the row that broke a check, and its causes."""
    first = found["first_event"]
    row = run.canonical_row(first["process"], first["sequence"]) if first else None
    if row is None:
        return
    promise = next(check.promise for check in CHECKS.values() if check.name == name)
    out.print(f"\n{name}: {promise}. The row that broke it, and its causes:", style="bold")
    rows = cause_strands(run, row)[0].rows[:_CAUSES]
    print_lines(out, [moment_line([each], run, names, told_moment) for each in rows], handles=True)
