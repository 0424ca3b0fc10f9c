"""What the stories about ISR changes have in common: variants of a scenario, rows, ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegauge.replication.replica_list import unpack
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.scenario.shipped import shipped_scenarios
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.simulation.zookeeper_tree import FIXED_ZNODES
from tidegauge.traces.run_folder import RunFolder, TraceRow


def as_written(name: str) -> dict[str, Any]:
    """The content of a scenario file that comes along."""
    written = read_scenario_file(shipped_scenarios()[name]).data
    assert isinstance(written, dict)
    return written


def retold(name: str, settings: Mapping[str, int | bool] | None = None, **parts: Any) -> Scenario:
    """A scenario that comes along with some parts and settings of its brokers exchanged.

    Other than in ``shipped`` everything that the file does not say is left open, so that
    another release brings its own defaults. The story ends with the run.
    """
    story = as_written(name) | {"liveness": False} | parts
    cluster = dict(story["cluster"])
    cluster["settings"] = cluster.get("settings", {}) | dict(settings or {})
    return scenario_from_mapping(story | {"cluster": cluster}, name)


def moved(name: str, begins_ms: int) -> list[dict[str, Any]]:
    """The one fault of a scenario, beginning at another time."""
    (fault,) = as_written(name)["faults"]
    return [dict(fault) | {"at": f"{begins_ms}ms"}]


def members(run: RunFolder, row: TraceRow, column: str = "isr") -> list[int]:
    """The brokers of an ISR, by their ids, in its order."""
    replicas = run.manifest["partitions"][row["partition"]]["replicas"]
    return [replicas[slot] for slot in unpack(row[column])]


def reason_of(run: RunFolder, row: TraceRow) -> str | None:
    """The name of the fault that a row gives as its reason."""
    cause = run.canonical_row(row["because_process"], row["because_sequence"])
    if cause is None or cause.kind != "fault_began":
        return None
    return str(run.manifest["faults"][cause["fault"]]["name"])


def process_named(run: RunFolder, name: str) -> int:
    """The number of a process."""
    return int(next(each["process"] for each in run.manifest["processes"] if each["name"] == name))


def process_of_role(run: RunFolder, role: str) -> int:
    """The number of the one process in a role."""
    (number,) = [each["process"] for each in run.manifest["processes"] if each["role"] == role]
    return int(number)


def isr_changes(run: RunFolder) -> list[TraceRow]:
    """All changes that leaders have made to ISRs, in order."""
    kinds = ("isr_shrunk", "isr_expanded")
    return list(run.all_rows(wanted=lambda kind: kind.name in kinds))


def is_notification(run: RunFolder, row: TraceRow) -> bool:
    """Whether a row about a znode is about a child of /isr_change_notification."""
    topics = len({each["topic"] for each in run.manifest["partitions"]})
    fixed = int(FIXED_ZNODES) + len(run.manifest["brokers"]) + topics
    return row["znode"] >= fixed + len(run.manifest["partitions"])


def ms(row: TraceRow) -> int:
    """When a row was written, in whole milliseconds, as Kafka's clocks tell it."""
    return row["time_us"] // 1000
