"""Steps in the other mode: of one that has nothing to do there, the wait remains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.scenario.other_mode.conversion import Conversion, without
from tidegauge.scenario.other_mode.settings import configured_settings
from tidegauge.scenario.text.errors import Path

_BEGINS = ("at", "after", "when", "within")


def steps(
    to: Conversion,
    written: Sequence[Mapping[str, Any]],
    left_out: set[str],
    over_at_once: set[str],
) -> list[dict[str, Any]]:
    """The steps.

    Args:
        to: the conversion.
        written: the steps as they were.
        left_out: the names of faults that are left out.
        over_at_once: the names of faults that need no end any more.
    """
    return [
        _step(to, ("steps", place), step, left_out, over_at_once)
        for place, step in enumerate(written)
    ]


def _step(
    to: Conversion,
    path: Path,
    step: Mapping[str, Any],
    left_out: set[str],
    over_at_once: set[str],
) -> dict[str, Any]:
    do, fault = step["do"], step.get("fault")
    if do in {"begin_fault", "end_fault"} and fault in left_out:
        to.note(path, f"waits only: the fault {fault} is left out")
        return _wait(step)
    if do == "end_fault" and fault in over_at_once:
        to.note(path, f"waits only: the fault {fault} is over at once")
        return _wait(step)
    if do == "configure":
        settings = configured_settings(to, (*path, "settings"), step["settings"])
        return {**step, "settings": settings} if settings else _wait(step)
    if do == "reassign" and to.to_kraft and "throttle" in step:
        text = "left out: throttled replication is not simulated with KRaft yet"
        to.note((*path, "throttle"), text)
        return without(step, "throttle")
    return dict(step)


def _wait(step: Mapping[str, Any]) -> dict[str, Any]:
    return {name: step[name] for name in _BEGINS if name in step} | {"do": "wait"}
