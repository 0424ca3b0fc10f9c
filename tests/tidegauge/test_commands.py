"""The commands, as a person at a shell meets them."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner, Result

from tidegauge import __version__
from tidegauge.command_line import app
from tidegauge.commands.releases import switch_meanings
from tidegauge.compiled.kept_code import cache_folder
from tidegauge.replication import kraft_releases, releases


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_help_shows_commands_that_can_be_copied() -> None:
    result = run("--help")
    assert result.exit_code == 0
    lines = map(str.strip, result.output.splitlines())
    examples = [line for line in lines if line.startswith("tidegauge ")]
    assert len(examples) >= 3
    for example in examples:
        command = example.split()[1]
        assert run(command, "--help").exit_code == 0


def test_version() -> None:
    assert run("--version").output == f"tidegauge {__version__}\n"


def test_kip_101_second_scenario_diverges_in_0_10_2_and_nowhere_else() -> None:
    """KIP-101, second scenario: records 0-3 on both, one lost and replaced, high watermark 4."""
    meeting = ("--leader", "0:3,1:1", "--follower", "0:4", "--high-watermark", "4")
    result = run("reconcile", *meeting)
    assert result.exit_code == 0
    verdicts = {part.split(",")[0]: "DIVERGED" in part for part in result.output.split("\n\n")[1:]}
    assert verdicts == {
        "0.10.2.2": True,
        "1.1.1": False,
        "2.0.0": False,
        "2.6.3": False,
        "3.9.2": False,
    }


def test_a_follower_is_told_its_steps() -> None:
    result = run("reconcile", "--leader", "0:3,1:2", "--follower", "0:5", "--release", "2.6")
    assert "asks where epoch 0 ended: epoch 0, offset 3" in result.output
    assert "truncates to 3, 2 records removed" in result.output
    assert "follower  00011" in result.output


def test_kafka_10706_is_named_where_it_stops_a_follower() -> None:
    meeting = ("--leader", "0:2,2:1", "--leader-epoch", "4", "--follower", "0:2")
    stuck = run("reconcile", *meeting, "--idle-epoch", "3", "--release", "2.6.0")
    assert "STUCK" in stuck.output
    assert "KAFKA-10706" in stuck.output
    mended = run("reconcile", *meeting, "--idle-epoch", "3", "--release", "2.6.1")
    assert "STUCK" not in mended.output
    assert "equal to the leader's log" in mended.output


@pytest.mark.parametrize(
    ("leader", "follower", "lines"),
    [
        ("0:3,1:2", "0:5", ["leader    00011", "follower  00000"]),
        ("0:3,12:1", "0:4", ["leader    0x3 12x1", "follower  0x4"]),
        ("0:70", "0:20", ["leader    0x70", "follower  0x20"]),
    ],
)
def test_the_logs_of_a_meeting_are_drawn_alike(
    leader: str, follower: str, lines: list[str]
) -> None:
    result = run("reconcile", "--leader", leader, "--follower", follower, "--release", "2.6")
    assert all(line in result.output for line in lines)
    assert "is drawn as" in result.output


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        (("--release", "1.1"), "STOPPED"),
        (("--release", "1.1", "--unclean"), "DIVERGED"),
        (("--release", "0.10.2"), "DIVERGED"),
        (("--release", "0.10.2", "--no-unclean"), "STOPPED"),
        (("--release", "2.0.1"), "equal to"),
    ],
)
def test_a_follower_that_is_ahead_stops_its_broker_where_unclean_election_is_disabled(
    options: tuple[str, ...], verdict: str
) -> None:
    """KAFKA-7414; the default of unclean.leader.election.enable became false with 0.11."""
    logs = ("--leader", "5:3", "--follower", "0:10", "--high-watermark", "10")
    assert verdict in run("reconcile", *logs, *options).output


@pytest.mark.parametrize(
    ("leader", "follower", "offset"),
    [("0:3,1:2", "0:5", 3), ("0:5", "0:2", 2), ("0:2,1:1", "0:2,1:1", 3), ("", "0:2", 0)],
)
def test_the_high_watermark_is_taken_to_be_where_the_logs_part(
    leader: str, follower: str, offset: int
) -> None:
    result = run("reconcile", "--leader", leader, "--follower", follower, "--release", "2.6")
    assert f"high watermark {offset}\n" in result.output


def test_nothing_is_shown_if_one_of_the_releases_is_unknown() -> None:
    logs = ("--leader", "0:1", "--follower", "0:1")
    assert run("reconcile", *logs, "--release", "2.6", "--release", "0.9").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--leader", "0:3,1:x", "--follower", "0:5"), "--leader: '1:x'"),
        (("--leader", "0:3", "--follower", "0:0"), "--follower: '0:0'"),
        (("--leader", "2:1,1:1", "--follower", "0:5"), "--leader: epoch 1 comes after epoch 2"),
        (("--leader", "3:1", "--follower", "0:5", "--leader-epoch", "2"), "--leader-epoch 2"),
        (("--leader", "0:1", "--follower", "0:5", "--high-watermark", "6"), "--high-watermark 6"),
        (("--leader", "0:1", "--follower", "0:1", "--release", "2.9"), "2.9"),
        (
            ("--leader", "0:1", "--follower", "0:1", "--leader-epoch", "2", "--idle-epoch", "2"),
            "--idle-epoch 2",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_it(
    arguments: tuple[str, ...], named: str
) -> None:
    result = run("reconcile", *arguments)
    assert result.exit_code == 2
    assert named in result.stderr
    assert result.stderr.startswith("tidegauge: ")
    assert len(result.stderr.splitlines()) == 1


def test_known_divergences_are_shown_with_their_cures() -> None:
    result = run("divergences")
    assert result.exit_code == 0
    assert result.output.count("DIVERGED") == 2
    assert result.output.count("STUCK") == 1
    assert result.output.count("equal to the leader's log") == 4


def test_releases_lists_every_switch() -> None:
    output = run("releases").output
    assert all(name in output for name in releases.RULE_CELLS)


def test_each_switch_of_a_release_is_explained() -> None:
    output = run("releases", "2.6").output
    assert "A follower joins only from the leader's log end at the start of its epoch on." in output
    assert (
        switch_meanings().keys() == releases.RULE_CELLS.keys() | kraft_releases.KRAFT_CELLS.keys()
    )


def test_releases_say_the_same_to_a_program() -> None:
    one = json.loads(run("releases", "2.6", "--json").stdout)
    assert (one["release"], one["protocol"]) == ("2.6.3", "2.6-IV0")
    assert one["rules"].keys() == releases.RULE_CELLS.keys()
    assert one["defaults"]["replica.lag.time.max.ms"]["value"] == 30_000
    assert "@" in one["defaults"]["replica.lag.time.max.ms"]["source"]
    every = json.loads(run("releases", "--json").stdout)
    lag = every["defaults"]["replica.lag.time.max.ms"]
    assert [(cell["since"], cell["value"]) for cell in lag] == [
        ("0.10.2.0", 10_000),
        ("2.5.0", 30_000),
    ]
    assert every["rules"].keys() == releases.RULE_CELLS.keys()


def test_compile_says_what_it_did() -> None:
    output = run("compile").output
    assert re.search(r"\d+ rules", output)
    assert str(cache_folder()) in output
