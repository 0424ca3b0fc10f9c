"""No replica is in the ISR of a partition and among its eligible leader replicas.

A replica enters the ELR as it leaves an ISR that falls below min.insync.replicas, and leaves the
ELR as it returns to the ISR.

Permitted: never.

Example: ``tidegauge run incidents/full-isr-loss --set 'release="4.1"'`` keeps it.

Source: PartitionChangeBuilder.maybePopulateTargetElr@4.1.0, KIP-966.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.replica_list import only
from tidegauge.traces.checks.breaches import note_breach
from tidegauge.traces.checks.histories import NOTHING_PERMITS, Histories, RowPlace

#: Its place among the checks.
NUMBER = code(8)
ONLY_WITH_KRAFT = True


@inner_rule
def check_elr_outside_isr(history: Histories, event: RowPlace) -> None:
    """A record of a partition is complete."""
    known = history.partitions[event.partition]
    if only(known.elr, known.isr) != 0:
        note_breach(history, NUMBER, event, NOTHING_PERMITS)
