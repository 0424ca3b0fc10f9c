"""``read-logs --from/--to/--around``: "it was at 23:56, and we have logs of a month"."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from importing import in_one_line
from real_clusters import recorded, written
from tidegauge.command_line import app
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.simulation.quantities import parse_duration
from tidegauge.traces.run_folder import RunFolder

#: The recorded cluster's broker 1 dies some 14 s after the first line, and comes back.
_CLUSTER = "zk-2.6.3-b1_leader_kill"

_VERSION = "[{time}] INFO Kafka version: 4.0.0 (org.apache.kafka.common.utils.AppInfoParser)"
_LEADS = (
    "[{time}] INFO [Broker id=1] Leader t-0 with topic id Some(AAAAAAAAAAAAAAAAAAAAAA) starts at "
    "leader epoch {epoch} from offset 9 with partition epoch {epoch}, high watermark 9, ISR [1], "
    "adding replicas [] and removing replicas [] . Previous leader Some(-1) and previous leader "
    "epoch was {epoch}. (state.change.logger)"
)


def _tidegauge(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


def _long_span(folder: Path) -> Path:
    """Two files of one broker, fifteen months apart."""
    old, new = "2025-01-10 09:00:00,000", "2026-04-10 14:03:00,000"
    files = {
        "server.log.2025-01-10-09": f"{_VERSION}\n{_LEADS}".format(time=old, epoch=0),
        "server.log": _LEADS.format(time=new, epoch=2),
    }
    return written(folder / "logs", {f"broker-1/{name}": text for name, text in files.items()})


def test_logs_of_months_give_their_last_day_with_events(tmp_path: Path) -> None:
    logs, run = _long_span(tmp_path), tmp_path / "run"
    made = _tidegauge("read-logs", logs, "-o", run)
    assert made.exit_code == 0, made.output
    assert (
        "the run is from 2026-04-09T14:04:00.000 to 2026-04-10T14:03:00.000: the last day with "
        "events, of logs from 2025-01-10T09:00:00.000 to 2026-04-10T14:03:00.000; "
        "--from 2025-01-10T09:00:00.000 reads all of them\n"
    ) in made.stdout
    # The state of fifteen months ago is that of the begin.
    rows = list(RunFolder(run).rows("partition_state"))
    assert [(row["time_us"] // 1000, row["leader_epoch"]) for row in rows] == [
        (0, 0),
        (86_340_000, 2),
    ]


def test_all_of_fifteen_months_can_be_read(tmp_path: Path) -> None:
    run = tmp_path / "run"
    made = _tidegauge("read-logs", _long_span(tmp_path), "-o", run, "--from", "2025-01-10T09:00:00")
    assert made.exit_code == 0, made.output
    assert "the run is from" not in made.stdout
    assert [row["time_us"] // 86_400_000_000 for row in RunFolder(run).rows("partition_state")] == [
        0,
        455,
    ]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(_CLUSTER, tmp_path_factory.mktemp("windows"))


@pytest.fixture(scope="module")
def whole(logs: Path) -> RunFolder:
    assert _tidegauge("read-logs", logs, "-o", logs.parent / "whole").exit_code == 0
    return RunFolder(logs.parent / "whole")


def _clock_of(run: RunFolder, time_us: int) -> str:
    clock = run.wall_clock
    assert clock is not None
    return clock.text(time_us)


def test_a_window_has_the_states_before_it_as_its_first(
    logs: Path, whole: RunFolder, tmp_path: Path
) -> None:
    """What `describe` tells of a moment does not depend on how early the run begins."""
    loss_us = int(whole.table("broker_stopped")["time_us"].min())
    begin, at = _clock_of(whole, loss_us + 8_000_000), _clock_of(whole, loss_us + 9_000_000)
    run = tmp_path / "run"
    made = _tidegauge("read-logs", logs, "-o", run, "--from", begin, "--json")
    assert made.exit_code == 0, made.output
    told = json.loads(made.stdout)
    assert told["from"].endswith(begin)
    described = [_tidegauge("describe", each, "--at", at).stdout for each in (run, whole.path)]
    assert described[0] == described[1]
    assert "Isr: 3" in described[0] or "Isr: 2" in described[0]
    # What happened before is a state, and no event.
    summary, of_whole = RunFolder(run).summary, whole.summary
    assert summary is not None
    assert of_whole is not None
    assert 0 < summary["isr_expands"] == of_whole["isr_expands"] - _before(whole, begin)
    assert summary["leader_elections"] < of_whole["leader_elections"]
    assert _tidegauge("verify", run).exit_code == 0


def _before(run: RunFolder, time: str) -> int:
    """The number of leaders' expansions before a time of day."""
    times_us = run.table("isr_expanded")["time_us"].tolist()
    return sum(_clock_of(run, each) < time for each in times_us)


