"""Going through the rows of a run, in their total order: history first, then the checks.

Each row is counted (``traces/checks/figures.py``) and handed to the checks that it can break. Rows
``log_end`` of one replica that follow each other are one log; it is checked when the next row shows
that it is complete.
"""

from tidegauge.compiled.records import Records, view_as
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.replication.replica_list import EMPTY, contains
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows import codes, replica_rows
from tidegauge.simulation.trace_rows.client_rows import ConsumerReset
from tidegauge.simulation.trace_rows.controller_rows import (
    BrokerState,
    PartitionReplicas,
    PartitionState,
    TopicDeletionBegun,
)
from tidegauge.simulation.trace_rows.process_rows import CheckpointRead
from tidegauge.simulation.trace_rows.row import PartitionRow, Row, RowSlot
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.checks import histories, lineage
from tidegauge.traces.checks.acknowledged_records_lost import count_lost, remember_acknowledged
from tidegauge.traces.checks.breaches import slot_of, take_place
from tidegauge.traces.checks.committed_agree import check_committed, cut_of_misled
from tidegauge.traces.checks.consumer_went_backwards import check_reset, check_told_end
from tidegauge.traces.checks.elr_below_min_isr import check_elr_below_min_isr
from tidegauge.traces.checks.elr_outside_isr import check_elr_outside_isr
from tidegauge.traces.checks.exposed_durable import check_new_leader
from tidegauge.traces.checks.exposed_unique import raise_exposed
from tidegauge.traces.checks.fenced_outside_isr import (
    check_isr_without_fenced,
    check_isrs_after_fencing,
)
from tidegauge.traces.checks.figures import (
    Figures,
    count_row,
    count_to_end,
    create_again,
    leave_account,
    move_registration,
    open_account,
)
from tidegauge.traces.checks.last_known_leader_alone import check_last_known_leader
from tidegauge.traces.checks.log_matching import check_log_matches
from tidegauge.traces.checks.misled_replicas import forget_misled, mislead
from tidegauge.traces.checks.one_leader_per_epoch import check_only_leader
from tidegauge.traces.checks.partition_epoch_grows import check_partition_epoch
from tidegauge.traces.checks.strong_isr import (
    check_end_of_member,
    check_end_of_new_member,
    check_log_of_member,
)
from tidegauge.traces.judging.quorum_rows import take_quorum_row
from tidegauge.traces.quorum_checks.brokers_behind_metadata import check_epoch_committed
from tidegauge.traces.quorum_checks.metadata_logs import needs_quorum_room

#: Rows that a broker writes about its replica of a partition.
_OF_REPLICA = (
    *(
        replica_rows.BecameLeader,
        replica_rows.BecameFollower,
        replica_rows.Acknowledged,
        replica_rows.Exposed,
        replica_rows.IsrExpanded,
    ),
    *(
        replica_rows.Truncated,
        replica_rows.LogLost,
        replica_rows.LogStartRaised,
        replica_rows.LogDeleted,
        CheckpointRead,
        replica_rows.DivergingHighWatermark,
        replica_rows.IsrExpansionForgotten,
    ),
)
IS_OF_REPLICA = tuple(
    kind in {each.KIND for each in _OF_REPLICA} for kind in range(max(ROW_KINDS) + 1)
)


@rule
def judge(
    history: histories.Histories, figures: Figures, rows: Records[RowSlot], first: int
) -> int:
    """Go through rows that come next in the total order, from one on; the place reached.

    It ends early where tables have to be enlarged.
    """
    for index in range(first, len(rows)):
        if _needs_room(history, figures):
            return index
        row = rows[index]
        if row.kind == replica_rows.LogEnd.KIND:
            _take_run(history, view_as(row, replica_rows.LogEnd))
            continue
        if history.snapshot[0].open:
            _close_snapshot(history, row)
        if history.facts[0].has_quorum:
            _close_record(history, figures, row)
            take_quorum_row(history, row)
        count_row(history, figures, row)
        _take_row(history, figures, row)
    return len(rows)


