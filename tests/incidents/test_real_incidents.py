"""From the logs of real clusters to the faults that were played, held against the truth."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

import tidegauge
from real_clusters import RECORDED, recorded
from tidegauge.command_line import app
from tidegauge.real_cluster.incident.absence_pairs import paired_absences
from tidegauge.real_cluster.incident.sightings import SIGHTINGS
from tidegauge.runs.run import Run
from tidegauge.runs.side_by_side import SideBySide, side_by_side
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.simulation.quantities import parse_duration

#: A signal, and the fault that is proposed for it.
KINDS = {"SIGKILL": "crash", "SIGTERM": "restart", "SIGSTOP": "pause"}
#: The most that a proposed begin may be off: by a lost connection, a controlled shutdown, a lag.
OFF_S = {"crash": 0.2, "disk_loss": 0.2, "restart": 1.0, "pause": 1.0}
#: Recordings whose logs date a death less well.
OFF_S_IN = {
    # A busy machine: all peers lost their connections 0.28 s after the signal.
    "kraft-4.4.0-i1_controller_kill": 0.3,
    # No broker fetched from the dead follower: only the end of its session is logged.
    "kraft-4.4.0-s4_reassign_unmoved_dead": 0.5,
}
#: Recordings in which the directory of a killed node was emptied before it started again.
WIPED = {"kraft-4.4.0-q07_lost_disk_auto_join": 11}

#: All but one, in which a broker is slow for other reasons than faults.
NAMES = [name for name in RECORDED if "slow_broker" not in name]


@cache
def logs_of(name: str) -> Path:
    return recorded(name, Path(mkdtemp()))


class Read(NamedTuple):
    """A recorded incident as a run, its proposed scenario, and the output of the command."""

    run: Run
    scenario: Path
    output: str
    content: dict[str, Any]


@cache
def read(name: str) -> Read:
    folder = Path(mkdtemp())
    scenario = folder / "proposed.yaml"
    arguments = ["read-logs", str(logs_of(name)), "-o", str(folder / "run")]
    result = CliRunner().invoke(app, [*arguments, "--scenario", str(scenario), "--json"])
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)["scenario"]
    return Read(Run(folder / "run"), scenario, result.stderr, content)


@cache
def played_again(name: str) -> SideBySide:
    folder = Path(mkdtemp()) / "again"
    tidegauge.run(load_scenario(read(name).scenario), out=folder)
    return side_by_side([read(name).run, Run(folder)])


def played(name: str) -> list[tuple[str, int, float]]:
    """The faults of the schedule: kind, node, and time in the scenario in seconds."""
    truth = json.loads((logs_of(name) / "truth.json").read_text())
    first_ms = read(name).run.manifest["logs"]["first_line_ms"]
    earlier_ms = read(name).content["earlier_us"] / 1000
    found: dict[tuple[str, int, int], float] = {}
    for time_ms, node, what in truth["processes"]:
        if what in KINDS:
            # A process and its shell are killed one after the other.
            kind = "disk_loss" if WIPED.get(name) == node else KINDS[what]
            key = (kind, node, round(time_ms / 1000))
            found.setdefault(key, (time_ms - first_ms - earlier_ms) / 1000)
    return [(kind, node, at_s) for (kind, node, _), at_s in found.items()]


def node_of(name: str, selector: int | str) -> int:
    """The node that a fault hits; a controller of a quorum by its place among the active ones."""
    if isinstance(selector, int):
        return selector
    names = read(name).run.directory
    active = [names.member_id(row["broker"]) for row in read(name).run.rows("controller_active")]
    nodes = [*dict.fromkeys([*active, *names.controllers])]
    node = nodes[int(selector.removeprefix("controller:"))]
    assert node is not None
    return node


@pytest.mark.parametrize("name", NAMES)
def test_the_faults_that_were_played_are_proposed(name: str) -> None:
    faults = read(name).content["scenario"].get("faults", [])
    proposed = [
        (
            each["kind"],
            node_of(name, each["brokers"][0]),
            parse_duration(each["at"]) / 1e6,
        )
        for each in faults
    ]
    truth = played(name)
    assert [each[:2] for each in proposed] == [each[:2] for each in truth]
    for (kind, _, at_s), (_, _, true_s) in zip(proposed, truth, strict=True):
        assert abs(at_s - true_s) <= OFF_S_IN.get(name, OFF_S[kind])


@pytest.mark.parametrize("name", NAMES)
def test_the_proposed_scenario_has_the_same_leaders_and_isrs(name: str) -> None:
    pair = played_again(name)
    assert pair.same
    assert not pair.different
    assert pair.only_in[0] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_the_scenario_that_the_command_tells(name: str) -> None:
    written = read_scenario_file(read(name).scenario).data
    assert isinstance(written, dict)
    assert written["name"] == "proposed"
    assert json.loads(json.dumps(written)) == json.loads(json.dumps(read(name).content["scenario"]))


def test_moves_and_the_election_after_them_are_steps() -> None:
    steps = read("zk-2.6.3-s1_reassign").content["scenario"]["steps"]
    assert [each["do"] for each in steps] == ["create_topic", "reassign", "preferred_election"]
    moves = {each["partition"]: each["replicas"] for each in steps[1]["partitions"]}
    assert moves == {0: [2, 3], 1: [3, 2, 1], 2: [2]}


def test_both_runs_lose_and_regain_their_broker_at_the_same_times() -> None:
    """The death is dated by lost connections in both: seconds from there agree to 0.2 s."""
    (incident,) = paired_absences(played_again("zk-2.6.3-b1_leader_kill").sides)
    assert incident.broker == 1
    one, other = (each for each in incident.runs if each is not None)
    for absence in (one, other):
        assert absence.until_noticed_s is not None
        assert 3 < absence.until_noticed_s < 6
    assert one.away_s == pytest.approx(other.away_s, abs=0.5)


def test_sightings_are_kept_in_the_folder_of_the_run() -> None:
    assert (read("zk-2.6.3-b1_leader_kill").run.path / SIGHTINGS).is_file()


def test_without_lost_connections_a_death_is_known_up_to_a_session(tmp_path: Path) -> None:
    """Only a controller's logs are there: it has no connections to brokers, and logs no losses."""
    name = "kraft-4.1.0-b1_leader_kill"
    shutil.copytree(logs_of(name) / "controller-10", tmp_path / "logs" / "controller-10")
    scenario = tmp_path / "found.yaml"
    arguments = ["read-logs", str(tmp_path / "logs"), "-o", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*arguments, "--scenario", str(scenario)])
    assert result.exit_code == 0, result.output
    text = " ".join(scenario.read_text().replace("#", " ").split())
    assert "crash-of-1" in text
    assert "its own logs are missing, so it may have hung" in text


