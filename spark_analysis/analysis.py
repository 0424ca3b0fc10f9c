"""Runs analysed from the outside: a session, their tables, their figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidegauge.spark_analysis.session import spark_session
from tidegauge.spark_analysis.tables.run_figures import RUN_FIGURES
from tidegauge.spark_analysis.tables.written_tables import read_table, write_tables


def analyze(
    runs: Sequence[str], folder: Path, names: Sequence[str], cores: int | None = None
) -> list[dict[str, Any]]:
    """Write tables of runs, that of their figures among them; the figures of each run.

    Args:
        runs: folders of runs, or patterns of such folders.
        folder: where tables come.
        names: which ones.
        cores: how many of this machine Spark uses; None: all.

    Raises:
        JavaError: there is no Java that Spark could run on.
        RunError: a folder is no run, or a pattern matches none.
        ScenarioError: this Tidegauge cannot read the scenario of a manifest.
        OSError: the tables cannot be written.
    """
    wanted = list(dict.fromkeys([*names, RUN_FIGURES.name]))
    with spark_session(cores) as spark:
        written = write_tables(spark, list(runs), folder, wanted)
        table = read_table(spark, folder, RUN_FIGURES.name)
        rows = [row.asDict() for row in table.orderBy("run").collect()]
    return [row for row in rows if row["run"] in written]
