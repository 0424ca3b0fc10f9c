"""The axes of a sweep: each is a path in the scenario, and the values that it takes."""

from __future__ import annotations

from typing import NamedTuple


class Axis(NamedTuple):
    """A path in the scenario with several values, as they were typed."""

    path: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name in tables: the name of a setting, else the last two names of its path."""
        _, is_setting, setting = self.path.rpartition("settings.")
        return setting if is_setting else ".".join(self.path.split(".")[-2:])
