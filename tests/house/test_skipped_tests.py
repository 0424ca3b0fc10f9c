"""Tests that were skipped are named at the end of a run, with what would have them run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

TWO_OF_THREE_SKIPPED = """
import pytest
needs_prometheus = pytest.mark.skipif(True, reason="prometheus is not installed: install it")
@needs_prometheus
def test_one(): ...
@needs_prometheus
def test_two(): ...
def test_three(): ...
"""


def test_the_last_lines_say_what_was_skipped_and_how_to_have_it(tmp_path: Path) -> None:
    (tmp_path / "test_three.py").write_text(TWO_OF_THREE_SKIPPED)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "skipped 2: prometheus is not installed: install it" in ran.stdout.splitlines()
