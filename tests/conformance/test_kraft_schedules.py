"""Recordings of KRaft clusters, written by hand: their steps as a scenario, and a run of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from metadata_records import manifest_of
from recordings import own, written
from tidegauge.laboratory.conformance.played_schedule import outcomes_of
from tidegauge.laboratory.conformance.played_state import StepOutcome
from tidegauge.laboratory.conformance.recorded_dialects import records_by_step
from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordedSchedule,
    RecordingError,
    load_schedule,
)
from tidegauge.laboratory.conformance.translation import Translation, translate
from tidegauge.replication.errors import CODES
from tidegauge.scenario.model.process_faults import PauseFault
from tidegauge.scenario.model.request_steps import ProduceStep
from tidegauge.simulation.trace_rows.schema import ENUMERATIONS
from tidegauge.traces.run_folder import TraceRow

KRAFT: dict[str, Any] = {
    "release": "4.1.0",
    "mode": "kraft",
    "controllers": [10],
    "settings": {
        "controller": {"broker.session.timeout.ms": 4000},
        "broker": {"broker.heartbeat.interval.ms": 500, "log.cleaner.enable": "false"},
    },
}


def schedule(folder: Path, *steps: dict[str, Any], **changes: Any) -> RecordedSchedule:
    """A recording of topic t, and then these steps."""
    recorded = [{"step": step} if "op" in step else step for step in steps]
    return load_schedule(written(own(*recorded, **KRAFT | changes), folder / "mine.json"))


def conditions(translation: Translation, place: int) -> list[dict[str, Any]]:
    """The conditions for which the scenario waits in a recorded step."""
    return [
        step.when.model_dump(exclude_none=True, by_alias=True)
        for step in steps_of(translation, place)
        if step.when is not None
    ]


def steps_of(translation: Translation, place: int) -> Sequence[Any]:
    """The scenario's steps for a recorded step."""
    played = translation.steps[place]
    return translation.scenario.steps[played.first : played.end]


# Reading.


@pytest.mark.parametrize(
    ("features", "version", "has_elr"),
    [
        ({"metadata.version": 27, "eligible.leader.replicas.version": 1}, "4.1-IV1", True),
        ({"metadata.version": 25}, "4.0-IV3", False),
        (None, None, None),  # the release's own
    ],
)
def test_levels_of_features_have_the_names_of_versions(
    tmp_path: Path, features: Any, version: str | None, has_elr: bool | None
) -> None:
    read = schedule(tmp_path, features=features)
    assert (read.metadata_version, read.eligible_leader_replicas) == (version, has_elr)


def test_a_level_that_no_kraft_cluster_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"metadata\.version 3, older than any"):
        schedule(tmp_path, features={"metadata.version": 3})


def test_settings_are_those_of_brokers_and_of_controllers(tmp_path: Path) -> None:
    translation = translate(schedule(tmp_path))
    assert translation.scenario.cluster.settings == {"broker.heartbeat.interval.ms": 500}
    assert translation.scenario.controllers.settings == {"broker.session.timeout.ms": 4000}
    assert translation.not_modelled == ["log.cleaner.enable"]


def test_the_controller_that_was_active_first_is_the_simulated_one(tmp_path: Path) -> None:
    asleep = {"step": {"op": "sleep", "s": 1}, "obs": {"exact": {"controller": 12}}}
    read = schedule(tmp_path, asleep, controllers=[10, 11, 12])
    assert read.first_controller == 12
    assert translate(read).scenario.controllers.count == 3


# Steps.


def test_unfenced_is_registered_and_fenced_is_not(tmp_path: Path) -> None:
    translation = translate(
        schedule(
            tmp_path,
            {"op": "kill", "b": [3], "q": False},
            {"op": "wait_fenced", "b": 3},
            {"op": "start", "b": [3], "q": False},
            {"op": "wait_unfenced", "b": 3},
        )
    )
    assert conditions(translation, 2) == [{"unregistered": (3,)}]
    assert conditions(translation, 3) == [{"registered": (3,)}]
    assert conditions(translation, 4) == [{"registered": (3,)}]


