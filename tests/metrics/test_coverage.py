"""The document that says what is served says it of all that is served."""

from __future__ import annotations

from pathlib import Path

from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.spellings.all_spellings import STRIMZI

SPELLED = STRIMZI.spelled(FAMILIES)
DOCUMENT = (Path(__file__).resolve().parents[2] / "metrics" / "COVERAGE.md").read_text()


def test_each_metric_has_its_row_and_each_row_its_metric() -> None:
    served = {
        f"| `{one.name}` | {one.kind} | {one.family.scope.value} | {one.help} |" for one in SPELLED
    }
    written = {line for line in DOCUMENT.splitlines() if line.startswith("| `")}
    assert served == written


def test_no_stand_ins_are_served() -> None:
    """Never invented: what a JVM, a process, a container or a volume would report."""
    foreign = ("jvm_", "java_", "process_", "container_", "kubelet_", "node_", "zookeeper_")
    assert [one.name for one in SPELLED if one.name.startswith(foreign)] == []
