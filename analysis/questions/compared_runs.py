"""Runs that are compared: the settings in which they differ, and their figures.

Runs whose scenarios differ only in the seed belong together; a seed that was run twice counts once,
since it gives the same run.

The swept settings need not be given: the differences between the scenarios of the runs, apart from
the seed, distinguish them. So does what the seed has drawn: a manifest lists faults that come of
``fault_rates`` like any others. In faults, therefore, only differences between runs of the same
seed count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import FoundRun
from tidegauge.simulation.quantities import parse_duration
from tidegauge.traces.run_files import read_manifest, read_summary
from tidegauge.traces.summary_figures import FIGURES

# ruff: noqa: S608 - queries are put together from texts of these rooms

#: A name with more settings than this would be too long.
_MOST_AXES = 6
_FAULTS = "faults"
#: Scenarios of different names are compared as wholes.
_NAME = ("name",)
#: Fields that decide about much else in a scenario: defaults, and which settings there are.
_DECIDING = (("mode",), ("release",))
#: The text for a value that a scenario does not have.
_NOT_SET = "not set"
#: Differences between runs that do not distinguish their settings.
_NOT_COMPARED = frozenset({"seed", "description"})


#: Where a value is within a scenario, and all of them.
_Path = tuple[str, ...]
_Leaves = dict[_Path, Any]


class RunSetting(NamedTuple):
    """The difference of a run from others."""

    #: ``replica.lag.time.max.ms=10000``, of several axes with commas; empty if nothing differs.
    text: str
    #: The value, if there is one axis and all its values are numbers; of durations, in seconds.
    value: float | None
    #: The sort key of settings by their values, with numbers in numeric order.
    order: tuple[tuple[bool, float, str], ...]
    seed: int | None
    #: The names of all axes, in the order of ``order``.
    axes: tuple[str, ...]


def settings_at(runs: Iterable[FoundRun]) -> dict[str, RunSetting]:
    """The settings that distinguish these runs, by the names of the runs.

    Raises:
        RunError: a manifest cannot be read.
    """
    scenarios: dict[str, dict[str, Any]] = {}
    first: dict[str, Any] = {}
    for run in runs:
        manifest = read_manifest(run.folder)
        scenario = manifest["scenario"] | {"seed": manifest["seed"]}
        # Thousands of runs have most sections in common, and so they share the objects.
        scenarios[run.name] = {
            name: first[name] if first.setdefault(name, section) == section else section
            for name, section in scenario.items()
        }
    return settings_of(scenarios)


def settings_of(scenarios: Mapping[str, Mapping[str, Any]]) -> dict[str, RunSetting]:
    """The settings that distinguish runs, by the names of the runs.

    Args:
        scenarios: the whole scenario of each run, as manifests have it.
    """
    varied = _varied_sections([*scenarios.values()])
    flat = {
        run: dict(_leaves({name: scenario[name] for name in varied if name in scenario}, ()))
        for run, scenario in scenarios.items()
    }
    of_seed: dict[Any, list[_Leaves]] = {}
    for run, leaves in flat.items():
        of_seed.setdefault(scenarios[run].get("seed"), []).append(leaves)
    paths = dict.fromkeys(path for leaves in flat.values() for path in leaves)
    axes = [
        path
        for path in paths
        if (
            any(_differ(path, same) for same in of_seed.values())
            if path[0] == _FAULTS
            else _differ(path, flat.values())
        )
    ]
    axes = [_NAME] if _NAME in axes else _without_what_follows(axes, flat.values())
    names = _axis_names(axes)
    is_numeric = len(axes) == 1 and all(
        _number(leaves.get(axes[0])) is not None for leaves in flat.values()
    )
    return {
        run: RunSetting(
            _joined(
                f"{name}={_text(leaves.get(path, _NOT_SET))}"
                for name, path in zip(names, axes, strict=True)
            ),
            _number(leaves[axes[0]]) if is_numeric else None,
            tuple(_order(leaves.get(path, _NOT_SET)) for path in axes),
            scenarios[run].get("seed"),
            tuple(names),
        )
        for run, leaves in flat.items()
    }


def _varied_sections(scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """The sections in which scenarios differ, of thousands of runs most often one or two."""
    first, *others = scenarios
    names = dict.fromkeys(name for scenario in scenarios for name in scenario)
    return [name for name in names if any(each.get(name) != first.get(name) for each in others)]


def _differ(path: _Path, runs: Iterable[_Leaves]) -> bool:
    return len({_text(leaves.get(path, _NOT_SET)) for leaves in runs}) > 1


def _without_what_follows(axes: list[_Path], runs: Iterable[_Leaves]) -> list[_Path]:
    """The axes without those whose values are the same wherever mode and release are."""
    deciding = [path for path in _DECIDING if path in axes]
    if not deciding:
        return axes
    of_each: dict[tuple[str, ...], list[_Leaves]] = {}
    for leaves in runs:
        decided = tuple(_text(leaves.get(path, _NOT_SET)) for path in deciding)
        of_each.setdefault(decided, []).append(leaves)
    return [
        path
        for path in axes
        if path in deciding or any(_differ(path, those) for those in of_each.values())
    ]


def _joined(texts: Iterable[str]) -> str:
    """The differences in one readable line."""
    every = list(texts)
    more = len(every) - _MOST_AXES
    return ", ".join([*every[:_MOST_AXES], *([f"... {more} more"] if more > 0 else [])])


def _leaves(value: object, path: _Path) -> Iterator[tuple[_Path, Any]]:
    """All values without nested ones, each with its path; an empty value has none."""
    if isinstance(value, Mapping):
        inside: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list):
        # As people name them when they change one: faults.crash.for.
        inside = ((_name_of(each, place), each) for place, each in enumerate(value))
    else:
        yield path, value
        return
    for name, each in inside:
        if path or name not in _NOT_COMPARED:
            yield from _leaves(each, (*path, str(name)))


def _name_of(each: object, place: int) -> object:
    return each.get("name", place) if isinstance(each, Mapping) else place


def _axis_names(axes: list[_Path]) -> list[str]:
    """A setting by its name if that is unambiguous, else by as much of its path as is needed."""
    for depth in range(1, max((len(axis) for axis in axes), default=0) + 1):
        names = [".".join(axis[-depth:]) for axis in axes]
        if len({*names}) == len(axes):
            return names
    return [".".join(axis) for axis in axes]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _number(value: object) -> float | None:
    """A number as it is, a duration in seconds; None for any other value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        with suppress(ValueError):
            return parse_duration(value) / 1e6
    return None


