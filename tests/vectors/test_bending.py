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


def fails(vector: dict[str, Any]) -> bool:
    try:
        run_vector(vector)
    except AssertionError:
        return True
    return False


def test_every_bent_expectation_fails(alike: list[dict[str, Any]]) -> None:
    paths = {vector["id"]: list(expectations(vector)) for vector in alike}
    assert [name for name, found in paths.items() if not found] == []
    unnoticed = [
        (vector["id"], path)
        for vector in alike
        for path in paths[vector["id"]]
        if not fails(with_bent(vector, path))
    ]
    assert unnoticed == []


def test_every_expected_error_is_needed(alike: list[dict[str, Any]]) -> None:
    unnoticed = []
    for vector in alike:
        for number, step in enumerate(vector["steps"]):
            if "expect_error" in step:
                changed = copy.deepcopy(vector)
                del changed["steps"][number]["expect_error"]
                if not fails(changed):
                    unnoticed.append((vector["id"], number))
    assert unnoticed == []


# An area takes all its vectors alike, and an operation all its steps: one of each will do.


@pytest.mark.parametrize("part", ["given", "expect", "steps"])
def test_what_the_runner_does_not_know_is_a_failure(alike: list[dict[str, Any]], part: str) -> None:
    changed = copy.deepcopy(alike[0])
    if part == "steps":
        changed["steps"] = [*changed["steps"], {"op": "dance"}]
    else:
        changed[part]["dance"] = 1
    with pytest.raises(UnknownContentError, match="dance"):
        run_vector(changed)


def test_an_unknown_field_of_a_step_is_a_failure(alike: list[dict[str, Any]]) -> None:
    places = {
        step["op"]: (vector, number)
        for vector in alike
        for number, step in enumerate(vector["steps"])
        if step["op"] != "check"
    }
    for vector, number in places.values():
        changed = copy.deepcopy(vector)
        changed["steps"][number]["dance"] = 1
        with pytest.raises(UnknownContentError, match="dance"):
            run_vector(changed)


def test_an_unknown_area_is_a_failure(alike: list[dict[str, Any]]) -> None:
    with pytest.raises(UnknownContentError, match="dance"):
        run_vector(alike[0] | {"area": "dance"})


def test_a_vector_that_expects_nothing_is_a_failure(alike: list[dict[str, Any]]) -> None:
    steps = [step for step in alike[0]["steps"] if step["op"] != "check"]
    with pytest.raises(UnknownContentError, match="nothing"):
        run_vector(alike[0] | {"expect": {}, "steps": steps})
