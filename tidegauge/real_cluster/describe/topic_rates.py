"""The clients of an imported cluster: a table of its topics' rates, a default, or measured ones.

A table is a CSV file with a header, with values such as a broker's MessagesInPerSec and
BytesInPerSec::

    topic,messages_per_second,bytes_per_second,acks
    orders,1200,480000,all

``acks`` may be left out. The size of a producer's batch gives some ten batches per second, but is
never larger than Kafka's batch.size. The contract of measured clients is :class:`WorkloadReader`.
"""

import csv
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.describe.input_file import Notices, input_error, lines_of, read_text
from tidegauge.scenario.model.limits import LEAST_PER_SECOND, MOST_PER_SECOND
from tidegauge.scenario.model.references import no_such
from tidegauge.scenario.model.settings import Value, is_internal
from tidegauge.scenario.text.errors import did_you_mean


class MeasuredCluster(NamedTuple):
    """The facts of an imported cluster that measured values are compared with."""

    #: The number of partitions of each topic.
    topics: Mapping[str, int]
    #: Settings that are the same in all brokers, defaults among them.
    settings: Mapping[str, Value]


class MeasuredWorkload(NamedTuple):
    """Groups of clients of a scenario, and notices about their origin."""

    producers: list[dict[str, Any]]
    consumers: list[dict[str, Any]]
    notices: Notices


class WorkloadReader(Protocol):
    """A place that measured values are read from."""

    @property
    def origin(self) -> str:
        """A file or a URL, without its password."""

    def read(self, cluster: MeasuredCluster) -> MeasuredWorkload:
        """The clients of a cluster.

        Raises:
            InputError: the values cannot be read, or are not those of this cluster.
        """


#: batch.size of Kafka's producer, in bytes.
_BATCH_BYTES = 16_384
_BATCHES_PER_SECOND = 10
# Few and large batches: while no leader accepts them, each is retried ten times a second.
_DEFAULT_BATCHES_PER_SECOND = 2
_DEFAULT_RECORDS = 50
#: The size of a record of unknown size.
DEFAULT_RECORD_BYTES = 200
#: With more topics than this, one group writes to all.
_MOST_GROUPS = 200

_NUMBERS = ("messages_per_second", "bytes_per_second")
_REQUIRED = ("topic", *_NUMBERS)
_KNOWN = (*_REQUIRED, "acks")
_ACKS: dict[str, str | int] = {"all": "all", "-1": "all", "1": 1, "0": 0}
_LARGEST = 1e12


class ImpossibleRateError(TidegaugeError):
    """A rate that no group of producers can have; one line that does not name the topic."""


class TopicRate(NamedTuple):
    """The records that producers send to a topic."""

    messages_per_second: float
    bytes_per_second: float
    #: As a table of rates has it.
    acks: str = "all"


class Producers(NamedTuple):
    """Groups of producers of a scenario, and notices about their rates."""

    groups: list[dict[str, Any]]
    notices: Notices


def default_producers(topics: Sequence[str]) -> Producers:
    """Producers that write to all topics at the same rate, except Kafka's own."""
    names = [topic for topic in topics if not is_internal(topic)]
    rate = (
        f"{_DEFAULT_BATCHES_PER_SECOND} batches a second of {_DEFAULT_RECORDS} records of "
        f"{DEFAULT_RECORD_BYTES} bytes with acks=all"
    )
    text = f"no --rates: a producer sends to each topic {rate}"
    if len(names) < len(topics):
        text += "; Kafka's own topics (__...) have no producer"
    notices = Notices()
    notices.add("workload", text)
    if len(names) > _MOST_GROUPS:
        notices.add(
            "workload",
            f"{len(names)} topics are too many for one producer each: a single one sends to all "
            "of them",
        )
        together = _group("everything", names, _DEFAULT_BATCHES_PER_SECOND * len(names))
        return Producers([together], notices)
    return Producers([_group(name, [name], _DEFAULT_BATCHES_PER_SECOND) for name in names], notices)


