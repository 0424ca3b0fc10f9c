"""Spark is given the rows that were recorded, all of them, once, as they were."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from small_clusters import cluster_of, producers_of
from tidegauge.analysis.requests import RequestError, TraceRequest
from tidegauge.analysis.trace_parts import find_frames
from tidegauge.engine.simulate import simulate
from tidegauge.spark_analysis.events import events, runs
from tidegauge.traces.run_files import MANIFEST, TRACE, RunError
from tidegauge.traces.run_folder import ORDER, RunFolder
from tidegauge.traces.trace_file import FRAME_ROWS, TraceWriter
from written_rows import MANIFEST_OF_TESTS, WrittenRows


def table_of(frame: DataFrame) -> dict[str, list[Any]]:
    """The columns of a DataFrame whose rows are put in their total order."""
    table: pa.Table = frame.orderBy(*("run", *ORDER)).toArrow()
    return dict(table.to_pydict())


def assert_same(frame: DataFrame, run: RunFolder, kind: str) -> None:
    """Hold a DataFrame of one kind against the trace as the front door reads it."""
    table = table_of(frame)
    assert set(table.pop("run")) <= {run.path.name}
    assert table == {name: column.tolist() for name, column in run.table(kind).items()}


@pytest.mark.parametrize("kind", ["isr_shrunk", "isr_expanded", "fault_began", "appended"])
def test_rows_of_one_kind_are_those_of_the_trace(
    spark: SparkSession, story: RunFolder, kind: str
) -> None:
    frame = events(spark, story.path, kind)
    assert {name: type_ for name, type_ in frame.dtypes if name != "run"} == dict.fromkeys(
        story.kinds[kind].all_columns, "bigint"
    )
    assert_same(frame, story, kind)


def test_a_simulated_cluster_has_as_many_rows_of_each_kind(
    spark: SparkSession, tmp_path: Path
) -> None:
    workload = {"producers": [producers_of(50, "2s", "4s")]}
    run = simulate(cluster_of(workload=workload), tmp_path / "run")
    counted = events(spark, run.path).groupBy("kind").count().collect()
    rows = {kind: len(run.table(kind)["time_us"]) for kind in run.kinds}
    assert {row["kind"]: row["count"] for row in counted} == {
        kind: count for kind, count in rows.items() if count
    }
    assert_same(events(spark, run.path, "became_leader"), run, "became_leader")
    assert rows["truncated"] == events(spark, run.path, "truncated").count() == 0


def test_rows_of_several_kinds_have_what_every_row_has_and_what_is_asked_for(
    spark: SparkSession, story: RunFolder
) -> None:
    both = events(spark, story.path, ["fault_began", "isr_shrunk"])
    assert both.count() == 80
    assert both.where("kind = 'fault_began'").where("partition is null").count() == 40
    asked = events(spark, story.path, ["fault_began", "isr_shrunk"], ["kind", "isr", "fault"])
    assert asked.columns == ["kind", "isr", "fault"]
    assert asked.where("isr is null").select("kind").distinct().collect() == [("fault_began",)]
    assert asked.where("fault = 0").select("kind").distinct().collect() == [("fault_began",)]


def test_one_frame_used_twice_in_a_query_keeps_its_filters_apart(
    spark: SparkSession, story: RunFolder
) -> None:
    """With pushFilters the last filter would hold for both: Spark 4.3.0 does so silently."""
    rows = events(spark, story.path, ["isr_shrunk", "isr_expanded"])
    shrinks, expands = rows.where("kind = 'isr_shrunk'"), rows.where("kind = 'isr_expanded'")
    assert shrinks.union(expands).count() == 80
    # Of 40 rows of each kind, processes 0 to 2 have 14, 13 and 13.
    assert shrinks.join(expands, "process").count() == 14**2 + 13**2 + 13**2
    assert rows.count() == 80


def test_columns_and_time_that_are_asked_for(spark: SparkSession, story: RunFolder) -> None:
    part = events(
        *(spark, story.path, "isr_shrunk", ["isr", "time_us"]),
        from_us=5_000_001,
        to_us=8_000_001,
    )
    assert part.columns == ["isr", "time_us"]
    assert sorted(part.collect()) == [(5, 5_000_001), (6, 6_000_001), (7, 7_000_001)]


def test_many_small_tasks_read_the_same_rows(spark: SparkSession, story: RunFolder) -> None:
    """Files are cut between frames: 20,007 appends lie in three."""
    reader = spark.read.format("tidegauge").option("kind", "appended").option("part_bytes", 1)
    frame = reader.load(str(story.path))
    by_task = frame.groupBy(sql.spark_partition_id()).agg(sql.count("*"), sql.min("minor"))
    assert sorted(row[1:] for row in by_task.collect()) == [
        *((7, 2 * FRAME_ROWS + 1), (FRAME_ROWS, 1), (FRAME_ROWS, FRAME_ROWS + 1)),
    ]
    assert_same(frame, story, "appended")


def test_two_runs_are_told_apart(spark: SparkSession, story: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(story.path, tmp_path / "one")
    shutil.copytree(story.path, tmp_path / "two")
    (tmp_path / "sweep.json").touch()
    counted = events(spark, f"{tmp_path}/*", "sampled").groupBy("run").count()
    assert sorted(counted.collect()) == [("one", 40), ("two", 40)]
    assert [row.run for row in runs(spark, f"{tmp_path}/*").orderBy("run").collect()] == [
        *("one", "two"),
    ]


def test_spark_itself_reads_with_options_and_a_schema(
    spark: SparkSession, story: RunFolder
) -> None:
    reader = spark.read.format("tidegauge").option("kind", "isr_shrunk")
    assert reader.load(str(story.path)).count() == 40
    few = reader.schema("run STRING, lag_ms BIGINT").load([str(story.path)])
    assert few.distinct().collect() == [("story", 10_000)]
    with pytest.raises(PySparkException, match=r"'lag_ms' is bigint, not string"):
        reader.schema("lag_ms STRING").load(str(story.path)).count()


def test_what_there_is_not_is_told_before_spark_begins(
    spark: SparkSession, story: RunFolder
) -> None:
    with pytest.raises(RequestError, match=r"did you mean 'isr_shrunk'\?$"):
        events(spark, story.path, "isr_shrink")
    with pytest.raises(RequestError, match=r"have no column 'lag_us': did you mean 'lag_ms'\?$"):
        events(spark, story.path, "isr_shrunk", ["lag_us"])
    with pytest.raises(RunError, match=r"no such folder$"):
        events(spark, story.path / "none")


def test_a_run_that_still_goes_on_is_read_as_far_as_it_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A file without its end: the run is unfinished, and its last frame is not whole yet."""
    rows = WrittenRows()
    for step in range(5):
        rows.write("step_taken", step, 0, step=step)
    folder = rows.run(tmp_path / "run", summary=False)
    with TraceWriter(folder / TRACE / "group-1.msgpack") as writer:
        writer.write(rows.array())
        writer.flush()
        assert events(spark, folder, "step_taken").count() == 10
        writer.write(rows.array())
        writer.flush()
        assert events(spark, folder, "step_taken").count() == 15
    file = folder / TRACE / "group-1.msgpack"
    file.write_bytes(file.read_bytes()[:-1])
    assert events(spark, folder, "step_taken").count() == 10
    (run,) = runs(spark, folder).collect()
    assert (run.finished, run.summary, run.trace_sha256) == (False, None, None)


