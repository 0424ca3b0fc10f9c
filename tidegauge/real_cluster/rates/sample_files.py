"""Scrapes that are files of samples, and the series in them; ``sample_formats.py`` reads a file.

A scrape is a file, or a folder or a pattern with a file for each broker. Samples without a
timestamp have the time at which their file was written, unless the time between two scrapes is
given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple

from tidegauge.real_cluster.describe.input_file import InputError, input_error
from tidegauge.real_cluster.rates.label_matchers import Matcher, all_accept
from tidegauge.real_cluster.rates.sample_formats import samples_in
from tidegauge.real_cluster.rates.sampled_source import SampledSeries, SampledSource

#: Names of Kafka's metrics begin so.
_PREFIX = "kafka_"
_LEAST_BETWEEN_S = 0.5


class _File(NamedTuple):
    """A file of a scrape; ``instance`` is the label of its series that have none."""

    path: Path
    instance: str
    #: Of the scrape, from 0.
    scrape: int


class SampleReader:
    """Reads files of samples; of all series it keeps those that are wanted."""

    def __init__(
        self, is_wanted: Callable[[str], bool], matchers: Sequence[Matcher], over_s: float | None
    ) -> None:
        """Keep series whose names are wanted, and whose labels are accepted.

        ``over_s`` is the time between scrapes without timestamps; None: between their files.
        """
        self._is_wanted = is_wanted
        self._matchers = matchers
        self._over_s = over_s
        self._names: set[str] = set()
        self._series: dict[str, dict[tuple[tuple[str, str], ...], SampledSeries]] = {}
        self._has_times = False
        self._last_name = ""
        self._last_labels: dict[str, str] | None = None
        self._last: list[tuple[float, float]] | None = None

    def source(self, given: Sequence[Path], default_s: float, at_s: float | None) -> SampledSource:
        """The samples of all scrapes, in the order in which they are given.

        Raises:
            InputError: a file cannot be read, has no samples, or they have no two times.
        """
        files = [file for scrape, each in enumerate(given) for file in _files_of(each, scrape)]
        times = {file.path: self._time_of(file, files) for file in files}
        for file in files:
            self._read(file, times[file.path])
        place = ", ".join(dict.fromkeys(str(each) for each in given))
        if not self._names:
            raise InputError(f"{place}: has no sample of a metric of Kafka ({_PREFIX}...)")
        if not self._series and self._matchers:
            matched = ",".join(map(str, self._matchers))
            raise InputError(f"{place}: no series that rates come from has {matched}")
        window_s = None
        if self._has_times:
            # Of several scrapes all are meant.
            window_s = self._over_s if self._over_s or len(given) > 1 else default_s
        elif len(given) > 1 and self._over_s is None:
            self._check_distance(given, list(times.values()))
        series = {name: list(found.values()) for name, found in self._series.items()}
        return SampledSource(place, series, self._names, window_s, at_s)

    def _check_distance(self, given: Sequence[Path], times: Sequence[float]) -> None:
        if max(times) - min(times) < _LEAST_BETWEEN_S:
            raise InputError(
                f"{given[-1]}: has no timestamps, and was written at the same time as {given[0]}; "
                "--over 60s says that a minute is between the scrapes"
            )

    def _time_of(self, file: _File, files: Sequence[_File]) -> float:
        """The time of a file's samples that have none of their own."""
        if self._over_s is None:
            return _written_at(file.path)
        return _written_at(files[0].path) + file.scrape * self._over_s

    def _read(self, file: _File, time_s: float) -> None:
        found = samples_in(file.path, self._is_wanted)
        has_any = False
        self._last_labels = None
        for name, labels, time, value in found:
            has_any = True
            if not name.lower().startswith(_PREFIX) and not self._is_wanted(name):
                continue
            self._names.add(name)
            if self._is_wanted(name):
                self._has_times |= time is not None
                self._add(file, name, labels, (time_s if time is None else time, value))
        if not has_any:
            raise input_error(file.path, None, "has no samples")

    def _add(
        self, file: _File, name: str, labels: dict[str, str], sample: tuple[float, float]
    ) -> None:
        if name == self._last_name and labels is self._last_labels:
            # The next sample of the same series, in a file of many times.
            if self._last is not None:
                self._last.append(sample)
            return
        self._last_name, self._last_labels, self._last = name, labels, None
        if file.instance and "instance" not in labels:
            labels = {**labels, "instance": file.instance}
        if not all_accept(self._matchers, labels):
            return
        of_name = self._series.setdefault(name, {})
        key = tuple(sorted(labels.items()))
        if key not in of_name:
            of_name[key] = SampledSeries(labels, [])
        self._last = of_name[key].samples
        self._last.append(sample)


def _files_of(given: Path, scrape: int) -> list[_File]:
    """The files of one scrape."""
    if given.is_dir():
        files = sorted(
            file for file in given.iterdir() if file.is_file() and not file.name.startswith(".")
        )
        if not files:
            raise input_error(given, None, "has no file")
    elif has_magic(str(given)) and not given.exists():
        files = sorted(Path(match) for match in glob(str(given)) if Path(match).is_file())  # noqa: PTH207 - pathlib's takes no absolute pattern
        if not files:
            raise input_error(given, None, "matches no file")
    else:
        return [_File(given, "", scrape)]
    return [_File(file, file.stem, scrape) for file in files]


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError as error:
        raise input_error(path, None, f"cannot be read: {error.strerror}") from error
