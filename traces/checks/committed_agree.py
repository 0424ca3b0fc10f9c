"""Two replicas agree below both of their high watermarks.

The literature names it CommittedAgree: records that they take for committed are the same.

Below the smaller of two high watermarks both logs hold the same records. The check compares each
recorded log, and the log of each term, up to its high watermark with the records that any replica
has believed committed before: a committed record never changes.

Permitted: after an unclean election, or a loss of power that took records before a flush. In
releases 2.8.0 to 3.4.0 also the belief of a follower under KAFKA-14704: it takes over the high
watermark of a response that makes it truncate, and then truncates. Only the offsets between its
former high watermark and that of the response are permitted, and only for that follower.

Example: ``tidegauge run rolling-restart --set 'release="2.8"'`` gives it up. A leader stops with a
record that no follower has. After its restart its high watermark covers that record while it
handles one response; its successor has another record at that offset.

Source: the Log Matching property in Jack Vanlightly's TLA+ specification of Kafka.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.breaches import note_breach, slot_of, what_permits
from tidegauge.traces.checks.histories import BY_DIVERGING_RESPONSE, Histories, LogRuns, RowPlace
from tidegauge.traces.checks.lineage import agrees_until
from tidegauge.traces.checks.misled_replicas import misled_replica, own_high_watermark

#: Its place among the checks.
NUMBER = code(1)


@inner_rule
def check_committed(history: Histories, log: LogRuns, high_watermark: int, place: RowPlace) -> None:
    """A replica takes its log for committed up to its high watermark."""
    known = history.partitions[place.partition]
    high_watermark = own_high_watermark(history, high_watermark, place)
    common = min(high_watermark, known.committed.end_offset)
    if agrees_until(history, log, known.committed, common) < common:
        note_breach(history, NUMBER, place, what_permits(history, place.partition))
    elif high_watermark > known.committed.end_offset:
        _remember(history, log, high_watermark, place.partition)


@inner_rule
def _remember(history: Histories, log: LogRuns, high_watermark: int, partition: int) -> None:
    """The committed log reaches further: it is this one up to there."""
    known = history.partitions[partition]
    committed = known.committed
    count = 0
    while count < log.count and history.runs[log.first + count].start_offset < high_watermark:
        count += 1
    if count > known.committed_room:
        facts = history.facts[0]
        known.committed_room = 2 * count
        committed.first = facts.runs
        committed.count = 0
        facts.runs += known.committed_room
    for place in range(count):
        history.runs[committed.first + place].epoch = history.runs[log.first + place].epoch
        start_offset = history.runs[log.first + place].start_offset
        history.runs[committed.first + place].start_offset = start_offset
    committed.count = count
    committed.end_offset = high_watermark


@inner_rule
def cut_of_misled(history: Histories, end_offset: int, place: RowPlace) -> None:
    """A misled replica cuts its log: its leader has other records there."""
    slot = slot_of(history, place.partition, place.process)
    if slot == NONE:
        return
    replica = misled_replica(history, place.partition, slot)
    if replica.misled_to > replica.misled_from and end_offset < replica.misled_to:
        note_breach(history, NUMBER, replica.misled, BY_DIVERGING_RESPONSE)
        replica.misled_to = end_offset
