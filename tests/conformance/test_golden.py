"""The simulator held against real Kafka: every recorded schedule that comes along.

``pytest tests/conformance --golden DIR`` plays the schedules of another folder.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recordings import GOLDEN
from tidegauge.conformance.comparison import EXACT
from tidegauge.conformance.conform import Conformance, conform, figures, idle_rows
from tidegauge.conformance.known_differences import known_differences
from tidegauge.conformance.recorded_schedule import RecordingError, load_schedule, recorded_files
from tidegauge.replication.release_versions import ZOOKEEPER_MODE
from tidegauge.views.conformance_report import SEEDS

TABLE = known_differences()

#: How many of the exact fields may differ for a known cause.
EXPLAINED_SHARE = 0.02
#: How many of the schedules have nothing unexplained with the first seed that is tried.
FIRST_SEED_SHARE = 0.75


@cache
def played(file: Path) -> Conformance:
    """A file is played once, whoever asks."""
    with TemporaryDirectory() as folder:
        return conform(load_schedule(file), Path(folder), TABLE, seeds=SEEDS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recording" not in metafunc.fixturenames:
        return
    try:
        files = recorded_files([metafunc.config.getoption("--golden") or GOLDEN])
    except RecordingError as error:
        raise pytest.UsageError(str(error)) from error
    metafunc.parametrize("recording", files, ids=[file.stem for file in files])


def test_the_simulator_does_what_real_brokers_did(recording: Path) -> None:
    differences = [
        f"step {each.step.number}, {each.step.op}: {each.field.told()}"
        for each in played(recording).unexplained
    ]
    assert differences == []


def test_few_fields_differ_for_a_known_cause_and_every_row_has_one(
    request: pytest.FixtureRequest,
) -> None:
    # One test, since it plays everything: of several, each would do so in a process of its own.
    if request.config.getoption("--golden"):
        pytest.skip("the table is about the recordings that come along")
    everything = [played(file) for file in recorded_files([GOLDEN])]
    compared, explained, _ = figures(everything, EXACT)
    assert compared > 50_000
    assert explained <= EXPLAINED_SHARE * compared
    first = sum(each.seed == 1 for each in everything)
    assert first >= FIRST_SEED_SHARE * len(everything)
    idle = [row for row in idle_rows(TABLE, everything) if ZOOKEEPER_MODE in row.modes]
    assert [f"line {row.line}: {row.cause}" for row in idle] == []