def test_sigcont_means_nothing_to_a_controller_that_runs(tmp_path: Path) -> None:
    """A harness resumes all controllers; which of them it had paused is a matter of roles."""
    read = schedule(
        tmp_path,
        {"op": "pause", "b": ["controller"], "q": False},
        {"op": "resume", "b": [10, 11, 12], "q": False},
        controllers=[10, 11, 12],
    )
    assert [step.do for step in steps_of(translate(read), 2)] == ["wait", "end_fault"]


def test_controllers_are_named_by_roles_that_the_recording_solves(tmp_path: Path) -> None:
    paused = {"op": "pause", "b": ["ctrl_follower"], "q": False}
    read = schedule(
        tmp_path, {"step": paused, "chosen_by_repeat": [[12]]}, controllers=[10, 11, 12]
    )
    (fault,) = translate(read).scenario.faults
    assert isinstance(fault, PauseFault)
    assert [(each.kind, each.broker) for each in fault.brokers] == [("controller", 2)]


def test_a_stream_sends_as_many_requests_as_were_recorded(tmp_path: Path) -> None:
    """4 s before the move, 1 s during it and 5 s after it, at 5 requests a second."""
    stop = {"step": {"op": "stream_stop", "name": "s"}, "result": {"exact": {}}}
    stop["result"] = {"exact": {"stream": {"requests": 50}}}
    move = {"op": "reassign", "to": {"t-0": [1, 2, 3]}, "q": False}
    stream = {"op": "stream", "name": "s", "tp": "t-0", "rate": 50, "acks": -1, "warm": 4}
    translation = translate(
        schedule(
            tmp_path,
            {"step": stream, "result": {"ranges_ms": {"step_ms": [4000, 4000]}}},
            {"step": move, "result": {"ranges_ms": {"step_ms": 1000, "done_ms": 1000}}},
            {"step": {"op": "sleep", "s": 5}, "result": {"ranges_ms": {"step_ms": 5000}}},
            stop,
        )
    )
    sent = [
        sum(isinstance(step, ProduceStep) for step in steps_of(translation, place))
        for place in range(1, 5)
    ]
    assert sent == [20, 5, 25, 0]
    assert len(translation.steps[4].streamed) == 50


def test_an_update_of_features_is_played_if_the_simulator_has_the_feature(tmp_path: Path) -> None:
    """UpdateFeatures; type 2 is a downgrade (FeatureUpdate.UpgradeType)."""
    off = {"op": "features", "set": {"eligible.leader.replicas.version": 0}, "type": 2}
    unknown = {"op": "features", "set": {"share.version": 1}}
    translation = translate(schedule(tmp_path, off, unknown))
    (update,) = (each for each in steps_of(translation, 1) if each.do == "update_features")
    assert (update.eligible_leader_replicas, update.upgrade_type) == (False, "safe_downgrade")
    assert translation.not_played is not None
    assert translation.not_played.reason.endswith("no request for feature share.version")


def test_controllers_have_numbers_in_place_of_their_epochs(tmp_path: Path) -> None:
    """The vote split before the first step and again after a death: both are races."""
    observed = {"controller": 10, "controller_epoch": 4}
    write = ["change", 2, [2, 3], [], [], 1, 1, 0, 4]
    step = {
        "step": {"op": "kill", "b": [1]},
        "obs": {"exact": observed},
        "state_writes": {"t-0": {"exact": None, "writes": [write]}},
        "timeline_by_repeat": [[[0, "LeaderChange", "", {"leader": 10}, 7, 4]]],
    }
    startup = [[0, "LeaderChange", "", {"leader": 10}, 0, 2]]
    create = {"op": "create", "topic": "t", "assign": {"0": [1, 2, 3]}}
    recorded = own(**KRAFT, startup_by_repeat=[startup])
    recorded["steps"] = [{"step": create, "timeline_by_repeat": [[]]}, step]
    read = load_schedule(written(recorded, tmp_path / "mine.json"))
    assert read.steps[1].observed is not None
    assert read.steps[1].observed.exact["controller_epoch"] == 2
    assert read.steps[1].state_writes["t-0"].writes[0][-1] == 2


def test_a_record_with_cordoned_directories_alone_changes_no_state() -> None:
    """KIP-1066: one follows each start of a broker of 4.3 and later."""
    cordoned = [
        "BrokerRegistrationChangeRecord",
        "b1",
        {"broker_epoch": 5, "cordoned_log_dirs": []},
    ]
    unfenced = ["BrokerRegistrationChangeRecord", "b1", {"broker_epoch": 5, "fenced": False}]
    startup = [[0, "RegisterBrokerRecord", "b1", {"broker_epoch": 5}, 5, 1]]
    timeline = [[0, *each, 6, 1] for each in (cordoned, unfenced)]
    (records,) = records_by_step(startup, [timeline])
    assert records == {"b1": [["unfenced", 1]]}


