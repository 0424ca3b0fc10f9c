"""The request of a ``tidegauge compare``: the variants of a scenario, along one axis, and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.options.run_request import RunRequest
from tidegauge.options.sweep_request import RequestedRun, fixed_and_axes
from tidegauge.replication.release_versions import (
    COMPARED_RELEASES,
    KRAFT_MODE,
    MODE_NAMES,
    ZOOKEEPER_MODE,
    Mode,
    Release,
)
from tidegauge.scenario.other_mode.conversion import Change
from tidegauge.scenario.other_mode.converted import converted
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.changes import with_changes
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.sweeps.sweep_axis import Axis
from tidegauge.sweeps.sweep_folder import run_name

#: A table of more variants has no room.
_MOST_VARIANTS = 4
_LEAST_VARIANTS = 2


class Variant(NamedTuple):
    """One of the compared variants of a scenario."""

    #: Its name in tables: ``KRaft 4.1.1``.
    label: str
    #: Its values, each as ``PATH=VALUE``.
    setting: tuple[str, ...]
    scenario: Scenario
    #: The content of its own file; None: the changes on the command line are enough.
    data: Mapping[str, Any] | None = None
    #: What the conversion into its mode and release changed.
    changes: tuple[Change, ...] = ()

    @property
    def file_name(self) -> str:
        """The name of its own file."""
        return f"{self.label.lower().replace(' ', '-')}.yaml"


class CompareRequest(NamedTuple):
    """The variants to compare, and the options of their runs."""

    #: With the changes that all variants have.
    request: RunRequest
    #: ``mode``, ``release``, or the path of a field.
    axis: Axis
    #: None: the scenario's own.
    seeds: range | None = None
    jobs: int | None = None
    out: Path | None = None

    def variants(self) -> list[Variant]:
        """The variants, in the order of their values; the command ends if one cannot be run."""
        base = self.request.load()
        if self.axis.path == "mode":
            variants = self._in_modes(base)
        elif self.axis.path == "release":
            variants = self._in_releases(base)
        else:
            variants = [self._with_value(value) for value in self.axis.values]
        labels = [each.label for each in variants]
        for label in labels:
            if labels.count(label) > 1:
                raise TidegaugeError(
                    f"{label}: is compared with itself; two variants have to differ"
                )
        return variants

    def _in_modes(self, base: Scenario) -> list[Variant]:
        data = self._written()
        variants = []
        for name in self.axis.values:
            mode = _mode_of(name)
            named = "release" in data and mode in Release.parse(base.release).modes
            release = base.release if named else COMPARED_RELEASES[mode]
            variants.append(converted_variant(data, self.request.scenario, mode, release))
        return variants

    def _in_releases(self, base: Scenario) -> list[Variant]:
        data = self._written()
        is_mode_fixed = any(change.startswith("mode=") for change in self.request.changes)
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
        changed = self.request._replace(changes=(*self.request.changes, setting))
        return Variant(f"{self.axis.name}={value}", (setting,), changed.load())

    def _written(self) -> dict[str, Any]:
        """The scenario as written, with the changes that all variants have."""
        file = self.request.file()
        data = read_scenario_file(file).data
        assert isinstance(data, Mapping)
        changed = with_changes(data, self.request.scenario_changes()).data
        assert isinstance(changed, dict)
        return {"name": file.stem, **changed}


def planned_runs(
    variants: Sequence[Variant], request: RunRequest, seeds: range | None, out: Path
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
            asked = request._replace(changes=(*request.changes, *variant.setting))
        else:
            asked = RunRequest(str(out / variant.file_name), hosting=request.hosting)
        for seed in seeds or [variant.scenario.seed]:
            pairs = (text.partition("=")[::2] for text in variant.setting)
            name = run_name(dict(pairs), seed)
            planned.append(RequestedRun(variant.setting, seed, name, asked._replace(seed=seed)))
    return planned


def compared_axis(
    modes: str | None, releases: str | None, texts: Sequence[str]
) -> tuple[tuple[str, ...], Axis]:
    """The changes that all variants have, and the axis along which they differ.

    The command ends unless there is one axis with two to four values.
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
            "nothing to compare: use --modes zookeeper,kraft, --releases 3.9,4.1 or --set PATH=A,B"
        )
    if len(axes) > 1:
        names = " and ".join(axis.path for axis in axes)
        raise TidegaugeError(
            f"{names} are two axes: a comparison has one; give the other one a single value"
        )
    (axis,) = axes
    if not _LEAST_VARIANTS <= len(axis.values) <= _MOST_VARIANTS:
        said = ",".join(axis.values)
        raise TidegaugeError(
            f"{axis.path} {said}: a comparison has two to four values, not {len(axis.values)}"
        )
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
    mode = next((mode for mode in COMPARED_RELEASES if name == mode), None)
    if mode is None:
        raise TidegaugeError(f"--modes {name}: must be {ZOOKEEPER_MODE} or {KRAFT_MODE}")
    return mode
