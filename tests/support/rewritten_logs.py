"""The lines of recorded clusters, to be written in other layouts, and the history of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from real_clusters import LOGS
from tidegauge.real_cluster.logs.log_files import found_logs
from tidegauge.real_cluster.logs.real_history import RealHistory, real_history

ZOOKEEPER, KRAFT = "zk-2.6.3-c1_term_leader", "kraft-4.1.0-c1_term_leader"


class Entry(NamedTuple):
    """An entry of a log in Kafka's own layout: ``[time] level message (logger)``."""

    #: ``broker-1``.
    node: str
    time: str
    level: str
    message: str
    logger: str

    @property
    def moment(self) -> datetime:
        return datetime.strptime(f"{self.time}000", "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)

    @property
    def own(self) -> str:
        return f"[{self.time}] {self.level} {self.message} ({self.logger})"

    @property
    def short(self) -> str:
        """The last part of the logger."""
        return self.logger.rpartition(".")[2]


_ENTRY = re.compile(
    r"^\[(20[^\]]*)\] (\w+) (.*?)(?: \(([\w.$]+)\))?$(?=\n\[20|\n*\Z)", re.MULTILINE | re.DOTALL
)


def _entries(cluster: str) -> dict[str, list[Entry]]:
    """The entries of each node, by their times."""
    entries: dict[str, list[Entry]] = {}
    for file in sorted((LOGS / cluster).glob("*/*.log")):
        entries.setdefault(file.parent.name, []).extend(
            Entry(file.parent.name, *found.groups(""))
            for found in _ENTRY.finditer(file.read_text())
        )
    return {node: sorted(of_node, key=lambda each: each.time) for node, of_node in entries.items()}


ENTRIES = {cluster: _entries(cluster) for cluster in (ZOOKEEPER, KRAFT)}


def history_of(folder: Path) -> tuple[Any, ...]:
    """All but the files and the events: those have an event again that stands in two files."""
    history = real_history(found_logs(folder))
    return (*_without_files(history), {file.node for file in history.found.files})


#: The place of the notices in such a history.
NOTICES = RealHistory._fields.index("notices") - 3


def _without_files(history: RealHistory) -> tuple[Any, ...]:
    return history[2:3] + history[4:]


Written = Callable[[Entry], str]


def in_files(cluster: str, written_as: Written) -> Iterator[tuple[str, str]]:
    """Each node of a cluster with its entries as they are written."""
    for node, entries in ENTRIES[cluster].items():
        yield node, "".join(f"{written_as(entry)}\n" for entry in entries)


def merged(cluster: str) -> list[Entry]:
    """The entries of all nodes, by their times."""
    entries = [entry for of_node in ENTRIES[cluster].values() for entry in of_node]
    return sorted(entries, key=lambda entry: entry.time)


@cache
def own_history(cluster: str) -> tuple[Any, ...]:
    """The history of a cluster in Kafka's own layout."""
    with TemporaryDirectory() as name:
        for node, text in in_files(cluster, lambda entry: entry.own):
            Path(name, node).mkdir()
            Path(name, node, "server.log").write_text(text)
        return history_of(Path(name))


def each_line(written_as: Callable[[Entry, str], str]) -> Written:
    """Each line of an entry in Kafka's own layout, written so."""
    return lambda entry: "\n".join(written_as(entry, line) for line in entry.own.splitlines())
