"""Costs of a broker's start and of its clean stop, from its ``server.log``.

A log begins when the virtual machine has loaded Kafka. No line has the time from the start of the
process to the first line (1 to 4 s on a loaded machine of two cores), so ``broker_start`` lacks it.

Processes that start together share a machine, and with KRaft wait for their first controller. A
start of the simulator that costs anything is the return of one broker. So starts that overlap with
another one count only where no start is alone.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tidegauge.real_cluster.costs.estimator import (
    BEGINS,
    MS_US,
    ClusterLogs,
    Estimator,
    Sample,
    per_part,
)
from tidegauge.real_cluster.logs.log_lines import LogLine
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE

_REGISTERED = "Registered broker "
_LIFECYCLE = "[BrokerLifecycleManager id="
_REGISTERED_KRAFT = "Successfully registered broker "
_INCARNATION = "is now STARTING"
_UNFENCED = "The broker has been unfenced"
_STARTING_BROKER = "] Starting broker"
_STARTED = re.compile(r"^\[KafkaServer id=\d+\] started")
#: Before 2.6 the line has no number of logs.
_LOADED = re.compile(r"^Loaded (\d+) logs in (\d+) ?ms")
_CLEAN = ("Skipping recovery for all logs", "Skipping recovery of ")
_UNCLEAN = ("Attempting recovery for all logs", "Recovering ")
_NO_CLEAN_SHUTDOWN = "since no clean shutdown file was found"

#: With fewer logs, loading takes no more time than without: it counts as a part of the start.
_MANY_LOGS = 500
_INTERRUPTS_FROM = (3, 2)
#: The simulator's own time between the end of a start and the first fetch, with KRaft: it looks for
#: the active controller, and polls again 0.1 s later.
_LOOKS_AGAIN_MS = 100


class Load(NamedTuple):
    """The loading of a broker's logs."""

    logs: int
    took_ms: int
    #: Whether the broker had stopped cleanly.
    clean: bool


class Start(NamedTuple):
    """The start of a broker, with the times of its lines."""

    begin_ms: int
    registered_ms: int
    load: Load | None
    #: ZooKeeper: it takes requests. KRaft: it is unfenced. None: no line.
    ready_ms: int | None
    #: KRaft: the start of BrokerServer.startup, and the request of the registration.
    broker_ms: int | None = None
    asks_ms: int | None = None
    #: Whether another broker started meanwhile.
    together: bool = False

    def sample(self, took_ms: float) -> Sample:
        """A duration of this start."""
        return Sample(round(max(1, took_ms) * MS_US), "server.log", int(self.together))


def starts_of(logs: ClusterLogs) -> list[Start]:
    """The starts of brokers, each compared with the others."""
    found = [start for life in logs.lives() if (start := _start_of(life)) is not None]
    return [
        each._replace(
            together=any(
                other is not each
                and other.begin_ms <= each.registered_ms
                and each.begin_ms <= other.registered_ms
                for other in found
            )
        )
        for each in found
    ]


def _start_of(life: Sequence[LogLine]) -> Start | None:
    """The start at the start of a process's lines; None: they begin later, or it failed."""
    if BEGINS not in life[0].message:
        return None
    registered = _first(life, _is_registered)
    if registered is None:
        return None
    ready = _first(life, lambda text: bool(_STARTED.match(text)) or _UNFENCED in text)
    return Start(
        life[0].time_ms,
        registered,
        _load_of(life),
        ready,
        _first(life, lambda text: _STARTING_BROKER in text),
        _first(life, lambda text: _LIFECYCLE in text and _INCARNATION in text),
    )


def _is_registered(text: str) -> bool:
    return (text.startswith(_REGISTERED) and " at path " in text) or _REGISTERED_KRAFT in text


def _first(life: Sequence[LogLine], is_it: Callable[[str], bool]) -> int | None:
    return next((line.time_ms for line in life if is_it(line.message)), None)