@inner_rule
def _needs_room(history: histories.Histories, figures: Figures) -> bool:
    facts = history.facts[0]
    return (
        len(history.runs) - facts.runs < lineage.run_reserve(history)
        or len(history.terms) == facts.terms
        or len(history.acknowledged) == facts.acknowledged
        or len(figures.queued) == figures.count[0].controller_events
        or needs_quorum_room(history)
    )


@rule
def judge_end(history: histories.Histories, figures: Figures) -> None:
    """There are no more rows."""
    if history.snapshot[0].open:
        _take_log(history, history.snapshot[0])
    _judge_record(history, figures)
    if history.facts[0].fenced_us != NONE:
        check_isrs_after_fencing(history)
    for partition in range(len(history.partitions)):
        count_lost(history, partition)
    count_to_end(figures)


@inner_rule
def _take_row(history: histories.Histories, figures: Figures, row: Row) -> None:
    kind = row.kind
    if kind == PartitionState.KIND:
        _take_partition(history, figures, view_as(row, PartitionState))
    elif kind == PartitionReplicas.KIND:
        _take_replicas(history, view_as(row, PartitionReplicas))
    elif kind == BrokerState.KIND:
        _take_broker(history, figures, view_as(row, BrokerState))
    elif kind == TopicDeletionBegun.KIND:
        _forget_topic(history, view_as(row, TopicDeletionBegun).topic)
    elif _is_of_former_topic(history, row):
        history.snapshot[0].open = False
    elif kind == replica_rows.BecameLeader.KIND:
        _begin_term(history, view_as(row, replica_rows.BecameLeader))
    elif kind == replica_rows.Acknowledged.KIND:
        remember_acknowledged(history, view_as(row, replica_rows.Acknowledged))
    elif kind == replica_rows.Exposed.KIND:
        exposed = view_as(row, replica_rows.Exposed)
        number = lineage.term_led_by(
            history, exposed.partition, exposed.leader_epoch, exposed.process
        )
        if number != NONE:
            raise_exposed(history, number, exposed.high_watermark, _place_of(history, exposed))
    else:
        _take_end(history, row)


@inner_rule
def _take_broker(history: histories.Histories, figures: Figures, row: BrokerState) -> None:
    """The control plane takes a broker for something else."""
    can_lead = row.state not in (codes.BROKER_ABSENT, codes.BROKER_FENCED)
    move_registration(history, figures, row.broker, can_lead)
    known = history.brokers[row.broker]
    if row.state == codes.BROKER_FENCED and not known.is_fenced:
        fenced = history.fenced[row.broker]
        fenced.time_us = row.time_us
        fenced.process = row.process
        fenced.sequence = row.sequence
        history.facts[0].fenced_us = row.time_us
    known.is_fenced = row.state == codes.BROKER_FENCED
    known.is_fenced_anew = known.is_fenced and row.state_reason == codes.BROKER_REGISTERS


@inner_rule
def _take_replicas(history: histories.Histories, row: PartitionReplicas) -> None:
    """Replicas of a partition, of which those outside the ISR may be eligible leaders."""
    known = history.partitions[row.partition]
    known.elr = row.eligible_leaders
    known.last_known_leader = row.last_known_leader


@inner_rule
def _close_record(history: histories.Histories, figures: Figures, row: Row) -> None:
    """Judge the record of a partition, and the batch, of the rows before this one.

    The rows of a record are that of the state, and right behind it that of the replicas if these
    have changed. The rows of a batch have one time.
    """
    facts = history.facts[0]
    if facts.told_partition != NONE:
        goes_on = (
            row.kind == PartitionReplicas.KIND
            and view_as(row, PartitionReplicas).partition == facts.told_partition
        )
        if not goes_on:
            _judge_record(history, figures)
    if facts.fenced_us != NONE and row.time_us > facts.fenced_us:
        check_isrs_after_fencing(history)


