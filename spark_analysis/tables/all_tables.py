"""All result tables, and the page that documents their columns."""

from __future__ import annotations

from tidegauge.spark_analysis.tables.acknowledged import ACKNOWLEDGED, LOST
from tidegauge.spark_analysis.tables.controller import CONTROLLER_EVENTS
from tidegauge.spark_analysis.tables.elections import ELECTIONS
from tidegauge.spark_analysis.tables.faults import FAULTS
from tidegauge.spark_analysis.tables.gauges import BROKER_SAMPLES
from tidegauge.spark_analysis.tables.isr_changes import ISR_CHANGES
from tidegauge.spark_analysis.tables.isr_intervals import (
    ISR_INTERVALS,
    ISR_MEMBERS,
    LEADER_INTERVALS,
)
from tidegauge.spark_analysis.tables.logs import HW_LAG, TRUNCATIONS
from tidegauge.spark_analysis.tables.notifications import NOTIFICATIONS
from tidegauge.spark_analysis.tables.partition_states import PARTITION_STATES
from tidegauge.spark_analysis.tables.result_table import ResultTable
from tidegauge.spark_analysis.tables.run_figures import RUN_FIGURES
from tidegauge.spark_analysis.tables.unavailable import UNAVAILABLE

#: By their names, in the order in which people read them.
TABLES: dict[str, ResultTable] = {
    table.name: table
    for table in (
        RUN_FIGURES,
        FAULTS,
        PARTITION_STATES,
        UNAVAILABLE,
        ISR_INTERVALS,
        ISR_MEMBERS,
        ISR_CHANGES,
        LEADER_INTERVALS,
        ELECTIONS,
        NOTIFICATIONS,
        CONTROLLER_EVENTS,
        BROKER_SAMPLES,
        HW_LAG,
        TRUNCATIONS,
        ACKNOWLEDGED,
        LOST,
    )
}

_HEAD = """\
# Result tables

What is in `tables/`: Parquet, a folder `run=<name>` for each run, and in it one for each table.
Spark reads them by `read_table`, DuckDB and others with the pattern `tables/run=*/elections/*`.

Times are microseconds of virtual time since the run began, brokers are ids, and an interval lasts
from `begin_us` to just before `end_us`. Figures and intervals end with the run: what happens in the
liveness phase behind it counts only for which records are lost. A row that has `process` and
`sequence` is one of the trace: `tidegauge show RUN --cause PROCESS:SEQUENCE` tells what led to it.

This page is written by `python -m tidegauge.spark_analysis.tables`.
"""


def documentation() -> str:
    """The page that documents all tables, column by column, as Markdown."""
    return "\n".join([_HEAD, *map(_section, TABLES.values())])


def _section(table: ResultTable) -> str:
    lines = [
        f"## {table.name}",
        "",
        f"One row: {table.meaning}.",
        "",
        "| column | type | unit | meaning |",
        "|---|---|---|---|",
        *(f"| `{c.name}` | {c.type} | {c.unit} | {c.meaning} |" for c in table.columns),
        "",
    ]
    return "\n".join(lines)
