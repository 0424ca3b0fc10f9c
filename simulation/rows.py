"""Rows of the trace: how they are written, numbered, caused and folded into the hash.

A *canonical* row is a state transition, a fault or a refusal. It takes the next number of
its process, is folded into the process's rolling hash whether it is recorded or not, and
becomes the cause of all that its process does until the end of the event. Other rows (one
per request, samples) carry the number of the last canonical row and a ``minor`` of their
own; they change nothing.

The kinds with their columns are classes in the room ``trace_rows``.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import blank, made_by, view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.random_streams import mix
from tidegauge.simulation.trace_rows.row import Row, RowSlot, SomeRow
from tidegauge.simulation.trace_rows.schema import COLUMN_COUNTS, IS_CANONICAL

#: Only canonical rows and samples are recorded.
TRACE_TRANSITIONS = code(1)
#: Every row is.
TRACE_ALL = code(2)

#: What the rolling hash of a process without rows is.
EMPTY_HASH = code(0)


@inner_rule
def _free_row(world: Kernel, process: int, kind: int) -> RowSlot:
    context = world.context[0]
    # Rows that do not fit are noticed when the table is drained (``engine/group.py``).
    row = world.rows[min(context.row_count, len(world.rows) - 1)]
    row.time_us = context.time_us
    row.process = process
    row.kind = kind
    row.cause_process = context.cause_process
    row.cause_sequence = context.cause_sequence
    row.because_process = NONE
    row.because_sequence = NONE
    return row


@made_by(_free_row)
def new_row(world: Kernel, process: int, row_class: type[SomeRow]) -> SomeRow:
    """A blank row of a class about ``process``; its columns are set before it is written."""
    return blank(_free_row(world, process, row_class.KIND), row_class)


@inner_rule
def write_row(world: Kernel, row: Row) -> None:
    """Record a row; a canonical one is numbered and hashed, and causes what follows."""
    context = world.context[0]
    process = world.processes[row.process]
    context.row_count += 1
    if not IS_CANONICAL[row.kind]:
        process.minor += 1
        row.sequence = process.rows - 1
        row.minor = process.minor
        return
    row.sequence = process.rows
    row.minor = 0
    process.rows += 1
    process.minor = 0
    process.hash = fold_row(process.hash, view_as(row, RowSlot))
    context.cause_process = row.process
    context.cause_sequence = row.sequence


@inner_rule
def caused_by(world: Kernel, process: int, sequence: int) -> None:
    """Let a row be the cause of all that is done from now on; -1: there is none, as before.

    One message, or one turn of a queue, can be about many things that have different causes.
    """
    if sequence != NONE:
        context = world.context[0]
        context.cause_process = process
        context.cause_sequence = sequence


@inner_rule
def traces_all(world: Kernel) -> bool:
    """Whether rows about single requests are recorded."""
    return world.context[0].trace_level == TRACE_ALL


@rule
def fold_row(state: int, row: RowSlot) -> int:
    """The rolling hash after a canonical row: every integer of it in the schema's order."""
    state = mix(state, row.kind)
    state = mix(state, row.time_us)
    state = mix(state, row.sequence)
    state = mix(state, row.cause_process)
    state = mix(state, row.cause_sequence)
    state = mix(state, row.because_process)
    state = mix(state, row.because_sequence)
    for index in range(COLUMN_COUNTS[row.kind]):
        state = mix(state, row.values[index])
    return state
