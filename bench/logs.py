"""The speed of ``tidegauge read-logs`` with the logs of a cluster, and the memory that it takes.

A recorded cluster's logs are repeated, each time five minutes later, until they have so many
megabytes: ``python bench/logs.py zk-2.6.3-rand312 1000``. Printed are megabytes a second of the
wall, from the start of the command to its end, and the largest process.
"""

import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "tests" / "data" / "real_logs"
CLUSTERS = ("zk-2.6.3-rand312", "kraft-4.1.0-b1_leader_kill")
MEGABYTES = 300
APART = timedelta(minutes=5)
_TIME = re.compile(rb"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),", re.MULTILINE)
_FORMAT = "%Y-%m-%d %H:%M:%S"


def repeated_logs(cluster: str, megabytes: int, folder: Path) -> int:
    """Logs of a recorded cluster, repeated; their bytes."""
    shutil.copytree(RECORDED / cluster, folder)
    files = [file for file in folder.glob("*/*.log") if file.stat().st_size]
    contents = {file: file.read_bytes() for file in files}
    times = megabytes * 1_000_000 // sum(map(len, contents.values())) + 1
    for file, content in contents.items():
        with file.open("wb") as repeated:
            for place in range(times):
                repeated.write(_later(content, place * APART))
    return sum(file.stat().st_size for file in files)


def _later(content: bytes, time: timedelta) -> bytes:
    known: dict[bytes, bytes] = {}

    def moved(found: re.Match[bytes]) -> bytes:
        text = known.get(found[1])
        if text is None:
            at = datetime.strptime(found[1].decode(), _FORMAT).replace(tzinfo=UTC) + time
            text = known[found[1]] = b"[%s," % at.strftime(_FORMAT).encode()
        return text

    return _TIME.sub(moved, content)


def main() -> None:
    """Print a line for each cluster."""
    clusters = sys.argv[1:2] or CLUSTERS
    megabytes = int(*sys.argv[2:3] or (MEGABYTES,))
    for cluster in clusters:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "logs")
            size = repeated_logs(cluster, megabytes, folder) / 1e6
            read = ["read-logs", str(folder), "-o", f"{name}/run"]
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "tidegauge", *read], check=True, stdout=subprocess.DEVNULL
            )
            seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"{cluster:28} {size:6.0f} MB {seconds:6.1f} s {size / seconds:5.0f} MB/s"
            f"  largest process {peak:4.0f} MB"
        )


if __name__ == "__main__":
    main()
