"""``tidegauge show broker``: the story of one broker, and its state at a time."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.runs.broker_history import BrokerState, ReplicaState, broker_rows, broker_state
from tidegauge.runs.moments import moments, told_moment
from tidegauge.runs.story import Names, spoken, told
from tidegauge.simulation.codes.occasions import BROKER_ABSENT
from tidegauge.simulation.durations import time_text
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.views.partition_view import listed
from tidegauge.views.story_lines import StoryOptions, moment_line, print_lines, when_text

#: Shown where no row has the value.
UNTOLD = "?"


def show_broker(
    out: Console,
    run: RunFolder,
    tables: RunTables,
    names: Names,
    broker: int,
    options: StoryOptions,
) -> None:
    """Print a broker's last state in a few lines, then its story."""
    end_us = options.span.end_us
    _print_facts(out, broker_state(run, tables, names, broker, end_us), names, broker, end_us)
    out.print()
    rows = broker_rows(run, names, broker, details=options.details)
    shown = (row for row in rows if row["time_us"] in options.span)
    lines = [
        moment_line(moment, run, names, told_moment)
        for moment in moments(shown, one_by_one=options.details)
    ]
    print_lines(out, lines, handles=options.handles)
    if not lines:
        out.print("No events in this time.")


def show_broker_at(
    out: Console, run: RunFolder, tables: RunTables, names: Names, broker: int, at_us: int
) -> None:
    """Print a broker's state at a time, with each of its replicas."""
    state = broker_state(run, tables, names, broker, at_us)
    _print_facts(out, state, names, broker, at_us)
    if state.replicas:
        out.print()
        _print_replicas(out, state.replicas, names)


def _print_facts(
    out: Console, state: BrokerState, names: Names, broker: int, at_us: int | None
) -> None:
    out.print(f"Broker {names.broker_id(broker)} {when_text(at_us)}: {_life(state, names)}",
              style="bold", soft_wrap=True)  # fmt: skip
    for fault in state.faults:
        words = f"{names.fault_text(fault['fault'])}, since {time_text(fault['time_us'])}"
        out.print(f"  hit by:      {words}", style="bold yellow", soft_wrap=True)
    if names.controllers:
        out.print(f"  controller:  {_taken_for(state.registration, names)}", soft_wrap=True)
    else:
        out.print(f"  session:     {_session(state.session)}", soft_wrap=True)
        out.print(f"  registered:  {_registered(state.registration)}")
        out.print(f"  controller:  {_seen(state.seen)}")
    out.print(f"  replicas:    {_role_counts(state.replicas)}", soft_wrap=True)


def _life(state: BrokerState, names: Names) -> str:
    life = state.life
    if life is None:
        return "no start is recorded"
    at = time_text(life["time_us"])
    if life.kind == "broker_started":
        return f"up since {at}"
    return f"not up; at {at}: {told(life, names)}"


def _session(row: TraceRow | None) -> str:
    if row is None:
        return "none yet"
    at = time_text(row["time_us"])
    number = row.columns.get("session", UNTOLD)
    if row.kind == "session_opened":
        return f"{number}, since {at}"
    return f"none; {number} {row.kind.removeprefix('session_')} at {at}"


def _registered(row: TraceRow | None) -> str:
    if row is None:
        return "not yet"
    return f"{'no' if row['state'] == BROKER_ABSENT else 'yes'}, since {time_text(row['time_us'])}"


def _taken_for(row: TraceRow | None, names: Names) -> str:
    """The state that a quorum has the broker in."""
    if row is None:
        return "it has not registered"
    state, reason = (spoken(row, column, names) for column in ("state", "state_reason"))
    at = time_text(row["time_us"])
    return f"takes it for {state} since {at} ({reason}), broker epoch {row['broker_epoch']}"


def _seen(row: TraceRow | None) -> str:
    if row is None:
        return "none has seen it come or go"
    saw = "has registered" if row.kind == "broker_registered" else "is gone"
    return f"saw at {time_text(row['time_us'])} that it {saw}"


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


def _print_replicas(out: Console, replicas: Sequence[ReplicaState], names: Names) -> None:
    """Print all replicas: those with a note first, then those that it leads."""
    width = max(len("partition"), *(len(names.partition(each.partition)) for each in replicas))
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
        key=lambda each: (not each[0].note, each[0].role != "leader", each[0].partition),
    )
    for replica, isr in order:
        as_of = UNTOLD if replica.told_us is None else time_text(replica.told_us)
        line = Text(
            f"{names.partition(replica.partition):{width}}  {replica.role:8}"
            f"  {_number(replica.leader_epoch):>5}  {isr:{isr_width}}"
            f"  {_number(replica.log_end_offset):>10}  {_number(replica.high_watermark):>14}"
            f"  {as_of}"
        )
        if replica.note:
            line.append(f"  {replica.note}", style="red")
        out.print(line, soft_wrap=True)


def _number(number: int | None) -> str:
    return UNTOLD if number is None else str(number)
