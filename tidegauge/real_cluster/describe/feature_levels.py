"""The output of ``kafka-features.sh describe``: the levels of a KRaft cluster's features.

A line for each feature, with columns between which there are tabs::

    Feature: metadata.version  SupportedMinVersion: 3.3-IV3  SupportedMaxVersion: 4.1-IV1
        FinalizedVersionLevel: 4.0-IV3  Epoch: 5

Only the metadata.version and the eligible leader replicas (KIP-966) are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tidegauge.real_cluster.describe.input_file import input_error, lines_of, read_text
from tidegauge.replication.release_versions import LAST_PATCH, ProtocolVersion

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
    for number, line in enumerate(lines_of(read_text(file)), start=1):
        match = _FEATURE.fullmatch(line)
        if match:
            found[match[1]] = (number, match[2], match[3])
    if "metadata.version" not in found:
        message = "has no metadata.version: is it the output of kafka-features.sh describe?"
        raise input_error(file, None, message)
    number, newest, level = found["metadata.version"]
    try:
        supported, version = ProtocolVersion.parse(newest), ProtocolVersion.parse(level)
    except ValueError as error:
        raise input_error(file, number, f"metadata.version: {error}") from error
    line = ".".join(map(str, supported.line))
    if line not in LAST_PATCH:
        raise input_error(file, number, f"release {line} is not simulated")
    _, _, eligible = found.get("eligible.leader.replicas.version", (0, "0", "0"))
    return FeatureLevels(version, line, eligible != "0")
