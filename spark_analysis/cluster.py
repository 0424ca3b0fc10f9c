"""Additional steps for an analysis on a cluster of Spark.

Executors are given the rooms of Tidegauge that read traces and write rows, packed, by the driver
itself: so they always have the driver's release of them, and none has to be installed there. Their
Python needs no more than these import: ``msgpack``, ``numpy``, ``pyarrow``, ``zstandard``.
"""

import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from socket import gethostname
from tempfile import NamedTemporaryFile
from zipfile import ZIP_DEFLATED, ZipFile

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from tidegauge.traces.run_files import RunError

#: The rooms that tasks in executors require.
_ROOMS = (
    *("tidegauge.compiled", "tidegauge.replication", "tidegauge.simulation"),
    *("tidegauge.traces", "tidegauge.analysis", "tidegauge.spark_analysis"),
)
_PACKED = "tidegauge.zip"


def is_cluster(spark: SparkSession) -> bool:
    """Whether executors are other processes, maybe on other machines."""
    return re.fullmatch(r"local(\[.*\])?", spark.sparkContext.master or "local") is None


def send_project(spark: SparkSession) -> None:
    """Send executors the code that reads traces, once."""
    context = spark.sparkContext
    if any(Path(file).name == _PACKED for file in context.listFiles):
        return
    # Executors that are started later fetch it, too, so it stays as long as the session does.
    packed = Path(SparkFiles.getRootDirectory(), "packed", _PACKED)
    packed.parent.mkdir()
    pack_project(packed)
    context.addPyFile(str(packed))


def pack_project(file: Path) -> None:
    """Write the code that reads traces to a file that Python can import from.

    Raises:
        OSError: the file cannot be written.
    """
    with ZipFile(file, "w", ZIP_DEFLATED) as packed:
        # The front door's own reads the installed release, and here none is installed.
        packed.writestr("tidegauge/__init__.py", "")
        for room in _ROOMS:
            found = find_spec(room)
            assert found is not None
            assert found.origin is not None
            folder = Path(found.origin).parent
            for source in sorted(folder.rglob("*.py")):
                packed.write(source, Path(*room.split("."), source.relative_to(folder)))


def check_disk(spark: SparkSession, tables: Path, read: Sequence[Path]) -> None:
    """Accept folders that executors see as the driver does; that of the tables is made.

    If they did not see it, each would write its part of a table to a disk of its own, and the
    driver would find nothing, which looks like a table without rows.

    Args:
        spark: the session.
        tables: the folder for tables.
        read: a file of each folder that executors read.

    Raises:
        RunError: an executor does not see one of them; the message is one line.
        OSError: the folder for tables cannot be created.
    """
    tables.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(prefix=".seen-", dir=tables) as mark:
        files = [str(file.absolute()) for file in (Path(mark.name), *read)]
        context = spark.sparkContext
        tasks = context.parallelize(range(context.defaultParallelism), context.defaultParallelism)
        unseen = tasks.mapPartitions(lambda _: _unseen(files)).collect()
    for host, file in unseen[:1]:
        raise RunError(
            f"{Path(file).parent}: the executor on {host} does not see it; runs, rows and tables"
            " must be on a disk that the driver and all executors share"
        )


def _unseen(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The name of this machine, and the first file that is not on it; nothing if all are."""
    for file in files:
        if not Path(file).exists():
            yield gethostname(), file
            return
