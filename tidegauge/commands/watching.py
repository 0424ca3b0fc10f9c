"""The metrics of a run: served while it runs, or written to a file for a Prometheus."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import typer

from tidegauge.commands.run_options import RunOptions
from tidegauge.commands.shared_options import parsed
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import Onlooker
from tidegauge.engine.live_metrics import LiveMetrics
from tidegauge.engine.simulate import Scrapes
from tidegauge.metrics.endpoint.openmetrics_file import OpenMetricsFile
from tidegauge.metrics.endpoint.server import LAST_PORT, LOOPBACK, Endpoint, EndpointError
from tidegauge.metrics.samples.exposition import Presentation
from tidegauge.metrics.samples.layout import Level
from tidegauge.metrics.spellings.all_spellings import spelling_of
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario

#: The interval between scrapes that are written to a file, in virtual time.
_PERIOD_US = 5_000_000

#: The controllers of a quorum that count the cluster: the active one, or each as in Kafka.
ACTIVE = "active"
FAITHFUL = "faithful"

_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^\[\]:]*):)?(?P<port>\d{1,5})")


def spelling_named(text: str) -> Spelling:
    """A spelling by its name or file; the command ends if there is none."""
    return parsed("--metrics-spelling", text, spelling_of)


class Watchers(NamedTuple):
    """The observers of a run, as ``simulate`` takes them."""

    onlooker: Onlooker | None = None
    scrapes: Scrapes | None = None


def address_of(text: str) -> tuple[str, int]:
    """Host and port of an endpoint; the command ends if the text is not an address."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > LAST_PORT:
        raise TidegaugeError(f"--metrics {text}: must be HOST:PORT or PORT, such as 127.0.0.1:9404")
    return (match["host"] or LOOPBACK).strip("[]"), int(match["port"])


def watched(
    request: RunOptions, scenario: Scenario, speed: float | None
) -> AbstractContextManager[Watchers]:
    """Serve or record the metrics of a run while entered; the command ends if that fails.

    An option that has no such value ends it at once.
    """
    if request.metrics is not None:
        address_of(request.metrics)
    return _watched(request, scenario, speed, _presentation(request))


@contextmanager
def _watched(
    request: RunOptions, scenario: Scenario, speed: float | None, presentation: Presentation
) -> Iterator[Watchers]:
    with ExitStack() as open_:
        onlooker = scrapes = None
        if request.metrics is not None:
            onlooker = open_.enter_context(_served(request, scenario, speed, presentation))
        if request.openmetrics is not None:
            scrapes = open_.enter_context(_written(request, scenario, presentation))
        yield Watchers(onlooker, scrapes)


@contextmanager
def _served(
    request: RunOptions, scenario: Scenario, speed: float | None, presentation: Presentation
) -> Iterator[Onlooker]:
    assert request.metrics is not None
    host, port = address_of(request.metrics)
    try:
        endpoint = Endpoint(ClusterPlan(scenario), host, port, presentation)
    except EndpointError as error:
        raise TidegaugeError(f"--metrics {request.metrics}: {error}") from error
    with endpoint:
        url = f"http://{endpoint.address}"
        typer.echo(f"Metrics: {url}/metrics, and the targets of all brokers: {url}/sd")
        yield LiveMetrics(endpoint, speed)


def _presentation(request: RunOptions) -> Presentation:
    """The presentation; the command ends if an option has no such value."""
    presentation = Presentation(_level(request.metrics_level))
    if request.metrics_spelling is not None:
        presentation = presentation._replace(spelling=spelling_named(request.metrics_spelling))
    if request.metrics_controllers not in (None, ACTIVE, FAITHFUL):
        raise TidegaugeError(
            f"--metrics-controllers {request.metrics_controllers}: must be {ACTIVE} or {FAITHFUL}"
        )
    return presentation._replace(every_controller=request.metrics_controllers == FAITHFUL)


def _level(text: str | None) -> Level | None:
    if text is None:
        return None
    try:
        return Level(text)
    except ValueError:
        raise TidegaugeError(f"--metrics-level {text}: must be one of {', '.join(Level)}") from None


@contextmanager
def _written(
    request: RunOptions, scenario: Scenario, presentation: Presentation
) -> Iterator[Scrapes]:
    path = request.openmetrics
    assert path is not None
    try:
        file = OpenMetricsFile(
            ClusterPlan(scenario), path, presentation, _begin_s(request.openmetrics_start)
        )
    except OSError as error:
        raise TidegaugeError(
            f"--openmetrics {path}: cannot be written to: {error.strerror}"
        ) from error
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
        raise TidegaugeError(
            f"--openmetrics {path}: cannot be written to: {error.strerror}"
        ) from error


def _begin_s(text: str | None) -> float | None:
    """The time of virtual time 0, in seconds since 1970; the command ends if it is not a time."""
    if text is None:
        return None
    try:
        begins = datetime.fromisoformat(text)
    except ValueError:
        raise TidegaugeError(
            f"--openmetrics-start {text}: must be a time such as 2026-01-31T12:00:00Z"
        ) from None
    return (begins if begins.tzinfo is not None else begins.replace(tzinfo=UTC)).timestamp()
