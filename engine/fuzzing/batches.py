"""Batches of runs: each restored, given a schedule, run, and judged, in one call."""

from tidegauge.actors.idle_fetches.pairs import settle_idle
from tidegauge.compiled.records import Record, Records, flag, i64, view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.engine.doors import World
from tidegauge.engine.event_loop import BUDGET, HORIZON, close_process, needs_room, run_until
from tidegauge.engine.exchange.atomic_words import cycle_count
from tidegauge.engine.exchange.state import Exchange
from tidegauge.engine.fuzzing.coverage import state_of_partition, state_of_quorum
from tidegauge.engine.fuzzing.drawing import Drawn, draw_schedule
from tidegauge.engine.fuzzing.kept_states import KeptStates, restore_state
from tidegauge.engine.fuzzing.schedules import PRESENT, copy_schedule, enter_schedule, faults_of
from tidegauge.engine.group_states import (
    ObservedController,
    ObservedPartition,
    ObservedReplica,
    look_at_committed,
    look_at_controllers,
    look_at_partitions,
    look_at_replicas,
)
from tidegauge.engine.liveness import UnrecoveredPart, find_problems
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.topology import is_kraft
from tidegauge.simulation.trace_rows.codes import REASON_END
from tidegauge.simulation.trace_rows.controller_rows import QuorumVoters
from tidegauge.simulation.trace_rows.replica_rows import Truncated
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.traces.checks.breaches import IS_JUDGED, comes_before
from tidegauge.traces.checks.figures import Figures
from tidegauge.traces.checks.histories import NOTHING_PERMITS, Histories
from tidegauge.traces.judging.judgement import judge, judge_end
from tidegauge.traces.quorum_checks.voter_sets import what_stops_quorum

#: The kept state in which runs begin.
BEGINNING = code(0)
#: ``Found.check``: after all faults have ended some replica has not recovered.
NOT_RECOVERED = code(-2)
#: Events of one run; one with more has gone wrong.
_MOST_EVENTS = code(1_000_000)


class Batch(Record):
    """What a call is to do, and what it has done: one record."""

    #: The number of the next run, and of the last one of the campaign and one more.
    next_run: i64
    end_run: i64
    #: The time at which runs end.
    end_us: i64
    #: Runs since the campaign's beginning: in all; that had what the gates require; that ran out
    #: of room.
    runs: i64
    counted: i64
    overflows: i64
    #: A run counts with at least so many records acknowledged, leaders elected, logs truncated,
    #: sets of voters committed.
    least_acknowledged: i64
    least_elections: i64
    least_truncations: i64
    least_voter_changes: i64
    #: Records that were acknowledged, and leaders elected, before the runs begin.
    acknowledged_before: i64
    elections_before: i64
    #: Findings so far.
    findings: i64
    #: The number of steps that the scenario has before those of schedules.
    first_step: i64
    #: A cluster that has not recovered at the end is a finding.
    has_to_recover: flag
    #: Only the present schedule is run, and it is not drawn.
    is_given: flag
    #: Runs in which a loss of acknowledged records is permitted, by a setting or the release.
    lossy: i64
    #: The processor's ticks in parts of runs: restoring tables, drawing schedules, handling events
    #: with looks at states, judging.
    restoring_ticks: i64
    drawing_ticks: i64
    handling_ticks: i64
    judging_ticks: i64
    #: Events handled, rows judged, abstract states seen for the first time.
    events: i64
    rows: i64
    states: i64


class Found(Record):
    """A finding: the first promise that a run broke."""

    run: i64
    #: The number of a check; NOT_RECOVERED: none broke, but the cluster has not recovered.
    check: i64


class PartitionSeen(Record):
    """The abstract state in which a partition or a quorum was seen last, in the present run."""

    state: i64


class Reached(Record):
    """How often all runs have reached something."""

    times: i64


class Fuzzing(Drawn, part=2):
    """A campaign: schedules, their runs, and what came of them."""

    batch: Records[Batch]
    found: Records[Found]
    partition_states: Records[PartitionSeen]
    #: One if the voters of the quorum change, else none.
    quorum_states: Records[PartitionSeen]
    #: Rows of the present run that are judged, in the total order.
    judged: Records[RowSlot]
    #: The cluster at the end of the present run, and the first problem of it.
    replicas: Records[ObservedReplica]
    observed: Records[ObservedPartition]
    controllers_seen: Records[ObservedController]
    problems: Records[UnrecoveredPart]
    #: By kind: rows that were written, messages and timers that were handled; by choice: faults
    #: that were drawn.
    rows_written: Records[Reached]
    kinds_handled: Records[Reached]
    faults_drawn: Records[Reached]
    #: By check: runs that broke it, first or later. The schedule of the first one is at
    #: ``first_broken`` of ``schedules`` and behind.
    broken: Records[Reached]
    #: By the number of a reason in ``PERMITS``: runs with a break that it permits. The schedule of
    #: the first one is at ``first_permitted`` of ``schedules`` and behind.
    permitted: Records[Reached]


