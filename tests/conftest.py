"""What holds for all tests.

``pytest --golden DIR`` holds the simulator against other recordings than those that are here. The
option stands here and not beside its tests, so that it is known whatever is run.

Generated examples have no deadline: how long one takes says more about the machine than about us.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end which tests were skipped, and how to have them: the dots hide it."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.getreports("skipped")
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}", yellow=True)


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """Ray on this machine, started once for all tests of a module."""
    # Most tests do without, and Ray takes its time to be imported.
    from tidegauge.engine.ray_cluster import ray_cluster  # noqa: PLC0415

    with ray_cluster(None):
        yield
