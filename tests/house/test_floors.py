"""Who may import whom: the floors of the house, read off every source file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: The floor of each room. A room knows the rooms on lower floors, and no other.
FLOORS = {
    "scenarios": 0,  # files to be read, no code
    "compiled": 0,
    "replication": 1,
    "simulation": 2,
    "controller": 3,
    "actors": 3,
    "metrics": 4,
    "spark_analysis": 4,
    "tidegauge": 5,
    "deploy": 6,  # files to be read, and a script that starts a command
}

#: Large systems from outside, and the only rooms that know them.
CONFINED = {
    "ray": {"actors", "controller", "tidegauge"},
    "pyspark": {"spark_analysis"},
    "prometheus_client": {"metrics"},
}

#: All that the rules may import: nothing here reads a clock or reaches out of the process.
PURE = {
    *("__future__", "abc", "bisect", "collections", "contextlib", "dataclasses", "enum"),
    *("functools", "hashlib", "heapq", "inspect", "itertools", "math", "numpy", "operator"),
    *("re", "string", "struct", "types", "typing", "unicodedata", "zlib"),
}

#: Builtins that reach out of the process.
IMPURE_BUILTINS = {"input", "open", "print"}

ROOMS = [room for room in FLOORS if (ROOT / room / "__init__.py").exists()]


def complaints(source: str, path: str) -> list[str]:
    """What is wrong with the imports of a source file at ``path`` (``room/.../file.py``)."""
    room = path.split("/", 1)[0]
    tree = ast.parse(source)
    found = [
        f"{path}:{line}: {complaint}"
        for line, name in _imports(tree)
        for complaint in _complaints_about(name, room)
    ]
    if room == "replication":
        found += [
            f"{path}:{node.lineno}: replication is pure: {node.func.id}()"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in IMPURE_BUILTINS
        ]
    return found


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full name of all that is imported, wherever in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def _complaints_about(name: str, room: str) -> Iterator[str]:
    top, _, below = name.partition(".")
    if not top or top in FLOORS.keys() - {"tidegauge"}:
        yield f"rooms are imported as tidegauge.<room>, not as {name}"
    elif top == "tidegauge":
        # What is not in a room of its own is in the front door.
        target = below.split(".")[0]
        target = target if target in FLOORS else "tidegauge"
        if target != room and FLOORS[target] >= FLOORS[room]:
            yield f"{room} is not above {target}: {name}"
    elif room not in CONFINED.get(top, {room}):
        yield f"{top} is not known in {room}"
    elif room == "replication" and top not in PURE:
        yield f"replication is pure: {name}"


@pytest.mark.parametrize("room", ROOMS)
def test_every_import_stays_on_its_floor(room: str) -> None:
    found = []
    for file in sorted((ROOT / room).rglob("*.py")):
        found += complaints(file.read_text(), file.relative_to(ROOT).as_posix())
    assert found == []


def test_every_package_at_the_top_has_a_floor() -> None:
    assert {file.parent.name for file in ROOT.glob("*/__init__.py")} <= FLOORS.keys()


def test_no_room_hides_a_module_of_python() -> None:
    # A checkout has the rooms at its top, where a script's imports are looked up first.
    assert FLOORS.keys().isdisjoint(sys.stdlib_module_names)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("replication/log.py", "from tidegauge.replication.records import Partition"),
        ("replication/log.py", "import numpy as np"),
        ("compiled/rules.py", "import os, time\nfrom pathlib import Path\nimport numba"),
        ("simulation/links.py", "from tidegauge.replication import records"),
        ("actors/handlers.py", "from tidegauge.simulation.events import Event"),
        ("actors/broker_actor.py", "import ray"),
        ("controller/controller_actor.py", "from ray.util import placement_group"),
        ("metrics/endpoint.py", "from prometheus_client import Gauge"),
        ("spark_analysis/tables.py", "import pyspark.sql"),
        ("tidegauge/command_line.py", "from tidegauge import __version__"),
        ("tidegauge/driver.py", "import ray\nfrom tidegauge.metrics import snapshot"),
    ],
)
def test_accepts(path: str, source: str) -> None:
    assert complaints(source, path) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        # Upwards, and sideways.
        ("replication/log.py", "from tidegauge.simulation.links import x", "above simulation"),
        ("simulation/links.py", "from tidegauge import actors", "above actors"),
        ("simulation/links.py", "import tidegauge.controller.elections", "above controller"),
        ("actors/handlers.py", "from tidegauge.controller.elections import x", "above controller"),
        ("controller/elections.py", "from tidegauge.actors.handlers import x", "above actors"),
        ("metrics/endpoint.py", "import tidegauge.spark_analysis", "above spark_analysis"),
        ("metrics/endpoint.py", "from tidegauge.command_line import app", "above tidegauge"),
        ("actors/handlers.py", "from tidegauge import __version__", "above tidegauge"),
        ("actors/handlers.py", "import tidegauge", "above tidegauge"),
        # Inside a function, too.
        ("replication/log.py", "def f():\n    import tidegauge.actors", "above actors"),
        # Rooms under other names.
        ("actors/handlers.py", "from replication.records import x", "tidegauge.<room>"),
        ("tidegauge/driver.py", "import metrics", "tidegauge.<room>"),
        ("actors/handlers.py", "from .log_directory import x", "tidegauge.<room>"),
        ("actors/handlers.py", "from . import log_directory", "tidegauge.<room>"),
        # Large systems in the wrong room.
        ("simulation/links.py", "import ray", "ray is not known"),
        ("metrics/endpoint.py", "from ray.util import metrics", "ray is not known"),
        ("actors/handlers.py", "import pyspark.sql", "pyspark is not known"),
        ("tidegauge/driver.py", "import prometheus_client", "prometheus_client is not known"),
        # Clocks and I/O in the rules.
        ("replication/log.py", "import time", "pure: time"),
        ("replication/log.py", "from pathlib import Path", "pure: pathlib.Path"),
        ("replication/log.py", "import numba", "pure: numba"),
        ("replication/log.py", "import random", "pure: random"),
        ("replication/log.py", "open('log')", "pure: open()"),
        ("compiled/rules.py", "import ray", "ray is not known"),
    ],
)
def test_complains(path: str, source: str, complaint: str) -> None:
    (found,) = complaints(source, path)
    assert complaint in found
