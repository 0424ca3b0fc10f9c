"""The cost of a coordinator that takes over a partition of __consumer_offsets, from ``server.log``.

Kafka writes how long it took. From 3.5 on it also writes the size, but what a MiB takes is not told
apart from the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidegauge.real_cluster.costs.cluster_logs import ClusterLogs
from tidegauge.real_cluster.costs.estimator import MS_US, Estimator, Sample

_MARKERS = ("Finished loading offsets and group metadata from", "Finished loading of metadata from")
#: GroupMetadataManager@2.6.0 and CoordinatorRuntime@4.1.0.
_LOADED = re.compile(
    r"Finished loading (?:offsets and group metadata from __consumer_offsets-\d+ in (\d+) milli"
    r"|of metadata from __consumer_offsets-\d+ with epoch \d+ in (\d+)ms)"
)


def _loads(logs: ClusterLogs) -> Iterator[Sample]:
    """The milliseconds of each line; half a one where it has 0."""
    for lines in logs.nodes.values():
        for line in lines:
            loaded = _LOADED.search(line.message)
            if loaded is not None:
                took_ms = int(loaded[1] or loaded[2])
                yield Sample(max(took_ms * MS_US, MS_US // 2), "server.log")


COORDINATOR_LOADS = (
    Estimator(
        "offsets_load",
        None,
        "'Finished loading ... from __consumer_offsets-N in M milliseconds'",
        _MARKERS,
        _loads,
        "holds offsets_load_mebibyte",
    ),
)