def _order(value: object) -> tuple[bool, float, str]:
    number = _number(value)
    return (number is None, number or 0.0, _text(value))


# Figures.


#: Figures that are compared by the hour, as runs differ in length, and the others.
_BY_THE_HOUR = ("isr_shrinks", "isr_expands", "isr_notifications")
_COMPARED = (
    *("leader_elections", "unclean_elections", "partition_seconds_stalled"),
    *("longest_stall_seconds", "partition_seconds_reads_stalled", "partition_seconds_offline"),
    *("partition_seconds_not_accepting", "partition_seconds_under_min_isr"),
    *("partition_seconds_at_min_isr", "partition_seconds_isr_of_one", "controller_busy_seconds"),
    *("records_acknowledged", "records_unsent", "records_acknowledged_lost"),
    "records_acknowledged_unavailable",
)
#: Figures of a run: how each comes from ``run_figures``, and its unit.
_FIGURES = {
    f"{name}_per_hour": (f"{name} * 3600 / (virtual_seconds - figures_from_seconds)", "/h")
    for name in _BY_THE_HOUR
} | {name: (name, FIGURES[name].unit) for name in _COMPARED}

#: A row for each figure of each run, and for its losses in each topic that lost records in any run.
_VALUES = """
    {figures}
    union all
    select f.run, 'records_lost of ' || t.topic, 'records', {losses}, coalesce(l.records, 0)
    from run_figures as f
    cross join (select distinct topic from lost) as t
    left join (
        select run, topic, sum(records) as records from lost group by run, topic
    ) as l on l.run = f.run and l.topic = t.topic
    order by all
""".format(
    figures=" union all ".join(
        f"select run, '{name}' as figure, '{unit}' as unit, {place} as place,"
        f" cast({value} as double) as value from run_figures"
        for place, (name, (value, unit)) in enumerate(_FIGURES.items())
    ),
    losses=len(_FIGURES),
)


class ComparedFigure(NamedTuple):
    """A figure in which runs are compared."""

    #: The most important one has the lowest.
    place: int
    name: str
    unit: str


def setting_of_each(tables: RunTables) -> dict[str, RunSetting]:
    """One run of each setting and seed, and its setting."""
    once = {
        (setting.text, setting.seed): (run, setting)
        for run, setting in settings_at(tables.runs).items()
    }
    return dict(once.values())


def figures_of_each(tables: RunTables) -> Iterator[tuple[str, ComparedFigure, float]]:
    """The figures of all runs, each with its run; for runs that ended the waits of producers, too.

    A figure that the logs of a real cluster do not give is left out.
    """
    for row in tables.rows(_VALUES):
        if row["value"] is not None:
            figure = ComparedFigure(row["place"], row["figure"], row["unit"])
            yield row["run"], figure, float(row["value"])
    for run in tables.runs:
        for client, each in (read_summary(run.folder) or {}).get("produce_ms", {}).items():
            if each["p99"] is not None:
                figure = ComparedFigure(len(_FIGURES) + 1, f"produce_p99_ms of {client}", "ms")
                yield run.name, figure, float(each["p99"])
