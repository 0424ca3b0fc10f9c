"""``show faults``: what each fault has cost, held against rows, summary and one another."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isr_stories import as_written, retold
from scenario_runs import rows_of, run_of
from tidegauge.command_line import app
from tidegauge.runs.run import Run
from tidegauge.simulation.messages.controller_requests import UpdateMetadataRequest
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.fault_view import FaultCosts
from tidegauge.views.fault_view import fault_costs as costs_in


def fault_costs(run: RunFolder) -> list[FaultCosts]:
    return costs_in(Run(run.path).tables)


def summary_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


def shown(run: RunFolder) -> str:
    result = CliRunner().invoke(app, ["show", "faults", str(run.path)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def crash(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Broker 2 of six is killed at 30 s, with 200 partitions and all requests traced."""
    topics = [as_written("failover-budget")["topics"][0] | {"partitions": 200}]
    folder = tmp_path_factory.mktemp("crash") / "run"
    return run_of(retold("failover-budget", topics=topics, trace="all", liveness=False), folder)


def test_a_failover_begins_with_the_session_and_ends_with_the_last_new_leader(
    crash: RunFolder,
) -> None:
    (each,) = fault_costs(crash)
    # 18 s after the last ping, on a tick.
    (session,) = each.sessions
    assert 12e6 < session["time_us"] - each.costs["begin_us"] <= 20e6
    (expired,) = rows_of(crash, "session_expired")
    assert (session["broker"], session["time_us"]) == (2, expired["time_us"])
    new = rows_of(crash, "became_leader", is_new_leader=1)
    led = [row["time_us"] for row in new if row["time_us"] > 30e6]
    assert each.costs["first_led_us"] == min(led)
    assert each.costs["last_led_us"] == max(led)


def test_the_account_of_a_failover_is_told_with_its_parts(crash: RunFolder) -> None:
    """Question 14 of operators: account for every second."""
    _, _, told = shown(crash).partition("first new leader")
    line = told.partition("last new leader")[0]
    whole, *parts = (
        float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]
        for number, unit in re.findall(r"([\d.]+) (us|ms|s)\b", line)
    )
    # Nothing is lost on the way to the controller's queue, and a replica that may lead is there.
    assert len(parts) == 4
    assert sum(parts) == pytest.approx(whole, abs=0.02)


def test_the_work_of_a_fault_is_what_the_rows_say(crash: RunFolder) -> None:
    (each,) = fault_costs(crash)
    since = [row for row in rows_of(crash, "leader_elected") if row["time_us"] >= 30e6]
    assert each.costs["elections"] == len(since) in {33, 34}
    requests = rows_of(crash, "message", message_kind=int(UpdateMetadataRequest.KIND))
    last_us = max(each.costs["last_effect_us"], each.costs["end_us"] or 0)
    meanwhile = sum(30e6 <= row["time_us"] <= last_us for row in requests)
    assert each.costs["update_metadata_requests"] == meanwhile > 0


@pytest.mark.parametrize("condition", ["offline", "at_min_isr", "under_min_isr"])
def test_outages_of_the_only_fault_are_those_of_the_summary(
    crash: RunFolder, condition: str
) -> None:
    (each,) = fault_costs(crash)
    charged = each.outages.get(condition, {"partition_seconds": 0})["partition_seconds"]
    assert charged == pytest.approx(summary_of(crash)[f"partition_seconds_{condition}"], abs=0.001)


def test_an_outage_is_over_when_the_isr_is_large_enough_again(tmp_path: Path) -> None:
    run = run_of(retold("isolated-leader", liveness=False), tmp_path / "run")
    (cut,) = fault_costs(run)
    under = cut.outages["under_min_isr"]
    whole = summary_of(run)["partition_seconds_under_min_isr"]
    assert under["partition_seconds"] == pytest.approx(whole, abs=0.001)
    assert 100e6 < under["over_us"] < 110e6, "soon after the cut has healed"


def test_each_fault_is_charged_with_its_own_effects_only(tmp_path: Path) -> None:
    """The cut takes the followers out of the ISR; the crash takes the leader that is left.

    Both are active to the end of the run, so that their times overlap.
    """
    run = run_of(retold("lag-and-session", liveness=False), tmp_path / "run")
    fades, dies = fault_costs(run)
    assert (fades.costs["end_us"], dies.costs["end_us"]) == (None, None)
    assert (fades.sessions, len(dies.sessions)) == ([], 1)
    assert (fades.costs["isr_shrinks"], dies.costs["isr_shrinks"]) == (1, 0)
    # The dead leader was alone in the ISR because of the cut: the outage is that of both.
    shared = fades.outages["offline"]
    assert shared["shared_seconds"] == shared["partition_seconds"] > 0
    # Of the ISR only the dead leader was left: nobody can be elected, to the end.
    assert dies.costs["first_led_us"] is None
    assert dies.outages["offline"]["over_us"] is None
    assert dies.outages["not_accepting"]["longest_us"] == 60 * 1_000_000
    assert "dies: crash of 1, from 40.000s to the end" in shown(run)
    assert "still so at the end" in shown(run)


