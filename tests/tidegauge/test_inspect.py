"""``tidegauge inspect``: every field of a moment of a run, and its events one by one."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console
from typer.testing import CliRunner

import tidegauge
from both_modes import MODES, in_mode
from importing import in_one_line
from small_clusters import SECOND, cluster_of
from tidegauge.command_line import app
from tidegauge.commands.snapshots.inspecting import Dialogue
from tidegauge.engine.branching import branch, branched_scenario, read_past
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.rewind.moment import Moment
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import QUORUM_CONTROLLER

#: Snapshots are here, and the leader of some partitions is down at the second one.
SNAPSHOTS_US = (15 * SECOND, 30 * SECOND)
#: Producers stop by themselves, so that they do in runs of any duration.
WORKLOAD = {
    "producers": [
        {"name": "shop", "topics": ["orders"], "batches_per_second": 2, "stop": "90s"}
        | {"settings": {"acks": "all"}}
    ],
    "consumers": [{"name": "billing", "topics": ["orders"]}],
}
#: Subjects of every kind.
_OF_BOTH = "broker 1 broker 2 partition orders-0 partition orders-1 client shop client billing"
WORDS = {
    "zookeeper": f"{_OF_BOTH} controller zookeeper link zookeeper 1 events 30".split(),
    "kraft": [
        *f"{_OF_BOTH} controller controller 3001 events 30 link 1".split(),
        "controller 3000",
    ],
}


class Case(NamedTuple):
    """A run, and all of its subjects."""

    mode: str
    run: Run

    def at(self, time: str) -> Moment:
        """A moment of it."""
        return Moment(Run(self.run.path), time)

    def text(self, moment: Moment, words: str | None = None) -> list[str]:
        """Every field of subjects, a line for each; by default of subjects of every kind."""
        return [
            f"{state.name}, {record.title}: {name} {each.text}"
            for state in moment.states(
                moment.subjects(WORDS[self.mode] if words is None else words.split())
            )
            for record in state.records
            for name, each in record.fields.items()
        ]


def grouping_of(plan: ClusterPlan, count: int) -> list[list[int]]:
    """Processes in so many groups; the controllers of a quorum share one."""
    quorum = [*plan.process_ranges[QUORUM_CONTROLLER]]
    others = [each for each in range(len(plan.processes)) if each not in quorum]
    return [others[number::count] + (quorum if number == 0 else []) for number in range(count)]


@pytest.fixture(scope="module", params=MODES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    scenario = in_mode(request.param, workload=WORKLOAD)
    folder = tmp_path_factory.mktemp("inspect") / "run"
    simulate(scenario, folder, snapshots_us=SNAPSHOTS_US)
    return Case(request.param, Run(folder))


def digests(folder: Path) -> dict[str, str]:
    """A digest of each file of a run."""
    files = (each for each in sorted(folder.rglob("*")) if each.is_file())
    return {str(each): sha256(each.read_bytes()).hexdigest() for each in files}


def invoked(run: Path, *words: str) -> str:
    result = CliRunner().invoke(app, ["inspect", str(run), *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(run: Path, *words: str) -> str:
    """The one line in which a command is refused."""
    result = CliRunner().invoke(app, ["inspect", str(run), *words])
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.strip().removeprefix("tidegauge: ")


# The state.


def test_the_state_at_a_moment_is_that_of_a_run_that_ends_there(case: Case, tmp_path: Path) -> None:
    """That run's own tables, as its snapshot at its end has them."""
    shorter = in_mode(case.mode, workload=WORKLOAD, duration="41s", faults=[CRASH])
    longer = in_mode(case.mode, workload=WORKLOAD, duration="60s", faults=[CRASH])
    end_us = 41 * SECOND
    simulate(shorter, tmp_path / "short", snapshots_us=[end_us])
    simulate(longer, tmp_path / "long", snapshots_us=SNAPSHOTS_US)
    short, long = (Case(case.mode, Run(tmp_path / name)) for name in ("short", "long"))
    assert short.text(short.at("41s")) == long.text(long.at("41s"))
    assert short.run.summary is not None
    client = long.at("41s").client("shop-0")["client"]
    assert client["records_sent"] == short.run.summary["records_sent"]


CRASH = {"name": "crash", "kind": "crash", "brokers": [2], "at": "20s", "for": "30s"}


