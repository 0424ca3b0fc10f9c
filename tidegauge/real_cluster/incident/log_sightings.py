"""Sightings in the logs of a cluster: lines of peers that lost a connection, and last lines.

Of the clients within brokers and controllers all name the node: ``Node 1 disconnected``,
``Connection to node 1 (...) could not be established``, ``Error sending fetch request ... to node
1``.
Each writer counts once at a time: a single connection that was closed for being idle is no death.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from tidegauge.real_cluster.incident.sightings import Sightings, Spans, merged_spans, spans_of
from tidegauge.real_cluster.logs.log_files import log_files_of
from tidegauge.real_cluster.logs.log_lines import times_and_lines_of

#: What such lines have in common; a line with one of them is read.
_MARKERS = ("disconnected", "could not be established", "Error sending fetch request")
_NODE = re.compile(
    r"\bNode (\d+) disconnected|\bConnection to node (\d+) |"
    r"\bError sending fetch request .* to node (\d+)"
)
#: Lines of one writer about one node within this time are one loss.
_TOGETHER_MS = 1000


def log_sightings(folder: Path, logs: dict[str, Any]) -> Sightings:
    """The sightings in the logs of a folder.

    Args:
        folder: the folder of the logs.
        logs: the part ``logs`` of the manifest of the run that they were made into, which has the
            begin of the run and the offsets of clocks.

    Raises:
        LogsError: the logs cannot be read; one line.
    """
    first_ms = int(logs["first_line_ms"])
    ahead = {int(each["node"]): float(each["offset_ms"]) for each in logs["clock_offsets"]}
    lost: dict[int, list[int]] = {}
    spans: dict[int, Spans] = {}
    last_ms: dict[tuple[int, int], float] = {}
    for file in log_files_of(folder):
        if file.node is None:
            continue
        offset_ms = ahead.get(file.node, 0.0)
        for times_ms, lines in times_and_lines_of(file, _MARKERS):
            times_us = ((times_ms - offset_ms - first_ms) * 1000).round().astype(np.int64)
            spans.setdefault(file.node, []).extend(spans_of(times_us))
            for line in lines:
                node = _lost_node(line.message)
                if node is None or node == file.node:
                    continue
                time_ms = line.time_ms - offset_ms
                before_ms = last_ms.get((file.node, node))
                last_ms[file.node, node] = time_ms
                if before_ms is None or time_ms - before_ms > _TOGETHER_MS:
                    lost.setdefault(node, []).append(round((time_ms - first_ms) * 1000))
    return Sightings(lost, {node: merged_spans(of_node) for node, of_node in spans.items()})


def _lost_node(message: str) -> int | None:
    """The node to which a line tells that a connection was lost; None: it tells something else."""
    found = _NODE.search(message)
    if found is None:
        return None
    return int(next(group for group in found.groups() if group is not None))
