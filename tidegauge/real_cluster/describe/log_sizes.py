"""The sizes of a cluster's logs, from the output of ``kafka-log-dirs.sh --describe``.

The tool prints two lines of text and then one JSON object; jq prints it in many lines, or the
brokers in it. A file may have the output of several calls, each about other brokers. The lines of
text are skipped.
Source: LogDirsCommand.formatAsJson@2.6.0 and @3.9.0.

The size of a partition is that of its leader's log, or else of the largest. Replicas outside of the
ISR are as far behind as their logs are smaller. One value is enough for a topic whose partitions
differ by a percent at most.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from tidegauge.real_cluster.describe import input_file
from tidegauge.real_cluster.describe.describe_dump import DescribedPartition, DescribedTopic
from tidegauge.real_cluster.describe.described_cluster import DescribedCluster
from tidegauge.simulation.quantities import MOST_BYTES, format_size

#: Name of a topic, number of the partition.
Log = tuple[str, int]


@dataclass
class LogDirs:
    """The logs of all brokers that the tool has queried."""

    file: Path
    #: Bytes of each log, by (topic, partition), then by the broker's id.
    sizes: dict[Log, dict[int, int]] = field(default_factory=dict)
    #: Number of log directories, by broker id.
    directories: dict[int, int] = field(default_factory=dict)
    #: Records that a replica lacks, by (topic, partition) and broker id: none, or more than 0.
    lags: dict[tuple[Log, int], int] = field(default_factory=dict)
    notices: input_file.Notices = field(default_factory=input_file.Notices)


def read_log_dirs(file: Path) -> LogDirs:
    """The logs in a file.

    Raises:
        InputError: it cannot be read, or is no such output; with the line.
    """
    dump = LogDirs(file)
    found = False
    for line, data in input_file.json_values(file, input_file.read_text(file)):
        found = True
        _add_output(dump, line, _whole(data))
    if not found:
        message = 'has no line with JSON such as {"version":1,"brokers":[...]}: it must be the '
        raise input_file.input_error(file, None, f"{message}output of kafka-log-dirs.sh --describe")
    return dump


def _whole(data: object) -> object:
    """The whole output, if people kept only its brokers: jq .brokers, or jq .brokers[]."""
    if isinstance(data, list):
        return {"brokers": data}
    return {"brokers": [data]} if isinstance(data, dict) and "logDirs" in data else data


_Count = Annotated[int, Field(strict=True, ge=0, le=MOST_BYTES)]


def _log(name: object) -> Log:
    topic, _, number = name.rpartition("-") if isinstance(name, str) else ("", "", "")
    if not topic or not re.fullmatch("[0-9]{1,9}", number):
        raise ValueError(f"must be such as orders-0, not {name!r}")
    return topic, int(number)


class _Partition(BaseModel):
    log: Annotated[Log, BeforeValidator(_log)] = Field(alias="partition")
    size: _Count
    offset_lag: Any = Field(default=0, alias="offsetLag")
    is_future: Any = Field(default=False, alias="isFuture")


class _Directory(BaseModel):
    path: Any = Field(default=None, alias="logDir")
    error: Any = None
    partitions: list[_Partition]


class _Broker(BaseModel):
    broker: _Count
    directories: list[_Directory] = Field(alias="logDirs")


class _Output(BaseModel):
    """The JSON of one call of the tool."""

    brokers: list[_Broker]


def _add_output(dump: LogDirs, line: int, data: object) -> None:
    """Add all brokers of an output to a dump.

    Raises:
        InputError: something is missing, or has another form.
    """
    try:
        output = _Output.model_validate(data)
    except ValidationError as error:
        raise input_file.form_error(dump.file, line, error, data) from error
    for place, broker in enumerate(output.brokers):
        if broker.broker in dump.directories:
            message = f"brokers[{place}]: broker {broker.broker} is there twice"
            raise input_file.input_error(dump.file, line, message)
        dump.directories[broker.broker] = len(broker.directories)
        for directory in broker.directories:
            _add_directory(dump, broker.broker, directory)


def _add_directory(dump: LogDirs, broker: int, directory: _Directory) -> None:
    if directory.error is not None:
        text = f"broker {broker}: log directory {directory.path} has an error: {directory.error}"
        dump.notices.add("logs", text)
    for each in directory.partitions:
        if each.is_future is True:
            continue
        sizes = dump.sizes.setdefault(each.log, {})
        sizes[broker] = max(each.size, sizes.get(broker, 0))
        if isinstance(each.offset_lag, int) and each.offset_lag > 0:
            dump.lags[each.log, broker] = each.offset_lag
    moved = ["{}-{}".format(*each.log) for each in directory.partitions if each.is_future is True]
    text = f"broker {broker}: moves between its log directories are left out"
    dump.notices.name("logs", text, moved)


#: Sizes from here on are rounded to kB.
_ROUNDED_FROM = 1_000_000
_ROUNDED_TO = 1_000


class LogSizes:
    """Sizes for the topics of an imported cluster."""

    def __init__(self, dump: LogDirs, cluster: DescribedCluster) -> None:
        self._dump = dump
        self.notices = dump.notices
        self._tell_of_unknown_logs(cluster)
        self._tell_of_assumptions(cluster)

    @property
    def log_directories(self) -> int:
        """The most log directories that a broker has."""
        return max(self._dump.directories.values(), default=1)

    def of_topic(self, topic: DescribedTopic) -> str | dict[int, str] | None:
        """The field ``size``: one value, or one for each partition; None if all logs are empty."""
        sizes = {each.number: self._size(topic.name, each) for each in topic.partitions.values()}
        largest = max(sizes.values())
        if largest == 0:
            return None
        if 100 * min(sizes.values()) >= 99 * largest:
            return _text(sum(sizes.values()) // len(sizes))
        return {number: _text(size) for number, size in sizes.items() if size > 0}

    def behind(self, topic: str, partition: DescribedPartition) -> dict[int, str]:
        """The field ``behind`` of a partition's state: of replicas that the brokers report."""
        size = self._size(topic, partition)
        known = self._dump.sizes.get((topic, partition.number), {})
        complete = (*partition.isr, *partition.eligible, *partition.last_known)
        return {
            broker: _text(max(0, size - known[broker]))
            for broker in partition.replicas
            if broker not in complete and broker in known and size > 0
        }

    def _size(self, topic: str, partition: DescribedPartition) -> int:
        known = self._dump.sizes.get((topic, partition.number), {})
        if partition.leader in known:
            return known[partition.leader]
        return max(known.values(), default=0)

    def _tell_of_unknown_logs(self, cluster: DescribedCluster) -> None:
        """Report the logs that the dump of topics does not have: they are left out."""
        sizes = self._dump.sizes
        names = {topic.name for topic in cluster.topics}
        partitions = {(topic, each.number) for topic, each in cluster.partitions()}
        others = sorted(log for log in sizes if log not in partitions and log[0] in names)
        text = f"of {self._dump.file.name} that the dump of topics does not have are left out"
        for kind, items in (
            ("topics", sorted({topic for topic, _ in sizes} - names)),
            ("partitions", ["{}-{}".format(*log) for log in others]),
            ("brokers", sorted(set(self._dump.directories) - set(cluster.brokers))),
        ):
            self.notices.name("logs", f"{kind} {text}", items)

    def _tell_of_assumptions(self, cluster: DescribedCluster) -> None:
        self.notices.add(
            "logs",
            "the size of a partition is that of its leader's log, or else of the largest; offsets "
            "begin at 0, and all records are of the leader epoch 0 and were flushed",
        )
        empty, without_leader, unknown = [], [], []
        for topic, each in cluster.partitions():
            known = self._dump.sizes.get((topic, each.number), {})
            name = f"{topic}-{each.number}"
            if not known:
                empty.append(name)
                continue
            if each.leader not in known:
                without_leader.append(name)
            unknown += [
                f"{name} on broker {broker}"
                for broker in each.replicas
                if broker not in (*each.isr, *each.eligible, *each.last_known, *known)
            ]
        lags = [
            f"{topic}-{number} on broker {broker} by {lag:,} records"
            for ((topic, number), broker), lag in sorted(self._dump.lags.items())
        ]
        for text, items in (
            ("logs that no broker reports, assumed to be empty", empty),
            ("the leader's log is not reported, so the largest counts", without_leader),
            ("replicas outside of the ISR that no broker reports, assumed to be empty", unknown),
            ("replicas that lag, if they are in the ISR taken for complete", lags),
        ):
            self.notices.name("logs", text, items)


def _text(size_bytes: int) -> str:
    if size_bytes >= _ROUNDED_FROM:
        size_bytes = round(size_bytes / _ROUNDED_TO) * _ROUNDED_TO
    return format_size(size_bytes)


def with_sizes(
    described: dict[str, Any], topic: DescribedTopic, sizes: LogSizes | None
) -> dict[str, Any]:
    """The part of a topic in a scenario, with the sizes of its logs if they are known."""
    size = None if sizes is None else sizes.of_topic(topic)
    if size is None or sizes is None:
        return described
    for number, state in described["state"].items():
        behind = sizes.behind(topic.name, topic.partitions[number])
        if behind:
            state["behind"] = behind
    return described | {"size": size}
