"""An estimator: lines of logs with a parameter of the cost model; and these lines, by node."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tidegauge.real_cluster.logs.log_files import log_files_of
from tidegauge.real_cluster.logs.log_layout import MILLISECONDS
from tidegauge.real_cluster.logs.log_lines import LogLine, lines_of
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode

#: The beginning of a process's logs: releases differ in the quotes around the name behind it.
BEGINS = "kafka.Log4jController"
#: Lines that only one mode has, and that every start writes.
_MODES: Mapping[str, Mode] = {
    "Registered broker ": ZOOKEEPER_MODE,
    "[BrokerLifecycleManager id=": KRAFT_MODE,
    "[QuorumController id=": KRAFT_MODE,
}
_VERSION = re.compile(r"^Kafka version: (\d+(?:\.\d+)+)")


class ClusterLogs(NamedTuple):
    """The lines of a cluster that hold one of the markers."""

    folder: Path
    #: By the node's id, -1 for a node of unknown id.
    nodes: Mapping[int, Sequence[LogLine]]
    #: None: no line has it.
    mode: Mode | None
    #: Those of ``Kafka version:`` as numbers; empty if no line has them.
    releases: Sequence[tuple[int, ...]]

    @property
    def step_ms(self) -> int:
        """The step of the coarsest clock, a millisecond or a whole second."""
        steps_ms = (line.step_ms for lines in self.nodes.values() for line in lines)
        return max(steps_ms, default=MILLISECONDS)

    @property
    def origin(self) -> str:
        """The folder and the releases, for people."""
        releases = ", ".join(".".join(map(str, each)) for each in self.releases)
        return f"{self.folder} (Kafka {releases})" if releases else str(self.folder)

    def lives(self) -> Iterator[Sequence[LogLine]]:
        """The lines of each process, from its start on; before the first start is a life, too."""
        for lines in self.nodes.values():
            begins = [place for place, line in enumerate(lines) if BEGINS in line.message]
            for begin, end in zip([0, *begins], [*begins, len(lines)], strict=True):
                if begin < end:
                    yield lines[begin:end]

    def merged(self) -> list[LogLine]:
        """The lines of all nodes, by the clocks of their machines."""
        every = (line for lines in self.nodes.values() for line in lines)
        return sorted(every, key=lambda line: line.time_ms)


def read_cluster_logs(
    folder: Path, markers: Iterable[str], tell: Callable[[str], None] = lambda _: None
) -> ClusterLogs:
    """The lines of the logs below a folder that hold one of the markers.

    Args:
        folder: a folder for each node, as ``real_logs`` finds them.
        markers: literals.
        tell: gets the name of each file before it is read.

    Raises:
        LogsError: there is no such folder, it has no log of Kafka, or a file cannot be read.
    """
    wanted = [*dict.fromkeys([*markers, BEGINS, *_MODES, "Kafka version: "])]
    nodes: dict[int, list[LogLine]] = defaultdict(list)
    for file in log_files_of(folder):
        tell(f"reads {file.path}")
        nodes[-1 if file.node is None else file.node] += lines_of(file, wanted)
    for lines in nodes.values():
        # Lines of one file are not strictly in order, and a node has several files.
        lines.sort(key=lambda line: line.time_ms)
    every = [line for lines in nodes.values() for line in lines]
    return ClusterLogs(folder, dict(sorted(nodes.items())), _mode_of(every), _releases_of(every))


def _mode_of(lines: Iterable[LogLine]) -> Mode | None:
    found = (mode for line in lines for marker, mode in _MODES.items() if marker in line.message)
    return next(found, None)


def _releases_of(lines: Iterable[LogLine]) -> list[tuple[int, ...]]:
    found = (_VERSION.match(line.message) for line in lines)
    texts = {version[1] for version in found if version is not None}
    return sorted(tuple(map(int, text.split("."))) for text in texts)


#: With so many partitions the part that has nothing to do with their number does not count.
MANY_PARTITIONS = 100
#: A millisecond, the resolution of a log's time, in microseconds.
MS_US = 1000


class Sample(NamedTuple):
    """A duration that was seen once."""

    value_us: int
    #: The log file that its last line is in, or the metric.
    seen_in: str
    #: Its rank: samples count only where there are none of a lower one.
    choice: int = 0
    #: For a duration by partition: the number of partitions that it is divided by; 0: it is not.
    partitions: int = 0


class Estimator(NamedTuple):
    """The way to find one parameter in logs."""

    #: A field of ``costs``.
    cost: str
    #: None: both.
    mode: Mode | None
    #: From which line to which, for people.
    source: str
    #: The literals of these lines.
    markers: tuple[str, ...]
    samples: Callable[[ClusterLogs], Iterable[Sample]]
    #: Other work that the duration holds, or work that it lacks; empty: nothing of note.
    bias: str = ""


def per_part(begin_ms: int, end_ms: int, parts: int) -> int:
    """The microseconds of each of some parts; half a millisecond where the clock has not moved."""
    return max((end_ms - begin_ms) * MS_US, MS_US // 2) // max(parts, 1)


def chosen(samples: Iterable[Sample]) -> list[Sample]:
    """The samples of the first choice that there is."""
    every = list(samples)
    best = min((sample.choice for sample in every), default=0)
    return [sample for sample in every if sample.choice == best]
