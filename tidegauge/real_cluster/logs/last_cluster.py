"""The last cluster that lines name: another cluster id ends a history, for nothing of it is left.

Nodes that were formatted again, or moved to another cluster, keep their log files. The topics,
epochs and versions in these begin again, so the lines of the cluster before are left out. That is
done by the clock of each node: clocks are compared by lines of one cluster only.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

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
    """The last cluster of some files."""

    #: By node: no line of it is earlier, by the clock of the node; empty: there is no other.
    begins_ms: Mapping[int, int]
    notices: tuple[str, ...]

    def events_in(self, content: ClusterContent) -> list[log_events.LogEvent]:
        """The events of a content that are of this cluster."""
        return [
            event
            for event in content.events
            for begin_ms in [self.begins_ms.get(event.node, 0)]
            if event.time_ms >= begin_ms or (isinstance(event, _TIMELESS) and begin_ms != _NEVER_MS)
        ]


def last_cluster(content: ClusterContent) -> LastCluster:
    """The last cluster of which files have lines.

    Raises:
        LogsError: two clusters run at the same time.
    """
    named = of_kind(content.events, log_events.ClusterNamed)
    ids = {each.cluster_id for each in named}
    if len(ids) <= 1:
        return LastCluster({}, ())
    known = named[-1].cluster_id
    begins_ms = _begins_of(known, content)
    begin_ms = min(begins_ms.values())
    lasts_ms: dict[int | None, int] = defaultdict(int)
    for file, extent in content.files.items():
        lasts_ms[file.node] = max(lasts_ms[file.node], extent.last_ms)
    last = {each.node: each.cluster_id for each in named}
    for node, cluster in sorted(last.items()):
        if cluster != known:
            if lasts_ms[node] > begin_ms:
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
    return LastCluster(begins_ms, (notice,))


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
