"""Rows with their origins: the trigger, and the fault."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.spark_analysis.tables.run_rows import RunRows


def with_causes(
    rows: RunRows, found: DataFrame, process: str = "process", sequence: str = "sequence"
) -> DataFrame:
    """Rows, each with its origin, or with the origin of the row that two columns name.

    Args:
        rows: the runs.
        found: rows of kinds in :data:`tidegauge.spark_analysis.causes.FOLLOWED`, or that name one.
        process: which column has the first half of its handle.
        sequence: which one has the second half.

    Returns:
        These and, null where there is none,

        * ``trigger_process``, ``trigger_us``, ``trigger_kind``: the nearest row of another process,
        * ``fault``, ``fault_name``, ``fault_us``: the fault that it all leads to.
    """
    names = {"process": process, "sequence": sequence}
    named = rows.shared(_with_faults).withColumnsRenamed(names)
    return found.join(named, ["run", process, sequence], "left")


def _with_faults(rows: RunRows) -> DataFrame:
    faults = rows.of_kind("fault_began", "fault").unionByName(rows.of_kind("fault_ended", "fault"))
    faults = faults.select(
        "run",
        f.col("process").alias("fault_process"),
        f.col("sequence").alias("fault_sequence"),
        "fault",
    )
    names = rows.topology.faults.select("run", "fault", "fault_name")
    return (
        rows.causes()
        .join(f.broadcast(faults), ["run", "fault_process", "fault_sequence"], "left")
        .join(names, ["run", "fault"], "left")
        .drop("fault_process", "fault_sequence")
    )
