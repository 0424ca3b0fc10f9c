"""Numbers that name something: nothing else has the same one."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tidegauge.simulation import random_streams
from tidegauge.simulation.codes import controller_events
from tidegauge.simulation.messages.event import KINDS, Timer
from tidegauge.simulation.messages.fault_events import FaultBegin


@pytest.mark.parametrize("module", [controller_events, random_streams])
def test_each_number_names_one_thing(module: ModuleType) -> None:
    """Kinds of a controller's events, streams of random draws."""
    named: dict[int, list[str]] = {}
    for name, number in vars(module).items():
        if isinstance(number, np.integer):
            named.setdefault(int(number), []).append(name)
    assert len(named) > 5
    assert [names for names in named.values() if len(names) > 1] == []


def test_a_number_that_is_taken_is_refused_for_another_kind_of_event() -> None:
    assert KINDS[FaultBegin.KIND] is FaultBegin
    with pytest.raises(TypeError, match="FaultBegin"):

        class Another(Timer, kind=FaultBegin.KIND):
            """A timer with the number of a fault."""