@pytest.mark.parametrize(("session_ms", "fenced"), [(4000, [{"unregistered": (3,)}]), (60_000, [])])
def test_a_paused_broker_is_fenced_unless_its_session_is_longer_than_a_harness_waits(
    tmp_path: Path, session_ms: int, fenced: list[dict[str, Any]]
) -> None:
    settings = {"controller": {"broker.session.timeout.ms": session_ms}}
    paused = schedule(tmp_path, {"op": "pause", "b": [3]}, settings=settings)
    waited = conditions(translate(paused), 1)
    assert [each for each in waited if "unregistered" in each] == fenced * 2


def test_brokers_that_die_together_are_fenced_in_the_recorded_order_of_one_of_the_repeats(
    tmp_path: Path,
) -> None:
    """Broker heartbeats before the kill are not recorded (BrokerHeartbeatManager)."""
    fenced = [
        [[1, "BrokerRegistrationChangeRecord", f"b{broker}", {"fenced": True}, 1, 1]]
        for broker in (3, 1)
    ]
    killed = {
        "step": {"op": "kill", "b": [1, 2, 3], "q": False},
        "timeline_by_repeat": [[*fenced[0], *fenced[1]], [*fenced[1], *fenced[0]]],
    }
    for seed, order in ((1, [3, 1, 2]), (2, [1, 3, 2]), (3, [3, 1, 2])):
        faults = translate(schedule(tmp_path, killed), seed=seed).scenario.faults
        assert [fault.brokers[0].broker for fault in faults] == order  # type: ignore[union-attr]


def test_a_link_to_a_controller_ends_at_that_controller(tmp_path: Path) -> None:
    cut = {"op": "cut", "links": [[1, 10], [10, 1], [1, 2]], "q": False}
    faults = translate(schedule(tmp_path, cut)).scenario.faults
    between = [[str(end[0]) for end in fault.between] for fault in faults]  # type: ignore[union-attr]
    assert between == [["1", "controller:0"], ["controller:0", "1"], ["1", "2"]]


@pytest.mark.parametrize(
    ("op", "kind"), [("kill", "crash"), ("term", "restart"), ("pause", "pause")]
)
@pytest.mark.parametrize("controller", [10, "controller"])
def test_a_controller_is_hit_by_its_id_or_as_the_active_one(
    tmp_path: Path, controller: Any, op: str, kind: str
) -> None:
    """The controller that was active first has number 0, and leads at the start of a run."""
    hit = schedule(tmp_path, {"op": op, "b": [controller]}, {"op": "pref"})
    translation = translate(hit)
    (fault,) = translation.scenario.faults
    assert (fault.kind, [str(each) for each in fault.brokers]) == (kind, ["controller:0"])  # type: ignore[union-attr]
    assert translation.not_played is None


def test_a_broker_that_dies_with_the_controller_dies_at_once(tmp_path: Path) -> None:
    killed = schedule(tmp_path, {"op": "kill", "b": ["controller", 3]})
    faults = [fault.name for fault in translate(killed).scenario.faults]
    assert faults == ["kill-of-10-at-step-1", "kill-of-3-at-step-1"]
    assert conditions(translate(killed), 1)[0] == {"unregistered": (3,)}


def test_a_controller_is_named_by_its_role_again_and_again(tmp_path: Path) -> None:
    """The one that was stopped comes back; then the role is that of the recorded next one."""
    steps: list[dict[str, Any]] = [{"op": op, "b": ["controller"]} for op in ("pause", "resume")]
    first, elected = ({"obs": {"exact": {"controller": each}}} for each in (10, 12))
    paused, resumed = ({"step": each} for each in steps)
    killed = {"step": {"op": "kill", "b": ["controller"]}}
    cut = {"op": "cut", "links": [["controller", 1]]}
    asleep = {"step": {"op": "sleep", "s": 1}} | first
    read = schedule(
        tmp_path, asleep, paused, resumed | elected, killed, cut, controllers=[10, 11, 12]
    )
    assert read.names_a_controller
    translation = translate(read)
    names = [fault.name for fault in translation.scenario.faults]
    assert names == [
        "pause-of-10-at-step-2",
        "kill-of-12-at-step-4",
        "cut-from-controller-to-1-at-step-5",
    ]
    ends = translation.scenario.faults[2].between  # type: ignore[union-attr]
    # Nobody has been seen to lead after 12.
    assert [str(end[0]) for end in ends] == ["controller:0", "1"]
    assert translation.not_played is None


