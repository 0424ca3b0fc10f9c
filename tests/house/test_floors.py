"""Who may import whom: the floors of the house, read off every source file.

A room is a folder of modules. The rooms at the top stand on floors, and so do the rooms inside one
of them: an import leads from a room to one on a lower floor, or stays in its room. Nothing else
than the two tables below says which rooms there are.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: The folders at the top, from the ground up.
FLOORS = (
    {"scenarios", "compiled"},  # files to be read, and what knows no Kafka
    {"replication"},
    {"simulation"},
    {"traces", "clients"},
    {"scenario", "controller", "actors"},
    {"analysis"},
    {"metrics", "spark_analysis"},
    {"engine"},
    {"tidegauge"},
    {"deploy"},  # files to be read, and a script that starts a command
)

#: The rooms inside a folder at the top, from the ground up; "" is what lies in none of them.
INSIDE: Mapping[str, tuple[set[str], ...]] = {
    "simulation": ({"messages"}, {"trace_rows"}, {""}),
    "traces": ({"", "checks"}, {"quorum_checks"}, {"judging"}),
    "scenario": ({"text"}, {"model"}, {"coherence"}, {""}, {"lint", "other_mode"}),
    "controller": (
        *({"state", "raft", "kraft_partitions"}, {"kraft", "zookeeper", "partitions"}),
        *({"events"}, {""}),
    ),
    "actors": (
        *({"state"}, {"storage", "session", "idle_fetches"}, {"fetches"}, {"leaders"}),
        *({"process"}, {"followers"}, {"requests", "metadata"}, {""}),
    ),
    "engine": ({"layout", "exchange", "invariants", "run_snapshots"}, {""}, {"fuzzing"}),
    "metrics": ({"", "families"}, {"snapshots", "spellings"}, {"samples"}, {"endpoint"}),
    "analysis": ({""}, {"tables"}, {"rows"}, {"making"}, {"questions"}),
    "spark_analysis": ({""},),
    "deploy": ({"", "spark"},),
    "tidegauge": (
        *({"runs", "real_cluster/describe", "real_cluster/logs"}, {"report"}),
        *({"real_cluster/incident", "laboratory/conformance", "laboratory/gallery"},),
        *(
            {"real_cluster/rates", "rehearsal", "rewind", "search", "sweeps", "what_if"},
            {"real_cluster/costs"},
        ),
        *(
            {"views"},
            {"commands"},
            {"commands/questions", "commands/search", "commands/snapshots", "commands/tables"},
        ),
        *({"", "real_cluster", "laboratory"}, {"laboratory/manual"}),
    ),
}

#: Large systems from outside, and the files or rooms that know them.
CONFINED = {
    "ray": ("actors/broker_actor", "controller/controller_actor", "engine/ray_"),
    "duckdb": ("analysis/making/",),
    "pyspark": ("spark_analysis/",),
    "prometheus_client": ("metrics/",),
}

#: All that the rules may import: nothing here reads a clock or reaches out of the process.
PURE = {
    *("__future__", "abc", "bisect", "collections", "contextlib", "dataclasses", "enum"),
    *("functools", "hashlib", "heapq", "inspect", "itertools", "math", "numpy", "operator"),
    *("re", "string", "struct", "types", "typing", "unicodedata", "zlib"),
}

#: Builtins that reach out of the process.
IMPURE_BUILTINS = {"input", "open", "print"}

#: More modules in one folder are two subjects.
MOST_MODULES = 30

#: Folders at the top that use the house, and what `make` leaves.
AROUND = {"tests", "bench", "docs", "build", "runs"}

TOPS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


class Room:
    """A folder at the top, and the folder inside of it, "" for none; a wing's is ``wing/room``."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        """Find the room of a module: of its path's parts, or of its name's below ``tidegauge``."""
        is_front_door = not parts or parts[0] not in TOPS
        self.top = "tidegauge" if is_front_door else parts[0]
        below = parts if is_front_door else parts[1:]
        rooms = {room for floor in INSIDE.get(self.top, ()) for room in floor}
        paths = ("/".join(below[:depth]) for depth in (2, 1))
        self.inner = next((path for path in paths if path in rooms), "")

    def __str__(self) -> str:
        return f"{self.top}/{self.inner}".rstrip("/")

    def is_above(self, other: Room) -> bool:
        """Whether modules of this room may import from the other."""
        if self.top != other.top:
            return TOPS[self.top] > TOPS[other.top]
        floors = {room: floor for floor, rooms in enumerate(INSIDE[self.top]) for room in rooms}
        return floors[self.inner] > floors[other.inner]


