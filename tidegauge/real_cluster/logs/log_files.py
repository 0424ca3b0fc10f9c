"""The log files of a cluster: a folder for each node, with its rotated and compressed files.

Kafka's appenders leave ``server.log.2024-05-01-10`` beside ``server.log``; others number the files,
or put the date before the suffix, and logrotate compresses them. All files of one folder are of one
node. Its id is that of the ``server.properties`` beside them, else that of its own lines, else the
number at the end of the folder's name. All that is readable of a torn compressed file is read.
"""

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self, cast

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.logs.log_layout import HEADER, SAMPLE_BYTES, LogClock, beginning_of

#: Read at once; an entry of more than twice this is cut.
_BLOCK_BYTES = 4 << 20


def unreadable(error: Exception) -> str:
    """The problem of a file whose reading fails."""
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"


class LogStream:
    """A log file, opened for reading."""

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            OSError: it cannot be opened.
        """
        self.is_compressed = path.suffix == ".gz"
        opened = gzip.GzipFile(path) if self.is_compressed else path.open("rb")
        self._file = cast("BinaryIO", opened)
        #: The end of the compressed file is missing.
        self.is_torn = False

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only at the end of the file.

        Raises:
            OSError, zlib.error: they cannot be read.
        """
        if not self.is_compressed:
            return self._file.read(size)
        parts = []
        left = size
        try:
            while left and (part := cast("gzip.GzipFile", self._file).read1(left)):
                parts.append(part)
                left -= len(part)
        except EOFError:
            self.is_torn = True
        return b"".join(parts)

    def blocks(self, beginning: bytes, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The entries that begin in a part of the file, in blocks of whole entries.

        Args:
            beginning: the first bytes of each entry.
            begin: the first byte of the part.
            end: the byte behind the part; None: the end of the file.

        Raises:
            OSError, zlib.error: they cannot be read.
        """
        first = b"\n" + beginning
        self._file.seek(begin)
        carried, is_inside, left = b"", begin == 0, _BLOCK_BYTES if end is None else end - begin
        while left > 0 and (read := self.read(min(_BLOCK_BYTES, left))):
            left -= 0 if end is None else len(read)
            data = carried + read
            if not is_inside:
                # An entry that begins in the part before is read with that.
                start = data.find(first) + 1
                if not start:
                    continue
                data, is_inside = data[start:], True
            cut = data.rfind(first) + 1
            if not cut and len(data) < 2 * _BLOCK_BYTES:
                carried = data
                continue
            cut = cut or len(data)
            yield data[:cut]
            carried = data[cut:]
        if end is not None and is_inside:
            # The last entry continues in the next part.
            more = self.read(SAMPLE_BYTES)
            carried += more[: more.find(first) + 1] or more
        if carried:
            yield carried

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()


#: The content by the file's name: ``server.log``, ``server.log.1``, ``server-2024-05-01.log.gz``.
_KIND = re.compile(r"(?:^|[-_.])(server|controller|state-change)[-_.](?:.*[-_.])?log(?:[-_.]|$)")
#: Logs of Kafka that have no line about replication.
_SILENT = re.compile(r"kafka-request|log-cleaner|kafka-authorizer|gc\.log|-gc|garbage")
_OTHER_LOG = re.compile(r"\.log(?:[-_.]|$)|\.out(?:[-_.]|$)|^kafka[-_.].*\.txt$|^kafka\.txt$")

_PROPERTIES = re.compile(
    rb"^[ \t]*(node\.id|broker\.id|process\.roles)[ \t]*[=:][ \t]*([\w, -]+?)[ \t\r]*$",
    re.MULTILINE,
)
#: The id in lines of a node, the surest one first.
_IDS = (
    re.compile(rb"\[(?:KafkaServer|BrokerServer|ControllerServer|KafkaRaftServer) id=(\d+)\]"),
    re.compile(rb"\[(?:SharedServer|RaftManager|QuorumController) id=(\d+)\]"),
    re.compile(rb"\n\t(?:node|broker)\.id = (\d+)"),
    re.compile(rb"\[(?:Broker id=|Controller id=|ReplicaManager broker=|\w+ \w*[iI]d=)(\d+)[\] ]"),
    re.compile(rb"Registered broker (\d+) at path"),
)
_BROKER = re.compile(
    rb"\[(?:KafkaServer|BrokerServer|BrokerLifecycleManager) id=|process\.roles = \[?broker"
)
_CONTROLLER = re.compile(
    rb"\[(?:ControllerServer|QuorumController) id=|process\.roles = \[?[a-z, ]*controller"
)

_MOST_FILES = 20_000
_DEEPEST = 5


class LogsError(TidegaugeError):
    """Logs that cannot be read; one line that names the file."""


class LogFile(NamedTuple):
    """A log file of a node."""

    path: Path
    #: The id of the broker or controller; None if it is unknown.
    node: int | None
    #: ``broker``, ``controller``, or ``node`` for both or unknown.
    node_role: str
    #: ``server``, ``controller``, ``state-change``, or ``other`` for a log of another name.
    kind: str


class Unread(NamedTuple):
    """A file that is not read, and why."""

    path: Path
    reason: str


class FoundLogs(NamedTuple):
    """The log files below a folder."""

    files: list[LogFile]
    unread: list[Unread]


def log_files_of(folder: Path) -> list[LogFile]:
    """The log files below a folder: by node and kind, each from its oldest file to its newest.

    Raises:
        LogsError: there is no such folder, or no log of Kafka in it; one line.
    """
    return found_logs(folder).files


def found_logs(folder: Path) -> FoundLogs:
    """The log files below a folder, and the files beside them that cannot be read as logs.

    Raises:
        LogsError: there is no such folder, or no log of Kafka in it; one line.
    """
    if not folder.exists():
        raise LogsError(f"{folder}: does not exist")
    if not folder.is_dir():
        raise LogsError(f"{folder}: is a file; name the folder that holds it")
    timed: list[tuple[tuple[object, ...], LogFile]] = []
    unread: list[Unread] = []
    for place, paths in _folders_below(folder):
        samples = [(path, kind, _sample_of(path)) for path in paths if (kind := _kind_of(path))]
        unread += [Unread(path, reason) for path, _, reason in samples if isinstance(reason, str)]
        readable = [
            (path, kind, sample)
            for path, kind, sample in samples
            if sample and isinstance(sample, bytes)
        ]
        node, role = _node_of(place, [sample for _, _, sample in readable])
        for path, kind, sample in readable:
            order = (node is None, node or 0, str(place), kind, _first_ms(sample), str(path))
            timed.append((order, LogFile(path, node, role, kind)))
    timed.sort(key=lambda each: each[0])
    if not timed:
        if unread:
            raise LogsError(f"{folder}: has no log of Kafka: {unread[0].path}: {unread[0].reason}")
        raise LogsError(
            f"{folder}: has no log of Kafka: server.log, controller.log or state-change.log of each"
            " node, such as broker-1/server.log"
        )
    return FoundLogs([file for _, file in timed], unread)


def _folders_below(folder: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Each folder that has files, with its files."""
    left = _MOST_FILES
    for name, folders, files in os.walk(folder):
        place = Path(name)
        folders.sort()
        if len(place.relative_to(folder).parts) >= _DEEPEST:
            folders.clear()
        left -= len(files)
        if left < 0:
            raise LogsError(f"{folder}: has more than {_MOST_FILES} files: name a folder of logs")
        if files:
            yield place, [place / file for file in sorted(files)]


def _kind_of(path: Path) -> str | None:
    """The kind of log by a file's name; None: it is no log, or none of replication."""
    if _SILENT.search(path.name):
        return None
    named = _KIND.search(path.name)
    if named is not None:
        return named[1]
    return "other" if _OTHER_LOG.search(path.name) else None


def _sample_of(path: Path) -> bytes | str:
    """The beginning of a log, empty if the file is; else the reason why it is no log."""
    if path.suffix in {".zip", ".zst", ".xz", ".bz2", ".lz4"}:
        return f"is compressed as {path.suffix[1:]}: only .gz is read"
    if not path.is_file():
        return "is not a file"
    try:
        with LogStream(path) as stream:
            sample = stream.read(SAMPLE_BYTES)
    except (OSError, zlib.error) as error:
        return unreadable(error)
    if not sample or beginning_of(sample) is not None:
        return sample
    if b"\0" in sample:
        return "is binary, not a log"
    return "has no line of a Kafka log: [2024-05-01 10:00:00,123] INFO message (logger)"


def _first_ms(sample: bytes) -> int:
    """The time of the first line of a file that has one."""
    header = HEADER.search(sample)
    return -1 if header is None else LogClock().time_ms(header)


def _node_of(folder: Path, samples: list[bytes]) -> tuple[int | None, str]:
    """The id and the role of the node whose files these are."""
    properties: dict[bytes, bytes] = {}
    for place in (folder, folder / "config", folder.parent, folder.parent / "config"):
        file = place / "server.properties"
        if samples and file.is_file():
            properties = dict(_PROPERTIES.findall(file.read_bytes()[: 1 << 20]))
            break
    identity = properties.get(b"node.id", properties.get(b"broker.id", b""))
    node = int(identity) if identity.isdigit() else _id_in_lines(samples)
    if node is None and (number := re.search(r"(\d+)$", folder.name)):
        node = int(number[1])
    return node, _role_of(folder, properties, samples)


def _id_in_lines(samples: list[bytes]) -> int | None:
    for pattern in _IDS:
        for sample in samples:
            if found := pattern.search(sample):
                return int(found[1])
    return None


def _role_of(folder: Path, properties: dict[bytes, bytes], samples: list[bytes]) -> str:
    roles = properties.get(b"process.roles", b"")
    if roles or b"broker.id" in properties:
        is_broker, is_controller = not roles or b"broker" in roles, b"controller" in roles
    else:
        is_broker = any(_BROKER.search(sample) for sample in samples)
        is_controller = any(_CONTROLLER.search(sample) for sample in samples)
    if is_broker != is_controller:
        return "broker" if is_broker else "controller"
    if not is_broker:
        for role in ("broker", "controller"):
            if role in folder.name:
                return role
    return "node"