@rule
def run_batch(
    world: World,
    exchange: Exchange,
    history: Histories,
    figures: Figures,
    kept: KeptStates,
    fuzzing: Fuzzing,
    most: int,
) -> int:
    """Run the next schedules, at most so many; the number that was run.

    It ends early where there is no place for another finding.
    """
    batch = fuzzing.batch[0]
    done = 0
    while done < most and batch.next_run < batch.end_run and batch.findings < len(fuzzing.found):
        begun = cycle_count()
        restore_state(kept, BEGINNING)
        restored = cycle_count()
        if not batch.is_given:
            draw_schedule(fuzzing, batch.next_run)
        batch.restoring_ticks += restored - begun
        batch.drawing_ticks += cycle_count() - restored
        enter_schedule(world, history, fuzzing, PRESENT, batch.first_step)
        _run(world, exchange, history, figures, fuzzing)
        batch.next_run += 1
        done += 1
    return done


@inner_rule
def _run(
    world: World, exchange: Exchange, history: Histories, figures: Figures, fuzzing: Fuzzing
) -> None:
    """Run the schedule that was entered, and judge it."""
    batch, schedule = fuzzing.batch[0], fuzzing.schedules[PRESENT]
    batch.runs += 1
    schedule.reached_us = NONE
    begun = cycle_count()
    is_handled = _handle_all(world, exchange, fuzzing)
    handled = cycle_count()
    batch.handling_ticks += handled - begun
    if not is_handled:
        batch.overflows += 1
        return
    is_well = not batch.has_to_recover or _has_recovered(world, fuzzing)
    if not _close(world, batch.end_us):
        batch.overflows += 1
        return
    count = _order_rows(world, fuzzing)
    batch.events += world.context[0].handled
    batch.rows += count
    if judge(history, figures, fuzzing.judged[:count], 0) < count:
        batch.overflows += 1
        return
    judge_end(history, figures)
    batch.judging_ticks += cycle_count() - handled
    _count_reached(world, fuzzing)
    _count_run(history, figures, fuzzing, count)
    _note_finding(history, fuzzing, is_well)
    _note_permitted(history, fuzzing)
    if schedule.reached_us != NONE and fuzzing.drawing[0].is_guided:
        _keep_schedule(fuzzing)


@inner_rule
def _handle_all(world: World, exchange: Exchange, fuzzing: Fuzzing) -> bool:
    """Handle all events up to the end, and look at the states; whether there was room."""
    context = world.context[0]
    context.horizon_us = fuzzing.batch[0].end_us
    for partition in range(len(fuzzing.partition_states)):
        fuzzing.partition_states[partition].state = NONE
    for quorum in range(len(fuzzing.quorum_states)):
        fuzzing.quorum_states[quorum].state = NONE
    written = context.row_count
    for _ in range(_MOST_EVENTS):
        why = run_until(world, exchange, 1)
        if why == HORIZON:
            return True
        if why != BUDGET:
            return False
        if context.row_count > written:
            written = context.row_count
            _look(world, fuzzing)
    return False


@inner_rule
def _look(world: World, fuzzing: Fuzzing) -> None:
    """Note the abstract states of all partitions that have changed, and that of the quorum."""
    for partition in range(len(fuzzing.partition_states)):
        state = state_of_partition(world, partition)
        _note_state(world, fuzzing, fuzzing.partition_states[partition], state)
    for quorum in range(len(fuzzing.quorum_states)):
        _note_state(world, fuzzing, fuzzing.quorum_states[quorum], state_of_quorum(world))


@inner_rule
def _note_state(world: World, fuzzing: Fuzzing, seen: PartitionSeen, state: int) -> None:
    """Note a state if it is another one than before."""
    if state == seen.state:
        return
    seen.state = state
    fuzzing.seen[state].count += 1
    if fuzzing.seen[state].count == 1:
        fuzzing.batch[0].states += 1
        schedule = fuzzing.schedules[PRESENT]
        schedule.reached_us = world.context[0].time_us
        schedule.state = state


@inner_rule
def _has_recovered(world: World, fuzzing: Fuzzing) -> bool:
    """Whether each ISR is full and all logs are equal, as the liveness phase looks at them."""
    look_at_replicas(world, fuzzing.replicas)
    if is_kraft(world):
        look_at_committed(world, fuzzing.observed)
        look_at_controllers(world, fuzzing.controllers_seen)
    else:
        look_at_partitions(world, fuzzing.observed)
    found = find_problems(
        world, fuzzing.replicas, fuzzing.observed, fuzzing.controllers_seen, fuzzing.problems
    )
    return found == 0


@inner_rule
def _close(world: World, end_us: int) -> bool:
    """Write the rows that belong to the end of a run; whether there was room."""
    settle_idle(world, end_us)
    for process in range(world.context[0].process_count):
        if needs_room(world):
            return False
        close_process(world, process, end_us, REASON_END)
    return True


