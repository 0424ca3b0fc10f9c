"""Evaluation of rules over series by promtool, and the times at which each alert fired.

promtool's unit tests for rules run Prometheus's own rule engine over the series of a file, and
compare the results of expressions with expected ones. Here no result is known beforehand, so each
test expects an impossible value: promtool then prints the actual result. The expression is
``ALERTS``, the series in which the engine itself keeps pending and firing alerts, at every time of
evaluation.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.compiled.interruptions import interruptions_deferred
from tidegauge.metrics.endpoint.openmetrics_file import number_text
from tidegauge.metrics.samples.exposition import Scraped
from tidegauge.rehearsal.alerts import RuleFile


class Series(NamedTuple):
    """One series, with a value for each scrape from the beginning on; None where there was none."""

    #: Name and labels as in PromQL: ``up{job="kafka"}``.
    selector: str
    values: Sequence[float | None]


class Recording:
    """The samples of successive scrapes."""

    def __init__(self) -> None:
        #: The first scrape has no samples: it is at the time 0, when the cluster is started.
        self.scrapes = 1
        self._values: dict[str, list[float | None]] = {}

    def take(self, found: Iterable[Scraped]) -> None:
        """Keep the samples of the next scrape."""
        for scraped in found:
            for labels, value in zip(scraped.labels, scraped.values, strict=True):
                selector = f"{scraped.family.name}{{{labels}}}"
                values = self._values.setdefault(selector, [])
                values += [None] * (self.scrapes - len(values))
                values.append(value)
        self.scrapes += 1

    def series(self) -> Iterator[Series]:
        """All series, by selector."""
        for selector in sorted(self._values):
            values = self._values[selector]
            yield Series(selector, [*values, *[None] * (self.scrapes - len(values))])


def values_text(values: Iterable[float | None]) -> str:
    """The values of a series as promtool reads them.

    A series that is missing in a scrape is stale from then on: Prometheus marks it so when a target
    does not respond, or no longer has it.
    """
    parts: list[str] = []
    for value, run in groupby(values):
        count = len(list(run))
        if value is not None:
            parts.append(number_text(value) + (f"x{count - 1}" if count > 1 else ""))
            continue
        if parts:
            parts.append("stale")
            count -= 1
        if count:
            parts.append(f"_x{count}")
    return " ".join(parts)


#: In the folder of a test.
TEST_FILE = "test.yml"
OUTPUT_FILE = "promtool.txt"

_QUESTION = "count by (alertname, alertstate) (ALERTS)"
#: An impossible result.
_IMPOSSIBLE = "tidegauge_expects_nothing"
_HOW_TO_GET_IT = (
    "promtool is part of Prometheus (Debian and Ubuntu: the package prometheus); use --promtool "
    "PATH for its location"
)
_VERSION = re.compile(r"promtool, version ([0-9]+\.[0-9]+[^\s+]*)")
#: First release with keep_firing_for, and ``1x3`` for four equal values.
_FIRST_FIT = (2, 42)

_QUERY = re.compile(r'^\s*expr: ".*", time: (?P<time>[0-9a-z]+),\s*$')
_GOT = re.compile(r"^\s*got: ?(?P<samples>.*)$")
_SAMPLE = re.compile(
    r"""\{(?P<labels>(?:"(?:[^"\\]|\\.)*"|[^{}"])*)\}[ ](?P<value>[-+.0-9A-Za-z]+)""", re.VERBOSE
)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
#: Prometheus writes 10m30s.
_DURATION_PART = re.compile(r"([0-9]+)(ms|[smhdwy])")
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_UNITS_MS |= {"d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000}
_VERSION_S, _LONGEST_S = 30, 600
_LONGEST_COMPLAINT = 300


class PromtoolError(TidegaugeError):
    """promtool does not exist, refuses a rule, or prints unknown output; one line."""


class Promtool(NamedTuple):
    """The program: its path and version."""

    path: str
    version: str


class Intervals(NamedTuple):
    """The intervals of scrapes and of evaluations of rules."""

    scrape_us: int
    evaluation_us: int


class Spell(NamedTuple):
    """A time for which an alert was pending or fired: from one evaluation to another."""

    begin_us: int
    #: The first evaluation without it; None: it lasted to the end.
    end_us: int | None
    #: The most alerts at the same time, each with its own labels.
    most: int


class Course(NamedTuple):
    """The times of an alert."""

    pending: Sequence[Spell] = ()
    firing: Sequence[Spell] = ()


def find_promtool(path: str | None) -> Promtool:
    """The program at a path, or on the PATH.

    Raises:
        PromtoolError: it does not exist, is another program, or is too old.
    """
    found = shutil.which(path or "promtool")
    if found is None:
        where = f"{path}: is not a program" if path else "promtool is not on the PATH"
        raise PromtoolError(f"{where}: {_HOW_TO_GET_IT}")
    try:
        output = _output_of([found, "--version"], _VERSION_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PromtoolError(f"{found}: cannot be run: {error}") from error
    match = _VERSION.search(output)
    if match is None:
        raise PromtoolError(f"{found}: does not print the version of promtool")
    version = match[1]
    major, minor = version.split(".")[:2]
    if (int(major), int(re.sub(r"\D.*", "", minor) or 0)) < _FIRST_FIT:
        raise PromtoolError(f"{found}: is promtool {version}; 2.42 or later is required")
    return Promtool(found, version)


def check_rules(promtool: Promtool, files: Sequence[RuleFile], folder: Path) -> None:
    """Check with promtool that the rules can be loaded, by one evaluation without series.

    Raises:
        PromtoolError: promtool refuses the rules.
    """
    evaluate(promtool, files, [], 0, Intervals(15_000_000, 15_000_000), folder)


def evaluate(
    promtool: Promtool,
    files: Sequence[RuleFile],
    series: Iterable[Series],
    end_us: int,
    intervals: Intervals,
    folder: Path,
) -> dict[str, Course]:
    """The times of each alert that was pending or fired, by its name.

    Args:
        promtool: the program that evaluates.
        files: all rules.
        series: the input, one value for each scrape from the time 0 on.
        end_us: time of the last evaluation.
        intervals: those between scrapes, and between evaluations.
        folder: the folder of the test and of promtool's output; it is created.

    Raises:
        PromtoolError: promtool refuses the rules, or its output is unknown.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"rules-{number + 1}.yml" for number in range(len(files))]
    for name, file in zip(names, files, strict=True):
        (folder / name).write_text(file.text, encoding="utf-8")
    times_us = range(0, end_us + 1, intervals.evaluation_us)
    with (folder / TEST_FILE).open("w", encoding="utf-8") as test:
        test.writelines(f"{line}\n" for line in _test_lines(names, series, times_us, intervals))
    output = _run(promtool, folder)
    found = dict(_answers(output))
    if sorted(found) != list(times_us):
        raise PromtoolError(_complaint(promtool, output, dict(zip(names, files, strict=True))))
    # Before the first scrape all metrics are absent.
    return _courses(found, [each for each in times_us if each >= intervals.scrape_us])


