"""The output of KRaft's own tools: kafka-features.sh and kafka-metadata-quorum.sh.

``kafka-features.sh describe`` has a line for each feature, with tabs between its columns::

    Feature: metadata.version  SupportedMinVersion: 3.3-IV3  SupportedMaxVersion: 4.1-IV1
        FinalizedVersionLevel: 4.0-IV3  Epoch: 5

``kafka-metadata-quorum.sh describe --status`` has lists of voters and observers, as ids or, from
3.9 on, as JSON. With ``--replication`` it has a line for each node, which ends with its status::

    NodeId  LogEndOffset  Lag  LastFetchTimestamp  LastCaughtUpTimestamp  Status
    3000    1804          0    1732720000123       1732720000123          Leader

Source: FeatureCommand.handleDescribe@4.1.0; MetadataQuorumCommand.handleDescribeStatus and
handleDescribeReplication@3.9.0; KIP-584, KIP-836, KIP-853.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

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
    _, _, eligible = found.get("eligible.leader.replicas.version", (0, "0", "0"))
    return FeatureLevels(version, line, eligible != "0")


_LIST = re.compile(r"Current(Voters|Observers):\s*\[(.*)\]\s*")
_ID_IN_JSON = re.compile(r'"id"\s*:\s*(\d+)')
_NODE = re.compile(r"\s*(\d{1,10})\s.*\s(Leader|Follower|Observer|Voter)\s*")


@dataclass
class MetadataQuorum:
    """The nodes of a quorum, by their ids."""

    voters: list[int] = field(default_factory=list)
    #: Brokers that are not voters.
    observers: list[int] = field(default_factory=list)


def read_metadata_quorum(file: Path) -> MetadataQuorum:
    """The quorum in a file.

    Raises:
        InputError: the file cannot be read, or has no voters.
    """
    quorum = MetadataQuorum()
    for line in input_file.lines_of(input_file.read_text(file)):
        if found := _LIST.fullmatch(line):
            nodes = quorum.voters if found[1] == "Voters" else quorum.observers
            pattern = _ID_IN_JSON if "{" in found[2] else re.compile(r"\d+")
            nodes += map(int, pattern.findall(found[2]))
        elif found := _NODE.fullmatch(line):
            nodes = quorum.observers if found[2] == "Observer" else quorum.voters
            nodes.append(int(found[1]))
    quorum.voters, quorum.observers = sorted({*quorum.voters}), sorted({*quorum.observers})
    if not quorum.voters:
        message = (
            "has no voters: is it the output of kafka-metadata-quorum.sh describe --status, or "
            "--replication?"
        )
        raise input_file.input_error(file, None, message)
    return quorum