@inner_rule
def _order_rows(world: World, fuzzing: Fuzzing) -> int:
    """Bring the rows that are judged into the total order; their number.

    Those of one process are in order already, and nearly all others, too.
    """
    count = 0
    for index in range(world.context[0].row_count):
        row = world.rows[index]
        fuzzing.rows_written[row.kind].times += 1
        if not IS_JUDGED[row.kind]:
            continue
        place = count
        while place > 0 and _is_later(fuzzing.judged[place - 1], row):
            fuzzing.judged[place] = fuzzing.judged[place - 1]
            place -= 1
        fuzzing.judged[place] = row
        count += 1
    return count


@inner_rule
def _is_later(one: RowSlot, other: RowSlot) -> bool:
    if one.time_us != other.time_us:
        return one.time_us > other.time_us
    return one.process > other.process


@inner_rule
def _count_reached(world: World, fuzzing: Fuzzing) -> None:
    """Count what the run has reached."""
    for kind in range(len(fuzzing.kinds_handled)):
        fuzzing.kinds_handled[kind].times += world.kind_counts[kind].handled
    planned = faults_of(fuzzing, PRESENT)
    for place in range(fuzzing.schedules[PRESENT].faults):
        fuzzing.faults_drawn[planned[place].choice].times += 1


@inner_rule
def _count_run(history: Histories, figures: Figures, fuzzing: Fuzzing, rows: int) -> None:
    """Count the run if it tested something; it has so many rows that are judged."""
    batch = fuzzing.batch[0]
    acknowledged = 0
    for number in range(history.facts[0].acknowledged):
        promised = history.acknowledged[number]
        acknowledged += promised.end_offset - promised.first_offset
    truncations = 0
    voter_changes = 0
    for place in range(rows):
        row = fuzzing.judged[place]
        truncations += row.kind == Truncated.KIND
        if row.kind == QuorumVoters.KIND:
            voter_changes += view_as(row, QuorumVoters).voters_committed
    elections = figures.count[0].leader_elections
    batch.counted += (
        acknowledged - batch.acknowledged_before >= batch.least_acknowledged
        and elections - batch.elections_before >= batch.least_elections
        and truncations >= batch.least_truncations
        and voter_changes >= batch.least_voter_changes
    )


@inner_rule
def _note_finding(history: Histories, fuzzing: Fuzzing, is_well: bool) -> None:
    """Note the first promise that was broken, if one was, and the schedule that did it."""
    batch = fuzzing.batch[0]
    first = NONE
    for check in range(len(history.findings)):
        finding = history.findings[check]
        if finding.broken > 0:
            if fuzzing.broken[check].times == 0:
                copy_schedule(fuzzing, PRESENT, first_broken(fuzzing) + check)
            fuzzing.broken[check].times += 1
        if finding.broken > 0 and (
            first == NONE or comes_before(finding.first, history.findings[first].first)
        ):
            first = check
    if first == NONE and (is_well or what_stops_quorum(history) != NOTHING_PERMITS):
        return
    found = fuzzing.found[batch.findings]
    found.run = fuzzing.schedules[PRESENT].run
    found.check = NOT_RECOVERED
    if first != NONE:
        found.check = first
    place = first_found(fuzzing) + batch.findings
    copy_schedule(fuzzing, PRESENT, place)
    batch.findings += 1


@rule
def first_permitted(fuzzing: Fuzzing) -> int:
    """The place of the first schedule with a break that is permitted: behind all others."""
    return len(fuzzing.schedules) - len(fuzzing.permitted)


@rule
def first_broken(fuzzing: Fuzzing) -> int:
    """The place of the first schedule that broke a check: they are in the order of the checks."""
    return first_permitted(fuzzing) - len(fuzzing.broken)


@rule
def first_found(fuzzing: Fuzzing) -> int:
    """The place of the schedule of the first finding."""
    return first_broken(fuzzing) - len(fuzzing.found)


@inner_rule
def _note_permitted(history: Histories, fuzzing: Fuzzing) -> None:
    """Count the run for each reason that permits one of its breaks."""
    fuzzing.batch[0].lossy += history.facts[0].records_lost_permitted > 0
    for reason in range(len(fuzzing.permitted)):
        is_reason = False
        for check in range(len(history.findings)):
            finding = history.findings[check]
            is_reason = is_reason or (finding.permitted > 0 and finding.permitted_by == reason)
        if is_reason:
            if fuzzing.permitted[reason].times == 0:
                copy_schedule(fuzzing, PRESENT, first_permitted(fuzzing) + reason)
            fuzzing.permitted[reason].times += 1


@inner_rule
def _keep_schedule(fuzzing: Fuzzing) -> None:
    """Keep a schedule that has reached a new state, in place of the oldest one."""
    drawing, present = fuzzing.drawing[0], fuzzing.schedules[PRESENT]
    room = first_found(fuzzing) - 1
    place = 1 + drawing.next_kept
    copy_schedule(fuzzing, PRESENT, place)
    kept = fuzzing.schedules[place]
    kept.reached_us = present.reached_us
    kept.state = present.state
    kept.chosen = 0
    drawing.next_kept = (drawing.next_kept + 1) % room
    drawing.kept = min(drawing.kept + 1, room)
