"""Schedules are found that lead a partition through the states that somebody saw (``explain``)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from real_clusters import recorded
from tidegauge.command_line import app
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.fuzzing.fuzzed_cluster import HeldState
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate_plan
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.search.explaining import Schedule, Subject, Trials, Tried, Unit, run_unit
from tidegauge.search.picture_distances import difference
from tidegauge.search.pictured_cluster import PicturedCluster, pictured_cluster
from tidegauge.search.pictures import Picture, picture_of_run, read_picture
from tidegauge.search.suspects import Suspect, words_of

S = 1_000_000

#: Real brokers, whose follower 3 was suspended three times.
LAGGING = "kraft-4.1.0-d2_lag_shrink_4s"

#: Sessions and lag times are short, so that a story takes seconds.
CLUSTER: dict[str, Any] = {
    "duration": "40s",
    "release": "3.9",
    "mode": "zookeeper",
    "liveness": False,
    "cluster": {
        "brokers": [11, 12, 13],
        "settings": {
            "zookeeper.session.timeout.ms": 2000,
            "replica.lag.time.max.ms": 4000,
            "auto.leader.rebalance.enable": False,
        },
    },
    "zookeeper": {"tick_ms": 500},
    "topics": [{"name": "orders", "assignment": {0: [11, 12, 13], 1: [12, 13, 11]}}],
}


def written(text: str, folder: Path) -> Path:
    """A file with a picture."""
    file = folder / "seen.yaml"
    file.write_text(text)
    return file


def picture_in(text: str, folder: Path) -> Picture:
    return read_picture(written(text, folder))


# Pictures.


def test_what_nobody_saw_is_a_state_that_may_be_any(tmp_path: Path) -> None:
    """Before an `at` of the first state, and between its end and the next `at`."""
    picture = picture_in(
        """
        partition: orders-3
        states:
          - {at: 02:14:00, isr: [1], for: 12s}
          - {at: 02:15:00, leader: none}
        within: 1s
        """,
        tmp_path,
    )
    (seen,) = picture.partitions
    begins = [each.begin_us for each in seen.states]
    assert [each.is_anything for each in seen.states] == [True, False, True, False]
    assert begins == [None, 8040 * S, 8052 * S, 8100 * S]
    assert picture.time_text(8052 * S) == "02:14:12.000"


def test_a_time_of_a_day_after_midnight_is_one_of_the_next_day(tmp_path: Path) -> None:
    picture = picture_in(
        """
        partition: orders-3
        states: [{at: 23:59:50, isr: [1]}, {at: 00:00:10, isr: [1, 2]}]
        """,
        tmp_path,
    )
    first, second = picture.changes_us
    assert second - first == 20 * S
    assert picture.time_text(second) == "00:00:10.000"


@pytest.mark.parametrize(
    ("states", "problem"),
    [
        ("[{at: 5s}]", "states[0]: must have leader, isr or both"),
        ("[{at: 5s, isr: [1]}, {at: 4s, isr: [2]}]", "states[1].at: is earlier than the state"),
        ("[{at: 5s, isr: [1]}, {at: 02:14:00, isr: [2]}]", "all must be of one kind"),
        ("[{isr: [1], for: 5s}]", "states[0].for: has no effect"),
        ("[{at: 5 parsecs, isr: [1]}]", "states[0].at: must be a duration"),
    ],
)
def test_an_error_names_the_file_and_the_field(states: str, problem: str, tmp_path: Path) -> None:
    file = written(f"partition: orders-3\nstates: {states}\n", tmp_path)
    with pytest.raises(TidegaugeError) as error:
        read_picture(file)
    assert str(error.value).startswith(f"{file}:")
    assert problem in str(error.value)


# Differences.


def held(*states: tuple[float, int | None, set[int]]) -> list[HeldState]:
    return [HeldState(round(begin * S), leader, frozenset(isr)) for begin, leader, isr in states]


SHRINK = """
partition: orders-3
states: [{leader: 1, isr: [1, 2]}, {at: 100s, isr: [1], for: 30s}, {isr: [1, 2]}]
"""


@pytest.mark.parametrize(
    ("run", "is_match"),
    [
        (held((0, 1, {1, 2}), (101, 1, {1}), (129, 1, {1, 2})), True),
        # Each change has its own tolerance of two seconds.
        (held((0, 1, {1, 2}), (103, 1, {1}), (131, 1, {1, 2})), False),
        (held((0, 1, {1, 2}), (101, 1, {2}), (129, 1, {1, 2})), False),
        # ZooKeeper has no leader for a moment.
        (held((0, 1, {1, 2}), (100, None, {1}), (100.1, 1, {1}), (130, 1, {1, 2})), True),
        (held((0, 1, {1, 2}), (100, 1, {1})), False),
        # Short states are not what lasts half a minute, nor do they make up for it.
        (held((0, 1, {1, 2}), (100, 2, {2}), (101.5, 2, {1, 2}), (103, 1, {1, 2})), False),
        (held((0, 1, {1, 2}), (100, 1, {1}), (127, 2, {2}), (128.5, 1, {2})), False),
        (held((0, 1, {1, 2})), False),
        (
            held((0, 1, {1, 2}), (60, 1, {1}), (70, 1, {1, 2}), (100, 1, {1}), (130, 1, {1, 2})),
            False,
        ),
    ],
)
def test_a_run_matches_with_the_same_states_at_the_same_times(
    run: list[HeldState], is_match: bool, tmp_path: Path
) -> None:
    picture = picture_in(SHRINK, tmp_path)
    assert difference(picture.partitions[0], run, picture.within_us).is_match == is_match


def test_a_change_tells_by_how_much_the_run_is_late(tmp_path: Path) -> None:
    """Begins of faults are moved by that."""
    picture = picture_in(SHRINK, tmp_path)
    run = held((0, 1, {1, 2}), (115, 1, {1}), (133, 1, {1, 2}))
    told = difference(picture.partitions[0], run, picture.within_us)
    assert [each.late_us for each in told.changes] == [15 * S, 3 * S]
    assert told.first_us == 100 * S


# The search.


def run_with(fault: dict[str, Any], folder: Path) -> Run:
    """A run with one fault; its seed is not that of the search."""
    producers = [{"name": "shop", "topics": ["orders"], "batches_per_second": 20}]
    scenario = {**CLUSTER, "seed": 77, "workload": {"producers": producers}, "faults": [fault]}
    plan = ClusterPlan(scenario_from_mapping({"name": "seen", **scenario}, "seen"))
    return Run(simulate_plan(plan, folder, inline()).path)


class Seen:
    """A follower of `orders-0` that hangs for nine seconds, as a picture of it has it."""

    def __init__(self, folder: Path) -> None:
        pause = {"kind": "pause", "brokers": [13], "at": "20s", "for": "9s"}
        self.run = run_with(pause, folder)
        picture = picture_of_run(self.run, ["orders-0"], 10 * S, None)
        self.subject = Subject(picture, pictured_cluster(CLUSTER, "cluster", picture))

    def explanations(self, broker: int) -> list[Tried]:
        """The explanations by one fault of a broker."""
        cluster = self.subject.cluster
        numbers = [
            number
            for number, each in enumerate(cluster.suspects)
            if each.written.get("brokers") == [broker]
        ]
        best = run_unit(Unit(self.subject, Schedule(), numbers, is_sparse=False)).best
        return [each for each in best if each.is_match]

    def words(self, tried: Tried) -> str:
        """The only fault of a schedule."""
        (suspect,) = tried.schedule.suspects
        return words_of(self.subject.cluster.suspects[suspect].written)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("seen") / "run")


def test_the_fault_behind_a_picture_is_found(seen: Seen) -> None:
    """A broker that hangs looks as one that was killed: its session expires (ZooKeeper)."""
    found = {seen.words(each): each for each in seen.explanations(13)}
    assert {"pause of broker 13", "crash of broker 13"} <= found.keys()
    (pause,) = found["pause of broker 13"].schedule.deviations
    assert pause.begin_us == pytest.approx(20 * S, abs=1.5 * S)
    assert pause.end_us == pytest.approx(29 * S, abs=1.5 * S)


def test_a_fault_of_another_broker_does_not_explain_it(seen: Seen) -> None:
    assert seen.explanations(12) == []


def test_the_scenario_of_an_explanation_does_what_the_search_saw(
    seen: Seen, tmp_path: Path
) -> None:
    """A schedule is the whole difference from the undisturbed run."""
    best = seen.explanations(13)[0]
    scenario = Trials(seen.subject).written(best.schedule)
    plan = ClusterPlan(scenario_from_mapping({**scenario, "name": "why"}, "why"))
    run = Run(simulate_plan(plan, tmp_path / "why", inline()).path)
    played = picture_of_run(run, ["orders-0"], None, None).partitions[0].states
    later_us = seen.subject.cluster.origin_us + best.schedule.phase_us
    assert [(each.begin_us, each.leader, each.isr) for each in played[1:]] == [
        (each.begin_us + later_us, each.leader, each.isr)
        for each in best.states[0]
        if each.begin_us + later_us > 30 * S
    ]


def test_the_rates_of_the_cluster_file_replace_assumed_ones(seen: Seen) -> None:
    """A broker of the file is killed once in 73 days, so five times a year."""
    rate = {"kind": "crash", "brokers": [11, 12, 13], "mtbf": "1752h", "repair_time": "1m"}
    picture = seen.subject.picture
    rated = pictured_cluster({**CLUSTER, "fault_rates": [rate]}, "cluster", picture)

    def crash_of(cluster: PicturedCluster) -> Suspect:
        crash = {"kind": "crash", "brokers": [13]}
        return next(each for each in cluster.suspects if each.written == crash)

    assert crash_of(rated).per_year == pytest.approx(5)
    assert crash_of(seen.subject.cluster).per_year == 2


def test_a_picture_of_a_broker_without_replica_is_refused(tmp_path: Path) -> None:
    """Moves of replicas are not searched."""
    picture = picture_in("partition: orders-0\nstates: [{isr: [11, 14]}]\n", tmp_path)
    with pytest.raises(TidegaugeError, match="orders-0: the picture has broker 14"):
        pictured_cluster(CLUSTER, "cluster", picture)


def test_the_logs_of_a_real_cluster_tell_when_a_broker_was_suspended(tmp_path: Path) -> None:
    """Kafka 4.1: SIGSTOP at 23:59:37.492, SIGCONT 6.588 s later, as the recording has them."""
    logs, folder, proposal = (tmp_path / name for name in ("logs", "incident", "incident.yaml"))
    words = [str(recorded(LAGGING, logs)), "-o", str(folder), "--scenario", str(proposal)]
    assert CliRunner().invoke(app, ["read-logs", *words]).exit_code == 0
    # Follower 3 has left the ISRs of both leaders after the longest lag time, of 4 s.
    picture = picture_of_run(Run(folder), ["t-0", "t-1"], 20 * S, 34 * S, 800_000)
    cluster: Any = read_scenario_file(proposal).data
    subject = Subject(picture, pictured_cluster(cluster, "proposal", picture))
    suspects = [each.written for each in subject.cluster.suspects]
    pause = suspects.index({"kind": "pause", "brokers": [3]})
    found = run_unit(Unit(subject, Schedule(), [pause], is_sparse=False)).best[0]
    (deviation,) = found.schedule.deviations
    stopped_us = 21_153_000
    assert found.is_match
    assert deviation.begin_us == pytest.approx(stopped_us, abs=300_000)
    assert deviation.end_us == pytest.approx(stopped_us + 6_588_000, abs=300_000)


# The command.


def explain(*words: str) -> Any:
    return CliRunner().invoke(app, ["explain", *words])


@cache
def cluster_text() -> str:
    return json.dumps(CLUSTER)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("{seen}", "-f SCENARIO is missing"),
        ("{seen} -f {cluster} --partition orders-0", "--partition: is of a run"),
        ("{seen} -f {cluster} --out {folder}", "is not a new or empty folder"),
        ("{other} -f {cluster}", "there is no partition clicks-0"),
    ],
)
def test_bad_input_is_one_error(words: str, problem: str, tmp_path: Path) -> None:
    file = written("partition: orders-0\nstates: [{isr: [11]}]\n", tmp_path)
    other = tmp_path / "other.yaml"
    other.write_text("partition: clicks-0\nstates: [{isr: [11]}]\n")
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(cluster_text())
    names = {"seen": file, "other": other, "cluster": cluster, "folder": tmp_path}
    result = explain(*words.format(**names).split())
    assert result.exit_code == 2
    assert problem in result.output


def test_what_happens_without_any_fault_needs_none(tmp_path: Path) -> None:
    file = written("partition: orders-0\nstates: [{leader: 11, isr: [11, 12, 13]}]\n", tmp_path)
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(cluster_text())
    words = [str(file), "-f", str(cluster), "--jobs", "1", "--out", str(tmp_path / "why"), "--json"]
    result = explain(*words)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [each["schedule"] for each in told["explanations"]] == [[]]
