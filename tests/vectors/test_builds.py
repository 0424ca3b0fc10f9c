"""The vectors hold however the rules are run: uncompiled, and with array bounds checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vector_runner import load_vectors

VECTORS = Path(__file__).parent / "test_vectors.py"
FOLDER = Path(__file__).parent.parent / "data" / "vectors"
SHIPPED = FOLDER / "kafka_rules_vectors.json"


def run_vectors(**environment: str) -> subprocess.CompletedProcess[str]:
    """Run the vectors in a process of their own, where the rules are built anew."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(VECTORS)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("setting", ["TIDEGAUGE_COMPILED=0", "TIDEGAUGE_BOUNDS_CHECK=1"])
def test_all_vectors_pass(setting: str) -> None:
    name, _, value = setting.partition("=")
    result = run_vectors(**{name: value})
    count = sum(len(load_vectors(path).vectors) for path in FOLDER.glob("*.json"))
    assert result.returncode == 0, result.stdout[-2000:]
    assert f"{count} passed" in result.stdout


def test_another_file_of_vectors_runs_and_is_counted(tmp_path: Path) -> None:
    """``pytest tests/vectors --vectors FILE``, and a fault in the file is one clear error."""
    other = tmp_path / "other.json"
    other.write_text(SHIPPED.read_text().replace('"EC-A-02"', '"EC-A-02-again"'))
    command = [sys.executable, "-m", "pytest", "-q", str(VECTORS), "--vectors", str(other)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:]
    assert "vectors in other.json" in result.stdout
    assert f"{len(load_vectors(other).vectors):5d}  in all" in result.stdout

    other.write_text(SHIPPED.read_text().replace('"epoch_cache": 55', '"epoch_cache": 56'))
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert "55  epoch_cache, but the file says 56" in result.stdout

    other.write_text("{}")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 4
    assert f"{other}: has no list of vectors" in result.stdout + result.stderr
