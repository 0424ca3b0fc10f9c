"""The controllers of a KRaft cluster, as far as the files of its nodes show them.

The voters are those that kafka-metadata-quorum.sh prints, or those in controller.quorum.voters.
With controller.quorum.bootstrap.servers only some of them may be named, so they are assumed. A node
that is broker and controller is simulated as two processes, on machines of their own.

No dump has the rack of a controller, and few files of controllers have broker.rack, as Kafka makes
no use of it there. Controllers of which no file has it are assumed to stand in the racks of the
brokers, one after the other by name.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from tidegauge.real_cluster.describe.cluster_settings import BrokerFiles, controller_settings
from tidegauge.real_cluster.describe.input_file import Notices, named
from tidegauge.real_cluster.describe.server_properties import Property, ServerProperties
from tidegauge.scenario.model.cluster import racks_of_controllers
from tidegauge.scenario.model.settings import DECIDED_BY_CONTROLLERS

#: The numbers of controllers that a scenario can have.
_COUNTS = (1, 3, 5)
_DEFAULT_COUNT = 3


@dataclass
class DescribedQuorum:
    """The part ``controllers`` of a scenario."""

    data: dict[str, Any] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)


def described_quorum(
    files: BrokerFiles, racks: dict[str, list[int]], release: str
) -> DescribedQuorum:
    """The controllers of a cluster of this release.

    Args:
        files: The files of its nodes.
        racks: Ids of brokers by rack.
        release: The release of Kafka.

    Raises:
        InputError: a setting of a controller has a value that Kafka would refuse.
    """
    quorum = DescribedQuorum()
    voters = _voters(files)
    quorum.data["count"] = _count(quorum, files, voters)
    _place_in_racks(quorum, files, racks, voters or _controller_ids(files))
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


def _voters(files: BrokerFiles) -> dict[int, str]:
    """The voters that the files name: addresses by node.id; empty if none does."""
    if files.quorum:
        return dict.fromkeys(files.quorum.voters, "")
    for file in files.nodes():
        entries = (file.text("controller.quorum.voters") or "").split(",")
        pairs = [entry.strip().partition("@") for entry in entries if "@" in entry]
        voters = {int(node): address for node, _, address in pairs if node.isdecimal()}
        if voters:
            return voters
    return {}


def _controller_ids(files: BrokerFiles) -> list[int]:
    """The nodes that are controllers, by their own files."""
    ids = (file.broker_id() for file in files.nodes() if "controller" in file.roles())
    return [node for node in ids if node is not None]


def _count(quorum: DescribedQuorum, files: BrokerFiles, voters: dict[int, str]) -> int:
    named_count = len(voters)
    reason = "the quorum has" if files.quorum else "controller.quorum.voters has"
    if not named_count:
        servers = {
            server.strip()
            for file in files.nodes()
            for server in (file.text("controller.quorum.bootstrap.servers") or "").split(",")
            if server.strip()
        }
        named_count, reason = len(servers), "controller.quorum.bootstrap.servers has"
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
