"""Rows of the trace: how they are written, numbered, caused and folded into the hash.

A *canonical* row is a state transition, a fault or a refusal. It takes the next number of
its process, is folded into the process's rolling hash whether it is recorded or not, and
becomes the cause of all that its process does until the end of the event. Other rows (one
per request, samples) carry the number of the last canonical row and a ``minor`` of their
own; they change nothing.

The kinds with their columns are classes in the room ``trace_rows``.

The cost model: times of work, drawn from the scenario's quantile tables.

The tables follow those of the network in ``Kernel.quantiles``, in the order below.
"""

from tidegauge.compiled.filled_records import filled, made_by
from tidegauge.compiled.records import Record, view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import NETWORK_TABLES
from tidegauge.simulation.random_streams import COST, QUANTILES, draw, mix, quantile_us
from tidegauge.simulation.trace_rows.row import NEW, WRITE, Row, RowSlot, SomeRow
from tidegauge.simulation.trace_rows.schema import COLUMN_COUNTS, IS_CANONICAL

#: Only canonical rows and samples are recorded.
TRACE_TRANSITIONS = code(1)
#: Every row is.
TRACE_ALL = code(2)

#: The rolling hash of a process without rows.
EMPTY_HASH = code(0)


@inner_rule
def _free_row(world: Kernel, kind: int) -> RowSlot:
    context = world.context[0]
    # Rows that do not fit are noticed when the table is drained (``engine/group.py``).
    row = world.rows[min(context.row_count, len(world.rows) - 1)]
    row.time_us = context.time_us
    row.process = context.handling
    row.kind = kind
    row.cause_process = context.cause_process
    row.cause_sequence = context.cause_sequence
    row.because_process = NONE
    row.because_sequence = NONE
    return row


@made_by(_free_row, complete=True, method=NEW)
def new_row(kind: type[SomeRow], world: Kernel, *sources: Record, **columns: int) -> SomeRow:
    """A row of a class about the process that handles the event, to be recorded before the next.

    Each column has a keyword, or is a field of a source.
    """
    return filled(_free_row(world, kind.KIND), kind, sources, columns, complete=True)


@inner_rule
def record_row(world: Kernel, row: Row) -> None:
    """Record a row; a canonical one is numbered and hashed, and is the cause of later ones."""
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
    if context.idle_pairs > 0:
        _mark(world, row.process)
    process.rows += 1
    process.minor = 0
    process.hash = fold_row(process.hash, view_as(row, RowSlot))
    context.cause_process = row.process
    context.cause_sequence = row.sequence


@inner_rule
def _mark(world: Kernel, process: int) -> None:
    """Note how many rows a process had before the present event."""
    context = world.context[0]
    state = world.processes[process]
    if state.last_mark != NONE:
        last = world.row_marks[state.last_mark]
        if last.time_us == context.time_us and (
            last.source == context.event_source and last.sequence == context.event_sequence
        ):
            return
    mark = world.row_marks[context.row_marks]
    mark.process = process
    mark.time_us = context.time_us
    mark.source = context.event_source
    mark.sequence = context.event_sequence
    mark.rows = state.rows
    mark.previous = state.last_mark
    state.last_mark = context.row_marks
    context.row_marks += 1


@made_by(_free_row, then=record_row, complete=True, method=WRITE)
def write_row(kind: type[SomeRow], world: Kernel, *sources: Record, **columns: int) -> SomeRow:
    """Record a row of a class, with columns as :func:`new_row` has them."""
    row = new_row(kind, world, *sources, **columns)
    record_row(world, row)
    return row


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


#: Fields of ``costs`` in a scenario, in the order of their tables.
COST_NAMES = (
    *("request", "request_partition", "append", "become_leader", "become_follower"),
    *("zookeeper_read", "zookeeper_write", "zookeeper_pipelined_write"),
    *("controller_event", "controller_partition"),
    *("broker_start", "log_load", "log_recovery", "log_recovery_mebibyte", "broker_stop"),
    *("controller_failover_partition", "broker_ready", "controller_election"),
    *("offsets_load", "offsets_load_mebibyte", "broker_stop_interrupting"),
    *("metadata_record", "metadata_append", "metadata_fsync"),
    *("metadata_publication", "metadata_publication_partition", "metadata_first_publication"),
    *("broker_registration", "broker_stop_request", "metadata_snapshot_mebibyte"),
    "metadata_vote",
)
REQUEST = code(int(NETWORK_TABLES) + 0)
REQUEST_PARTITION = code(int(NETWORK_TABLES) + 1)
APPEND = code(int(NETWORK_TABLES) + 2)
BECOME_LEADER = code(int(NETWORK_TABLES) + 3)
BECOME_FOLLOWER = code(int(NETWORK_TABLES) + 4)
ZOOKEEPER_READ = code(int(NETWORK_TABLES) + 5)
ZOOKEEPER_WRITE = code(int(NETWORK_TABLES) + 6)
ZOOKEEPER_PIPELINED_WRITE = code(int(NETWORK_TABLES) + 7)
CONTROLLER_EVENT_COST = code(int(NETWORK_TABLES) + 8)
CONTROLLER_PARTITION_COST = code(int(NETWORK_TABLES) + 9)
BROKER_START_COST = code(int(NETWORK_TABLES) + 10)
LOG_LOAD = code(int(NETWORK_TABLES) + 11)
LOG_RECOVERY = code(int(NETWORK_TABLES) + 12)
LOG_RECOVERY_MEBIBYTE = code(int(NETWORK_TABLES) + 13)
BROKER_STOP = code(int(NETWORK_TABLES) + 14)
CONTROLLER_FAILOVER_PARTITION = code(int(NETWORK_TABLES) + 15)
BROKER_READY = code(int(NETWORK_TABLES) + 16)
CONTROLLER_ELECTION = code(int(NETWORK_TABLES) + 17)
OFFSETS_LOAD = code(int(NETWORK_TABLES) + 18)
OFFSETS_LOAD_MEBIBYTE = code(int(NETWORK_TABLES) + 19)
BROKER_STOP_INTERRUPTING = code(int(NETWORK_TABLES) + 20)
METADATA_RECORD = code(int(NETWORK_TABLES) + 21)
METADATA_APPEND = code(int(NETWORK_TABLES) + 22)
METADATA_FSYNC = code(int(NETWORK_TABLES) + 23)
METADATA_PUBLICATION = code(int(NETWORK_TABLES) + 24)
METADATA_PUBLICATION_PARTITION = code(int(NETWORK_TABLES) + 25)
METADATA_FIRST_PUBLICATION = code(int(NETWORK_TABLES) + 26)
BROKER_REGISTRATION = code(int(NETWORK_TABLES) + 27)
BROKER_STOP_REQUEST = code(int(NETWORK_TABLES) + 28)
METADATA_SNAPSHOT_MEBIBYTE = code(int(NETWORK_TABLES) + 29)
METADATA_VOTE = code(int(NETWORK_TABLES) + 30)


@inner_rule
def cost_us(world: Kernel, process: int, table: int) -> int:
    """The duration of a piece of work that a process does now."""
    first = table * QUANTILES
    value_us = world.quantiles[first].value_us
    if world.quantiles[first + QUANTILES - 1].value_us != value_us:
        state = world.processes[process]
        uniform = draw(world.context[0].seed, COST, process, state.draws)
        state.draws += 1
        value_us = quantile_us(world.quantiles, first, uniform)
    use = world.quantile_uses[table]
    use.times += 1
    use.total_us += value_us
    return value_us
