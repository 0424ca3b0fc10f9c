"""The node whose lines a log file has.

It stands in the lines themselves, else in the ``server.properties`` beside the file, else in the
name of the file or of its container, else in the name of the folder. A ``server.properties`` that
contradicts the lines is of another node, or is shared by several: it is left out.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tidegauge.real_cluster.logs.shared_lines import LinesOf

_PROPERTIES = re.compile(
    rb"^[ \t]*(node\.id|broker\.id|process\.roles)[ \t]*[=:][ \t]*([\w, -]+?)[ \t\r]*$",
    re.MULTILINE,
)
#: The id in lines of a node, the surest one first.
_IDS = (
    re.compile(rb"\[(?:KafkaServer|BrokerServer|ControllerServer|KafkaRaftServer) id=(\d+)\]"),
    re.compile(rb"\[(?:SharedServer|RaftManager|QuorumController) id=(\d+)\]"),
    re.compile(rb"\n[ \t]+(?:node|broker)\.id = (\d+)"),
    re.compile(rb"\[(?:Broker id=|Controller id=|ReplicaManager broker=|\w+ \w*[iI]d=)(\d+)[\] ]"),
    re.compile(rb"Registered broker (\d+) at path"),
)
_BROKER = re.compile(
    rb"\[(?:KafkaServer|BrokerServer|BrokerLifecycleManager) id=|process\.roles = \[?broker"
)
_CONTROLLER = re.compile(
    rb"\[(?:ControllerServer|QuorumController) id=|process\.roles = \[?[a-z, ]*controller"
)
#: ``broker-1.log``, ``my-cluster-kafka-0``, and no date.
_NUMBERED = re.compile(r"(?:broker|kafka|node|controller)s?[-_.]?(\d{1,4})(?!\d|[-_.]?\d\d[-_.]\d)")


class NodeLines(NamedTuple):
    """The lines of one node in a log file."""

    path: Path
    part: LinesOf
    #: The beginning, in Kafka's own layout.
    sample: bytes

    @property
    def node(self) -> int | None:
        """The id in the lines; None: they have none."""
        found = (each for pattern in _IDS if (each := pattern.search(self.sample)))
        return next((int(each[1]) for each in found), None)

    @property
    def titles(self) -> list[str]:
        """The names of the node: of its container, and of the file if that has a number."""
        names = [name.decode("utf-8", "replace") for name in self.part.names]
        return [*names, self.path.name] if _NUMBERED.search(self.path.name) else names


class Identity(NamedTuple):
    """The id and the role of a node."""

    #: None: unknown.
    node: int | None
    #: ``broker``, ``controller``, or ``node`` for both or unknown.
    role: str


class Properties(NamedTuple):
    """A ``server.properties`` beside logs."""

    path: Path
    #: None: it has none.
    node: int | None
    #: Empty: it has none.
    roles: tuple[str, ...]


def properties_beside(folder: Path) -> Properties | None:
    """The ``server.properties`` of the logs in a folder; None: there is none."""
    for place in (folder, folder / "config", folder.parent, folder.parent / "config"):
        file = place / "server.properties"
        if file.is_file():
            found: dict[bytes, bytes] = dict(_PROPERTIES.findall(file.read_bytes()[: 1 << 20]))
            identity = found.get(b"node.id", found.get(b"broker.id", b""))
            roles = found.get(b"process.roles", b"broker" if b"broker.id" in found else b"")
            return Properties(
                file,
                int(identity) if identity.isdigit() else None,
                tuple(re.findall(r"broker|controller", roles.decode())),
            )
    return None


def contradicts(properties: Properties, lines: Sequence[NodeLines]) -> str | None:
    """The reason to leave a ``server.properties`` out; None: the lines do not contradict it."""
    others = sorted({each.node for each in lines if each.node is not None} - {properties.node})
    if properties.node is None or not others:
        return None
    names = ", ".join(map(str, others))
    return f"is of node {properties.node}, but lines beside it are of node {names}: left out"


def identities_of(
    folder: Path, lines: Sequence[NodeLines], properties: Properties | None
) -> Iterator[Identity]:
    """The node of each log of a folder.

    Args:
        folder: that of the files.
        lines: the lines of each.
        properties: do not contradict the lines.
    """
    known = {each.node for each in lines} - {None}
    of_folder = re.search(r"(\d+)$", folder.name)
    for each in lines:
        node = each.node
        if node is None and properties is not None:
            node = properties.node
        numbers = (_NUMBERED.search(title) for title in each.titles)
        if node is None and (number := next(filter(None, numbers), None)):
            node = int(number[1])
        if node is None and len(known) == 1:
            (node,) = known
        if node is None and not known and of_folder is not None:
            node = int(of_folder[1])
        beside = [other.sample for other in lines if other.node in (node, None)]
        yield Identity(node, _role_of(folder, each, beside, properties))


def _role_of(
    folder: Path, lines: NodeLines, samples: list[bytes], properties: Properties | None
) -> str:
    if properties is not None and properties.roles:
        is_broker, is_controller = (role in properties.roles for role in ("broker", "controller"))
    else:
        is_broker = any(_BROKER.search(sample) for sample in samples)
        is_controller = any(_CONTROLLER.search(sample) for sample in samples)
    if is_broker != is_controller:
        return "broker" if is_broker else "controller"
    if not is_broker:
        for title in (*lines.titles, folder.name):
            for role in ("broker", "controller"):
                if role in title:
                    return role
    return "node"
