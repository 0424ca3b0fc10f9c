"""``manifest.json``: the scenario of a run, and the names for the numbers in its rows."""

from __future__ import annotations

from typing import Any

from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.faults import fault_name
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, ZOOKEEPER
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION, tidegauge_version
from tidegauge.traces.run_files import FORMAT

_ROLES = {int(CONTROLLER): "controller", int(ZOOKEEPER): "zookeeper", int(CLIENT): "client"}


def manifest_of(plan: ClusterPlan) -> dict[str, Any]:
    """The manifest: the resolved scenario, and the names for its numbers."""
    scenario = plan.scenario
    return {
        "format": FORMAT,
        "tidegauge": tidegauge_version(),
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario.resolved(),
        "seed": scenario.seed,
        "trace": scenario.trace,
        "switches": dict(plan.switches),
        "processes": [
            {"process": number, "name": each.name, "role": _ROLES.get(each.role, "broker")}
            for number, each in enumerate(plan.processes)
        ],
        "brokers": list(plan.brokers),
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.number,
                "replicas": [plan.brokers[broker] for broker in partition.replicas],
                "slots": [plan.brokers[broker] for broker in partition.slots],
            }
            for partition in plan.partitions
        ],
        "faults": [
            {
                "name": fault_name(plan.faults, number),
                "kind": fault.kind,
                "text": _fault_text(fault),
            }
            for number, fault in enumerate(plan.faults)
        ],
    }


def _fault_text(fault: Any) -> str:
    """A fault in a few words: its kind and its targets."""
    if hasattr(fault, "between"):
        arrow = "->" if fault.one_way else "<->"
        one, other = (",".join(str(end) for end in ends) for ends in fault.between)
        return f"{fault.kind} {one} {arrow} {other}"
    if hasattr(fault, "brokers"):
        return f"{fault.kind} of {','.join(str(each) for each in fault.brokers) or 'all'}"
    return str(fault.kind)
