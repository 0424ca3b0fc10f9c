"""Analyses on a cluster of Spark: a master, a worker and an executor of their own processes.

The executor's Python has no Tidegauge, nor Numba or Ray: what it runs is what the driver sent it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it comes without types
import pyspark
import pytest
from pyspark.sql import SparkSession

from analysed_runs import crashed_run
from recorded_tables import differences
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.spark_analysis.cluster import check_disk, pack_project
from tidegauge.traces.run_files import MANIFEST, RunError
from tidegauge.traces.run_folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "spark"
SPARK_HOME = Path(pyspark.__file__).parent
LIBRARIES = Path(pyspark.__file__).parents[1]

#: What docs/analysis.md says that the Python of executors needs.
EXECUTORS_NEED = ("msgpack", "numpy", "pyarrow", "zstandard")

#: Tables of a cluster that are held against those of one machine: of windows, causes, manifests.
COMPARED = ("elections", "isr_intervals", "acknowledged", "faults")


@pytest.fixture(scope="module")
def executor_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has what docs/analysis.md asks for, and nothing else."""
    home = tmp_path_factory.mktemp("executor")
    venv.create(home, symlinks=True)
    (libraries,) = home.glob("lib/python3*/site-packages")
    for name in EXECUTORS_NEED:
        for found in LIBRARIES.glob(f"{name}*"):
            (libraries / found.name).symlink_to(found)
    return home / "bin" / "python"


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return crashed_run(tmp_path_factory.mktemp("runs") / "crashed", acks="1")


def environment(**more: str) -> dict[str, str]:
    """The environment, without what would show executors the way to the checkout."""
    return {**{n: v for n, v in os.environ.items() if n != "PYTHONPATH"}, **more}


@contextmanager
def daemon(log: Path, role: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A master or a worker, with all that it starts, while the context lasts."""
    spark_class = SPARK_HOME / "bin" / "spark-class"
    here = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    with (
        log.open("w") as written,
        subprocess.Popen(
            [spark_class, f"org.apache.spark.deploy.{role}", *here, *arguments],
            stderr=written,
            stdout=written,
            start_new_session=True,
            env=environment(SPARK_DAEMON_MEMORY="256m", SPARK_LOCAL_IP="127.0.0.1"),
        ) as process,
    ):
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def said(log: Path, pattern: str) -> str:
    """What a daemon has said, as soon as it has."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text()):
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"not said within a minute: {pattern}\n{log.read_text()}")


class Cluster(NamedTuple):
    """Spark's own cluster manager: its address, and its two workers of a core each."""

    address: str
    workers: Sequence[subprocess.Popen[bytes]]


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[Cluster]:
    """A master and two workers, while the context lasts."""
    master = folder / "master.log"
    with ExitStack() as stack:
        stack.enter_context(daemon(master, "master.Master"))
        address = said(master, r"spark://127\.0\.0\.1:\d+")
        workers = []
        for number in (1, 2):
            log = folder / f"worker-{number}.log"
            room = ["--cores", "1", "--memory", "2g", "--work-dir", f"{folder}/work-{number}"]
            workers.append(stack.enter_context(daemon(log, "worker.Worker", *room, address)))
            said(log, "Successfully registered with master")
        yield Cluster(address, workers)


