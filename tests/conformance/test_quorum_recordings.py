"""Recordings of quorums whose voters change (KIP-853): how they are read, and what is compared.

The stories below are those that recordings of 4.4.0 tell which do not come along.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from recordings import GOLDEN_KRAFT_44, own, written
from tidegauge.laboratory.conformance.comparison import TIME
from tidegauge.laboratory.conformance.conform import Conformance, conform
from tidegauge.laboratory.conformance.known_differences import KnownDifferences
from tidegauge.laboratory.conformance.played_quorum import PlayedQuorum
from tidegauge.laboratory.conformance.played_state import StepOutcome
from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordedSchedule,
    RecordingError,
    load_schedule,
)
from tidegauge.laboratory.conformance.translation import Translation, translate
from tidegauge.replication import voter_set
from tidegauge.replication.records import MOST_DIRECTORIES
from tidegauge.runs.trace_events import Names
from tidegauge.simulation.trace_rows import codes
from tidegauge.traces.run_folder import TraceRow

NOTHING_KNOWN = KnownDifferences(())
FILES = sorted((GOLDEN_KRAFT_44 / "new").glob("q*.json"))

#: The times of the recorded clusters, and their controllers.
QUORUM: dict[str, Any] = {
    "release": "4.4.0",
    "mode": "kraft",
    "brokers": [1, 2, 3],
    "controllers": [10, 11, 12],
    "quorum": {"kind": "initial", "initial": [10, 11, 12]},
    "settings": {
        "controller": {"broker.session.timeout.ms": 4000},
        "broker": {"broker.heartbeat.interval.ms": 500},
    },
}
#: ... with a new one, which is started later.
WITH_NEW = {"controllers": [10, 11, 12, 13], "start_controllers": [10, 11, 12]}
AUTO_JOIN = {"controller_settings": {"controller.quorum.auto.join.enable": "true"}}

STARTED, OBSERVES = {"op": "start", "b": [13], "q": False}, {"op": "wait_observer", "b": 13}


@pytest.fixture(params=[pytest.param(each, id=each.stem) for each in FILES])
def recording(request: pytest.FixtureRequest) -> Path:
    file: Path = request.param
    return file


def file_of(name: str) -> dict[str, Any]:
    (file,) = (each for each in FILES if each.stem.startswith(name))
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def keys(*directories: str) -> list[list[Any]]:
    """Voters as a recording names them: ``c11#2`` is controller 11 with its second directory."""
    return [[int(each[1:3]), each] for each in directories]


# Reading.


