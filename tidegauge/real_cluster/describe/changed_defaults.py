"""The settings that change their default, come or go between two releases or modes.

Only settings that are simulated have a table of defaults (``replication/release_defaults.py``).
"""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.replication.release_defaults import default_cells_of
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import CONTROLLER_SETTINGS, PRODUCER_SETTINGS, Value

_OF_TIDEGAUGE = "_"


class ChangedDefault(NamedTuple):
    """A setting with another default, or with one in one of two releases only."""

    name: str
    #: None: the release or mode does not have the setting.
    before: int | str | None
    after: int | str | None
    #: The cluster's own value, with which the default has no effect; None: it has none.
    own: Value | None
    #: It is a setting of producers.
    is_of_clients: bool
    #: Method or proposal that made the later value.
    source: str


def changed_defaults(before: Scenario, after: Scenario) -> list[ChangedDefault]:
    """The differences between the defaults of two variants of a cluster, by name."""
    old = default_cells_of(before.release, before.mode)
    new = default_cells_of(after.release, after.mode)
    own = {**before.controllers.settings, **before.cluster.settings}
    changed = []
    for name in sorted({*old, *new}):
        one, other = old.get(name), new.get(name)
        is_same = one is not None and other is not None and one.value == other.value
        # Names with an underscore are constants of Kafka, and no settings.
        if is_same or _OF_TIDEGAUGE in name:
            continue
        cell = other or one
        assert cell is not None
        changed.append(
            ChangedDefault(
                name,
                None if one is None else one.value,
                None if other is None else other.value,
                own.get(name),
                name in PRODUCER_SETTINGS and name not in CONTROLLER_SETTINGS,
                cell.source,
            )
        )
    return changed
