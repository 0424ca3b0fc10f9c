"""Costs of a broker's state changes: LeaderAndIsr, publications of metadata, coordinators.

Kafka writes a line for each partition that gets another leader, and lines before all of a request
or of a publication. Their time has milliseconds, so the time of a single partition is that of all
of them divided by their number.

Kafka logs the duration in which a coordinator takes over a partition of __consumer_offsets. From
3.5 on it also writes the size, but the time of a MiB is not separated from the rest.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tidegauge.real_cluster.costs import estimator
from tidegauge.real_cluster.logs.log_lines import LogLine
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE

_STATE_CHANGE = "state-change.log"
_BROKER = r"^\[Broker id=\d+\] "
_HANDLES = "Handling LeaderAndIsr request"
#: A request at the default level, and a partition of it at TRACE, the default before 2.6.
_REQUEST = re.compile(_BROKER + _HANDLES + r" correlationId (\d+) from controller \d+ for \d+")
_TRACED = re.compile(
    _BROKER + r"(Handling|Completed) LeaderAndIsr request correlationId (\d+) from controller (\d+)"
    r" .*the become-(leader|follower) transition for partition"
)
_ROLE = re.compile(
    _BROKER + r"(Leader|Follower) \S+ (?:with topic id \S+ )?starts at leader epoch (\d+)"
)
#: The epoch of a partition that is new.
_CREATED = "0"


def _become(logs: estimator.ClusterLogs, role: str) -> Iterator[estimator.Sample]:
    """The time of a request in this role, by partition: leaders come first, then followers."""
    for lines in logs.nodes.values():
        yield from _requests(lines, role)
        yield from _traced_requests(lines, role)


def _requests(lines: Sequence[LogLine], role: str) -> Iterator[estimator.Sample]:
    """From the start of a request, or its last leader, to the last partition in this role."""
    begin_ms = end_ms = -1
    partitions = 0
    creates = False
    for line in lines:
        if _REQUEST.match(line.message):
            yield from _by_partition(begin_ms, end_ms, partitions, creates=creates)
            begin_ms, partitions, creates = line.time_ms, 0, False
        elif begin_ms >= 0 and (became := _ROLE.match(line.message)) is not None:
            creates = creates or became[2] == _CREATED
            if became[1].lower() == role:
                partitions += 1
                end_ms = line.time_ms
            elif not partitions:
                begin_ms = line.time_ms
    yield from _by_partition(begin_ms, end_ms, partitions, creates=creates)


def _traced_requests(lines: Sequence[LogLine], role: str) -> Iterator[estimator.Sample]:
    """From a request's first partition in this role to the end of its last one."""
    times: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    for line in lines:
        traced = _TRACED.match(line.message)
        if traced is not None and traced[4] == role:
            times[traced[2], traced[3]].append((traced[1], line.time_ms))
    for seen in times.values():
        begins = [time_ms for what, time_ms in seen if what == "Handling"]
        ends = [time_ms for what, time_ms in seen if what == "Completed"]
        if begins and ends:
            # It is unknown whether they are new.
            yield from _by_partition(min(begins), max(ends), len(ends), creates=False)


def _by_partition(
    begin_ms: int, end_ms: int, partitions: int, *, creates: bool
) -> Iterator[estimator.Sample]:
    """The duration of each of some partitions, if there are any.

    Many at once are the first choice. The log of a new partition is created, for which the model
    has no cost of its own: they are the last choice.
    """
    if partitions:
        choice = 0 if partitions >= estimator.MANY_PARTITIONS else 1 + creates
        took_us = estimator.per_part(begin_ms, end_ms, partitions)
        yield estimator.Sample(took_us, _STATE_CHANGE, choice, partitions)


