"""Commands that only print a list answer at once: they import nothing that takes long to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What each of these takes to be imported is a large part of a second, or more.
HEAVY = ("numba", "scipy", "ray", "pyspark", "pandas", "pyarrow", "duckdb")
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
