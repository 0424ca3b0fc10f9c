"""Recorded schedules of real brokers, as they are, bent, and written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: What comes along: schedules that were played on real brokers.
GOLDEN = Path(__file__).parents[1] / "data" / "golden"
#: The same of KRaft clusters.
GOLDEN_KRAFT = Path(__file__).parents[1] / "data" / "golden_kraft"
#: ... of 4.4.0, with new schedules, and some of these on older releases, in folders below.
GOLDEN_KRAFT_44 = Path(__file__).parents[1] / "data" / "golden_kraft_44"

_LOOPBACK = {"min": "20us", "p50": "30us", "p90": "50us", "p99": "100us", "max": "500us"}
#: The ``network`` of a scenario whose brokers are on one machine, as the recorded ones were.
ON_ONE_MACHINE = dict.fromkeys(
    ("within_rack", "between_racks", "clients", "within_host"), _LOOPBACK
)


def golden(name: str) -> dict[str, Any]:
    """The content of a file that comes along, without its times: these have rules of their own."""
    recording: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    for step in recording["steps"]:
        spans = step["result"].get("ranges_ms", {})
        for path in [path for path in spans if path.endswith((".ms", "waited_ms", "shutdown_ms"))]:
            del spans[path]
        for writes in step.get("state_writes", {}).values():
            writes["t_ms"] = []
    return recording


def own(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A recording of three brokers that somebody wrote by hand: topic t, and then these steps."""
    create = {"step": {"op": "create", "topic": "t", "assign": {"0": [1, 2, 3]}}}
    return {"release": "2.6.3", "brokers": [1, 2, 3], "steps": [create, *steps]} | changes


def seen(**fields: Any) -> dict[str, Any]:
    """An observation of these fields and no others."""
    return {"exact": fields}


def written(recording: object, file: Path) -> Path:
    """A recording as a file."""
    file.write_text(json.dumps(recording))
    return file