def _load_of(life: Sequence[LogLine]) -> Load | None:
    clean = True
    for line in life:
        if line.message.startswith(_UNCLEAN) and _NO_CLEAN_SHUTDOWN in line.message:
            clean = False
        loaded = _LOADED.match(line.message)
        if loaded is not None:
            return Load(int(loaded[1]), int(loaded[2]), clean)
    return None


def _load_of_many(load: Load | None) -> Load | None:
    """A load with the cost of a log; None: it belongs to the start itself."""
    return load if load is not None and load.logs >= _MANY_LOGS else None


def _log_loads(logs: ClusterLogs, *, clean: bool) -> Iterator[Sample]:
    """The time that 'Loaded N logs in M ms' has, for each log."""
    for life in logs.lives():
        load = _load_of_many(_load_of(life))
        if load is not None and load.clean == clean:
            yield Sample(per_part(0, load.took_ms, load.logs), "server.log")


def _clean_loads(logs: ClusterLogs) -> Iterator[Sample]:
    return _log_loads(logs, clean=True)


def _recoveries(logs: ClusterLogs) -> Iterator[Sample]:
    return _log_loads(logs, clean=False)


def _starts_with_zookeeper(logs: ClusterLogs) -> Iterator[Sample]:
    """From the first line to the registration, less many logs, which have costs of their own."""
    for start in starts_of(logs):
        load = _load_of_many(start.load)
        loads_ms = load.took_ms if load is not None else 0
        yield start.sample(start.registered_ms - start.begin_ms - loads_ms)


def _ready_with_zookeeper(logs: ClusterLogs) -> Iterator[Sample]:
    """From the registration to '[KafkaServer id=N] started', just after the port takes requests."""
    for start in starts_of(logs):
        if start.ready_ms is not None:
            yield start.sample(start.ready_ms - start.registered_ms)


def _starts_with_kraft(logs: ClusterLogs) -> Iterator[Sample]:
    """From the first line to 'Starting broker': the server and its raft client."""
    for start in starts_of(logs):
        if start.broker_ms is not None:
            yield start.sample(start.broker_ms - start.begin_ms)


def _registrations(logs: ClusterLogs) -> Iterator[Sample]:
    """From 'Starting broker' to the request, less the simulator's own polling period of 0.1 s."""
    for start in starts_of(logs):
        if start.broker_ms is not None and start.asks_ms is not None:
            yield start.sample(start.asks_ms - start.broker_ms - _LOOKS_AGAIN_MS)


def _first_publications(logs: ClusterLogs) -> Iterator[Sample]:
    """From the registration to the unfencing, less many logs, which have costs of their own."""
    for start in starts_of(logs):
        if start.ready_ms is not None:
            load = _load_of_many(start.load)
            loads_ms = load.took_ms if load is not None else 0
            yield start.sample(start.ready_ms - start.registered_ms - loads_ms)


_LEAVES = ("Controlled shutdown succeeded", "The controller has asked us to exit controlled")
_SHUT_DOWN = re.compile(r"^\[(?:KafkaServer|BrokerServer) id=\d+\] shut down completed")
_SIGTERM = "Terminating process due to signal SIGTERM"
_BEGINS_SHUTDOWN = "Beginning controlled shutdown"


def _stops(logs: ClusterLogs) -> Iterator[Sample]:
    """From the controller's last response to the end of the shutdown."""
    return _spans(logs, lambda text: text.endswith(_LEAVES[0]) or _LEAVES[1] in text, _SHUT_DOWN)


def _stop_requests(logs: ClusterLogs) -> Iterator[Sample]:
    """From the line of the signal to 'Beginning controlled shutdown'."""
    begins = re.compile(rf"^\[BrokerLifecycleManager id=\d+\] {_BEGINS_SHUTDOWN}")
    return _spans(logs, lambda text: _SIGTERM in text, begins)


