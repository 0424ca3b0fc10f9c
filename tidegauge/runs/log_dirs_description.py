"""Logs at a moment of a run, as ``kafka-log-dirs.sh --describe`` prints them.

The tool asks the brokers that run. A trace has the ends of logs at samples and at transitions, so a
log may be some records longer. The log directory of each log is that which a broker chooses for a
new one: the one with the fewest.

Source: LogDirsCommand.formatAsJson@2.6.0 and @3.9.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: Rows with the end of a log.
_ENDS = {
    "log_start_raised",
    *("sampled", "checkpoint_read", "log_end", "truncated", "log_lost"),
    *("became_leader", "became_follower"),
}
_LIVES = {"broker_started", "broker_stopped", "broker_loading"}


@dataclass
class _Log:
    directory: int
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = 0


def log_dirs_lines(run: RunFolder, at_us: int | None = None) -> list[str]:
    """The lines of the tool at a time, by default at the end.

    Raises:
        TraceError: a trace file is damaged.
    """
    logs, alive = _logs_at(run, at_us)
    plan = ClusterPlan(scenario_from_mapping(run.manifest["scenario"], str(run.path)))
    ids = ",".join(str(plan.brokers[broker]) for broker in sorted(alive))
    described = {
        "version": 1,
        "brokers": [
            {
                "broker": plan.brokers[broker],
                "logDirs": list(_directories(plan, logs, broker)),
            }
            for broker in sorted(alive)
        ],
    }
    return [
        "Querying brokers for log directories information",
        f"Received log directory information from brokers {ids}",
        json.dumps(described, separators=(",", ":")),
    ]


def _logs_at(run: RunFolder, at_us: int | None) -> tuple[dict[tuple[int, int], _Log], set[int]]:
    """The logs by broker and partition, and the brokers that run."""
    directories = int(run.manifest["scenario"]["cluster"]["log_directories"])
    wanted = _ENDS | _LIVES | {"log_deleted"}
    logs: dict[tuple[int, int], _Log] = {}
    alive: set[int] = set()
    for row in run.all_rows(wanted=lambda kind: kind.name in wanted):
        if at_us is not None and row["time_us"] > at_us:
            break
        if row.kind in _LIVES:
            (alive.discard if row.kind == "broker_stopped" else alive.add)(row["process"])
        elif row.kind == "log_deleted":
            logs.pop((row["process"], row["partition"]), None)
        else:
            _take_end(logs, row, directories)
    return logs, alive


def _take_end(logs: dict[tuple[int, int], _Log], row: TraceRow, directories: int) -> None:
    place = (row["process"], row["partition"])
    if place not in logs:
        counts = [0] * directories
        for (broker, _), log in logs.items():
            if broker == row["process"]:
                counts[log.directory] += 1
        logs[place] = _Log(counts.index(min(counts)))
    has_end = row.kind in {"truncated", "log_lost", "log_end"}
    logs[place].log_end_offset = row["end_offset" if has_end else "log_end_offset"]
    if row.kind == "log_start_raised":
        logs[place].log_start_offset = row["log_start_offset"]
    elif row.kind != "log_lost":
        logs[place].high_watermark = row["high_watermark"]


def _directories(
    plan: ClusterPlan, logs: dict[tuple[int, int], _Log], broker: int
) -> Iterator[dict[str, object]]:
    for directory in range(plan.scenario.cluster.log_directories):
        partitions = []
        for (owner, number), log in sorted(logs.items(), key=lambda item: item[0]):
            if (owner, log.directory) != (broker, directory):
                continue
            planned = plan.partitions[number]
            described = {
                "partition": f"{planned.topic}-{planned.number}",
                "size": max(0, log.log_end_offset - log.log_start_offset) * planned.record_bytes,
                "offsetLag": max(0, log.high_watermark - log.log_end_offset),
                "isFuture": False,
            }
            partitions.append(described)
        name = f"/log-directories/{directory + 1}"
        yield {"partitions": partitions, "error": None, "logDir": name}
