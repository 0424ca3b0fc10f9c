"""No offset was ever exposed with two different records.

The literature names it ExposedUnique.

If it is broken, two consumers may have read different records at one offset. Each term's log
below its high watermark is compared with that of the term that has exposed most.

Permitted: after an unclean election in the partition, or a loss of power that took records
of one of its replicas before a flush.

Example: ``tidegauge run 11-equal-length-divergence`` gives it up. After a loss of power a
broker leads with a log that lacks a record, and exposes a record of its own at that offset
(KIP-101, scenario 2).

Source: ExposedUnique, an invariant with a history over KafkaReplication.tla; Jepsen's
inconsistent-offsets.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.breaches import note_breach, what_permits
from tidegauge.traces.checks.committed_agree import check_committed
from tidegauge.traces.checks.exposed_durable import check_old_leader
from tidegauge.traces.checks.histories import Histories, RowPlace
from tidegauge.traces.checks.lineage import agrees_until

#: Its place among the checks.
NUMBER = code(3)


@inner_rule
def raise_exposed(history: Histories, number: int, high_watermark: int, place: RowPlace) -> None:
    """A term is known to have had this high watermark: consumers may have read up to it."""
    term = history.terms[number]
    if high_watermark <= term.exposed:
        return
    term.exposed = high_watermark
    known = history.partitions[place.partition]
    check_committed(history, term.log, high_watermark, place)
    if known.exposed_term != NONE:
        common = min(high_watermark, known.exposed_end)
        exposed = history.terms[known.exposed_term].log
        if agrees_until(history, term.log, exposed, common) < common:
            note_breach(history, NUMBER, place, what_permits(history, place.partition))
            return
    if high_watermark > known.exposed_end:
        known.exposed_term = number
        known.exposed_end = high_watermark
        check_old_leader(history, number)
