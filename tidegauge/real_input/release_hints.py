"""The release of Kafka of a cluster, as far as its files show it.

A dump does not contain the release: the tool that printed it may be of another release than the
brokers. The settings may show it, by inter.broker.protocol.version. KRaft has columns and settings
of its own; its brokers are simulated as the newest release that can have ZooKeeper.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegauge.real_input.cluster_settings import BrokerFiles
from tidegauge.real_input.describe_dump import DescribeDump
from tidegauge.real_input.input_file import InputError
from tidegauge.real_input.notices import Notice
from tidegauge.replication.release_versions import (
    LAST_PATCH,
    ZOOKEEPER_MODE,
    ProtocolVersion,
    Release,
    all_releases,
)
from tidegauge.replication.releases import DEFAULT_RELEASE


@dataclass
class ChosenRelease:
    """The release and protocol versions of a scenario."""

    release: str
    #: inter.broker.protocol.version of all brokers, if it is set.
    protocol: str | None = None
    #: ... by broker, where they differ, as in the middle of an upgrade.
    protocols: dict[int, str] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)


def choose_release(wanted: str | None, files: BrokerFiles, dump: DescribeDump) -> ChosenRelease:
    """The release of the brokers: the requested one, or the one that the files suggest.

    Raises:
        InputError: the release is unknown, or does not support the protocol of a broker.
    """
    newest = str(all_releases(ZOOKEEPER_MODE)[-1])
    is_kraft = files.are_of_kraft() or dump.has_eligible_replicas
    said = {} if is_kraft else _protocols(files)
    chosen = ChosenRelease(_parsed(wanted or DEFAULT_RELEASE))
    if is_kraft:
        text = (
            "the cluster has no ZooKeeper (KRaft), but the simulated control plane uses "
            "ZooKeeper: elections and failover take the time that they take with ZooKeeper"
        )
        chosen.notices.append(Notice("release", text))
    if not wanted:
        chosen.release, reason = _hinted(said, dump, newest, is_kraft=is_kraft)
        text = f"simulated as Kafka {chosen.release}: {reason}; --release chooses another"
        chosen.notices.append(Notice("release", text))
    _set_protocols(chosen, files, said)
    return chosen


def _parsed(wanted: str) -> str:
    try:
        release = Release.parse(wanted)
        # An imported cluster is simulated with ZooKeeper.
        release.mode(ZOOKEEPER_MODE)
        return str(release)
    except ValueError as error:
        raise InputError(f"--release {wanted}: {error}") from error


def _protocols(files: BrokerFiles) -> dict[int | None, ProtocolVersion]:
    versions = {}
    for broker, written in files.protocols().items():
        try:
            versions[broker] = ProtocolVersion.parse(written.text)
        except ValueError as error:
            raise written.error(str(error)) from error
    return versions


def _hinted(
    said: dict[int | None, ProtocolVersion], dump: DescribeDump, newest: str, *, is_kraft: bool
) -> tuple[str, str]:
    """A release, and the reason for choosing it."""
    if is_kraft:
        return newest, "the newest that can have ZooKeeper"
    if said:
        protocol = max(said.values())
        line = ".".join(map(str, protocol.line))
        if line in LAST_PATCH:
            reason = f"the last of the line of inter.broker.protocol.version {protocol}"
            return str(Release.parse(line)), reason
        oldest = str(all_releases()[0])
        return oldest, f"the oldest supported release; inter.broker.protocol.version is {protocol}"
    if "TopicId" in dump.columns:
        return newest, "the dump has TopicId, so brokers are of 2.8 or newer"
    if "Elr" in dump.columns:
        return newest, "the dump has Elr, so the tool is of 3.7 or newer"
    return _parsed(DEFAULT_RELEASE), "the default, since no file has inter.broker.protocol.version"


def _set_protocols(
    chosen: ChosenRelease, files: BrokerFiles, said: dict[int | None, ProtocolVersion]
) -> None:
    release = Release.parse(chosen.release)
    written = files.protocols()
    for broker, version in said.items():
        try:
            release.protocol(str(version))
        except ValueError as error:
            raise written[broker].error(str(error)) from error
    if len(set(said.values())) == 1:
        chosen.protocol = str(next(iter(said.values())))
    else:
        chosen.protocols = {
            broker: str(version) for broker, version in said.items() if broker is not None
        }
