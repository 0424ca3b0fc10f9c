"""Smaller scenarios of a scenario as a file has it: without some parts, with less, or earlier.

Each function makes a new mapping, which may be invalid: a step can wait for something that is gone.
Parts that would name a removed part go with it where their meaning goes, too: a step that begins a
removed fault only waits from then on, and keeps the times of the steps behind it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from tidegauge.scenario.text.errors import Path
from tidegauge.simulation.quantities import format_duration, parse_duration

#: A scenario as in a file.
Written: TypeAlias = Mapping[str, Any]

#: Fields with an amount of something, which is 1 at least.
_AMOUNTS = frozenset(
    {"records", "clients", "batches_per_second", "records_per_batch", "records_per_second"}
    | {"partitions", "replication_factor", "count", "nth"}
)
#: Fields with a time of the run, which move together; and those of pins.
_MOMENTS = frozenset({"at", "start", "stop", "duration"})
_MOMENTS_OF_PINS = frozenset({"after", "until"})
#: Fields with a length of time.
_LENGTHS = frozenset({"for", "after"})
#: Mappings by the ids of brokers.
_OF_BROKERS = frozenset({"start", "broker_settings", "broker_releases"})
#: Parts in which a number is no broker.
_WITHOUT_BROKERS = frozenset({"costs", "network", "settings", "partitions"})


def at(data: Any, path: Path) -> Any:
    """The part at a path."""
    for key in path:
        data = data[key]
    return data


def containers(data: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all mappings and lists, the outer ones first."""
    due: list[tuple[Path, Any]] = [(path, data)]
    for place, part in due:
        yield place
        inner = part.items() if isinstance(part, dict) else enumerate(part)
        due += [((*place, key), each) for key, each in inner if isinstance(each, dict | list)]


