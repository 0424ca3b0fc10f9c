"""Numbers that name something: nothing else has the same one."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tidegauge.simulation import random_streams
from tidegauge.simulation.messages.event import KINDS, Timer
from tidegauge.simulation.messages.timers import FaultBegin
from tidegauge.simulation.trace_rows import codes


def names_in(module: ModuleType, first: str = "", last: str = "") -> list[str]:
    """The names that a module defines, from one to another."""
    names = list(vars(module))
    return names[names.index(first) if first else 0 : names.index(last) if last else None]


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (codes, names_in(codes, "ELECT", "REASSIGNMENTS")),
        (random_streams, names_in(random_streams)),
    ],
    ids=["a controller's events", "streams of random draws"],
)
def test_each_number_names_one_thing(module: ModuleType, names: list[str]) -> None:
    named: dict[int, list[str]] = {}
    for name in names:
        number = getattr(module, name)
        if isinstance(number, np.integer):
            named.setdefault(int(number), []).append(name)
    assert len(named) > 5
    assert [names for names in named.values() if len(names) > 1] == []


def test_a_number_that_is_taken_is_refused_for_another_kind_of_event() -> None:
    assert KINDS[FaultBegin.KIND] is FaultBegin
    with pytest.raises(TypeError, match="FaultBegin"):

        class Another(Timer, kind=FaultBegin.KIND):
            """A timer with the number of a fault."""
