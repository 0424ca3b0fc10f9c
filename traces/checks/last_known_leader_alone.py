"""A partition has a last known leader only while it has no leader.

The last to leave ISR and ELR is remembered, so that it may lead again when it returns. It is
forgotten as soon as there is a leader.

Permitted: never.

Example: ``tidegauge run incidents/full-isr-loss --set 'release="4.1"'`` keeps it.

Source: PartitionChangeBuilder.maybeUpdateLastKnownLeader@4.1.0, KIP-966.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.breaches import note_breach
from tidegauge.traces.checks.histories import NOTHING_PERMITS, Histories, RowPlace

#: Its place among the checks.
NUMBER = code(10)
ONLY_WITH_KRAFT = True


@inner_rule
def check_last_known_leader(history: Histories, event: RowPlace) -> None:
    """A record of a partition is complete."""
    known = history.partitions[event.partition]
    if known.last_known_leader != NONE and known.leader != NONE:
        note_breach(history, NUMBER, event, NOTHING_PERMITS)
