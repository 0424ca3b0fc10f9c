"""Plans that change the voters of a KRaft quorum: an operator's commands in each order (KIP-853).

A question about voters has several plans instead of one fault. Each is tried as it is, and with a
second failure: one of the other voters dies for good. Its time is spread evenly over the seeds,
from the first command of a plan until some time after its last one, and is the same in all plans.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.analysis.over_seeds import OverSeeds
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.runs.quorum import AnsweredChange
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import AUTO_JOIN
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import format_duration
from tidegauge.what_if.question import Case, Given, Plan

_SECOND_US = 1_000_000
#: The operator's first command comes so long after the failure, and the next ones in this distance.
NOTICED_US = 30 * _SECOND_US
_BETWEEN_US = 10 * _SECOND_US
#: The second failure comes in this time, from the first command on.
SECOND_WITHIN_US = 60 * _SECOND_US
#: A plan is watched for so long from the failure on.
WATCHED_US = 120 * _SECOND_US
#: A disk is replaced in this time, and a controller is restarted.
_DISK_US = 10 * _SECOND_US
_DISK_DELAY_US = 300_000

#: The figures by which plans are compared, by their names in answers.
PLAN_FIGURES: Mapping[str, str] = {
    "one_failure_from_stopping": "quorum.no_margin_seconds",
    "stopped": "quorum.stopped_seconds",
    "wedged": "quorum.wedged_seconds",
    "without_leader": "quorum.leaderless_seconds",
    "without_commit": "quorum.commit_gap_seconds",
    "commit_ms": "quorum.commit_ms.p95",
}

#: The name of the second failure among the faults of a plan.
SECOND = "second"
#: Times of the second failure are whole parts of its span: a step of the golden ratio spreads them
#: evenly, however many seeds there are.
_PARTS, _GOLDEN = 1_000_000, 618_034


class _Quorum(NamedTuple):
    """The voters of a cluster, and the fields of its controllers for a plan with more of them."""

    voters: Sequence[int]
    first_spare: int

    @staticmethod
    def of(cluster: Scenario) -> "_Quorum":
        """That of a cluster with KRaft.

        Raises:
            ValueError: it has ZooKeeper, an old release, or too few voters.
        """
        if not cluster.has_kraft:
            raise ValueError("the cluster has ZooKeeper, whose servers do not change")
        if not kraft_cells_of(cluster.release)["newest_kraft_version"].value:
            raise ValueError(f"voters of a quorum change from 3.9 on, not in {cluster.release}")
        voters = cluster.controllers.first_voters
        if len(voters) < 3:  # noqa: PLR2004 - the least of which one may fail
            known = counted(len(voters), "voter")
            raise ValueError(f"the quorum has {known}; it needs 3 to bear a failure")
        return _Quorum(voters, cluster.controllers.count)

    def controllers(self, spares: int = 0, **settings: object) -> dict[str, object]:
        """Fields of ``controllers``: voters that may change, and new controllers that observe."""
        fields: dict[str, object] = {
            "voters": [*self.voters],
            "count": self.first_spare + spares,
        }
        return fields | ({"settings": settings} if settings else {})


class TriedPlan(NamedTuple):
    """The outcome of a plan over all seeds."""

    plan: Plan
    #: The scenario as it is, and with the second failure.
    file: Path
    file_of_second: Path
    #: The answers to its commands, as it is.
    answers: Sequence[AnsweredChange]
    #: Of each of ``PLAN_FIGURES`` the values over the seeds, as it is and with the second failure.
    alone: Mapping[str, OverSeeds]
    with_second: Mapping[str, OverSeeds]
    #: The command of the run without a leader for the longest time.
    worst_command: str

    @property
    def share_at_risk(self) -> float:
        """The part of the time from the failure on in which one more stops the quorum."""
        return self.alone["one_failure_from_stopping"].mean * _SECOND_US / WATCHED_US

    @property
    def share_stopped(self) -> float:
        """The part of that time in which it has stopped without a second failure."""
        return self.alone["stopped"].mean * _SECOND_US / WATCHED_US

    @property
    def errors_text(self) -> str:
        """The errors that its requests ended with: ``add DUPLICATE_VOTER``; empty: all were taken.

        A controller that does not lead is asked on the way, one that joins by itself asks again.
        """
        last = {(each.change, each.voter): each for each in self.answers}
        return ", ".join(
            f"{each.change} {each.error}" for each in last.values() if each.error != "NONE"
        )


def replaced_voter(cluster: Scenario, given: Given, begin_us: int) -> Sequence[Plan]:
    """The last voter dies, and a new controller is there: each order of the commands."""
    del given
    quorum = _Quorum.of(cluster)
    *others, dead = quorum.voters
    orders = [(), ("remove", "add"), ("add", "remove"), *permutations(("remove", "add", "restart"))]
    plans = []
    for order in orders:
        times_us = dict(zip(order, _times_us(begin_us), strict=False))
        down = _fault("crash", dead, begin_us, times_us.pop("restart", None))
        steps = [
            _step(command, quorum.first_spare if command == "add" else dead, at_us)
            for command, at_us in times_us.items()
        ]
        case = Case(WATCHED_US, [down], steps, quorum.controllers(spares=1))
        plans.append(Plan(", ".join(order) or "nothing", case, others))
    return plans


def replaced_disk(cluster: Scenario, given: Given, begin_us: int) -> Sequence[Plan]:
    """The last voter is back with a new disk, and so with a new directory."""
    del given
    quorum = _Quorum.of(cluster)
    *others, hit = quorum.voters
    lost = _fault("disk_loss", hit, begin_us, begin_us + _DISK_US)
    plans = []
    for order in ((), ("remove", "add"), ("add", "remove")):
        steps = [
            _step(command, hit, at_us, 2 if command == "add" else 1)
            for command, at_us in zip(order, _times_us(begin_us), strict=False)
        ]
        name = ", ".join(order) or "nothing"
        plans.append(Plan(name, Case(WATCHED_US, [lost], steps, quorum.controllers()), others))
    if not kraft_cells_of(cluster.release)["observer_can_join"].value:
        return plans
    joins = quorum.controllers(**{AUTO_JOIN: True})
    return [*plans, Plan("auto-join", Case(WATCHED_US, [lost], (), joins), others)]


def removed_leader(cluster: Scenario, given: Given, begin_us: int) -> Sequence[Plan]:
    """The active controller is to go: removed while it runs, or stopped; or beside a dead voter."""
    del given
    quorum = _Quorum.of(cluster)
    active, *others = quorum.voters
    first_us, then_us, *_ = _times_us(begin_us)
    stopped = _fault("restart", active, first_us)
    dead = _fault("crash", others[-1], begin_us, begin_us + WATCHED_US // 2)
    removal = _step("remove", active, first_us)
    swap = [_step("add", quorum.first_spare, first_us), _step("remove", active, then_us)]
    return [
        Plan(name, Case(WATCHED_US, faults, steps, quorum.controllers(spares=1)), victims)
        for name, faults, steps, victims in (
            ("stop", [stopped], (), others),
            ("stop, remove", [stopped], [_step("remove", active, then_us)], others),
            ("remove", (), [removal], others),
            ("add another, remove", (), swap, others),
            ("remove, a voter dead", [dead], [removal], others[:-1]),
        )
    ]


def added_voter(cluster: Scenario, given: Given, begin_us: int) -> Sequence[Plan]:
    """One voter more, or two: in health, with a slow disk, and dead before or after it is added."""
    quorum = _Quorum.of(cluster)
    new = quorum.first_spare
    first_us, then_us, *_ = _times_us(begin_us)
    delay = format_duration(given.delay_us or _DISK_DELAY_US)
    slow = {**_fault("slow_disk", new, begin_us), "delay": delay}
    one = [_step("add", new, first_us)]
    return [
        Plan(name, Case(WATCHED_US, faults, steps, quorum.controllers(spares=2)), quorum.voters)
        for name, faults, steps in (
            ("nothing", (), ()),
            ("add one", (), one),
            (f"add one, writes {delay}", [slow], one),
            ("add one, which dies", [_fault("crash", new, then_us)], one),
            ("add a dead one", [_fault("crash", new, begin_us)], one),
            ("add two", (), [*one, _step("add", new + 1, then_us)]),
        )
    ]


def with_second_failure(case: Case, begin_us: int) -> Case:
    """The case with a second failure, whose time and voter each run sets."""
    second = {"name": SECOND, "kind": "crash", "at": _at(begin_us), "brokers": ["controller:0"]}
    return case._replace(faults=[*case.faults, second])


def second_failure(plan: Plan, begin_us: int, seed: int) -> Mapping[str, str]:
    """The time and the voter of the second failure with a seed: values by their paths."""
    part = seed * _GOLDEN % _PARTS
    at_us = begin_us + NOTICED_US + part * SECOND_WITHIN_US // _PARTS
    victim = plan.others[seed % len(plan.others)]
    return {
        f"faults.{SECOND}.at": _at(at_us // 1000 * 1000),
        f"faults.{SECOND}.brokers": json.dumps([_name(victim)]),
    }


def _times_us(begin_us: int) -> Iterator[int]:
    """The times of an operator's commands, one after the other."""
    for number in range(3):
        yield begin_us + NOTICED_US + number * _BETWEEN_US


def _step(
    command: str, controller: int, at_us: int, directory: int | None = None
) -> dict[str, Any]:
    step = {"do": f"{command}_controller", "at": _at(at_us), "controller": controller}
    return step if directory is None else {**step, "directory": directory}


def _fault(kind: str, controller: int, at_us: int, until_us: int | None = None) -> dict[str, Any]:
    """A fault of a controller; without an end it lasts as long as the run."""
    fault = {"name": kind.replace("_", "-"), "kind": kind, "brokers": [_name(controller)]}
    lasts = {} if until_us is None else {"for": format_duration(until_us - at_us)}
    return {**fault, "at": _at(at_us), **lasts}


def _name(controller: int) -> str:
    return f"controller:{controller}"


def _at(at_us: int) -> str:
    return format_duration(at_us)
