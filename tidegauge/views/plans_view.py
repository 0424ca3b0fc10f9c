"""The answer to a question that compares plans: a line for each, on one screen."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tidegauge.runs.figures import value_text
from tidegauge.what_if.voter_plans import (
    NOTICED_US,
    PLAN_FIGURES,
    SECOND_WITHIN_US,
    WATCHED_US,
    TriedPlan,
)

_SECONDS = 1e6


def show_plans(
    out: Console, title: str, meaning: str, notes: Sequence[str], tried: Sequence[TriedPlan]
) -> None:
    """Print each plan by itself and with a second failure, and the command of the worst run.

    Args:
        out: the output.
        title: the cluster, and the question as it was asked.
        meaning: the question, in words.
        notes: the differences of its scenario from the file, in words.
        tried: the plans, in their order.
    """
    out.print(title, style="bold", markup=False)
    out.print(f"{meaning[0].upper()}{meaning[1:]}.", markup=False)
    first_s, last_s = NOTICED_US / _SECONDS, (NOTICED_US + SECOND_WITHIN_US) / _SECONDS
    out.print(
        f"Commands come from {first_s:.0f} s after the failure on, and it is watched for "
        f"{WATCHED_US / _SECONDS:.0f} s. Then each plan is tried with a second failure: another "
        f"voter dies for good, {first_s:.0f} to {last_s:.0f} s after the first one.",
        markup=False,
    )
    for note in notes:
        out.print(note, markup=False)
    out.print(_table(tried))
    _print_errors(out, tried)
    worst = max(tried, key=lambda each: each.with_second["without_leader"].largest)
    longest = value_text(worst.with_second["without_leader"].largest, "s")
    out.print(
        f"Longest without a leader ({worst.plan.name}, {longest}):\n  {worst.worst_command}",
        soft_wrap=True,
        markup=False,
    )


def _table(tried: Sequence[TriedPlan]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("\n\nplan", no_wrap=True)
    for title in (
        "one failure\nfrom a stop,\nof the time",
        "\nno\nleader",
        "second\nfailure\nstops it",
        "\n\nwedged",
        "no leader\nthen,\nmedian",
        "\n\nworst",
        "no\ncommit,\nworst",
        "commits\nthen,\nP95",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    for each in tried:
        second = each.with_second
        table.add_row(
            each.plan.name,
            _risk(each),
            _seconds(each.alone["without_leader"].largest),
            *(f"{second[name].above_zero}/{second[name].seeds}" for name in ("stopped", "wedged")),
            _seconds(second["without_leader"].p50),
            _seconds(second["without_leader"].largest),
            _seconds(second["without_commit"].largest),
            f"{second['commit_ms'].p50:.0f} ms",
        )
    return table


def _seconds(value: float) -> str:
    return f"{value:.1f} s"


def _print_errors(out: Console, tried: Sequence[TriedPlan]) -> None:
    """Print the answers with errors, and whether all others were taken."""
    refused = {each.plan.name: each.errors_text for each in tried if each.errors_text}
    for name, text in refused.items():
        out.print(f"Answers of {name}: {text}", markup=False)
    if any(each.answers for each in tried):
        out.print(f"{'All other' if refused else 'All'} requests were taken.", markup=False)


def _risk(each: TriedPlan) -> str:
    """The share of time one failure from a stop; with that of a stop without a second failure."""
    stopped = f"stop {each.share_stopped:.0%}, " if each.share_stopped else ""
    return f"{stopped}{each.share_at_risk:.0%}"


def content_of_plans(
    question: str, notes: Sequence[str], tried: Sequence[TriedPlan]
) -> dict[str, Any]:
    """The plans for programs; times are in seconds, if their names do not have another unit."""
    return {
        "question": question,
        "notes": list(notes),
        "figures": dict(PLAN_FIGURES),
        "plans": [
            {
                "plan": each.plan.name,
                "file": str(each.file),
                "file_with_second_failure": str(each.file_of_second),
                "share_one_failure_from_stopping": each.share_at_risk,
                "share_stopped": each.share_stopped,
                "answers": [answer._asdict() for answer in each.answers],
                "alone": {name: it._asdict() for name, it in each.alone.items()},
                "with_second_failure": {
                    name: it._asdict() for name, it in each.with_second.items()
                },
                "worst": each.worst_command,
            }
            for each in tried
        ],
    }
