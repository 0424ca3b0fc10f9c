"""Coherence of a KRaft quorum: the releases in which its voters can change, its lost disks.

KIP-853 came with 3.9. Controllers raise kraft.version from 4.1 on (KAFKA-16538); before, they
accept the request without any effect (KAFKA-18979).
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from tidegauge.replication.kraft_releases import KRAFT_CELLS
from tidegauge.replication.records import MOST_DIRECTORIES
from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model.fault import BrokerFault, FaultOfAnyKind, Stop
from tidegauge.scenario.model.process_faults import DiskLossFault
from tidegauge.scenario.model.quorum_steps import (
    AddControllerStep,
    ChangeVoterStep,
    UpdateFeaturesStep,
)
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.text.errors import Path, Problem
from tidegauge.simulation.quantities import format_duration

#: The first release whose voters may change.
_FIRST_WITH_VOTERS = Release.parse(KRAFT_CELLS["newest_kraft_version"][-1].since)
#: AddRaftVoter v1, with ackWhenCommitted, is that of observers that join by themselves.
_FIRST_TO_ACK_EARLIER = Release.parse(KRAFT_CELLS["observer_can_join"][-1].since)


def problems_of_quorum(scenario: Scenario) -> Iterator[Problem]:
    """Voters, steps and settings that controllers do not know; disks that are lost too often."""
    if not scenario.has_kraft:
        return
    release = Release.parse(scenario.release)
    if scenario.controllers.voters and release < _FIRST_WITH_VOTERS:
        yield Problem(("controllers", "voters"), _too_old(_FIRST_WITH_VOTERS, release))
    yield from _steps(scenario)
    faults = ((("faults", place), fault) for place, fault in enumerate(scenario.faults))
    yield from disks_lost_too_often(scenario, faults)
    yield from _faults_before_starts(scenario)


def _faults_before_starts(scenario: Scenario) -> Iterator[Problem]:
    """Faults that stop controllers that do not run yet: their end would start them."""
    starts_us = scenario.controllers.start_us
    for place, fault in enumerate(scenario.faults):
        if not isinstance(fault, BrokerFault) or fault.stop is Stop.NEVER or fault.at_us is None:
            continue
        for number in scenario.controllers_of(fault.brokers):
            if fault.at_us < starts_us.get(number, 0):
                start = format_duration(starts_us[number])
                message = f"is before the start of controller:{number}, at {start}"
                yield Problem(("faults", place, "at"), message)


def _steps(scenario: Scenario) -> Iterator[Problem]:
    """Check steps by the newest release that controllers are upgraded to."""
    release = max(map(Release.parse, scenario.releases_of_controllers()))
    for place, step in enumerate(scenario.steps):
        path = ("steps", place)
        if isinstance(step, ChangeVoterStep) and release < _FIRST_WITH_VOTERS:
            yield Problem((*path, "do"), _too_old(_FIRST_WITH_VOTERS, release))
        raises = isinstance(step, UpdateFeaturesStep) and step.kraft_version is not None
        if raises and release < _FIRST_WITH_VOTERS:
            message = _too_old(_FIRST_WITH_VOTERS, release)
            yield Problem((*path, "kraft_version"), message)
        acks_earlier = isinstance(step, AddControllerStep) and not step.ack_when_committed
        if acks_earlier and release < _FIRST_TO_ACK_EARLIER:
            message = f"false {_too_old(_FIRST_TO_ACK_EARLIER, release)}"
            yield Problem((*path, "ack_when_committed"), message)


def _too_old(first: Release, release: Release) -> str:
    return f"needs release {first} or newer, not {release}"


def disks_lost_too_often(
    scenario: Scenario, faults: Iterable[tuple[Path, FaultOfAnyKind]]
) -> Iterator[Problem]:
    """Disks of a controller that would have more directories than a voter set can name.

    Args:
        scenario: with these faults, or with rates that they are drawn from.
        faults: in any order, each with the path of what is wrong with it.
    """
    if not scenario.voters_may_change():
        return
    losses: Counter[int] = Counter()
    for path, fault in faults:
        hit = fault.brokers if isinstance(fault, DiskLossFault) else ()
        for number in scenario.controllers_of(hit):
            losses[number] += 1
            if losses[number] == MOST_DIRECTORIES:
                most = MOST_DIRECTORIES - 1
                yield Problem(
                    path, f"is loss {most + 1} of controller:{number}'s disk; {most} is the most"
                )
