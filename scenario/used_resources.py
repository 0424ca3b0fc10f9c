"""The resources of machines and networks on which the result of a run will depend."""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.scenario.model.resources import Machine
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.quantities import UNLIMITED

#: Fields of ``resources``, each with the occasion on which it takes time.
_OCCASIONS = {
    "network_in": "records that are sent",
    "network_out": "records that are sent",
    "between_racks": "records that are sent",
    "disk_read": "records that are read and not in the page cache",
    "page_cache": "records that are read and not in the page cache",
    "disk_write": "appends, flushes and losses of power",
    "dirty_limit": "appends, flushes and losses of power",
}


class UsedResource(NamedTuple):
    """A resource, and its use."""

    #: Its path in a scenario, such as ``resources.disk_read``.
    name: str
    #: The kind of work that takes its time.
    occasion: str
    #: Its bandwidth or size as a scenario has it, such as ``600MB/s``.
    value: str
    is_default: bool


def used_resources(scenario: Scenario) -> list[UsedResource]:
    """The resources that records take time on, those of single brokers last; without records none.

    A resource without a limit takes no time.
    """
    if not scenario.workload.groups and not scenario.steps:
        return []
    common = scenario.resources
    found = _of_machine("resources", common, list(_OCCASIONS), common.model_fields_set)
    for broker, machine in common.brokers.items():
        fields = [name for name in _OCCASIONS if name in Machine.model_fields]
        own = [name for name in fields if getattr(machine, name) != getattr(common, name)]
        found += _of_machine(f"resources.brokers.{broker}", machine, own, set(own))
    return found


def _of_machine(
    path: str, machine: Machine, fields: list[str], said: set[str]
) -> list[UsedResource]:
    values = machine.model_dump(mode="json")
    return [
        UsedResource(f"{path}.{field}", _OCCASIONS[field], values[field], field not in said)
        for field in _OCCASIONS
        if field in fields and values[field] != UNLIMITED
    ]