def test_the_high_watermark_is_that_of_the_last_row_about_it(case: Case) -> None:
    """The trace has a row for each of its moves at a leader and at a follower."""
    moved = {
        (row["process"], row["partition"]): row["high_watermark"]
        for row in case.run.rows("high_watermark_moved")
        if row["time_us"] < 45 * SECOND
    }
    moment, names = case.at("45s"), case.run.names
    shown = {}
    for number in range(len(names.all_partitions)):
        state = moment.partition(names.partition(number))
        for process, broker in enumerate(names.brokers):
            replica = state.get(f"replica at broker {broker}")
            if (process, number) in moved and replica is not None and broker != 2:
                shown[process, number] = replica["high_watermark"]
    assert len(shown) > 6
    assert shown == {key: moved[key] for key in shown}


def test_fields_have_ids_and_names_in_place_of_numbers(case: Case) -> None:
    state = case.at("45s").partition("orders-0")
    plane = state["committed" if case.mode == "kraft" else "state in ZooKeeper"]
    replicas = case.run.names.replicas(0)
    in_sync = [each for each in replicas if each != 2]
    assert sorted(plane["isr"]) == sorted(in_sync)
    assert plane["leader"] in in_sync
    replica = state[f"replica at broker {plane['leader']}"]
    assert replica["replicas"] == replicas
    assert replica["leader"] == plane["leader"]
    assert state[f"memory of it at broker {plane['leader']}"]["partition"] == "orders-0"
    for broker in {*replicas} - {plane["leader"]}:
        view = state[f"follower broker {broker} as leader {plane['leader']} has it"]
        assert view["broker"] == broker


def test_a_dead_broker_is_down_and_its_fault_acts(case: Case) -> None:
    state = case.at("45s").broker(2)
    assert state["process"]["alive"] is False
    assert state["faults that act"] == {"crash": True}
    assert case.at("52s").broker(2)["process"]["alive"] is True
    printed = invoked(case.run.path, "--at", "45s")
    assert "broker 2  is down, leads 0" in printed
    assert "next events" in printed


def test_messages_in_flight_arrive_as_events(case: Case) -> None:
    """A message on a link is handled once it arrives, with the fields that it had in flight."""
    moment = case.at("33s")
    for _ in range(200):
        flying = moment.link("1", "3")
        found = [each for title, each in flying.items() if title.startswith("message")]
        if found:
            break
        moment.step()
    arrived = [
        step.event
        for step in moment.step(200)
        if (step.event.source, step.event.destination) == ("broker 1", "broker 3")
    ]
    assert found, "no message in 200 events"
    assert (found[0]["time_us"], found[0]["kind"]) == (arrived[0].time_us, arrived[0].kind)


def test_a_message_that_a_pin_holds_is_on_its_link(tmp_path: Path) -> None:
    """It has arrived at its receiver, and waits there beside the messages that cuts hold."""
    hold = {"hold": "LEADER_AND_ISR", "to": "broker:2", "for": "3s"}
    run = simulate(cluster_of(pins=[hold]), tmp_path / "run")
    (held,) = run.rows("message_held")
    flying = Moment(Run(run.path), "2s").link("controller of broker 3", "2")
    kinds = {
        each["kind"]: each["time_us"]
        for title, each in flying.items()
        if title.startswith("message")
    }
    assert kinds == {"LEADER_AND_ISR": held["time_us"]}


def test_nothing_of_the_folder_changes(case: Case) -> None:
    before = digests(case.run.path)
    moment = case.at("47s")
    moment.step(50)
    moment.step(-80)
    case.text(moment)
    assert digests(case.run.path) == before


# Steps.


def test_steps_write_the_rows_of_the_trace(case: Case) -> None:
    """Event by event, a crash and all that follows: the same rows, in every column."""
    moment = case.at("19.9s")
    found = []
    while moment.time_us < 20_300_000:
        (step,) = moment.step()
        found += [row.row for row in step.rows]
    found.sort(key=lambda row: row.place)
    recorded = [row for row in case.run.all_rows() if 19_900_000 <= row["time_us"] < moment.time_us]
    rows = [row for row in found if row["time_us"] < moment.time_us]
    assert len(rows) > 20
    assert [(row.kind, row.columns) for row in rows] == [
        (row.kind, row.columns) for row in recorded
    ]
    assert {"fault_began"} <= {row.kind for row in rows}


