"""The lines of one node in a log that several nodes write, without names of containers.

Brokers of one installation append to the same ``server.log``, and logs may be merged or
concatenated. The speaker of most messages has the id of its node; a start's settings have it, and
name the folders of data that lines about logs name. The first lines of a start have no id: they are
of the node that registers next. Other lines without an id are of no node.
"""

import re
from functools import cache
from typing import NamedTuple

from tidegauge.real_cluster.logs.log_layout import HEADER

_SPEAKER = (
    rb"\[[A-Z][^\]\n=]*(?:listenerType=\w+, )?(?<![\w.])"
    rb"(?:id|nodeId|brokerId|controllerId|replicaId|broker)="
)
#: The id of the speaker, at the begin of a message.
SPEAKER_ID = re.compile(_SPEAKER + rb"(\d+)[,\] ]")
_OF_NODE = re.compile(HEADER.pattern + SPEAKER_ID.pattern)
#: The settings of a start, in lines that begin with a space.
_SETTINGS = rb"Config values:[^\n]*+\n"
_SETTING = rb"[ \t]++[^\n]*+\n"
_ID = rb"[ \t]+(?:broker|node)\.id = "
_DUMP = re.compile(_SETTINGS + rb"(?:" + _SETTING + rb")*+")
_ID_OF_DUMP = re.compile(rb"^" + _ID + rb"(\d+)", re.MULTILINE)
_FOLDERS_OF_DUMP = re.compile(rb"^[ \t]+log\.dirs = (/[^\r\n]*)", re.MULTILINE)
_REST_OF_ENTRY = rb"[^\n]*+\n?(?:(?!\[20)[^\n]*+\n)*+"

#: The first lines of a start, each of its own kind.
_STARTS = rb"Registered `?kafka:type=kafka\.Log4jController|starting \("
_BEGINS = re.compile(
    rb"^" + HEADER.pattern + rb"(?:(?P<start>" + _STARTS + rb")"
    rb"|Creating /brokers/ids/(?P<broker>\d+) "
    rb"|\[\w+Server id=(?P<server>\d+)\] (?:Transition from SHUTDOWN to|Starting controller))"
    rb"[^\n]*+\n?",
    re.MULTILINE,
)
_SETTINGS_OF_ANY = rb"\w+" + _SETTINGS + rb"(?:" + _SETTING + rb")*?" + _ID


class Sharer(NamedTuple):
    """A node that writes to a log together with others."""

    #: Its id; empty: the lines of no node.
    node: bytes
    #: Its folders of data.
    folders: tuple[bytes, ...]

    def entries_in(self, block: bytes) -> bytes:
        """Its entries of a block of whole ones, in their order."""
        spans = [found.span() for found in _entry_of(self).finditer(block)]
        if self.node:
            spans += [span for span, node in _starts_in(block).items() if node == self.node]
        return b"".join(block[begin:end] for begin, end in sorted(spans))


class LinesOf(NamedTuple):
    """The lines of one node in a file of several; of neither kind are all lines of the file."""

    #: The words in the place of the container's name before its lines.
    names: tuple[bytes, ...] = ()
    #: Found by the ids in them.
    sharer: Sharer | None = None


ALL_LINES = LinesOf()


@cache
def _entry_of(sharer: Sharer) -> re.Pattern[bytes]:
    """The pattern of an entry of a node."""
    node = re.escape(sharer.node) if sharer.node else rb"\d+"
    folders = b"|".join(map(re.escape, sharer.folders)) or rb"[^,\]\n]+"
    named = (
        *(_SPEAKER + node + rb"[,\] ]", _SETTINGS_OF_ANY + node + rb"\s"),
        *(rb"Creating /brokers/ids/" + node + rb" ", rb"Registered broker " + node + rb" at path"),
        *([rb"\[\w+ partition=[^,\]\n]+, dir=(?:" + folders + rb")[,\]]"] if sharer.node else []),
    )
    chosen = rb"(?=" + b"|".join(named) + rb")"
    if not sharer.node:
        chosen = rb"(?!" + b"|".join((*named, _STARTS)) + rb")"
    return re.compile(rb"^" + HEADER.pattern + chosen + _REST_OF_ENTRY, re.MULTILINE)


def _starts_in(block: bytes) -> dict[tuple[int, int], bytes]:
    """The places of the first lines of starts, and the node that registers next after each."""
    nodes: dict[tuple[int, int], bytes] = {}
    waiting: dict[bytes, list[tuple[int, int]]] = {}
    for found in _BEGINS.finditer(block):
        start = found["start"]
        if start is not None:
            waiting.setdefault(start, []).append(found.span())
            continue
        for spans in waiting.values():
            # An earlier one may be that of a start that failed.
            if spans:
                nodes[spans.pop()] = found["broker"] or found["server"]
    return nodes


def sharers_in(block: bytes) -> list[Sharer]:
    """The nodes that speak in a part of a log, with the folders of data that they name."""
    folders: dict[bytes, set[bytes]] = {found[5]: set() for found in _OF_NODE.finditer(block)}
    for dump in _DUMP.finditer(block):
        node, named = _ID_OF_DUMP.search(dump[0]), _FOLDERS_OF_DUMP.search(dump[0])
        if node is not None and named is not None:
            folders.setdefault(node[1], set()).update(named[1].split(b","))
    return [Sharer(node, tuple(sorted(of_node))) for node, of_node in sorted(folders.items())]
