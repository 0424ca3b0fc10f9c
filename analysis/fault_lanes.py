"""The lines on which pictures show faults over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Rows of the result table ``faults``.
FaultRows = Sequence[Mapping[str, Any]]


def fault_lanes(faults: FaultRows, most: int) -> dict[str, FaultRows]:
    """Faults by their line: by name up to so many names, else by kind."""
    by_name = _grouped(faults, "fault_name")
    if len(by_name) <= most:
        return by_name
    return {
        of_kind[0]["fault_name"] if len(of_kind) == 1 else f"{len(of_kind)} x {kind}": of_kind
        for kind, of_kind in _grouped(faults, "fault_kind").items()
    }


def _grouped(faults: FaultRows, column: str) -> dict[str, FaultRows]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for each in faults:
        groups.setdefault(each[column], []).append(each)
    return {**groups}
