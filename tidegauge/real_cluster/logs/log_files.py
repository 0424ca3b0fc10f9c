"""The log files of a cluster: those below a folder, with rotated and compressed ones, or one file.

Kafka's appenders leave ``server.log.2024-05-01-10`` beside ``server.log``; others number the files,
or put the date before the suffix, and logrotate compresses them. A file may have the lines of
several nodes, each with the name of its container.
"""

import os
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.logs.foreign_dates import UnreadTimesError, line_of_log, shown
from tidegauge.real_cluster.logs.foreign_layout import Layout, is_log
from tidegauge.real_cluster.logs.log_layout import HEADER, SAMPLE_BYTES, LogClock
from tidegauge.real_cluster.logs.log_nodes import (
    NodeLines,
    contradicts,
    identities_of,
    properties_beside,
)
from tidegauge.real_cluster.logs.log_stream import LogStream, unreadable
from tidegauge.real_cluster.logs.shared_lines import ALL_LINES, LinesOf, Sharer, sharers_in

#: The content by the file's name: ``server.log``, ``server.log.1``, ``server-2024-05-01.log.gz``.
_KIND = re.compile(r"(?:^|[-_.])(server|controller|state-change)[-_.](?:.*[-_.])?log(?:[-_.]|$)")
#: Logs of Kafka that have no line about replication.
_SILENT = re.compile(r"kafka-request|log-cleaner|kafka-authorizer|gc\.log|-gc|garbage")
_OTHER_LOG = re.compile(r"\.log(?:[-_.]|$)|\.out(?:[-_.]|$)")
#: A file of such a name may be a log.
_PERHAPS_LOG = re.compile(r"\.(?:txt|jsonl?|ndjson)(?:\.gz)?$")
_OTHER = "other"

_MOST_FILES = 20_000
_DEEPEST = 5
#: Of a name in a file of several nodes so much is enough to know the node.
_NAME_SAMPLE_BYTES = 64 << 10
#: Parts of a file of so many bytes are looked into; for the speakers behind a name so far apart.
_PART_BYTES, _SPEAKERS_APART_BYTES = 16 << 10, 256 << 10
_OF_NONE = Sharer(b"", ())
#: A file with more names has no names of nodes.
_MOST_NAMES = 1_000


class LogsError(TidegaugeError):
    """Logs that cannot be read; one line that names the file."""


class LogFile(NamedTuple):
    """A log file of a node, or the lines of a node in a file of several."""

    path: Path
    #: The id of the broker or controller; None if it is unknown.
    node: int | None
    #: ``broker``, ``controller``, or ``node`` for both or unknown.
    node_role: str
    #: ``server``, ``controller``, ``state-change``, or ``other`` for a log of another name.
    kind: str
    part: LinesOf = ALL_LINES
    #: The order of day and month in its times, where no line of it shows that.
    is_day_first: bool | None = None


class Unread(NamedTuple):
    """A file that is not read, or not all of it, and why."""

    path: Path
    reason: str


class FoundLogs(NamedTuple):
    """The log files of a cluster."""

    files: list[LogFile]
    unread: list[Unread]
    #: Lines about files of several nodes with lines of none.
    notices: list[str]


def log_files_of(place: Path) -> list[LogFile]:
    """The log files below a folder: by node and kind, each from its oldest file to its newest.

    Args:
        place: the folder, or a single file.

    Raises:
        LogsError: there is no such folder, or no log of Kafka in it; one line.
    """
    return found_logs(place).files


def found_logs(place: Path) -> FoundLogs:
    """The log files below a folder, and the files beside them that cannot be read as logs.

    Args:
        place: the folder, or a single file.

    Raises:
        LogsError: there is no such folder, or no log of Kafka in it; one line.
    """
    if not place.exists():
        raise LogsError(f"{place}: does not exist")
    all_folders = _folders_below(place) if place.is_dir() else [(place.parent, [place])]
    folders = [
        (folder, [path for path in paths if _kind_of(path) or path == place])
        for folder, paths in all_folders
    ]
    found = [_found_in(folder, paths) for folder, paths in folders]
    orders = {order for each in found for order in each.orders}
    if None in orders and len(orders) == 2:  # noqa: PLR2004  # untold in some, and told by others
        (is_day_first,) = orders - {None}
        found = [_found_in(folder, paths, is_day_first) for folder, paths in folders]
    timed = sorted(chain.from_iterable(each.files for each in found))
    unread = list(dict.fromkeys(chain.from_iterable(each.unread for each in found)))
    if not timed:
        for path, reason in unread:
            raise LogsError(f"{place}: has no log of Kafka: {path}: {reason}")
        raise LogsError(
            f"{place}: has no log of Kafka: server.log, controller.log or state-change.log of each"
            " node, such as broker-1/server.log"
        )
    notices = list(chain.from_iterable(each.notices for each in found))
    return FoundLogs([each.file for each in timed], unread, notices)


