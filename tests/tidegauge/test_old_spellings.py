"""Old spellings of commands: each is answered with the new one, in one line."""

from __future__ import annotations

import shlex

import pytest
from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.commands.old_spellings import new_spelling

SPELLINGS = {
    "show runs/a": "show partitions runs/a",
    "show runs/a --faults --json": "show faults runs/a --json",
    "show runs/a --partition orders-0 --from 10s --all": (
        "show partition runs/a orders-0 --from 10s --all"
    ),
    "show --broker=3 'runs/a b' --at 12s": "show broker 'runs/a b' 3 --at 12s",
    "show runs/a --cause 2:17": "show cause runs/a 2:17",
    "show runs/a --metadata-log --to 9s": "show metadata-log runs/a --to 9s",
    "compare runs/a runs/b --shift -3s": "compare-runs runs/a runs/b --shift -3s",
    "import topics.txt --release 3.9 -o mine.yaml --compare-to 4.1 --runs up --seeds 1..3": (
        "import topics.txt --release 3.9 -o mine.yaml && "
        "tidegauge upgrade mine.yaml --to 4.1 --out up --seeds 1..3"
    ),
    "import topics.txt --properties s.properties -o mine.yaml --compare-to 4.4": (
        "import topics.txt --properties s.properties -o mine.yaml && "
        "tidegauge upgrade mine.yaml --to 4.4 --properties s.properties"
    ),
}


@pytest.mark.parametrize(("old", "new"), SPELLINGS.items())
def test_an_old_spelling_is_answered_with_the_new_command(old: str, new: str) -> None:
    result = CliRunner().invoke(app, shlex.split(old))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"tidegauge: this is now: tidegauge {new}\n"


@pytest.mark.parametrize("new", SPELLINGS.values())
def test_a_command_of_today_is_no_old_spelling(new: str) -> None:
    for command in new.split(" && tidegauge "):
        assert new_spelling(shlex.split(command)) is None


@pytest.mark.parametrize("words", ["show --help", "compare", "compare quickstart --modes a,b"])
def test_nor_is_a_question_for_help(words: str) -> None:
    assert new_spelling(shlex.split(words)) is None
