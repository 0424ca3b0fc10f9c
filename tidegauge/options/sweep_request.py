"""The request of a ``tidegauge sweep``: values of paths, and seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.options.figure_names import check_figures
from tidegauge.options.run_request import RunRequest
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.changes import split_values
from tidegauge.sweeps.sweep_axis import Axis
from tidegauge.sweeps.sweep_folder import run_name

#: A table of more settings would be of no use.
_MOST_SETTINGS = 1_000
_MOST_RUNS = 100_000

_RANGE = re.compile(r"([0-9]{1,19})\.\.([0-9]{1,19})")


class RequestedRun(NamedTuple):
    """One run of the sweep."""

    #: Of paths that have several values, each as ``PATH=VALUE``.
    setting: tuple[str, ...]
    seed: int
    #: Of its folder.
    name: str
    request: RunRequest


class SweepRequest(NamedTuple):
    """The runs of a sweep, and their options."""

    #: With the changes that all runs have.
    request: RunRequest
    axes: Sequence[Axis]
    #: None: the scenario's own.
    seeds: range | None
    #: The figures of each run; empty: the most important ones.
    figures: Sequence[str] = ()
    jobs: int | None = None
    out: Path | None = None

    def plan(self) -> tuple[Scenario, list[RequestedRun]]:
        """The first scenario, and all runs; the command ends if one of them cannot be run.

        All settings are read before the first run, so that invalid values and unknown figures are
        errors at once.
        """
        paths = {*(axis.path for axis in self.axes), *map(_path_of, self.request.changes)}
        if self.seeds is not None and "seed" in paths:
            raise TidegaugeError("--seeds and --set seed=... exclude each other")
        settings = [
            tuple(f"{axis.path}={value}" for axis, value in zip(self.axes, values, strict=True))
            for values in product(*(axis.values for axis in self.axes))
        ]
        count = len(settings) * (1 if self.seeds is None else len(self.seeds))
        if len(settings) > _MOST_SETTINGS:
            raise TidegaugeError(
                f"--set: {len(settings):,} settings are too many; {_MOST_SETTINGS:,} are the most"
            )
        if count > _MOST_RUNS:
            raise TidegaugeError(f"{count:,} runs are too many; {_MOST_RUNS:,} are the most")
        asked = [self.request._replace(changes=(*self.request.changes, *each)) for each in settings]
        loaded = [each.load(None if self.seeds is None else self.seeds[0]) for each in asked]
        planned = [
            RequestedRun(setting, seed, self._name(setting, seed), request._replace(seed=seed))
            for setting, request, scenario in zip(settings, asked, loaded, strict=True)
            for seed in self.seeds or [scenario.seed]
        ]
        names = {each.name for each in planned}
        if len(names) < len(planned):
            raise TidegaugeError("--set: a value is given twice, or two paths are the same")
        check_figures(self.figures, loaded)
        return loaded[0], planned

    def _name(self, setting: Sequence[str], seed: int) -> str:
        fixed = [text.partition("=")[::2] for text in self.request.changes]
        swept = [text.partition("=")[::2] for text in setting]
        # Lists and mappings of all runs would only make the name longer.
        named = [each for each in fixed if not set(each[1]) & {*"[{"}] + swept
        return run_name({path: value.strip("'\"") for path, value in named}, seed)


def _path_of(change: str) -> str:
    return change.partition("=")[0]


def fixed_and_axes(texts: Sequence[str]) -> tuple[tuple[str, ...], list[Axis]]:
    """Split the texts of ``--set`` into those with one value, and axes with several values.

    The command ends if a text cannot be read.
    """
    read = [_values(text) for text in texts]
    fixed = (text for text, each in zip(texts, read, strict=True) if len(each.values) == 1)
    return tuple(fixed), [each for each in read if len(each.values) > 1]


def _values(text: str) -> Axis:
    """A path and its values: YAML, separated by commas."""
    path, equals, values = text.partition("=")
    if not equals or not path or not values:
        raise TidegaugeError(
            f"--set {text}: must be PATH=VALUE,VALUE..., such as cluster.brokers=3,6"
        )

    return Axis(path, split_values(values))


def seeds_of(span: str) -> range:
    """The seeds of ``--seeds``, such as ``1..20``; the command ends if it cannot be read."""
    numbers = _RANGE.fullmatch(span)
    if numbers is None:
        raise TidegaugeError(f"--seeds {span}: must be the first and the last one, such as 1..20")
    first, last = map(int, numbers.groups())
    if first > last:
        raise TidegaugeError(f"--seeds {span}: the last one is before the first; {last}..{first}?")
    if last >= 2**63:
        raise TidegaugeError(f"--seeds {span}: a seed is less than 2**63")
    if last - first >= _MOST_RUNS:
        raise TidegaugeError(f"--seeds {span}: more than {_MOST_RUNS:,} at once are too many")
    return range(first, last + 1)
