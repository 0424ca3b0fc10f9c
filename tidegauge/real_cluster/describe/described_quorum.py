"""The controllers of a KRaft cluster, as far as the files of its nodes show them.

The voters are those that kafka-metadata-quorum.sh prints, or those in controller.quorum.voters.
They may change (KIP-853) if the tool prints their directories, if kraft.version is 1, or if files
have controller.quorum.bootstrap.servers and no voters: then only some of them may be named, so they
are assumed. Other controllers, by their own files, observe. A node that is broker and controller is
simulated as two processes, on machines of their own.

No dump has the rack of a controller, and few files of controllers have broker.rack, as Kafka makes
no use of it there. Controllers of which no file has it are assumed to stand in the racks of the
brokers, one after the other by name.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegauge.real_cluster.describe.cluster_settings import BrokerFiles, controller_settings
from tidegauge.real_cluster.describe.input_file import Notices, named
from tidegauge.real_cluster.describe.kraft_tools import FeatureLevels
from tidegauge.real_cluster.describe.server_properties import Property, ServerProperties
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.scenario.model.cluster import racks_of_controllers
from tidegauge.scenario.model.settings import DECIDED_BY_CONTROLLERS
from tidegauge.scenario.text.errors import counted

#: The numbers of static voters that a scenario can have.
_COUNTS = (1, 3, 5)
_DEFAULT_COUNT = 3
_VOTERS, _SERVERS = "controller.quorum.voters", "controller.quorum.bootstrap.servers"


@dataclass
class DescribedQuorum:
    """The part ``controllers`` of a scenario."""

    data: dict[str, Any] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)


def described_quorum(
    files: BrokerFiles,
    racks: dict[str, list[int]],
    release: str,
    features: FeatureLevels | None = None,
    logged_voters: Sequence[int] = (),
) -> DescribedQuorum:
    """The controllers of a cluster of this release.

    Args:
        files: The files of its nodes.
        racks: Ids of brokers by rack.
        release: The release of Kafka.
        features: The levels of its features, if their tool was asked.
        logged_voters: Ids of voters that may change, if the metadata log has them.

    Raises:
        InputError: a setting of a controller has a value that Kafka would refuse.
    """
    quorum = DescribedQuorum()
    voters = logged_voters or _voters(files)
    if logged_voters or _voters_may_change(files, voters, release, features):
        controllers = _name_voters(quorum, files, voters)
    else:
        quorum.data["count"] = _count(quorum, files, voters)
        controllers = [*voters] or controller_ids(files)
    _place_in_racks(quorum, files, racks, controllers)
    settings, notices = controller_settings(dict(_written_settings(quorum, files)), release)
    quorum.notices += notices
    if settings:
        quorum.data["settings"] = settings
    combined = sorted(
        broker
        for broker, file in files.by_broker.items()
        if "controller" in file.roles() or (files.quorum and broker in voters)
    )
    if combined:
        quorum.notices.add(
            "controllers",
            f"nodes that are broker and controller: {named(combined)}; here the controllers are "
            "processes of their own, so a fault of such a broker spares the controller",
        )
    return quorum


def _voters(files: BrokerFiles) -> list[int]:
    """The ids of the voters that the files name; empty if none does."""
    if files.quorum:
        return files.quorum.voters
    for file in files.nodes():
        entries = (file.text(_VOTERS) or "").split(",")
        ids = [entry.strip().partition("@")[0] for entry in entries if "@" in entry]
        voters = [int(node) for node in ids if node.isdecimal()]
        if voters:
            return voters
    return []


def _voters_may_change(
    files: BrokerFiles, voters: Sequence[int], release: str, features: FeatureLevels | None
) -> bool:
    """Whether kraft.version is 1.

    A kraft.version of 0 in the output of kafka-features.sh is no sign (KAFKA-18920).
    """
    if not kraft_cells_of(release)["newest_kraft_version"].value:
        return False
    if (files.quorum and files.quorum.is_dynamic) or (features and features.kraft_version > 0):
        return True
    return not voters and bool(_servers(files))


def _servers(files: BrokerFiles) -> list[str]:
    """The addresses in controller.quorum.bootstrap.servers, each once."""
    texts = [file.text(_SERVERS) or "" for file in files.nodes()]
    servers = (server.strip() for text in texts for server in text.split(","))
    return [*dict.fromkeys(server for server in servers if server)]


def _name_voters(quorum: DescribedQuorum, files: BrokerFiles, voters: Sequence[int]) -> list[int]:
    """The voters, which may change, and other controllers: their ids, in the scenario's order."""
    others = [node for node in controller_ids(files) if node not in voters]
    if not voters:
        count = _assumed_voters(quorum, files, others)
        quorum.data |= {"count": count, "voters": [*range(count)]}
        return others
    quorum.data |= {"count": len(voters) + len(others), "voters": [*range(len(voters))]}
    quorum.notices.name("controllers", "controllers that observe", others)
    if files.quorum is not None:
        quorum.notices.name(
            "controllers",
            "observe with another directory than that of the voter with their id; here only the "
            "voters are there",
            files.quorum.with_two_directories,
        )
        _name_servers(quorum, files, {node: number for number, node in enumerate(voters)})
    return [*voters, *others]