def quorum_seen(schedule: RecordedSchedule, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a step has observed of the quorum: in all repeats, and what varied."""
    observed = schedule.steps[number].observed
    assert observed is not None
    varied = {path: each for path, each in observed.varies.items() if path.startswith("quorum.")}
    return observed.exact.get("quorum", {}), varied


def test_a_quorum_is_read_as_the_leader_and_the_disks_show_it(tmp_path: Path) -> None:
    """DescribeQuorum shows a voter that was removed, and one with a new disk, as observers."""
    schedule = load_schedule(written(file_of("q06"), tmp_path / "q06.json"))
    exact, varied = quorum_seen(schedule, 10)
    # In one repeat controller 11 had lost its disk, in the other controller 10.
    assert varied["quorum.leader"] == [10, 11]
    assert varied["quorum.voters"] == [keys("c10#1", "c12#1"), keys("c11#1", "c12#1")]
    assert varied["quorum.observers"] == [keys("c11#1", "c11#2"), keys("c10#1", "c10#2")]
    assert varied["quorum.replicas.11.voters"] == varied["quorum.voters"]
    assert exact["replicas"]["12"] == {"kraft_version": 1}


def test_a_quorum_without_a_leader_has_the_voters_of_the_disks_alone(tmp_path: Path) -> None:
    schedule = load_schedule(written(file_of("q03"), tmp_path / "q03.json"))
    exact, varied = quorum_seen(schedule, 2)
    left = {"kraft_version": 1, "voters": keys("c11#1", "c12#1")}
    assert exact == {"leader": None, "replicas": {"10": left, "11": left, "12": left}}
    assert varied == {}


def test_records_of_voters_and_of_leaders_are_read_with_the_span_of_their_times(
    tmp_path: Path,
) -> None:
    schedule = load_schedule(written(file_of("q03"), tmp_path / "q03.json"))
    records = schedule.steps[2].quorum_records
    assert records is not None
    assert records["voters"].writes == [["VotersRecord", keys("c11#1", "c12#1")]]
    assert records["voters"].times_ms == [(2.3, 16.7)]
    assert records["leaders"].writes == [["LeaderChange", 12]]
    raised = load_schedule(written(file_of("q15"), tmp_path / "q15.json")).steps[3].quorum_records
    assert raised is not None
    assert [kind for kind, _ in raised["voters"].writes] == ["KRaftVersionRecord", "VotersRecord"]


def test_who_leads_a_recording_whose_voters_stay_is_not_one_of_its_records() -> None:
    file = GOLDEN_KRAFT_44 / "i1_controller_kill.json"
    assert {step.quorum_records is None for step in load_schedule(file).steps} == {True}


# The scenario.


def steps_of(translation: Translation, place: int) -> Sequence[Any]:
    played = translation.steps[place]
    return translation.scenario.steps[played.first : played.end]


def test_every_step_of_a_recording_becomes_one_of_the_scenario(recording: Path) -> None:
    schedule = load_schedule(recording)
    for seed in (1, 2, 3):
        translation = translate(schedule, seed=seed)
        assert translation.not_played is None
        assert len(translation.steps) == len(schedule.steps)
        controllers = translation.scenario.controllers
        if schedule.quorum is None:
            assert (controllers.voters, controllers.start_us) == ((), {})
            continue
        assert len(controllers.voters) == len(schedule.quorum.initial)
        started_later = set(schedule.controllers) - set(schedule.start_controllers)
        assert len(controllers.start_us) == len(started_later)


@pytest.mark.parametrize(("seed", "ids"), [(1, [10, 11, 12]), (2, [11, 10, 12])])
def test_a_request_names_the_voter_and_the_controller_of_one_repeat(
    tmp_path: Path, seed: int, ids: list[int]
) -> None:
    """Controller:0 is the one that led first in that repeat: 10 in the first, 11 in the other."""
    schedule = load_schedule(written(file_of("q06"), tmp_path / "q06.json"))
    translation = translate(schedule, seed=seed)
    assert translation.schedule.voters == ids
    (removal,) = (each for each in steps_of(translation, 10) if each.do == "remove_controller")
    assert (removal.controller, removal.directory, removal.to) == (1, 1, None)
    (addition,) = (each for each in steps_of(translation, 13) if each.do == "add_controller")
    assert (addition.controller, addition.directory, addition.to) == (1, 2, None)


def test_a_controller_that_is_not_the_active_one_is_asked_by_its_number(tmp_path: Path) -> None:
    """As a harness asked a follower, or one that it still took for the leader."""
    refusals = translate(load_schedule(written(file_of("q14"), tmp_path / "q14.json")))
    (addition,) = (each for each in steps_of(refusals, 6) if each.do == "add_controller")
    assert (addition.controller, addition.to) == (1, 1)
    lost = translate(load_schedule(written(file_of("q10"), tmp_path / "q10.json")))
    probes = [each for place in (3, 5) for each in steps_of(lost, place) if each.do == "configure"]
    assert [each.to for each in probes] == [None, 0]


def test_a_controller_that_is_only_named_never_runs(tmp_path: Path) -> None:
    """AddRaftVoter of controller 13, which nobody has started, with a directory of nobody's."""
    translation = translate(load_schedule(written(file_of("q14"), tmp_path / "q14.json")))
    assert translation.scenario.controllers.count == 4
    (addition,) = (each for each in steps_of(translation, 3) if each.do == "add_controller")
    assert (addition.controller, addition.directory) == (3, MOST_DIRECTORIES)
    absence = [fault.name for fault in translation.scenario.faults]
    assert absence == ["absence-of-13-at-step-0"]


def test_a_controller_comes_up_when_the_recorded_virtual_machine_did(tmp_path: Path) -> None:
    """It registers at the active controller 13.3 s after its start, in another step."""
    translation = translate(load_schedule(written(file_of("q01"), tmp_path / "q01.json")))
    started, waited = translation.steps[2:4]
    assert started.booting == {11}
    assert started.unformatted == {12}
    assert [each.do for each in steps_of(translation, 2)].count("end_fault") == 0
    boots, ends = (steps_of(translation, 3)[place] for place in (1, 2))
    assert ends.do == "end_fault"
    assert waited.booting == frozenset()
    assert 12_000_000 < boots.after_us < 14_000_000


def test_a_word_for_a_controller_needs_the_ids_that_are_meant(tmp_path: Path) -> None:
    file = written(changed({"op": "remove_voter", "b": "ctrl_follower"}), tmp_path / "mine.json")
    with pytest.raises(RecordingError, match=r"steps\.1: remove_voter .* needs chosen_by_repeat"):
        translate(load_schedule(file))


# The view of a run.


def replayed(file: Path, repeat: int) -> list[str]:
    """The differences of a recording from what its own VotersRecords and LeaderChanges show."""
    data = json.loads(file.read_text())
    schedule = load_schedule(file).of_repeat(repeat)
    if schedule.quorum is None:
        return []
    numbers = {id_: number for number, id_ in enumerate(schedule.voters)}
    first = len(schedule.brokers)
    quorum = PlayedQuorum(Names(_manifest(schedule)), schedule)

    def take(records: list[list[Any]], outcome: StepOutcome | None) -> None:
        for _, kind, _, content, offset, epoch in records:
            if kind == "LeaderChange":
                leader = first + numbers[content["leader"]]
                role = {"voter_state": int(codes.LEADER), "quorum_epoch": epoch}
                columns = {"broker": leader, "quorum_leader": leader, "time_us": 0}
                quorum.take(TraceRow("voter_state", columns | role), outcome)
            elif kind == "VotersRecord":
                named = ((numbers[id_], int(name[4:])) for id_, name in content["voters"])
                columns = {"voters": voter_set.pack(named), "voters_offset": offset}
                columns |= {"quorum_epoch": epoch, "kraft_version": 1, "time_us": 0}
                for number in numbers.values():
                    row = TraceRow("quorum_voters", columns | {"broker": first + number})
                    quorum.take(row, outcome)

    take(data["startup_by_repeat"][repeat], None)
    found: list[str] = []
    for step in schedule.steps:
        outcome = StepOutcome()
        take(data["steps"][step.number]["timeline_by_repeat"][repeat], outcome)
        for name, records in (step.quorum_records or {}).items():
            wanted = records.writes_by_repeat[repeat] if not records.exact else records.writes
            shown = [each.columns for each in outcome.quorum_records[name]]
            found += [] if shown == wanted else [f"{step.number}: {wanted}, shown {shown}"]
    return found


def _manifest(schedule: RecordedSchedule) -> dict[str, Any]:
    return {
        "brokers": schedule.brokers,
        "controllers": [],
        "registered_before": [],
        "topics": [],
        "partitions": [],
        "faults": [],
        "processes": [],
        "zookeeper_tree": [],
    }


def test_the_records_of_a_recording_come_back_from_their_rows(recording: Path) -> None:
    for repeat in range(json.loads(recording.read_text())["repeats"]):
        assert replayed(recording, repeat) == []


# A run that is compared.


def changed(*steps: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """A recording, written by hand, of a quorum with these steps."""
    recorded = [step if "step" in step else {"step": step} for step in steps]
    return own(*recorded, **QUORUM | parts)


def held(recording: dict[str, Any], folder: Path, seeds: int = 3) -> Conformance:
    file = written(recording, folder / "mine.json")
    return conform(load_schedule(file), folder / "runs", NOTHING_KNOWN, seeds=seeds)


def differences(result: Conformance) -> list[str]:
    """The differences of all but times."""
    return [
        f"step {each.step.number}: {each.field.text()}"
        for each in result.differences
        if each.field.kind != TIME
    ]


def another_directory(step: dict[str, Any]) -> None:
    step["obs"]["exact"]["quorum"]["voters"][0]["directory"] = "c10#2"


def one_voter_less(step: dict[str, Any]) -> None:
    del step["obs"]["exact"]["quorum"]["voters"][0]


def no_observer(step: dict[str, Any]) -> None:
    del step["obs"]["exact"]["quorum"]["observers"][2]


def other_voters_on_a_disk(step: dict[str, Any]) -> None:
    step["obs"]["exact"]["quorum"]["replicas"]["12"]["voters"].pop()


def another_kraft_version(step: dict[str, Any]) -> None:
    step["obs"]["exact"]["quorum"]["replicas"]["12"]["kraft_version"] = 0


def another_leader(step: dict[str, Any]) -> None:
    step["obs"]["exact"]["quorum"]["leader"] = 12


def another_record(step: dict[str, Any]) -> None:
    for timeline in step["timeline_by_repeat"]:
        (record,) = (each for each in timeline if each[1] == "VotersRecord")
        record[3]["voters"].pop()


def no_record(step: dict[str, Any]) -> None:
    for timeline in step["timeline_by_repeat"]:
        timeline[:] = [each for each in timeline if each[1] != "VotersRecord"]


def a_leader_change(step: dict[str, Any]) -> None:
    for timeline in step["timeline_by_repeat"]:
        timeline.append([900.0, "LeaderChange", "", {"leader": 11}, 999, timeline[0][-1]])


def another_answer(step: dict[str, Any]) -> None:
    step["result"]["exact"]["answer"]["error"] = "REQUEST_TIMED_OUT"


def another_controller_asked(step: dict[str, Any]) -> None:
    step["result"]["exact"]["probe"]["error"] = "NOT_CONTROLLER"


#: The bend of q02, in which controller 10 is removed and added; its step, the path of the field.
BENDS: list[tuple[Callable[[dict[str, Any]], None], int, str]] = [
    (another_directory, 7, "quorum.voters"),
    (one_voter_less, 3, "quorum.voters"),
    (no_observer, 3, "quorum.observers"),
    (other_voters_on_a_disk, 3, "quorum.replicas.12.voters"),
    (another_kraft_version, 3, "quorum.replicas.12.kraft_version"),
    (another_leader, 5, "quorum.leader"),
    (another_record, 6, "quorum_records.voters"),
    (no_record, 3, "quorum_records.voters"),
    (a_leader_change, 3, "quorum_records.leaders"),
    (another_answer, 3, "answer.error"),
    (another_controller_asked, 5, "probe.error"),
]


def test_the_recording_as_it_is_differs_in_times_alone(tmp_path: Path) -> None:
    result = held(file_of("q02"), tmp_path, seeds=1)
    assert differences(result) == []
    names = {"quorum voters", "quorum observers", "quorum leader", "quorum kraft_version"}
    assert {*names, "quorum_records", "responses"} <= result.exact.keys()


@pytest.mark.parametrize(("bend", "number", "path"), BENDS)
def test_what_is_bent_is_found_where_it_was_bent(
    tmp_path: Path, bend: Callable[[dict[str, Any]], None], number: int, path: str
) -> None:
    recording = file_of("q02")
    bend(recording["steps"][number])
    result = held(recording, tmp_path, seeds=1)
    found = [each for each in result.differences if each.field.kind != TIME]
    assert [(each.step.number, each.field.path) for each in found] == [(number, path)]


def asked(op: str, controller: int, error: str = "NONE", **more: Any) -> dict[str, Any]:
    """A step with a request about a voter, and its answer."""
    step = {"op": op, "b": controller, "q": False} | more
    return {"step": step, "result": {"exact": {"answer": {"error": error}}}}


def probe(error: str, asked: int = 10) -> dict[str, Any]:
    result = {"exact": {"probe": {"error": error, "asked": asked}}}
    return {"step": {"op": "probe"}, "result": result}


def leads(leader: int | None, *voters: str, observers: Sequence[str] = ()) -> dict[str, Any]:
    """An observation of the quorum by its leader."""
    described = [{"id": id_, "directory": name} for id_, name in keys(*voters)]
    observing = [{"id": id_, "directory": name} for id_, name in keys(*observers)]
    quorum = {"leader": leader, "voters": described, "observers": observing}
    return {"obs": {"exact": {"quorum": quorum if leader else {"leader": None}}}}


def slept(seconds: float) -> dict[str, Any]:
    return {"step": {"op": "sleep", "s": seconds}}


def downed(op: str, *controllers: int) -> dict[str, Any]:
    return {"step": {"op": op, "b": [*controllers], "q": False}}


def test_a_new_voter_that_is_dead_is_not_added(tmp_path: Path) -> None:
    """AddVoterHandler: API_VERSIONS returned an error BROKER_NOT_AVAILABLE."""
    three = ("c10#1", "c11#1", "c12#1")
    refused = asked("add_voter", 13, "REQUEST_TIMED_OUT") | leads(10, *three, observers=["c13#1"])
    story = changed(STARTED, OBSERVES, downed("kill", 13), refused, probe("NONE"), **WITH_NEW)
    assert differences(held(story, tmp_path)) == []


def test_a_removal_that_has_timed_out_takes_effect_when_the_dead_voter_is_back(
    tmp_path: Path,
) -> None:
    """The newest VotersRecord of a log counts, committed or not (KRaftControlRecordStateMachine).

    The active controller is removed while one of the other two is down: the two that are left are
    no majority of themselves.
    """
    down, back = downed("kill", 12), downed("start", 12)
    removed = asked("remove_voter", 10, "REQUEST_TIMED_OUT")
    removed |= leads(10, "c11#1", "c12#1", observers=["c10#1"])
    elected = {"step": {"op": "wait_leader", "not": [10]}}
    after = slept(2) | leads(11, "c11#1", "c12#1", observers=["c10#1"])
    story = changed(down, removed, slept(5) | leads(None), back, elected, after, probe("NONE", 11))
    result = held(story, tmp_path, seeds=6)
    assert differences(result) == []


def test_four_voters_need_three(tmp_path: Path) -> None:
    """A voter that is added beside a dead one: one more death stops the quorum (check quorum)."""
    four = ("c10#1", "c11#1", "c12#1", "c13#1")
    story = changed(
        *(STARTED, OBSERVES, downed("kill", 11)),
        asked("add_voter", 13) | leads(10, *four),
        probe("NONE"),
        downed("kill", 12),
        probe("NOT_CONTROLLER") | leads(None),
        downed("start", 12),
        {"step": {"op": "wait_leader", "not": []}},
        **WITH_NEW,
    )
    assert differences(held(story, tmp_path)) == []


def test_a_new_voter_that_is_stopped_counts(tmp_path: Path) -> None:
    """SIGSTOP of the fourth voter, and the death of another: lost until SIGCONT."""
    four = ("c10#1", "c11#1", "c12#1", "c13#1")
    story = changed(
        *(STARTED, OBSERVES, asked("add_voter", 13), downed("pause", 13)),
        probe("NONE") | leads(10, *four),
        downed("kill", 11),
        probe("NOT_CONTROLLER") | leads(None),
        downed("resume", 13),
        {"step": {"op": "wait_leader", "not": []}},
        **WITH_NEW,
    )
    assert differences(held(story, tmp_path)) == []


def test_beside_a_lost_disk_no_other_voter_may_die(tmp_path: Path) -> None:
    """The controller with the new disk observes; the voter that it was never fetches."""
    three = ("c10#1", "c11#1", "c12#1")
    story = changed(
        *(downed("kill", 11), downed("wipe", 11), downed("start", 11)),
        {"step": {"op": "wait_observer", "b": 11}},
        probe("NONE") | leads(10, *three, observers=["c11#2"]),
        downed("kill", 12),
        probe("NOT_CONTROLLER") | leads(None),
    )
    assert differences(held(story, tmp_path)) == []


def test_a_controller_that_joins_by_itself_is_not_removed_for_long(tmp_path: Path) -> None:
    """controller.quorum.auto.join.enable (KIP-1186); also the former active one comes back."""
    three = ("c10#1", "c11#1", "c12#1")
    everyone = {"step": {"op": "wait_voters", "voters": [10, 11, 12]}}
    elected = {"step": {"op": "wait_leader", "not": [10]}}
    story = changed(
        asked("remove_voter", 11),
        everyone | leads(10, *three),
        asked("remove_voter", 10),
        *(elected, everyone),
        slept(1) | leads(12, *three),
        **AUTO_JOIN,
    )
    result = held(story, tmp_path, seeds=6)
    assert differences(result) == []
