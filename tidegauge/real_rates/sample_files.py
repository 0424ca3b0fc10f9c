"""Files of samples: pages of exporters, OpenMetrics, a dump of a storage, saved responses.

Read are

* the text format of Prometheus and OpenMetrics, with timestamps or without
  (``curl BROKER/metrics``, ``tidegauge run --openmetrics``),
* the lines of ``promtool tsdb dump``,
* the JSON of ``/api/v1/query`` and ``/api/v1/query_range``, whose series have their names.

A scrape is a file, or a folder or a pattern with a file for each broker. Samples without a
timestamp have the time at which their file was written, unless the time between two scrapes is
given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.real_input.input_file import InputError, input_error, read_bytes
from tidegauge.real_rates.label_matchers import Matcher, all_accept, unquoted
from tidegauge.real_rates.sampled_source import SampledSeries, SampledSource

_TEXT = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(
    rf'([a-zA-Z_:][\w:]*)?\s*(?:\{{((?:[^"}}]|{_TEXT})*)\}})?\s*([^\s{{}}"]+)'
    r"(?:\s+(-?[\d.eE+]+))?(?:\s+#.*)?\s*"
)
_REST = re.compile(r'([^\s{}"]+)(?:\s+(-?[\d.eE+]+))?(?:\s+#.*)?\s*')
_LABEL = re.compile(rf"\s*([a-zA-Z_]\w*)\s*=\s*({_TEXT})\s*(?:,|$)")
_NAME = "__name__"
#: A larger timestamp is in milliseconds: in seconds it would be in the year 5138.
_MOST_SECONDS = 1e11
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
        if _is_json(file.path):
            found = _samples_of_response(file.path)
        else:
            found = _samples_of_text(file.path, self._is_kept)
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

    def _is_kept(self, name: str) -> bool:
        return not name or self._is_wanted(name)

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


#: Name, labels, time in seconds if there is one, value.
_Sample = tuple[str, dict[str, str], float | None, float]


def _samples_of_text(path: Path, is_kept: Callable[[str], bool]) -> Iterator[_Sample]:
    """The samples of a text; of names that are not kept only the first, without labels."""
    known: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    # The series of the line before, up to its value: of many times each has a line.
    series, name, labels = "\n", "", dict[str, str]()
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                if line.startswith("#") or not line.strip():
                    continue
                if line.startswith(series) and (match := _REST.fullmatch(line, len(series))):
                    yield name, labels, _seconds(match[2]), _number(path, number, match[1])
                    continue
                begin = line.partition("{")[0]
                if begin in seen:
                    # Most of a page: there is no need to read it.
                    continue
                match = _LINE.fullmatch(line)
                if match is None:
                    raise input_error(path, number, f"is not a sample: {line.strip()[:60]!r}")
                series, name = "\n", match[1] or ""
                if not is_kept(name):
                    if name not in seen:
                        seen.add(name)
                        yield name, {}, None, 0.0
                    continue
                text = match[2] or ""
                if text not in known:
                    known[text] = _labels_of(path, number, text)
                labels = known[text]
                if not name:
                    labels = dict(labels)
                    name = labels.pop(_NAME, "")
                series = line[: match.start(3)]
                yield name, labels, _seconds(match[4]), _number(path, number, match[3])
    except OSError as error:
        raise input_error(path, None, f"cannot be read: {error.strerror}") from error


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
        raise input_error(path, line, f"has a value that is not a number: {text!r}") from error


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        time = float(text)
    except ValueError:
        return None
    return time / 1000 if abs(time) > _MOST_SECONDS else time


def _is_json(path: Path) -> bool:
    """Whether a file begins as a saved response does."""
    try:
        with path.open("rb") as file:
            begin = file.read(4096)
    except OSError as error:
        raise input_error(path, None, f"cannot be read: {error.strerror}") from error
    return re.match(rb'(?:\xef\xbb\xbf)?\s*(?:\[|<|\{\s*(?:"|\}))', begin) is not None


def _samples_of_response(path: Path) -> Iterator[_Sample]:
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


def _named_samples(path: Path, series: Sequence[tuple[dict[str, str], Any]]) -> Iterator[_Sample]:
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
