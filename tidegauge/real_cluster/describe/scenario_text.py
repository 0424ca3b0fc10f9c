"""An imported scenario as YAML that is easy to read and to change.

The lines of a topic can be compared with the dump. The head names the source files, and has all
notices.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.real_cluster.describe.imported_scenario import ImportedScenario
from tidegauge.scenario.text.errors import Path
from tidegauge.scenario.text.yaml_file import comment, in_line, lines_of
from tidegauge.simulation.quantities import format_duration, parse_duration

#: The comment above a part, if the part has its own place.
_ABOUT = {
    "cluster": "",
    "controllers": "",
    "topics": (
        "state: leader and ISR as the run begins. A partition that it does not name is led by "
        "the first of its replicas, and all of them are in sync."
    ),
    "workload": "",
    "steps": "Actions of the operator. Beside `do`, `throttle: 10000000` is the tool's --throttle.",
    "faults": "Faults. A broker that is down remains down: add `for: 10m` to have it return.",
}


def scenario_text(imported: ImportedScenario) -> str:
    """The whole file."""
    lines = [*_introduction(imported)]
    remarks = _remarks(imported)
    for name, part in imported.data.items():
        lines += _about(name)
        lines += lines_of({name: part}, remarks)
    lines += _faults_to_try(imported)
    return "\n".join(lines) + "\n"


def _introduction(imported: ImportedScenario) -> Iterator[str]:
    yield from comment(f"Made by `tidegauge import` from {', '.join(imported.origins)}.")
    if imported.notices:
        yield "#"
        yield "# Notices:"
    for notice in imported.notices:
        yield from comment(f"- {notice.subject}: {notice.text}", "  ")


def _about(name: str) -> list[str]:
    """The comment above a part of the scenario."""
    return ["", *comment(_ABOUT[name])] if name in _ABOUT else []


def _faults_to_try(imported: ImportedScenario) -> Iterator[str]:
    """Example faults, commented out."""
    if imported.cluster.down:
        yield "# To add a fault, remove the # before it:"
    else:
        yield ""
        yield "# Faults: none yet. Remove the # before `faults` and before the faults to add."
        yield "#faults:"
    broker = (imported.cluster.up() or imported.cluster.brokers)[0]
    begin = format_duration(parse_duration(imported.data["duration"]) // 2)
    yield f"#  - {{kind: crash, at: {begin}, for: 2m, brokers: [{broker}]}}"
    yield f"#  - {{kind: slow_disk, at: {begin}, for: 30s, brokers: [{broker}], delay: 200ms}}"
    rack = next(iter(imported.data["cluster"].get("racks", ())), None)
    if rack is not None:
        hit = in_line([f"rack:{rack}"])
        yield f"#  - {{kind: power_loss, at: {begin}, for: 2m, brokers: {hit}}}"


def _remarks(imported: ImportedScenario) -> dict[Path, str]:
    """Comments at the ends of lines, by the path of a line's value."""
    places = {topic["name"]: place for place, topic in enumerate(imported.data["topics"])}
    return {
        ("topics", places[topic], "assignment", number): "not in the dump"
        for topic, numbers in imported.cluster.assumed.items()
        for number in numbers
    }
