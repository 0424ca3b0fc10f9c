"""``tidegauge compare``: variants of a scenario, their runs, and their figures side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import typer
from rich.console import Console

from tidegauge.commands.loading import changes_of, loaded, scenario_file, show_warnings
from tidegauge.commands.performing_many import (
    RequestedRun,
    fixed_and_axes,
    folder_of_runs,
    perform_runs,
    request_of,
)
from tidegauge.commands.run_options import CompareOptions, RunOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import (
    DEFAULT_RELEASES,
    KRAFT_MODE,
    MODE_NAMES,
    ZOOKEEPER_MODE,
    Mode,
    Release,
)
from tidegauge.runs.compared import ComparedFigure, caveat, compared
from tidegauge.runs.histories import History, history_of
from tidegauge.scenario.other_mode.converted import converted
from tidegauge.scenario.other_mode.settings import Change
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.changes import with_changes
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.text.yaml_file import comment, lines_of, read_scenario_file
from tidegauge.sweeps.sweep_content import FIGURES, SweptRun, content_of, worst_of
from tidegauge.sweeps.sweep_folder import Axis, run_name
from tidegauge.traces.run_files import SWEEP
from tidegauge.traces.run_folder import new_run_folder, write_json_atomically
from tidegauge.views.comparison_view import show_caveats, show_changes, show_decisions, show_figures
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import check_jobs, working
from tidegauge.views.sweep_report import show_surprises

#: A table of more variants has no room.
_MOST_VARIANTS = 4
_LEAST_VARIANTS = 2


class Variant(NamedTuple):
    """One of the compared variants of a scenario."""

    #: Its name in tables: ``KRaft 4.4.0``.
    label: str
    #: Its values, each as ``PATH=VALUE``.
    setting: tuple[str, ...]
    scenario: Scenario
    #: The content of its own file; None: the changes on the command line are enough.
    data: Mapping[str, Any] | None = None
    #: The changes by the conversion into its mode and release.
    changes: tuple[Change, ...] = ()

    @property
    def file_name(self) -> str:
        """The name of its own file."""
        return f"{self.label.lower().replace(' ', '-')}.yaml"


class CompareRequest(NamedTuple):
    """The variants to compare, and the options of their runs."""

    #: With the changes that all variants have.
    request: RunOptions
    #: ``mode``, ``release``, or the path of a field.
    axis: Axis
    #: None: the scenario's own.
    seeds: range | None = None
    jobs: int | None = None
    out: Path | None = None

    def variants(self) -> list[Variant]:
        """The variants, in the order of their values; the command ends if one cannot be run."""
        values = self.axis.values
        if not _LEAST_VARIANTS <= len(values) <= _MOST_VARIANTS:
            raise TidegaugeError(
                f"{self.axis.path} {','.join(values)}: a comparison has two to four values, not "
                f"{len(values)}"
            )
        base = loaded(self.request)
        if self.axis.path == "mode":
            variants = self._in_modes(base)
        elif self.axis.path == "release":
            variants = self._in_releases(base)
        else:
            variants = [self._with_value(value) for value in values]
        labels = [each.label for each in variants]
        for label in labels:
            if labels.count(label) > 1:
                raise TidegaugeError(
                    f"{label}: is compared with itself; two variants have to differ"
                )
        return variants

    def _in_modes(self, base: Scenario) -> list[Variant]:
        data = written_scenario(self.request)
        variants = []
        for name in self.axis.values:
            mode = _mode_of(name)
            named = "release" in data and mode in Release.parse(base.release).modes
            release = base.release if named else DEFAULT_RELEASES[mode]
            variants.append(converted_variant(data, self.request.scenario, mode, release))
        return variants

    def _in_releases(self, base: Scenario) -> list[Variant]:
        data = written_scenario(self.request)
        is_mode_fixed = any(change.startswith("mode=") for change in self.request.changes or ())
        variants = []
        for release in self.axis.values:
            try:
                parsed = Release.parse(release)
                keeps = is_mode_fixed or base.mode in parsed.modes
                mode = parsed.mode(base.mode if keeps else None)
            except ValueError as error:
                raise TidegaugeError(f"--releases {release}: {error}") from error
            variants.append(converted_variant(data, self.request.scenario, mode, release))
        return variants

    def _with_value(self, value: str) -> Variant:
        setting = f"{self.axis.path}={value}"
        changed = self.request.changed(setting)
        return Variant(f"{self.axis.name}={value}", (setting,), loaded(changed))


def written_scenario(request: RunOptions) -> dict[str, Any]:
    """The scenario of a request as written, with the changes of the request."""
    file = scenario_file(request)
    data = read_scenario_file(file).data
    assert isinstance(data, Mapping)
    changed = with_changes(data, changes_of(request)).data
    assert isinstance(changed, dict)
    return {"name": file.stem, **changed}


def planned_runs(
    variants: Sequence[Variant], request: RunOptions, seeds: range | None, out: Path
) -> list[RequestedRun]:
    """The runs of variants: each with each seed.

    Args:
        variants: the variants.
        request: the scenario and its changes, for variants without a file of their own.
        seeds: None: the seed of the scenario.
        out: the folder of the runs, and of the files of variants.
    """
    planned = []
    for variant in variants:
        if variant.data is None:
            asked = request.changed(*variant.setting)
        else:
            asked = RunOptions(str(out / variant.file_name), address=request.address)
        for seed in seeds or [variant.scenario.seed]:
            pairs = (text.partition("=")[::2] for text in variant.setting)
            name = run_name(dict(pairs), seed)
            planned.append(RequestedRun(variant.setting, seed, name, asked._replace(seed=seed)))
    return planned


def compared_axis(
    modes: str | None, releases: str | None, texts: Sequence[str]
) -> tuple[tuple[str, ...], Axis]:
    """The changes that all variants have, and the axis along which they differ.

    The command ends unless there is one axis.
    """
    fixed, axes = fixed_and_axes(texts)
    for axis in axes:
        if axis.path in {"mode", "release"}:
            raise TidegaugeError(
                f"--set {axis.path}=...: use --{axis.path}s to compare {axis.path}s"
            )
    options = (("mode", modes), ("release", releases))
    axes += [Axis(path, tuple(text.split(","))) for path, text in options if text is not None]
    if not axes:
        raise TidegaugeError(
            "nothing to compare: use --modes zookeeper,kraft, --releases 3.9,4.4 or --set PATH=A,B"
        )
    if len(axes) > 1:
        names = " and ".join(axis.path for axis in axes)
        raise TidegaugeError(
            f"{names} are two axes: a comparison has one; give the other one a single value"
        )
    (axis,) = axes
    return fixed, axis


def converted_variant(data: Mapping[str, Any], source: str, mode: Mode, release: str) -> Variant:
    """A scenario in a mode and a release; the command ends if it cannot be converted."""
    found = converted(data, source, mode, release)
    in_full = found.scenario.release
    setting = (f"mode={mode}", f"release={in_full}")
    return Variant(
        f"{MODE_NAMES[mode]} {in_full}", setting, found.scenario, found.data, found.changes
    )


def _mode_of(name: str) -> Mode:
    mode = next((mode for mode in DEFAULT_RELEASES if name == mode), None)
    if mode is None:
        raise TidegaugeError(f"--modes {name}: must be {ZOOKEEPER_MODE} or {KRAFT_MODE}")
    return mode


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
    #: The content of ``comparison.json``.
    content: dict[str, Any]

    def __repr__(self) -> str:
        labels = " and ".join(variant.label for variant in self.variants)
        figures = counted(len(self.figures), "figure")
        return f"<Comparison {labels}: {counted(len(self.runs), 'run')}, {figures}; {self.folder}>"

    def table(self) -> History[Any]:
        """A row for each figure: its mean and interval in each variant, and the verdict."""
        return history_of(
            {
                "figure": figure.name,
                "unit": figure.unit,
                **{
                    f"{label}_{part}": None if found is None else getattr(found, part)
                    for label, found in figure.by_variant.items()
                    for part in ("mean", "low", "high")
                },
                "verdict": figure.verdict,
            }
            for figure in self.figures
        )

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
    request: RunOptions,
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
        runs = perform_runs(name, planned, out, jobs, request.address)
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
    request: RunOptions,
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


def compare_and_show(request: CompareRequest) -> Comparison:
    """Perform a comparison, and print its figures and decisions."""
    variants = request.variants()
    name = variants[0].scenario.name
    out = request.out or new_run_folder(f"{name}-compare")
    labels = [variant.label for variant in variants]
    typer.echo(f"{name}: {', '.join(labels[:-1])} and {labels[-1]}")
    show_warnings(*(variant.scenario for variant in variants))
    found = perform_comparison(request.request, variants, request.seeds, out, request.jobs)
    screen = console()
    screen.print()
    show_figures(screen, labels, found.figures)
    show_caveats(screen, found.timed_out, found.caveat)
    show_decisions(screen, found.figures)
    for variant in variants:
        show_changes(screen, variant.label, [*map(str, variant.changes)])
    screen.print()
    show_surprises(screen, found.runs)
    _show_next(screen, found)
    return found


def _show_next(screen: Console, comparison: Comparison) -> None:
    lines = [
        f"tidegauge show faults '{comparison.folder / comparison.runs_of(variant)[0].folder}'"
        for variant in comparison.variants
    ]
    lines.append(f"tidegauge report '{comparison.folder}'")
    for place, line in enumerate(lines):
        screen.print(f"{'     ' if place else 'Next:'} {line}", soft_wrap=True, markup=False)


def compare_scenario(options: CompareOptions) -> None:
    """Perform ``tidegauge compare``."""
    fixed, axis = compared_axis(options.modes, options.releases, options.changes or [])
    asked, span = request_of(options, options.scenario, fixed)
    request = CompareRequest(asked, axis, span, options.jobs, options.out)
    with report(as_json=options.as_json):
        comparison = compare_and_show(request)
    if options.as_json:
        print_json(comparison.content)
    if not comparison.is_well:
        raise typer.Exit(1)
