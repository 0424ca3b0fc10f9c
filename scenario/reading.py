"""Scenario files: the subject of a run, in YAML.

:func:`load_scenario` reads one. The models document each field:
:class:`~tidegauge.scenario.model.scenario.Scenario` and its parts, each in a file of its own.
The shortest one that runs::

    duration: 1m
    cluster: {brokers: 3}

All problems of a scenario are raised as one :class:`ScenarioError`, with a line for each problem.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping

from pydantic import ValidationError

from tidegauge.scenario.coherence.coherence import problems_of
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.text.changes import with_changes
from tidegauge.scenario.text.errors import (
    Path,
    Problem,
    ProblemsError,
    ScenarioError,
    problems_in,
    scenario_error,
)
from tidegauge.scenario.text.yaml_file import read_scenario_file

__all__ = [
    "Scenario",
    "ScenarioError",
    "load_scenario",
    "scenario_from_mapping",
    "written_scenario",
]


def load_scenario(path: pathlib.Path, changes: Mapping[str, object] | None = None) -> Scenario:
    """The scenario in a YAML file, with other values at some paths (``text/changes.py``).

    Raises:
        ScenarioError: the scenario cannot be read or cannot be run.
    """
    file = read_scenario_file(path)
    return _changed_scenario(file.data, changes or {}, str(path), file.line_of)


def scenario_from_mapping(
    data: Mapping[str, object], source: str, changes: Mapping[str, object] | None = None
) -> Scenario:
    """The scenario that a mapping describes; errors name it as ``source``.

    Raises:
        ScenarioError: the scenario cannot be run.
    """
    return _changed_scenario(data, changes or {}, source, lambda _: None)


def _changed_scenario(
    data: object,
    changes: Mapping[str, object],
    source: str,
    line_of: Callable[[Path], int | None],
) -> Scenario:
    if not isinstance(data, Mapping):
        return _scenario(data, source, line_of)
    try:
        changed = with_changes(data, changes)
    except ProblemsError as error:
        raise scenario_error(source, error.problems, line_of) from error

    def line_of_own(path: Path) -> int | None:
        """A changed value has no line in the file."""
        return None if changed.has(path) else line_of(path)

    return _scenario(changed.data, source, line_of_own)


def written_scenario(path: pathlib.Path) -> Scenario:
    """The scenario in a YAML file as written, each part valid on its own.

    The parts are not checked against each other, and no faults are drawn.

    Raises:
        ScenarioError: the scenario cannot be read.
    """
    file = read_scenario_file(path)
    return _written(file.data, str(path), file.line_of)


def _scenario(data: object, source: str, line_of: Callable[[Path], int | None]) -> Scenario:
    scenario = _written(data, source, line_of)
    problems = problems_of(scenario)
    if problems:
        raise scenario_error(source, problems, line_of)
    return _with_drawn_faults(scenario)


def _written(data: object, source: str, line_of: Callable[[Path], int | None]) -> Scenario:
    if not isinstance(data, Mapping):
        problem = Problem((), "must be a mapping, with duration, cluster and so on")
        raise scenario_error(source, [problem], line_of)
    named = {"name": pathlib.PurePath(source).stem, **data}
    try:
        scenario = Scenario.model_validate(named)
    except ValidationError as error:
        raise scenario_error(source, problems_in(error, named), line_of) from error
    return scenario.with_offsets_topic().with_generated_moves()


def _with_drawn_faults(scenario: Scenario) -> Scenario:
    if not scenario.fault_rates:
        return scenario
    # Only here: drawing is compiled code, whose import takes longer than all of this.
    from tidegauge.scenario.coherence.drawn_faults import with_drawn_faults  # noqa: PLC0415

    return with_drawn_faults(scenario)
