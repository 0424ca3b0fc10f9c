"""Each record of a partition raises its partition epoch by exactly one.

By it a leader knows whether its proposal is based on the newest ISR.

Permitted: never.

Example: ``tidegauge run cut-and-pause --set 'release="4.1"'`` keeps it.

Source: PartitionRegistration.merge@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.traces.checks.breaches import note_breach
from tidegauge.traces.checks.histories import NOTHING_PERMITS, Histories, RowPlace

#: Its place among the checks.
NUMBER = code(11)
ONLY_WITH_KRAFT = True


@inner_rule
def check_partition_epoch(history: Histories, event: RowPlace, partition_epoch: int) -> None:
    """A partition that exists gets another record."""
    if partition_epoch != history.partitions[event.partition].partition_epoch + 1:
        note_breach(history, NUMBER, event, NOTHING_PERMITS)