@contextmanager
def submitted(
    cluster: Cluster, python: Path, folder: Path, *arguments: str
) -> Iterator[subprocess.Popen[str]]:
    """``tidegauge analyze`` on a cluster, as docs/analysis.md has it."""
    settings = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=4"]
    submit = [f"{SPARK_HOME}/bin/spark-submit", "--properties-file", f"{DEPLOY}/analysis.conf"]
    with subprocess.Popen(
        [*submit, "--master", cluster.address, *settings, f"{DEPLOY}/analyze.py", *arguments],
        env=environment(
            PYSPARK_DRIVER_PYTHON=sys.executable,
            PYSPARK_PYTHON=str(python),
            SPARK_LOCAL_IP="127.0.0.1",
        ),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended_well(process: subprocess.Popen[str]) -> str:
    """The output of a process that ends without an error."""
    output, _ = process.communicate(timeout=400)
    assert process.returncode == 0, output
    return output


@pytest.mark.long
def test_a_cluster_makes_the_same_tables_as_one_machine(
    crashed: RunFolder, executor_python: Path, tmp_path: Path
) -> None:
    """By spark-submit, on a standalone master with two workers; and by DuckDB, here."""
    analyze = [str(crashed.path), *(f"--table={name}" for name in COMPARED)]
    with standalone_cluster(tmp_path) as cluster:
        out = ("--out", f"{tmp_path}/cluster")
        with submitted(cluster, executor_python, tmp_path, *analyze, *out) as process:
            output = ended_well(process)
    assert "Spark makes the tables of 1 run: spark-submit has started a session" in output
    # Executors were started by the workers, not by the driver.
    assert len(list(tmp_path.glob("work-*/app-*/*/stderr"))) == 2
    assert crashed.summary is not None
    (file,) = tmp_path.glob("cluster/tables/run_figures/*.parquet")
    (figures,) = pq.read_table(file).to_pylist()
    for name in figures.keys() - {"run"}:
        assert figures[name] == crashed.summary[name], name
    assert figures["leader_elections"] > 0

    here = RunTables(crashed.path, tmp_path / "here")
    here.make(COMPARED)
    there = tmp_path / "cluster" / "tables"
    assert differences(there, here.folder, here.runs, COMPARED) == {}
    assert all(here.rows(f"from {name} limit 1") for name in COMPARED)


@pytest.mark.long
def test_the_death_of_a_worker_changes_no_table(
    crashed: RunFolder, executor_python: Path, tmp_path: Path
) -> None:
    """One of two workers and its executor are killed with -9 while tables are made."""
    runs = tmp_path / "runs"
    for seed in range(6):
        shutil.copytree(crashed.path, runs / f"seed={seed}")
    with standalone_cluster(tmp_path) as cluster:
        out = tmp_path / "cluster"
        analyze = (f"{runs}/*", "--out", str(out))
        with submitted(cluster, executor_python, tmp_path, *analyze) as process:
            made_before = wait_for_made(out / "tables", 8)
            os.killpg(cluster.workers[1].pid, signal.SIGKILL)
            ended_well(process)
        assert cluster.workers[0].poll() is None
    assert made_before < len(TABLES)
    here = RunTables(str(runs / "*"), tmp_path / "here")
    here.make(TABLES)
    assert differences(out / "tables", here.folder, here.runs) == {}
    assert here.rows("from elections limit 1")


def wait_for_made(tables: Path, count: int) -> int:
    """The number of tables in the draft as soon as there are so many."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        made = [each for each in tables.glob(".draft-*/sources/*") if each.name in TABLES]
        if len(made) >= count:
            return len(made)
        time.sleep(0.05)
    raise AssertionError(f"{tables}: no {count} tables within 200 s")


def test_what_executors_are_sent_is_all_that_they_need(
    executor_python: Path, tmp_path: Path
) -> None:
    """Besides it, they have the Python part of their own Spark."""
    packed = tmp_path / "tidegauge.zip"
    pack_project(packed)
    path = [packed, *(SPARK_HOME / "python" / "lib").glob("*.zip")]
    program = """
import sys
import tidegauge.spark_analysis.buckets
import tidegauge.spark_analysis.trace_source
import tidegauge.simulation.quantities
print(sys.modules["tidegauge.traces.trace_file"].__file__)
print({"duckdb", "numba", "ray", "prometheus_client"} & sys.modules.keys())
"""
    told = subprocess.run(
        [executor_python, "-c", program],
        env=environment(PYTHONPATH=os.pathsep.join(map(str, path))),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    file, heavy = told.stdout.splitlines()
    assert file == f"{packed}/tidegauge/traces/trace_file.py"
    assert heavy == "set()"


@pytest.mark.long
def test_a_disk_that_executors_do_not_see_is_named(spark: SparkSession, story: RunFolder) -> None:
    tables = story.path / "tables"
    check_disk(spark, tables, [story.path / MANIFEST])
    assert list(tables.iterdir()) == []
    with pytest.raises(RunError, match=r"^/elsewhere/first: the executor on \S+ does not see it;"):
        check_disk(spark, tables, [story.path / MANIFEST, Path("/elsewhere/first/manifest.json")])
