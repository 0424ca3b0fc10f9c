"""Changes of a quorum's voters (KIP-853): the operator's steps, and the disks that were lost.

A controller whose disk was replaced has another directory, so it comes back under another key. With
controller.quorum.auto.join.enable (KIP-1186) controllers that observe become voters by themselves,
and take out their former keys: such changes are no steps.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tidegauge.real_cluster.incident.cluster_history import ClusterHistory, WrittenVoters
from tidegauge.real_cluster.incident.operator_steps import REQUEST_US, OperatorStep
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.real_cluster.incident.topology import Span, Topology
from tidegauge.runs.quorum import id_of_key
from tidegauge.scenario.model.settings import AUTO_JOIN

#: A controller without lines is assumed to have died so long before its key was no voter any more.
_ASSUMED_US = 5_000_000
#: A leader that is removed has a successor within this time.
_SUCCESSION_US = 10_000_000


class DiskLoss(NamedTuple):
    """A controller has come back with another directory."""

    controller: int
    begin: Span
    #: The first sign of the process with the new disk; None: unknown.
    back_us: int | None
    #: The time at which that has read the metadata log; None: unknown.
    read_us: int | None
    evidence: str

    @property
    def gone_us(self) -> int:
        """A time at which the process had ended."""
        return self.begin.most_us if self.back_us is None else self.back_us

    def explains(self, controller: int, replaced_us: int) -> bool:
        """Whether another one became active since this controller was gone."""
        is_then = self.begin.least_us < replaced_us <= self.gone_us
        return controller == self.controller and is_then


def disk_losses(history: ClusterHistory, sightings: Sightings) -> list[DiskLoss]:
    """The losses of disks: each controller that is a voter with another directory than before."""
    losses = []
    directories = _directories(history.voters[:1])
    for before, after in pairwise(history.voters):
        for controller, directory in _directories([after]).items():
            if directory > directories.setdefault(controller, directory):
                directories[controller] = directory
                loss = _disk_loss(controller, before, after, sightings)
                read = (us for us in history.voters_read.get(controller, ()) if us > loss.gone_us)
                losses.append(loss._replace(read_us=next(read, None)))
    return losses


def _disk_loss(
    controller: int, before: WrittenVoters, after: WrittenVoters, sightings: Sightings
) -> DiskLoss:
    evidence = f"it is a voter with another directory {after.words}"
    silence = sightings.longest_silence_us(controller, after.time_us)
    if silence is None:
        span = Span(before.time_us - _ASSUMED_US, 0, after.time_us)
        return DiskLoss(controller, span, None, None, f"{evidence}; its own logs are missing")
    last_us, back_us = silence
    lost_us = sightings.death_us(controller, last_us, back_us, is_certain=True)
    if lost_us is not None:
        last_us, evidence = lost_us, f"{evidence}; its peers lost their connections"
    span = Span(last_us, last_us, last_us if lost_us is not None else back_us)
    return DiskLoss(controller, span, back_us, None, evidence)


def _directories(sets: Sequence[WrittenVoters]) -> dict[int, int]:
    """The number of the directory of each controller; 0: a voter without one."""
    keys = (key.partition("#") for each in sets for key in each.voters)
    return {int(node): int(number or 0) for node, _, number in keys}


def has_left(history: ClusterHistory, controller: int, replaced_us: int) -> bool:
    """Whether a controller was taken out of the voters just before another one was active."""
    return any(
        controller in map(id_of_key, before.voters)
        and controller not in map(id_of_key, after.voters)
        and replaced_us - _SUCCESSION_US < after.time_us <= replaced_us
        for before, after in pairwise(history.voters)
    )


def voter_steps(
    history: ClusterHistory, topology: Topology, losses: Sequence[DiskLoss]
) -> Iterator[OperatorStep]:
    """The operator's changes of the voters, in their order."""
    joins = bool(topology.controller_settings.get(AUTO_JOIN))
    replaced = {loss.controller for loss in losses}
    if history.voters and topology.first_voters is None:
        yield OperatorStep(
            history.voters[0].time_us - REQUEST_US,
            {"do": "update_features", "kraft_version": 1},
            "the metadata log has voters, with their directories",
        )
    for before, after in pairwise(history.voters):
        at_us = after.time_us - REQUEST_US
        for key in sorted({*before.voters} - {*after.voters}):
            if joins and id_of_key(key) in replaced:
                continue
            step = {"do": "remove_controller", **_voter(key, topology)}
            yield OperatorStep(at_us, step, f"{key} is no voter any more {after.words}")
        for key in sorted({*after.voters} - {*before.voters}):
            if not joins:
                step = {"do": "add_controller", **_voter(key, topology)}
                yield OperatorStep(at_us, step, f"{key} is a voter {after.words}")


def _voter(key: str, topology: Topology) -> dict[str, int]:
    node, _, directory = key.partition("#")
    return {"controller": topology.controllers.index(int(node)), "directory": int(directory)}
