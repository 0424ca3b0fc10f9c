"""``tidegauge show broker``: the story of one broker, and its state at a time."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tidegauge.runs.brokers import BrokerDescription, ReplicaState, broker_events, described_broker
from tidegauge.runs.run import Run
from tidegauge.runs.stories import story
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.quantities import time_text
from tidegauge.simulation.trace_rows.codes import BROKER_ABSENT
from tidegauge.views.output import in_column, name_width, print_hanging
from tidegauge.views.partition_view import listed
from tidegauge.views.story_lines import StoryOptions, print_story, when_text

#: Shown where no row has the value.
UNTOLD = "?"


def broker_for_programs(
    run: Run, broker: int, options: StoryOptions, at_us: int | None
) -> dict[str, Any]:
    """A broker's state at a time, or at the end with its story."""
    until_us = options.span.end_us if at_us is None else at_us
    state = described_broker(run, broker, until_us)
    events = [] if at_us is not None else broker_events(run, broker, details=options.details)
    return {
        "broker": run.names.broker_id(broker),
        "is_up": state.life is not None and state.life.kind == "broker_started",
        "life": _life(state.life),
        "faults": [event.words_of("fault") for event in state.faults],
        "partitions": [replica._asdict() for replica in state.replicas],
        "story": [
            line._asdict() for line in story(events, run, options.span, details=options.details)
        ],
    }


def show_broker(out: Console, run: Run, broker: int, options: StoryOptions) -> None:
    """Print a broker's last state in a few lines, then its story."""
    end_us = options.span.end_us
    _print_facts(out, run, broker, described_broker(run, broker, end_us), end_us)
    out.print()
    events = broker_events(run, broker, details=options.details)
    print_story(out, run, story(events, run, options.span, details=options.details), options)


def show_broker_at(out: Console, run: Run, broker: int, at_us: int) -> None:
    """Print a broker's state at a time, with each of its replicas."""
    state = described_broker(run, broker, at_us)
    _print_facts(out, run, broker, state, at_us)
    if state.replicas:
        out.print()
        _print_replicas(out, state.replicas)


def _print_facts(
    out: Console, run: Run, broker: int, state: BrokerDescription, at_us: int | None
) -> None:
    identity = run.names.broker_id(broker)
    life = f"Broker {identity} {when_text(run, at_us)}: {_life(state.life)}"
    print_hanging(out, "", Text(life, style="bold"))
    for fault in state.faults:
        words = f"{fault.words_of('fault')}, since {time_text(fault.time_us)}"
        print_hanging(out, "  hit by:      ", Text(words, style="bold yellow"))
    if run.names.controllers:
        print_hanging(out, "  controller:  ", _taken_for(state.registration))
    else:
        print_hanging(out, "  session:     ", _session(state.session))
        out.print(f"  registered:  {_registered(state.registration)}")
        out.print(f"  controller:  {_seen(state.seen)}")
    print_hanging(out, "  replicas:    ", _role_counts(state.replicas))


def _life(life: TraceEvent | None) -> str:
    if life is None:
        return "no start is recorded"
    at = time_text(life.time_us)
    return f"up since {at}" if life.kind == "broker_started" else f"not up; at {at}: {life.words}"


def _session(event: TraceEvent | None) -> str:
    if event is None:
        return "none yet"
    at = time_text(event.time_us)
    if event.kind == "session_opened":
        return f"{event.session}, since {at}"
    return f"none; {event.session} {event.kind.removeprefix('session_')} at {at}"


def _registered(event: TraceEvent | None) -> str:
    if event is None:
        return "not yet"
    is_gone = event.row["state"] == BROKER_ABSENT
    return f"{'no' if is_gone else 'yes'}, since {time_text(event.time_us)}"


def _taken_for(event: TraceEvent | None) -> str:
    """The state that a quorum has the broker in."""
    if event is None:
        return "it has not registered"
    since = f"since {time_text(event.time_us)} ({event.state_reason})"
    return f"takes it for {event.state} {since}, broker epoch {event.broker_epoch}"


def _seen(event: TraceEvent | None) -> str:
    if event is None:
        return "none has seen it come or go"
    saw = "has registered" if event.kind == "broker_registered" else "is gone"
    return f"saw at {time_text(event.time_us)} that it {saw}"


def _role_counts(replicas: Sequence[ReplicaState]) -> str:
    leads = sum(replica.role == "leader" for replica in replicas)
    follows = sum(replica.role == "follower" for replica in replicas)
    others = len(replicas) - leads - follows
    noted = sum(bool(replica.note) for replica in replicas)
    return (
        f"leads {leads}, follows {follows}"
        + (f", {others} without a role" if others else "")
        + (f"; {noted} to look at" if noted else "")
    )


def _print_replicas(out: Console, replicas: Sequence[ReplicaState]) -> None:
    """Print all replicas: those with a note first, then those that it leads."""
    width = name_width(["partition", *(each.partition for each in replicas)])
    isrs = [UNTOLD if each.isr is None else f"[{listed(each.isr)}]" for each in replicas]
    isr_width = max(len("ISR"), *map(len, isrs))
    out.print(
        f"{'partition':{width}}  role      epoch  {'ISR':{isr_width}}"
        f"  {'log end':>10}  {'high watermark':>14}  as of",
        style="bold",
        soft_wrap=True,
    )
    order = sorted(
        zip(replicas, isrs, strict=True),
        key=lambda each: (not each[0].note, each[0].role != "leader"),
    )
    for replica, isr in order:
        as_of = UNTOLD if replica.as_of_us is None else time_text(replica.as_of_us)
        line = (
            f"{in_column(out, replica.partition, width)}  {replica.role:8}"
            f"  {_number(replica.leader_epoch):>5}  {isr:{isr_width}}"
            f"  {_number(replica.log_end_offset):>10}  {_number(replica.high_watermark):>14}"
            f"  {as_of}  "
        )
        print_hanging(out, line, Text(replica.note, style="red"))


def _number(number: int | None) -> str:
    return UNTOLD if number is None else str(number)
