"""The engine of result tables: DuckDB, unless the largest run is beyond memory or Spark began."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge.analysis.making import engine_choice
from tidegauge.analysis.making.engine_choice import DUCKDB, SPARK, choose
from tidegauge.analysis.requests import FoundRun


@pytest.fixture
def runs(tmp_path: Path) -> list[FoundRun]:
    """Two runs, the larger one with a trace of 2 MB, for which DuckDB needs 60 MB."""
    found = []
    for name, size_bytes in (("small", 1_000), ("large", 2_000_000)):
        folder = tmp_path / name / "trace"
        folder.mkdir(parents=True)
        (folder / "trace.msgpack").write_bytes(bytes(size_bytes))
        found.append(FoundRun(name, tmp_path / name))
    return found


def test_the_largest_run_decides_by_the_memory_that_it_needs(
    runs: list[FoundRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    for free_bytes, engine in ((61_000_000, DUCKDB), (59_000_000, SPARK)):
        monkeypatch.setattr(engine_choice, "_available_bytes", lambda free=free_bytes: free)
        choice = choose(runs, asked=None, has_session=False)
        assert choice.engine == engine
        assert "the largest trace of 2 runs has 2.0 MB and needs some 0.1 GB" in choice.reason


def test_without_spark_nobody_is_asked_to_install_it(
    runs: list[FoundRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_choice, "_available_bytes", lambda: 0)
    monkeypatch.setattr(engine_choice, "find_spec", lambda _: None)
    choice = choose(runs, asked=None, has_session=False)
    assert choice.engine == DUCKDB
    assert choice.reason.endswith("Spark is not installed")


def test_a_session_of_spark_is_used_unless_another_engine_is_asked_for(
    runs: list[FoundRun],
) -> None:
    assert choose(runs, asked=None, has_session=True).engine == SPARK
    assert choose(runs, asked=DUCKDB, has_session=True).engine == DUCKDB
