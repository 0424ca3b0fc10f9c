"""Times of a run: typed in any form, and printed in one that can be typed back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner, Result

from night_story import unfolded
from scenario_runs import run_of, shipped
from tidegauge.command_line import app
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import (
    format_duration,
    parse_duration,
    parse_time,
    short_time_text,
    time_text,
)
from tidegauge.traces.run_folder import RunFolder

#: A time as it is printed: seconds, to the millisecond at most.
PRINTED = re.compile(r"(?<![\w.])\d+(?:\.\d{1,3})?s\b")
#: ... and what no time of a run may look like: with a blank, as a clock, in minutes.
FOREIGN = re.compile(r"\b(?:at|from|until|since) (?:\d+:\d\d|\d+m\d+|[\d.]+ s\b)")


#: The outputs of a run of each mode.
OUTPUTS = (
    ("show", "partitions", "RUN"),
    ("show", "faults", "RUN"),
    ("show", "partition", "RUN", "orders-0"),
    ("show", "broker", "RUN", "2"),
    ("show", "broker", "RUN", "2", "--at", "50"),
    ("show", "controller", "RUN"),
    ("picture", "RUN"),
    ("picture", "RUN", "--partition", "orders-0", "--from", "25", "--to", "1m15s"),
    ("describe", "RUN", "--at", "1m1.5s"),
    ("validate", "SCENARIO"),
)
#: ... and those of one mode, by its scenario.
OUTPUTS_OF_MODES = {
    "quickstart": (
        ("show", "quorum", "RUN"),
        ("show", "quorum", "RUN", "--at", "3m31s"),
        ("show", "metadata-log", "RUN", "--from", "30", "--to", "1m15s"),
    ),
    "quickstart-zookeeper": (("show", "zookeeper", "RUN", "--at", "0"),),
}


class Printing(NamedTuple):
    """A run, and the commands that print something of it."""

    run: RunFolder
    commands: list[tuple[str, ...]]


@pytest.fixture(scope="module", params=OUTPUTS_OF_MODES)
def printing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Printing:
    """Six brokers: one crashes, a disk is slow, a rack is cut off."""
    name = str(request.param)
    run = run_of(shipped(name), tmp_path_factory.mktemp("times") / "run")
    stand_ins = {"RUN": str(run.path), "SCENARIO": name}
    commands = [*OUTPUTS, *OUTPUTS_OF_MODES[name]]
    return Printing(run, [tuple(stand_ins.get(word, word) for word in each) for each in commands])


def tidegauge(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.parametrize(
    ("text", "time_us"),
    [
        ("0", 0),
        ("90", 90_000_000),
        ("1.5", 1_500_000),
        ("90s", 90_000_000),
        ("23m50s", 1_430_000_000),
        ("1h2m3.5s", 3_723_500_000),
        ("250ms", 250_000),
        ("2m 30s", 150_000_000),
        ("1s7us", 1_000_007),
    ],
)
def test_a_time_is_typed_in_any_form(text: str, time_us: int) -> None:
    assert parse_time(text) == time_us


@pytest.mark.parametrize("text", ["", "soon", "5x", "-1", "50s1m", "1s1s", "1:30", "0.5us", "1e3"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_time(text)


def test_in_a_scenario_a_number_has_its_unit() -> None:
    """`for: 90` could be milliseconds, as in most of Kafka's settings."""
    assert parse_duration("1m30s") == 90_000_000
    assert format_duration(parse_duration("1m30s")) == "90s"
    with pytest.raises(ValueError, match="must be a duration"):
        parse_duration("90")


@pytest.mark.parametrize("time_us", [0, 999, 1_000, 12_345_678, 90_000_000, 4_500_250_000])
def test_a_time_that_is_printed_can_be_typed_back(time_us: int) -> None:
    for text in (time_text(time_us), short_time_text(time_us)):
        assert PRINTED.fullmatch(text)
        assert parse_time(text) == time_us // 1000 * 1000


def test_every_time_in_an_output_can_be_typed_back(printing: Printing) -> None:
    for words in printing.commands:
        result = tidegauge(*words)
        assert result.exit_code == 0, result.output
        assert not FOREIGN.search(result.stdout), words
        for text in PRINTED.findall(result.stdout):
            assert time_text(parse_time(text)).startswith(text[:-1]), words


def test_a_time_that_is_typed_back_has_the_events_that_are_printed_with_it(
    printing: Printing,
) -> None:
    """A row at 44.036412s is printed as 44.036s, and `--to 44.036s` is to show it."""
    story = ("show", "partition", printing.run.path, "orders-1", "--all")
    told = unfolded(tidegauge(*story).stdout)
    lines = re.findall(r"^ +(\d+\.\d{3}s)  (.*)$", told, re.MULTILINE)
    assert len(lines) > 20
    for text, words in lines[:: max(1, len(lines) // 8)]:
        part = unfolded(tidegauge(*story, "--from", text, "--to", text).stdout)
        assert [text, *words.split()] in [line.split() for line in part.splitlines()], text


@pytest.mark.parametrize("option", ["--scrape-interval", "--evaluation-interval"])
def test_intervals_are_typed_as_times_are(option: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text("groups: [{name: none, rules: [{alert: Never, expr: vector(0) > 1}]}]\n")
    result = tidegauge("alerts", "--rules", rules, option, "0.5")
    assert f"{option} 0.5: must be whole milliseconds, and 1s at least" in result.stderr


def test_one_is_not_plural() -> None:
    assert [counted(number, "partition") for number in (0, 1, 20_000)] == [
        "0 partitions",
        "1 partition",
        "20,000 partitions",
    ]
    assert [counted(2, noun) for noun in ("batch", "process", "leader epoch")] == [
        "2 batches",
        "2 processes",
        "2 leader epochs",
    ]


def test_no_output_counts_one_as_many(printing: Printing) -> None:
    one = re.compile(r"(?<![\w.,])1 (?:[a-z]+ )?(?:partition|broker|record|replica|topic|log)s\b")
    for words in printing.commands:
        output = tidegauge(*words).stdout
        assert "(s)" not in output
        assert not one.search(output), words
    small = ("--set", "topics=[{name: one, partitions: 1, replication_factor: 1}]")
    clients = "workload={producers: [{name: p, topics: [one], batches_per_second: 1}]}"
    output = tidegauge("validate", "lag-and-session", *small, "--set", clients).stdout
    assert "1 topic, 1 partition, 1 replica" in output
