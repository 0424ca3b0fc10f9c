"""Every record acknowledged with acks=all is in the leader's log.

It is judged at the end of the run.

It is judged at the end of the run, after the liveness phase if there is one: a record, (leader
epoch, offset), is lost if the log of the leader that ZooKeeper or the quorum names does not hold
it. The event that broke it is the first term after the record's own that began without it.

Records acknowledged with acks=1 are counted as losses, not as a break: Kafka promises nothing
about them. So are those of a partition that has elected a leader uncleanly, or of which a loss
of power took records. The records of a partition without a leader are not lost yet: they are
*unavailable*, and the verdict is unknown. Those that retention has deleted are not lost.

Permitted: after an unclean election in the partition, or a loss of power that took records
of one of its replicas before a flush, and for records with acks=1 always. Such losses are counted
(``records_acknowledged_lost_permitted``), and the check holds.

Example: ``tidegauge run 10-truncation-to-high-watermark`` breaks it: two records are lost
by a clean election. ``tidegauge run 17-unclean-election`` keeps it: that loss is counted.

Source: the documentation of the producer's setting ``acks``; Jepsen's lost-writes.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.in_sync_replicas import ACKS_ALL
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows import replica_rows
from tidegauge.traces.checks.breaches import note_breach, what_permits
from tidegauge.traces.checks.histories import NOTHING_PERMITS, Acknowledged, Histories, LogRuns
from tidegauge.traces.checks.lineage import count_held, term_of

#: Its place among the checks.
NUMBER = code(6)


@inner_rule
def remember_acknowledged(history: Histories, row: replica_rows.Acknowledged) -> None:
    """These offsets were acknowledged; ranges that follow each other become one."""
    known = history.partitions[row.partition]
    if known.last_acknowledged != NONE:
        last = history.acknowledged[known.last_acknowledged]
        is_next = last.end_offset == row.first_offset
        if is_next and last.epoch == row.leader_epoch and last.acks == row.acks:
            last.end_offset = row.end_offset
            return
    facts = history.facts[0]
    number = facts.acknowledged
    facts.acknowledged += 1
    promised = history.acknowledged[number]
    promised.epoch = row.leader_epoch
    promised.acks = row.acks
    promised.first_offset = row.first_offset
    promised.end_offset = row.end_offset
    promised.next = NONE
    if known.last_acknowledged == NONE:
        known.first_acknowledged = number
    else:
        history.acknowledged[known.last_acknowledged].next = number
    known.last_acknowledged = number


@inner_rule
def count_lost(history: Histories, partition: int) -> None:
    """Look for every acknowledged record of a partition, at the end."""
    facts = history.facts[0]
    known = history.partitions[partition]
    if known.deleted:
        return
    is_led = known.leader >= 0 and history.brokers[known.leader].registered
    number = known.first_acknowledged
    while number != NONE:
        promised = history.acknowledged[number]
        number = promised.next
        # Records that retention has deleted are not lost.
        promised.first_offset = max(promised.first_offset, known.kept_from)
        count = max(0, promised.end_offset - promised.first_offset)
        if not is_led:
            facts.records_unavailable += count
            continue
        count -= count_held(
            history, known.last, promised.epoch, promised.first_offset, promised.end_offset
        )
        if count > 0:
            facts.records_lost += count
            known.records_lost += count
            _note_loss(history, partition, promised, count)


@inner_rule
def _note_loss(history: Histories, partition: int, promised: Acknowledged, count: int) -> None:
    permitted_by = what_permits(history, partition)
    if promised.acks != ACKS_ALL or permitted_by != NOTHING_PERMITS:
        # A loss, but no break.
        history.facts[0].records_lost_permitted += count
        return
    number = _term_without(history, partition, promised)
    note_breach(history, NUMBER, history.terms[number].began, permitted_by)


@inner_rule
def _term_without(history: Histories, partition: int, promised: Acknowledged) -> int:
    """The first term after that of the records which began without them; else the last one."""
    own = term_of(history, partition, promised.epoch)
    found = history.partitions[partition].newest_term
    number = history.partitions[partition].last_term
    while number != own and number != NONE:
        term = history.terms[number]
        if term.epoch >= promised.epoch and _lacks(history, term.log, promised):
            found = number
        number = term.previous
    return found


@inner_rule
def _lacks(history: Histories, log: LogRuns, promised: Acknowledged) -> bool:
    held = count_held(history, log, promised.epoch, promised.first_offset, promised.end_offset)
    return held < promised.end_offset - promised.first_offset
