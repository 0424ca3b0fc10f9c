"""``tidegauge dashboards``: the metrics of an operator's own dashboards, and our files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tidegauge.command_line import app

KAFKA = "kafka_server_replicamanager_"


def panel(title: str, *queries: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "targets": [{"expr": query} for query in queries], **more}


@pytest.fixture
def board(tmp_path: Path) -> Path:
    folded = [
        panel("Shrinks", f"rate({KAFKA}isrshrinkspersec[5m])"),
        panel(
            "Both", f"rate({KAFKA}isrshrinkspersec[5m]) or rate({KAFKA}isrshrinks_total[$__range])"
        ),
    ]
    panels = [
        panel("Leaders", f'sum({KAFKA}leadercount{{job="$job"}})'),
        panel("Heap", "jvm_memory_bytes_used", f"{KAFKA}partitioncount"),
        panel("Typo", f"{KAFKA}underreplicatedpartition"),
        {"type": "row", "title": "more", "panels": folded},
    ]
    variable = {
        "name": "topic",
        "type": "query",
        "query": "label_values(kafka_log_log_size, topic)",
    }
    content = {"title": "Mine", "panels": panels, "templating": {"list": [variable]}}
    path = tmp_path / "board.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def dashboards(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["dashboards", *map(str, words)])


def test_each_panel_has_its_metrics_by_what_the_simulation_and_the_exporter_have_of_them(
    board: Path,
) -> None:
    result = dashboards("--check", board, "--metrics-spelling", "strimzi", "--json")
    (found,) = json.loads(result.stdout)["dashboards"]
    panels = {each["title"]: each for each in found["panels"]}
    assert result.exit_code == 1
    assert {title: each["data"] for title, each in panels.items()} == {
        "variable topic": "all",
        "Leaders": "all",
        "Heap": "some",
        "Typo": "none",
        "Shrinks": "none",
        "Both": "all",
    }
    assert panels["Leaders"]["simulated"] == [f"{KAFKA}leadercount"]
    assert panels["Heap"]["not_simulated"] == ["jvm_memory_bytes_used"]
    assert panels["Typo"]["misspelt"] == {
        f"{KAFKA}underreplicatedpartition": f"{KAFKA}underreplicatedpartitions"
    }
    own = {f"{KAFKA}isrshrinkspersec": f"{KAFKA}isrshrinks_total"}
    assert panels["Shrinks"]["never_made"] == own
    # The name of another exporter, beside one that is there, is no mistake.
    assert panels["Both"]["alternatives"] == [f"{KAFKA}isrshrinkspersec"]
    assert not panels["Both"]["never_made"]


def test_a_dashboard_of_metrics_that_all_exist_or_belong_to_the_jvm_is_no_failure(
    board: Path,
) -> None:
    content = json.loads(board.read_text())
    content["panels"] = content["panels"][:2]
    board.write_text(json.dumps({"dashboard": content}))
    result = dashboards("--check", board)
    assert result.exit_code == 0, result.output
    assert "3 panels: 2 with all metrics, 1 with some, 0 with none" in " ".join(
        result.stdout.split()
    )
    assert all(len(line) <= 100 or str(board) in line for line in result.stdout.splitlines())


def test_a_file_that_is_no_dashboard_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("[]")
    (tmp_path / "broken.json").write_text("{")
    for words, problem in {
        ("--check", tmp_path / "none.json"): "is not a dashboard of Grafana",
        ("--check", tmp_path / "broken.json"): "is not valid JSON",
        ("--check", tmp_path / "gone.json"): "No such file",
        (tmp_path / "none.json",): "--check FILE reads a dashboard",
        (): "needs a folder to write to, or --check FILE",
    }.items():
        result = dashboards(*words)
        assert result.exit_code == 2
        (line,) = result.stderr.splitlines()
        assert problem in line


def test_prometheus_looks_for_the_run_at_the_port_that_is_given(tmp_path: Path) -> None:
    assert dashboards(tmp_path / "out", "--port", "9504").exit_code == 0
    config = (tmp_path / "out" / "prometheus" / "prometheus.yml").read_text()
    assert "127.0.0.1:9504/sd" in config
    assert "9404" not in config
