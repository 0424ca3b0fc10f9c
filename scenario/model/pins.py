"""Pins: single messages that are held, dropped or delivered twice, to play one interleaving.

A fault hits processes and links, and leaves each link in its order, as TCP does. A pin names the
n-th message of a kind, and breaks that order for it alone (``simulation/pins.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from tidegauge.scenario.model import parts
from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.references import (
    partition_number_is_there,
    selectors_are_there,
    too_late,
)
from tidegauge.scenario.model.selectors import CONTROLLERS, LinkEnd, ProcessSelector
from tidegauge.scenario.text.errors import Path, Problem, did_you_mean
from tidegauge.simulation.messages.kinds import MESSAGES, MESSAGES_OF_MODE, SESSION_MESSAGES
from tidegauge.simulation.quantities import format_duration

HOLD, DROP, DUPLICATE = "hold", "drop", "duplicate"
#: Instead of a count: every message from the n-th on.
ALL = "all"


def _is_message(name: str) -> str:
    if name not in MESSAGES:
        raise ValueError(f"there is no message {name}; {did_you_mean(name, MESSAGES)}")
    return name


MessageName = Annotated[str, AfterValidator(_is_message), WithJsonSchema({"enum": list(MESSAGES)})]


class Pin(parts.Part):
    """A message that is held, dropped or delivered twice, which no connection does.

    A pin acts at the receiving end of links, on messages that have arrived there. It counts the
    messages that match it from `after` on, at each receiver for itself, and takes those from the
    `nth` on. Others on the same link pass a message that is held. A held message is delivered at
    its release. If its receiver was restarted meanwhile, the new process gets a request, and no
    response. A dropped message closes no connection: its sender waits until its own timeout.
    """

    examples = (
        (
            "{name: stale-epoch, hold: LEADER_AND_ISR, from: controller:1, to: broker:2, nth: 1, "
            "after: 10s, until: 25s}"
        ),
        (
            "{hold: FETCH_RESPONSE, from: broker:1, to: broker:2, topic: orders, partition: 0, "
            "nth: 3, count: 2, after: 12s, for: 800ms}"
        ),
        "{drop: ALTER_PARTITION_RESPONSE, to: broker:1, after: 5s}",
        "{duplicate: LEADER_AND_ISR, to: broker:2, nth: 2, for: 3s}",
    )

    name: parts.Name | None = Field(
        default=None, description="Name of the pin, unique among the pins; steps refer to it."
    )
    hold: MessageName | None = Field(
        default=None,
        description="Kind of the messages that are held, by its name in rows of the trace.",
    )
    drop: MessageName | None = Field(
        default=None, description="Kind of the messages that are dropped."
    )
    duplicate: MessageName | None = Field(
        default=None,
        description="Kind of the messages that are delivered, and of which a second copy is held.",
    )
    source: ProcessSelector | None = Field(
        default=None, alias="from", description="Processes that send them. Default: any."
    )
    to: ProcessSelector | None = Field(
        default=None, description="Processes that receive them. Default: any."
    )
    topic: str | None = Field(
        default=None, description="Only messages about a partition of this topic."
    )
    partition: int | None = Field(
        default=None, ge=0, description="With `topic`: number of the partition."
    )
    nth: Annotated[int, parts.Unit("messages")] = Field(
        default=1, ge=1, lt=2**31, description="The first message that is taken, counted from 1."
    )
    count: Annotated[
        Annotated[int, Field(ge=1, lt=2**31)] | Literal["all"], parts.Unit("messages")
    ] = Field(
        default=1, description="Number of messages that are taken; all: each from the `nth` on."
    )
    after_us: parts.Duration = Field(
        default=0, alias="after", description="Time from which messages count."
    )
    until_us: parts.PositiveDuration | None = Field(
        default=None,
        alias="until",
        description="Time at which held messages are released; the pin takes no others then. "
        "Default: until a step releases them, or the run ends.",
    )
    for_us: parts.PositiveDuration | None = Field(
        default=None,
        alias="for",
        description="Longest time for which each message is held. Default: as `until` has it.",
    )

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        if sum(getattr(self, action) is not None for action in (HOLD, DROP, DUPLICATE)) != 1:
            raise ValueError("must have one of hold, drop and duplicate")
        if (self.topic is None) != (self.partition is None):
            raise ValueError("topic and partition name one partition: both are there, or neither")
        if self.message in SESSION_MESSAGES and self.hold is None:
            raise ValueError(
                f"{self.message} can only be held: a session of ZooKeeper ends without it, and "
                "with a second one"
            )
        if self.drop is not None and self.for_us is not None:
            raise ValueError("a dropped message is not held, so it has no `for`")
        if self.until_us is not None and self.until_us <= self.after_us:
            raise ValueError("until must be later than after")
        return self

    @property
    def action(self) -> str:
        """HOLD, DROP or DUPLICATE."""
        return next(each for each in (HOLD, DROP, DUPLICATE) if getattr(self, each) is not None)

    @property
    def message(self) -> str:
        """The kind of its messages, by its name in rows of the trace."""
        return str(getattr(self, self.action))

    def senders(self, scenario: Deployment) -> list[LinkEnd]:
        """The processes whose messages count; none: those of any."""
        return scenario.endpoints_of([] if self.source is None else [self.source])

    def receivers(self, scenario: Deployment) -> list[LinkEnd]:
        """The processes at which messages count; none: at any."""
        return scenario.endpoints_of([] if self.to is None else [self.to])

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A message of the other mode; what does not exist; times that are too late."""
        for mode, messages in MESSAGES_OF_MODE.items():
            if self.message in messages and scenario.mode != mode:
                yield Problem((*path, self.action), f"{self.message} is of mode: {mode}")
        for field, selector in (("from", self.source), ("to", self.to)):
            if selector is None:
                continue
            if selector.kind == CONTROLLERS and not scenario.has_kraft:
                yield Problem((*path, field), "controllers are those of mode: kraft")
            for problem in selectors_are_there((*path, field), [selector], scenario):
                yield Problem((*path, field), problem.message)
        if self.topic is not None and self.partition is not None:
            yield from partition_number_is_there(path, self.topic, self.partition, scenario)
        yield from too_late((*path, "after"), self.after_us, scenario)

    def words(self) -> str:
        """Its action in words, with the messages that it takes, and the time that they are held."""
        ends = [f"{word} {end}" for word, end in (("from", self.source), ("to", self.to)) if end]
        which = f"from number {self.nth} on" if self.count == ALL else self._numbers()
        about = [] if self.topic is None else [f"about {self.topic}-{self.partition}"]
        times = ((self.for_us, "for"), (self.until_us, "until"))
        said = [f"{word} {format_duration(time)}" for time, word in times if time is not None]
        return " ".join([self.action, self.message, *ends, *about, which, *said])

    def _numbers(self) -> str:
        last = self.nth + int(self.count) - 1
        return f"number {self.nth}" if last == self.nth else f"numbers {self.nth} to {last}"


def pin_name(pins: Sequence[Pin], place: int) -> str:
    """The name of a pin in output: its own, or its number among all pins."""
    return pins[place].name or f"pin-{place + 1}"
