"""The constants of the rules, as compiled code and plain readers of traces know them alike.

They stand apart from the compiler (``rules.py``), whose import takes a second.
"""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np

Constant = TypeVar("Constant", int, bool)


class NamedCodes(dict[str, int]):
    """The codes of the kinds of one thing, by the names that others know them by.

    A code stands beside the rule that gives its kind an effect, wherever that is; what plans the
    kinds for the kernel finds it here by its name.
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
