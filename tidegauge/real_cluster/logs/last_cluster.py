"""The last cluster that lines name: another cluster id ends a history, for nothing of it is left.

Nodes that were formatted again, or moved to another cluster, keep their log files. The topics,
epochs and versions in these begin again, so the lines of the cluster before are left out. That is
done by the clock of each node: clocks are compared by lines of one cluster only.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from tidegauge.real_cluster.logs import log_events
from tidegauge.real_cluster.logs.broker_states import of_kind
from tidegauge.real_cluster.logs.log_files import LogsError
from tidegauge.real_cluster.logs.log_reading import ClusterContent

#: The begin of a node of which no line is of the last cluster.
_NEVER_MS = 1 << 60
#: Events whose time is only that of their first line, or of their file.
_TIMELESS = (
    log_events.Setting,
    log_events.KafkaVersion,
    log_events.SessionNegotiated,
    log_events.MetadataVersion,
)


class LastCluster(NamedTuple):
    """The content that is of the last cluster."""

    content: ClusterContent
    #: By node: no line of the cluster is earlier by its clock; none: all lines are of it.
    begins_ms: Mapping[int, int]
    notices: tuple[str, ...]


def last_cluster(content: ClusterContent) -> LastCluster:
    """The content of files without that of former clusters.

    Raises:
        LogsError: two clusters run at the same time.
    """
    named = of_kind(content.events, log_events.ClusterNamed)
    ids = {each.cluster_id for each in named}
    if len(ids) <= 1:
        return LastCluster(content, {}, ())
    known = named[-1].cluster_id
    begins_ms = _begins_of(known, content)
    begin_ms = min(begins_ms.values())
    lasts_ms = {
        file.node: extent.last_ms for file, extent in content.files.items() if file.node is not None
    }
    last = {each.node: each.cluster_id for each in named}
    for node, cluster in sorted(last.items()):
        if cluster != known:
            if lasts_ms.get(node, 0) > begin_ms:
                nodes = "; ".join(f"{each} is of {last[each]}" for each in sorted(last))
                raise LogsError(
                    f"the logs are of two clusters at once ({nodes}): read each by itself"
                )
            begins_ms[node] = _NEVER_MS
    # A node that names no cluster has no line of its start.
    silent = {each.node for each in content.events} - last.keys()
    begins_ms |= dict.fromkeys(silent, begin_ms)
    left_out = ", ".join(sorted(ids - {known}))
    notice = f"cluster {known} begins with another id: the lines of cluster {left_out} are left out"
    return LastCluster(_since(begins_ms, content), begins_ms, (notice,))


def _begins_of(known: str, content: ClusterContent) -> dict[int, int]:
    """By node: the start of its first process that is of a cluster, after those of others."""
    begins_ms: dict[int, int] = {}
    starts_ms: dict[int, int] = {}
    for event in content.events:
        if isinstance(event, log_events.ProcessStarting):
            starts_ms[event.node] = event.time_ms
        elif isinstance(event, log_events.ClusterNamed):
            if event.cluster_id != known:
                begins_ms.pop(event.node, None)
            else:
                begins_ms.setdefault(event.node, starts_ms.get(event.node, event.time_ms))
    return begins_ms


def _since(begins_ms: Mapping[int, int], content: ClusterContent) -> ClusterContent:
    """The content of each node from a time on."""
    rows = content.rows
    is_kept = np.ones(len(rows), bool)
    for node, begin_ms in begins_ms.items():
        is_kept &= (rows["node"] != node) | (rows["time_ms"] >= begin_ms)
    return content._replace(rows=rows[is_kept], events=[*_events_since(begins_ms, content.events)])


def _events_since(
    begins_ms: Mapping[int, int], events: Iterable[log_events.LogEvent]
) -> Iterable[log_events.LogEvent]:
    for event in events:
        begin_ms = begins_ms.get(event.node, 0)
        is_timeless = isinstance(event, _TIMELESS) and begin_ms != _NEVER_MS
        if event.time_ms >= begin_ms or is_timeless:
            yield event