class _Ordered(NamedTuple):
    """A log file with its place among the others: by node and kind, the oldest first."""

    is_of_no_node: bool
    node: int
    folder: str
    kind: str
    first_ms: int
    file: LogFile


class _FoundInFolder(NamedTuple):
    """The log files of one folder."""

    files: list[_Ordered]
    unread: list[Unread]
    notices: list[str]
    #: Whether dates have the day before the month, of each file where both may be; None: untold.
    orders: set[bool | None]


def _found_in(folder: Path, paths: list[Path], is_day_first: bool | None = None) -> _FoundInFolder:
    """The log files of one folder.

    Args:
        folder: the folder.
        paths: the files that may be logs.
        is_day_first: the order of day and month, for files that do not show it.
    """
    found = [_lines_of(path, is_day_first) for path in paths]
    lines = [each for of_file in found for each in of_file.lines]
    unread = [
        Unread(path, reason)
        for path, each in zip(paths, found, strict=True)
        for reason in each.problems
    ]
    properties = properties_beside(folder) if lines else None
    if properties is not None and (reason := contradicts(properties, lines)) is not None:
        unread.append(Unread(properties.path, reason))
        properties = None
    files = []
    identities = identities_of(folder, lines, properties)
    for each, (node, role) in zip(lines, identities, strict=True):
        kind = _kind_of(each.path) or _OTHER
        file = LogFile(each.path, node, role, kind, each.part, is_day_first)
        first_ms = _first_ms(each.sample)
        files.append(_Ordered(node is None, node or 0, str(folder), kind, first_ms, file))
    notices = [each.notice for each in found if each.notice is not None]
    orders = {order for each in found for order in each.orders}
    return _FoundInFolder(files, unread, notices, orders)


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
    is_log = _OTHER_LOG.search(path.name) or _PERHAPS_LOG.search(path.name)
    return _OTHER if is_log else None


class _Found(NamedTuple):
    """The lines of each node in a file, and the reasons why others are not read."""

    lines: list[NodeLines]
    problems: list[str]
    #: About lines of no node.
    notice: str | None = None
    #: Whether its dates have the day before the month; None: no line shows it. Empty: no matter.
    orders: tuple[bool | None, ...] = ()


def _lines_of(path: Path, is_day_first: bool | None) -> _Found:
    reason = None if path.is_file() else "is not a file"
    if path.suffix in {".zip", ".zst", ".xz", ".bz2", ".lz4"}:
        reason = f"is compressed as {path.suffix[1:]}: only .gz is read"
    try:
        if reason is None:
            with LogStream(path, is_day_first=is_day_first) as stream:
                return _lines_in(path, stream)
    except (OSError, zlib.error) as error:
        reason = unreadable(error)
    except UnreadTimesError as error:
        reason = str(error)
    return _Found([], [reason])


def _lines_in(path: Path, stream: LogStream) -> _Found:
    sample = stream.read(SAMPLE_BYTES)
    layout = stream.layout(sample)
    if layout is None:
        return _Found([], _no_log(path, sample))
    orders: tuple[bool | None, ...] = ()
    if layout.times is not None and layout.times.may_be_either:
        orders = (layout.times.is_day_first,)
        if orders == (None,):
            return _Found([], [layout.times.untold], orders=orders)
    samples = {} if layout.name_place is None else _samples_by_name(stream, layout)
    spread = list(stream.spread_samples())
    own = layout.own(sample)
    if samples:
        found = _by_node(path, samples)
    elif (
        len({each.node for part in (own, *map(layout.own, spread)) for each in sharers_in(part)})
        > 1
    ):
        found = _by_sharer(path, stream, layout)
    else:
        found = _Found([NodeLines(path, ALL_LINES, own)], [])
    problems = [
        *found.problems,
        *_of_other_layout(layout, [*_parts_of(sample, _PART_BYTES), *spread]),
    ]
    return found._replace(problems=problems, orders=orders)


def _of_other_layout(layout: Layout, parts: Sequence[bytes]) -> Iterator[str]:
    """The problem of a file that has another layout from some line on, as after an upgrade."""
    for part in parts if layout.records is None else ():
        if HEADER.search(layout.own(part)) is None and is_log(part):
            line = shown(line_of_log(part.partition(b"\n")[2]))
            yield f"has lines of another layout than its first ones, which are not read: {line}"
            return


