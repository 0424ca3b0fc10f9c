"""The folder of a run that logs tell: manifest, rows and summary, as a simulated run has them.

The manifest says ``"source": "logs"`` and has a part ``logs``: the wall-clock time of the run's
time 0, the offsets of clocks, the files. The summary has the figures that follow from states of
partitions, and the hash of the rows; what only processes know, such as acknowledged records, is
absent in it.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.simulate import manifest_of
from tidegauge.engine.summary import figures_of
from tidegauge.real_cluster.logs.log_files import LogsError
from tidegauge.real_cluster.logs.logged_cluster import LoggedCluster, logged_cluster
from tidegauge.real_cluster.logs.real_history import RealHistory
from tidegauge.real_cluster.logs.run_rows import rows_of
from tidegauge.traces.run_files import MANIFEST, OF_LOGS, SUMMARY
from tidegauge.traces.run_folder import RunFolder, new_trace_file, write_json_atomically
from tidegauge.traces.trace_file import TraceWriter
from tidegauge.traces.trace_hash import NO_ROWS, hash_of_rows, trace_sha256

#: Figures that follow from the rows that logs have.
_FIGURES = (
    *("figures_from_seconds", "partition_seconds_offline", "partition_seconds_under_min_isr"),
    *("partition_seconds_at_min_isr", "partition_seconds_isr_of_one", "isr_of_one_episodes"),
    *("most_leaders", "isr_shrinks", "isr_expands", "isr_removals"),
    *("leader_elections", "unclean_elections", "partition_seconds_not_accepting"),
)


def write_run(history: RealHistory, folder: Path) -> RunFolder:
    """Write the run that a history tells: the whole folder, or nothing.

    Raises:
        LogsError: no line tells of a partition or broker, or the folder cannot be written.
    """
    if not history.partitions and not history.brokers and not history.lives:
        raise LogsError(
            "the logs tell of no partition, broker or controller: they are not those of Kafka, or"
            " their level is above INFO"
        )
    cluster = logged_cluster(history, folder.resolve().name)
    rows = rows_of(history, cluster)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
        try:
            _write_into(draft, history, cluster, rows)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise LogsError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return RunFolder(folder)


def _write_into(
    folder: Path, history: RealHistory, cluster: LoggedCluster, rows: NDArray[np.void]
) -> None:
    manifest = {
        **manifest_of(cluster.plan),
        "source": OF_LOGS,
        "logs": logs_part(history),
    }
    write_json_atomically(folder / MANIFEST, manifest)
    with TraceWriter(new_trace_file(folder, 0)) as writer:
        writer.write(rows)
    stream = RowStream(cluster.plan)
    stream.take(rows)
    stream.end()
    write_json_atomically(folder / SUMMARY, _summary(RunFolder(folder), cluster, stream))


def logs_part(history: RealHistory) -> dict[str, Any]:
    """What a manifest says of the logs themselves."""
    return {
        "first_line": wall_clock(history.first_ms),
        "first_line_ms": history.first_ms,
        "last_line": wall_clock(history.last_ms),
        "clock_offsets": [
            {
                "node": each.node,
                "offset_ms": each.offset_ms,
                "uncertainty_ms": each.uncertainty_ms,
            }
            for each in history.offsets
        ],
        "untold": [
            *(
                "log end offsets and high watermarks between changes",
                "records and acknowledgements",
            ),
            *("requests, their latencies", "network and disk"),
        ],
    }


def wall_clock(time_ms: int) -> str:
    """A time of lines, as they write it."""
    moment = dt.datetime.fromtimestamp(time_ms // 1000, tz=dt.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S},{time_ms % 1000:03}"


def _summary(run: RunFolder, cluster: LoggedCluster, stream: RowStream) -> dict[str, Any]:
    counted = figures_of(cluster.plan, stream)
    found = hash_of_rows((kind, run.table(kind.name)) for kind in run.kinds.values())
    processes = range(len(cluster.plan.processes))
    hashes = {process: found.get(process, NO_ROWS) for process in processes}
    controllers = run.table("controller_active")
    return {
        "source": OF_LOGS,
        "trace_sha256": trace_sha256(hashes),
        "process_hashes": [[process, *hashes[process]] for process in processes],
        "virtual_seconds": cluster.plan.scenario.duration_us / 1e6,
        "checks": {},
        "liveness": None,
        **{name: counted[name] for name in _FIGURES},
        "failovers": len(controllers.get("time_us", ())),
        "starts": len(run.table("broker_started").get("time_us", ())),
        "settings_not_modelled": [],
        "warnings": [],
    }
