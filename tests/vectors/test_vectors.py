"""Every vector, one test each; see ``vector_runner`` for how they are run."""

from __future__ import annotations

import copy
from typing import Any

from vector_runner import run_vector


def test_vector(vector: dict[str, Any]) -> None:
    before = copy.deepcopy(vector)
    run_vector(vector)
    assert vector == before, "running a vector has changed it"