@inner_rule
def _judge_record(history: histories.Histories, figures: Figures) -> None:
    facts = history.facts[0]
    partition = facts.told_partition
    if partition == NONE:
        return
    facts.told_partition = NONE
    check_elr_outside_isr(history, history.told[0])
    needed = figures.partitions[partition].min_insync_replicas
    check_elr_below_min_isr(history, history.told[0], needed)
    check_last_known_leader(history, history.told[0])
    check_isr_without_fenced(history, history.told[0])


@inner_rule
def _is_of_former_topic(history: histories.Histories, row: Row) -> bool:
    """Whether a row is about a log of a topic that was deleted, and is created again by now.

    With KRaft a topic is deleted at once: its brokers learn later that theirs was another topic.
    """
    if not IS_OF_REPLICA[row.kind]:
        return False
    partition = view_as(row, PartitionRow).partition
    slot = slot_of(history, partition, row.process)
    if slot == NONE:
        return False
    replica = history.slots[history.places[partition].first_slot + slot]
    if not replica.has_log and history.partitions[partition].created_again:
        # It may not even have had the former one: it was suspended.
        replica.is_stale = _is_led_otherwise(history.partitions[partition], row)
    was_stale = replica.is_stale
    if row.kind == replica_rows.LogDeleted.KIND:
        replica.has_log = False
        replica.is_stale = False
    else:
        replica.has_log = True
    return was_stale


@inner_rule
def _is_led_otherwise(known: histories.PartitionHistory, row: Row) -> bool:
    """Whether a broker begins with another leader than the one that the partition has."""
    if row.kind == replica_rows.BecameLeader.KIND:
        led = view_as(row, replica_rows.BecameLeader)
        return led.leader_epoch == known.leader_epoch and led.process != known.leader
    if row.kind == replica_rows.BecameFollower.KIND:
        followed = view_as(row, replica_rows.BecameFollower)
        return followed.leader_epoch == known.leader_epoch and followed.leader != known.leader
    return False


@inner_rule
def _take_end(history: histories.Histories, row: Row) -> None:
    """The new end of a replica's log, or the offset that a consumer is sent to."""
    kind = row.kind
    if kind == replica_rows.Truncated.KIND:
        cut = view_as(row, replica_rows.Truncated)
        cut_of_misled(history, cut.end_offset, _place_of(history, cut))
        check_end_of_member(history, cut.end_offset, _place_of(history, cut))
    elif kind == replica_rows.LogStartRaised.KIND:
        raised = view_as(row, replica_rows.LogStartRaised)
        known = history.partitions[raised.partition]
        known.kept_from = max(known.kept_from, raised.log_start_offset)
    elif kind == replica_rows.LogLost.KIND:
        lost = view_as(row, replica_rows.LogLost)
        history.partitions[lost.partition].lost_power = True
        check_end_of_member(history, lost.end_offset, _place_of(history, lost))
    elif kind == replica_rows.BecameFollower.KIND:
        follower = view_as(row, replica_rows.BecameFollower)
        check_epoch_committed(history, follower.leader_epoch, _place_of(history, follower))
        check_end_of_member(history, follower.log_end_offset, _place_of(history, follower))
    elif kind == CheckpointRead.KIND:
        found = view_as(row, CheckpointRead)
        check_end_of_member(history, found.log_end_offset, _place_of(history, found))
    elif kind == replica_rows.IsrExpanded.KIND:
        expanded = view_as(row, replica_rows.IsrExpanded)
        end_offset = expanded.member_end_offset
        check_end_of_new_member(history, end_offset, _place_of(history, expanded))
    elif kind == replica_rows.EndOffsetTold.KIND:
        told_end = view_as(row, replica_rows.EndOffsetTold)
        check_told_end(history, told_end.end_offset, _place_of(history, told_end))
    elif kind == ConsumerReset.KIND:
        reset = view_as(row, ConsumerReset)
        check_reset(history, reset.offset, reset.new_offset, _place_of(history, reset))
    else:
        _take_permission(history, row)