def _assumed_voters(quorum: DescribedQuorum, files: BrokerFiles, controllers: list[int]) -> int:
    """The number of voters that no file names: all controllers that files have."""
    servers = len(_servers(files))
    count = max(servers, len(controllers))
    if not count:
        count = _DEFAULT_COUNT
        assumed = f"no file names the controllers: assumed are {count}, all of them voters"
    elif count == servers:
        assumed = f"{_SERVERS} has {counted(count, 'controller')}: assumed are these as voters"
    else:
        assumed = f"files are of {counted(count, 'controller')}: assumed are these as voters"
    quorum.notices.add(
        "controllers",
        f"{assumed}; --quorum has the fact (kafka-metadata-quorum.sh describe --status)",
    )
    return count


def _name_servers(quorum: DescribedQuorum, files: BrokerFiles, numbers: Mapping[int, int]) -> None:
    """Name the bootstrap servers, if they are some of the controllers and all are known."""
    voter_at = {} if files.quorum is None else files.quorum.voter_at
    servers = _servers(files)
    known = {numbers[voter_at[server]] for server in servers if server in voter_at}
    if servers and len(known) == len(servers) < quorum.data["count"]:
        quorum.data["bootstrap_servers"] = sorted(known)


def controller_ids(files: BrokerFiles) -> list[int]:
    """The nodes that are controllers, by their own files."""
    ids = (file.broker_id() for file in files.nodes() if "controller" in file.roles())
    return [node for node in ids if node is not None]


def _count(quorum: DescribedQuorum, files: BrokerFiles, voters: Sequence[int]) -> int:
    """The number of static voters."""
    named_count = len(voters)
    reason = "the quorum has" if files.quorum else f"{_VOTERS} has"
    if not named_count:
        named_count, reason = len(_servers(files)), f"{_SERVERS} has"
    if not named_count:
        quorum.notices.add(
            "controllers", f"no file names the controllers: assumed are {_DEFAULT_COUNT}"
        )
        return _DEFAULT_COUNT
    count = next((count for count in _COUNTS if count >= named_count), _COUNTS[-1])
    if count != named_count:
        quorum.notices.add(
            "controllers", f"{reason} {named_count} controllers; simulated are {count}"
        )
    return count


def _place_in_racks(
    quorum: DescribedQuorum,
    files: BrokerFiles,
    racks: dict[str, list[int]],
    voters: Collection[int],
) -> None:
    """Place the controllers: those whose rack no file has are spread over the brokers' racks."""
    rack_of = {broker: rack for rack, brokers in racks.items() for broker in brokers}
    for file in files.controllers:
        if (node := file.broker_id()) is not None and (rack := file.text("broker.rack")) in racks:
            rack_of[node] = rack
    known = [rack_of[node] for node in voters if node in rack_of]
    placed = racks_of_controllers(racks, quorum.data["count"], known)
    if placed:
        quorum.data["racks"] = placed
    if len(placed) > len(known):
        quorum.notices.add(
            "controllers",
            f"no file has the racks of all controllers: assumed are {named(placed)}, in turn; a "
            "rack that loses power takes its controllers along: change `controllers.racks` to "
            "correct that",
        )


def _written_settings(
    quorum: DescribedQuorum, files: BrokerFiles
) -> Iterator[tuple[str, Property]]:
    """The settings of the controllers; from files of brokers only where no controller has one.

    Those that brokers have, too, are controllers' own only in a file of a controller alone.
    """
    controllers: list[ServerProperties] = [
        file for file in files.nodes() if "controller" in file.roles()
    ]
    if not controllers and files.all():
        quorum.notices.add(
            "controllers",
            "no file is of a controller: settings of controllers are those in files of brokers",
        )
    for file in reversed(controllers or files.all()):
        is_controller_only = file.roles() == {"controller"}
        for name, each in file.properties.items():
            if is_controller_only or name not in DECIDED_BY_CONTROLLERS:
                yield name, each
