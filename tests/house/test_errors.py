"""Errors that users read have one base, are raised in every room, and are printed in one place."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Folders at the top that are no part of the product.
AROUND = {"bench", "build", "docs", "runs", "tests"}

#: Errors that no user reads: they are caught in their own room, or are bugs.
INTERNAL = {
    "LinkError": "the engine tells of an actor that died",
    "LinkBroken": "the same",
    "InvariantViolatedError": "a bug, for who works on the kernel",
    "NoPageError": "the endpoint answers 404",
    "ProblemsError": "the model makes a ScenarioError of it",
    "_FarEnough": "a run that is to end early",
}


def sources() -> Iterator[tuple[str, ast.Module]]:
    """The modules of the product by their paths."""
    tops = (each for each in ROOT.glob("[a-z]*") if each.is_dir() and each.name not in AROUND)
    for file in sorted(file for top in tops for file in top.rglob("*.py")):
        yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def bases() -> dict[str, list[str]]:
    """The names of the bases of each class of errors."""
    found = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for _, module in sources()
        for node in module.body
        if isinstance(node, ast.ClassDef)
    }

    def is_error(name: str) -> bool:
        known = getattr(builtins, name, None)
        if isinstance(known, type):
            return issubclass(known, BaseException)
        return any(map(is_error, found.get(name, ())))

    return {name: of for name, of in found.items() if is_error(name)}


def test_an_error_is_for_users_or_never_leaves_its_room() -> None:
    errors = bases()

    def is_for_users(name: str) -> bool:
        return name == "TidegaugeError" or any(map(is_for_users, errors.get(name, ())))

    assert {name for name in errors if not is_for_users(name)} == INTERNAL.keys()


def test_only_the_command_line_ends_a_command_for_wrong_input() -> None:
    ends = [
        path
        for path, module in sources()
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and ast.unparse(node).endswith("Exit(2)")
    ]
    assert ends == ["tidegauge/command_line.py"]
