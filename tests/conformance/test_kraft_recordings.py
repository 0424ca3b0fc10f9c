"""Recordings of KRaft clusters: how they are read, and what a run shows in their form.

The metadata records of a recording, written as the rows of a run, must show what was observed of
the recorded cluster: so the form of a recording loses nothing and adds nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_records import Replay
from recordings import GOLDEN_KRAFT, GOLDEN_KRAFT_44
from tidegauge.laboratory.conformance.comparison import Field, compare, with_shift
from tidegauge.laboratory.conformance.played_state import KRaftState, StepOutcome
from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordedSchedule,
    RecordedStep,
    load_schedule,
    recorded_files,
)
from tidegauge.laboratory.conformance.translation import translate

#: Those of 4.4.0 without the folders below, whose schedules have steps of other kinds.
FILES = [*recorded_files([GOLDEN_KRAFT]), *sorted(GOLDEN_KRAFT_44.glob("*.json"))]
_VERSIONS = {"4.1.0": "4.1-IV1", "4.4.0": "4.4-IV2"}

#: The beginnings of the paths of what metadata records decide.
DECIDED = (
    "partitions.",
    "brokers.",
    "controller_epoch",
    "registered",
    "state_writes.",
    "broker_records.",
)
#: The time from a step to the next: more than any takes.
STEP_US = 1_000_000_000


@pytest.fixture(params=[pytest.param(each, id=f"{each.parent.name}-{each.stem}") for each in FILES])
def recording(request: pytest.FixtureRequest) -> Path:
    file: Path = request.param
    return file


def replayed(file: Path, repeat: int) -> tuple[RecordedSchedule, list[StepOutcome]]:
    """A recording, and what its own metadata records show, step by step."""
    data = json.loads(file.read_text())
    schedule = load_schedule(file)
    replay = Replay(data)
    state = KRaftState(replay.names, schedule)
    for row in replay.rows(data["startup_by_repeat"][repeat], 0):
        state.take(row, None)
    outcomes, topics = [], []
    for place, step in enumerate(data["steps"], start=1):
        outcome = StepOutcome(begin_us=place * STEP_US)
        if step["step"]["op"] == "create":
            topics.append(step["step"]["topic"])
        for row in replay.rows(step["timeline_by_repeat"][repeat], outcome.begin_us):
            state.take(row, outcome)
        outcome.observed = state.observe(topics)
        outcomes.append(outcome)
    return schedule, outcomes


def _is_near_a_border(step: RecordedStep, field: Field) -> bool:
    """Whether the last record of a step may have come after the observation.

    The harness did not wait for quiescence, or a paused broker was resumed in the next step, whose
    first batch has the time of its start, 25 ms before the call at the most.
    """
    return step.quiet_ms is None or field.path.startswith(
        ("brokers.", "broker_records.", "registered")
    )


def differences(file: Path, repeat: int) -> list[str]:
    """What differs of the state."""
    schedule, outcomes = replayed(file, repeat)
    steps = list(zip(schedule.steps, outcomes, strict=True))
    fields = [
        (step, with_shift(each, steps, place))
        for place, (step, outcome) in enumerate(steps)
        for each in compare(step, outcome, records_writes=True)
        if each.path.startswith(DECIDED) and ".logs." not in each.path
    ]
    assert len(fields) > 10 * len(schedule.steps)
    return [
        f"step {step.number}: {each.text()}"
        for step, each in fields
        if not each.equal and not (each.shifted and _is_near_a_border(step, each))
    ]


def test_every_step_of_a_recording_becomes_one_of_the_scenario(recording: Path) -> None:
    schedule = load_schedule(recording)
    translation = translate(schedule)
    scenario = translation.scenario
    assert (scenario.mode, scenario.metadata_version) == ("kraft", _VERSIONS[schedule.release])
    features = json.loads(recording.read_text())["features"]
    has_elr = "eligible.leader.replicas.version" in features
    assert scenario.has_eligible_leader_replicas() == has_elr
    session_ms = scenario.controller_settings()["broker.session.timeout.ms"]
    assert session_ms == schedule.controller_settings["broker.session.timeout.ms"]
    assert len(translation.steps) == len(schedule.steps)
    assert translation.not_played is None


def test_the_records_of_a_recording_show_what_was_observed(recording: Path) -> None:
    for repeat in range(json.loads(recording.read_text())["repeats"]):
        assert differences(recording, repeat) == []
