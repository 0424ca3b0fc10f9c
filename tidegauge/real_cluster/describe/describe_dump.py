"""The output of ``kafka-topics.sh --describe``, by the tool of any release from 0.10 to 4.x.

A topic has a line of its own, unless only some of its partitions were requested
(--under-replicated-partitions, --unavailable-partitions), and a line for each partition::

    Topic: orders   PartitionCount: 6   ReplicationFactor: 2   Configs: retention.ms=1000
        Topic: orders   Partition: 0   Leader: 101   Replicas: 101,102   Isr: 101,102

Both lines consist of columns, a name with a colon and a value. The columns, and whether a blank
follows the colon, depend on the release. Other output of the tool on the same terminal is skipped
with a notice. A line with columns that cannot be read is an error: otherwise a partition would be
dropped silently.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.real_cluster.describe import input_file
from tidegauge.scenario.model.limits import MOST_PARTITIONS

_COLUMN = re.compile(r"(?:^|(?<=\s))((?:Adding |Removing )?[A-Z][A-Za-z]*):")
#: The columns that only the description of a topic has.
_TELLING = {
    *("Topic", "PartitionCount", "ReplicationFactor", "Partition", "Leader", "Replicas", "Isr")
}
_READ = _TELLING | {
    *("TopicId", "Configs", "Elr", "LastKnownElr", "Adding Replicas", "Removing Replicas"),
    *("MarkedForDeletion", "Offline", "Observers"),
}
#: Output of a logger, the Java virtual machine or a stack trace, with any text.
_LOGGED = re.compile(
    r"\s*(\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d|\[?(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b"
    r"|SLF4J|log4j|OpenJDK|Java HotSpot|Picked up |Error\b|Exception\b|Caused by:|at [\w.$/]+\("
    r"|\.\.\. \d+ (more|common frames)|[\w.$]+(Exception|Error)\b)"
)
_TOPIC_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}", re.ASCII)
#: The end of a line that a terminal has broken between two broker ids.
_REST_OF_IDS = re.compile(r"[\d,]+", re.ASCII)
_NUMBER = re.compile(r"\d{1,10}", re.ASCII)
_SETTING_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_MOST_ID = 2**31 - 1


@dataclass(frozen=True)
class DescribedPartition:
    """A partition's line."""

    number: int
    #: Id of the broker; None: the partition has no leader.
    leader: int | None
    #: Ids of brokers, the preferred leader first; those that a reassignment adds or removes, too.
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    #: The replicas that a reassignment in progress adds, and those that it removes.
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    #: KRaft's eligible leader replicas (KIP-966): they may lead although they are outside the ISR.
    eligible: tuple[int, ...] = ()
    #: The last leader of a partition that has no leader and no ISR: at most one in Kafka.
    last_known: tuple[int, ...] = ()
    #: Confluent's tool prints the replicas on brokers, or log directories, that are down.
    offline: tuple[int, ...] = ()
    line: int = field(default=0, compare=False)


@dataclass
class DescribedTopic:
    """A topic's line, if the dump has it, and its partitions by number."""

    name: str
    file: Path
    line: int
    #: None: the topic has no line of its own.
    partition_count: int | None = None
    #: Values as they are printed.
    settings: dict[str, str] = field(default_factory=dict)
    is_marked_for_deletion: bool = False
    partitions: dict[int, DescribedPartition] = field(default_factory=dict)


@dataclass
class DescribeDump:
    """The content of a dump."""

    file: Path
    topics: dict[str, DescribedTopic] = field(default_factory=dict)
    #: Names of all columns of any line.
    columns: set[str] = field(default_factory=set)
    #: Whether a partition has eligible leader replicas, or the last leader of one that has none.
    has_filled_elr: bool = False
    #: Whether brokers returned Elr, filled or empty, as only KRaft's do. N/A is no sign: tools from
    #: 3.7 on print it where no broker returned one.
    has_eligible_replicas: bool = False
    #: The observers of Confluent's topics, which are left out of the partitions: ids of brokers.
    observers: dict[str, set[int]] = field(default_factory=dict)
    notices: input_file.Notices = field(default_factory=input_file.Notices)

    def error(self, line: int | None, message: str) -> input_file.InputError:
        """The error to raise about a line of the dump."""
        return input_file.input_error(self.file, line, message)


