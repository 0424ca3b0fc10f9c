"""The constants of the rules, as compiled code and plain readers of traces know them alike.

They stand apart from the compiler (``rules.py``), whose import takes a second.
"""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np

Constant = TypeVar("Constant", int, bool)


def code(value: Constant) -> Constant:
    """A constant of the rules: a kind, a state, an error code, a flag.

    A typed number, since Numba compiles a function once more for each bare literal that
    another rule calls it with.
    """
    typed: dict[type, type] = {int: np.int64, bool: np.bool_}
    return cast(Constant, typed[type(value)](value))
