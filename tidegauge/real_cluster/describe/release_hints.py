"""The release of Kafka of a cluster, as far as its files show it.

A dump does not contain the release: the tool that printed it may be of another release than the
brokers. The settings may show it, by inter.broker.protocol.version. KRaft has columns and settings
of its own; the levels of its features show the release and its metadata.version.

Whether a KRaft cluster has eligible leader replicas (KIP-966) does not follow from its release: an
upgraded cluster keeps them off. They are on where the dump has some, or where the feature has a
level.
"""

from dataclasses import dataclass, field

from tidegauge.real_cluster.describe import input_file
from tidegauge.real_cluster.describe.cluster_settings import BrokerFiles
from tidegauge.real_cluster.describe.describe_dump import DescribeDump
from tidegauge.real_cluster.describe.kraft_tools import FeatureLevels
from tidegauge.real_cluster.describe.server_properties import Property
from tidegauge.replication import release_versions
from tidegauge.replication.release_versions import KRAFT_MODE, ProtocolVersion, Release

#: The first release whose clusters can have eligible leader replicas.
_FIRST_WITH_ELR = "4.0.0"
#: New clusters have them, upgraded ones do not (KIP-966).
_FIRST_WITH_ELR_BY_DEFAULT = "4.1-IV0"
#: Of a dump without TopicId: the last line before it whose leaders notify ZooKeeper by default.
_WITHOUT_TOPIC_ID = "2.6"

#: KIP-853.
_BOOTSTRAP_SERVERS = "controller.quorum.bootstrap.servers"


@dataclass
class ChosenRelease:
    """The release and protocol versions of a scenario."""

    release: str
    #: inter.broker.protocol.version of all brokers, if it is set.
    protocol: str | None = None
    #: ... by broker, where they differ, as in the middle of an upgrade.
    protocols: dict[int, str] = field(default_factory=dict)
    mode: release_versions.Mode = release_versions.ZOOKEEPER_MODE
    #: With KRaft, if it is known.
    metadata_version: str | None = None
    #: With KRaft, from the first release that can have them.
    eligible_leader_replicas: bool | None = None
    #: Whether that is a guess, and whether the mode is one.
    is_elr_guessed: bool = False
    is_mode_guessed: bool = False
    notices: input_file.Notices = field(default_factory=input_file.Notices)


def choose_release(
    wanted: str | None, files: BrokerFiles, dump: DescribeDump, features: FeatureLevels | None
) -> ChosenRelease:
    """The release of the brokers: the requested one, or the one that the files suggest.

    Raises:
        InputError: the release is unknown, has no KRaft mode though the cluster is of KRaft, or
            does not support the protocol of a broker.
    """
    is_kraft = bool(files.are_of_kraft() or dump.has_eligible_replicas or features)
    protocols = {} if is_kraft else _protocols(files)
    chosen = ChosenRelease(_parsed(wanted or _WITHOUT_TOPIC_ID))
    if not wanted:
        if files.release:
            suggested = _release_of_resource(files.release)
        elif is_kraft:
            suggested = _release_with_kraft(files, dump, features)
        else:
            suggested = _release_by_files(protocols, dump)
        chosen.release, reason = suggested
        text = f"simulated as Kafka {chosen.release}: {reason}; --release chooses another"
        chosen.notices.add("release", text)
    release = Release.parse(chosen.release)
    try:
        chosen.mode = release.mode(KRAFT_MODE if is_kraft else None)
    except ValueError as error:
        message = f"{error}, and the cluster is of KRaft"
        if files.release and not wanted:
            raise files.release.error(message) from error
        raise input_file.InputError(f"--release {wanted}: {message}") from error
    chosen.is_mode_guessed = len(release.modes) > 1 and not (is_kraft or files.nodes())
    if chosen.mode != KRAFT_MODE:
        _set_protocols(chosen, files, protocols)
        return chosen
    if not is_kraft:
        text = f"Kafka {release} has no ZooKeeper: the cluster is simulated with KRaft"
        chosen.notices.add("release", text)
    _choose_features(chosen, files, dump, features, is_migrated=not is_kraft)
    return chosen


