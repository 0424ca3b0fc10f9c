"""``bench/answers.py compare``: which changes of recorded answers are differences."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "answers.py"

#: Answers of one run, by their files.
ANSWERS = {
    "quickstart/figures.json": '{\n  "isr_shrinks": 62,\n  "records_acknowledged_lost": 0\n}\n',
    "quickstart/hashes.json": '{\n  "trace_sha256": "cc3c"\n}\n',
    "quickstart/rows/all-orders-5.txt": "30.0s broker 2 is gone\n44.0s broker 6 leads\n",
}


def compared(folder: Path, changes: dict[str, str]) -> tuple[int, str]:
    """Compare the answers with changed ones: the exit status, and the output."""
    for side, answers in (("before", ANSWERS), ("after", {**ANSWERS, **changes})):
        for name, text in answers.items():
            file = folder / side / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    command = [
        sys.executable,
        str(SCRIPT),
        "compare",
        str(folder / "before"),
        str(folder / "after"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "other hashes: 0, only more rows: 0"),
        ({"quickstart/hashes.json": '{\n  "trace_sha256": "9b04"\n}\n'}, "other hashes: 1"),
        (
            {
                "quickstart/rows/all-orders-5.txt": "30.0s broker 2 is gone\n"
                "44.0s partition state: leader 6\n44.0s broker 6 leads\n"
            },
            "only more rows: 1",
        ),
    ],
    ids=["nothing else", "another trace", "one more row"],
)
def test_answers_are_equal_whatever_else_is_in_the_trace(
    tmp_path: Path, changes: dict[str, str], said: str
) -> None:
    status, output = compared(tmp_path, changes)
    assert status == 0
    assert said in output


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"quickstart/figures.json": ANSWERS["quickstart/figures.json"].replace("62", "63")},
            'figures.json: from line 2\n {\n-  "isr_shrinks": 62,\n+  "isr_shrinks": 63,',
        ),
        (
            {"quickstart/rows/all-orders-5.txt": "44.0s broker 6 leads\n"},
            "-30.0s broker 2 is gone",
        ),
        ({"quickstart/views/show.txt": ""}, "quickstart/views/show.txt: only in "),
    ],
    ids=["a figure", "a row less", "a new view"],
)
def test_another_answer_is_printed(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    status, output = compared(tmp_path, changes)
    assert status == 1
    assert said in output
    assert "differ: 1, scenarios: 1" in output