@pytest.mark.parametrize("time", ["14s", "30s", "33.3s"])
def test_forwards_and_back_again_is_the_same_moment(case: Case, time: str) -> None:
    moment = case.at(time)
    here = case.text(moment)
    events = [(step.event.time_us, step.event.kind) for step in moment.step(60)]
    assert (len(events), moment.position) == (60, (moment.position.time_us, 60))
    there = case.text(moment)
    moment.step(-60)
    assert (case.text(moment), str(moment)) == (here, f"at {time}")
    assert [(each.event.time_us, each.event.kind) for each in moment.step(60)] == events
    assert case.text(moment) == there


def test_back_and_forwards_again_is_the_same_moment(case: Case) -> None:
    """The events before a moment are those that lead to it."""
    moment = case.at("31s")
    here = case.text(moment)
    moment.step(-7)
    back = case.text(moment)
    assert back != here
    assert len(moment.step(7)) == 7
    assert (case.text(moment), moment.position) == (here, (31 * SECOND, 0))
    moment.step(-3)
    moment.step(-4)
    assert case.text(moment) == back


def test_a_run_has_no_event_before_its_first_one(case: Case) -> None:
    moment = case.at("0s")
    moment.step(-5)
    assert moment.position == (0, 0)
    moment.go_to("1ms")
    moment.step(-1_000_000)
    first = case.at("0s").step(1)[0].event
    assert moment.step(1)[0].event == first


def test_a_step_names_its_changes_of_a_subject(case: Case) -> None:
    """A high watermark moves from what it was to what the row about it says."""
    moment = case.at("10s")
    for _ in range(2000):
        (step,) = moment.step()
        rows = [row for row in step.rows if row.kind == "high_watermark_moved"]
        if any(row.partition == "orders-0" for row in rows):
            break
    moment.step(-1)
    (step,) = moment.step(1, moment.subjects(["partition", "orders-0"]))
    (row,) = (each for each in rows if each.partition == "orders-0")
    expected = (
        f"partition orders-0, replica at {row.process}: "
        f"high_watermark {row.old_high_watermark} → {row.high_watermark}"
    )
    assert expected in [str(each) for each in step.changes]


def test_groups_that_ran_apart_are_stepped_in_the_order_of_all(case: Case, tmp_path: Path) -> None:
    """From a snapshot of three groups the events are those of one group, and the state too."""
    scenario = in_mode(case.mode, workload=WORKLOAD)
    engine = inline(grouping_of(ClusterPlan(scenario), 3))
    simulate(scenario, tmp_path / "run", make_engine=engine, snapshots_us=SNAPSHOTS_US)
    apart = Case(case.mode, Run(tmp_path / "run"))
    moments = [each.at("32s") for each in (case, apart)]
    events = [[step.event for step in each.step(300)] for each in moments]
    assert events[0] == events[1]
    words = "broker 1 broker 3 partition orders-0 client shop controller"
    texts = [each.text(moment, words) for each, moment in zip((case, apart), moments, strict=True)]
    # Each group has tables of its own, and other groups to wait for.
    one, three = (
        [line for line in text if " place " not in line and "answer_us" not in line]
        for text in texts
    )
    assert one == three
    for moment in moments:
        moment.step(-310)
    assert moments[0].time_us == moments[1].time_us


def test_idle_fetches_are_events_where_they_are_wanted(case: Case, tmp_path: Path) -> None:
    """They are computed otherwise; the logs are the same."""
    scenario = in_mode(case.mode, trace="transitions", faults=[], workload={})
    simulate(scenario, tmp_path / "run")
    computed, handled = (
        Moment(Run(tmp_path / "run"), "30s", handles_idle=each) for each in (False, True)
    )
    assert computed.idle_pairs > 0
    assert handled.idle_pairs == 0
    logs = [each.partition("orders-0")["replica at broker 1"] for each in (computed, handled)]
    assert logs[0] == logs[1]
    kinds = [{step.event.kind for step in each.step(150)} for each in (computed, handled)]
    assert "FETCH" in kinds[1] - kinds[0]
    assert "are computed, and are no events" in in_one_line(
        invoked(tmp_path / "run", "--at", "30s")
    )


def test_a_branch_is_inspected_with_its_own_faults(case: Case, tmp_path: Path) -> None:
    fault = {"name": "late", "kind": "crash", "brokers": [4], "at": "32s", "for": "30s"}
    scenario = branched_scenario(case.run, {}, faults=[fault])
    past = read_past(case.run.path, 30 * SECOND)
    branched = branch(past, scenario, tmp_path / "branch").path
    moment = Moment(Run(branched), "33s")
    assert moment.broker(4)["process"]["alive"] is False
    assert case.at("33s").broker(4)["process"]["alive"] is True
    assert "is in the past of that run" in refused(branched, "--at", "29s")


