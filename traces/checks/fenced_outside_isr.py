"""No fenced broker is in an ISR after the batch that fences it.

A batch of records is committed as a whole, so the ISRs that a broker leaves as it is fenced are in
the same one. Without eligible leader replicas the last member stays in the ISR of a partition
without a leader, also when they are turned on, until the next record of the partition.

Permitted: with eligible leader replicas in release 4.0, which elects a last known leader that is
fenced (KAFKA-19522). Up to 3.9 a broker that registers before its former process was fenced stays
in the ISRs, and is fenced until it has caught up; from 4.0 on it leaves them with its registration
(KAFKA-18106).

Example: ``tidegauge run cut-and-pause --set 'release="4.1"'`` keeps it.

Source: ReplicationControlManager.handleBrokerFenced and generateLeaderAndIsrUpdates@4.1.0,
ClusterControlManager.registerBroker@3.8.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.replica_list import EMPTY, first, rest, size
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.breaches import copy_place, note_breach
from tidegauge.traces.checks.histories import (
    BY_FENCED_LAST_KNOWN_LEADER,
    BY_REGISTRATION,
    NOTHING_PERMITS,
    Histories,
    RowPlace,
)

#: Its place among the checks.
NUMBER = code(12)
ONLY_WITH_KRAFT = True


@inner_rule
def check_isr_without_fenced(history: Histories, event: RowPlace) -> None:
    """A record of a partition is complete: no broker in its ISR was fenced in an older batch."""
    member = _fenced_before(history, event.partition, event.time_us)
    if member != NONE:
        note_breach(history, NUMBER, event, _what_permits(history, member))


@inner_rule
def check_isrs_after_fencing(history: Histories) -> None:
    """The batch is complete that fences brokers: none of them is left in any ISR."""
    facts = history.facts[0]
    now_us = facts.fenced_us + 1
    facts.fenced_us = NONE
    for partition in range(len(history.partitions)):
        member = _fenced_before(history, partition, now_us)
        if member != NONE:
            place = history.place[0]
            copy_place(place, history.fenced[member])
            place.partition = partition
            note_breach(history, NUMBER, place, _what_permits(history, member))


@inner_rule
def _what_permits(history: Histories, member: int) -> int:
    if history.facts[0].elects_fenced and history.facts[0].has_elr:
        return BY_FENCED_LAST_KNOWN_LEADER
    if history.facts[0].registers_in_isrs and history.brokers[member].is_fenced_anew:
        return BY_REGISTRATION
    return NOTHING_PERMITS


@inner_rule
def _fenced_before(history: Histories, partition: int, time_us: int) -> int:
    """A member of a partition's ISR that was fenced before this time and may not be in it."""
    known = history.partitions[partition]
    if not known.exists or _is_last_member(history, partition):
        return NONE
    members = known.isr
    while members != EMPTY:
        slot = history.places[partition].first_slot + first(members)
        broker = history.slots[slot].broker
        members = rest(members)
        if history.brokers[broker].is_fenced and history.fenced[broker].time_us < time_us:
            return broker
    return NONE


@inner_rule
def _is_last_member(history: Histories, partition: int) -> bool:
    known = history.partitions[partition]
    return known.is_without_elr and known.leader == NONE and size(known.isr) == 1
