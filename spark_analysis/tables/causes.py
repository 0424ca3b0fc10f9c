"""What rows go back to: who outside their process was the first to lead to them, and which fault.

From each row one link is followed: its *because* if it has one, else its *cause*. What was decided
since something did not arrive thus leads to the fault that kept it away.

Rows are followed together: a step of all of them is one join with the links of the run. Rows that
are followed are few and the links many, so the few are sent to where the links are.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.spark_analysis.tables.run_rows import RunRows

#: What is told of the row with which a stretch begins.
_FIRST = ("_first_kind", "_first_us", "_first_sequence")

_LINKS = ("cause_process", "cause_sequence", "because_process", "because_sequence")

#: So many steps are one query.
_STEPS_AT_ONCE = 4
#: A chain that is longer ends there: in wild schedules the longest had 16 steps.
_MOST_STEPS = 200

#: Kinds of rows whose fault other tables tell.
FOLLOWED = ("leader_elected", "isr_shrunk", "removed_from_isr", "truncated", "log_lost")


def links(rows: RunRows) -> DataFrame:
    """Of each canonical row where it leads to: ``to_process`` and ``to_sequence``, -1 nowhere.

    Most rows lead to the one just before them, in the course of which they were written. Such a
    stretch of rows is passed in one step: all of it leads to where its first row does, ``first_*``.
    Nowhere leads to itself, so that who has arrived there can take further steps.
    """
    linked = rows.of_all_kinds(*_LINKS).where("minor = 0")
    has_reason = f.col("because_process") >= 0
    leads = {
        f"to_{half}": f.when(f.col("kind") == "fault_began", -1)
        .when(has_reason, f.col(f"because_{half}"))
        .otherwise(f.col(f"cause_{half}"))
        for half in ("process", "sequence")
    }
    in_order = Window.partitionBy("run", "process").orderBy("sequence")
    goes_on = (
        (f.col("to_process") == f.col("process"))
        & (f.col("to_sequence") == f.col("sequence") - 1)
        & (f.lag("sequence").over(in_order) == f.col("to_sequence"))
    )
    begins = f.when(~f.coalesce(goes_on, f.lit(col=False)), f.col("sequence"))
    first = f.max("begins").over(in_order)
    of_first = Window.partitionBy("run", "process", "first_sequence").orderBy("sequence")
    stretches = (
        linked.withColumns(leads)
        .withColumn("begins", begins)
        .withColumn("first_sequence", first)
        .select(
            "run",
            "process",
            "sequence",
            "kind",
            "time_us",
            "first_sequence",
            *(
                f.first(name).over(of_first).alias(alias)
                for name, alias in (
                    ("kind", "first_kind"),
                    ("time_us", "first_us"),
                    ("to_process", "to_process"),
                    ("to_sequence", "to_sequence"),
                )
            ),
        )
    )
    nowhere = rows.topology.ends.selectExpr(
        "run",
        *(f"-1L as {name}" for name in ("process", "sequence", "to_process", "to_sequence")),
    )
    return stretches.unionByName(nowhere, allowMissingColumns=True)


def causes(rows: RunRows) -> DataFrame:
    """What the rows of the kinds in :data:`FOLLOWED` go back to (:func:`followed`)."""
    wanted = [rows.of_kind(kind).select("run", "process", "sequence") for kind in FOLLOWED]
    return followed(rows, reduce(DataFrame.unionByName, wanted))


def with_causes(rows: RunRows, found: DataFrame) -> DataFrame:
    """Rows of kinds in :data:`FOLLOWED`, each with what it goes back to."""
    return found.join(rows.shared(causes), ["run", "process", "sequence"], "left")


def followed(rows: RunRows, wanted: DataFrame) -> DataFrame:
    """What rows go back to.

    Args:
        rows: the runs.
        wanted: ``run``, ``process`` and ``sequence`` of canonical rows.

    Returns:
        These and, null where there is none,

        * ``trigger_process``, ``trigger_us``, ``trigger_kind``: the nearest row of another process,
        * ``fault``, ``fault_name``, ``fault_us``: the fault that it all leads to.
    """
    all_links = rows.shared(links)
    nulls = {"trigger_us": "bigint", "trigger_kind": "string", "trigger_process": "bigint"}
    nulls |= {"began_us": "bigint", "began_process": "bigint", "began_sequence": "bigint"}
    at = wanted.distinct().select(
        "*",
        f.col("process").alias("at_process"),
        f.col("sequence").alias("at_sequence"),
        *(f.lit(None).cast(kind).alias(name) for name, kind in nulls.items()),
    )
    arrived = []
    for _ in range(0, _MOST_STEPS, _STEPS_AT_ONCE):
        for _ in range(_STEPS_AT_ONCE):
            at = _stepped(at, all_links)
        at = at.localCheckpoint()
        arrived.append(at.where("at_process < 0"))
        at = at.where("at_process >= 0")
        if at.isEmpty():
            break
    return _with_faults(rows, reduce(DataFrame.unionByName, [*arrived, at]))


def _stepped(at: DataFrame, all_links: DataFrame) -> DataFrame:
    """Each row that is followed one link further on."""
    here = all_links.select(
        "run",
        f.col("process").alias("at_process"),
        f.col("sequence").alias("at_sequence"),
        f.col("kind").alias("_kind"),
        f.col("time_us").alias("_us"),
        *(f.col(name.removeprefix("_")).alias(name) for name in _FIRST),
        f.col("to_process").alias("_to_process"),
        f.col("to_sequence").alias("_to_sequence"),
    )
    is_trigger = f.expr("trigger_process is null and at_process not in (process, -1)")
    is_fault = f.col("_first_kind") == "fault_began"

    def noted(when: Column, **columns: str) -> dict[str, Column]:
        return {
            name: f.when(when, f.col(value)).otherwise(f.col(name))
            for name, value in columns.items()
        }

    return (
        f.broadcast(at)
        .join(here, ["run", "at_process", "at_sequence"])
        .withColumns(
            noted(is_trigger, trigger_us="_us", trigger_kind="_kind", trigger_process="at_process")
        )
        .withColumns(
            noted(
                is_fault,
                began_us="_first_us",
                began_process="at_process",
                began_sequence="_first_sequence",
            )
        )
        .withColumns({"at_process": f.col("_to_process"), "at_sequence": f.col("_to_sequence")})
        .drop("_kind", "_us", "_to_process", "_to_sequence", *_FIRST)
    )


def _with_faults(rows: RunRows, found: DataFrame) -> DataFrame:
    began = rows.of_kind("fault_began", "fault").select(
        "run",
        f.col("process").alias("began_process"),
        f.col("sequence").alias("began_sequence"),
        "fault",
    )
    names = rows.topology.faults.select("run", "fault", "fault_name")
    return (
        found.join(f.broadcast(began), ["run", "began_process", "began_sequence"], "left")
        .join(names, ["run", "fault"], "left")
        .withColumnRenamed("began_us", "fault_us")
        .drop("began_process", "began_sequence", "at_process", "at_sequence")
    )
