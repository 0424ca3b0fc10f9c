"""A comparison as commands perform it: the files of variants, their runs, and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.options.compare_request import Variant, planned_runs
from tidegauge.options.run_request import RunRequest
from tidegauge.performing.perform_runs import folder_of_runs, perform_runs
from tidegauge.runs.compared import ComparedFigure, caveat, compared
from tidegauge.scenario.text.written_yaml import comment, lines_of
from tidegauge.sweeps.sweep_content import FIGURES, SweptRun, content_of, worst_of
from tidegauge.traces.run_files import SWEEP
from tidegauge.traces.run_folder import write_json_atomically
from tidegauge.views.run_batch import check_jobs
from tidegauge.views.working import working

#: In the folder of a comparison: the figures of all variants.
COMPARISON = "comparison.json"


class Comparison(NamedTuple):
    """The variants of a scenario, their runs and their figures."""

    variants: Sequence[Variant]
    runs: Sequence[SweptRun]
    figures: Sequence[ComparedFigure]
    #: The difference between the partitions of variants; empty: there is none.
    caveat: str
    folder: Path
    #: Of ``comparison.json``.
    content: dict[str, Any]

    @property
    def is_well(self) -> bool:
        """Whether all runs were as expected."""
        return all(run.outcome.is_as_expected for run in self.runs)

    @property
    def timed_out(self) -> list[str]:
        """The names of variants in which a step timed out in any run."""
        return [
            variant.label
            for variant in self.variants
            if any("steps" in run.outcome.unexpected for run in self.runs_of(variant))
        ]

    def runs_of(self, variant: Variant) -> list[SweptRun]:
        """The runs of a variant."""
        return [run for run in self.runs if run.changes == variant.setting]


def perform_comparison(
    request: RunRequest,
    variants: Sequence[Variant],
    seeds: range | None,
    out: Path,
    jobs: int | None = None,
) -> Comparison:
    """Perform all missing runs of variants, compare their figures, and write them to files.

    The command ends if a variant has no finished run.
    """
    check_jobs(jobs)
    name = variants[0].scenario.name
    planned = planned_runs(variants, request, seeds, out)
    with folder_of_runs(out):
        for variant in variants:
            _write_scenario(out, variant)
        runs = perform_runs(name, planned, out, jobs, request.hosting.address)
        folders = _finished(variants, runs, out)
        with (
            working("the figures of all runs"),
            TemporaryDirectory(prefix="tidegauge-") as temporary,
        ):
            tables = Path(temporary)
            figures, said = compared(folders, tables), caveat(folders, tables)
        content = _content(name, variants, runs, figures)
        _write(out, name, request, variants, runs, content)
    return Comparison(variants, runs, figures, said, out, content)


def _write_scenario(out: Path, variant: Variant) -> None:
    """Write the file of a variant that has one, with the changes at its head."""
    if variant.data is None:
        return
    head = comment(f"{variant.scenario.name}, {variant.label}: by `tidegauge compare`.")
    for change in variant.changes:
        head += comment(f"- {change}", "  ")
    lines = [*head, *lines_of(variant.data)]
    text = "\n".join(lines) + "\n"
    (out / variant.file_name).write_text(text, encoding="utf-8")


def _finished(
    variants: Sequence[Variant], runs: Sequence[SweptRun], out: Path
) -> dict[str, list[Path]]:
    """The folders of the finished runs of each variant; the command ends if one has none."""
    folders: dict[str, list[Path]] = {}
    for variant in variants:
        own = [run for run in runs if run.changes == variant.setting]
        finished = [out / run.folder for run in own if run.outcome.error is None]
        if not finished:
            error = f"{own[0].folder}: {own[0].outcome.error}"
            raise TidegaugeError(f"{variant.label}: no run is finished: {error}")
        folders[variant.label] = finished
    return folders


def _content(
    name: str,
    variants: Sequence[Variant],
    runs: Sequence[SweptRun],
    figures: Sequence[ComparedFigure],
) -> dict[str, Any]:
    return {
        "scenario": name,
        "variants": [
            {
                "name": variant.label,
                "mode": variant.scenario.mode,
                "release": variant.scenario.release,
                "setting": list(variant.setting),
                "changes": list(map(str, variant.changes)),
                "runs": [
                    {
                        "folder": run.folder,
                        "seed": run.seed,
                        "error": run.outcome.error,
                        "unexpected": list(run.outcome.unexpected),
                    }
                    for run in runs
                    if run.changes == variant.setting
                ],
            }
            for variant in variants
        ],
        "figures": [
            {
                "figure": figure.name,
                "label": figure.label,
                "unit": figure.unit,
                "by_variant": {
                    label: spread and spread._asdict()
                    for label, spread in figure.by_variant.items()
                },
                "better": figure.better,
                "worse": list(figure.worse),
                "verdict": figure.verdict,
                "decides": figure.decides,
                "exception": figure.exception,
            }
            for figure in figures
        ],
    }


def _write(
    out: Path,
    name: str,
    request: RunRequest,
    variants: Sequence[Variant],
    runs: Sequence[SweptRun],
    content: dict[str, Any],
) -> None:
    """Write the comparison, and the table of its runs as a sweep has it."""
    worst = worst_of(runs, FIGURES)
    (variant,) = (each for each in variants if each.setting == worst.changes)
    (planned,) = planned_runs([variant], request, range(worst.seed, worst.seed + 1), out)
    command = planned.request.command(worst.seed, variant.scenario.trace)
    over: dict[str, list[str]] = {}
    for each in variants:
        for text in each.setting:
            path, _, value = text.partition("=")
            over.setdefault(path, []).append(value)
    write_json_atomically(out / SWEEP, content_of(name, over, FIGURES, runs, command))
    write_json_atomically(out / COMPARISON, content)