def complaints(source: str, path: str) -> list[str]:
    """What is wrong with the imports of a source file at ``path`` (``room/.../file.py``)."""
    tree = ast.parse(source)
    found = [
        f"{path}:{line}: {complaint}"
        for line, name in _imports(tree)
        for complaint in _complaints_about(name, path)
    ]
    if path.startswith("replication/"):
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


def _room_of(path: str) -> Room:
    folders = Path(path).parent.parts
    return Room(folders[1:] if folders[0] == "tidegauge" else folders)


def _complaints_about(name: str, path: str) -> Iterator[str]:
    top, _, below = name.partition(".")
    room = _room_of(path)
    if not top or top in TOPS.keys() - {"tidegauge"}:
        yield f"rooms are imported as tidegauge.<room>, not as {name}"
    elif top == "tidegauge":
        target = Room(tuple(below.split(".")))
        if str(target) != str(room) and not room.is_above(target):
            yield f"{room} is not above {target}: {name}"
    elif top in CONFINED and not path.startswith(CONFINED[top]):
        yield f"{top} is not known in {path}"
    elif room.top == "replication" and top not in PURE:
        yield f"replication is pure: {name}"


def sources() -> list[Path]:
    """All modules of the house, in whichever folder at the top they are."""
    tops = (each for each in ROOT.glob("[a-z]*") if each.is_dir() and each.name not in AROUND)
    return sorted(file for top in tops for file in top.rglob("*.py"))


def house() -> dict[str, set[str]]:
    """The modules of the house, by their names once installed, and what each imports of it."""
    modules = {_module_of(file): file for file in sources()}
    return {
        module: {target for target in _targets(file, modules) if target != module}
        for module, file in modules.items()
    }


def _module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    named = parts if parts[0] == "tidegauge" else ("tidegauge", *parts)
    return ".".join(named).removesuffix(".__init__")


