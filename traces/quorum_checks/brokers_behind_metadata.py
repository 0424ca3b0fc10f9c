"""No broker leads or follows in a leader epoch that is in no committed record of the metadata log.

Brokers read below the high watermark of the quorum only. So nothing that a broker has applied is
ever taken back, whichever controller leads next.

Permitted: never.

Example: ``tidegauge run 23-isolated-controller``
keeps it.

Source: KafkaRaftClient.handleFetchRequest, MetadataLoader.handleCommit@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.traces.checks.breaches import note_breach
from tidegauge.traces.checks.histories import NOTHING_PERMITS, Histories, RowPlace

#: Its place among the checks.
NUMBER = code(17)
ONLY_WITH_KRAFT = True


@inner_rule
def check_epoch_committed(history: Histories, leader_epoch: int, event: RowPlace) -> None:
    """A broker has applied a record about a partition."""
    is_known = leader_epoch <= history.partitions[event.partition].newest_epoch
    if history.facts[0].has_quorum and not is_known:
        note_breach(history, NUMBER, event, NOTHING_PERMITS)
