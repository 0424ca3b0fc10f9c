"""Suspects: the faults and steps of an operator that may be behind a picture, and their rates.

A suspect is a fault or a step without times. Those are tried that can change the state of a
partition with replicas on some brokers: faults of these brokers, of the links between them, of the
links to the control plane, of racks, and of the control plane.

A rate orders explanations that the picture cannot tell apart. It is that of the cluster file's
``fault_rates`` which draw this fault, else an assumption (:data:`ASSUMED_PER_YEAR`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

from tidegauge.replication.release_versions import ZOOKEEPER_MODE
from tidegauge.scenario.model.component_faults import FAULTS
from tidegauge.scenario.model.fault_rates import FaultRate
from tidegauge.scenario.model.selectors import LinkEnd
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import plural
from tidegauge.simulation.quantities import UNITS_US, format_duration

_YEAR_US = 365 * 24 * UNITS_US["h"]

#: Occurrences a year of one component, where the cluster file has no rate. No source: restarts are
#: those of monthly updates; the others are of the order that operators report, and decide nothing
#: but the order of explanations.
ASSUMED_PER_YEAR: Mapping[str, float] = {
    "restart": 12,
    "crash": 2,
    "pause": 4,
    "power_loss": 0.2,
    "slow_disk": 1,
    "log_directory_failure": 0.3,
    "cut_link": 0.5,
    "slow_link": 0.3,
    "zookeeper_outage": 1,
    "controller_move": 2,
    "preferred_election": 6,
}


class Suspect(NamedTuple):
    """A fault, or a step, without its times."""

    written: Mapping[str, Any]
    #: Occurrences a year.
    per_year: float
    #: It has a duration.
    lasts: bool

    @property
    def is_step(self) -> bool:
        """Whether it is a step of the operator."""
        return "do" in self.written

    @property
    def kind(self) -> str:
        """The kind of the fault or the step."""
        return str(self.written["do" if self.is_step else "kind"])


class KnownRate(NamedTuple):
    """A rate of the cluster file, and the processes or links that it hits."""

    rate: FaultRate
    ends: tuple[frozenset[LinkEnd], frozenset[LinkEnd]]


def rates_in(rates: Iterable[Mapping[str, Any]], scenario: Scenario) -> list[KnownRate]:
    """The rates of a cluster file, as it has them; the scenario is that of the file."""
    known = []
    for rate in map(FaultRate.model_validate, rates):
        one, other = rate.fault.sides(scenario)
        known.append(KnownRate(rate, (frozenset(one), frozenset(other))))
    return known


def suspects_of(
    scenario: Scenario, rates: Sequence[KnownRate], hosts: Sequence[int], lag_us: int
) -> list[Suspect]:
    """The suspects, faults before steps.

    Args:
        scenario: the cluster.
        rates: the rates of the cluster file.
        hosts: ids of the brokers with a replica that is in the picture.
        lag_us: the longest replica.lag.time.max.ms.
    """
    faults = [
        *(fault for host in hosts for fault in _of_host(scenario, host, lag_us)),
        *_of_links(hosts),
        *_of_racks(scenario),
        *_of_control_plane(scenario),
    ]
    made = [
        Suspect(fault, _per_year(scenario, fault, rates), not FAULTS[fault["kind"]].is_over_at_once)
        for fault in faults
    ]
    election = {"do": "preferred_election"}
    return [*made, Suspect(election, ASSUMED_PER_YEAR["preferred_election"], lasts=False)]


def _control_plane(scenario: Scenario) -> str:
    return "zookeeper" if scenario.mode == ZOOKEEPER_MODE else "controllers"


def _of_host(scenario: Scenario, host: int, lag_us: int) -> Iterator[dict[str, Any]]:
    """The faults of a broker's machine: of its process, its disk, its network."""
    for kind in ("restart", "crash", "pause", "power_loss"):
        yield {"kind": kind, "brokers": [host]}
    brokers = [f"broker:{each}" for each in scenario.broker_ids() if each != host]
    others = [each for each in scenario.broker_ids() if each != host]
    plane = _control_plane(scenario)
    if others:
        yield {"kind": "cut_link", "between": [[host], [*others, plane]]}
        yield {"kind": "cut_link", "between": [[f"broker:{host}"], brokers]}
        slow = format_duration(lag_us)
        between = [[f"broker:{host}"], brokers]
        yield {"kind": "slow_link", "between": between, "delay": slow}
    yield {"kind": "cut_link", "between": [[f"broker:{host}"], [plane]]}
    # A disk that hangs: each append takes longer than a follower may lag.
    yield {"kind": "slow_disk", "brokers": [host], "delay": format_duration(2 * lag_us)}
    yield {"kind": "log_directory_failure", "brokers": [host]}


