"""``sweep.json``: the runs of a sweep, and the distribution of the figures of each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.engine.summary import nearest_rank
from tidegauge.sweeps.many_runs import Outcome

#: The default figures, from ``summary.json``; the first one is the most important.
FIGURES = (
    "records_acknowledged_lost",
    "partition_seconds_offline",
    "partition_seconds_under_min_isr",
)


class SweptRun(NamedTuple):
    """A run of a sweep, and its outcome."""

    #: The changes of its setting to the scenario, each as ``PATH=VALUE``.
    changes: tuple[str, ...]
    seed: int
    #: The name of its folder, in the folder of the sweep.
    folder: str
    outcome: Outcome


def worst_of(runs: Sequence[SweptRun], figures: Sequence[str]) -> SweptRun:
    """The worst run: an unexpected one, then the highest figures; of equals the first."""

    def badness(run: SweptRun) -> tuple[float, ...]:
        amounts = (run.outcome.figure(name) or 0 for name in figures)
        return (not run.outcome.is_as_expected, *amounts)

    return max(runs, key=badness)


def settings_of(runs: Sequence[SweptRun], figures: Sequence[str]) -> list[dict[str, Any]]:
    """The distribution of the figures of each setting over its seeds, by nearest rank."""
    by_setting: dict[tuple[str, ...], list[SweptRun]] = {}
    for run in runs:
        by_setting.setdefault(run.changes, []).append(run)
    return [
        {
            "changes": list(changes),
            "runs": len(those),
            "failed": sum(run.outcome.error is not None for run in those),
            "not_as_expected": sum(bool(run.outcome.unexpected) for run in those),
            "distribution": {name: _distribution(name, those) for name in figures},
        }
        for changes, those in by_setting.items()
    ]


def _distribution(name: str, runs: Sequence[SweptRun]) -> dict[str, float | None]:
    """P50, P99 and the worst of a figure, and the seed of the worst, of finished runs."""
    ended = [(value, run.seed) for run in runs if (value := run.outcome.figure(name)) is not None]
    if not ended:
        return {"p50": None, "p99": None, "worst": None, "worst_seed": None}
    values = sorted(value for value, _ in ended)
    worst, worst_seed = max(ended, key=lambda each: each[0])
    return {
        "p50": nearest_rank(values, 50),
        "p99": nearest_rank(values, 99),
        "worst": worst,
        "worst_seed": worst_seed,
    }


def content_of(
    scenario: str,
    over: Mapping[str, Sequence[str]],
    figures: Sequence[str],
    runs: Sequence[SweptRun],
    worst_command: str,
) -> dict[str, Any]:
    """The content of ``sweep.json``.

    Args:
        scenario: the name of the scenario.
        over: the values of each path that has several.
        figures: the figures of each run.
        runs: all runs, in their order.
        worst_command: the command that shows the worst of them.
    """
    worst = worst_of(runs, figures)
    return {
        "scenario": scenario,
        "over": {path: list(values) for path, values in over.items()},
        "figures": list(figures),
        "settings": settings_of(runs, figures),
        "worst": {"folder": worst.folder, "seed": worst.seed, "command": worst_command},
        "runs": [
            {
                "changes": list(run.changes),
                "seed": run.seed,
                "folder": run.folder,
                "error": run.outcome.error,
                "unexpected": list(run.outcome.unexpected),
                **{name: run.outcome.figure(name) for name in figures},
                "trace_sha256": run.outcome.trace_sha256,
            }
            for run in runs
        ],
    }
