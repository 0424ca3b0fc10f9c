"""``pytest tests/vectors --vectors FILE`` runs another file of vectors of the same schema."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from vector_runner import VectorFile, load_vectors

SHIPPED = sorted((Path(__file__).parent.parent / "data" / "vectors").glob("*.json"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--vectors",
        metavar="FILE",
        action="append",
        default=None,
        help="run the vectors of this file instead of the shipped ones (repeatable)",
    )


FILES = pytest.StashKey[list[VectorFile]]()


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("--vectors", default=None)
    paths = [Path(name) for name in given] if given else SHIPPED
    try:
        config.stash[FILES] = [load_vectors(path) for path in paths]
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``vector`` is each vector, ``alike`` all those of an area."""
    vectors = [vector for file in metafunc.config.stash[FILES] for vector in file.vectors]
    if "vector" in metafunc.fixturenames:
        metafunc.parametrize("vector", vectors, ids=[vector["id"] for vector in vectors])
    if "alike" in metafunc.fixturenames:
        areas = defaultdict[str, list[dict[str, Any]]](list)
        for vector in vectors:
            areas[vector["area"]].append(vector)
        metafunc.parametrize("alike", areas.values(), ids=areas)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for file in config.stash[FILES]:
        counts = file.per_area()
        terminalreporter.section(f"vectors in {file.path.name}")
        for area, count in sorted(counts.items()):
            stated = file.stated.get(area, count)
            doubt = "" if stated == count else f", but the file says {stated}"
            terminalreporter.line(f"{count:5d}  {area}{doubt}")
        terminalreporter.line(f"{sum(counts.values()):5d}  in all")
