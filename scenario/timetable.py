"""The faults, pins and steps of a scenario, in words and in the order of time.

A step that waits for a condition has no time before the run. It is listed at the time of the step
before it, since it is not taken earlier.

Retention of logs: settings of topics and brokers, and their effect on a topic.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tidegauge.replication.records import MOST_VOTERS
from tidegauge.scenario.model.component_faults import Fault, fault_name
from tidegauge.scenario.model.pins import pin_name
from tidegauge.scenario.model.request_steps import Step
from tidegauge.scenario.model.settings import OFFSETS_TOPIC, Value
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.quantities import format_duration

#: Fields of a step for its time and its name.
_WHEN = {"do", "at", "after", "when", "within"}
#: More things than these are counted rather than named; of a condition, whose members matter, more
#: are named: the voters of any quorum.
_NAMED = 3
_NAMED_IN_CONDITION = MOST_VOTERS


class Planned(NamedTuple):
    """A planned fault, pin or step."""

    #: Its time, or its earliest time.
    time_us: int
    #: Whether that is its exact time, and not only its earliest one.
    is_exact: bool
    words: str


def timetable(scenario: Scenario) -> list[Planned]:
    """All faults that have a time, all pins, and all steps."""
    faults = [
        Planned(fault.at_us, True, fault_words(scenario, place))
        for place, fault in enumerate(scenario.faults)
        if fault.at_us is not None
    ]
    pins = [
        Planned(pin.after_us, False, f"{pin_name(scenario.pins, place)}: {pin.words()}")
        for place, pin in enumerate(scenario.pins)
    ]
    return sorted([*faults, *pins, *_steps(scenario)], key=lambda planned: planned.time_us)


def fault_words(scenario: Scenario, place: int) -> str:
    """A fault in words: its name, its effect and its duration."""
    fault = scenario.faults[place]
    name = fault_name(scenario.faults, place)
    return f"{name}: {fault.words(scenario)}{_lasting(fault)}"


def _lasting(fault: Fault) -> str:
    if fault.for_us is not None:
        return f", for {format_duration(fault.for_us)}"
    if fault.is_over_at_once or fault.is_planned:
        return ""
    return ", until a step or the run ends it"


def _steps(scenario: Scenario) -> Iterator[Planned]:
    earliest_us = 0
    is_exact = True
    begins = {fault.name: fault.at_us or 0 for fault in scenario.faults}
    for step in scenario.steps:
        if step.at_us is not None:
            # It also waits for the step before it, which takes no time if all goes well.
            earliest_us, is_exact = max(earliest_us, step.at_us), True
        elif step.after_us is not None:
            earliest_us += step.after_us
        else:
            is_exact = False
        if step.when is not None and step.when.rolled is not None:
            earliest_us = max(earliest_us, begins[step.when.rolled])
        yield Planned(earliest_us, is_exact, f"step: {_of_step(step)}")


def _of_step(step: Step) -> str:
    said = step.model_dump(mode="json", by_alias=True, exclude_unset=True)
    words = [
        step.do,
        *(f"{key}={_short(value)}" for key, value in said.items() if key not in _WHEN),
    ]
    if step.when is not None and step.within_us is not None:
        condition = ", ".join(
            f"{key} {_short(value, _NAMED_IN_CONDITION)}" for key, value in said["when"].items()
        )
        words.append(f"as soon as {condition}, within {format_duration(step.within_us)}")
    return " ".join(words)


def _short(value: Any, most_named: int = _NAMED) -> str:
    """A value of a step, in short form: of its lists up to so many things are named."""
    if isinstance(value, list) and len(value) > most_named:
        return f"({len(value)} of them)"
    if isinstance(value, list):
        return f"[{', '.join(_short(each, most_named) for each in value)}]"
    if isinstance(value, dict):
        return " ".join(f"{key}={_short(each, most_named)}" for key, each in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


#: Defaults of Kafka (KafkaConfig, LogConfig@2.6.0).
_SEGMENT_BYTES = 2**30
_RETENTION_MS = 7 * 24 * 3_600_000
_CHECK_INTERVAL_MS = 300_000
#: A broker's settings in milliseconds, the most precise first.
_RETENTION_TIMES = (
    ("log.retention.ms", 1),
    ("log.retention.minutes", 60_000),
    ("log.retention.hours", 3_600_000),
)


class Retention(NamedTuple):
    """The retention of the logs of a topic; None: no limit."""

    segment_bytes: int
    bytes: int | None
    seconds: int | None


def retention_of(
    topic: str, own: Mapping[str, Value], broker: Mapping[str, Value], *, existed: bool
) -> Retention | None:
    """The retention of a topic with these settings on a broker with these; None: all is kept.

    Without a size there is a limit only where a setting has one: logs that begin empty do not grow
    old in a run.
    """
    compacted = "compact" if topic == OFFSETS_TOPIC else "delete"
    policy = own.get("cleanup.policy", broker.get("log.cleanup.policy", compacted))
    size = int(own.get("retention.bytes", broker.get("log.retention.bytes", -1)))
    if "delete" not in str(policy) or (size < 0 and not existed):
        return None
    time_ms = next(
        (int(broker[name]) * unit for name, unit in _RETENTION_TIMES if name in broker),
        _RETENTION_MS,
    )
    time_ms = int(own.get("retention.ms", time_ms))
    segment = own.get("segment.bytes", broker.get("log.segment.bytes", _SEGMENT_BYTES))
    return Retention(
        int(segment),
        None if size < 0 else size,
        None if time_ms < 0 or not existed else max(1, time_ms // 1000),
    )


def check_interval_ms(broker: Mapping[str, Value]) -> int:
    """The interval in which a broker with these settings looks for old segments."""
    return int(broker.get("log.retention.check.interval.ms", _CHECK_INTERVAL_MS))
