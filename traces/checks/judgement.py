"""Going through the rows of a run, in their total order: history first, then the checks.

Each row is counted (``traces/checks/figures.py``) and handed to the checks that it can break. Rows
``log_end`` of one replica that follow each other tell one log; it is looked at when the next
row shows that it is complete.
"""

from __future__ import annotations

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.codes.occasions import (
    REASON_DELETED,
    REASON_END,
    REASON_LEADER,
    REASON_LIVENESS,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.topology import FIXED_ZNODES
from tidegauge.simulation.trace_rows.broker_rows import CheckpointRead
from tidegauge.simulation.trace_rows.client_rows import ConsumerReset
from tidegauge.simulation.trace_rows.controller_rows import TopicDeletionBegun
from tidegauge.simulation.trace_rows.isr_rows import IsrExpanded
from tidegauge.simulation.trace_rows.replica_rows import (
    Acknowledged,
    BecameFollower,
    BecameLeader,
    DivergingHighWatermark,
    Exposed,
    LogEnd,
    LogLost,
    Truncated,
)
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.simulation.trace_rows.zookeeper_rows import ZnodeCreated, ZnodeDeleted, ZnodeSet
from tidegauge.traces.checks.acknowledged_records_lost import count_lost, remember_acknowledged
from tidegauge.traces.checks.breaches import take_place
from tidegauge.traces.checks.committed_agree import check_committed
from tidegauge.traces.checks.consumer_went_backwards import check_reset
from tidegauge.traces.checks.exposed_durable import check_new_leader
from tidegauge.traces.checks.exposed_unique import raise_exposed
from tidegauge.traces.checks.figures import (
    Figures,
    count_row,
    count_to_end,
    create_again,
    leave_account,
    move_registration,
    open_account,
)
from tidegauge.traces.checks.histories import Histories, PartitionHistory, ReportedLog, RowPlace
from tidegauge.traces.checks.lineage import (
    add_run,
    copy_log,
    move_behind_all,
    run_reserve,
    term_led_by,
)
from tidegauge.traces.checks.log_matching import check_log_matches
from tidegauge.traces.checks.misled_replicas import (
    cut_of_misled,
    forget_misled,
    mislead,
)
from tidegauge.traces.checks.one_leader_per_epoch import check_only_leader
from tidegauge.traces.checks.strong_isr import (
    check_end_of_member,
    check_end_of_new_member,
    check_log_of_member,
)


@rule
def judge(history: Histories, figures: Figures, rows: Records[RowSlot], first: int) -> int:
    """Go through rows that come next in the total order, from one on; how far it has come.

    It ends early where tables have to be enlarged.
    """
    for index in range(first, len(rows)):
        if _needs_room(history, figures):
            return index
        row = rows[index]
        if row.kind == LogEnd.KIND:
            _take_run(history, row)
            continue
        if history.snapshot[0].open:
            _close_snapshot(history, row)
        count_row(history, figures, row)
        _take_row(history, figures, row)
    return len(rows)


@inner_rule
def _needs_room(history: Histories, figures: Figures) -> bool:
    facts = history.facts[0]
    return (
        len(history.runs) - facts.runs < run_reserve(history)
        or len(history.terms) == facts.terms
        or len(history.acknowledged) == facts.acknowledged
        or len(figures.queued) == figures.count[0].controller_events
    )


@rule
def judge_end(history: Histories, figures: Figures) -> None:
    """There are no more rows."""
    if history.snapshot[0].open:
        _take_log(history, history.snapshot[0])
    for partition in range(len(history.partitions)):
        count_lost(history, partition)
    count_to_end(figures)


@inner_rule
def _take_row(history: Histories, figures: Figures, row: RowSlot) -> None:
    kind = row.kind
    if kind in (ZnodeCreated.KIND, ZnodeSet.KIND, ZnodeDeleted.KIND):
        _take_znode(history, figures, row)
    elif kind == TopicDeletionBegun.KIND:
        _forget_topic(history, row.values[0])
    elif kind == BecameLeader.KIND:
        _begin_term(history, row)
    elif kind == Acknowledged.KIND:
        values = row.values
        remember_acknowledged(history, values[0], values[1], values[2], values[3], values[4])
    elif kind == Exposed.KIND:
        number = term_led_by(history, row.values[0], row.values[1], row.process)
        if number != NONE:
            raise_exposed(history, number, row.values[2], _place_of(history, row))
    else:
        _take_end(history, row)


@inner_rule
def _take_end(history: Histories, row: RowSlot) -> None:
    """Where a replica's log ends now, or where a consumer is sent to."""
    kind = row.kind
    if kind == DivergingHighWatermark.KIND:
        mislead(history, row.values[3], row.values[4], _place_of(history, row))
    elif kind == Truncated.KIND:
        cut_of_misled(history, row.values[1], _place_of(history, row))
        check_end_of_member(history, row.values[1], _place_of(history, row))
    elif kind == LogLost.KIND:
        history.partitions[row.values[0]].lost_power = True
        check_end_of_member(history, row.values[1], _place_of(history, row))
    elif kind == BecameFollower.KIND:
        check_end_of_member(history, row.values[4], _place_of(history, row))
    elif kind == CheckpointRead.KIND:
        check_end_of_member(history, row.values[3], _place_of(history, row))
    elif kind == IsrExpanded.KIND:
        check_end_of_new_member(history, row.values[6], _place_of(history, row))
    elif kind == ConsumerReset.KIND:
        check_reset(history, row.values[1], row.values[2], _place_of(history, row))


@inner_rule
def _place_of(history: Histories, row: RowSlot) -> RowPlace:
    """The place of a row whose first column is its partition."""
    place = history.place[0]
    take_place(place, row, row.values[0])
    return place


@inner_rule
def _take_znode(history: Histories, figures: Figures, row: RowSlot) -> None:
    """A broker registers or is gone, or the state of a partition is another one."""
    facts = history.facts[0]
    znode = row.values[0]
    exists = row.kind != ZnodeDeleted.KIND
    broker = znode - FIXED_ZNODES
    if 0 <= broker < facts.brokers:
        move_registration(history, figures, broker, exists)
        return
    partition = znode - facts.first_state_znode
    if not 0 <= partition < facts.partitions:
        return
    known = history.partitions[partition]
    leave_account(history, figures, partition)
    if row.kind == ZnodeCreated.KIND and known.deleted:
        _begin_anew(known)
        create_again(figures, partition)
        _forget_replicas(history, partition)
    if exists:
        _take_state(history, known, partition, row)
    known.exists = exists
    open_account(history, figures, partition)


@inner_rule
def _take_state(history: Histories, known: PartitionHistory, partition: int, row: RowSlot) -> None:
    slot = row.values[2]
    leader = NONE
    if slot >= 0:
        leader = history.slots[history.places[partition].first_slot + slot].broker
        is_elected = known.exists and leader != known.leader and row.values[3] > known.leader_epoch
        known.unclean = known.unclean or (is_elected and not contains(known.isr, slot))
    known.leader = leader
    known.leader_epoch = row.values[3]
    known.isr = row.values[5]


@inner_rule
def _begin_anew(known: PartitionHistory) -> None:
    """A topic is created once more under its name: its partitions are other ones."""
    known.deleted = False
    known.unclean = False
    known.lost_power = False
    known.last_term = NONE
    known.newest_term = NONE
    known.exposed_term = NONE
    known.exposed_end = 0
    known.committed.count = 0
    known.committed.end_offset = 0
    known.first_acknowledged = NONE
    known.last_acknowledged = NONE


@inner_rule
def _forget_replicas(history: Histories, partition: int) -> None:
    place = history.places[partition]
    for slot in range(place.slot_count):
        replica = history.slots[place.first_slot + slot]
        replica.misled_from = 0
        replica.misled_to = 0


@inner_rule
def _forget_topic(history: Histories, topic: int) -> None:
    for partition in range(len(history.partitions)):
        if history.places[partition].topic == topic:
            history.partitions[partition].deleted = True


@inner_rule
def _take_run(history: Histories, row: RowSlot) -> None:
    """One more run of the log that is being told, or the first of another one."""
    told = history.snapshot[0]
    goes_on = (
        told.open
        and told.row.process == row.process
        and told.row.partition == row.values[0]
        and told.row.time_us == row.time_us
        and told.reason == row.values[4]
        and told.log.end_offset == row.values[2]
    )
    if told.open and not goes_on:
        _take_log(history, told)
    if not goes_on:
        told.log.first = history.facts[0].runs
        told.log.count = 0
        told.reason = row.values[4]
        told.high_watermark = row.values[5]
        told.open = True
        take_place(told.row, row, row.values[0])
    add_run(history, told.log, row.values[1], row.values[2])
    told.log.end_offset = row.values[3]


@inner_rule
def _close_snapshot(history: Histories, row: RowSlot) -> None:
    """A row follows that is none of the log's: the log is complete."""
    told = history.snapshot[0]
    is_kept = (
        told.reason == REASON_LEADER
        and row.kind == BecameLeader.KIND
        and row.process == told.row.process
        and row.values[0] == told.row.partition
    )
    _take_log(history, told)
    # The term that begins with this row takes it over.
    told.open = is_kept


@inner_rule
def _take_log(history: Histories, told: ReportedLog) -> None:
    """The log of a replica at one time: it is compared with all that is known."""
    partition = told.row.partition
    if told.reason != REASON_DELETED:
        committed = min(told.high_watermark, told.log.end_offset)
        check_log_matches(history, told.log, told.row)
        check_committed(history, told.log, committed, told.row)
        check_log_of_member(history, partition, told.log, told.row)
    known = history.partitions[partition]
    is_last = told.reason == REASON_END or told.reason == REASON_LIVENESS
    if is_last and told.row.process == known.leader:
        copy_log(known.last, told.log)
    elif told.reason != REASON_LEADER:
        facts = history.facts[0]
        if facts.runs == told.log.first + told.log.count:
            # Nobody needs them any more.
            facts.runs = told.log.first


@inner_rule
def _begin_term(history: Histories, row: RowSlot) -> None:
    """A broker leads, on the log that it has just told; without one the log is empty."""
    facts = history.facts[0]
    partition = row.values[0]
    known = history.partitions[partition]
    number = facts.terms
    facts.terms += 1
    term = history.terms[number]
    take_place(term.began, row, partition)
    told = history.snapshot[0]
    if told.open:
        copy_log(term.log, told.log)
        move_behind_all(history, term.log)
        told.open = False
    else:
        term.log.first = facts.runs
        term.log.count = 0
        term.log.end_offset = 0
        check_log_of_member(history, partition, term.log, term.began)
    term.epoch = row.values[1]
    term.exposed = 0
    term.previous = known.last_term
    known.last_term = number
    check_new_leader(history, number)
    forget_misled(history, term.began)
    add_run(history, term.log, term.epoch, term.log.end_offset)
    if known.newest_term == NONE or history.terms[known.newest_term].epoch <= term.epoch:
        known.newest_term = number
    check_only_leader(history, number)
    raise_exposed(history, number, row.values[5], term.began)
