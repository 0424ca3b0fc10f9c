"""``sweep.json``: the runs of a sweep, and the distribution of the figures of each setting."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from tidegauge.analysis.over_seeds import OverSeeds, over_seeds
from tidegauge.sweeps.many_runs import Outcome
from tidegauge.traces.summary_figures import MOST, worst_is

#: The default figures, from ``summary.json``; the first one is the most important.
FIGURES = (
    "records_acknowledged_lost",
    "records_failed",
    "partition_seconds_stalled",
    "longest_stall_seconds",
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
    """The worst run: an unexpected one, then by each figure in turn; of equals the first."""

    def badness(run: SweptRun) -> tuple[float, ...]:
        return (not run.outcome.is_as_expected, *(_badness(name, run) for name in figures))

    return max(runs, key=badness)


def worst_by(runs: Sequence[SweptRun], figures: Sequence[str]) -> str | None:
    """The figure by which the worst run is the worst one; None: its verdict, or no figure is."""
    worst = worst_of(runs, figures)
    if not worst.outcome.is_as_expected:
        return None
    return next(
        (
            name
            for name in figures
            if any(_badness(name, run) < _badness(name, worst) for run in runs)
        ),
        None,
    )


def _badness(name: str, run: SweptRun) -> float:
    """The badness of a figure, to be compared; a run without it is not bad."""
    value = run.outcome.figure(name)
    if value is None:
        return -inf
    return value if worst_is(name) == MOST else -value


def settings_of(runs: Sequence[SweptRun], figures: Sequence[str]) -> list[dict[str, Any]]:
    """The spread of each setting's figures over its seeds."""
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
            "sometimes": _sometimes(those),
        }
        for changes, those in by_setting.items()
    ]


def _sometimes(runs: Sequence[SweptRun]) -> list[dict[str, Any]]:
    """The expectations of many runs: the number of finished seeds that meet each."""
    finished = [run.outcome.sometimes for run in runs if run.outcome.error is None]
    return [
        {"expected": words, "seen": sum(each[words] for each in finished), "seeds": len(finished)}
        for words in (finished[0] if finished else ())
    ]


def never_seen(content: Mapping[str, Any]) -> list[str]:
    """The expectations that no seed of a setting meets, in words; one seed alone proves nothing.

    Args:
        content: the content of ``sweep.json``.
    """
    return [
        f"{each['expected']}: seen in 0 of {each['seeds']} seeds"
        + (f" with {', '.join(setting['changes'])}" if setting["changes"] else "")
        for setting in content["settings"]
        for each in setting["sometimes"]
        if each["seen"] == 0 and each["seeds"] > 1
    ]


def _distribution(name: str, runs: Sequence[SweptRun]) -> dict[str, Any]:
    """The spread of a figure over finished runs; the worst value, and its seed."""
    ended = [run for run in runs if run.outcome.figure(name) is not None]
    said = {"worst_is": worst_is(name), "worst": None, "worst_seed": None}
    if not ended:
        return dict.fromkeys(OverSeeds._fields) | {"seeds": 0, "above_zero": 0} | said
    worst = max(ended, key=lambda run: _badness(name, run))
    found = over_seeds([run.outcome.figure(name) or 0 for run in ended])
    return found._asdict() | said | {"worst": worst.outcome.figure(name), "worst_seed": worst.seed}


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
    worst, by = worst_of(runs, figures), worst_by(runs, figures)
    return {
        "scenario": scenario,
        "over": {path: list(values) for path, values in over.items()},
        "figures": list(figures),
        "settings": settings_of(runs, figures),
        "worst": {
            "folder": worst.folder,
            "seed": worst.seed,
            "command": worst_command,
            "figure": by,
            "worst_is": by and worst_is(by),
            "value": by and worst.outcome.figure(by),
        },
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