def test_while_the_quorum_elects_a_harness_produces_to_the_leader_that_it_knows(
    tmp_path: Path,
) -> None:
    """Brokers say who leads a partition: that needs no controller."""
    paused = {"step": {"op": "pause", "b": ["controller"], "q": False}}
    produced = {
        "step": {"op": "produce", "tp": "t-0", "n": 1, "acks": -1},
        "result": {"exact": {"quiesce": {}, "results": {"t-0": [{"to": 1}]}}},
    }
    read = schedule(tmp_path, paused, produced, produced, controllers=[10, 11, 12])
    steps = translate(read).scenario.steps
    asked = [step.to for step in steps if isinstance(step, ProduceStep)]
    assert asked == [1, None]


def test_who_is_elected_has_the_recorded_id(tmp_path: Path) -> None:
    """Which of the others is elected is a race: their ids are exchanged."""
    active = [
        {"step": {"op": "sleep", "s": 1}, "obs": {"exact": {"controller": controller}}}
        for controller in (12, 10)
    ]
    read = schedule(tmp_path, *active, controllers=[10, 11, 12])
    assert read.voters == [12, 10, 11]
    assert not read.names_a_controller
    named = schedule(tmp_path, *active, {"op": "kill", "b": [11]}, controllers=[10, 11, 12])
    assert named.names_a_controller


# A run.


@dataclass
class WrittenRun:
    """A run of which only the rows and the names are read."""

    manifest: dict[str, Any]
    rows: list[TraceRow]
    enumerations = ENUMERATIONS

    def all_rows(self) -> list[TraceRow]:
        return self.rows


def played(translation: Translation, answers: dict[int, list[str]]) -> list[StepOutcome]:
    """The outcomes of steps whose requests to the controller have these errors, in their order."""
    rows: list[TraceRow] = []
    for place, step in enumerate(translation.steps):
        at = {"time_us": (place + 1) * 1_000_000}
        rows.append(TraceRow("step_taken", at | {"step": step.first}))
        errors = answers.get(place, [])
        for (number, _, _), error in zip(step.requests, errors, strict=True):
            answer = {"step": number, "error": CODES[error], "from_process": 5}
            rows.append(TraceRow("step_answered", at | answer))
        rows.append(TraceRow("step_taken", at | {"step": step.end - 1}))
    manifest = manifest_of(own())
    outcomes, stuck = outcomes_of(translation, WrittenRun(manifest, rows))  # type: ignore[arg-type]
    assert stuck is None
    return outcomes


def test_each_partition_has_its_own_result_of_an_election(tmp_path: Path) -> None:
    """ElectLeaders answers for each partition (ReplicationControlManager.electLeaders)."""
    elections = {"op": "pref"}, {"op": "pref", "type": 1}
    translation = translate(schedule(tmp_path, *elections))
    answers = {0: ["NONE"], 1: ["PREFERRED_LEADER_NOT_AVAILABLE"], 2: ["NONE"]}
    _, preferred, unclean = played(translation, answers)
    assert preferred.result["admin"] == {
        "error": "NONE",
        "results": {"t-0": "PREFERRED_LEADER_NOT_AVAILABLE"},
    }
    assert unclean.result["admin"] == {"error": "NONE", "results": {"t-0": "NONE"}}
    kinds = [
        translation.scenario.steps[number].action()
        for step in translation.steps
        for number, _, _ in step.requests
    ]
    assert kinds == ["create_topic", "preferred_election", "unclean_election"]


def test_a_refused_topic_has_the_error_of_its_request(tmp_path: Path) -> None:
    (created,) = played(translate(schedule(tmp_path)), {0: ["INVALID_REPLICA_ASSIGNMENT"]})
    assert created.result["admin"] == {"error": "INVALID_REPLICA_ASSIGNMENT"}
