"""Faults drawn from rates: ordinary faults, which the seed alone decides on before the run."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest

from tidegauge.scenario.model.component_faults import SlowDiskFault
from tidegauge.scenario.model.fault import FaultOfAnyKind
from tidegauge.scenario.model.process_faults import CrashFault, PowerLossFault
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping

HOUR_US = 3_600_000_000
CRASHES: dict[str, Any] = {
    "kind": "crash",
    "brokers": ["rack:a", "rack:b"],
    "mtbf": "10m",
    "repair_time": {"min": "5s", "p50": "30s", "p99": "5m"},
}


def drawn(*rates: dict[str, Any], seed: int = 1, **parts: Any) -> Scenario:
    story = {
        "duration": "60m",
        "release": "2.6",
        "seed": seed,
        "cluster": {"brokers": 6, "racks": ["a", "b"]},
        "fault_rates": list(rates),
    }
    return scenario_from_mapping(story | parts, "rates")


def of_component(scenario: Scenario) -> dict[str, list[tuple[int, int]]]:
    """When the faults of each component begin and end, by the name but for its number."""
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for fault in scenario.faults:
        assert fault.name is not None
        assert fault.at_us is not None
        ends_us = fault.at_us + (fault.for_us or 0)
        found[fault.name.rpartition("-")[0]].append((fault.at_us, ends_us))
    return dict(found)


def test_each_broker_fails_and_is_repaired_in_turn() -> None:
    """A component that is being repaired does not fail."""
    scenario = drawn(CRASHES)
    assert {type(fault) for fault in scenario.faults} == {CrashFault}
    times = of_component(scenario)
    assert set(times) <= {f"crash-{broker}" for broker in range(1, 7)}
    for spans in times.values():
        assert all(end < begin for (_, end), (begin, _) in pairwise(spans))
        assert all(5_000_000 <= end - begin <= 300_000_000 for begin, end in spans)
        assert all(begin < HOUR_US for begin, _ in spans)


def test_how_long_components_work_has_the_mean_and_the_spread_of_what_does_not_age() -> None:
    """An exponential distribution: its standard deviation is its mean."""
    rate = CRASHES | {"mtbf": "2m", "repair_time": "1us"}
    works = []
    for seed in range(20):
        for spans in of_component(drawn(rate, seed=seed)).values():
            starts = [0, *(end for _, end in spans)]
            works += [begin - start for start, (begin, _) in zip(starts, spans, strict=False)]
    mean = sum(works) / len(works)
    deviation = (sum((each - mean) ** 2 for each in works) / len(works)) ** 0.5
    assert len(works) > 3000
    assert abs(mean - 120e6) < 6e6
    assert abs(deviation - 120e6) < 10e6


def test_the_manifest_has_what_was_drawn_so_that_it_runs_again_as_it_did() -> None:
    scenario = drawn(CRASHES)
    resolved = scenario.resolved()
    assert resolved["fault_rates"] == []
    assert len(resolved["faults"]) == len(scenario.faults) > 10
    again = scenario_from_mapping(resolved | {"seed": 99}, "again")
    assert again.faults == scenario.faults


def test_another_seed_draws_others_and_another_rate_leaves_these_as_they_are() -> None:
    alone = drawn(CRASHES).faults
    slow = {"kind": "slow_disk", "brokers": [1], "delay": "5ms", "mtbf": "5m", "repair_time": "9s"}
    with_other = drawn(CRASHES, slow).faults
    assert drawn(CRASHES).faults == alone
    assert drawn(CRASHES, seed=2).faults != alone
    assert [fault for fault in with_other if isinstance(fault, CrashFault)] == list(alone)
    assert {type(fault) for fault in with_other[len(alone) :]} == {SlowDiskFault}


def test_a_broker_more_leaves_the_faults_of_the_others_as_they_are() -> None:
    rate = CRASHES | {"brokers": [1, 2]}
    more = CRASHES | {"brokers": [1, 2, 3]}
    assert of_component(drawn(rate)).items() <= of_component(drawn(more)).items()


def test_a_rack_can_fail_as_a_whole() -> None:
    rate = {"kind": "power_loss", "brokers": ["rack:a", "rack:b"], "each": "selector"}
    scenario = drawn(rate | {"mtbf": "10m", "repair_time": "1m"})
    hit = []
    for fault in scenario.faults:
        assert isinstance(fault, PowerLossFault)
        hit.append([str(selector) for selector in fault.brokers])
    assert ["rack:a"] in hit
    assert ["rack:b"] in hit
    assert all(len(each) == 1 for each in hit)


def test_what_stands_in_no_rack_fails_by_itself() -> None:
    rate = CRASHES | {"kind": "power_loss", "brokers": ["rack:a", "zookeeper"]}
    assert set(of_component(drawn(rate))) == {
        *(f"power_loss-{broker}" for broker in (1, 3, 5)),
        "power_loss-zookeeper",
    }


@pytest.mark.parametrize(
    "rate",
    [
        {"kind": "cut_link", "between": [["rack:a"], ["rack:b"]], "repair_time": "5s"},
        {"kind": "zookeeper_outage", "repair_time": "5s"},
        {"kind": "controller_move"},
        {"kind": "pause", "brokers": [1], "repair_time": "5s"},
        {"kind": "log_directory_failure", "brokers": [1], "how": "full", "repair_time": "1m"},
    ],
)
def test_any_kind_of_fault_can_be_drawn(rate: dict[str, Any]) -> None:
    begins = [fault.at_us for fault in drawn(rate | {"mtbf": "4m"}).faults]
    assert len(begins) > 3
    assert begins == sorted(begin for begin in begins if begin is not None)


def test_components_fail_within_the_time_that_a_rate_is_for() -> None:
    faults = drawn(
        CRASHES | {"mtbf": "1m", "start": "20m", "stop": "30m", "name": "bad-night"}
    ).faults
    assert len(faults) > 10
    assert all(20 * 60 <= _at_us(fault) / 1e6 < 30 * 60 for fault in faults)
    assert all(str(fault.name).startswith("bad-night-") for fault in faults)


def _at_us(fault: FaultOfAnyKind) -> int:
    assert fault.at_us is not None
    return fault.at_us


#: (what is written otherwise, what is said about it).
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"brokers": ["rack:z"]}, r"fault_rates\[0\].brokers\[0\]: there is no rack z"),
    ({"mtbf": "1s", "repair_time": "1s"}, r"fault_rates\[0\].mtbf: draws more than 2000 faults"),
    ({"mtbf": "0s"}, r"fault_rates\[0\].mtbf: must be longer than 0"),
    ({"repair_time": None}, r"fault_rates\[0\].repair_time: is missing"),
    ({"at": "5s"}, r"fault_rates\[0\].at: is not a field of a rate"),
    ({"kind": "rolling_restart"}, r"fault_rates\[0\].kind: is a planned event and cannot be drawn"),
    ({"kind": "crush"}, r"fault_rates\[0\].kind: must be one of"),
    ({"start": "2h"}, r"fault_rates\[0\].start: .* too late"),
    ({"stop": "1m", "start": "2m"}, r"fault_rates\[0\].stop: must be after the start"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_what_is_wrong_with_a_rate_is_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        drawn({name: value for name, value in (CRASHES | change).items() if value is not None})


def test_what_is_drawn_has_names_of_its_own() -> None:
    named = {"kind": "crash", "name": "crash-1-1", "at": "1s", "brokers": [2]}
    with pytest.raises(ScenarioError, match="another fault has that name"):
        drawn(CRASHES, faults=[named])
