"""Runs on the terminal: figures, incidents and the sequences of states beside each other."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tidegauge.real_cluster.incident.absence_pairs import PairedAbsence, paired_absences
from tidegauge.runs.figures import value_text
from tidegauge.runs.histories import PartitionState
from tidegauge.runs.side_by_side import ComparedValues, Side, SideBySide
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import short_seconds_text, short_time_text

#: The text for a figure that logs do not have.
NOT_IN_LOGS = "not in the logs"
_NOT_THERE = "-"
#: Partitions with different sequences that are listed.
_MOST_DIFFERENT = 5
_ORDINALS = ("first", "second", "third", "fourth")


def show_side_by_side(out: Console, found: SideBySide) -> None:
    """Print a comparison of runs."""
    for name, side in _named(found):
        out.print(f"{name:6}  {side.run.path}", soft_wrap=True, markup=False)
    out.print("; ".join(_alignments(found)), soft_wrap=True, markup=False)
    out.print()
    _show_figures(out, found)
    _show_absences(out, found, paired_absences(found.sides))
    _show_controllers(out, found)
    _show_sequences(out, found)


def side_by_side_content(found: SideBySide) -> dict[str, Any]:
    """A comparison of runs as JSON; a figure that a run does not have is null."""
    return {
        "format": "tidegauge-side-by-side",
        "runs": [
            {
                "folder": str(side.run.path),
                "shift_us": side.shift_us,
                "aligned_by_partitions": side.aligned_by,
                "aligned_by_clock": side.is_by_clock,
                "controllers": [
                    {"time_us": each.time_us + side.shift_us, "controller": each.controller}
                    for each in side.controllers
                ],
                "only_here": list(only),
            }
            for side, only in zip(found.sides, found.only_in, strict=True)
        ],
        "figures": [
            {"figure": row.figure.name, "unit": row.figure.unit, "values": list(row.values)}
            for row in found.figures
        ],
        "incidents": [
            {"broker": each.broker, "runs": [run and run._asdict() for run in each.runs]}
            for each in paired_absences(found.sides)
        ],
        "partitions": {
            "compared": len(found.same) + len(found.different),
            "same": len(found.same),
            "same_leaders": len(found.same_leaders),
            "different": [
                {
                    "partition": each.partition,
                    "same_states": each.same,
                    "first_difference": [
                        state
                        and {
                            "time_us": state.begin_us + side.shift_us,
                            "leader": state.leader,
                            "isr": [*state.isr],
                        }
                        for side, state in zip(found.sides, each.states, strict=True)
                    ],
                    "show": [_command(side, each.partition) for side in found.sides],
                }
                for each in found.different
            ],
        },
    }


def _named(found: SideBySide) -> Iterator[tuple[str, Side]]:
    return zip(_ORDINALS, found.sides, strict=False)


def _alignments(found: SideBySide) -> Iterator[str]:
    yield "times are those of the first"
    for name, side in list(_named(found))[1:]:
        way = "later" if side.shift_us >= 0 else "earlier"
        text = f"the {name} is {short_seconds_text(abs(side.shift_us))} {way} there"
        if side.is_by_clock:
            yield f"{text}, by the wall clock; the states of the time that all have are compared"
        elif side.aligned_by is None:
            yield f"{text}, by --shift"
        elif not side.aligned_by:
            yield f"{text}: they have no state in common, so both begin together"
        else:
            yield f"{text}, by the first changes of {counted(side.aligned_by, 'partition')}"


def _show_figures(out: Console, found: SideBySide) -> None:
    table = _new_table("figure", found)
    for row in found.figures:
        table.add_row(row.figure.label or row.figure.name, *_values(row, found.sides))
    out.print(table)


def _values(row: ComparedValues, sides: Sequence[Side]) -> Iterator[str]:
    for value, side in zip(row.values, sides, strict=True):
        if value is None:
            yield NOT_IN_LOGS if side.is_of_logs else "none"
        else:
            text = value_text(value, row.figure.unit)
            yield f"{text} ms" if row.figure.unit == "ms" else text


def _show_absences(out: Console, found: SideBySide, absences: Sequence[PairedAbsence]) -> None:
    if absences:
        out.print("\nBrokers that were gone", style="bold")
    for each in absences:
        table = _new_table(f"broker {each.broker}", found)
        table.add_row("manner", *(run.manner if run else _NOT_THERE for run in each.runs))
        begins = []
        for run in each.runs:
            bound = f" +-{run.uncertainty_s:.1f}" if run and run.uncertainty_s else ""
            begins.append(f"{run.begin_s:.3f}{bound} s" if run else _NOT_THERE)
        table.add_row("gone at", *begins)
        for label, name in (
            ("until the control plane noticed", "until_noticed_s"),
            ("until the last new leader", "until_last_leader_s"),
            ("until it was registered again", "away_s"),
            ("... and from then until it was in all ISRs", "until_in_sync_s"),
        ):
            times_s = (run and getattr(run, name) for run in each.runs)
            table.add_row(label, *(_NOT_THERE if t is None else f"{t:.3f} s" for t in times_s))
        out.print(table)


def _show_controllers(out: Console, found: SideBySide) -> None:
    out.print("\nActive controllers", style="bold")
    for name, side in _named(found):
        terms = [
            f"{'none' if each.controller is None else each.controller} from "
            f"{short_time_text(max(0, each.time_us + side.shift_us))}"
            for each in side.controllers
        ]
        out.print(f"  {name:6}  {', '.join(terms) or NOT_IN_LOGS}", soft_wrap=True, markup=False)


def _show_sequences(out: Console, found: SideBySide) -> None:
    compared = len(found.same) + len(found.different)
    out.print("\nSequences of leaders and ISRs", style="bold")
    out.print(
        f"  the same in {len(found.same)} of {counted(compared, 'partition')}; the same leaders in "
        f"{len(found.same_leaders)}",
        soft_wrap=True,
    )
    for (name, _), only in zip(_named(found), found.only_in, strict=True):
        if only:
            out.print(f"  only in the {name}: {', '.join(only[:_MOST_DIFFERENT])}", markup=False)
    for each in found.different[:_MOST_DIFFERENT]:
        out.print(f"  {each.partition}: {counted(each.same, 'state')} the same, then")
        for (name, side), state in zip(_named(found), each.states, strict=True):
            out.print(f"    {name:6}  {_state(side, state)}", soft_wrap=True, markup=False)
        for side in found.sides:
            out.print(f"    {_command(side, each.partition)}", soft_wrap=True, markup=False)
    if len(found.different) > _MOST_DIFFERENT:
        out.print(f"  ... and {len(found.different) - _MOST_DIFFERENT} more: --json lists them")


def _command(side: Side, partition: str) -> str:
    return f"tidegauge show partition {shlex.quote(str(side.run.path))} {partition}"


def _state(side: Side, state: PartitionState | None) -> str:
    if state is None:
        return "no further state"
    leader = "none" if state.leader is None else state.leader
    isr = ",".join(map(str, state.isr))
    text = f"leader {leader}, ISR [{isr}]" if state.isr else "deleted"
    return f"{short_time_text(max(0, state.begin_us + side.shift_us))}  {text}"


def _new_table(first: str, found: SideBySide) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(first, min_width=44)
    for name, _ in _named(found):
        table.add_column(name, justify="right", min_width=18)
    return table