def _become_leader(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    return _become(logs, "leader")


def _become_follower(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    return _become(logs, "follower")


# KRaft.

_TRANSITIONS = "] Transitioning "
_TRANSITION = re.compile(_BROKER + r"Transitioning \d+ partition\(s\) to local (leaders|followers)")
_PARTITION = re.compile(_BROKER + r"(?:(?:Leader|Follower) .*starts at leader|Skipped the become-)")
_FIRST = "Publishing initial metadata"
_UNFENCED = "The broker has been unfenced"
_NEW_PARTITION = "Replayed PartitionRecord for new partition"
_CHANGING = re.compile(
    r"^\[QuorumController id=\d+\] (?:handleBrokerFenced|enterControlledShutdown\[\d+\]): changing"
)
#: controller.quorum.append.linger.ms: the simulator waits for it itself.
_LINGER_MS = 25
#: A broker that publishes later than this was paused, or has published a change without a line.
_LATEST_MS = 1000
#: Followers later than this behind leaders are of another publication.
_APART_MS = 50


def _bursts(lines: Sequence[LogLine]) -> Iterator[list[LogLine]]:
    """The lines about partitions of each publication, without those of a broker's first one."""
    burst: list[LogLine] = []
    ready = not any(_FIRST in line.message for line in lines)
    last_ms = 0
    for line in lines:
        if _FIRST in line.message:
            ready = False
        elif _UNFENCED in line.message:
            ready = True
        transition = _TRANSITION.match(line.message)
        if transition is not None:
            # The leaders of a publication come before its followers.
            follows = transition[1] == "followers" and line.time_ms - last_ms <= _APART_MS
            if burst and not follows:
                yield burst
                burst = []
            last_ms = line.time_ms
        elif ready and _PARTITION.match(line.message):
            burst.append(line)
            last_ms = line.time_ms
    if burst:
        yield burst


def _creates(burst: Sequence[LogLine]) -> bool:
    changed = (_ROLE.match(line.message) for line in burst)
    return any(each is not None and each[2] == _CREATED for each in changed)


def _publications_by_partition(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    """From a publication's first partition to its last, by partition."""
    for life in logs.lives():
        for burst in _bursts(life):
            times = burst[0].time_ms, burst[-1].time_ms
            yield from _by_partition(*times, len(burst) - 1, creates=_creates(burst))


def _publications(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    """From the active controller's line of a change to the first partition of its publication."""
    changes = [line.time_ms for line in logs.merged() if _is_change(line)]
    for life in logs.lives():
        for burst in _bursts(life):
            if not any(_ROLE.match(line.message) for line in burst):
                continue
            begin_ms = burst[0].time_ms
            place = bisect_right(changes, begin_ms)
            if place and begin_ms - changes[place - 1] <= _LATEST_MS:
                took_ms = max(1, begin_ms - changes[place - 1] - _LINGER_MS)
                yield estimator.Sample(
                    took_ms * estimator.MS_US, _STATE_CHANGE, int(_creates(burst))
                )


def _is_change(line: LogLine) -> bool:
    return _NEW_PARTITION in line.message or bool(_CHANGING.match(line.message))


_REQUEST_MARKERS = (_HANDLES, "Completed LeaderAndIsr request", " starts at leader epoch ")
_PUBLICATION_MARKERS = (
    *(_TRANSITIONS, " starts at leader epoch ", "] Skipped the become-", _FIRST, _UNFENCED),
    *(_NEW_PARTITION, "]: changing ", "handleBrokerFenced: changing "),
)

_LOADING = ("Finished loading offsets and group metadata from", "Finished loading of metadata from")
#: GroupMetadataManager@2.6.0 and CoordinatorRuntime@4.1.0.
_LOADED = re.compile(
    r"Finished loading (?:offsets and group metadata from __consumer_offsets-\d+ in (\d+) milli"
    r"|of metadata from __consumer_offsets-\d+ with epoch \d+ in (\d+)ms)"
)


def _loads(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    """The milliseconds of each line; half a one where it has 0."""
    for lines in logs.nodes.values():
        for line in lines:
            loaded = _LOADED.search(line.message)
            if loaded is not None:
                took_ms = int(loaded[1] or loaded[2])
                yield estimator.Sample(
                    max(took_ms * estimator.MS_US, estimator.MS_US // 2), "server.log"
                )


STATE_CHANGES = (
    estimator.Estimator(
        "become_leader",
        ZOOKEEPER_MODE,
        "'Handling LeaderAndIsr request' to its last 'Leader TP starts', by partition",
        _REQUEST_MARKERS,
        _become_leader,
    ),
    estimator.Estimator(
        "become_follower",
        ZOOKEEPER_MODE,
        "the last leader of a request to its last 'Follower TP starts', by partition",
        _REQUEST_MARKERS,
        _become_follower,
    ),
    estimator.Estimator(
        "metadata_publication",
        KRAFT_MODE,
        "the controller's line of new partitions or a fencing to the brokers' first "
        "'Leader (Follower) TP starts', less 25 ms of linger",
        _PUBLICATION_MARKERS,
        _publications,
        "of two machines: as exact as their clocks; holds commit and fetch, some ms",
    ),
    estimator.Estimator(
        "metadata_publication_partition",
        KRAFT_MODE,
        "a publication's first to its last 'Leader (Follower) TP starts' or 'Skipped', by "
        "partition",
        _PUBLICATION_MARKERS,
        _publications_by_partition,
    ),
    estimator.Estimator(
        "offsets_load",
        None,
        "'Finished loading ... from __consumer_offsets-N in M milliseconds'",
        _LOADING,
        _loads,
        "holds offsets_load_mebibyte",
    ),
)