def _of_links(hosts: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Cuts between two replicas, in both directions or in one."""
    for one, other in combinations(hosts, 2):
        yield {"kind": "cut_link", "between": [[f"broker:{one}"], [f"broker:{other}"]]}
    for one, other in permutations(hosts, 2):
        between = [[f"broker:{one}"], [f"broker:{other}"]]
        yield {"kind": "cut_link", "between": between, "one_way": True}


def _of_racks(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """A rack without power, and one without its network."""
    racks: dict[str, list[int]] = {}
    for broker in scenario.broker_ids():
        rack = scenario.rack_of(broker)
        if rack:
            racks.setdefault(rack, []).append(broker)
    if len(racks) < 2:  # noqa: PLR2004 - one rack is the whole cluster
        return
    for rack, brokers in racks.items():
        if len(brokers) == 1:
            continue
        others = [f"rack:{each}" for each in racks if each != rack]
        yield {"kind": "power_loss", "brokers": [f"rack:{rack}"]}
        yield {"kind": "cut_link", "between": [[f"rack:{rack}"], others]}


def _of_control_plane(scenario: Scenario) -> Iterator[dict[str, Any]]:
    if scenario.mode == ZOOKEEPER_MODE:
        yield {"kind": "zookeeper_outage"}
        yield {"kind": "controller_move"}
        return
    for kind in ("pause", "crash"):
        yield {"kind": kind, "brokers": ["controllers"]}
        if scenario.controllers.count > 1:
            for number in range(scenario.controllers.count):
                yield {"kind": kind, "brokers": [f"controller:{number}"]}


def _per_year(scenario: Scenario, fault: Mapping[str, Any], rates: Iterable[KnownRate]) -> float:
    """The rate of a fault: that of the cluster file, else the assumed one."""
    kind = str(fault["kind"])
    model = FAULTS[kind].model_validate(fault)
    one, other = (frozenset(ends) for ends in model.sides(scenario))
    for each in rates:
        if each.rate.fault.kind != kind:
            continue
        is_whole = (one, other) == each.ends
        is_part = each.rate.each == "broker" and one <= each.ends[0] and other <= each.ends[1]
        if is_whole or is_part:
            return _YEAR_US / each.rate.mtbf_us
    return ASSUMED_PER_YEAR[kind]


def words_of(written: Mapping[str, Any]) -> str:
    """A fault or a step without its times, in words: ``pause of broker 2``."""
    if "do" in written:
        return str(written["do"]).replace("_", " ")
    kind = str(written["kind"]).replace("_", " ")
    if "between" not in written:
        return f"{kind} of {_names(written['brokers'], 'broker')}" if "brokers" in written else kind
    one, other = (_names(side, "machine") for side in written["between"])
    arrow = "to" if written.get("one_way") else "from"
    slow = f", {written['delay']} more a message" if "delay" in written else ""
    return f"{kind}: {one} {arrow} {other}{slow}"


def _names(selectors: Iterable[int | str], host: str) -> str:
    """Processes and machines in words: ``machines 2, 3, zookeeper``."""
    groups: dict[str, list[str]] = {}
    for each in selectors:
        kind, colon, name = str(each).rpartition(":")
        if colon or isinstance(each, int):
            groups.setdefault(kind or host, []).append(name)
        else:
            groups[str(each)] = []
    return ", ".join(
        f"{kind if len(names) == 1 else plural(kind)} {', '.join(names)}" if names else kind
        for kind, names in groups.items()
    )