def test_a_run_that_was_interrupted_lasted_until_its_last_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = WrittenRows()
    rows.write("step_taken", 5_000, 0, step=0)
    folder = rows.run(tmp_path / "run", summary=False)
    planned = MANIFEST_OF_TESTS | {"scenario": {"duration": "60s"}}
    (folder / MANIFEST).write_text(json.dumps(planned))
    (run,) = runs(spark, folder).collect()
    assert (run.finished, run.duration_us) == (False, 5_001)


def test_a_damaged_frame_is_named(spark: SparkSession, story: RunFolder, tmp_path: Path) -> None:
    folder = shutil.copytree(story.path, tmp_path / "run")
    (frames,) = find_frames(TraceRequest(folder, "appended"))
    second = frames.frames[1]
    content = bytearray(frames.path.read_bytes())
    content[second.begin + second.size // 2] ^= 1
    frames.path.write_bytes(content)
    assert events(spark, folder, "isr_shrunk").count() == 40
    with pytest.raises(PySparkException) as error:
        events(spark, folder, "appended").count()
    assert f"{frames.path}: frame 2 at byte {second.begin} is damaged" in str(error.value)


def test_the_liveness_phase_is_left_out_if_that_is_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Figures are those of the run itself; the phase after it is in the trace, too."""
    run = simulate(cluster_of(duration="3s", liveness=True, sample_every="1s"), tmp_path / "run")
    every, within = (events(spark, run.path, within_run=flag) for flag in (False, True))
    ((every_us,),) = every.select(sql.max("time_us")).collect()
    ((within_us,),) = within.select(sql.max("time_us")).collect()
    assert within_us < 3_000_000 <= every_us
    (row,) = runs(spark, run.path).collect()
    assert (row.duration_us, row.finished, row.seed) == (3_000_000, True, 1)
    assert row.brokers == 3
    assert row.settings["replica.fetch.wait.max.ms"] == "5000"


def test_java_has_room_for_the_code_of_all_tables_and_the_report(spark: SparkSession) -> None:
    """With one tier of compilation Java takes 48 MB by itself, which one analysis has filled."""
    machine = spark._jvm  # noqa: SLF001 - PySpark has no other way to ask Java
    assert machine is not None
    beans = machine.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    rooms = [bean.getUsage().getMax() for bean in beans if "ode" in bean.getName()]
    assert sum(rooms) >= 200 << 20, [bean.getName() for bean in beans]
