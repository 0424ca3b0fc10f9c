"""Numbers that name something: nothing else has the same one."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tidegauge.simulation import random_streams
from tidegauge.simulation.codes import controller_events
from tidegauge.simulation.messages import kinds

#: Other names of kinds that have their own.
_LIMITS = ("FIRST_REQUEST", "LAST_REQUEST", "LAST_FAULT_KIND")


@pytest.mark.parametrize("module", [kinds, controller_events, random_streams])
def test_each_number_names_one_thing(module: ModuleType) -> None:
    """Kinds of events, of a controller's events, streams of random draws."""
    named: dict[int, list[str]] = {}
    for name, number in vars(module).items():
        if isinstance(number, np.integer) and name not in _LIMITS:
            named.setdefault(int(number), []).append(name)
    assert len(named) > 5
    assert [names for names in named.values() if len(names) > 1] == []
