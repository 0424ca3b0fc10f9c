"""A recorded schedule, played with default costs and with calibrated ones, beside the real times."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tidegauge.calibration.moments import figures_of
from tidegauge.calibration.played_times import moments_of_run
from tidegauge.calibration.recorded_times import moments_of_truth, read_json
from tidegauge.conformance.recorded_dialects import in_one_form
from tidegauge.conformance.recorded_schedule import RecordedSchedule
from tidegauge.conformance.translation import translate
from tidegauge.engine.simulate import simulate
from tidegauge.replication.release_versions import KRAFT_MODE


def schedule_in(folder: Path) -> tuple[RecordedSchedule, Mapping[str, Any]]:
    schedule, truth = read_json(folder / "schedule.json"), read_json(folder / "truth.json")
    nodes = lambda kind: sorted(int(each.name.rpartition("-")[2]) for each in folder.glob(f"{kind}-*"))
    brokers, controllers = nodes("broker"), nodes("controller")
    truth = {**truth, "controllers": controllers}
    started = [node for _, node, what in truth["processes"] if what == "start" and node in brokers]
    data = {
        **schedule,
        "brokers": brokers,
        "settings": truth["settings"],
        "steps": [{"i": number, "step": step} for number, step in enumerate(schedule["steps"])],
    }
    if data.get("mode") == KRAFT_MODE:
        data |= {"controllers": controllers, "features": truth.get("features")}
    else:
        data |= {"first_controller": started[0]}
    if data.get("features", 0) is None: del data["features"]
    return RecordedSchedule.model_validate(in_one_form(data)), truth


def played_figures(schedule, costs, seeds=12):
    found = defaultdict(list)
    for seed in range(1, seeds + 1):
        translation = translate(schedule, seed=seed, costs=costs)
        with TemporaryDirectory(prefix="tidegauge-") as folder:
            run = simulate(translation.scenario, Path(folder) / "run")
            for name, values in figures_of(moments_of_run(translation, run)).items():
                found[name] += values
    return found