def _targets(file: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for _, name in _imports(ast.parse(file.read_text())):
        package = name.rpartition(".")[0]
        yield from (
            each for each in (name, package)[: 1 if name in modules else 2] if each in modules
        )


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """Modules, or rooms, that import each other in a loop; empty if there are none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("room", sorted(TOPS.keys() - {"scenarios"}))
def test_every_import_stays_on_its_floor(room: str) -> None:
    found = []
    for file in sorted((ROOT / room).rglob("*.py")):
        found += complaints(file.read_text(), file.relative_to(ROOT).as_posix())
    assert found == []


def test_no_module_imports_itself_in_a_circle() -> None:
    assert circle(house()) == []


def test_every_folder_of_modules_is_a_room() -> None:
    """Folders at the top, rooms and wings inside of them, rooms inside of wings."""
    found = {tuple(file.parent.relative_to(ROOT).parts) for file in sources()}
    known = {(top,) for top in TOPS} | {
        (top, *room.split("/"))
        for top, floors in INSIDE.items()
        for floor in floors
        for room in floor
        if room
    }
    assert found == known


def test_no_folder_holds_more_than_one_subject() -> None:
    folders = Counter(file.parent for file in sources() if file.name != "__init__.py")
    assert {folder: count for folder, count in folders.items() if count > MOST_MODULES} == {}


def test_no_room_hides_a_module_of_python() -> None:
    # A checkout has the rooms at its top, where a script's imports are looked up first.
    assert TOPS.keys().isdisjoint(sys.stdlib_module_names)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("replication/log.py", "from tidegauge.replication.records import Partition"),
        ("replication/log.py", "import numpy as np"),
        ("replication/log.py", "from tidegauge.compiled.rules import rule"),
        ("compiled/kept_code.py", "import os, time\nfrom pathlib import Path\nimport numba"),
        ("simulation/links.py", "from tidegauge.replication import records"),
        ("actors/handlers.py", "from tidegauge.simulation.events import Event"),
        ("actors/broker_actor.py", "import ray"),
        ("controller/controller_actor.py", "from ray.util import placement_group"),
        ("engine/ray_cluster.py", "import ray\nfrom tidegauge.metrics import snapshot"),
        ("metrics/endpoint/server.py", "from prometheus_client import Gauge"),
        ("spark_analysis/engine.py", "import pyspark.sql"),
        ("analysis/making/duckdb_engine.py", "import duckdb"),
        ("scenario/reading.py", "from tidegauge.scenario.model.component_faults import Fault"),
        (
            "scenario/model/component_faults.py",
            "from tidegauge.scenario.text.errors import Problem",
        ),
        ("tidegauge/command_line.py", "from tidegauge import __version__"),
        ("tidegauge/commands/show.py", "from tidegauge.runs.trace_events import Names"),
    ],
)
def test_accepts(path: str, source: str) -> None:
    assert complaints(source, path) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        # Upwards, and sideways.
        ("compiled/rules.py", "from tidegauge.replication import log", "above replication"),
        ("replication/log.py", "from tidegauge.simulation.links import x", "above simulation"),
        ("simulation/links.py", "from tidegauge import actors", "above actors"),
        (
            "simulation/links.py",
            "import tidegauge.controller.partitions.leader_and_isr",
            "above controller",
        ),
        ("simulation/links.py", "from tidegauge.scenario.reading import x", "above scenario"),
        (
            "actors/handlers.py",
            "from tidegauge.controller.partitions.leader_and_isr import x",
            "above controller",
        ),
        (
            "controller/partitions/leader_and_isr.py",
            "from tidegauge.actors.handlers import x",
            "above actors",
        ),
        ("metrics/endpoint/server.py", "import tidegauge.spark_analysis", "above spark_analysis"),
        (
            "metrics/endpoint/server.py",
            "from tidegauge.command_line import app",
            "above tidegauge",
        ),
        ("actors/handlers.py", "from tidegauge import __version__", "above tidegauge"),
        ("actors/handlers.py", "import tidegauge", "above tidegauge"),
        # Between the rooms of one folder.
        ("scenario/text/errors.py", "from tidegauge.scenario.model import x", "scenario/model"),
        (
            "scenario/model/component_faults.py",
            "from tidegauge.scenario.reading import x",
            "above scenario",
        ),
        ("engine/layout/tables.py", "from tidegauge.engine.group import x", "above engine"),
        (
            "tidegauge/runs/trace_events.py",
            "from tidegauge.views.output import x",
            "tidegauge/views",
        ),
        ("tidegauge/commands/demo.py", "from tidegauge.command_line import app", "above tidegauge"),
        ("analysis/tables/logs.py", "from tidegauge.analysis.making import x", "analysis/making"),
        ("analysis/making/engine.py", "import tidegauge.spark_analysis", "above spark_analysis"),
        # Inside a function, too.
        ("replication/log.py", "def f():\n    import tidegauge.actors", "above actors"),
        # Rooms under other names.
        ("actors/handlers.py", "from replication.records import x", "tidegauge.<room>"),
        ("tidegauge/driver.py", "import metrics", "tidegauge.<room>"),
        ("actors/handlers.py", "from .log_directory import x", "tidegauge.<room>"),
        ("actors/handlers.py", "from . import log_directory", "tidegauge.<room>"),
        # Large systems in the wrong room.
        ("simulation/links.py", "import ray", "ray is not known"),
        ("compiled/rules.py", "import ray", "ray is not known"),
        ("engine/group.py", "import ray", "ray is not known"),
        ("tidegauge/driver.py", "import ray", "ray is not known"),
        ("metrics/endpoint/server.py", "from ray.util import metrics", "ray is not known"),
        ("analysis/making/engine.py", "import pyspark.sql", "pyspark is not known"),
        ("analysis/questions/replication.py", "import duckdb", "duckdb is not known"),
        ("tidegauge/driver.py", "import prometheus_client", "prometheus_client is not known"),
        # Clocks and I/O in the rules.
        ("replication/log.py", "import time", "pure: time"),
        ("replication/log.py", "from pathlib import Path", "pure: pathlib.Path"),
        ("replication/log.py", "import numba", "pure: numba"),
        ("replication/log.py", "import random", "pure: random"),
        ("replication/log.py", "import socket", "pure: socket"),
        ("replication/log.py", "open('log')", "pure: open()"),
    ],
)
def test_complains(path: str, source: str, complaint: str) -> None:
    (found,) = complaints(source, path)
    assert complaint in found


def test_a_circle_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert set(circle(imports)) == {"a", "b", "c"}
    assert circle({"a": {"b"}, "b": set()}) == []
