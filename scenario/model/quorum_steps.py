"""Steps about a KRaft quorum: the voters of its controllers (KIP-853), the features of its cluster.

Their requests go to the active controller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.replication.records import MOST_DIRECTORIES
from tidegauge.replication.release_versions import DEFAULT_RELEASE, ProtocolVersion, Release
from tidegauge.scenario.model import parts
from tidegauge.scenario.model.cluster import ProtocolText, ReleaseText
from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.references import controller_is_there
from tidegauge.scenario.model.step import Numbers, StepOfAnyKind
from tidegauge.scenario.text.errors import Path, Problem

if TYPE_CHECKING:  # as in step.py
    from tidegauge.clients.client_state import Step as StepRecord

#: FeatureUpdate.UpgradeType@3.9.0
_UPGRADE_TYPES = {"upgrade": 1, "safe_downgrade": 2, "unsafe_downgrade": 3}
_NEWEST = Release.parse(DEFAULT_RELEASE)


class ChangeVoterStep(StepOfAnyKind):
    """A step that changes the voters of the quorum by one."""

    do: str
    controller: parts.ControllerNumber = Field(
        description="Number of the controller; 0: controller:0."
    )
    directory: Annotated[int | None, parts.Unit("directory number")] = Field(
        default=None,
        ge=1,
        le=MOST_DIRECTORIES,
        description="Number of its metadata directory: a controller has 1 at first, and the next "
        "one each time it has lost its disk. Default: the directory that it has then, of a removal "
        "that of the voter with this number.",
    )
    to: Annotated[int | None, parts.Unit("controller number")] = Field(
        default=None,
        ge=0,
        description="Number of the controller that gets the request, and whose response counts. "
        "Default: the active one, which is looked for.",
    )

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A cluster with ZooKeeper; controllers that are not there."""
        if not scenario.has_kraft:
            yield Problem((*path, "do"), "needs mode: kraft; ZooKeeper's servers do not change")
            return
        yield from controller_is_there((*path, "controller"), self.controller, scenario)
        if self.to is not None:
            yield from controller_is_there((*path, "to"), self.to, scenario)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The voter, and the receiver of the request."""
        del numbers
        record.voter = self.controller
        record.voter_directory = 0 if self.directory is None else self.directory
        if self.to is not None:
            record.to = self.to


class AddControllerStep(ChangeVoterStep):
    """Make a controller a voter of the quorum, by AddRaftVoter (kafka-metadata-quorum.sh).

    The controller must observe, and be caught up. The leader answers REQUEST_TIMED_OUT otherwise,
    and for an id that is a voter already, with whatever directory, DUPLICATE_VOTER. Voters of
    `controller.quorum.voters` do not change: UNSUPPORTED_VERSION.
    """

    examples = (
        "{do: add_controller, when: {observes: 3}, within: 1m, controller: 3}",
        (
            "{do: add_controller, at: 1m, controller: 3, directory: 1, to: 0, "
            "ack_when_committed: false}"
        ),
    )

    do: Literal["add_controller"]
    ack_when_committed: bool = Field(
        default=True,
        description="true: the response comes once the new set of voters is committed; false: once "
        "it is appended (from 4.2).",
    )

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """... and when it is answered."""
        super().plan(record, numbers)
        record.acks_when_committed = self.ack_when_committed


class RemoveControllerStep(ChangeVoterStep):
    """Take a controller out of the voters, by RemoveRaftVoter (kafka-metadata-quorum.sh).

    It observes from then on, if it runs; the active one hands over. The leader answers
    VOTER_NOT_FOUND if the controller is no voter with this directory, or the only one.
    """

    examples = (
        "{do: remove_controller, at: 1m, controller: 2}",
        "{do: remove_controller, at: 1m, controller: 2, directory: 1, to: 0}",
    )

    do: Literal["remove_controller"]


class UpdateFeaturesStep(StepOfAnyKind):
    """Change the level of features of a KRaft cluster, by UpdateFeatures (kafka-features.sh).

    It is refused with INVALID_UPDATE_VERSION as long as a registered broker or a controller does
    not support the level. Nodes follow the rules of the level once they have read the record of it.
    """

    examples = (
        '{do: update_features, at: 8m, metadata_version: "4.4"}',
        "{do: update_features, at: 9m, eligible_leader_replicas: true}",
        '{do: update_features, at: 9m, release_version: "4.4"}',
        '{do: update_features, at: 9m, metadata_version: "4.2", upgrade_type: safe_downgrade}',
        "{do: update_features, at: 9m, kraft_version: 1}",
    )

    do: Literal["update_features"]
    metadata_version: ProtocolText | None = Field(
        default=None,
        description="The new metadata.version, such as 4.1 or 4.1-IV1. Default: it stays.",
    )
    eligible_leader_replicas: bool | None = Field(
        default=None,
        description="true: eligible.leader.replicas.version 1 (KIP-966), which needs "
        "metadata.version 4.0-IV1; false: 0. Default: it stays.",
    )
    kraft_version: Literal[1] | None = Field(
        default=None,
        description="1: the voters of `controller.quorum.voters` become those that "
        "`add_controller` and `remove_controller` change (KIP-853), for good; by controllers from "
        "4.1 on. Those of 3.9 and 4.0 accept it without any effect (KAFKA-18979). Default: it "
        "stays.",
    )
    release_version: ReleaseText | None = Field(
        default=None,
        description="Instead of these: all features as in a new cluster of this release, as "
        "kafka-features.sh --release-version sets them, but none to 0 in an upgrade. From 3.9 on "
        "kraft.version is one of them.",
    )
    upgrade_type: Literal["upgrade", "safe_downgrade", "unsafe_downgrade"] = Field(
        default="upgrade",
        description="A downgrade must say that it is one. Kafka refuses it if a version in between "
        "has changed the format of metadata, also as an unsafe one.",
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        levels = (self.metadata_version, self.eligible_leader_replicas, self.kraft_version)
        names_levels = any(level is not None for level in levels)
        if names_levels == (self.release_version is not None):
            raise ValueError(
                "must have metadata_version, eligible_leader_replicas or kraft_version, or "
                "release_version instead"
            )
        return self

    @property
    def finalized_version(self) -> str | None:
        """The metadata.version that it asks for, in full; None: that stays."""
        text = self.metadata_version
        if self.release_version is not None:
            return str(Release.parse(self.release_version).metadata_version())
        return None if text is None else str(ProtocolVersion.parse(text))

    @property
    def _elr_version(self) -> int:
        """The level of eligible.leader.replicas.version that it asks for; -1: that stays.

        Source: FeatureCommand.handleUpgradeOrDowngrade@4.0.0.
        """
        if self.release_version is None:
            return -1 if self.eligible_leader_replicas is None else self.eligible_leader_replicas
        cells = kraft_cells_of(self.release_version)
        is_on = bool(cells["eligible_leader_replicas_by_default"].value)
        return -1 if self.upgrade_type == "upgrade" and not is_on else is_on

    @property
    def finalized_kraft_version(self) -> int:
        """The kraft.version that it asks for; -1: that stays.

        Source: FeatureCommand.handleUpgradeOrDowngrade@4.0.0, KRaftVersion.bootstrapMetadataVersion
        @4.0.0, FeatureCommandTest.testUpgradeWithReleaseVersion@4.0.0.
        """
        if self.release_version is None:
            return -1 if self.kraft_version is None else self.kraft_version
        newest = int(kraft_cells_of(self.release_version)["newest_kraft_version"].value)
        return newest if self.upgrade_type == "upgrade" and newest > 0 else -1

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A cluster with ZooKeeper; a version that is older than those that are simulated."""
        if not scenario.has_kraft:
            message = "needs mode: kraft; with ZooKeeper use a rolling_restart with to_protocol"
            yield Problem((*path, "do"), message)
            return
        field = "metadata_version" if self.release_version is None else "release_version"
        try:
            if self.finalized_version is not None:
                _NEWEST.metadata_version(self.finalized_version)
        except ValueError as error:
            yield Problem((*path, field), str(error))

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The levels, and the type of the update."""
        version = self.finalized_version
        record.metadata_version = -1 if version is None else numbers.metadata_version(version)
        record.elr_version = self._elr_version
        record.kraft_version = self.finalized_kraft_version
        record.upgrade_type = _UPGRADE_TYPES[self.upgrade_type]


QuorumStep = AddControllerStep | RemoveControllerStep | UpdateFeaturesStep