@pytest.mark.parametrize("cluster", ["zk-2.6.3-s1_reassign", "kraft-4.1.0-f1_rf2_kill_ret12"])
def test_a_moment_is_described_the_same_from_any_begin(cluster: str, tmp_path: Path) -> None:
    """With reassignments, fenced brokers, and their returns."""
    logs = recorded(cluster, tmp_path)
    assert _tidegauge("read-logs", logs, "-o", tmp_path / "whole").exit_code == 0
    whole = RunFolder(tmp_path / "whole")
    at = _clock_of(whole, whole.end_us * 6 // 10)
    of_whole = _tidegauge("describe", whole.path, "--at", at, "--json").stdout
    begin = _clock_of(whole, whole.end_us // 2)
    assert _tidegauge("read-logs", logs, "-o", tmp_path / "end", "--from", begin).exit_code == 0
    of_end = _tidegauge("describe", tmp_path / "end", "--at", at, "--json").stdout
    assert _states_in(of_end) == _states_in(of_whole)


def _states_in(described: str) -> list[dict[str, Any]]:
    return [
        {**each, "topic": topic["topic"]} | {"eligible_leaders": None, "last_known_leader": None}
        for topic in json.loads(described)
        for each in topic["partitions"]
    ]


def test_around_a_time_there_are_ten_minutes_or_as_many_as_are_named(
    logs: Path, whole: RunFolder, tmp_path: Path
) -> None:
    loss_us = int(whole.table("broker_stopped")["time_us"].min())
    words = ("--around", _clock_of(whole, loss_us), "--within", "2s")
    assert _tidegauge("read-logs", logs, "-o", tmp_path / "run", *words).exit_code == 0
    run = RunFolder(tmp_path / "run")
    (stopped,) = run.table("broker_stopped")["time_us"].tolist()
    assert (stopped // 1000, run.end_us // 1000) == (2000, 4001)
    assert len(run.table("leader_elected").get("time_us", ())) == 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--from", "soon"), "--from soon: must be a wall-clock time, such as 2026-"),
        (("--to", "25:00"), "--to 25:00: must be a wall-clock time"),
        (("--around", "10s"), "--around 10s: must be a wall-clock time"),
        (("--around", "23:56", "--from", "23:50"), "--around excludes --from and --to"),
        (("--from", "23:56", "--within", "5m"), "--within: has no effect without --around TIME"),
        (("--from", "2031-01-01"), "no line is in this time: the logs go from 20"),
    ],
)
def test_a_window_that_cannot_be_is_refused_in_one_line(
    logs: Path, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    refused = _tidegauge("read-logs", logs, "-o", tmp_path / "run", *words)
    assert (refused.exit_code, len(refused.output.splitlines())) == (2, 1)
    assert complaint in refused.output
    assert not (tmp_path / "run").exists()


def test_a_time_of_day_is_not_enough_for_logs_of_days(tmp_path: Path) -> None:
    refused = _tidegauge(
        "read-logs", _long_span(tmp_path), "-o", tmp_path / "run", "--from", "13:00"
    )
    assert refused.exit_code == 2
    assert "--from: is a time of several days: add the date, as in 20" in refused.output


def test_a_night_between_two_outages_is_left_out_of_the_proposal(
    logs: Path, whole: RunFolder, tmp_path: Path
) -> None:
    """The broker that died at 23:5x returns in the morning; nobody simulates the night."""
    begin_us = int(whole.table("broker_stopped")["time_us"].min()) + 8_000_000
    later = _later(logs, _clock_of(whole, begin_us).replace(".", ","), tmp_path / "later")
    run, scenario = tmp_path / "run", tmp_path / "night.yaml"
    made = _tidegauge("read-logs", later, "-o", run, "--scenario", scenario)
    assert made.exit_code == 0, made.output
    assert "times:\n  nothing happens from 2026-11-22T" in made.stdout
    proposed: Any = read_scenario_file(scenario).data
    assert parse_duration(proposed["duration"]) < 900_000_000
    assert "Times in which nothing happened are left out: 2026-11-22T" in proposed["description"]
    (crash,) = proposed["faults"]
    assert 600_000_000 < parse_duration(crash["for"]) < 640_000_000


def _later(logs: Path, time: str, folder: Path) -> Path:
    """The same logs, whose lines from a time of day on are six hours later."""
    shutil.copytree(logs, folder)
    for file in folder.rglob("*.log*"):
        file.write_text(_TIME.sub(lambda found: _six_hours_later(found, time), file.read_text()))
    return folder


_TIME = re.compile(r"(?m)^\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d,\d{3})\]")


def _six_hours_later(found: re.Match[str], time: str) -> str:
    if found[2] < time:
        return found[0]
    moment = dt.datetime.fromisoformat(f"{found[1]} {found[2]}") + dt.timedelta(hours=6)
    return f"[{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03}]"


def test_a_run_and_a_part_of_it_are_compared_by_the_wall_clock(
    logs: Path, whole: RunFolder, tmp_path: Path
) -> None:
    """The part begins with states that the whole run has seen change before."""
    loss_us = int(whole.table("broker_stopped")["time_us"].min())
    begin = _clock_of(whole, loss_us + 8_000_000)
    made = _tidegauge("read-logs", logs, "-o", tmp_path / "part", "--from", begin)
    assert made.exit_code == 0, made.output
    part = RunFolder(tmp_path / "part")
    later_us = loss_us // 1000 * 1000 + 8_000_000
    for runs, shift_us in (((whole, part), later_us), ((part, whole), -later_us)):
        compared = _tidegauge("compare-runs", *(run.path for run in runs), "--json")
        assert compared.exit_code == 0, compared.output
        content = json.loads(compared.stdout)
        assert content["runs"][1]["shift_us"] == shift_us
        assert content["runs"][1]["aligned_by_clock"]
        assert content["partitions"]["same"] == content["partitions"]["compared"] > 0
    told = _tidegauge("compare-runs", whole.path, part.path).stdout
    assert "by the wall clock; the states of the time that all have are compared" in in_one_line(
        told
    )
