"""From states alone to the faults behind them: shipped scenarios, proposed again and run again."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

import tidegauge
from tidegauge.real_cluster.describe.input_file import InputError
from tidegauge.real_cluster.incident.cluster_history import KINDS
from tidegauge.real_cluster.incident.proposal import (
    Proposal,
    proposal_text,
    proposed_scenario,
    write_proposal,
)
from tidegauge.real_cluster.incident.proposed_faults import ProposedFault
from tidegauge.runs.run import Run
from tidegauge.runs.side_by_side import SideBySide, side_by_side
from tidegauge.scenario.reading import load_scenario
from tidegauge.simulation.quantities import parse_duration

#: Scenarios, and the share of their partitions that go through the same leaders and ISRs again.
SHARES = {
    "incidents/broker-crash": 1.0,
    "incidents/controller-crash": 1.0,
    "incidents/follower-blip": 1.0,
    "incidents/leader-cut-from-followers": 1.0,
    "incidents/rack-power-loss": 1.0,
    "incidents/rolling-restart": 1.0,
    "incidents/reassignment": 1.0,
    "incidents/full-isr-loss": 1.0,
    "cut-and-pause": 1.0,
    # Which partitions lag in a cut depends on the clients, of which states do not tell.
    "quickstart": 0.3,
    "incidents/elr-election": 1.0,
    "incidents/quick-restarts": 1.0,
    "16-paused-leader": 1.0,
    "21-quick-restart": 1.0,
    "23-isolated-controller": 1.0,
}


@cache
def recorded(scenario: str) -> Run:
    folder = Path(mkdtemp()) / "run"
    tidegauge.run(scenario, out=folder)
    return Run(folder)


@cache
def proposed(scenario: str) -> Proposal:
    return proposed_scenario(recorded(scenario))


def played_again(scenario: str) -> SideBySide:
    folder = Path(mkdtemp()) / "again"
    tidegauge.run(proposed(scenario).scenario, out=folder)
    return side_by_side([recorded(scenario), Run(folder)])


@pytest.mark.parametrize("scenario", SHARES)
def test_a_proposed_scenario_has_the_same_elections_and_isrs(scenario: str) -> None:
    pair = played_again(scenario)
    compared = len(pair.same) + len(pair.different)
    assert compared == len(recorded(scenario).directory.all_partitions)
    assert len(pair.same_leaders) == compared
    assert len(pair.same) >= SHARES[scenario] * compared


def only_fault(scenario: str) -> tuple[ProposedFault, dict[str, Any]]:
    proposal = proposed(scenario)
    (fault,) = proposal.faults
    (written,) = proposal.data["faults"]
    return fault, written


def assert_time(fault: ProposedFault, at_us: int) -> None:
    """The true time of a fault is within the bounds that the proposal names, and 50 ms."""
    assert fault.begin.least_us - 50_000 <= at_us <= fault.begin.most_us + 50_000


@pytest.mark.parametrize(
    ("scenario", "kind", "hit", "at", "until"),
    [
        ("incidents/broker-crash", "crash", [2], "5m", "15m"),
        ("incidents/controller-crash", "crash", [6], "5m", "10m"),
        ("incidents/rack-power-loss", "power_loss", ["rack:c"], "5m", "15m"),
        ("16-paused-leader", "pause", [1], "5s", "13s"),
        ("21-quick-restart", "restart", [1], "10s", "13s"),
        ("23-isolated-controller", "crash", ["controller:0"], "10s", None),
    ],
)
def test_a_fault_is_proposed_by_kind_place_and_time(
    scenario: str, kind: str, hit: list[int | str], at: str, until: str | None
) -> None:
    proposal = proposed(scenario)
    fault, written = only_fault(scenario)
    assert (written["kind"], written["brokers"]) == (kind, hit)
    assert_time(fault, parse_duration(at))
    if until is not None:
        end_us = parse_duration(written["at"]) + parse_duration(written["for"])
        assert abs(end_us + proposal.earlier_us - parse_duration(until)) < 300_000


def test_a_cut_and_a_pause_are_told_from_each_other() -> None:
    """All leaders remove a paused broker, or its session ends; of a cut only some leaders do."""
    cut, pause = proposed("cut-and-pause").data["faults"]
    assert (cut["kind"], cut["between"]) == ("cut_link", [[1], [2]])
    assert (pause["kind"], pause["brokers"]) == ("pause", [3])


def test_a_cut_between_racks_is_one_fault() -> None:
    kinds = [(each["kind"], each.get("between")) for each in proposed("quickstart").data["faults"]]
    assert ("cut_link", [[1, 2, 4, 5], [3, 6]]) in kinds


def test_each_restart_of_a_roll_is_a_clean_one() -> None:
    faults = proposed("incidents/rolling-restart").data["faults"]
    assert {each["kind"] for each in faults} == {"restart"}
    assert [each["brokers"] for each in faults] == [[number] for number in range(1, 7)]


def test_moves_are_steps_with_their_targets() -> None:
    steps = proposed("incidents/reassignment").data["steps"]
    (moves,) = (step["partitions"] for step in steps if step["do"] == "reassign")
    assert {"topic": "orders", "partition": 0, "replicas": [5, 2, 3]} in moves


def test_leaders_that_move_back_are_an_election_and_not_the_check_of_the_controller() -> None:
    proposal = proposed("incidents/broker-crash")
    assert proposal.data["cluster"]["settings"]["auto.leader.rebalance.enable"] is False
    elections = [each for each in proposal.data["steps"] if each["do"] == "preferred_election"]
    assert [each["at"] for each in elections] == ["905109ms"]


def test_only_rows_that_logs_can_have_are_read() -> None:
    told = {*KINDS}
    assert not told & {"fault_began", "fault_ended", "step_taken", "controlled_shutdown_sent"}


def test_the_text_has_the_evidence_and_is_the_same_scenario(tmp_path: Path) -> None:
    file = tmp_path / "again.yaml"
    proposal = write_proposal(recorded("incidents/broker-crash"), [], file)
    text = file.read_text()
    assert text == proposal_text(proposal)
    flat = " ".join(text.replace("#", " ").split())
    assert "crash-of-2 at" in flat
    assert "between 293.999s and 301.999s" in flat
    assert "A power loss looks the same" in flat
    loaded = load_scenario(file)
    assert loaded.resolved()["faults"] == proposal.scenario.resolved()["faults"]
    assert loaded.name == "again"


def test_properties_say_the_timeouts_by_which_a_death_is_dated(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("broker.id=1\nzookeeper.session.timeout.ms=6000\nbroker.rack=a\n")
    proposal = write_proposal(
        recorded("incidents/broker-crash"), [properties], tmp_path / "found.yaml"
    )
    (fault,) = proposal.faults
    assert fault.begin.most_us - fault.begin.least_us == (6000 // 3 + 2000) * 1000
    assert proposal.data["cluster"]["settings"]["zookeeper.session.timeout.ms"] == 6000


def test_properties_that_kafka_refuses_are_one_line(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("broker.id=1\nzookeeper.session.timeout.ms=soon\n")
    with pytest.raises(InputError) as refused:
        write_proposal(recorded("incidents/broker-crash"), [properties], tmp_path / "no.yaml")
    assert len(str(refused.value).splitlines()) == 1
    assert not (tmp_path / "no.yaml").exists()


#: A cluster that was there before, from the middle of its life.
EXISTING: dict[str, Any] = {
    "name": "existing",
    "duration": "2m",
    "release": "2.6",
    "cluster": {
        "brokers": 3,
        "start": {1: "0s", 2: "300ms", 3: "300ms"},
        "settings": {"auto.leader.rebalance.enable": False},
    },
    "topics": [
        {
            "name": "orders",
            "assignment": {0: [1, 2, 3], 1: [2, 3, 1]},
            "state": {1: {"leader": 3, "isr": [3, 2]}},
        }
    ],
    "workload": {"producers": [{"name": "shop", "topics": ["orders"], "batches_per_second": 4}]},
    "faults": [{"kind": "crash", "at": "40s", "for": "30s", "brokers": [3]}],
}


def test_a_cluster_of_before_begins_in_its_state(tmp_path: Path) -> None:
    tidegauge.run(EXISTING, out=tmp_path / "run")
    run = Run(tmp_path / "run")
    proposal = proposed_scenario(run)
    (topic,) = proposal.data["topics"]
    assert topic["state"] == {1: {"leader": 3, "isr": [3, 2]}}
    assert "steps" not in proposal.data
    tidegauge.run(proposal.scenario, out=tmp_path / "again")
    pair = side_by_side([run, Run(tmp_path / "again")])
    assert sorted(pair.same) == ["orders-0", "orders-1"]


def test_hours_in_which_nothing_happens_are_left_out(tmp_path: Path) -> None:
    """The second outage is five hours after the first one."""
    faults = [{"kind": "crash", "at": at, "for": "30s", "brokers": [3]} for at in ("40s", "18040s")]
    tidegauge.run({**EXISTING, "duration": "18120s", "faults": faults}, out=tmp_path / "run")
    run = Run(tmp_path / "run")
    proposal = proposed_scenario(run)
    assert parse_duration(proposal.data["duration"]) < 1_000_000_000
    assert [each["kind"] for each in proposal.data["faults"]] == ["crash", "crash"]
    first_us, second_us = (parse_duration(each["at"]) for each in proposal.data["faults"])
    assert 600_000_000 < second_us - first_us < 660_000_000
    (notice,) = (each for each in proposal.notices if each.subject == "times")
    assert notice.text.startswith("nothing happens from 370")
    assert "a fault that lasts over them is shorter by them" in notice.text
    assert "Times in which nothing happened are left out: 370" in proposal.data["description"]
    tidegauge.run(proposal.scenario, out=tmp_path / "again")
    pair = side_by_side([run, Run(tmp_path / "again")])
    assert sorted(pair.same) == ["orders-0", "orders-1"]
