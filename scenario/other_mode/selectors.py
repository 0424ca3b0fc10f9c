"""Selectors of faults in the other mode.

With ZooKeeper a broker's host has a controller, and one of them is active. With KRaft controllers
are nodes of their own: controller 0 leads their quorum at the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from tidegauge.scenario.model.cluster import Controllers
from tidegauge.scenario.model.selectors import (
    CONTROLLER,
    CONTROLLERS,
    RACK,
    ZOOKEEPER,
    Selector,
    SelectorField,
    as_written,
)

#: The controller of a quorum that is active at the start.
ACTIVE = Selector(CONTROLLER, 0)

_SELECTOR: TypeAdapter[Selector] = TypeAdapter(SelectorField)


def read_selectors(written: Iterable[Any]) -> list[Selector]:
    """The selectors of a valid scenario."""
    return [_SELECTOR.validate_python(each) for each in written]


def written_selectors(selectors: Iterable[Selector]) -> list[int | str]:
    """Selectors as a scenario has them, each once."""
    return [as_written(each) for each in dict.fromkeys(selectors)]


class Selected(NamedTuple):
    """The targets that some selectors of a KRaft cluster select."""

    #: Without those of single controllers or all of them.
    others: list[Selector]
    #: The numbers of the selected controllers, without those of racks.
    controllers: set[int]
    #: The number of all controllers.
    quorum: int

    @property
    def is_majority(self) -> bool:
        """Whether the others of the quorum are too few to commit."""
        return 2 * len(self.controllers) > self.quorum

    @property
    def has_active(self) -> bool:
        """Whether the controller that is active at the start is selected."""
        return ACTIVE.broker in self.controllers


def selected(selectors: Sequence[Selector], controllers: Controllers) -> Selected:
    """Split selectors into those of controllers and others."""
    numbers: set[int] = set()
    for each in selectors:
        if each.kind == CONTROLLERS:
            numbers.update(range(controllers.count))
        elif each.kind == CONTROLLER:
            numbers.add(each.broker)
    others = [each for each in selectors if each.kind not in {CONTROLLER, CONTROLLERS}]
    return Selected(others, numbers, controllers.count)


def with_controllers_as(selectors: Iterable[Selector], other: Selector) -> list[Selector]:
    """Selectors with another one in the place of those of controllers."""
    of_controllers = {CONTROLLER, CONTROLLERS}
    changed = (other if each.kind in of_controllers else each for each in selectors)
    return list(dict.fromkeys(changed))


def ends_with_kraft(
    sides: Sequence[Sequence[Selector]], controllers: int
) -> tuple[list[Selector], list[Selector]]:
    """Both ends of links, which were those of a cluster with ZooKeeper.

    ZooKeeper's counterpart are the controllers; opposite the active controller, the other ones.
    """
    has_active = [any(each.kind == CONTROLLER for each in side) for side in sides]
    changed = []
    for side, is_opposite in zip(sides, reversed(has_active), strict=True):
        ensemble = [Selector(CONTROLLERS)]
        if is_opposite:
            ensemble = [Selector(CONTROLLER, number) for number in range(1, controllers)]
        ends: list[Selector] = []
        for each in side:
            if each.kind == ZOOKEEPER:
                ends += ensemble
            else:
                ends.append(ACTIVE if each.kind == CONTROLLER else each)
        if Selector(CONTROLLERS) in ends:
            ends = [each for each in ends if each.kind != CONTROLLER]
        changed.append(list(dict.fromkeys(ends)))
    return changed[0], changed[1]


def racks_with_controllers(selectors: Iterable[Selector], controllers: Controllers) -> list[str]:
    """The selected racks in which controllers of a quorum stand."""
    racks = controllers.racks[: controllers.count]
    return [each.name for each in selectors if each.kind == RACK and each.name in racks]