def test_brokers_of_a_roll_are_one_fault(tmp_path: Path) -> None:
    topics = [as_written("rolling-restart")["topics"][0] | {"partitions": 12}]
    run = run_of(retold("rolling-restart", topics=topics, liveness=False), tmp_path / "run")
    (roll,) = fault_costs(run)
    assert len(roll.sessions) == 6
    assert "offline" not in roll.outages
    assert roll.outages["not_accepting"]["partitions"] == 12
    assert "UpdateMetadata         not recorded: run with --trace-level all" in shown(run)


def test_faults_are_a_table_of_100_columns_with_the_topics_that_they_hit(crash: RunFolder) -> None:
    lines = shown(crash).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split()[:3] == ["fault", "from", "to"]
    (each,) = fault_costs(crash)
    assert lines[1].startswith("crash  30.000s  ")
    assert lines[1].rstrip().endswith(f" orders ({each.topics[0]['partitions']})")


def test_a_run_without_faults_says_so(tmp_path: Path) -> None:
    run = run_of(retold("isolated-leader", faults=[], duration="10s"), tmp_path / "run")
    assert shown(run) == "No fault began.\n"


def test_programs_read_the_same(crash: RunFolder) -> None:
    result = CliRunner().invoke(app, ["show", "faults", str(crash.path), "--json"])
    (found,) = json.loads(result.stdout)
    (each,) = fault_costs(crash)
    assert (found["fault"], found["begin_us"]) == ("crash", 30_000_000)
    assert found["first_led_us"] == each.costs["first_led_us"]
    assert found["sessions_ended"][0]["broker"] == 2
    offline = each.outages["offline"]["partition_seconds"]
    assert found["offline"]["partition_seconds"] == offline
    assert found["elections"] == each.costs["elections"]


def test_lost_records_are_told_where_people_look(tmp_path: Path) -> None:
    """129 records that a leader without a session acknowledged with acks=1 are not in any log."""
    cut = as_written("isolated-leader")["faults"][0] | {"between": [[1], ["zookeeper", 4]]}
    run = run_of(retold("isolated-leader", faults=[cut]), tmp_path / "run")
    lost = summary_of(run)["records_acknowledged_lost"]
    assert summary_of(run)["records_lost_by_partition"] == {"orders-0": lost}
    assert lost > 100
    shown = CliRunner().invoke(app, ["show", "partition", str(run.path), "orders-0"])
    assert f"{lost:,} acknowledged records of it are lost." in shown.stdout
    assert "that broker 1 acknowledged in epoch 0: cut (acks=1); show cause RUN " in shown.stdout
    overview = CliRunner().invoke(app, ["show", "partitions", str(run.path)]).stdout
    assert overview.startswith("1 partition, 1 of them worth a look; 129 acknowledged records of 1")
    assert "LOST: 129 by cut (acks=1)" in overview
    drawn = CliRunner().invoke(app, ["picture", str(run.path), "--partition", "orders-0"]).stdout
    assert "broker 1 led on in epoch 0 from " in drawn
    assert "129 records that it acknowledged in this epoch are lost" in drawn
    assert "Llll" in drawn
    # Thousands of retries are one line each.
    refusals = [line for line in shown.stdout.splitlines() if "refuses PRODUCE" in line]
    assert 0 < len(refusals) < 30
    acknowledged = [line for line in shown.stdout.splitlines() if "acknowledged" in line]
    assert len(acknowledged) < 30


def test_a_broker_that_runs_is_up(crash: RunFolder) -> None:
    """Samples of its gauges say nothing about that."""
    result = CliRunner().invoke(app, ["show", "broker", str(crash.path), "1", "--at", "60s"])
    assert result.stdout.startswith("Broker 1 at 60.000s: up since ")


def test_a_partition_says_when_nobody_led_it_and_what_was_on_then(crash: RunFolder) -> None:
    """From the death on, not from when ZooKeeper heard of it."""
    led = [
        number
        for number, each in enumerate(crash.manifest["partitions"])
        if each["replicas"][0] == 2
    ]
    partition = f"orders-{crash.manifest['partitions'][led[0]]['partition']}"
    said = CliRunner().invoke(app, ["show", "partition", str(crash.path), partition]).stdout
    (line,) = [line for line in said.splitlines() if line.startswith("No leader accepted")]
    assert line.startswith("No leader accepted writes from 30.000s to 4")
    assert line.endswith("; faults active when this began: crash 'crash'.")
    other = f"orders-{next(n for n in range(200) if n not in led)}"
    assert "No leader accepted" not in shown_partition(crash, other)


def shown_partition(run: RunFolder, name: str) -> str:
    return CliRunner().invoke(app, ["show", "partition", str(run.path), name]).stdout


def test_changes_by_their_causes_add_up_to_the_summary(crash: RunFolder) -> None:
    elected, removed = (summary_of(crash)[name] for name in ("leader_elections", "isr_removals"))
    output = shown(crash)
    assert f"leaders elected: {elected} = {elected} by one fault" in output
    assert f"dead replicas taken out: {removed} = {removed} by one fault" in output


def test_the_crash_of_an_active_controller_has_the_election_of_the_next_as_its_effect(
    tmp_path: Path,
) -> None:
    quorum = as_written("quickstart")["faults"][-1] | {"at": "8s", "for": "5s"}
    run = run_of(retold("quickstart", faults=[quorum], duration="20s"), tmp_path / "run")
    (each,) = fault_costs(run)
    assert each.costs["controllers"] == 1
    assert each.costs["begin_us"] < each.costs["last_effect_us"] < each.costs["end_us"]
    assert "effects  " not in shown(run)
