"""Every member of the ISR has every record that was ever exposed.

The literature names it StrongIsr. The ISR is that of ZooKeeper, or of the quorum's metadata.

So every broker that may be elected has all that consumers have read. The check reads a member's log
when the trace records it (at a stop, a truncation, an election, the end), when the log is
truncated, and when a leader takes a follower into the ISR: that log ends where the follower
fetches. It has the exposures recorded so far; a later report of the leader is compared with the log
of the newest leader.

Permitted: after an unclean election in the partition, or a loss of power that took records
of one of its replicas before a flush. With KRaft also after a row ``isr_expansion_forgotten``: the
leader exposes records by the ISR that it knows, while the controller commits a larger one
(Partition.makeLeader and updateAssignmentAndIsr@4.1.0). So does the next process of a leader, which
leads by the first metadata that it reads, before it has registered: until then the controller takes
a late AlterPartition of the former process (BrokerMetadataPublisher.onMetadataUpdate@3.9.0).

Example: ``tidegauge run 10-truncation-to-high-watermark`` breaks it. In release 0.10.2
broker A cuts its log to its own high watermark, stays in the ISR, and is elected without records
that were acknowledged (KIP-101, scenario 1).

Source: StrongIsr of the TLA+ specification of Kafka's replication (KafkaReplication.tla).
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.replica_rows import IsrExpanded
from tidegauge.traces.checks.breaches import note_breach, slot_of, what_permits
from tidegauge.traces.checks.histories import Histories, LogRuns, RowPlace
from tidegauge.traces.checks.lineage import holds

#: Its place among the checks.
NUMBER = code(0)


@inner_rule
def check_log_of_member(history: Histories, partition: int, log: LogRuns, place: RowPlace) -> None:
    """The log of a replica at this time: if it is in the ISR, all that was exposed is in it."""
    known = history.partitions[partition]
    if known.exposed_term == NONE or not _is_member(history, partition, place.process):
        return
    exposed = history.terms[known.exposed_term].log
    if not holds(history, log, exposed, known.exposed_end):
        note_breach(history, NUMBER, place, what_permits(history, partition))


@inner_rule
def check_end_of_member(history: Histories, end_offset: int, place: RowPlace) -> None:
    """The log of a replica ends here now."""
    known = history.partitions[place.partition]
    if end_offset < known.exposed_end and _is_member(history, place.partition, place.process):
        note_breach(history, NUMBER, place, what_permits(history, place.partition))


@inner_rule
def check_end_of_new_member(history: Histories, expanded: IsrExpanded, place: RowPlace) -> None:
    """A follower has joined the ISR, whose log ends where it fetched last.

    Its leader may learn of it late, when there is another leader, or another ISR.
    """
    known = history.partitions[place.partition]
    if expanded.leader_epoch < known.leader_epoch or expanded.version < known.partition_epoch:
        return
    if expanded.member_end_offset < known.exposed_end:
        note_breach(history, NUMBER, place, what_permits(history, place.partition))


@inner_rule
def _is_member(history: Histories, partition: int, broker: int) -> bool:
    """Whether a broker's replica is in the ISR that ZooKeeper has."""
    known = history.partitions[partition]
    if not known.exists or known.deleted:
        return False
    slot = slot_of(history, partition, broker)
    return slot != NONE and contains(known.isr, slot)
