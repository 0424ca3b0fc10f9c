"""Replicas with a high watermark above a cut to come: KAFKA-14704, 2.8.0 to 3.4.0.

A response that makes a follower truncate also carries the leader's high watermark. Up to 3.4.0 the
follower takes it over first, up to the end of its own log, and then cuts: until then it takes
records for committed of which its leader has others. Its belief before, and after it has cut, is
judged as ever; the release permits only the belief that such a response alone has caused.

It takes more than one response where the logs differ in several epochs: the replica is misled until
it has cut, leads, or has a higher high watermark, which a response that fits its log has brought.

Source: AbstractFetcherThread.processFetchRequest@2.8.0 and @3.4.1,
ReplicaFetcherThread.processPartitionData@2.8.0.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.breaches import copy_place, slot_of
from tidegauge.traces.checks.histories import Histories, ReplicaSlot, RowPlace


@inner_rule
def mislead(history: Histories, before: int, high_watermark: int, place: RowPlace) -> None:
    """A diverging response has raised the high watermark of a replica."""
    slot = slot_of(history, place.partition, place.process)
    if slot == NONE:
        return
    replica = misled_replica(history, place.partition, slot)
    if replica.misled_to <= replica.misled_from or before > replica.misled_to:
        replica.misled_from = before
        copy_place(replica.misled, place)
    replica.misled_to = high_watermark


@inner_rule
def own_high_watermark(history: Histories, high_watermark: int, place: RowPlace) -> int:
    """A replica's high watermark, without the part that only a diverging response has raised."""
    slot = slot_of(history, place.partition, place.process)
    if slot == NONE:
        return high_watermark
    replica = misled_replica(history, place.partition, slot)
    if high_watermark > replica.misled_to:
        replica.misled_to = replica.misled_from
    if replica.misled_to <= replica.misled_from:
        return high_watermark
    return min(high_watermark, replica.misled_from)


@inner_rule
def forget_misled(history: Histories, place: RowPlace) -> None:
    """A replica leads from here on: its high watermark is its own."""
    slot = slot_of(history, place.partition, place.process)
    if slot != NONE:
        replica = misled_replica(history, place.partition, slot)
        replica.misled_to = replica.misled_from


@inner_rule
def misled_replica(history: Histories, partition: int, slot: int) -> ReplicaSlot:
    """The history of the replica in a slot."""
    return history.slots[history.places[partition].first_slot + slot]
