"""Result tables that are written by hand: a test says only the columns that its story is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.requests import Paths
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.traces.run_files import MANIFEST
from tidegauge.traces.run_folder import RunFolder, write_json_atomically
from written_rows import S, WrittenRows

#: The name and the duration of a run without rows.
RUN = "run"
LAST_US = 100 * S

#: Each table has rows with these columns, any of them.
Tables = Mapping[str, Sequence[Mapping[str, Any]]]


class WrittenTables(RunTables):
    """The tables of some runs as they are written by hand; none is made of rows."""

    def __init__(self, runs: Paths, folder: Path, tables: Tables) -> None:
        super().__init__(runs, folder)
        for name, table in TABLES.items():
            names = [column.name for column in table.columns]
            rows = [{RUN: RUN} | dict(row) for row in tables.get(name, ())]
            columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
            self.add(name, columns, [[row.get(each) for each in names] for row in rows])
            self._known.add(name)


def written(folder: Path, tables: Tables, **settings: object) -> WrittenTables:
    """The tables of one run, and settings of its cluster."""
    run = with_a_scenario(WrittenRows().run(folder / RUN), settings, duration=f"{LAST_US}us")
    return WrittenTables(run, folder / "tables", tables)


def with_a_scenario(
    folder: Path, settings: Mapping[str, object], seed: int = 1, duration: str = "10s"
) -> Path:
    """The run in a folder, with a manifest that says what cluster it is."""
    scenario = {
        "name": "story",
        "duration": duration,
        "release": "2.6",
        "cluster": {
            "brokers": 3,
            "settings": {"isr_change_notification_batching": False, **settings},
        },
        "topics": [{"name": "orders", "partitions": 2, "replication_factor": 3}],
    }
    manifest = RunFolder(folder).manifest | {"scenario": scenario, "seed": seed}
    write_json_atomically(folder / MANIFEST, manifest)
    return folder


def answer(question: str, tables: RunTables) -> list[dict[str, Any]]:
    """The rows of an answer."""
    return QUESTIONS[question].of(tables)