# The input of promtool.


def _test_lines(
    rules: Sequence[str], series: Iterable[Series], times_us: range, intervals: Intervals
) -> Iterator[str]:
    """The test as YAML; its texts are written as JSON, which is valid YAML."""
    yield f"rule_files: {json.dumps(rules)}"
    yield f"evaluation_interval: {_prometheus_duration(intervals.evaluation_us)}"
    yield "tests:"
    yield f"  - interval: {_prometheus_duration(intervals.scrape_us)}"
    yield "    input_series:"
    for each in series:
        yield f"      - series: {json.dumps(each.selector)}"
        yield f"        values: {json.dumps(values_text(each.values))}"
    yield "    promql_expr_test:"
    for time_us in times_us:
        yield f"      - expr: {json.dumps(_QUESTION)}"
        yield f"        eval_time: {_prometheus_duration(time_us)}"
        yield f"        exp_samples: [{{labels: {_IMPOSSIBLE}, value: 1}}]"


def _prometheus_duration(duration_us: int) -> str:
    """A duration in milliseconds, the finest unit of Prometheus."""
    return f"{duration_us // 1_000}ms"


def _run(promtool: Promtool, folder: Path) -> str:
    command = [promtool.path, "test", "rules", TEST_FILE]
    try:
        output = _output_of(command, _LONGEST_S, folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PromtoolError(f"{promtool.path}: {error}") from error
    (folder / OUTPUT_FILE).write_text(output, encoding="utf-8")
    return output


def _output_of(command: Sequence[str], longest_s: float, folder: Path | None = None) -> str:
    """All that a program prints; it is killed after that time, and by an interruption."""
    with ExitStack() as started:
        with interruptions_deferred():
            process = started.enter_context(
                subprocess.Popen(  # noqa: S603 - what the user has named
                    command,
                    cwd=folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                )
            )
            started.callback(process.kill)
        return "".join(process.communicate(timeout=longest_s))


# The output of promtool.


def _answers(output: str) -> Iterator[tuple[int, dict[tuple[str, str], int]]]:
    """By time: the number of alerts of each name in each state."""
    time_us: int | None = None
    for line in output.splitlines():
        if query := _QUERY.match(line):
            parts = _DURATION_PART.findall(query["time"])
            time_us = 1_000 * sum(int(number) * _UNITS_MS[unit] for number, unit in parts)
        elif (got := _GOT.match(line)) and time_us is not None:
            counts = {}
            for sample in _SAMPLE.finditer(got["samples"]):
                labels = {name: json.loads(f'"{value}"') for name, value in _labels(sample)}
                key = labels["alertname"], labels["alertstate"]
                counts[key] = round(float(sample["value"]))
            yield time_us, counts
            time_us = None


def _labels(sample: re.Match[str]) -> list[tuple[str, str]]:
    return _LABEL.findall(sample["labels"])


def _complaint(promtool: Promtool, output: str, files: dict[str, RuleFile]) -> str:
    """Promtool's error output, with the names of the user's own files."""
    lines = [line.strip() for line in output.splitlines()]
    text = " ".join(
        line
        for line in lines
        if line and not line.startswith(("Unit Testing", "FAILED", "SUCCESS", "exp:", "got:"))
    )
    for name, file in files.items():
        text = text.replace(name, str(file.path))
    if len(text) > _LONGEST_COMPLAINT:
        text = f"{text[:_LONGEST_COMPLAINT]}..."
    return (
        f"promtool {promtool.version} did not evaluate the rules: {text or 'it printed no reason'}"
    )


def _courses(
    found: Mapping[int, Mapping[tuple[str, str], int]], times_us: Sequence[int]
) -> dict[str, Course]:
    keys = {key for counts in found.values() for key in counts}
    spells = {
        key: _spells([(time_us, found[time_us].get(key, 0)) for time_us in times_us])
        for key in keys
    }
    return {
        alert: Course(spells.get((alert, "pending"), ()), spells.get((alert, "firing"), ()))
        for alert in sorted({alert for alert, _ in keys})
    }


def _spells(counts: Iterable[tuple[int, int]]) -> tuple[Spell, ...]:
    """The spans of time in which a count is not 0."""
    spells: list[Spell] = []
    is_on = False
    for time_us, count in counts:
        if count and not is_on:
            spells.append(Spell(time_us, None, count))
        elif count:
            spells[-1] = spells[-1]._replace(most=max(count, spells[-1].most))
        elif is_on:
            spells[-1] = spells[-1]._replace(end_us=time_us)
        is_on = bool(count)
    return tuple(spells)
