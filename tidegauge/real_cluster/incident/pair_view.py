"""Two runs on the terminal: figures, incidents and the sequences of states beside each other."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tidegauge.real_cluster.incident.pair_figures import (
    Figure,
    Incident,
    pair_figures,
    pair_incidents,
)
from tidegauge.real_cluster.incident.run_pair import PartedSequence, RunPair, RunSide
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import short_time_text

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.real_cluster.incident.cluster_history import PartitionState

#: For what logs do not have.
NOT_TOLD = "not told by logs"
_NOT_THERE = "-"
#: Partitions that part which are listed.
_MOST_PARTED = 5


def show_run_pair(out: Console, pair: RunPair) -> None:
    """Print the comparison of two runs."""
    names = ("first", "second")
    for name, side in zip(names, pair.sides, strict=True):
        out.print(f"{name:6}  {side.run.path}", soft_wrap=True, markup=False)
    out.print(_alignment(pair), soft_wrap=True, markup=False)
    out.print()
    _show_figures(out, pair.sides, names, pair_figures(pair))
    _show_incidents(out, pair_incidents(pair))
    _show_controllers(out, pair)
    _show_sequences(out, pair)


def pair_content(pair: RunPair) -> dict[str, Any]:
    """The comparison as JSON; what a run does not tell is null."""
    return {
        "format": "tidegauge-run-pair",
        "runs": [str(side.run.path) for side in pair.sides],
        "shift_us": pair.other.shift_us,
        "aligned_by_partitions": pair.aligned_by,
        "figures": [
            {"figure": figure.name, "unit": figure.unit, "values": [figure.one, figure.other]}
            for figure in pair_figures(pair)
        ],
        "incidents": [incident._asdict() for incident in pair_incidents(pair)],
        "controllers": [
            [
                {"time_us": term.time_us + side.shift_us, "controller": term.controller}
                for term in side.history.terms
            ]
            for side in pair.sides
        ],
        "partitions": {
            "compared": len(pair.same) + len(pair.parted),
            "same": len(pair.same),
            "same_leaders": len(pair.same_leaders),
            "only_in_first": pair.only_in_one,
            "only_in_second": pair.only_in_other,
            "different": [_parted_content(pair, parted) for parted in pair.parted],
        },
    }


def _alignment(pair: RunPair) -> str:
    shift = pair.other.shift_us
    way = "later" if shift >= 0 else "earlier"
    text = f"times are those of the first; the second is {short_time_text(abs(shift))} {way} there"
    if pair.aligned_by is None:
        return f"{text}, by --shift"
    if not pair.aligned_by:
        return f"{text}: they have no state in common, so both begin together"
    return f"{text}, by the first changes of {counted(pair.aligned_by, 'partition')}"


def _show_figures(
    out: Console, sides: Sequence[RunSide], names: Sequence[str], figures: Sequence[Figure]
) -> None:
    table = _new_table("figure", *names)
    for figure in figures:
        values = (
            _value(side, value, figure.unit)
            for side, value in zip(sides, (figure.one, figure.other), strict=True)
        )
        table.add_row(figure.label, *values)
    out.print(table)


def _show_incidents(out: Console, incidents: Sequence[Incident]) -> None:
    if not incidents:
        return
    out.print("\nBrokers that were gone", style="bold")
    for incident in incidents:
        table = _new_table(f"broker {incident.broker}", "first", "second")
        table.add_row("manner", *(each or _NOT_THERE for each in incident.manner))
        begins = []
        for begin_s, uncertainty_s in zip(incident.begin_s, incident.uncertainty_s, strict=True):
            bound = f" +-{uncertainty_s:.1f}" if uncertainty_s else ""
            begins.append(_NOT_THERE if begin_s is None else f"{begin_s:.3f}{bound} s")
        table.add_row("gone at", *begins)
        for label, values in (
            ("until the control plane noticed", incident.until_noticed_s),
            ("until the last new leader", incident.until_last_leader_s),
            ("until it was registered again", incident.away_s),
            ("... and from then until it was in all ISRs", incident.until_in_sync_s),
        ):
            table.add_row(label, *(_NOT_THERE if v is None else f"{v:.3f} s" for v in values))
        out.print(table)


def _show_controllers(out: Console, pair: RunPair) -> None:
    out.print("\nActive controllers", style="bold")
    for name, side in zip(("first", "second"), pair.sides, strict=True):
        terms = [
            f"{'none' if term.controller is None else term.controller} from "
            f"{short_time_text(max(0, term.time_us + side.shift_us))}"
            for term in side.history.terms
        ]
        out.print(f"  {name:6}  {', '.join(terms) or NOT_TOLD}", soft_wrap=True, markup=False)


def _show_sequences(out: Console, pair: RunPair) -> None:
    compared = len(pair.same) + len(pair.parted)
    out.print("\nSequences of leaders and ISRs", style="bold")
    out.print(
        f"  the same in {len(pair.same)} of {counted(compared, 'partition')}; the same leaders in "
        f"{len(pair.same_leaders)}",
        soft_wrap=True,
    )
    for which, only in (("first", pair.only_in_one), ("second", pair.only_in_other)):
        if only:
            out.print(f"  only in the {which}: {', '.join(only[:_MOST_PARTED])}", markup=False)
    for parted in pair.parted[:_MOST_PARTED]:
        out.print(f"  {parted.partition}: {counted(parted.same, 'state')} the same, then")
        states = (parted.one, parted.other)
        for name, side, state in zip(("first", "second"), pair.sides, states, strict=True):
            out.print(f"    {name:6}  {_state(side, state)}", soft_wrap=True, markup=False)
        for side in pair.sides:
            out.print(f"    {_command(side, parted)}", soft_wrap=True, markup=False)
    if len(pair.parted) > _MOST_PARTED:
        out.print(f"  ... and {len(pair.parted) - _MOST_PARTED} more: --json lists them")


def _command(side: RunSide, parted: PartedSequence) -> str:
    return f"tidegauge show partition {shlex.quote(str(side.run.path))} {parted.partition}"


def _state(side: RunSide, state: PartitionState | None) -> str:
    if state is None:
        return "no further state"
    leader = "none" if state.leader is None else state.leader
    isr = ",".join(map(str, state.isr))
    text = "deleted" if state.is_deleted else f"leader {leader}, ISR [{isr}]"
    return f"{short_time_text(max(0, state.time_us + side.shift_us))}  {text}"


def _parted_content(pair: RunPair, parted: PartedSequence) -> dict[str, Any]:
    states: list[dict[str, Any] | None] = []
    for side, state in zip(pair.sides, (parted.one, parted.other), strict=True):
        if state is None:
            states.append(None)
            continue
        time_us = state.time_us + side.shift_us
        states.append({"time_us": time_us, "leader": state.leader, "isr": [*state.isr]})
    return {
        "partition": parted.partition,
        "same_states": parted.same,
        "first_difference": states,
        "show": [_command(side, parted) for side in pair.sides],
    }


def _value(side: RunSide, value: float | None, unit: str) -> str:
    if value is None:
        return NOT_TOLD if side.history.is_from_logs else "none"
    text = f"{value:,.1f}" if unit and value != int(value) else f"{value:,.0f}"
    return f"{text} {unit}".strip()


def _new_table(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(first, min_width=44)
    for other in others:
        table.add_column(other, justify="right", min_width=18)
    return table