def read_describe_dump(file: Path, text: str) -> DescribeDump:
    """The topics and partitions that a file of this text describes.

    Raises:
        InputError: a line of it is not valid or contradicts another, or it describes no partition.
    """
    dump = DescribeDump(file)
    skipped: list[str] = []
    for number, line in enumerate(input_file.lines_of(text), start=1):
        columns = _columns(line)
        if not line.strip() or set(line.strip()) <= {"\ufeff"}:
            continue
        if _REST_OF_IDS.fullmatch(line.strip()):
            raise dump.error(number, "has only numbers: was the line before broken in two?")
        if _LOGGED.match(line) or not _TELLING & dict(columns).keys():
            skipped.append(f"line {number} ({_beginning(line)})")
        else:
            _add_line(dump, number, columns)
    _refuse_what_is_incomplete(dump)
    _leave_out_deleted_topics(dump)
    dump.notices.name("input", "skipped, not part of a description", skipped)
    others = sorted(dump.columns - _READ)
    dump.notices.name("input", "columns that are not read", others)
    _warn_of_observers(dump)
    return dump


def _warn_of_observers(dump: DescribeDump) -> None:
    """Name the topics whose elections are other ones than those of the cluster."""
    for topic, brokers in dump.observers.items():
        if brokers and topic in dump.topics:
            text = f"{topic}: observers on {input_file.named(sorted(brokers))} are left out, so"
            dump.notices.add("partitions", f"{text} elections differ: none is promoted or elected")


def _beginning(line: str) -> str:
    text = line.strip()
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - a part of a line


def _columns(line: str) -> list[tuple[str, str]]:
    """The columns of a line: names and values, in order."""
    parts = _COLUMN.split(line.rstrip())
    values = (value.strip() for value in parts[2::2])
    return list(zip(parts[1::2], values, strict=True))


def _add_line(dump: DescribeDump, number: int, columns: list[tuple[str, str]]) -> None:
    values = dict(columns)
    if len(values) < len(columns):
        raise dump.error(number, "has a column twice")
    dump.columns |= values.keys()
    dump.has_eligible_replicas |= values.get("Elr", "N/A") != "N/A"
    dump.has_filled_elr |= any(
        values.get(column, "N/A") not in {"", "N/A"} for column in ("Elr", "LastKnownElr")
    )
    name = values.get("Topic", "")
    if not _TOPIC_NAME.fullmatch(name):
        raise dump.error(number, f"cannot be read: {name!r} is not the name of a topic")
    line = _Line(dump, number, values)
    if "Partition" in values:
        topic = dump.topics.setdefault(name, DescribedTopic(name, dump.file, number))
        topic.is_marked_for_deletion |= line.is_marked_for_deletion()
        dump.observers.setdefault(name, set()).update(line.observers())
        _add_partition(dump, topic, line.partition())
    elif "PartitionCount" in values:
        _add_topic(dump, line.topic(name))
    else:
        raise dump.error(number, "cannot be read: it has no Partition and no PartitionCount")


def _add_topic(dump: DescribeDump, topic: DescribedTopic) -> None:
    known = dump.topics.setdefault(topic.name, topic)
    if known is topic:
        return
    if known.partition_count is None:
        topic.partitions = known.partitions
        dump.topics[topic.name] = topic
    elif (known.partition_count, known.settings) != (topic.partition_count, topic.settings):
        message = f"{topic.name} is described otherwise on line {known.line}"
        raise dump.error(topic.line, message)
    else:
        _say_twice(dump, topic.name, known.line, topic.line)


def _add_partition(
    dump: DescribeDump, topic: DescribedTopic, partition: DescribedPartition
) -> None:
    name = f"{topic.name}-{partition.number}"
    known = topic.partitions.setdefault(partition.number, partition)
    if known != partition:
        raise dump.error(partition.line, f"{name} is described otherwise on line {known.line}")
    if known is not partition:
        _say_twice(dump, name, known.line, partition.line)


def _say_twice(dump: DescribeDump, name: str, first: int, second: int) -> None:
    dump.notices.add("input", f"{name} is described twice, alike, on lines {first} and {second}")


