"""Running scenarios on Ray in tests, and what makes two runs the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tidegauge.engine.inline_engine import inline
from tidegauge.engine.ray_engine import on_ray
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario
from tidegauge.traces.run_folder import RunFolder


def differences(one: RunFolder, other: RunFolder) -> list[str]:
    """What two runs have told differently: kinds of rows, and hashes of processes."""
    assert one.summary is not None
    assert other.summary is not None
    hashes = (one.summary["process_hashes"], other.summary["process_hashes"])
    found = [mine["process"] for mine, its in zip(*hashes, strict=True) if mine != its]
    if one.summary["trace_sha256"] != other.summary["trace_sha256"]:
        found.append("trace_sha256")
    for kind in one.kinds:
        mine, its = one.table(kind), other.table(kind)
        if any(not np.array_equal(mine[column], its[column]) for column in mine):
            found.append(kind)
    parts = ("checks", "liveness", "records_acknowledged", "partition_seconds_offline")
    return found + [part for part in parts if one.summary[part] != other.summary[part]]


def differences_on_ray(scenario: Scenario, folder: Path, actors: list[int]) -> list[str]:
    """What is told otherwise on so many actors than inline."""
    alone = simulate(scenario, folder / "inline", make_engine=inline())
    assert len(list(alone.rows("became_leader"))) > 0
    found = []
    for count in actors:
        run = simulate(scenario, folder / f"{count}-actors", make_engine=on_ray(count))
        assert run.summary is not None
        assert len(run.summary["groups"]) == count
        found += [f"{count} actors: {what}" for what in differences(alone, run)]
    return found