# The command, and Python.


def test_json_has_the_fields_with_their_units(case: Case) -> None:
    printed = invoked(
        case.run.path, "--at", "33s", "--step", "2", "partition", "orders-0", "--json"
    )
    told = json.loads(printed)
    assert told["position"] == {"time_us": 33 * SECOND, "events": 2}
    assert [each["kind"] for each in told["steps"]] == [
        step.event.kind for step in case.at("33s").step(2)
    ]
    replica = told["subjects"]["partition orders-0"]["replica at broker 1"]
    moment = case.at("33s")
    moment.step(2)
    assert replica == moment.partition("orders-0")["replica at broker 1"]


def test_step_without_a_number_is_one_event(case: Case) -> None:
    folder = case.run.path
    one = invoked(folder, "--at", "33s", "--step", "1", "broker", "1")
    assert invoked(folder, "--at", "33s", "--step", "broker", "1") == one
    assert invoked(folder, "broker", "1", "--at", "33s", "--step") == one
    back = in_one_line(invoked(folder, "--at", "33s", "--step", "-3", "broker", "1"))
    assert "3 events before 33s" in back


def test_meanings_are_the_comments_above_fields(case: Case) -> None:
    printed = invoked(case.run.path, "--at", "33s", "--explain", "partition", "orders-0")
    assert "First offset that consumers cannot read (HW)." in in_one_line(printed)


def test_results_have_moments(case: Case) -> None:
    moment = tidegauge.Result(case.run.path).at("33s")
    assert repr(moment) == f"<Moment at 33s of {case.run.path}>"
    assert moment.broker(1)["broker"]["starts"] == 1


def test_what_is_not_there_is_refused_in_one_line(case: Case) -> None:
    folder = case.run.path
    assert "is outside of the run, which is from 0s to 100s" in refused(folder, "--at", "101s")
    assert "--at: must be a duration" in refused(folder, "--at", "soon")
    assert "9: no such broker; there are: 1, 2, 3, 4" in refused(folder, "broker", "9")
    assert "no such partition; nearest: orders-" in refused(folder, "partition", "order-1")
    assert "no such client" in refused(folder, "client", "nobody")
    assert "no such controller; there are:" in refused(folder, "controller", "77")
    assert "did you mean broker?" in refused(folder, "brokers", "1")
    assert "broker: the name is missing" in refused(folder, "broker")
    assert "no process has a link to itself" in refused(folder, "link", "1", "1")
    assert "no such process" in refused(folder, "link", "1", "nobody")
    if case.mode == "kraft":
        assert "the cluster has a KRaft quorum" in refused(folder, "zookeeper")


# The dialogue.


def answered(case: Case, lines: list[str], at: str = "33s") -> str:
    """The output of a dialogue."""
    moment = case.at(at)
    out = Console(width=200, record=True, file=StringIO())
    Dialogue(out, moment, [], explain=False).answer_all(lines)
    return out.export_text()


def test_a_dialogue_moves_and_looks(case: Case) -> None:
    text = answered(case, ["n", "2", "p 3", "to 34s", "partition orders-0", "nonsense", "q", "n"])
    assert "1 event after 33s" in text
    assert "3 events after 33s" in text
    assert "run at 33s" in text
    assert "run at 34s" in text
    assert "replica at broker 1" in text
    assert "nonsense: is no subject" in text
    assert "after 34s" not in text


def test_a_dialogue_explains_causes(case: Case) -> None:
    text = answered(case, ["cause", "n 60", "cause", "help", "explain", "state"], at="19.999s")
    assert "cause: step first" in text
    assert "fault_began" in text
    assert "the chain of triggers" in text
    assert "meanings of fields are printed" in text


@pytest.mark.long
def test_in_a_terminal_it_asks(case: Case) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "tidegauge", "inspect", str(case.run.path)]
    words = ["--at", "33s", "--step", "events", "1"]
    process = subprocess.Popen([*command, *words], stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    os.write(leader, b"n\np\nq\n")
    printed = b""
    while process.poll() is None or select.select([leader], [], [], 0)[0]:
        if select.select([leader], [], [], 0.2)[0]:
            try:
                printed += os.read(leader, 4096)
            except OSError:
                break
    os.close(leader)
    assert process.wait() == 0, printed
    assert b"2 events after 33s" in printed
    assert printed.count(b"1 event after 33s") == 2