def from_the_middle(name: str, since: str, folder: Path) -> Path:
    """The logs of a cluster from a time of the day on, as after a rotation."""
    for file in logs_of(name).glob("*/*"):
        target = folder / file.parent.name / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".properties":
            shutil.copy(file, target)
            continue
        kept, lines = False, []
        for line in file.read_text().splitlines(keepends=True):
            if line.startswith("[20"):
                kept = line[12:20] >= since
            lines += [line] if kept else []
        target.write_text("".join(lines))
    return folder


@pytest.mark.parametrize(
    ("name", "since", "same"),
    [
        ("kraft-4.1.0-b1_leader_kill", "23:46:46", 3),
        # The assignment of a partition with no preferred election is told nowhere.
        ("zk-2.6.3-b1_leader_kill", "23:46:45", 2),
    ],
)
def test_logs_may_begin_just_before_the_incident(
    name: str, since: str, same: int, tmp_path: Path
) -> None:
    logs = from_the_middle(name, since, tmp_path / "logs")
    scenario = tmp_path / "found.yaml"
    arguments = ["read-logs", str(logs), "-o", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*arguments, "--scenario", str(scenario)])
    assert result.exit_code == 0, result.output
    proposed = load_scenario(scenario)
    (fault,) = proposed.resolved()["faults"]
    assert (fault["kind"], fault["brokers"]) == ("crash", [1])
    tidegauge.run(proposed, out=tmp_path / "again")
    pair = side_by_side([Run(tmp_path / "run"), Run(tmp_path / "again")])
    assert len(pair.same) >= same
    assert len(pair.same_leaders) == 3


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--scenario", "{there}"], "exists; name a file that does not"),
        (["--properties", "{there}"], "--properties: has no effect without --scenario FILE"),
        (["--scenario", "{new}", "--properties", "{there}"], "has no property"),
    ],
)
def test_wrong_options_are_one_line(arguments: list[str], complaint: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("")
    names = {"there": there, "new": tmp_path / "new.yaml"}
    texts = [argument.format(**names) for argument in arguments]
    folder = str(logs_of("zk-2.6.3-b1_leader_kill"))
    result = CliRunner().invoke(app, ["read-logs", folder, "-o", str(tmp_path / "run"), *texts])
    assert result.exit_code == 2, result.output
    assert complaint in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_voters_that_logs_have_are_not_assumed() -> None:
    """The nodes' settings name bootstrap servers; the metadata log has the voters (KIP-853)."""
    (name,) = WIPED
    there = read(name)
    text = " ".join(there.scenario.read_text().replace("#", " ").split())
    assert load_scenario(there.scenario).controllers.voters == (0, 1, 2)
    assert "assumed are these" not in text
    assert "--quorum" not in text