def producers_of(topic: str, rate: TopicRate) -> dict[str, Any]:
    """The group of producers that sends at this rate to a topic.

    Raises:
        ImpossibleRateError: there is no such group, or no such acks.
    """
    messages, size, acks = rate
    if acks not in _ACKS:
        raise ImpossibleRateError(f"acks must be all, 0 or 1, not {acks!r}")
    record_bytes = max(1, round(size / messages))
    records = min(round(messages / _BATCHES_PER_SECOND), _BATCH_BYTES // record_bytes)
    records = max(1, records)
    batches = float(f"{messages / records:.6g}")
    if not LEAST_PER_SECOND <= batches <= MOST_PER_SECOND or record_bytes > _LARGEST:
        raise ImpossibleRateError(
            f"would need {batches:g} batches a second of {records} records; from "
            f"{LEAST_PER_SECOND:.1e} to {MOST_PER_SECOND:,} are possible"
        )
    return _group(topic, [topic], batches, records, record_bytes, _ACKS[acks])


def how_batches_come_about(origin: str) -> str:
    """The assumption about batches, for a notice about rates of this origin."""
    return (
        f"rates are those of {origin}; the size of batches, which it does not have, gives "
        f"{_BATCHES_PER_SECOND} batches a second, and is at most {_BATCH_BYTES} bytes (batch.size)"
    )


def _group(
    name: str,
    topics: list[str],
    batches_per_second: float,
    records: int = _DEFAULT_RECORDS,
    record_bytes: int = DEFAULT_RECORD_BYTES,
    acks: str | int = "all",
) -> dict[str, Any]:
    return {
        "name": name,
        "topics": topics,
        "batches_per_second": batches_per_second,
        "records_per_batch": records,
        "record_bytes": record_bytes,
        "settings": {"acks": acks},
    }


def read_topic_rates(file: Path, topics: Collection[str]) -> Producers:
    """The producers that write to these topics at the rates of a CSV file.

    Raises:
        InputError: the file has no such table, a value in it is not a rate, or a topic is unknown.
    """
    table = _Table(file)
    groups: dict[str, dict[str, Any]] = {}
    silent = []
    for line, row in table.rows():
        topic = row["topic"]
        if topic not in topics:
            raise input_error(file, line, no_such("topic", topic, topics))
        if topic in groups or topic in silent:
            raise input_error(file, line, f"{topic} appears twice")
        messages, size = (table.rate(line, name, row[name]) for name in _NUMBERS)
        if messages == 0:
            silent.append(topic)
        elif size == 0:
            raise input_error(file, line, "bytes_per_second must be more than 0 if messages are")
        else:
            rate = TopicRate(messages, size, row.get("acks") or "all")
            groups[topic] = table.group(line, topic, rate)
    notices = Notices()
    notices.add("workload", how_batches_come_about(file.name))
    others = [name for name in topics if name not in groups]
    notices.name("workload", f"these topics have no producer, by {file.name}", others)
    return Producers(list(groups.values()), notices)


class _Table:
    """The rows of a CSV file, and their meanings."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lines = lines_of(read_text(file))

    def rows(self) -> list[tuple[int, dict[str, str]]]:
        """Each row by column, with its line."""
        read = []
        header: list[str] = []
        for line, text in enumerate(self._lines, start=1):
            if not text.strip():
                continue
            cells = self._cells(line, text)
            if not header:
                header = self._header(line, cells)
            elif len(cells) != len(header):
                message = f"has {len(cells)} columns, and the header has {len(header)}"
                raise input_error(self.file, line, message)
            else:
                read.append((line, dict(zip(header, cells, strict=True))))
        if not read:
            raise input_error(self.file, None, f"has no rows below a header {','.join(_REQUIRED)}")
        return read

    def rate(self, line: int, column: str, text: str) -> float:
        """A rate per second."""
        try:
            rate = float(text)
        except ValueError:
            rate = math.nan
        if not 0 <= rate <= _LARGEST:
            message = f"{column} must be a number from 0 to {_LARGEST:.0e}, not {text!r}"
            raise input_error(self.file, line, message)
        return rate

    def group(self, line: int, topic: str, rate: TopicRate) -> dict[str, Any]:
        """The producers that send at this rate to a topic."""
        try:
            return producers_of(topic, rate)
        except ImpossibleRateError as error:
            raise input_error(self.file, line, str(error)) from error

    def _cells(self, line: int, text: str) -> list[str]:
        try:
            return [cell.strip() for cell in next(csv.reader([text], strict=True))]
        except csv.Error as error:
            raise input_error(self.file, line, f"is not valid CSV: {error}") from error

    def _header(self, line: int, cells: list[str]) -> list[str]:
        for name in cells:
            if name not in _KNOWN:
                message = f"column {name!r} is unknown; {did_you_mean(name, _KNOWN)}"
                raise input_error(self.file, line, message)
        missing = [name for name in _REQUIRED if name not in cells]
        if missing or len(set(cells)) < len(cells):
            message = f"the header must be {','.join(_REQUIRED)}, optionally with ,acks"
            raise input_error(self.file, line, message)
        return cells