@inner_rule
def _take_permission(history: histories.Histories, row: Row) -> None:
    """An error of the release: it permits the breaks that follow."""
    if row.kind == replica_rows.DivergingHighWatermark.KIND:
        told = view_as(row, replica_rows.DivergingHighWatermark)
        mislead(history, told.old_high_watermark, told.high_watermark, _place_of(history, told))
    elif row.kind == replica_rows.IsrExpansionForgotten.KIND:
        forgotten = view_as(row, replica_rows.IsrExpansionForgotten)
        history.partitions[forgotten.partition].forgot_expansion = True


@inner_rule
def _place_of(history: histories.Histories, row: PartitionRow) -> histories.RowPlace:
    place = history.place[0]
    take_place(place, row)
    return place


@inner_rule
def _take_partition(history: histories.Histories, figures: Figures, row: PartitionState) -> None:
    """The control plane holds another state of a partition."""
    partition = row.partition
    exists = row.change != codes.STATE_DELETED
    known = history.partitions[partition]
    leave_account(history, figures, partition)
    if not exists:
        known.deleted = True
    if row.change == codes.STATE_CREATED and known.deleted:
        _begin_anew(known)
        create_again(figures, partition)
        _forget_replicas(history, partition)
    figures.partitions[partition].isr_before = known.isr if known.exists else EMPTY
    if exists:
        _take_state(history, known, row)
    known.exists = exists
    open_account(history, figures, partition)


@inner_rule
def _take_state(
    history: histories.Histories, known: histories.PartitionHistory, row: PartitionState
) -> None:
    is_other = known.exists and row.leader not in (NONE, known.leader)
    if is_other and row.leader_epoch > known.leader_epoch:
        slot = slot_of(history, row.partition, row.leader)
        is_clean = slot != NONE and (contains(known.isr, slot) or contains(known.elr, slot))
        if not is_clean and known.unclean == histories.NOTHING_PERMITS:
            known.unclean = _why_unclean(history, known, row.leader)
    if history.facts[0].has_quorum:
        take_place(history.told[0], row)
        history.facts[0].told_partition = row.partition
        if row.change != codes.STATE_CREATED:
            check_partition_epoch(history, history.told[0], row.partition_epoch)
        known.partition_epoch = row.partition_epoch
    known.leader = row.leader
    known.leader_epoch = row.leader_epoch
    known.newest_epoch = max(known.newest_epoch, row.leader_epoch)
    known.isr = row.isr
    known.is_without_elr = not history.facts[0].has_elr


@inner_rule
def _why_unclean(
    history: histories.Histories, known: histories.PartitionHistory, leader: int
) -> int:
    """Why a leader from outside of ISR and ELR may be elected.

    The record that elects the last known leader may also empty the ELR: its last member registers
    after an unclean shutdown.

    Source: PartitionChangeBuilder.canElectLastKnownLeader, electAnyLeader@4.1.0.
    """
    if leader == known.last_known_leader and known.isr == EMPTY:
        return histories.BY_LAST_KNOWN_LEADER
    if known.unclean_enabled or not history.facts[0].has_quorum:
        return histories.BY_UNCLEAN_ELECTION
    return histories.BY_REQUESTED_ELECTION


@inner_rule
def _begin_anew(known: histories.PartitionHistory) -> None:
    """A topic is created once more under its name: its partitions are other ones."""
    known.deleted = False
    known.created_again = True
    known.elr = EMPTY
    known.last_known_leader = NONE
    known.unclean = histories.NOTHING_PERMITS
    known.lost_power = False
    known.forgot_expansion = False
    known.last_term = NONE
    known.newest_term = NONE
    known.exposed_term = NONE
    known.exposed_end = 0
    known.kept_from = 0
    known.committed.count = 0
    known.committed.end_offset = 0
    known.first_acknowledged = NONE
    known.last_acknowledged = NONE


@inner_rule
def _forget_replicas(history: histories.Histories, partition: int) -> None:
    place = history.places[partition]
    for slot in range(place.slot_count):
        replica = history.slots[place.first_slot + slot]
        replica.misled_from = 0
        replica.misled_to = 0
        replica.is_stale = replica.has_log


