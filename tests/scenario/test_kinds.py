"""Each kind of fault and step is complete: one class gives all facts, one rule has its code."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

import tidegauge.engine.event_loop  # noqa: F401 - its rules give the codes
from tidegauge.clients.step_requests import STEP_CODES
from tidegauge.compiled.codes import NamedCodes
from tidegauge.engine.layout.cluster_tables import new_clients, new_kernel
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.component_faults import FAULTS
from tidegauge.scenario.model.fault import BrokerFault, FaultOfAnyKind
from tidegauge.scenario.model.parts import Part
from tidegauge.scenario.model.request_steps import STEPS
from tidegauge.scenario.model.step import StepOfAnyKind
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.simulation.faults import FAULT_CODES

KINDS: dict[str, type[Part]] = {**FAULTS, **STEPS}
EXAMPLES = [
    pytest.param(yaml.safe_load(example), id=f"{kind}-{number}")
    for kind, part in KINDS.items()
    for number, example in enumerate(part.examples)
]
#: The steps that must come before a step.
BEFORE: dict[str, list[dict[str, Any]]] = {
    "end_fault": [{"do": "begin_fault", "at": "1s", "fault": "power"}],
    "verify_reassignment": [
        {
            "do": "reassign",
            "at": "1s",
            "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3, 4]}],
        }
    ],
}


#: The faults, steps and settings of one mode alone, and a release of it.
ONLY_IN: dict[str, str] = {
    "authentication_failure": "4.1",
    "disk_loss": "4.1",
    "cordoned.log.dirs": "4.4",
    "update_features": "4.4",
    "configure to": "4.1",
    "add_controller": "4.4",
    "remove_controller": "4.4",
    "controllers": "4.1",
}


def scenario_of(part: dict[str, Any]) -> Scenario:
    """A fault or a step in a cluster that has all that examples name; a step is the last one."""
    faults = [part]
    steps = []
    if "do" in part:
        steps = [*BEFORE.get(part["do"], []), part]
        begins = {} if part["do"] in {"begin_fault", "end_fault"} else {"at": "1s"}
        faults = [{"name": "power", "kind": "power_loss", "brokers": [2]} | begins]
    story: dict[str, Any] = {
        "duration": "10m",
        "cluster": {
            "brokers": 5,
            "racks": {"a": [1, 3], "b": [2, 4, 5]},
            "log_directories": part.get("directory", 1),
        },
        "topics": [{"name": "orders", "assignment": {0: [1, 2, 3]}}],
        "workload": {
            "producers": [{"name": "shop", "topics": ["orders"], "batches_per_second": 1}],
            "consumers": [
                {"name": "billing", "topics": ["orders"], "settings": {"enable.auto.commit": True}}
            ],
        },
        "faults": faults,
        "pins": [{"name": part["pin"], "hold": "FETCH"}] if "pin" in part else [],
        "steps": steps,
        **({"controllers": {"count": 4, "voters": [0, 1, 2]}} if "controller" in part else {}),
    }
    selected = [each for each in part.get("brokers", []) if isinstance(each, str)]
    named = {part.get("do"), part.get("kind"), *part.get("settings", {}), *selected}
    if "to" in part:
        named.add(f"{part['do']} to")
    release = next((ONLY_IN[name] for name in ONLY_IN if name in named), "2.6")
    return scenario_from_mapping(story | {"release": release}, "kinds")


def missing_facts(part: type[Part]) -> list[str]:
    """The facts that the class of a kind does not give."""
    found = [] if part.__doc__ else ["docstring"]
    found += [] if "examples" in vars(part) else ["examples"]
    if issubclass(part, FaultOfAnyKind):
        says_effect = hasattr(part, "effect") or part.words is not FaultOfAnyKind.words
        found += [] if says_effect else ["effect"]
        found += [] if part.sides is not FaultOfAnyKind.sides else ["sides"]
    shown = {name for each in part.examples for name in yaml.safe_load(each)}
    common = (FaultOfAnyKind, StepOfAnyKind)
    shown |= {name for each in common if issubclass(part, each) for name in names(each)}
    return found + sorted(names(part) - shown)


def names(part: type[Part]) -> set[str]:
    return {info.alias or name for name, info in part.model_fields.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_gives_all_facts_about_itself(kind: str) -> None:
    assert missing_facts(KINDS[kind]) == []


def test_a_kind_that_leaves_facts_out_is_found() -> None:
    class Flood(FaultOfAnyKind):
        kind: str

    class DeepFlood(BrokerFault):
        """Water rises in machines."""

        examples = ("{kind: deep_flood, brokers: [1]}",)
        level_metres: int

    assert missing_facts(Flood) == ["docstring", "examples", "effect", "sides", "kind"]
    assert missing_facts(DeepFlood) == ["effect", "level_metres"]


def test_each_kind_has_a_code_in_the_kernel_and_each_code_a_kind() -> None:
    assert set(FAULT_CODES) == set(FAULTS)
    steps = [STEPS[kind].model_validate(part) for kind, part in examples_of_steps()]
    assert set(STEP_CODES) == {step.action() for step in steps}


def examples_of_steps() -> list[tuple[str, Any]]:
    return [(kind, yaml.safe_load(example)) for kind in STEPS for example in STEPS[kind].examples]


@pytest.mark.parametrize(("name", "value"), [("pause", 1), ("flood", 0)])
def test_two_kinds_cannot_share_a_name_or_a_code(name: str, value: int) -> None:
    codes = NamedCodes()
    codes.new("pause", 0)
    with pytest.raises(AssertionError, match=r"has a code already|is the code of another"):
        codes.new(name, value)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_planned_for_the_kernel(example: dict[str, Any]) -> None:
    """A fault hits processes, or links between two sides; a step has the code of its action."""
    scenario = scenario_of(example)
    plan = ClusterPlan(scenario)
    if "do" in example:
        clients = new_clients(plan)
        taken = clients.steps[len(clients.steps) - 1]
        assert taken.action == STEP_CODES[scenario.steps[-1].action()]
        return
    processes = range(len(plan.processes))
    kernel = new_kernel(plan, processes, 8, 8)
    assert kernel.faults[0].kind == FAULT_CODES[example["kind"]]
    sides = [int(kernel.fault_roles[process].side) for process in processes]
    assert set(sides) == ({0, 1, 2} if kernel.faults[0].is_between else {0, 1})
    (fault,) = scenario.faults
    assert fault.words(scenario).strip(": ,") == fault.words(scenario) != ""


@pytest.mark.parametrize("kind", [kind for kind in FAULTS if "brokers" in names(FAULTS[kind])])
def test_a_fault_of_a_broker_that_does_not_exist_is_refused(kind: str) -> None:
    example = yaml.safe_load(FAULTS[kind].examples[0])
    with pytest.raises(ScenarioError, match=r"faults\[0\].brokers\[0\]: there is no broker 9"):
        scenario_of(example | {"brokers": [9]})
