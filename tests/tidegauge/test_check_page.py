"""The page about checks is what the checks say, and its examples come out as it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.laboratory.manual.catalogue_pages import PARTS, check_texts
from tidegauge.traces.checks import CHECK_NAMES

#: What an example says, and how the line of its check begins then.
OUTCOMES = {"breaks it": "BROKEN in", "gives it up": "given up in", "keeps it": "holds"}

EXAMPLES = [
    (text.check.name, " ".join(command.split()), outcome)
    for text in check_texts()
    for command, outcome in re.findall(
        rf"``(tidegauge run .+?)``\s({'|'.join(OUTCOMES)})", text.parts["Example"], re.DOTALL
    )
]


def test_each_check_says_what_it_promises_when_it_is_permitted_and_an_example() -> None:
    texts = check_texts()
    assert [text.check.name for text in texts] == [*CHECK_NAMES]
    for text in texts:
        assert text.meaning, text.check.name
        assert [*text.parts] == [*PARTS], text.check.name
    assert {name for name, _, _ in EXAMPLES} == {*CHECK_NAMES}


@pytest.mark.parametrize(("check", "command", "outcome"), EXAMPLES)
def test_each_example_comes_out_as_the_page_says(
    check: str, command: str, outcome: str, tmp_path: Path
) -> None:
    _, *arguments = shlex.split(command)
    result = CliRunner().invoke(app, [*arguments, "--verbose", "--out", str(tmp_path / "run")])
    (line,) = re.findall(rf"^check {check} +(.*)$", result.output, re.MULTILINE)
    assert line.startswith(OUTCOMES[outcome])


def test_a_roll_in_2_8_says_who_believed_what_and_that_it_is_kafka_14704(tmp_path: Path) -> None:
    """KAFKA-14704: the replica, its offset, its epoch, the leader's epoch, issue and releases."""
    arguments = ["run", "rolling-restart", "--inline", "-v", "--set", 'release="2.8"']
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "run")])
    assert result.exit_code == 0
    assert "BROKEN" not in result.output
    assert re.search(
        r"broker 4 took offset 20 of epoch 2 of orders-189 for committed, where its leader, "
        r"broker 2, has offset 20 of epoch 3; then it truncated its own records",
        result.output,
    )
    assert "KAFKA-14704: a follower of releases 2.8.0 to 3.4.0" in result.output
