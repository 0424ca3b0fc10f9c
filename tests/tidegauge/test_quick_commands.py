"""Commands import only the packages that they use: lists come at once, and runs start soon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidegauge.compiled.codes import COMPILED

#: What each of these takes to be imported is a large part of a second, or more.
HEAVY = ("numba", "scipy", "ray", "pyspark", "pandas", "pyarrow", "duckdb", "plotly")
#: These are quick in comparison, but nothing that `--help` needs. (Typer itself needs Pydantic.)
UNNEEDED = ("numpy", "yaml")

IMPORTED = """
import sys
from tidegauge.command_line import app
try:
    app(sys.argv[1:])
finally:
    print(*(name for name in sys.modules if "." not in name), file=sys.stderr)
"""


def imported_by(*words: str) -> set[str]:
    """The modules that a command has imported, by their first names."""
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED, *words], capture_output=True, text=True, check=True
    )
    assert result.stdout
    return {*result.stderr.splitlines()[-1].split()}


@pytest.mark.parametrize(
    "words",
    [("--help",), ("--version",), ("run", "--help"), ("show", "cause", "--help")],
    ids=" ".join,
)
def test_help_imports_nothing_that_only_runs_need(words: tuple[str, ...]) -> None:
    assert not imported_by(*words) & {*HEAVY, *UNNEEDED}


@pytest.mark.parametrize("words", [("scenarios",), ("scenarios", "--json"), ("schema",)])
def test_a_list_of_scenarios_is_printed_without_the_compiler(words: tuple[str, ...]) -> None:
    """Faults that rates draw are compiled code: they are drawn when a scenario is to be run."""
    assert not imported_by(*words) & {*HEAVY}


#: Packages that neither a run nor a look at it needs. Numba asks for SciPy wherever it is.
NEEDED_BY_OTHERS = ("ray", "scipy", "plotly", "pandas", "pyspark", "prometheus_client")
#: A run of quickstart loads 1,074, three hundred of them Numba's, NumPy's and llvmlite's.
MOST_MODULES = 1_100

WITHOUT = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

MISSING = sys.argv.pop(1).split(",")
sys.meta_path.insert(0, NotInstalled())
from tidegauge.command_line import app
try:
    app(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""


def loaded_without(packages: tuple[str, ...], *words: str | Path) -> set[str]:
    """The modules that a command loads where packages are not installed."""
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT, ",".join(packages), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        # Invariants are rules of their own.
        env={name: value for name, value in os.environ.items() if name != "TIDEGAUGE_CHECKED"},
    )
    assert result.returncode == 0, result.stderr
    return {*result.stderr.splitlines()[-1].split()}


def has_compiled(modules: set[str]) -> bool:
    """Whether Numba has compiled anything: before that it imports all that it has code for."""
    return "numba.np.arraymath" in modules


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to look at")
def test_a_run_loads_kept_code_and_no_package_that_others_need(tmp_path: Path) -> None:
    words = ("run", "quickstart", "--out")
    modules = loaded_without(NEEDED_BY_OTHERS, *words, tmp_path / "run")
    if has_compiled(modules):
        # Rules that both Python and rules call are compiled when Python calls them first.
        modules = loaded_without(NEEDED_BY_OTHERS, *words, tmp_path / "again")
    assert not has_compiled(modules)
    assert not modules & {"duckdb", "pyarrow", "http.server"}
    assert len(modules) <= MOST_MODULES
    assert "duckdb" in loaded_without(NEEDED_BY_OTHERS, "show", "faults", tmp_path / "run")