def _spans(
    logs: ClusterLogs, begins: Callable[[str], bool], ends: re.Pattern[str]
) -> Iterator[Sample]:
    for life in logs.lives():
        begin_ms = None
        for line in life:
            if begins(line.message):
                begin_ms = line.time_ms
            elif begin_ms is not None and ends.match(line.message):
                yield Sample(max(1, line.time_ms - begin_ms) * MS_US, "server.log")
                begin_ms = None


def _up_to_3_1(logs: ClusterLogs) -> Iterator[Sample]:
    return iter(()) if _interrupts(logs) else _stops(logs)


def _from_3_2(logs: ClusterLogs) -> Iterator[Sample]:
    return _stops(logs) if _interrupts(logs) else iter(())


def _interrupts(logs: ClusterLogs) -> bool:
    """Whether a stop interrupts the threads that poll: from release 3.2 on."""
    if not logs.releases:
        return logs.mode == KRAFT_MODE
    return max(logs.releases) >= _INTERRUPTS_FROM


_LOAD_MARKERS = ("Loaded ", _NO_CLEAN_SHUTDOWN, *_CLEAN)
_START_MARKERS = (_REGISTERED, "] started", *_LOAD_MARKERS)
_KRAFT_MARKERS = (_LIFECYCLE, _STARTING_BROKER, *_LOAD_MARKERS)
_STOP_MARKERS = (*_LEAVES, "] shut down completed", "Kafka version: ")
_NO_VIRTUAL_MACHINE = "lacks the time from the start of the process to its first line"

BROKER_STARTS = (
    Estimator(
        "broker_start",
        ZOOKEEPER_MODE,
        f"first line of a start to 'Registered broker N', less {_MANY_LOGS} logs or more",
        _START_MARKERS,
        _starts_with_zookeeper,
        _NO_VIRTUAL_MACHINE,
    ),
    Estimator(
        "broker_start",
        KRAFT_MODE,
        "first line of a start to '[BrokerServer id=N] Starting broker'",
        _KRAFT_MARKERS,
        _starts_with_kraft,
        _NO_VIRTUAL_MACHINE,
    ),
    Estimator(
        "broker_registration",
        KRAFT_MODE,
        "'Starting broker' to 'is now STARTING', less 0.1 s",
        _KRAFT_MARKERS,
        _registrations,
    ),
    Estimator(
        "broker_ready",
        ZOOKEEPER_MODE,
        "'Registered broker N' to '[KafkaServer id=N] started'",
        _START_MARKERS,
        _ready_with_zookeeper,
    ),
    Estimator(
        "metadata_first_publication",
        KRAFT_MODE,
        "'Successfully registered' to 'The broker has been unfenced', less "
        f"{_MANY_LOGS} logs or more",
        _KRAFT_MARKERS,
        _first_publications,
        "holds one publication and one commit, some 0.1 s",
    ),
    Estimator(
        "log_load",
        None,
        f"'Loaded N logs in M ms' of {_MANY_LOGS} logs or more after 'Skipping recovery', by log",
        _LOAD_MARKERS,
        _clean_loads,
        "fewer logs are a part of the start",
    ),
    Estimator(
        "log_recovery",
        None,
        f"'Loaded N logs in M ms' of {_MANY_LOGS} logs or more after 'no clean shutdown file', by "
        "log",
        _LOAD_MARKERS,
        _recoveries,
        "holds log_recovery_mebibyte; fewer logs are a part of the start",
    ),
    Estimator(
        "broker_stop",
        None,
        "the controller's last response to 'shut down completed', up to 3.1",
        _STOP_MARKERS,
        _up_to_3_1,
        "lacks the end of the process after its last line",
    ),
    Estimator(
        "broker_stop_interrupting",
        None,
        "the controller's last response to 'shut down completed', from 3.2 on",
        _STOP_MARKERS,
        _from_3_2,
        "lacks the end of the process after its last line",
    ),
    Estimator(
        "broker_stop_request",
        KRAFT_MODE,
        "'signal SIGTERM' to 'Beginning controlled shutdown'",
        (_SIGTERM, _LIFECYCLE),
        _stop_requests,
    ),
)
