"""Recorded runs for tests of analyses, and their result tables, which DuckDB makes."""

from __future__ import annotations

import pytest

from analysed_runs import crashed_run, recorded_runs, written_story
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.traces.run_folder import RunFolder


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return written_story(tmp_path_factory.mktemp("runs") / "story")


@pytest.fixture(scope="session")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return crashed_run(tmp_path_factory.mktemp("runs") / "crashed", acks="all")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    return recorded_runs(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="session")
def tables(recorded: dict[str, RunFolder], tmp_path_factory: pytest.TempPathFactory) -> RunTables:
    """The tables of all recorded runs."""
    paths = [run.path for run in recorded.values()]
    return RunTables(paths, tmp_path_factory.mktemp("tables"))
