"""The time that belongs to each fault, for questions about single faults.

Many effects of a fault follow its end: sessions expire, replicas catch up. So its time lasts until
the next fault begins, or the run ends.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.analysis.tables.run_tables import RunTables


def fault_windows(tables: RunTables) -> DataFrame:
    """Each time that a fault was on, with ``next_us``: when another began, or the run's end."""
    faults = tables["faults"]
    begins = faults.select("run", "begin_us").distinct()
    ends = tables.about().selectExpr("run", "duration_us")
    following = f.lead("begin_us").over(Window.partitionBy("run").orderBy("begin_us"))
    windows = begins.join(f.broadcast(ends), "run")
    windows = windows.withColumn("next_us", f.coalesce(following, "duration_us"))
    return faults.join(windows.drop("duration_us"), ["run", "begin_us"])
