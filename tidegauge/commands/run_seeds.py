"""``tidegauge run --seeds``: how much of what came of a run was chance."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tidegauge.commands.compile_rules import announce_compilation
from tidegauge.commands.output import console, fail
from tidegauge.commands.run_batch import (
    ended_runs,
    jobs_of,
    make_batch_folder,
    number_text,
    write_batch,
)
from tidegauge.commands.story_lines import LISTED

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.commands.run_request import RunRequest
    from tidegauge.seed_runs import SeedRun
    from tidegauge.simulation.scenario import Scenario

#: What came of all seeds, in the folder that holds their runs.
SEEDS = "seeds.json"

_RANGE = re.compile(r"([0-9]{1,19})\.\.([0-9]{1,19})")
_MOST_SEEDS = 100_000


def run_seeds_of(
    request: RunRequest, span: str, jobs: int | None, out: Path | None
) -> tuple[dict[str, Any], bool]:
    """Run a scenario with each seed of a range, tell what came of all, and write it down.

    Args:
        request: what is run.
        span: the seeds, such as ``1..20``.
        jobs: how many processes; None for as many as there are CPUs.
        out: the folder for all; None for one of its own.

    Returns:
        What ``seeds.json`` says, and whether all seeds were as expected.
    """
    seeds = _parse_seeds(span)
    jobs = jobs_of(jobs, len(seeds))
    from tidegauge.run_folder import new_run_folder

    loaded = request.load(seed=seeds[0])
    out = out or new_run_folder(f"{loaded.name}-seeds-{seeds[0]}-{seeds[-1]}")
    make_batch_folder(out)
    announce_compilation()
    typer.echo(
        f"{loaded.name}: {len(seeds):,} seeds, {seeds[0]} to {seeds[-1]}, "
        f"{loaded.duration_us / 1e6:g} virtual seconds each, {jobs} at once, into {out}"
    )
    runs = _run_all(request, seeds, jobs, out)
    content = _content(request, loaded, runs)
    write_batch(out / SEEDS, content)
    _show(console(), content, runs)
    typer.echo(f"All of it: {out / SEEDS}")
    return content, all(run.is_as_expected for run in runs)


def _parse_seeds(span: str) -> range:
    numbers = _RANGE.fullmatch(span)
    if numbers is None:
        fail(f"--seeds {span}: must be the first and the last one, such as 1..20")
    first, last = map(int, numbers.groups())
    if first > last:
        fail(f"--seeds {span}: the last one is before the first; {last}..{first}?")
    if last >= 2**63:
        fail(f"--seeds {span}: a seed is less than 2**63")
    if last - first >= _MOST_SEEDS:
        fail(f"--seeds {span}: more than {_MOST_SEEDS:,} at once are too many")
    return range(first, last + 1)


def _run_all(request: RunRequest, seeds: range, jobs: int, out: Path) -> list[SeedRun]:
    """What came of each seed, in their order."""
    from tidegauge.seed_runs import SeedsInput, run_seeds

    run = SeedsInput(request.file(), request.scenario_changes(), out)
    ended = ended_runs(run_seeds(run, seeds, jobs), len(seeds), "seeds", out)
    return sorted(ended, key=lambda each: each.seed)


def _content(request: RunRequest, loaded: Scenario, runs: list[SeedRun]) -> dict[str, Any]:
    """What ``seeds.json`` says: each seed, and how the figures are distributed."""
    from tidegauge.seed_runs import FIGURES
    from tidegauge.summary import nearest_rank

    distribution = {}
    for name in FIGURES:
        values = sorted(run.figures[name] for run in runs if run.error is None)
        percents = (("p50", 50), ("p99", 99), ("worst", 100))
        distribution[name] = {
            word: nearest_rank(values, percent) if values else None for word, percent in percents
        }
    worst = max(runs, key=lambda each: each.badness)
    command = request._replace(inline=True).command(worst.seed, loaded.trace)
    return {
        "scenario": loaded.name,
        "distribution": distribution,
        "seeds_not_as_expected": sum(bool(run.unexpected) for run in runs),
        "seeds_failed": sum(run.error is not None for run in runs),
        "worst": {"seed": worst.seed, "command": command},
        "seeds": [
            {
                "seed": run.seed,
                "folder": run.folder,
                "error": run.error,
                "is_as_expected": run.is_as_expected,
                "unexpected": list(run.unexpected),
                **run.figures,
                "trace_sha256": run.trace_sha256,
            }
            for run in runs
        ],
    }


def _show(out: Console, content: dict[str, Any], runs: list[SeedRun]) -> None:
    """The worst seeds, the distribution, and the command that shows the worst one."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    distribution = content["distribution"]
    grid = Table("seed", box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in distribution:
        grid.add_column(name.replace("_", " "), justify="right")
    grid.add_column("not as expected")
    for run in sorted(runs, key=lambda each: each.badness, reverse=True)[:LISTED]:
        values = (number_text(run.figures.get(name)) for name in distribution)
        surprises = ", ".join(run.unexpected) if run.error is None else f"failed: {run.error}"
        grid.add_row(str(run.seed), *values, surprises)
    if len(runs) > LISTED:
        grid.add_row("...", *("" for _ in distribution), f"{len(runs) - LISTED:,} more seeds")
    grid.add_section()
    for word, title in (("p50", "P50"), ("p99", "P99"), ("worst", "worst")):
        grid.add_row(title, *(number_text(found[word]) for found in distribution.values()))
    out.print("The worst seeds first; percentiles by nearest rank, of all that came to their end")
    out.print("", grid, "", sep="\n")
    out.print(
        f"{content['seeds_not_as_expected']} of {len(runs)} seeds had an unexpected verdict, "
        f"{content['seeds_failed']} failed"
    )
    out.print(f"Worst: {content['worst']['command']}", soft_wrap=True, markup=False)
