"""The environment variables for building rules, read once at import.

=========================== ===========================================================
``TIDEGAUGE_COMPILED=0``      run the rules as plain Python
``TIDEGAUGE_BOUNDS_CHECK=1``  compile with array bounds checked (slower, its own cache)
``TIDEGAUGE_EAGER=1``         handle every event, also fetches that bring nothing
``TIDEGAUGE_CACHE_DIR``       where compiled code is kept, else ``$XDG_CACHE_HOME/tidegauge``
=========================== ===========================================================

The constants of the rules, as compiled code and plain readers of traces know them alike, and tables
of legal transitions, in the form in which compiled rules read them.

They stand apart from the compiler (``rules.py``), whose import takes a second.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

COMPILED = os.environ.get("TIDEGAUGE_COMPILED", "1") != "0"
#: Every event is handled, also those whose effects could be computed.
EAGER = os.environ.get("TIDEGAUGE_EAGER", "0") == "1"
BOUNDS_CHECKED = os.environ.get("TIDEGAUGE_BOUNDS_CHECK", "0") == "1"


def cache_base() -> Path:
    """The folder below which compiled code is kept; asked at each use, for the sake of tests."""
    named = os.environ.get("TIDEGAUGE_CACHE_DIR")
    if named is not None:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "tidegauge"


Constant = TypeVar("Constant", int, bool)


class NamedCodes(dict[str, int]):
    """The codes of the kinds of one thing, by the names that others know them by.

    A code stands beside the rule that gives its kind an effect, wherever that is; the planner of
    kinds finds it here by its name.
    """

    def new(self, name: str, value: int) -> int:
        """The code of a kind; another kind has neither this name nor this value."""
        assert name not in self, f"{name} has a code already"
        assert value not in self.values(), f"{value} is the code of another kind"
        self[name] = code(value)
        return self[name]


def code(value: Constant) -> Constant:
    """A constant of the rules: a kind, a state, an error code, a flag.

    A typed number, since Numba compiles a function once more for each bare literal that
    another rule calls it with.
    """
    typed: dict[type, type] = {int: np.int64, bool: np.bool_}
    return cast(Constant, typed[type(value)](value))


def previous_state_bits(table: Mapping[int, frozenset[int]]) -> tuple[int, ...]:
    """Turn "state entered -> states it may be entered from" into bits.

    Bit s of entry t is set if state t may be entered from state s.
    """
    bits = [0] * (max(table) + 1)
    for target, previous_states in table.items():
        bits[target] = sum(1 << int(previous) for previous in previous_states)
    return tuple(bits)
