"""A run in short: its verdict, its stalls, its refused writes and its moves of replicas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Piece, Words
from tidegauge.report.stalled_writes import StalledPartitions, WithoutWrites
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables
    from tidegauge.report.one_run import OneRun


_MEGABYTE = 1_000_000


def reassignment_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """A line for each step that moved replicas, and one for the bytes; none if no step does."""
    moved = {name: each for name, each in _moves(summary).items() if each["partitions"]}
    for name, each in moved.items():
        text = f"step {_step_place(name) + 1} moved {counted(each['partitions'], 'partition')}"
        if each["unfinished"]:
            text += f", of which {each['unfinished']:,} are not finished as the run ends,"
        if each["replaced"]:
            text += f", of which a later step replaced {each['replaced']:,},"
        yield f"{text} in {duration_text(each['seconds'] * 1e6)}"
    if moved and summary.get("reassignment_bytes"):
        yield f"new replicas fetched {summary['reassignment_bytes'] / _MEGABYTE:,.1f} MB"


def moving_us(summary: Mapping[str, Any]) -> dict[int, int]:
    """The time for which each step moved replicas, by its place in the scenario."""
    return {
        _step_place(name): round(each["seconds"] * 1e6) for name, each in _moves(summary).items()
    }


def _step_place(name: str) -> int:
    """The place of a step, by its name in ``--set``."""
    return int(name.removeprefix("steps."))


def _moves(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of steps, by their names; a run that another program wrote can have none."""
    moves: Mapping[str, Any] = summary.get("reassignments", {})
    return moves


# ruff: noqa: S608 - queries are put together from texts of these rooms


def result(run: OneRun) -> list[Piece]:
    """The scenario and the outcome of the run, for the first screen of the page."""
    stalled, idle = run.stalled, run.without_writes
    pieces: list[Piece] = [
        Words(what_was_run(run), "note"),
        _verdict(run, stalled, idle, run.figures["records_acknowledged_lost"]),
    ]
    cause = loss_text(run.tables)
    if cause is not None:
        pieces.append(Words(cause, "bad"))
    if stalled is not None:
        pieces.append(Words(f"{_capital(_without(run, idle))}.", "bad" if idle.is_bad else ""))
    if run.summary is None:
        pieces.append(
            Words("The run is not complete: this report covers it up to its last row.", "note")
        )
    return pieces


def what_was_run(run: OneRun) -> str:
    """The scenario, and the cluster."""
    scenario = run.scenario
    racks = len(scenario["cluster"].get("racks") or ())
    in_racks = f" in {counted(racks, 'rack')}" if racks > 1 else ""
    return (
        f"Scenario {scenario['name']}: {counted(len(run.manifest['brokers']), 'broker')} of Kafka "
        f"{scenario['release']}{in_racks}, {counted(len(run.manifest['partitions']), 'partition')}"
        f", {_how_it_was_run(run)}"
    )


def _how_it_was_run(run: OneRun) -> str:
    length = duration_text(run.duration_us)
    if run.is_of_logs:
        first = run.manifest["logs"]["first_line"]
        return f"{length} from {first} on. This is a real cluster, as its logs tell of it."
    return (
        f"{length} of virtual time, seed {run.manifest['seed']}. This is a simulation, not a real "
        "cluster."
    )


def _verdict(
    run: OneRun, stalled: StalledPartitions | None, idle: WithoutWrites, records_lost: int | None
) -> Words:
    """The result in one sentence, losses first: ``60 of 60 partitions stalled for producers ...``.

    Without a producer that counts its stalls, the time without acks=all writes counts.
    """
    outage = _without(run, idle) if stalled is None else stalled.text
    is_bad = records_lost or (idle.is_bad if stalled is None else stalled.stalled)
    if records_lost:
        text = f"{counted(records_lost, 'acknowledged record')} lost; {outage}"
    elif records_lost is None:
        text = f"{outage}; lost records are unknown"
    else:
        text = f"{outage}; no acknowledged record lost"
    return Words(f"{_capital(text)}.", "verdict bad" if is_bad else "verdict good")


def loss_text(tables: RunTables) -> str | None:
    """The largest loss of acknowledged records and its causes; None: none is lost or known.

    A leader that began without them lacks them since it truncated its log, lost the end of it, or
    never had them: the fault of its election is seldom that of the truncation.

    Raises:
        KeyError, RunError, ScenarioError, OSError: as :meth:`RunTables.make`.
    """
    losses = tables.rows(
        """
        select partition, topic_partition, leader, new_leader, began_us, fault_name,
            sum(records) as records, min(first_offset) as first_offset,
            max(end_offset) as end_offset
        from lost where new_leader is not null
        group by partition, topic_partition, leader, new_leader, began_us, fault_name
        order by records desc, began_us, partition, topic_partition, leader, new_leader,
            fault_name, first_offset, end_offset limit 1
        """
    )
    if not losses:
        return None
    (lost,) = losses
    text = (
        f"Lost: {counted(lost['records'], 'record')} of {lost['topic_partition']} that broker "
        f"{lost['leader']} had acknowledged. Broker {lost['new_leader']} led without "
        f"{'it' if lost['records'] == 1 else 'them'} from {time_text(lost['began_us'])} on"
        f"{_by(lost)}"
    )
    cuts = tables.rows(
        f"""
        select time_us, old_end_offset, end_offset, reason, fault_name from truncations
        where partition = {lost["partition"]} and broker = {lost["new_leader"]}
            and time_us <= {lost["began_us"]} and end_offset < {lost["end_offset"]}
            and old_end_offset > {lost["first_offset"]}
        order by time_us desc limit 1
        """
    )
    for cut in cuts:
        does = "had truncated" if cut["reason"] == "follower" else "had lost the end of"
        text += (
            f"; it {does} its log from {cut['old_end_offset']} to {cut['end_offset']} at "
            f"{time_text(cut['time_us'])}{_by(cut)}"
        )
    return f"{text}."


def _by(charged: Mapping[str, Any]) -> str:
    return f" ({charged['fault_name']})" if charged["fault_name"] else ""


def _without(run: OneRun, idle: WithoutWrites) -> str:
    """The times without writes: ``2 of 80 partitions could not take acks=all writes for ...``."""
    partitions = len(run.manifest["partitions"])
    all_of_them = counted(partitions, "partition")
    parts = []
    longest = duration_text(idle.longest_us)
    if idle.for_long:
        parts.append(
            f"{idle.for_long:,} of {all_of_them} could not take acks=all writes for more than a "
            f"second, for up to {longest}"
        )
    elif idle.partitions:
        parts.append(
            f"{idle.partitions:,} of {all_of_them} could not take acks=all writes for up to "
            f"{longest}, as leaders changed"
        )
    elif not idle.always:
        parts.append(f"all of {all_of_them} could take acks=all writes at any time")
    if idle.always:
        more = "more " if parts else ""
        of = "" if parts else f" of {all_of_them}"
        parts.append(f"{idle.always:,}{of} {more}could not take them at all")
    return "; ".join(parts)


def _capital(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"
