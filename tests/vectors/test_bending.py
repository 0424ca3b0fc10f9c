"""A wrong expectation must fail: each one of each vector is bent, one at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from vector_runner import run_vector
from vector_runner.area import UnknownContentError

Path = tuple[str | int, ...]


def bent(value: Any) -> Any:
    """Something else of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "~"
    if isinstance(value, list):
        return [*value, value[-1] if value else 0]
    return 0


def expectations(vector: dict[str, Any]) -> Iterator[Path]:
    """Where in a vector something is expected."""
    yield from leaves(vector["expect"], ("expect",))
    for number, step in enumerate(vector["steps"]):
        if step["op"] == "check":
            yield from leaves(step["expect"], ("steps", number, "expect"))


def leaves(value: Any, path: Path) -> Iterator[Path]:
    """Every value below here that can be bent, lists as wholes too."""
    if isinstance(value, dict):
        # In a look-up, what is asked is no expectation, only the result is.
        keys = ["result"] if "result" in value else list(value)
        for key in keys:
            yield from leaves(value[key], (*path, key))
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
        if value and isinstance(value[0], dict) and "result" in value[0]:
            return
    yield path


def with_bent(vector: dict[str, Any], path: Path) -> dict[str, Any]:
    """A copy of the vector in which the value at ``path`` is another."""
    changed = copy.deepcopy(vector)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = bent(place[path[-1]])
    return changed


def test_every_bent_expectation_fails(vector: dict[str, Any]) -> None:
    paths = list(expectations(vector))
    assert paths
    for path in paths:
        with pytest.raises(AssertionError):
            run_vector(with_bent(vector, path))


def test_every_expected_error_is_needed(vector: dict[str, Any]) -> None:
    for number, step in enumerate(vector["steps"]):
        if "expect_error" in step:
            changed = copy.deepcopy(vector)
            del changed["steps"][number]["expect_error"]
            with pytest.raises(AssertionError):
                run_vector(changed)


@pytest.mark.parametrize("part", ["given", "expect", "steps"])
def test_what_the_runner_does_not_know_is_a_failure(vector: dict[str, Any], part: str) -> None:
    changed = copy.deepcopy(vector)
    if part == "steps":
        changed["steps"] = [*changed["steps"], {"op": "dance"}]
    else:
        changed[part]["dance"] = 1
    with pytest.raises(UnknownContentError, match="dance"):
        run_vector(changed)


def test_an_unknown_field_of_a_step_is_a_failure(vector: dict[str, Any]) -> None:
    for number, step in enumerate(vector["steps"]):
        if step["op"] == "check":
            continue
        changed = copy.deepcopy(vector)
        changed["steps"][number]["dance"] = 1
        with pytest.raises(UnknownContentError, match="dance"):
            run_vector(changed)


def test_an_unknown_area_is_a_failure(vector: dict[str, Any]) -> None:
    with pytest.raises(UnknownContentError, match="dance"):
        run_vector(vector | {"area": "dance"})


def test_a_vector_that_expects_nothing_is_a_failure(vector: dict[str, Any]) -> None:
    steps = [step for step in vector["steps"] if step["op"] != "check"]
    with pytest.raises(UnknownContentError, match="nothing"):
        run_vector(vector | {"expect": {}, "steps": steps})
