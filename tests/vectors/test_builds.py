"""The vectors hold however the rules are run: uncompiled, and with array bounds checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vector_runner import load_vectors

VECTORS = Path(__file__).parent / "test_vectors.py"
SHIPPED = Path(__file__).parent.parent / "data" / "vectors" / "kafka_rules_vectors.json"

RUN_ALL = """
import sys
from pathlib import Path
from vector_runner import load_vectors, run_vector
for path in sys.argv[1:]:
    for vector in load_vectors(Path(path)).vectors:
        run_vector(vector)
"""


@pytest.mark.parametrize("setting", ["TIDEGAUGE_COMPILED=0", "TIDEGAUGE_BOUNDS_CHECK=1"])
def test_all_vectors_pass(setting: str) -> None:
    """In a process of their own, where the rules are built anew."""
    name, _, value = setting.partition("=")
    paths = os.pathsep.join(path for path in sys.path if path)
    subprocess.run(
        [sys.executable, "-c", RUN_ALL, *map(str, SHIPPED.parent.glob("*.json"))],
        env=os.environ | {"PYTHONPATH": paths, name: value},
        check=True,
    )


def test_another_file_of_vectors_runs_and_is_counted(tmp_path: Path) -> None:
    """``pytest tests/vectors --vectors FILE``, and a fault in the file is one clear error."""
    content = json.loads(SHIPPED.read_text())
    few = [vector for vector in content["vectors"] if vector["area"] == "epoch_cache"][:3]
    other, miscounted = tmp_path / "other.json", tmp_path / "miscounted.json"
    other.write_text(json.dumps(content | {"vectors": few, "counts": {}}))
    again = [vector | {"id": vector["id"] + "-again"} for vector in few]
    miscounted.write_text(json.dumps(content | {"vectors": again, "counts": {"epoch_cache": 4}}))
    command = [sys.executable, "-m", "pytest", "-q", str(VECTORS), "--vectors", str(other)]
    result = subprocess.run(
        [*command, "--vectors", str(miscounted)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout[-2000:]
    assert "6 passed" in result.stdout
    assert "vectors in other.json" in result.stdout
    assert f"{len(load_vectors(other).vectors):5d}  in all" in result.stdout
    assert "3  epoch_cache, but the file says 4" in result.stdout

    other.write_text("{}")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 4
    assert f"{other}: has no list of vectors" in result.stdout + result.stderr