@dataclass
class _Line:
    """A line with columns, and its values."""

    dump: DescribeDump
    number: int
    values: dict[str, str]

    def topic(self, name: str) -> DescribedTopic:
        """The topic that the line describes."""
        count = self._count("PartitionCount")
        if not 1 <= count <= MOST_PARTITIONS:
            raise self._error("PartitionCount", f"a number from 1 to {MOST_PARTITIONS}")
        if "ReplicationFactor" in self.values:
            self._count("ReplicationFactor")
        deleted = self.is_marked_for_deletion()
        return DescribedTopic(name, self.dump.file, self.number, count, self._settings(), deleted)

    def partition(self) -> DescribedPartition:
        """The partition that the line describes."""
        number = self._count("Partition")
        if number >= MOST_PARTITIONS:
            raise self._error("Partition", f"a number below {MOST_PARTITIONS}")
        adding, removing = self._ids("Adding Replicas"), self._ids("Removing Replicas")
        replicas = self._ids("Replicas", required=True)
        if not replicas:
            raise self._error("Replicas", "at least one broker id")
        # Tools differ in whether added and removed replicas are among the replicas.
        if removing and set(replicas) <= set(removing):
            raise self.dump.error(self.number, "Removing Replicas has all of the replicas")
        observers = self.observers()
        members = dict.fromkeys((*replicas, *adding, *removing))
        all_replicas = tuple(broker for broker in members if broker not in observers)
        if not all_replicas:
            raise self.dump.error(self.number, "Observers has all of the replicas")
        partition = DescribedPartition(
            number,
            self._leader(),
            all_replicas,
            self._ids("Isr", required=True),
            adding,
            removing,
            self._ids("Elr"),
            self._ids("LastKnownElr"),
            tuple(broker for broker in self._ids("Offline") if broker not in observers),
            self.number,
        )
        self._refuse_other_brokers(partition)
        return partition

    def observers(self) -> set[int]:
        """The observers of a partition: an observer in the ISR is promoted, and a replica."""
        return set(self._ids("Observers")) - set(self._ids("Isr"))

    def is_marked_for_deletion(self) -> bool:
        """Whether the topic is marked for deletion; tools print it on either kind of line."""
        return self.values.get("MarkedForDeletion", "").lower() == "true"

    def _refuse_other_brokers(self, partition: DescribedPartition) -> None:
        for column, ids in (
            ("Leader", () if partition.leader is None else (partition.leader,)),
            ("Isr", partition.isr),
            ("Elr", partition.eligible),
            ("LastKnownElr", partition.last_known),
            ("Offline", partition.offline),
        ):
            for broker in ids:
                if broker not in partition.replicas:
                    replicas = ",".join(map(str, partition.replicas))
                    message = f"{column} has {broker}, which is not among the replicas {replicas}"
                    raise self.dump.error(self.number, message)

    def _leader(self) -> int | None:
        text = self.values.get("Leader", "")
        # -2 is the leader in ZooKeeper of a partition that is being deleted.
        if text in {"none", "-1", "-2"}:
            return None
        if not _is_id(text):
            raise self._error("Leader", "a broker id, none or -1")
        return int(text)

    def _ids(self, column: str, *, required: bool = False) -> tuple[int, ...]:
        text = self.values.get(column)
        if text is None and required:
            raise self.dump.error(self.number, f"cannot be read: it has no {column}")
        if text in {None, "", "N/A"}:
            return ()
        pieces = [piece.strip() for piece in str(text).split(",")]
        if not all(map(_is_id, pieces)):
            raise self._error(column, "broker ids with commas between them")
        ids = tuple(map(int, pieces))
        if len(set(ids)) < len(ids):
            raise self._error(column, "each broker id once")
        return ids

    def _count(self, column: str) -> int:
        if not _NUMBER.fullmatch(self.values[column]):
            raise self._error(column, "a number")
        return int(self.values[column])

    def _settings(self) -> dict[str, str]:
        """The settings in ``Configs``: a piece without a name belongs to the value before it."""
        settings: dict[str, str] = {}
        last = ""
        text = self.values.get("Configs", "")
        for piece in text.split(",") if text else ():
            name, equals, value = piece.strip().partition("=")
            if equals and _SETTING_NAME.fullmatch(name):
                last = name
                settings[name] = value
            elif last:
                settings[last] += f",{piece}"
            else:
                raise self._error("Configs", "settings such as retention.ms=1000")
        return settings

    def _error(self, column: str, expected: str) -> input_file.InputError:
        message = f"{column} must be {expected}, not {self.values.get(column, '')!r}"
        return self.dump.error(self.number, message)


def _is_id(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) and int(text) <= _MOST_ID


def _refuse_what_is_incomplete(dump: DescribeDump) -> None:
    if not dump.topics:
        raise dump.error(None, "describes no topic: is it the output of kafka-topics --describe?")
    for topic in dump.topics.values():
        if not topic.partitions:
            message = f"{topic.name} has no partition in the dump, only this line"
            raise dump.error(topic.line, message)
        last = max(topic.partitions)
        if topic.partition_count is not None and last >= topic.partition_count:
            message = f"{topic.name} has PartitionCount {topic.partition_count} on line "
            raise dump.error(topic.partitions[last].line, f"{message}{topic.line}")


def _leave_out_deleted_topics(dump: DescribeDump) -> None:
    deleted = [topic.name for topic in dump.topics.values() if topic.is_marked_for_deletion]
    if len(deleted) == len(dump.topics):
        raise dump.error(None, f"all topics are marked for deletion: {input_file.named(deleted)}")
    for name in deleted:
        del dump.topics[name]
    dump.notices.name("partitions", "topics that are marked for deletion are left out", deleted)
