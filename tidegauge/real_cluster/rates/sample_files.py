"""Scrapes that are files of samples, in whichever format each file is.

A scrape is a file, or a folder or a pattern with a file for each broker. Samples without a
timestamp have the time at which their file was written, unless the time between two scrapes is
given. Formats:

* the text format of Prometheus and OpenMetrics, with timestamps or without
  (``curl BROKER/metrics``, ``tidegauge run --openmetrics``),
* the lines of ``promtool tsdb dump``,
* the JSON of ``/api/v1/query`` and ``/api/v1/query_range``, whose series have their names.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.input_file import InputError, files_at, input_error, read_bytes
from tidegauge.real_cluster.rates.rate_source import Matcher, all_accept, in_seconds, unquoted
from tidegauge.real_cluster.rates.sampled_source import SampledSeries, SampledSource

_TEXT = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(
    rf'([a-zA-Z_:][\w:]*)?\s*(?:\{{((?:[^"}}]|{_TEXT})*)\}})?\s*([^\s{{}}"]+)'
    r"(?:\s+(-?[\d.eE+]+))?(?:\s+#.*)?\s*"
)
_REST = re.compile(r'([^\s{}"]+)(?:\s+(-?[\d.eE+]+))?(?:\s+#.*)?\s*')
_LABEL = re.compile(rf"\s*([a-zA-Z_]\w*)\s*=\s*({_TEXT})\s*(?:,|$)")
_NAME = "__name__"
#: No line begins so.
_NO_SERIES = "\n"

#: Name, labels, time in seconds if there is one, value.
Sample = tuple[str, dict[str, str], float | None, float]


def samples_in(path: Path, is_kept: Callable[[str], bool]) -> Iterator[Sample]:
    """The samples of a file; of names that are not kept only the first, without labels.

    Raises:
        InputError: the file cannot be read, or has another format.
    """
    return _samples_of_response(path) if _is_json(path) else _TextFile(path, is_kept).samples()


class _TextFile:
    """A file with a sample in each line."""

    def __init__(self, path: Path, is_kept: Callable[[str], bool]) -> None:
        self._path = path
        self._is_kept = is_kept
        self._labels_of_text: dict[str, dict[str, str]] = {}
        #: Names that are not kept.
        self._left_out: set[str] = set()
        # The series of the line before, up to its value: of many times each has a line.
        self._series = _NO_SERIES
        self._name = ""
        self._labels: dict[str, str] = {}

    def samples(self) -> Iterator[Sample]:
        try:
            with self._path.open(encoding="utf-8-sig", errors="replace") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.startswith("#") or not line.strip():
                        continue
                    sample = self._sample(number, line)
                    if sample is not None:
                        yield sample
        except OSError as error:
            raise input_error(self._path, None, f"cannot be read: {error.strerror}") from error

    def _sample(self, number: int, line: str) -> Sample | None:
        """The sample of a line; None: its name is not kept, and was there before."""
        if line.startswith(self._series):
            match = _REST.fullmatch(line, len(self._series))
            if match is not None:
                value = _number(self._path, number, match[1])
                return self._name, self._labels, _seconds(match[2]), value
        if line.partition("{")[0] in self._left_out:
            # Most of a page: there is no need to read it.
            return None
        match = _LINE.fullmatch(line)
        if match is None:
            raise input_error(self._path, number, f"is not a sample: {line.strip()[:60]!r}")
        name = match[1] or ""
        if name and not self._is_kept(name):
            is_new = name not in self._left_out
            self._left_out.add(name)
            return (name, {}, None, 0.0) if is_new else None
        self._series = line[: match.start(3)]
        self._name, self._labels = self._named(number, name, match[2] or "")
        value = _number(self._path, number, match[3])
        return self._name, self._labels, _seconds(match[4]), value

    def _named(self, number: int, name: str, text: str) -> tuple[str, dict[str, str]]:
        """The name and the labels of a series; a dump has the name among the labels."""
        if text not in self._labels_of_text:
            self._labels_of_text[text] = _labels_of(self._path, number, text)
        labels = self._labels_of_text[text]
        if name:
            return name, labels
        return labels.get(_NAME, ""), {key: labels[key] for key in labels if key != _NAME}


def _labels_of(path: Path, line: int, text: str) -> dict[str, str]:
    labels, at = {}, 0
    while at < len(text.rstrip()):
        match = _LABEL.match(text, at)
        if match is None:
            raise input_error(path, line, f"has labels that cannot be read: {text[:60]!r}")
        labels[match[1]] = unquoted(match[2])
        at = match.end()
    return labels


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise input_error(path, line, f"has a value that is not a number: {text[:40]!r}") from error


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return in_seconds(float(text))
    except ValueError:
        return None


def _is_json(path: Path) -> bool:
    """Whether a file begins as a saved response does."""
    try:
        with path.open("rb") as file:
            begin = file.read(4096)
    except OSError as error:
        raise input_error(path, None, f"cannot be read: {error.strerror}") from error
    return re.match(rb'(?:\xef\xbb\xbf)?\s*(?:\[|<|\{\s*(?:"|\}))', begin) is not None


def _samples_of_response(path: Path) -> Iterator[Sample]:
    """The samples of a response of Prometheus's HTTP API."""
    try:
        response = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise input_error(path, None, "is neither samples nor JSON") from error
    if isinstance(response, dict) and response.get("status") == "error":
        raise input_error(path, None, f"is an error of Prometheus: {response.get('error')}")
    try:
        found = [
            (each["metric"], each["values"] if "values" in each else [each["value"]])
            for each in response["data"]["result"]
        ]
        samples = [
            ({str(label): str(value) for label, value in labels.items()}, pairs)
            for labels, pairs in found
        ]
    except (TypeError, KeyError, AttributeError) as error:
        raise input_error(
            path, None, "is not a response of /api/v1/query or /api/v1/query_range"
        ) from error
    yield from _named_samples(path, samples)


