"""The output of KRaft's own tools: kafka-features.sh and kafka-metadata-quorum.sh.

``kafka-features.sh describe`` has a line for each feature, with tabs between its columns::

    Feature: metadata.version  SupportedMinVersion: 3.3-IV3  SupportedMaxVersion: 4.1-IV1
        FinalizedVersionLevel: 4.0-IV3  Epoch: 5

``kafka-metadata-quorum.sh describe --status`` has lists of voters and observers, as ids or, from
3.9 on, as JSON with directories. With ``--replication`` it has a line for each node, which ends
with its status; from 3.9 on the second column is the directory::

    NodeId  LogEndOffset  Lag  LastFetchTimestamp  LastCaughtUpTimestamp  Status
    3000    1804          0    1732720000123       1732720000123          Leader

Voters of controller.quorum.voters have no directory there: null, or an id of zeros.

Source: FeatureCommand.handleDescribe@4.1.0; MetadataQuorumCommand.handleDescribeStatus and
handleDescribeReplication@3.9.0; KIP-584, KIP-836, KIP-853.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tidegauge.real_cluster.describe import input_file
from tidegauge.replication.release_versions import ProtocolVersion, Release

_FEATURE = re.compile(
    r"\s*Feature:\s*(\S+)\s+SupportedMinVersion:\s*\S+\s+SupportedMaxVersion:\s*(\S+)\s+"
    r"FinalizedVersionLevel:\s*(\S+)(?:\s.*)?"
)


@dataclass(frozen=True)
class FeatureLevels:
    """The features of a cluster that a scenario takes."""

    metadata_version: ProtocolVersion
    #: The newest line of releases whose metadata.version all brokers support: "4.1".
    line: str
    eligible_leader_replicas: bool
    #: 1: the voters of the quorum may change (KIP-853).
    kraft_version: int


def read_feature_levels(file: Path) -> FeatureLevels:
    """The levels in a file.

    Raises:
        InputError: the file cannot be read, has no metadata.version, or an unknown one.
    """
    found: dict[str, tuple[int, str, str]] = {}
    for number, line in enumerate(input_file.lines_of(input_file.read_text(file)), start=1):
        match = _FEATURE.fullmatch(line)
        if match:
            found[match[1]] = (number, match[2], match[3])
    if "metadata.version" not in found:
        message = "has no metadata.version: is it the output of kafka-features.sh describe?"
        raise input_file.input_error(file, None, message)
    number, newest, level = found["metadata.version"]
    try:
        version = ProtocolVersion.parse(level)
        line = ".".join(map(str, ProtocolVersion.parse(newest).line))
        Release.parse(line)
    except ValueError as error:
        raise input_file.input_error(file, number, f"metadata.version: {error}") from error
    unknown = (0, "0", "0")
    _, _, eligible = found.get("eligible.leader.replicas.version", unknown)
    _, _, kraft = found.get("kraft.version", unknown)
    return FeatureLevels(version, line, eligible != "0", int(kraft != "0"))


_LIST = re.compile(r"Current(Voters|Observers):\s*\[(.*)\]\s*")
_OBJECT = re.compile(r"\{[^{}]*\}")
_ID_IN_JSON = re.compile(r'"id"\s*:\s*(\d+)')
_DIRECTORY_IN_JSON = re.compile(r'"directoryId"\s*:\s*"([^"]*)"')
_ADDRESS_IN_JSON = re.compile(r'"[^"]*://([^"]+)"')
_NODE = re.compile(r"\s*(\d{1,10})\s+(\S+)\s.*\s(Leader|Follower|Observer|Voter)\s*")
_OFFSET = re.compile(r"-?\d+")
#: Uuid.ZERO_UUID: no directory.
_ZEROS = "A" * 22


class _Node(NamedTuple):
    """A node in the output."""

    node_id: int
    #: Its directory; empty if it has none, or the tool does not print it.
    directory: str = ""
    #: Its addresses, without the names of their listeners.
    addresses: Sequence[str] = ()


@dataclass
class MetadataQuorum:
    """The nodes of a quorum, by their ids."""

    voters: list[int] = field(default_factory=list)
    #: Brokers and controllers that are not voters.
    observers: list[int] = field(default_factory=list)
    #: Each voter has a directory, so the voters may change (KIP-853).
    is_dynamic: bool = False
    #: Voters whose ids observe, too, with another directory.
    with_two_directories: list[int] = field(default_factory=list)
    #: Voters by their addresses: ``host:port``.
    voter_at: dict[str, int] = field(default_factory=dict)


def read_metadata_quorum(file: Path) -> MetadataQuorum:
    """The quorum in a file.

    Raises:
        InputError: the file cannot be read, or has no voters.
    """
    voters: list[_Node] = []
    observers: list[_Node] = []
    for line in input_file.lines_of(input_file.read_text(file)):
        if found := _LIST.fullmatch(line):
            (voters if found[1] == "Voters" else observers).extend(_nodes(found[2]))
        elif found := _NODE.fullmatch(line):
            directory = "" if _OFFSET.fullmatch(found[2]) or found[2] == _ZEROS else found[2]
            nodes = observers if found[3] == "Observer" else voters
            nodes.append(_Node(int(found[1]), directory))
    if not voters:
        message = (
            "has no voters: is it the output of kafka-metadata-quorum.sh describe --status, or "
            "--replication?"
        )
        raise input_file.input_error(file, None, message)
    ids = {node.node_id for node in voters}
    others = {node.node_id for node in observers}
    return MetadataQuorum(
        voters=sorted(ids),
        observers=sorted(others - ids),
        is_dynamic=all(node.directory for node in voters),
        with_two_directories=sorted(others & ids),
        voter_at={address: node.node_id for node in voters for address in node.addresses},
    )


def _nodes(listed: str) -> Iterator[_Node]:
    """The nodes in a list of ids, or of objects in JSON."""
    for text in _OBJECT.findall(listed):
        node_id = _ID_IN_JSON.search(text)
        directory = _DIRECTORY_IN_JSON.search(text)
        if node_id is not None:
            named = "" if directory is None else directory[1]
            yield _Node(int(node_id[1]), named, _ADDRESS_IN_JSON.findall(text))
    if "{" not in listed:
        yield from (_Node(int(number)) for number in re.findall(r"\d+", listed))