def _leaves(data: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all values that are neither mappings nor lists."""
    for place in containers(data, path):
        part = at(data, place)
        inner = part.items() if isinstance(part, dict) else enumerate(part)
        yield from ((*place, key) for key, each in inner if not isinstance(each, dict | list))


def changed(data: Written, path: Path, value: object) -> dict[str, Any]:
    """The scenario with another value at a path."""
    made = deepcopy(dict(data))
    at(made, path[:-1])[path[-1]] = value
    return made


# Parts.


def without(data: Written, path: Path, keys: Collection[Any]) -> dict[str, Any]:
    """The scenario without some items of the list, or fields of the mapping, at a path."""
    made = deepcopy(dict(data))
    part = at(made, path)
    removed = [part[key] for key in keys]
    for key in sorted(keys, reverse=True) if isinstance(part, list) else keys:
        del part[key]
    names = {each["name"] for each in removed if isinstance(each, dict) and "name" in each}
    if path in (("faults",), ("pins",)):
        _let_wait(made, path[0].removesuffix("s"), names)
    elif path == ("topics",):
        _forget_topics(made, names)
    elif path[:1] == ("workload",):
        _forget_selected(made, {f"client:{name}" for name in names})
    return made


def _let_wait(made: dict[str, Any], field: str, names: Collection[str]) -> None:
    """Let steps only wait that begin, end or release one of some faults or pins."""
    for step in made.get("steps", ()):
        if step.get(field) in names:
            del step[field]
            step["do"] = "wait"


def _forget_topics(made: dict[str, Any], topics: Collection[str]) -> None:
    """Remove all that is only about one of some topics."""
    for section in ("steps", "pins"):
        parts = made.get(section, [])
        parts[:] = [part for part in parts if not _names_topic(part, topics)]
    for fault in made.get("faults", ()):
        if "keeps" in fault:
            fault["keeps"] = [log for log in fault["keeps"] if log["topic"] not in topics]
    for groups in made.get("workload", {}).values():
        for group in groups:
            group["topics"] = [topic for topic in group["topics"] if topic not in topics]
        groups[:] = [group for group in groups if group["topics"]]


def _names_topic(part: Any, topics: Collection[str]) -> bool:
    return any(
        path[-1] == "topic" and at(part, path) in topics
        for path in _leaves(part)
        if isinstance(part, dict)
    )


def _forget_selected(made: dict[str, Any], selectors: Collection[object]) -> None:
    """Remove selectors of faults, and faults that select nothing else on one side."""
    kept = []
    for fault in made.get("faults", []):
        sides = [fault["brokers"]] if isinstance(fault.get("brokers"), list) else []
        sides += [side for side in fault.get("between", ()) if isinstance(side, list)]
        had = list(map(len, sides))
        for side in sides:
            side[:] = [each for each in side if each not in selectors]
        if all(side or not before for side, before in zip(sides, had, strict=True)):
            kept.append(fault)
        else:
            _let_wait(made, "fault", {fault["name"]} if "name" in fault else ())
    if "faults" in made:
        made["faults"] = kept


def broker_ids(data: Written) -> list[int]:
    """The ids of its brokers."""
    brokers = data["cluster"]["brokers"]
    return list(range(1, brokers + 1)) if isinstance(brokers, int) else sorted(brokers)


def without_brokers(data: Written, brokers: Collection[int]) -> dict[str, Any]:
    """The scenario without some brokers, their replicas, and the faults of them alone."""
    made = deepcopy(dict(data))
    left = [each for each in broker_ids(data) if each not in brokers]
    is_numbered = left == list(range(1, len(left) + 1))
    selectors = {*brokers, *(f"broker:{each}" for each in brokers)}
    _forget_selected(made, selectors | {f"controller:{each}" for each in brokers})
    made["cluster"]["brokers"] = left
    for path in containers(made):
        if {*path} & _WITHOUT_BROKERS:
            continue
        part, name = at(made, path), path[-1] if path else None
        if isinstance(part, dict) and (name in _OF_BROKERS or path == ("resources", "brokers")):
            for key in [key for key in part if str(key) in {*map(str, brokers)}]:
                del part[key]
        elif isinstance(part, list):
            part[:] = [each for each in part if isinstance(each, bool) or each not in brokers]
    racks = made["cluster"].get("racks")
    if isinstance(racks, dict):
        made["cluster"]["racks"] = {name: ids for name, ids in racks.items() if ids}
    if is_numbered:
        made["cluster"]["brokers"] = len(left)
    return made


# Amounts.


def amounts(data: Written) -> list[Path]:
    """The paths of all amounts that can be less."""
    return [
        path
        for path in _leaves(data)
        if path[-1] in _AMOUNTS and "settings" not in path and _amount(at(data, path)) > 1
    ]


def _amount(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def less(amount: float) -> list[int]:
    """Smaller amounts, the smallest first."""
    whole = int(amount)
    parts = {1, 2, 3, whole // 4, whole // 2, whole * 3 // 4, whole - 1}
    return sorted(each for each in parts if 0 < each < amount)


# Times.


def _duration_us(value: object) -> int | None:
    try:
        return parse_duration(value)
    except ValueError:
        return None


def _times(data: Written, wanted: Callable[[Path], bool]) -> dict[Path, int]:
    """The wanted times, in microseconds, by their paths."""
    found = {path: _duration_us(at(data, path)) for path in _leaves(data) if wanted(path)}
    return {path: time_us for path, time_us in found.items() if time_us is not None}


def _is_moment(path: Path) -> bool:
    if path[:1] == ("pins",):
        return path[-1] in _MOMENTS_OF_PINS
    return path[-1] in _MOMENTS or path[:2] == ("cluster", "start")


def moments(data: Written) -> list[int]:
    """The times of the run that it names, in microseconds; each once, in their order."""
    return sorted(set(_times(data, _is_moment).values()))


def earlier(data: Written, from_us: int, by_us: int) -> dict[str, Any]:
    """The scenario in which all is earlier that begins or ends at a time or later.

    Args:
        data: the scenario.
        from_us: the time.
        by_us: the difference, at most the time since the last moment before it.
    """
    made = deepcopy(dict(data))
    for path, time_us in _times(data, _is_moment).items():
        if time_us >= from_us:
            at(made, path[:-1])[path[-1]] = duration_text(time_us - by_us)
    return made


def all_times(data: Written) -> dict[Path, int]:
    """All times of the run and lengths of time, in microseconds, by their paths."""
    return _times(data, lambda path: _is_moment(path) or is_length(path))


def is_length(path: Path) -> bool:
    """Whether the time at a path is a length of time."""
    return path[-1] in _LENGTHS and not _is_moment(path)


def ended_at(data: Written, end_us: int) -> dict[str, Any]:
    """The scenario that ends at a time, without all that would begin later."""
    made = deepcopy(dict(data))
    made["duration"] = duration_text(end_us)
    for name, parts in made.items():
        if isinstance(parts, list):
            field = "after" if name == "pins" else "at"
            made[name] = [part for part in parts if not _begins_after(part, field, end_us)]
    workload = made.get("workload", {})
    for kind, groups in workload.items():
        workload[kind] = [group for group in groups if not _begins_after(group, "start", end_us)]
        for group in workload[kind]:
            if _begins_after(group, "stop", end_us):
                del group["stop"]
    return made


def _begins_after(part: Any, field: str, end_us: int) -> bool:
    time_us = _duration_us(part.get(field)) if isinstance(part, dict) else None
    return time_us is not None and time_us >= end_us


def duration_text(time_us: int) -> str:
    """A time as a scenario has it."""
    return format_duration(time_us) if time_us else "0s"


#: The units of rounder times, the coarsest first.
_ROUND_US = (60_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000)


def rounder(time_us: int) -> Iterator[int]:
    """The rounder times that are not longer, the roundest first; in microseconds."""
    seen = {0, time_us}
    for unit_us in _ROUND_US:
        rounded = time_us // unit_us * unit_us
        if rounded not in seen:
            seen.add(rounded)
            yield rounded
