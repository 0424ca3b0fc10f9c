"""What holds for all tests.

``pytest --golden DIR`` holds the simulator against other recordings than those that are here. The
option stands here and not beside its tests, so that it is known whatever is run.

Generated examples have no deadline: how long one takes says more about the machine than about us.

All runs are validated (``engine/invariants``) every 20,000 events and at their ends: a failure ends
with the command that validates the same test after every event.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Before anything of the house is imported; programs that a test starts inherit it.
os.environ.setdefault("TIDEGAUGE_CHECKED", "windows")

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden",
        metavar="DIR",
        type=Path,
        default=None,
        help="play the recorded schedules of this folder (tests/conformance)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with Spark run in one process, so that Java is started once."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end which tests were skipped, and how to have them: the dots hide it."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.getreports("skipped")
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}", yellow=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Say how to validate a test after every event that has violated an invariant."""
    try:
        return (yield)
    except AssertionError as error:
        if type(error).__name__ == "InvariantViolatedError":
            command = f"TIDEGAUGE_CHECKED=1 .venv/bin/python -m pytest '{item.nodeid}'"
            error.add_note(f"{command} -m 'long or not long'")
        raise


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """Ray on this machine, started once for all tests of a module."""
    # Most tests do without, and Ray takes its time to be imported.
    from tidegauge.engine.ray_cluster import ray_cluster  # noqa: PLC0415

    with ray_cluster(None):
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark on this machine, started once for all tests that need it, as for small traces."""
    # Most tests do without, and Spark takes its time to be imported.
    from tidegauge.spark_analysis.engine import FOR_SMALL  # noqa: PLC0415
    from tidegauge.spark_analysis.session import FOR_QUICK_START, spark_session  # noqa: PLC0415

    with spark_session(2, java_options=FOR_QUICK_START, settings=FOR_SMALL) as session:
        yield session