def _no_log(path: Path, sample: bytes) -> list[str]:
    """The reason why a file is not read that has no line of a log; none: it need not have one."""
    if not sample or (_PERHAPS_LOG.search(path.name) and not _OTHER_LOG.search(path.name)):
        return []
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ["is in UTF-16: only UTF-8 is read"]
    if b"\0" in sample:
        return ["is binary, not a log"]
    line = line_of_log(sample)
    reason = (
        "has no line of a Kafka log whose time is read, such as [2024-05-01 10:00:00,123] INFO"
        f" message (logger); its first one is: {shown(line)}"
    )
    return [reason]


def _samples_by_name(stream: LogStream, layout: Layout) -> dict[bytes, bytes]:
    """The first lines of each name of a file, in Kafka's own layout.

    There are none if a name is that of several nodes, such as ``kafka.service``.
    """
    samples: dict[bytes, bytes] = defaultdict(bytes)
    nodes: dict[bytes, set[bytes]] = defaultdict(set)
    for lines in stream.raw(layout):
        names = layout.names_in(lines)
        if len(names | samples.keys()) > _MOST_NAMES:
            break
        for name in names:
            if len(samples[name]) < _NAME_SAMPLE_BYTES:
                samples[name] += layout.of(LinesOf((name,))).own(lines)[:_NAME_SAMPLE_BYTES]
        for some in _parts_of(lines) if nodes else (lines,):
            for name in layout.names_in(some):
                own = layout.of(LinesOf((name,))).own(some)
                nodes[name].update(sharer.node for sharer in sharers_in(own))
        if any(len(of_name) > 1 for of_name in nodes.values()):
            return {}
    return {name: sample for name, sample in samples.items() if HEADER.search(sample)}


def _parts_of(lines: bytes, apart: int = _SPEAKERS_APART_BYTES) -> Iterator[bytes]:
    for place in range(0, len(lines), apart):
        yield lines[place : place + _PART_BYTES]


def _by_node(path: Path, samples: dict[bytes, bytes]) -> _Found:
    """The lines of each node in a file whose lines have names; of one node all lines."""
    names: dict[int | None, list[bytes]] = defaultdict(list)
    for name in sorted(samples):
        names[NodeLines(path, LinesOf((name,)), samples[name]).node].append(name)
    strangers = names.pop(None, []) if len(names) > 1 else []
    problems = [
        f"the lines of {name.decode('utf-8', 'replace')} have no id of a broker or controller"
        for name in strangers
    ]
    of_names = [sorted(of_node) for of_node in names.values()]
    if None in names:
        # No line has an id: each name is a node of its own.
        of_names = [[name] for name in names[None]]
    chosen = of_names if len(of_names) > 1 or strangers else [[] for _ in of_names]
    return _Found(
        [
            NodeLines(path, LinesOf(tuple(kept)), b"".join(samples[name] for name in of_node))
            for kept, of_node in zip(chosen, of_names, strict=True)
        ],
        problems,
    )


def _by_sharer(path: Path, stream: LogStream, layout: Layout) -> _Found:
    """The lines of each node in a file that several write, and those of no node."""
    folders: dict[bytes, set[bytes]] = defaultdict(set)
    samples: dict[bytes, bytes] = defaultdict(bytes)
    of_none = b""
    for block in stream.blocks(layout):
        of_none = of_none or _OF_NONE.entries_in(block)[:_NAME_SAMPLE_BYTES]
        for sharer in sharers_in(block):
            folders[sharer.node].update(sharer.folders)
            if len(samples[sharer.node]) < _NAME_SAMPLE_BYTES:
                samples[sharer.node] += sharer.entries_in(block)[:_NAME_SAMPLE_BYTES]
    # Containers have folders of the same name: those tell nothing.
    named = Counter(chain.from_iterable(folders.values()))
    own = {node: sorted(each for each in folders[node] if named[each] == 1) for node in samples}
    of_nodes = [
        NodeLines(path, LinesOf(sharer=Sharer(node, tuple(own[node]))), samples[node])
        for node in sorted(samples)
    ]
    names = ", ".join(map(str, sorted(map(int, samples))))
    notice = (
        f"{path.name} is written by nodes {names}: its lines without an id are of no node, such as"
        f" {shown(of_none)}"
    )
    of_nodes += [NodeLines(path, LinesOf(sharer=_OF_NONE), b"")]
    return _Found(of_nodes, [], notice if of_none else None)


def _first_ms(sample: bytes) -> int:
    """The time of the first line of a file that has one."""
    header = HEADER.search(sample)
    return -1 if header is None else LogClock().time_ms(header)