def _choose_features(
    chosen: ChosenRelease,
    files: BrokerFiles,
    dump: DescribeDump,
    features: FeatureLevels | None,
    *,
    is_migrated: bool,
) -> None:
    release = Release.parse(chosen.release)
    version = _metadata_version(release, files, features)
    if version != release.metadata_version():
        chosen.metadata_version = str(version)
    if release < Release.parse(_FIRST_WITH_ELR) and not dump.has_filled_elr:
        return
    if features is not None:
        has_level = features.eligible_leader_replicas
        chosen.eligible_leader_replicas = dump.has_filled_elr or has_level
        return
    is_new = version >= ProtocolVersion.parse(_FIRST_WITH_ELR_BY_DEFAULT)
    has_by_default = is_new and not is_migrated
    chosen.eligible_leader_replicas = dump.has_filled_elr or has_by_default
    chosen.is_elr_guessed = not dump.has_filled_elr
    if chosen.is_elr_guessed:
        assumed = (
            "the migrated cluster, which has none"
            if is_migrated
            else "a new cluster, which has them from metadata.version "
            f"{_FIRST_WITH_ELR_BY_DEFAULT} on; one that was upgraded to it has not"
        )
        chosen.notices.add(
            "release",
            "whether the cluster has eligible leader replicas is unknown: a healthy dump shows "
            f"none. Assumed is {assumed}: --features has the fact "
            "(kafka-features.sh describe), or change eligible_leader_replicas",
        )


def _metadata_version(
    release: Release, files: BrokerFiles, features: FeatureLevels | None
) -> ProtocolVersion:
    """The metadata.version that the files have, or else that of a new cluster."""
    if features:
        return features.metadata_version
    written = files.metadata_version
    try:
        return release.metadata_version(written.text if written else None)
    except ValueError as error:
        raise (written.error(str(error)) if written else error) from error


def _parsed(wanted: str) -> str:
    try:
        return str(Release.parse(wanted))
    except ValueError as error:
        raise input_file.InputError(f"--release {wanted}: {error}") from error


def _protocols(files: BrokerFiles) -> dict[int | None, ProtocolVersion]:
    versions = {}
    for broker, written in files.protocols().items():
        try:
            versions[broker] = ProtocolVersion.parse(written.text)
        except ValueError as error:
            raise written.error(str(error)) from error
    return versions


def _release_of_resource(written: Property) -> tuple[str, str]:
    """A release, and the reason for choosing it."""
    try:
        return str(Release.parse(written.text)), "the version of the Kafka resource"
    except ValueError as error:
        raise written.error(str(error)) from error


def _release_with_kraft(
    files: BrokerFiles, dump: DescribeDump, features: FeatureLevels | None
) -> tuple[str, str]:
    """A release, and the reason for choosing it."""
    if features:
        return _parsed(features.line), f"its brokers support metadata.version {features.line}"
    newest = str(release_versions.all_releases(KRAFT_MODE)[-1])
    if files.quorum and files.quorum.is_dynamic:
        return newest, "its voters have directories, so they are of 3.9 or newer"
    if any(file.text(_BOOTSTRAP_SERVERS) for file in files.nodes()):
        return newest, f"a node has {_BOOTSTRAP_SERVERS}, so it is of 3.9 or newer"
    if dump.columns and not dump.has_eligible_replicas and "Elr" not in dump.columns:
        return _parsed("3.6"), "the cluster is of KRaft, and the tool, without Elr, older than 3.7"
    return newest, "the newest, for a cluster of KRaft"


def _release_by_files(
    protocols: dict[int | None, ProtocolVersion], dump: DescribeDump
) -> tuple[str, str]:
    """A release, and the reason for choosing it."""
    newest = str(release_versions.all_releases(release_versions.ZOOKEEPER_MODE)[-1])
    if protocols:
        protocol = max(protocols.values())
        line = ".".join(map(str, protocol.line))
        if line in release_versions.LAST_PATCH:
            reason = f"the last of the line of inter.broker.protocol.version {protocol}"
            return str(Release.parse(line)), reason
        oldest = str(release_versions.all_releases()[0])
        return oldest, f"the oldest supported release; inter.broker.protocol.version is {protocol}"
    if "TopicId" in dump.columns:
        return newest, "the dump has TopicId, so brokers are of 2.8 or newer"
    if "Elr" in dump.columns:
        return newest, "the dump has Elr, so the tool is of 3.7 or newer"
    if not dump.columns:
        return newest, "the newest, for a cluster with ZooKeeper"
    return _parsed(_WITHOUT_TOPIC_ID), "the dump has no TopicId, so the tool is older than 2.8"


def _set_protocols(
    chosen: ChosenRelease,
    files: BrokerFiles,
    protocols: dict[int | None, ProtocolVersion],
) -> None:
    release = Release.parse(chosen.release)
    written = files.protocols()
    for broker, version in protocols.items():
        try:
            release.protocol(str(version))
        except ValueError as error:
            raise written[broker].error(str(error)) from error
    if len(set(protocols.values())) == 1:
        chosen.protocol = str(next(iter(protocols.values())))
    else:
        chosen.protocols = {
            broker: str(version) for broker, version in protocols.items() if broker is not None
        }