@inner_rule
def _forget_topic(history: histories.Histories, topic: int) -> None:
    for partition in range(len(history.partitions)):
        if history.places[partition].topic == topic:
            history.partitions[partition].deleted = True


@inner_rule
def _take_run(history: histories.Histories, row: replica_rows.LogEnd) -> None:
    """One more run of the log that is being read, or the first of another one."""
    told = history.snapshot[0]
    goes_on = (
        told.open
        and told.row.process == row.process
        and told.row.partition == row.partition
        and told.row.time_us == row.time_us
        and told.reason == row.reason
        and told.log.end_offset == row.start_offset
    )
    if told.open and not goes_on:
        _take_log(history, told)
    if not goes_on:
        told.log.first = history.facts[0].runs
        told.log.count = 0
        told.reason = row.reason
        told.high_watermark = row.high_watermark
        told.open = True
        take_place(told.row, row)
    lineage.add_run(history, told.log, row.epoch, row.start_offset)
    told.log.end_offset = row.end_offset


@inner_rule
def _close_snapshot(history: histories.Histories, row: Row) -> None:
    """A row follows that is none of the log's: the log is complete."""
    told = history.snapshot[0]
    is_kept = (
        told.reason == codes.REASON_LEADER
        and row.kind == replica_rows.BecameLeader.KIND
        and row.process == told.row.process
        and view_as(row, replica_rows.BecameLeader).partition == told.row.partition
    )
    _take_log(history, told)
    # The term that begins with this row takes it over.
    told.open = is_kept


@inner_rule
def _take_log(history: histories.Histories, told: histories.ReportedLog) -> None:
    """The log of a replica at one time: it is compared with all that is known."""
    partition = told.row.partition
    if told.reason != codes.REASON_DELETED and not _is_stale(history, told.row):
        committed = min(told.high_watermark, told.log.end_offset)
        check_log_matches(history, told.log, told.row)
        check_committed(history, told.log, committed, told.row)
        check_log_of_member(history, partition, told.log, told.row)
    known = history.partitions[partition]
    is_last = told.reason == codes.REASON_END or told.reason == codes.REASON_LIVENESS
    if is_last and told.row.process == known.leader:
        lineage.copy_log(known.last, told.log)
    elif told.reason != codes.REASON_LEADER:
        facts = history.facts[0]
        if facts.runs == told.log.first + told.log.count:
            # They are no longer needed.
            facts.runs = told.log.first


@inner_rule
def _is_stale(history: histories.Histories, told: histories.RowPlace) -> bool:
    slot = slot_of(history, told.partition, told.process)
    return slot != NONE and history.slots[history.places[told.partition].first_slot + slot].is_stale


@inner_rule
def _begin_term(history: histories.Histories, row: replica_rows.BecameLeader) -> None:
    """A broker leads, on the log of the rows before; without such rows the log is empty."""
    facts = history.facts[0]
    partition = row.partition
    known = history.partitions[partition]
    number = facts.terms
    facts.terms += 1
    term = history.terms[number]
    take_place(term.began, row)
    told = history.snapshot[0]
    if told.open:
        lineage.copy_log(term.log, told.log)
        lineage.move_behind_all(history, term.log)
        told.open = False
    else:
        term.log.first = facts.runs
        term.log.count = 0
        term.log.end_offset = 0
        check_log_of_member(history, partition, term.log, term.began)
    term.epoch = row.leader_epoch
    term.exposed = 0
    term.previous = known.last_term
    known.last_term = number
    check_new_leader(history, number)
    forget_misled(history, term.began)
    lineage.add_run(history, term.log, term.epoch, term.log.end_offset)
    if known.newest_term == NONE or history.terms[known.newest_term].epoch <= term.epoch:
        known.newest_term = number
    check_only_leader(history, number)
    check_epoch_committed(history, term.epoch, term.began)
    raise_exposed(history, number, row.high_watermark, term.began)
