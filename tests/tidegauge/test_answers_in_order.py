"""Views and reports ask tables for rows in a total order: the first of them is always the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from analysed_runs import crashed_run
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.command_line import app
from total_orders import declared_keys, doubles, has_order, varying

#: Relations that questions and views put beside the tables, each with its key.
BESIDE = {
    "figures_over_seeds": [{"figure_place", "figure", "setting_place"}],
    "gathering_rules": [{"run"}],
    "parts": [{"part"}],
}
PARTITION = ("--partition", "story-0")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """The queries that are put to tables, and whether they are of one run."""
    queries: dict[str, bool] = {}
    arrow = RunTables.arrow

    def noted(tables: RunTables, sql: str) -> Any:
        queries[sql] = len(tables.runs) == 1
        return arrow(tables, sql)

    monkeypatch.setattr(RunTables, "arrow", noted)
    return queries


def test_views_and_reports_ask_for_rows_in_a_total_order(
    asked: dict[str, bool], tmp_path: Path
) -> None:
    for acks in ("1", "all"):
        crashed_run(tmp_path / acks, acks)
    lossy, page = tmp_path / "1", tmp_path / "report.html"
    for command in (
        *(("show", view, lossy) for view in ("partitions", "faults", "controller")),
        ("show", "partition", lossy, "story-0"),
        *(("picture", lossy, *of) for of in ((), PARTITION)),
        ("report", lossy),
        ("report", lossy, tmp_path / "all", "--out", page),
    ):
        result = CliRunner().invoke(app, [*map(str, command)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
    keys = declared_keys() | BESIDE
    assert len(asked) > 40
    assert [sql for sql in asked if varying(sql, keys, doubles())] == []
    assert [
        sql for sql, is_one in asked.items() if not has_order(sql, keys, of_one_run=is_one)
    ] == []
