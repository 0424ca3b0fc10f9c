"""``show --faults``: what each fault has cost, held against rows, summary and one another."""

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
from tidegauge.history.fault_costs import fault_costs
from tidegauge.simulation.messages.controller_requests import UpdateMetadataRequest
from tidegauge.traces.run_folder import RunFolder


def summary_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


def shown(run: RunFolder) -> str:
    result = CliRunner().invoke(app, ["show", str(run.path), "--faults"])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def crash(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Broker 2 of six is killed at 30 s, with 200 partitions and all requests traced."""
    topics = [as_written("failover-budget")["topics"][0] | {"partitions": 200}]
    folder = tmp_path_factory.mktemp("crash") / "run"
    return run_of(retold("failover-budget", topics=topics, trace="all", liveness=False), folder)


def test_the_parts_of_a_failover_add_up_to_the_time_without_a_leader(crash: RunFolder) -> None:
    (costs,) = fault_costs(crash)
    failover = costs.failover
    assert failover is not None
    moments = [costs.span.begin_us, *failover]
    assert moments == sorted(moments)
    # 18 s after the last ping, on a tick.
    assert 12e6 < failover.session_ended_us - costs.span.begin_us <= 20e6
    (expired,) = rows_of(crash, "session_expired")
    assert failover.session_ended_us == expired["time_us"]
    new = rows_of(crash, "became_leader", is_new_leader=1)
    led = [row["time_us"] for row in new if row["time_us"] > 30e6]
    assert (failover.led_us, failover.last_led_us) == (min(led), max(led))


def test_the_account_of_a_failover_is_told_in_one_line(crash: RunFolder) -> None:
    """Question 14 of operators: account for every second."""
    line = next(line for line in shown(crash).splitlines() if "first new leader" in line)
    whole, *parts = (
        float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]
        for number, unit in re.findall(r"([\d.]+) (us|ms|s)\b", line)
    )
    assert len(parts) == 4
    assert sum(parts) == pytest.approx(whole, abs=0.02)


def test_the_work_of_a_fault_is_what_the_rows_say(crash: RunFolder) -> None:
    (costs,) = fault_costs(crash)
    since = [row for row in rows_of(crash, "leader_elected") if row["time_us"] >= 30e6]
    assert costs.work.leaders_elected == len(since) in {33, 34}
    requests = rows_of(crash, "message", message_kind=int(UpdateMetadataRequest.KIND))
    assert costs.work.update_metadata_requests == sum(row["time_us"] >= 30e6 for row in requests)
    # Every ISR that had broker 2 is written once, with its new leader or without its dead replica.
    assert costs.work.states_written >= costs.work.isr_removals + costs.work.leaders_elected


def test_areas_are_those_of_the_summary(crash: RunFolder, tmp_path: Path) -> None:
    (costs,) = fault_costs(crash)
    offline = summary_of(crash)["partition_seconds_offline"]
    assert costs.areas["offline"].partition_seconds == pytest.approx(offline, abs=0.001)
    assert costs.areas["under_min_isr"].over_us == -1
    run = run_of(retold("isolated-leader", liveness=False), tmp_path / "run")
    (cut,) = fault_costs(run)
    under = summary_of(run)["partition_seconds_under_min_isr"]
    assert cut.areas["under_min_isr"].partition_seconds == pytest.approx(under, abs=0.001)
    over_us = cut.areas["under_min_isr"].over_us
    assert over_us is not None
    assert 100e6 < over_us < 110e6, "soon after the cut has healed"


def test_each_fault_is_followed_to_the_next_one(tmp_path: Path) -> None:
    run = run_of(retold("lag-and-session", liveness=False), tmp_path / "run")
    fades, dies = fault_costs(run)
    assert (fades.until_us, dies.until_us) == (40_000_000, 100_000_000)
    assert (fades.sessions_ended, len(dies.sessions_ended)) == ([], 1)
    assert (fades.work.isr_shrinks, dies.work.isr_shrinks) == (1, 0)
    # Of the ISR only the dead leader was left: nobody can be elected, to the end.
    assert dies.failover is None
    assert dies.areas["offline"].over_us is None
    assert "dies: crash of 1, from 40.000s to the end" in shown(run)
    assert "1 at once; still so at the end" in shown(run)


def test_brokers_of_a_roll_are_one_fault(tmp_path: Path) -> None:
    topics = [as_written("rolling-restart")["topics"][0] | {"partitions": 12}]
    run = run_of(retold("rolling-restart", topics=topics, liveness=False), tmp_path / "run")
    (roll,) = fault_costs(run)
    assert len(roll.sessions_ended) == 6
    assert roll.areas["offline"].most_at_once == 0
    assert "UpdateMetadata         not recorded: run with --trace-level all" in shown(run)


def test_a_run_without_faults_says_so(tmp_path: Path) -> None:
    run = run_of(retold("isolated-leader", faults=[], duration="10s"), tmp_path / "run")
    assert shown(run) == "No fault began.\n"


def test_programs_read_the_same(crash: RunFolder) -> None:
    result = CliRunner().invoke(app, ["show", str(crash.path), "--faults", "--json"])
    (found,) = json.loads(result.stdout)
    (costs,) = fault_costs(crash)
    assert costs.failover is not None
    assert (found["fault"], found["begin_us"]) == ("crash", 30_000_000)
    assert found["failover"]["led_us"] == costs.failover.led_us
    assert found["sessions_ended"][0]["broker"] == 2
    assert found["offline"]["partition_seconds"] == costs.areas["offline"].partition_seconds
    assert found["leaders_elected"] == costs.work.leaders_elected
    refused = CliRunner().invoke(app, ["show", str(crash.path), "--json"])
    assert (refused.exit_code, refused.stderr) == (2, "tidegauge: --json needs --faults\n")


def test_lost_records_are_told_where_people_look(tmp_path: Path) -> None:
    """129 records that a leader without a session acknowledged with acks=1 are not in any log."""
    cut = as_written("isolated-leader")["faults"][0] | {"between": [[1], ["zookeeper", 4]]}
    run = run_of(retold("isolated-leader", faults=[cut]), tmp_path / "run")
    lost = summary_of(run)["records_acknowledged_lost"]
    assert summary_of(run)["records_lost_by_partition"] == {"orders-0": lost}
    assert lost > 100
    shown = CliRunner().invoke(app, ["show", str(run.path), "--partition", "orders-0"])
    assert f"{lost:,} acknowledged records of it are lost." in shown.stdout
    # Thousands of retries are one line each.
    refusals = [line for line in shown.stdout.splitlines() if "refuses PRODUCE" in line]
    assert 0 < len(refusals) < 30


def test_a_broker_that_runs_is_up(crash: RunFolder) -> None:
    """Samples of its gauges say nothing about that."""
    result = CliRunner().invoke(app, ["show", str(crash.path), "--broker", "1", "--at", "60s"])
    assert result.stdout.startswith("Broker 1 at 60.000s: up since ")


def test_a_partition_says_when_nobody_led_it_and_what_was_on_then(crash: RunFolder) -> None:
    """From the death on, not from when ZooKeeper heard of it."""
    led = [
        number
        for number, each in enumerate(crash.manifest["partitions"])
        if each["replicas"][0] == 2
    ]
    partition = f"orders-{crash.manifest['partitions'][led[0]]['partition']}"
    said = CliRunner().invoke(app, ["show", str(crash.path), "--partition", partition]).stdout
    (line,) = [line for line in said.splitlines() if line.startswith("No live leader")]
    assert line.startswith("No live leader from 30.000s to 4")
    assert line.endswith("; faults active when this began: crash 'crash'.")
    other = f"orders-{next(n for n in range(200) if n not in led)}"
    assert "No live leader" not in shown_partition(crash, other)


def shown_partition(run: RunFolder, name: str) -> str:
    return CliRunner().invoke(app, ["show", str(run.path), "--partition", name]).stdout
