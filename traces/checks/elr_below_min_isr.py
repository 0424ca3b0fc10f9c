"""A partition has eligible leader replicas only while its ISR is below min.insync.replicas.

With min.insync.replicas members of the ISR the high watermark may advance without those outside,
which therefore may lack records that were acknowledged.

Permitted: never.

Example: ``tidegauge run incidents/full-isr-loss --set 'release="4.1"'`` keeps it.

Source: PartitionChangeBuilder.maybePopulateTargetElr@4.1.0,
ReplicationControlManager.getTopicEffectiveMinIsr@4.1.0, KIP-966.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.replica_list import EMPTY, size
from tidegauge.traces.checks.breaches import note_breach
from tidegauge.traces.checks.histories import NOTHING_PERMITS, Histories, RowPlace

#: Its place among the checks.
NUMBER = code(9)
ONLY_WITH_KRAFT = True


@inner_rule
def check_elr_below_min_isr(history: Histories, event: RowPlace, min_insync_replicas: int) -> None:
    """A record of a partition is complete."""
    known = history.partitions[event.partition]
    if known.elr != EMPTY and size(known.isr) >= min_insync_replicas:
        note_breach(history, NUMBER, event, NOTHING_PERMITS)
