"""Faults, their selectors, and steps of a scenario in the other mode.

With ZooKeeper a broker's host has a controller, and one of them is active. With KRaft controllers
are nodes of their own: controller 0 leads their quorum at the start. So faults correspond:

===========================================  ================================================
with ZooKeeper                               with KRaft
===========================================  ================================================
``zookeeper_outage``, how: pause             ``pause`` of all controllers
``zookeeper_outage``, how: restart           ``crash`` of all controllers
``controller_move``                          ``restart`` of the active controller
a link to ``zookeeper``                      a link to ``controllers``
a link to the controller of a broker         a link to the active controller
a fault of the active controller's broker    the same fault of the broker, and of no controller
===========================================  ================================================

To ZooKeeper the table is read from right to left. A crash, pause or loss of power of the active
controller is one of the broker that is controller, if the scenario names the first controller.
Faults of other controllers have no counterpart and are left out.

A step without a counterpart leaves its wait.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from tidegauge.scenario.model.cluster import Controllers
from tidegauge.scenario.model.selectors import (
    CONTROLLER,
    CONTROLLERS,
    HOST,
    RACK,
    ZOOKEEPER,
    Selector,
    SelectorField,
    as_written,
)
from tidegauge.scenario.other_mode.settings import (
    Conversion,
    NotConvertibleError,
    configured_settings,
    without,
)
from tidegauge.scenario.text.errors import Path

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


#: The outage of a controller that, with ZooKeeper, gives up /controller and stays.
_DOWN_FOR = "10s"
#: The words of a fault whose controllers cannot be hit with ZooKeeper.
_STANDBY = "with ZooKeeper no controller waits beside the active one"
#: Faults that stop or suspend hosts.
_STOPS = {"crash", "pause", "power_loss", "restart", "rolling_restart"}

_Fault = Mapping[str, Any]


def faults(
    to: Conversion, part: str, written: Sequence[_Fault]
) -> tuple[list[dict[str, Any]], set[str], set[str]]:
    """The faults, or rates of faults, of a part.

    Returns:
        The faults, the names of those that are left out, and of those that are over at once now.
    """
    changed, left_out, over_at_once = [], set(), set()
    for place, fault in enumerate(written):
        path: Path = (part, place)
        now = _converted(to, path, fault) if to.leaves_mode else dict(fault)
        name = str(fault.get("name", ""))
        if now is None:
            left_out.add(name)
            continue
        changed.append(now)
        if now["kind"] == "controller_move" != fault["kind"]:
            over_at_once.add(name)
    return changed, left_out, over_at_once


def _converted(to: Conversion, path: Path, fault: _Fault) -> dict[str, Any] | None:
    if "between" in fault:
        return _link_with_kraft(to, path, fault) if to.to_kraft else _link(to, path, fault)
    return _with_kraft(to, path, fault) if to.to_kraft else _with_zookeeper(to, path, fault)


# To KRaft.


def _with_kraft(to: Conversion, path: Path, fault: _Fault) -> dict[str, Any]:
    is_rate = "mtbf" in fault
    if fault["kind"] == "zookeeper_outage":
        kind = "crash" if fault.get("how") == "restart" else "pause"
        to.note(path, f"zookeeper_outage is a {kind} of all controllers")
        together = {"each": "selector"} if is_rate else {}
        return without(fault, "how") | {"kind": kind, "brokers": ["controllers"]} | together
    if fault["kind"] == "controller_move":
        to.note(
            path,
            f"controller_move is a restart of controller:0 for {_DOWN_FOR}, which is active at the "
            "start",
        )
        lasts = {"repair_time" if is_rate else "for": _DOWN_FOR}
        return {**fault, "kind": "restart", "brokers": ["controller:0"]} | lasts
    selectors = read_selectors(fault.get("brokers") or ())
    if any(each.kind == ZOOKEEPER for each in selectors):
        to.note((*path, "brokers"), "zookeeper is controllers")
        changed = written_selectors(
            Selector("controllers") if each.kind == ZOOKEEPER else each for each in selectors
        )
        return {**fault, "brokers": changed}
    if fault["kind"] in _STOPS:
        _tell_of_spared_controller(to, (*path, "brokers"), selectors)
    return dict(fault)


def _tell_of_spared_controller(to: Conversion, path: Path, selectors: Sequence[Selector]) -> None:
    """Note that a fault hits the broker that is the active controller with ZooKeeper."""
    hosts = [each for each in selectors if each.kind in {HOST, RACK}]
    all_brokers = to.scenario.broker_ids()
    hit = to.scenario.brokers_of(hosts) if selectors else list(all_brokers)
    first = to.scenario.first_controller()
    if first in hit:
        text = f"broker {first}, the active controller with ZooKeeper, is a broker only"
    elif len(hit) == len(all_brokers):
        text = "the broker that is the active controller with ZooKeeper is a broker only"
    else:
        return
    to.note(path, f"{text}; controllers are nodes of their own, which the fault does not hit")


def _link_with_kraft(to: Conversion, path: Path, fault: _Fault) -> dict[str, Any]:
    before = [read_selectors(side) for side in fault["between"]]
    count = to.scenario.controllers.count if to.scenario.has_kraft else _quorum_size(to)
    after = ends_with_kraft(before, count)
    for side, (old, new) in enumerate(zip(before, after, strict=True)):
        place = (*path, "between", side)
        if not new:
            raise NotConvertibleError(place, "a quorum of one controller has no link to others")
        if list(old) != new:
            to.note(place, f"{_listed(old)} is {_listed(new)}")
        if any(each.kind == ZOOKEEPER for each in before[1 - side]):
            _tell_of_spared_controller(to, place, old)
    return {**fault, "between": [written_selectors(side) for side in after]}


def _quorum_size(to: Conversion) -> int:
    servers = to.scenario.zookeeper.servers
    return servers if servers in {1, 3, 5} else 3


# To ZooKeeper.


def _with_zookeeper(to: Conversion, path: Path, fault: _Fault) -> dict[str, Any] | None:
    selectors = read_selectors(fault.get("brokers") or ())
    place = (*path, "brokers")
    for rack in racks_with_controllers(selectors, to.scenario.controllers):
        to.note(place, f"rack:{rack} has no controller of a quorum")
    hit = selected(selectors, to.scenario.controllers)
    if not hit.controllers:
        return dict(fault)
    if fault["kind"] == "disk_loss":
        return _without_controllers(to, path, fault, hit)
    if hit.is_majority:
        return _outage(to, path, fault, hit)
    first = to.scenario.first_controller()
    if hit.has_active and fault["kind"] not in {"restart", "slow_disk"} and first is not None:
        to.note(place, f"controller:0 is broker {first}, the active controller, with its replicas")
        now = with_controllers_as(selectors, Selector(HOST, first))
        return {**fault, "brokers": written_selectors(now)}
    if hit.has_active and fault["kind"] != "slow_disk" and not hit.others:
        to.note(
            path,
            f"{fault['kind']} of controller:0 is a controller_move: the broker that was controller "
            "stays",
        )
        return without(fault, "brokers", "for", "keeps", "repair_time", "each") | {
            "kind": "controller_move"
        }
    return _without_controllers(to, path, fault, hit)


def _outage(to: Conversion, path: Path, fault: _Fault, hit: Selected) -> dict[str, Any] | None:
    """A fault of most controllers: nothing can be committed."""
    kind = fault["kind"]
    if kind == "slow_disk":
        return _without_controllers(to, path, fault, hit)
    if kind == "power_loss":
        to.note((*path, "brokers"), "most controllers are zookeeper")
        now = with_controllers_as(read_selectors(fault["brokers"]), Selector(ZOOKEEPER))
        return {**fault, "brokers": written_selectors(now)}
    if hit.others:
        message = f"a {kind} of brokers and of most controllers is two faults with ZooKeeper"
        raise NotConvertibleError((*path, "brokers"), message)
    how = "pause" if kind == "pause" else "restart"
    to.note(path, f"{kind} of most controllers is a zookeeper_outage (how: {how})")
    return without(fault, "brokers", "keeps", "each") | {"kind": "zookeeper_outage", "how": how}


def _without_controllers(
    to: Conversion, path: Path, fault: _Fault, hit: Selected
) -> dict[str, Any] | None:
    """A fault of brokers alone; None: it hit only controllers."""
    numbers = ", ".join(f"controller:{number}" for number in sorted(hit.controllers))
    is_of_disk = fault["kind"] in {"slow_disk", "disk_loss"}
    why = "no disk of a controller is modelled" if is_of_disk else _STANDBY
    if not hit.others:
        to.note(path, f"left out: {why} ({numbers})")
        return None
    to.note((*path, "brokers"), f"{numbers} left out: {why}")
    return {**fault, "brokers": written_selectors(hit.others)}


def _link(to: Conversion, path: Path, fault: _Fault) -> dict[str, Any] | None:
    before = [read_selectors(side) for side in fault["between"]]
    sides = [selected(side, to.scenario.controllers) for side in before]
    if not any(side.controllers for side in sides):
        return dict(fault)
    is_within_quorum = not any(side.others for side in sides)
    if is_within_quorum:
        after = _link_within_quorum(to, path, sides)
    else:
        after = [
            _ends(to, (*path, "between", place), *each)
            for place, each in enumerate(zip(before, sides, strict=True))
        ]
    if after is None or not all(after):
        to.note(path, f"left out: {_STANDBY}")
        return None
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        if list(old) != new:
            to.note((*path, "between", place), f"{_listed(old)} is {_listed(new)}")
    return {**fault, "between": [written_selectors(side) for side in after]}


def _link_within_quorum(
    to: Conversion, path: Path, sides: Sequence[Selected]
) -> list[list[Selector]] | None:
    """A link between controllers: that of an isolated active controller to ZooKeeper, or none."""
    if not any(side.has_active and not side.is_majority for side in sides):
        return None
    active = _active(to, (*path, "between"))
    return [
        [active] if side.has_active and not side.is_majority else [Selector(ZOOKEEPER)]
        for side in sides
    ]


def _ends(
    to: Conversion, path: Path, selectors: Sequence[Selector], side: Selected
) -> list[Selector]:
    if side.is_majority:
        return with_controllers_as(selectors, Selector(ZOOKEEPER))
    if side.has_active:
        return with_controllers_as(selectors, _active(to, path))
    return side.others


def _active(to: Conversion, path: Path) -> Selector:
    first = to.scenario.first_controller()
    if first is None:
        message = (
            "controller:0 has no counterpart: with ZooKeeper a broker is the controller, and the "
            "seed decides which; name one that starts first, such as cluster.start: {1: 0s}"
        )
        raise NotConvertibleError(path, message)
    return Selector(CONTROLLER, first)


def _listed(selectors: Sequence[Selector]) -> str:
    return f"[{', '.join(map(str, selectors))}]"


_BEGINS = ("at", "after", "when", "within")


def steps(
    to: Conversion,
    written: Sequence[Mapping[str, Any]],
    left_out: set[str],
    over_at_once: set[str],
) -> list[dict[str, Any]]:
    """The steps.

    Args:
        to: the conversion.
        written: the steps as they were.
        left_out: the names of faults that are left out.
        over_at_once: the names of faults that need no end any more.
    """
    return [
        _step(to, ("steps", place), step, left_out, over_at_once)
        for place, step in enumerate(written)
    ]


def _step(
    to: Conversion,
    path: Path,
    step: Mapping[str, Any],
    left_out: set[str],
    over_at_once: set[str],
) -> dict[str, Any]:
    do, fault = step["do"], step.get("fault")
    if do in {"begin_fault", "end_fault"} and fault in left_out:
        to.note(path, f"waits only: the fault {fault} is left out")
        return _wait(step)
    if do == "end_fault" and fault in over_at_once:
        to.note(path, f"waits only: the fault {fault} is over at once")
        return _wait(step)
    if do == "release" and to.leaves_mode:
        to.note(path, "waits only: pins are left out")
        return _wait(step)
    if to.to_zookeeper and _is_about_quorum(step):
        to.note(path, "waits only: it is about the controllers of a quorum")
        return _wait(without(step, "when", "within") if _waits_for_quorum(step) else step)
    if do == "configure":
        settings = configured_settings(to, (*path, "settings"), step["settings"])
        return {**step, "settings": settings} if settings else _wait(step)
    return dict(step)


#: Steps and conditions of a quorum's controllers and features.
_STEPS_OF_QUORUM = {"add_controller", "remove_controller", "update_features"}
_CONDITIONS_OF_QUORUM = {"observes", "voters", "leads"}


def _is_about_quorum(step: Mapping[str, Any]) -> bool:
    is_request = step["do"] == "configure" and "to" in step
    return step["do"] in _STEPS_OF_QUORUM or is_request or _waits_for_quorum(step)


def _waits_for_quorum(step: Mapping[str, Any]) -> bool:
    return not _CONDITIONS_OF_QUORUM.isdisjoint(step.get("when") or ())


def _wait(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step that does nothing at its time; at once if it has none."""
    begins = {name: step[name] for name in _BEGINS if name in step}
    return (begins or {"after": "0s"}) | {"do": "wait"}