def _named_samples(path: Path, series: Sequence[tuple[dict[str, str], Any]]) -> Iterator[Sample]:
    for labels, pairs in series:
        name = labels.pop(_NAME, "")
        if not name:
            raise input_error(
                path,
                None,
                "has series without a name: save the series themselves, such as those of the "
                'query {__name__=~"kafka_.*"}[5m], without a function such as rate()',
            )
        try:
            read = [(float(time), float(value)) for time, value in pairs]
        except (TypeError, ValueError) as error:
            raise input_error(path, None, f"has samples of {name} that are none") from error
        for time, value in read:
            yield name, labels, time, value


#: Names of Kafka's metrics begin so.
_PREFIX = "kafka_"
_LEAST_BETWEEN_S = 0.5


class _File(NamedTuple):
    """A file of a scrape; ``instance`` is the label of its series that have none."""

    path: Path
    instance: str
    #: The number of the scrape, from 0.
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
            # With several scrapes all are meant.
            window_s = self._over_s if self._over_s or len(given) > 1 else default_s
        elif len(given) > 1 and self._over_s is None:
            self._check_distance(given, list(times.values()))
        series = {name: list(found.values()) for name, found in self._series.items()}
        return SampledSource(place, series, self._names, window_s, at_s)

    def _check_distance(self, given: Sequence[Path], times: Sequence[float]) -> None:
        if max(times) - min(times) < _LEAST_BETWEEN_S:
            raise InputError(
                f"{given[-1]}: has no timestamps, and was written at the same time as {given[0]}; "
                "--over 60s means a minute between the scrapes"
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


def _files_of(place: Path, scrape: int) -> list[_File]:
    """The files of one scrape; of a folder or a pattern each is that of an instance."""
    files = files_at(place)
    return [_File(file, "" if file == place else file.stem, scrape) for file in files]


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError as error:
        raise input_error(path, None, f"cannot be read: {error.strerror}") from error
