"""The queries of docs/analysis.md that join result tables with samples of a real Prometheus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from written_rows import S, WrittenRows
from written_tables import WrittenTables

PAGE = Path(__file__).resolve().parents[3] / "docs" / "analysis.md"
METRIC = "kafka_controller_kafkacontroller_offlinepartitionscount"
BEGIN_S = 1_700_000_000
#: Of two brokers, every 15 s: only the active controller knows of offline partitions, and the
#: second one is it from the third sample on.
SAMPLES = {"kafka-0": (0, 6, 0), "kafka-1": (0, 0, 5, 0)}


def query(text: str) -> str:
    """The documented query that has a text."""
    blocks = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if text in block)
    return str(found)


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WrittenTables:
    """Three runs, of which two have offline partitions, from 70 s and 80 s on."""
    monkeypatch.chdir(tmp_path)
    outages = {"none": (0, 0, 0), "short": (70, 80, 4), "long": (80, 120, 7)}
    figures, counts = [], []
    for run, (begin_s, end_s, partitions) in outages.items():
        WrittenRows().run(tmp_path / "runs" / run)
        seconds = float((end_s - begin_s) * partitions)
        figures.append({"run": run, "partition_seconds_offline": seconds})
        if seconds:
            count = {"run": run, "condition": "offline", "partitions": partitions}
            counts.append(count | {"begin_us": begin_s * S, "end_us": end_s * S})
    written = {"run_figures": figures, "condition_counts": counts}
    return WrittenTables(str(tmp_path / "runs" / "*"), tmp_path, written)


def times_and_values(values: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(BEGIN_S + 15 * place, value) for place, value in enumerate(values)]


def test_a_response_of_query_range_is_compared_with_all_runs_sample_by_sample(
    tables: WrittenTables,
) -> None:
    result = [
        {
            "metric": {"__name__": METRIC, "instance": f"{broker}:9404", "job": "kafka"},
            "values": [[time_s, str(value)] for time_s, value in times_and_values(values)],
        }
        for broker, values in SAMPLES.items()
    ]
    response = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    Path("offline.json").write_text(json.dumps(response))
    rows = tables.rows(query("offline.json"))
    assert [tuple(row.values()) for row in rows] == [
        (60 * S, 0, 0, 0),
        (75 * S, 6, 0, 4),
        (90 * S, 5, 0, 7),
        (105 * S, 0, 0, 7),
    ]


def test_a_table_of_samples_is_compared_with_the_sums_of_all_runs(tables: WrittenTables) -> None:
    """Six partitions for 15 s and five for 15 s are 165; the runs have 0, 40 and 280."""
    lines = [
        f'{time_s},{name},"{{""instance"": ""{broker}:9404""}}",{value}'
        for broker, values in SAMPLES.items()
        for time_s, value in times_and_values(values)
        for name in (METRIC, "kafka_server_replicamanager_partitioncount")
    ]
    Path("samples.csv").write_text("\n".join(["time,metric,labels,value", *lines]) + "\n")
    (row,) = tables.rows(query("samples.csv"))
    assert row == {"partition_seconds": 165, "runs": 3, "runs_with_as_many": 1}
