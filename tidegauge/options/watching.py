"""The metrics of a run: served while it runs, or written to a file for a Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from tidegauge.views.output import fail

if TYPE_CHECKING:
    from tidegauge.engine.contract import Onlooker
    from tidegauge.engine.simulate import Scrapes
    from tidegauge.metrics.endpoint.openmetrics_file import OpenMetricsFile
    from tidegauge.metrics.samples.exposition import Presentation
    from tidegauge.metrics.samples.layout import Level
    from tidegauge.metrics.spellings.spelling import Spelling
    from tidegauge.scenario.reading import Scenario

#: The interval between scrapes that are written to a file, in virtual time.
_PERIOD_US = 5_000_000

#: Which controllers of a quorum count the cluster: the active one, or each as in Kafka.
ACTIVE = "active"
FAITHFUL = "faithful"

_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^\[\]:]*):)?(?P<port>\d{1,5})")


class WatchRequest(NamedTuple):
    """The options of ``tidegauge run`` about metrics."""

    #: HOST:PORT of the endpoint.
    metrics: str | None = None
    level: str | None = None
    #: A file for the series of the whole run, and the real time of virtual time 0 in it.
    openmetrics: Path | None = None
    begins: str | None = None
    #: A spelling's name or a file of rules; and which controllers count the cluster.
    spelling: str | None = None
    controllers: str | None = None

    def check(self) -> None:
        """Fail if the options contradict each other."""
        if self.metrics is None and self.openmetrics is None:
            for option, value in self._choices().items():
                if value is not None:
                    fail(f"{option} needs --metrics or --openmetrics")
        if self.begins is not None and self.openmetrics is None:
            fail("--openmetrics-start needs --openmetrics: it sets the times in that file")

    def words(self) -> list[str]:
        """The options as on the command line."""
        words = [] if self.metrics is None else ["--metrics", self.metrics]
        for option, value in self._choices().items():
            words += [] if value is None else [option, value]
        words += [] if self.openmetrics is None else ["--openmetrics", str(self.openmetrics)]
        words += [] if self.begins is None else ["--openmetrics-start", self.begins]
        return words

    def _choices(self) -> dict[str, str | None]:
        """The options about how metrics are shown."""
        return {
            "--metrics-level": self.level,
            "--metrics-spelling": self.spelling,
            "--metrics-controllers": self.controllers,
        }


def spelling_named(text: str) -> Spelling:
    """A spelling by its name or file; the command ends if there is none."""
    from tidegauge.metrics.spellings.all_spellings import SpellingError, spelling_of

    try:
        return spelling_of(text)
    except SpellingError as error:
        fail(f"--metrics-spelling {text}: {error}")


class Watchers(NamedTuple):
    """The observers of a run, as ``simulate`` takes them."""

    onlooker: Onlooker | None = None
    scrapes: Scrapes | None = None


def wanted_speed(text: str | None, metrics: str | None) -> float | None:
    """The requested speed; by default that of real time if metrics are served.

    None: no limit. The command ends if the text is not a speed.
    """
    if text is None:
        return None if metrics is None else 1.0
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = nan
    if not isfinite(speed):
        fail(f"--speed {text}: must be a number, or max")
    return speed


def address_of(text: str) -> tuple[str, int]:
    """Host and port of an endpoint; the command ends if the text is not an address."""
    from tidegauge.metrics.endpoint.server import LAST_PORT, LOOPBACK

    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > LAST_PORT:
        fail(f"--metrics {text}: must be HOST:PORT or PORT, such as 127.0.0.1:9404")
    return (match["host"] or LOOPBACK).strip("[]"), int(match["port"])


@contextmanager
def watched(request: WatchRequest, scenario: Scenario, speed: float | None) -> Iterator[Watchers]:
    """Serve or record the metrics of a run while entered; the command ends if that fails."""
    with ExitStack() as open_:
        onlooker = scrapes = None
        if request.metrics is not None:
            onlooker = open_.enter_context(_served(request, scenario, speed))
        if request.openmetrics is not None:
            scrapes = open_.enter_context(_written(request, scenario))
        yield Watchers(onlooker, scrapes)


@contextmanager
def _served(request: WatchRequest, scenario: Scenario, speed: float | None) -> Iterator[Onlooker]:
    from tidegauge.engine.contract import LiveMetrics
    from tidegauge.metrics.endpoint.server import Endpoint, EndpointError
    from tidegauge.scenario.cluster_plan import ClusterPlan

    assert request.metrics is not None
    host, port = address_of(request.metrics)
    try:
        endpoint = Endpoint(ClusterPlan(scenario), host, port, _presentation(request))
    except EndpointError as error:
        fail(f"--metrics {request.metrics}: {error}")
    with endpoint:
        url = f"http://{endpoint.address}"
        typer.echo(f"Metrics: {url}/metrics, and the targets of all brokers: {url}/sd")
        yield LiveMetrics(endpoint, speed)


def _presentation(request: WatchRequest) -> Presentation:
    """The presentation; the command ends if an option has no such value."""
    from tidegauge.metrics.samples.exposition import Presentation

    presentation = Presentation(_level(request.level))
    if request.spelling is not None:
        presentation = presentation._replace(spelling=spelling_named(request.spelling))
    if request.controllers not in (None, ACTIVE, FAITHFUL):
        fail(f"--metrics-controllers {request.controllers}: must be {ACTIVE} or {FAITHFUL}")
    return presentation._replace(every_controller=request.controllers == FAITHFUL)


def _level(text: str | None) -> Level | None:
    from tidegauge.metrics.samples.layout import Level

    if text is None:
        return None
    try:
        return Level(text)
    except ValueError:
        fail(f"--metrics-level {text}: must be one of {', '.join(Level)}")


@contextmanager
def _written(request: WatchRequest, scenario: Scenario) -> Iterator[Scrapes]:
    from tidegauge.engine.simulate import Scrapes
    from tidegauge.metrics.endpoint.openmetrics_file import OpenMetricsFile
    from tidegauge.scenario.cluster_plan import ClusterPlan

    path = request.openmetrics
    assert path is not None
    try:
        file = OpenMetricsFile(
            ClusterPlan(scenario), path, _presentation(request), _begin_s(request.begins)
        )
    except OSError as error:
        fail(f"--openmetrics {path}: cannot be written to: {error.strerror}")
    try:
        yield Scrapes(_PERIOD_US, file.take)
    finally:
        # Also for an unfinished run: the series are right up to their end.
        is_written = _finished(file, path)
    if is_written:
        typer.echo(f"Series of the whole run: {path}")
    else:
        typer.echo(f"{path} is not written: the run ended before the first scrape", err=True)


def _finished(file: OpenMetricsFile, path: Path) -> bool:
    """Write the file, if it has any content; the command ends if that fails."""
    try:
        return file.write()
    except OSError as error:
        fail(f"--openmetrics {path}: cannot be written to: {error.strerror}")


def _begin_s(text: str | None) -> float | None:
    """The time of virtual time 0, in seconds since 1970; the command ends if it is not a time."""
    from datetime import UTC, datetime

    if text is None:
        return None
    try:
        begins = datetime.fromisoformat(text)
    except ValueError:
        fail(f"--openmetrics-start {text}: must be a time such as 2026-01-31T12:00:00Z")
    return (begins if begins.tzinfo is not None else begins.replace(tzinfo=UTC)).timestamp()
