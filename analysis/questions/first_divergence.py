"""The beginning of the difference between two runs: the first differing row of each process.

Runs of the same scenario and seed have the same canonical rows. If they do not, all that comes
after the first row that differs may follow from it, so that row is listed first. No row: all are
equal.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.questions.question import Question, QuestionError
from tidegauge.analysis.requests import CANONICAL
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_rows import CANONICAL_VALUES
from tidegauge.analysis.tables.run_tables import RunTables

_PLACE = ("process", "sequence")
_LINKS = ("cause_process", "cause_sequence", "because_process", "because_sequence")


def _first_divergence(tables: RunTables) -> DataFrame:
    names = [run.name for run in tables.runs]
    if len(names) != 2:  # noqa: PLR2004 - the two that are compared
        raise QuestionError(f"first-divergence compares two runs, not {len(names)}")
    rows = tables.rows().canonical(*_LINKS, *CANONICAL_VALUES)
    compared = ("kind", "time_us", *_LINKS, *CANONICAL_VALUES)
    hashes = rows.select("run", *_PLACE, "time_us", f.xxhash64(*compared).alias("hash"))
    sides = hashes.groupBy(*_PLACE).agg(
        f.min("time_us").alias("differs_us"),
        *(f.max(f.when(f.col("run") == name, f.col("hash"))).alias(f"_{place}")
          for place, name in enumerate(names)),
    )  # fmt: skip
    differing = sides.where("not _0 <=> _1").withColumn("at", f.struct("differs_us", *_PLACE))
    first = differing.groupBy("process").agg(f.min("at.sequence").alias("sequence"))
    return _told(rows, first.join(_processes(tables), "process", "left"), names)


def _told(rows: DataFrame, places: DataFrame, names: list[str]) -> DataFrame:
    """The rows of both runs at these places, in the order of the runs' rows."""
    here = rows.join(f.broadcast(places), list(_PLACE))
    said = here.withColumn("said", _said()).withColumn("partition", f.col("said")["partition"])
    found = said.withColumn("values", _texts())
    one, other = (f.max(f.when(f.col("run") == name, f.col("values"))) for name in names)
    kinds = (f.max(f.when(f.col("run") == name, f.col("kind"))) for name in names)
    nothing = f.array().cast("array<string>")
    return (
        found.groupBy(*_PLACE, "process_name")
        .agg(
            f.min("time_us").alias("time_us"),
            f.max("partition").alias("partition"),
            *(kind.alias(name) for kind, name in zip(kinds, ("kind", "other_kind"), strict=True)),
            f.coalesce(one, nothing).alias("_one"),
            f.coalesce(other, nothing).alias("_other"),
        )
        .withColumn("has", f.array_join(f.array_except("_one", "_other"), ", "))
        .withColumn("other_has", f.array_join(f.array_except("_other", "_one"), ", "))
        .withColumns({"run": f.lit(names[0]), "other_run": f.lit(names[1])})
        .orderBy("time_us", *_PLACE)
    )


def _said() -> SparkColumn:
    """The values of a row, by the names of its kind's columns."""
    names = f.create_map(
        *(
            each
            for name, kind in CANONICAL.items()
            for each in (f.lit(name), f.array(*map(f.lit, kind.columns)).cast("array<string>"))
        )
    )[f.col("kind")]
    return f.map_from_arrays(names, f.slice(f.array(*CANONICAL_VALUES), 1, f.size(names)))


def _texts() -> SparkColumn:
    """All of it as ``name=value``, with when it was written and what led to it."""
    of_all = f.create_map(
        *(each for name in ("time_us", *_LINKS) for each in (f.lit(name), f.col(name)))
    )
    return f.transform(
        f.concat(f.map_entries(of_all), f.map_entries("said")),
        lambda each: f.concat(each["key"], f.lit("="), each["value"].cast("string")),
    )


def _processes(tables: RunTables) -> DataFrame:
    """The names of processes, from the run with most of them."""
    process = "array<struct<process: bigint, name: string>>"
    listed = f.from_json(f.get_json_object("manifest", "$.processes"), process)
    each = tables.about().select(f.explode(listed).alias("_each"))
    return each.groupBy(f.col("_each.process").alias("process")).agg(
        f.min("_each.name").alias("process_name")
    )


FIRST_DIVERGENCE = Question(
    "first-divergence",
    "Where do two runs begin to differ?",
    (
        RUN,
        Column("other_run", "string", "", "the run that it is compared with"),
        Column(
            "time_us", "bigint", "us", "when the first row of a process was written that differs"
        ),
        Column("process", "bigint", "", "the process: first half of the row's handle"),
        Column("sequence", "bigint", "", "its number there: second half of its handle"),
        Column("process_name", "string", "", "name of the process"),
        Column("partition", "bigint", "", "number of the partition that it is about, if any"),
        Column("kind", "string", "", "kind of the row; null: the run has no such row"),
        Column("other_kind", "string", "", "... in the other run"),
        Column("has", "string", "", "values of the row that differ from those in the other run"),
        Column("other_has", "string", "", "... and those of the other run"),
    ),
    _first_divergence,
)
