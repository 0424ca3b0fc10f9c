"""Variants side by side: the variants of runs, their figures over seeds, and the better one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.over_seeds import OverSeeds, over_seeds
from tidegauge.analysis.questions.compared_runs import RunSetting, settings_of
from tidegauge.analysis.requests import FoundRun, runs_at
from tidegauge.replication.release_versions import MODE_NAMES
from tidegauge.runs.figures import EXPLANATIONS, FIGURES, FIGURES_OF_RUNS, Explanation
from tidegauge.traces.run_files import read_manifest
from tidegauge.traces.run_folder import RunFolder

#: Means that differ by no more than this part of them are the same.
_NEARLY = 0.01


class ComparedFigure(NamedTuple):
    """A figure in each variant; less of it is better."""

    name: str
    label: str
    #: ``us``, or the counted objects.
    unit: str
    #: In the order of the variants; None: the runs of the variant do not have it.
    by_variant: Mapping[str, OverSeeds | None]
    #: The variant that is below all others, band by band; None: none is.
    better: str | None
    #: The variants that are above the lowest one, band by band.
    worse: tuple[str, ...]
    #: The settings that decide, in each of the compared modes.
    decides: str
    #: For two modes: the case in which KRaft is not better; empty: no such case is known.
    exception: str
    #: For two modes: published figures, of unknown conditions; empty: none.
    published: str

    @property
    def is_always_zero(self) -> bool:
        """Whether it is 0 in each run."""
        return not any(each.largest for each in self.by_variant.values() if each)

    @property
    def ratio(self) -> float | None:
        """The mean of the last variant by that of the first; None: one is missing, or that is 0."""
        every = list(self.by_variant.values())
        first, last = every[0], every[-1]
        return last.mean / first.mean if first and last and first.mean else None

    @property
    def verdict(self) -> str:
        """The better variant, in words."""
        known = [each for each in self.by_variant.values() if each]
        if len(known) < 2:  # noqa: PLR2004 - two are compared
            return ""
        if self.better:
            said = f"{self.better} better"
        elif self.worse:
            said = f"{' and '.join(self.worse)} worse"
        else:
            is_same = len({each.mean for each in known}) == 1
            return "no difference" if is_same else "no difference within the bands"
        return said if all(each.seeds > 1 for each in known) else f"{said} (one seed)"


def compared(
    runs: Mapping[str, Sequence[RunFolder | Path]], folder: Path | None = None
) -> tuple[ComparedFigure, ...]:
    """The figures of some variants, from their runs; those that no run has are left out.

    Args:
        runs: the runs of each variant, one for each seed, by its name as people call it.
        folder: keeps the result tables; None: nothing is kept.

    Raises:
        KeyError, RunError, ScenarioError, TraceError, OSError: as :meth:`RunTables.make`.
    """
    with _opened(runs, folder) as (tables, variants):
        return compared_in(tables, variants)


def caveat(runs: Mapping[str, Sequence[RunFolder | Path]], folder: Path | None = None) -> str:
    """Why the figures of these runs should not be compared; empty: no such reason is known.

    Args and errors are those of :func:`compared`.
    """
    with _opened(runs, folder) as (tables, variants):
        return caveat_in(tables, variants)


def caveat_in(tables: RunTables, variants: Mapping[str, Sequence[str]]) -> str:
    """The same of runs that have tables already: a topic can be refused in one of the modes."""
    rows = tables.rows("select run, partitions from control_plane_figures order by run")
    made = {row["run"]: row["partitions"] for row in rows}
    most = {name: max(made[run] for run in runs) for name, runs in variants.items()}
    if len({made[run] for runs in variants.values() for run in runs}) == 1:
        return ""
    listed = ", ".join(f"{count:,} with {name}" for name, count in most.items())
    return f"These are not the same clusters: partitions that existed were {listed}."


@contextmanager
def _opened(
    runs: Mapping[str, Sequence[RunFolder | Path]], folder: Path | None
) -> Iterator[tuple[RunTables, dict[str, list[str]]]]:
    """The tables of runs, and the names of the runs of each variant."""
    folders = {
        name: [(each.path if isinstance(each, RunFolder) else each).resolve() for each in those]
        for name, those in runs.items()
    }
    found = runs_at([each for those in folders.values() for each in those])
    names = {run.folder: run.name for run in found}
    variants = {name: [names[each] for each in those] for name, those in folders.items()}
    with TemporaryDirectory(prefix="tidegauge-") as temporary:
        yield RunTables(found, folder or Path(temporary)), variants


def compared_in(
    tables: RunTables, variants: Mapping[str, Sequence[str]]
) -> tuple[ComparedFigure, ...]:
    """The same of runs that have tables already.

    Args:
        tables: of all these runs.
        variants: the names of the runs of each variant.

    Raises:
        KeyError, RunError, ScenarioError, TraceError, OSError: as :meth:`RunTables.make`.
    """
    rows = {row["run"]: row for row in tables.rows(FIGURES_OF_RUNS)}
    of_variants = {name: [rows[run] for run in runs] for name, runs in variants.items()}
    modes = list(dict.fromkeys(row["mode"] for those in of_variants.values() for row in those))
    every = (compared_figure(name, modes, of_variants) for name in EXPLANATIONS)
    return tuple(each for each in every if any(each.by_variant.values()))


def compared_figure(
    name: str, modes: Sequence[str], variants: Mapping[str, Sequence[Mapping[str, Any]]]
) -> ComparedFigure:
    """A figure in each variant.

    Args:
        name: of the figure.
        modes: those of all runs.
        variants: the rows of figures of each variant's runs.
    """
    figure, explanation = FIGURES[name], EXPLANATIONS[name]
    by_variant = {variant: _over_seeds(name, rows) for variant, rows in variants.items()}
    best, worse = _best(by_variant)
    between_modes = len(modes) > 1
    known = sum(each is not None for each in by_variant.values())
    return ComparedFigure(
        *(name, figure.label, figure.unit, by_variant),
        best if best and known > 1 and len(worse) == known - 1 else None,
        worse,
        _decides(explanation, modes),
        explanation.exception if between_modes else "",
        explanation.published if between_modes else "",
    )


def _over_seeds(name: str, rows: Iterable[Mapping[str, Any]]) -> OverSeeds | None:
    values = [row[name] for row in rows if row[name] is not None]
    return over_seeds(values) if values else None


def _best(by_variant: Mapping[str, OverSeeds | None]) -> tuple[str | None, tuple[str, ...]]:
    """The variant with the lowest mean, and those that are certainly above it."""
    known = {name: each for name, each in by_variant.items() if each is not None}
    if not known:
        return None, ()
    best = min(known, key=lambda name: known[name].mean)
    _, highest = _band(known[best])
    nearly = known[best].mean * (1 + _NEARLY)
    worse = (
        name for name, each in known.items() if _band(each)[0] > highest and each.mean > nearly
    )
    return best, tuple(worse)


def _band(spread: OverSeeds) -> tuple[float, float]:
    """The band of a mean; where there is none, the values of all runs lie in it."""
    if spread.low is None or spread.high is None:
        return spread.smallest, spread.largest
    return spread.low, spread.high


def _decides(explanation: Explanation, modes: Sequence[str]) -> str:
    texts = {"zookeeper": explanation.zookeeper, "kraft": explanation.kraft}
    own = [
        f"{MODE_NAMES[mode]}: {texts[mode]}" if len(modes) > 1 else texts[mode] for mode in modes
    ]
    of_modes = [text for mode, text in zip(modes, own, strict=True) if texts[mode]]
    return " ".join([explanation.either, *of_modes]).strip()


#: The fewest and the most variants that are read side by side; more of them are a curve.
_FEWEST, _MOST = 2, 4


def variants_of(runs: Sequence[FoundRun]) -> dict[str, list[str]] | None:
    """The names of the runs of each variant; None: these are no runs to be read side by side.

    They are if they are of one scenario, and of two to four variants apart from the seed. A seed
    that was run twice counts once.

    Args:
        runs: all of them.

    Raises:
        RunError: a manifest cannot be read.
    """
    manifests = {run.name: read_manifest(run.folder) for run in runs}
    scenarios = {
        run: manifest["scenario"] | {"seed": manifest["seed"]}
        for run, manifest in manifests.items()
    }
    if len({scenario["name"] for scenario in scenarios.values()}) > 1:
        return None
    by_order: dict[Any, dict[int | None, str]] = {}
    settings = settings_of(scenarios)
    for run, setting in settings.items():
        by_order.setdefault(setting.order, {})[setting.seed] = run
    if not _FEWEST <= len(by_order) <= _MOST:
        return None
    variants = [list(by_order[order].values()) for order in sorted(by_order)]
    firsts = [(scenarios[those[0]], settings[those[0]]) for those in variants]
    named = dict(zip(_names(firsts), variants, strict=True))
    # ZooKeeper was first.
    return dict(sorted(named.items(), key=lambda each: _mode(scenarios[each[1][0]]) == "kraft"))


def _names(variants: Sequence[tuple[Mapping[str, Any], RunSetting]]) -> list[str]:
    modes = [_mode(scenario) for scenario, _ in variants]
    releases = [str(scenario["release"]) for scenario, _ in variants]
    named = [
        " ".join([MODE_NAMES[mode]] * (len({*modes}) > 1) + [release] * (len({*releases}) > 1))
        for mode, release in zip(modes, releases, strict=True)
    ]
    if len({*named}) == len(variants):
        return named
    return [setting.text for _, setting in variants]


def _mode(scenario: Mapping[str, Any]) -> str:
    return str(scenario.get("mode", "zookeeper"))
