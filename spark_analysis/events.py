"""The facade: recorded rows of runs, and the runs themselves, as DataFrames."""

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidegauge.analysis.requests import FoundRun, Paths, TraceRequest, runs_at
from tidegauge.spark_analysis.trace_source import FORMAT, TidegaugeTrace, schema_of
from tidegauge.traces.run_files import read_manifest, read_summary


def events(
    spark: SparkSession,
    path: Paths,
    kind: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    from_us: int | None = None,
    to_us: int | None = None,
    within_run: bool = False,
) -> DataFrame:
    """The rows of one run or of many.

    Rows of one kind have ``run``, the columns of every row, and the kind's own. Rows of several
    kinds, or of all (None), have ``run``, ``kind`` (its name), the columns of every row, and
    ``partition`` where the kind has it. Numbers are BIGINT, as they were recorded.

    Rows are in no order: (run, time_us, process, sequence, minor) is their order. An unfinished run
    has the rows that were written when the DataFrame was first used.

    Args:
        spark: the session, as ``session.spark_session`` gives it.
        path: folders of runs, or patterns of such folders (``runs/*``).
        kind: the name of a kind of rows in ``simulation/trace_rows``, or several names.
        columns: only these columns; with several kinds, any that one of them has, which is null in
            the rows of the others. Other columns are not unpacked.
        from_us: only rows from this virtual time on.
        to_us: only rows before this virtual time.
        within_run: without the rows of the liveness phase, which comes after the run.

    Raises:
        RequestError: the kind or column does not exist.
        RunError: a folder is not that of a run, or a pattern matches none.
    """
    one, several = (kind, ()) if isinstance(kind, str) else (None, tuple(kind or ()))
    request = TraceRequest(path, one, several, from_us, to_us, within_run)
    request.check_columns(columns or ())
    runs_at(path)
    spark.dataSource.register(TidegaugeTrace)
    reader = spark.read.format(FORMAT).schema(schema_of(request, tuple(columns or request.columns)))
    return reader.options(**request.options()).load()


#: The columns of :func:`runs`.
RUNS_SCHEMA = """
    run STRING, folder STRING, scenario STRING, seed BIGINT, duration_us BIGINT, finished BOOLEAN,
    trace STRING, trace_sha256 STRING, tidegauge STRING, schema_version BIGINT, release STRING,
    protocol STRING, brokers BIGINT, partitions BIGINT, settings MAP<STRING, STRING>,
    manifest STRING, summary STRING
"""


def runs(spark: SparkSession, path: Paths) -> DataFrame:
    """The runs themselves, a row for each.

    ===================  =====================================================================
    column               meaning
    ===================  =====================================================================
    ``run``              what :func:`events` calls it
    ``folder``           where it is
    ``scenario``         the scenario's name
    ``seed``             of all random draws
    ``duration_us``      how much virtual time, without the liveness phase; of a run that is not
                         finished, until its last row
    ``finished``         it has come to its end
    ``trace``            the level of its trace: ``transitions`` or ``all``
    ``trace_sha256``     of all canonical rows; null if it is not finished
    ``tidegauge``        the release that ran it
    ``schema_version``   of its rows
    ``release``          the release of Kafka that it follows
    ``protocol``         inter.broker.protocol.version, if the scenario sets one
    ``brokers``          how many
    ``partitions``       how many
    ``settings``         of the cluster, by Kafka's names, as text
    ``manifest``         all of ``manifest.json``, as JSON for ``get_json_object``
    ``summary``          all of ``summary.json``; null if it is not finished
    ===================  =====================================================================

    Values that a scenario does not have are null.

    Raises:
        RunError: a folder is not that of a run, or a pattern matches none.
    """
    return spark.createDataFrame([_row(run) for run in runs_at(path)], RUNS_SCHEMA)


def _row(run: FoundRun) -> tuple[Any, ...]:
    manifest = read_manifest(run.folder)
    summary = read_summary(run.folder)
    scenario = manifest.get("scenario", {})
    settings = scenario.get("cluster", {}).get("settings", {})
    return (
        run.name,
        str(run.folder),
        scenario.get("name"),
        manifest.get("seed"),
        run.end_us() if "duration" in scenario else None,
        summary is not None,
        manifest.get("trace"),
        summary and summary.get("trace_sha256"),
        manifest.get("tidegauge"),
        manifest.get("schema_version"),
        scenario.get("release"),
        scenario.get("protocol"),
        len(manifest["brokers"]),
        len(manifest["partitions"]),
        {name: _text(value) for name, value in settings.items()},
        json.dumps(manifest),
        json.dumps(summary) if summary is not None else None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
