"""``tidegauge conform``, as a person at a shell meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from recordings import golden, own, seen, written
from tidegauge.command_line import app

KILLED: dict[str, Any] = {"step": {"op": "kill", "b": [1]}}


def conform(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["conform", *map(str, arguments)])


def told(result: Result) -> list[str]:
    """The lines of its output."""
    return [line.rstrip() for line in result.stdout.splitlines()]


def refusal(result: Result) -> str:
    """The one line in which a command says what was wrong with its input."""
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("tidegauge: ")
    assert len(result.stderr.splitlines()) == 1
    return result.stderr.removeprefix("tidegauge: ").strip()


def after_kill(leader: int, isr: list[int]) -> dict[str, Any]:
    """A recording in which broker 1, the leader, is killed."""
    state = {"t-0": {"zk": {"leader": leader, "isr": isr}}}
    return own(KILLED | {"obs": seen(registered=[2, 3], partitions=state)})


# What it says and how it ends.


def test_equal_schedules_are_a_line_each_and_end_with_0(tmp_path: Path) -> None:
    written(golden("v2_no_data"), tmp_path / "a.json")
    written(after_kill(leader=2, isr=[2, 3]), tmp_path / "b.json")
    written({"what": "lies beside them"}, tmp_path / "index.json")
    result = conform(tmp_path)
    assert result.exit_code == 0, result.output
    lines = told(result)
    assert lines[1].split()[:2] == ["v2_no_data", "2.6.3"]
    # The name is the file's, since it has none. Three fields were seen, and are compared.
    assert lines[2].split() == ["b", "2.6.3", "1", "3", "0", "0", "0"]
    assert "schedules: 2, with unexplained differences: 0, not played to their end: 0" in lines
    assert "exact      226 fields, 0 different (0.00 %): 0 explained, 0 unexplained" in lines


def test_a_difference_is_told_with_its_step_its_fields_and_the_story_around_it(
    tmp_path: Path,
) -> None:
    file = written(after_kill(leader=3, isr=[3]), tmp_path / "mine.json")
    result = conform(file)
    assert result.exit_code == 1
    lines = told(result)
    assert any(
        line.startswith("  step 1, at ") and line.endswith('{"op": "kill", "b": [1]}')
        for line in lines
    )
    assert "    partitions.t-0.zk.leader: 3, simulated 2" in lines
    assert "    partitions.t-0.zk.isr: [3], simulated [2, 3]" in lines
    story = lines[lines.index("  t-0 around it:") :]
    assert any("leader is now broker 2, before none: clean election" in line for line in story)
    assert not any("leader is now broker 1" in line for line in story)  # much earlier
    assert f"    tidegauge conform {file} --out runs" in story
    assert any(
        line.startswith("    tidegauge show partition runs/mine/seed-1 t-0 --from ")
        for line in story
    )


def test_the_commands_that_it_ends_with_show_the_same_story(tmp_path: Path) -> None:
    file = written(after_kill(leader=3, isr=[3]), tmp_path / "mine.json")
    out = tmp_path / "runs"
    lines = told(conform(file, "--out", out, "--seeds", "1"))
    first = lines.index("  again:") + 1
    assert lines[first] == f"    tidegauge conform {file} --out {out} --seeds 1"
    shown = CliRunner().invoke(app, lines[first + 1].split()[1:])
    assert shown.exit_code == 0, shown.output
    begin, end = lines.index("  t-0 around it:") + 1, first - 2
    # The state of the partition stands above its story.
    _, _, story = shown.stdout.partition("\n\n")
    assert lines[begin:end] == [line.rstrip() for line in story.splitlines()]


def test_what_belongs_to_no_partition_is_the_controllers_story(tmp_path: Path) -> None:
    killed = KILLED | {"obs": seen(controller=1)}
    result = conform(written(own(killed), tmp_path / "mine.json"))
    assert result.exit_code == 1
    assert "the controller:" in result.stdout
    assert "becomes controller, controller epoch 2" in result.stdout
    assert "tidegauge show controller " in result.stdout


def test_many_differing_fields_are_counted_not_listed(tmp_path: Path) -> None:
    numbers = range(12)
    create = {
        "step": {"op": "create", "topic": "u", "assign": {str(each): [1] for each in numbers}},
        "obs": seen(partitions={f"u-{each}": {"zk": {"leader": 9}} for each in numbers}),
    }
    late = KILLED | {"obs": seen(registered=[7])}
    result = conform(written(own(create, late), tmp_path / "mine.json"), "--seeds", "1")
    assert result.stdout.count("simulated 1") == 10
    assert "    ... and 2 more" in result.stdout
    assert "  and in steps 2: 1 exact" in result.stdout
    assert "the same in u-2, u-3, u-4" in result.stdout


def test_what_the_simulator_cannot_play_is_said_and_what_came_before_is_compared(
    tmp_path: Path,
) -> None:
    moved = {"step": {"op": "move_log", "tp": "u-0", "to": "other"}}
    before = after_kill(leader=2, isr=[2, 3])
    before["steps"].append(moved)
    result = conform(written(before, tmp_path / "mine.json"))
    assert result.exit_code == 1
    assert (
        "  not played from step 2 on: the simulator has no step 'move_log'"
        " (nothing explains this)" in told(result)
    )
    assert told(result)[1].split() == ["mine", "2.6.3", "1", "3", "1", "0", "1"]


def test_what_a_row_explains_is_no_failure_and_is_shown_if_asked_for(tmp_path: Path) -> None:
    name = "t1_delete_broker_down"
    file = written(golden(name), tmp_path / f"{name}.json")
    brief, whole = conform(file), conform(file, "--all")
    assert (brief.exit_code, whole.exit_code) == (0, 0)
    assert "of known_differences.md" not in brief.stdout
    assert "of known_differences.md" in whole.stdout
    assert "stops the replicas and has them deleted" not in brief.stdout
    assert "stops the replicas and has them deleted" in whole.stdout
    assert "settings without effect here: auto.create.topics.enable" in whole.stdout


def test_a_release_that_is_not_known_is_not_played(tmp_path: Path) -> None:
    result = conform(written(own(release="2.9.9"), tmp_path / "mine.json"))
    assert result.exit_code == 1
    assert "not played from step 0 on" in result.stdout
    assert "2.9.9" in told(result)[2]


def test_runs_are_kept_where_they_are_wanted_and_never_written_over(tmp_path: Path) -> None:
    file = written(after_kill(leader=2, isr=[2, 3]), tmp_path / "mine.json")
    out = tmp_path / "runs"
    assert conform(file, "--out", out).exit_code == 0
    assert json.loads((out / "mine" / "seed-1" / "manifest.json").read_text())["seed"] == 1
    assert "is not empty" in refusal(conform(file, "--out", out))


def test_the_help_says_how_it_ends_and_gives_examples() -> None:
    shown = conform("--help").stdout
    assert "The exit status is 0 if all differences are explained" in shown
    assert "tidegauge conform mine.json --seeds 8 --out runs/mine" in shown


# What is no recorded schedule.


def test_a_file_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "none.json"
    assert refusal(conform(file)) == f"{file}: no such file or folder"


def test_a_folder_without_schedules_is_one_line(tmp_path: Path) -> None:
    written({"name": "an index"}, tmp_path / "index.json")
    (tmp_path / "traces").mkdir()
    assert refusal(conform(tmp_path)) == (
        f"{tmp_path}: has no recorded schedule, that is no .json file with steps of a ZooKeeper or"
        " KRaft cluster; it holds index.json, traces/"
    )


def test_a_file_of_neither_dialect_is_told_by_what_it_is(tmp_path: Path) -> None:
    file = written(own(mode="raft"), tmp_path / "mine.json")
    assert refusal(conform(file)) == (
        f"{file}: is a recording of neither a ZooKeeper nor a KRaft cluster:"
        " its mode is 'raft', not zookeeper or kraft"
    )
    mixed = after_kill(leader=2, isr=[2, 3]) | {"mode": "kraft"}
    assert "is a recording of a KRaft cluster by its mode, but step 1 has a state of ZooKeeper" in (
        refusal(conform(written(mixed, file)))
    )


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{not json", "is not JSON: "),
        ('{"name": "an index"}', "is not a recorded schedule: it has no steps"),
        ("[1, 2]", "is not a recorded schedule: it has no steps"),
        ('{"brokers": [1], "steps": [{"step": {"op": "pref"}}]}', "release: Field required"),
        ('{"release": "2.6", "brokers": [], "steps": []}', "brokers: "),
        ('{"release": "2.6", "brokers": [1], "steps": []}', "steps: "),
        ('{"release": "2.6", "brokers": [1], "steps": 7}', "steps: "),
        ('{"release": "2.6", "brokers": [1], "steps": [7]}', "steps.0: "),
        ('{"release": "2.6", "brokers": [1], "steps": [{"step": {}}]}', "has no op"),
    ],
)
def test_a_file_that_is_no_schedule_is_one_line_that_names_the_place(
    tmp_path: Path, content: str, complaint: str
) -> None:
    file = tmp_path / "mine.json"
    file.write_text(content)
    message = refusal(conform(file))
    assert message.startswith(f"{file}: ")
    assert complaint in message


def test_bad_files_are_found_before_anything_is_played(tmp_path: Path) -> None:
    good = written(golden("v2_no_data"), tmp_path / "good.json")
    bad = written({}, tmp_path / "worse.json")
    result = conform(good, bad)
    assert str(bad) in refusal(result)
    assert result.stdout == ""
