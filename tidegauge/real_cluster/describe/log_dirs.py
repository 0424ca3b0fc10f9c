"""The output of ``kafka-log-dirs.sh --describe``: sizes of logs, by broker and directory.

The tool prints two lines of text and then one JSON object. A file may have the output of several
calls, each about other brokers. The lines of text are skipped.

Source: LogDirsCommand.formatAsJson@2.6.0 and @3.9.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegauge.real_cluster.describe.input_file import InputError, input_error, lines_of, read_text
from tidegauge.real_cluster.describe.notices import Notice, named
from tidegauge.simulation.quantities import MOST_BYTES

#: Name of a topic, number of the partition.
Log = tuple[str, int]

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<number>[0-9]{1,9})")


@dataclass
class LogDirs:
    """The logs of all brokers that the tool has asked."""

    file: Path
    #: Bytes of each log, by (topic, partition), then by the broker's id.
    sizes: dict[Log, dict[int, int]] = field(default_factory=dict)
    #: Number of log directories, by broker id.
    directories: dict[int, int] = field(default_factory=dict)
    #: Records that a replica lacks, by (topic, partition) and broker id: none, or more than 0.
    lags: dict[tuple[Log, int], int] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)


def read_log_dirs(file: Path) -> LogDirs:
    """The logs in a file.

    Raises:
        InputError: it cannot be read, or is no such output; with the line.
    """
    dump = LogDirs(file)
    found = False
    lines = lines_of(read_text(file))
    for line, data in _objects(file, lines):
        found = True
        _Reader(dump, line).read(data)
    if not found:
        message = 'has no line with JSON such as {"version":1,"brokers":[...]}: it must be the '
        raise input_error(file, None, f"{message}output of kafka-log-dirs.sh --describe")
    return dump


def _objects(file: Path, lines: list[str]) -> Iterator[tuple[int, object]]:
    """The JSON objects of a file, each with the line where it begins; a tool may have indented it.

    Raises:
        InputError: JSON is damaged.
    """
    text = "\n".join(lines)
    begins = ends = 0
    for number, line in enumerate(lines, start=1):
        if line.startswith("{") and begins >= ends:
            try:
                data, ends = json.JSONDecoder().raw_decode(text, begins)
            except json.JSONDecodeError as error:
                raise input_error(file, error.lineno, f"is not valid JSON: {error.msg}") from error
            except (RecursionError, ValueError) as error:
                raise input_error(file, number, f"is not valid JSON: {error}") from error
            yield number, data
        begins += len(line) + 1


class _Reader:
    """Reads one JSON object into a dump."""

    def __init__(self, dump: LogDirs, line: int) -> None:
        self._dump = dump
        self._line = line

    def read(self, data: object) -> None:
        """Take over all brokers.

        Raises:
            InputError: something is missing, or has another form.
        """
        brokers = self._list(data, "brokers", "")
        for place, broker in enumerate(brokers):
            where = f"brokers[{place}]"
            number = self._number(broker, "broker", where)
            directories = self._list(broker, "logDirs", f"{where}.")
            if number in self._dump.directories:
                raise self._error(f"{where}: broker {number} is there twice")
            self._dump.directories[number] = len(directories)
            for other, directory in enumerate(directories):
                self._read_directory(number, directory, f"{where}.logDirs[{other}]")

    def _read_directory(self, broker: int, directory: object, where: str) -> None:
        partitions = self._list(directory, "partitions", f"{where}.")
        assert isinstance(directory, dict)
        if directory.get("error") is not None:
            name = directory.get("logDir")
            text = f"broker {broker}: log directory {name} has an error: {directory['error']}"
            self._dump.notices.append(Notice("logs", text))
        moved = []
        for place, partition in enumerate(partitions):
            path = f"{where}.partitions[{place}]"
            log = self._log(partition, path)
            size = self._number(partition, "size", path)
            if partition.get("isFuture") is True:
                moved.append("{}-{}".format(*log))
                continue
            sizes = self._dump.sizes.setdefault(log, {})
            sizes[broker] = max(size, sizes.get(broker, 0))
            lag = partition.get("offsetLag")
            if isinstance(lag, int) and lag > 0:
                self._dump.lags[log, broker] = lag
        if moved:
            text = (
                f"broker {broker}: moves between its log directories are left out: {named(moved)}"
            )
            self._dump.notices.append(Notice("logs", text))

    def _log(self, partition: object, where: str) -> Log:
        name = partition.get("partition") if isinstance(partition, dict) else None
        match = _PARTITION.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            raise self._error(f"{where}: partition must be such as orders-0, not {name!r}")
        return match["topic"], int(match["number"])

    def _list(self, data: object, name: str, where: str) -> list[Any]:
        value = data.get(name) if isinstance(data, dict) else None
        if not isinstance(value, list):
            raise self._error(f"{where}{name} must be a list")
        return value

    def _number(self, data: object, name: str, where: str) -> int:
        value = data.get(name) if isinstance(data, dict) else None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_BYTES:
            raise self._error(f"{where}: {name} must be a number from 0 on, not {value!r}")
        return value

    def _error(self, message: str) -> InputError:
        return input_error(self._dump.file, self._line, message)
