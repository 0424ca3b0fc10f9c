"""The axes of a sweep: each is a path in the scenario, and the values that it takes."""

from __future__ import annotations

from typing import NamedTuple


class Axis(NamedTuple):
    """What is exchanged: a path in the scenario, and its values as they were typed."""

    path: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """What a table calls it: a setting by its name, else the last two names of its path."""
        _, is_setting, setting = self.path.rpartition("settings.")
        return setting if is_setting else ".".join(self.path.split(".")[-2:])
