"""What holds for all tests.

``pytest --golden DIR`` holds the simulator against other recordings than those that are here. The
option stands here and not beside its tests, so that it is known whatever is run.

Generated examples have no deadline: how long one takes says more about the machine than about us.

All runs are validated (``engine/invariants``) every 20,000 events and at their ends: a failure ends
with the command that validates the same test after every event.

Of two workers (``make test``) each takes a file at a time, so that what a file shares is made once.
All files that need Ray go to one worker, all that need Spark to one: each is started once.
"""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
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


#: Fixtures that take long to make: all files that have a test with one are in the group given.
MADE_ONCE = {"ray_here": "ray", "spark": "analysis"}
#: Its recorded runs and their tables take long, too.
ANALYSIS = Path(__file__).parent / "analysis"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the groups, and place them first: begun last, one worker would wait for the other."""
    groups = defaultdict[Path, set[str]](set)
    for item in items:
        groups[item.path] |= {
            MADE_ONCE[name] for name in MADE_ONCE.keys() & getattr(item, "fixturenames", ())
        }
    for item in items:
        if ANALYSIS in item.path.parents:
            groups[item.path].add("analysis")
        for group in groups[item.path]:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At the end they go like all else: DuckDB would complain of what it finds alive."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadgroup``, a file is a group unless its tests are in another one."""
    # Here, since xdist may be switched off; it comes without types.
    from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped] # noqa: PLC0415

    class FilesTogether(LoadGroupScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            group = str(super()._split_scope(nodeid))
            return nodeid.partition("::")[0] if group == nodeid else group

    return FilesTogether(config, log) if config.getvalue("dist") == "loadgroup" else None


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


@pytest.fixture(scope="session", autouse=True)
def _no_time_is_lost() -> Iterator[None]:
    """Leave out two waits of thousands of tests that no test is about.

    A run is written so that it survives a loss of power, and waits for the disk. Typer makes the
    whole command line anew, from all annotations, whenever it is called in this process: 50 ms.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        patch.setattr("typer.testing._get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def ray_here() -> Iterator[None]:
    """Ray on this machine, started once for all tests that need it."""
    # Most tests do without, and Ray takes its time to be imported.
    from tidegauge.engine.ray_cluster import ray_cluster  # noqa: PLC0415

    with ray_cluster(None):
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark on this machine, started once for all tests that need it, as for small traces."""
    # Most tests do without, and Spark takes its time to be imported.
    from tidegauge.spark_analysis.session import FOR_QUICK_START, spark_session  # noqa: PLC0415

    with spark_session(2, java_options=FOR_QUICK_START) as session:
        yield session
