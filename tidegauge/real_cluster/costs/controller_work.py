"""Costs of the control plane: the controller's events, ZooKeeper's answers, KRaft's commits."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from tidegauge.real_cluster.costs import estimator
from tidegauge.real_cluster.logs.log_lines import LogLine
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE

_CONTROLLER = "controller.log"
_ID = r"^\[Controller id=\d+(?: epoch=\d+)?\] "
#: Begins of an event of the controller, the first choice first: brokers that are lost, one
#: that shuts down, topics that are new. One kind takes longer than another, but there is only one
#: parameter: that of the event in which a failover is decided. The first topics of a cluster are
#: created by code that has never run.
_EVENTS = tuple(
    re.compile(_ID + begin)
    for begin in (
        r"Newly added brokers: [\d,]*, deleted brokers: \d",
        r"Shutting down broker",
        r"New topics: \[(?:Hash)?Set\([^)]",
    )
)
#: Lines of new states that are written.
_NEW_STATE = re.compile(
    _ID + r"(?:Changed partition \S+ (?:state )?from \S+ to OnlinePartition with state"
    r"|Partition \S+ state changed to)"
)
_ELECTED = re.compile(r"^\[Controller id=(\d+)\] \1 successfully elected as the controller")
_READY = re.compile(r"^\[Controller id=\d+\] Ready to serve as the new controller")
_READS = (
    "Deleting log dir event notifications",
    "Deleting isr change notifications",
    "Initializing controller context",
)
_STARTED = "] started"
#: With fewer partitions a takeover takes no more time than without.
_MANY = 1000
#: A new state later than this is of another event.
_LATEST_MS = 5000


def _events(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    """From the line that begins an event to its first new state, less the write of that state."""
    writes = [sample.value_us for sample in _zookeeper_writes(logs)]
    write_us = round(median(writes)) if writes else 0
    for lines in logs.nodes.values():
        begin_ms, choice = None, 0
        for line in lines:
            begun = [at for at, event in enumerate(_EVENTS) if event.match(line.message)]
            if begun:
                begin_ms, choice = line.time_ms, begun[0]
            elif begin_ms is not None and _NEW_STATE.match(line.message):
                if line.time_ms - begin_ms <= _LATEST_MS:
                    took_us = (line.time_ms - begin_ms) * estimator.MS_US - write_us
                    yield estimator.Sample(
                        max(took_us, estimator.MS_US // 2), "state-change.log", choice
                    )
                begin_ms = None


def _warm_lines(logs: estimator.ClusterLogs) -> Iterator[list[LogLine]]:
    """The lines of each process since it had started: until then its code is loaded."""
    for life in logs.lives():
        started = next((at for at, line in enumerate(life) if _STARTED in line.message), None)
        if started is not None:
            yield list(life[started:])
        elif estimator.BEGINS not in life[0].message:
            yield list(life)


def _reads(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    """Between three lines of a takeover: two reads of lists, one after the other."""
    for life in _warm_lines(logs):
        lines = [line for line in life if line.message.endswith(_READS)]
        for before, after in pairwise(lines):
            for first, second in pairwise(_READS):
                if before.message.endswith(first) and after.message.endswith(second):
                    took_us = max(
                        (after.time_ms - before.time_ms) * estimator.MS_US, estimator.MS_US // 2
                    )
                    yield estimator.Sample(took_us, _CONTROLLER)


def _takeovers(lines: Sequence[LogLine]) -> Iterator[tuple[int, int]]:
    """From elected to ready in milliseconds, and the number of partitions that were read."""
    begin_ms = None
    partitions: set[str] = set()
    for line in lines:
        if _ELECTED.match(line.message):
            begin_ms, partitions = line.time_ms, set()
        elif begin_ms is not None and _READY.match(line.message):
            yield line.time_ms - begin_ms, len(partitions)
            begin_ms = None
        elif begin_ms is not None and "Started partition state machine" in line.message:
            partitions = set(re.findall(r"(\S+-\d+) -> \w+Partition", line.message))


def _failovers(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    """From elected to ready, by partition; only with so many that the rest does not count."""
    for life in _warm_lines(logs):
        for took_ms, partitions in _takeovers(life):
            if partitions >= _MANY:
                yield estimator.Sample(
                    estimator.per_part(0, took_ms, partitions), _CONTROLLER, 0, partitions
                )


# Writes of ZooKeeper.

_INTENT = re.compile(
    r"^\[Partition (\S+) broker=\d+\] (?:Shrinking|Expanding) ISR from \S+ to ([\d,]+)"
)
_DONE = re.compile(r"^\[Partition (\S+) broker=\d+\] ISR updated to \[?([\d,]+)")
_ALTERS = re.compile(r"^\[Controller id=\d+\] Updating ISRs for partitions: Set\((\S+?)\)")
_ALTERED = re.compile(r"^\[Controller id=\d+\] ISR for partition (\S+) updated to")


def _isr_changes(lines: Sequence[LogLine], *, alone: bool) -> Iterator[estimator.Sample]:
    """From each intent to the line about its end; not every such line is written.

    Args:
        lines: of a node.
        alone: only where no other change of the broker was under way.
    """
    begun: dict[str, tuple[int, set[str], bool]] = {}
    for line in lines:
        intent, done = _INTENT.match(line.message), _DONE.match(line.message)
        if intent is not None:
            begun[intent[1]] = line.time_ms, set(intent[2].split(",")), not begun
        elif done is not None and done[1] in begun:
            begin_ms, isr, first = begun.pop(done[1])
            if isr == set(done[2].split(",")) and (first or not alone):
                yield estimator.Sample(
                    max((line.time_ms - begin_ms) * estimator.MS_US, estimator.MS_US // 2),
                    "server.log",
                )


def _altered(lines: Sequence[LogLine]) -> Iterator[estimator.Sample]:
    """From the start of an AlterPartition about one partition at the controller to its end."""
    begun: dict[str, int] = {}
    for line in lines:
        begin, end = _ALTERS.match(line.message), _ALTERED.match(line.message)
        if begin is not None:
            begun[begin[1]] = line.time_ms
        elif end is not None and end[1] in begun:
            took_us = (line.time_ms - begun.pop(end[1])) * estimator.MS_US
            yield estimator.Sample(max(took_us, estimator.MS_US // 2), _CONTROLLER)


def _zookeeper_writes(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    """One change of an ISR: by its leader, or by the controller where leaders ask it (from 2.7)."""
    altered = [sample for lines in logs.nodes.values() for sample in _altered(lines)]
    yield from altered
    if not altered:
        for lines in logs.nodes.values():
            yield from _isr_changes(lines, alone=False)


#: As in ``state_changes``.
_LINGER_MS = 25


def _commits(logs: estimator.ClusterLogs) -> Iterator[estimator.Sample]:
    """A shrink: AlterPartition, its commit and the response, less the linger of the append.

    A broker has one AlterPartition in flight: changes that begin meanwhile wait for it.
    """
    for lines in logs.nodes.values():
        for sample in _isr_changes(lines, alone=True):
            yield sample._replace(
                value_us=max(estimator.MS_US // 2, sample.value_us - _LINGER_MS * estimator.MS_US)
            )


_EVENT_MARKERS = ("New topics: ", "Shutting down broker", "Newly added brokers: ")
_STATE_MARKERS = (" to OnlinePartition with state", " state changed to (Leader")
_TAKEOVER_MARKERS = (
    *("successfully elected as the controller", "Ready to serve as the new controller"),
    *_READS,
    *("Started partition state machine", _STARTED),
)
_ISR_MARKERS = ("] Shrinking ISR from", "] Expanding ISR from", "] ISR updated to")

CONTROLLER_WORK = (
    estimator.Estimator(
        "controller_event",
        ZOOKEEPER_MODE,
        "'deleted brokers: N' (else 'Shutting down broker N', else 'New topics') to the first new "
        "state, less a write",
        (*_EVENT_MARKERS, *_STATE_MARKERS),
        _events,
        "lacks the wait in the queue; holds reads after the line",
    ),
    estimator.Estimator(
        "controller_failover_partition",
        ZOOKEEPER_MODE,
        f"'successfully elected' to 'Ready to serve' with {_MANY} partitions or more, by partition",
        _TAKEOVER_MARKERS,
        _failovers,
        "holds reads and the part of a takeover that has nothing to do with partitions",
    ),
    estimator.Estimator(
        "zookeeper_read",
        ZOOKEEPER_MODE,
        "'Deleting log dir event notifications' to 'Initializing controller context', by read",
        _TAKEOVER_MARKERS,
        _reads,
        "holds the controller's own work between two reads",
    ),
    estimator.Estimator(
        "zookeeper_write",
        ZOOKEEPER_MODE,
        "'Shrinking (Expanding) ISR' to 'ISR updated', or at the controller 'Updating ISRs' to "
        "'ISR for partition TP updated'",
        (*_ISR_MARKERS, "Updating ISRs for partitions", "] ISR for partition "),
        _zookeeper_writes,
        "holds the wait for writes before it",
    ),
    estimator.Estimator(
        "metadata_fsync",
        KRAFT_MODE,
        "'Shrinking ISR' to 'ISR updated' of the leader, less 25 ms of linger",
        _ISR_MARKERS,
        _commits,
        "holds the request, the controller's queue and metadata_append: only their sum shows",
    ),
)
