"""The true leader has every record that consumers could ever read.

The literature names it ExposedDurable.

If it is broken, a record is lost that a consumer may have read. The true leader is the one that
ZooKeeper or the quorum names, once it has begun to lead; offsets that a leader has exposed before
it learns of its successor count as well.

Permitted: after an unclean election in the partition, or a loss of power that took records
of one of its replicas before a flush.

Example: ``tidegauge run 10-truncation-to-high-watermark`` breaks it: the new leader lacks
two records that could be read. ``tidegauge run 17-unclean-election`` gives it up.

Source: ExposedDurable, an invariant with a history over KafkaReplication.tla.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.breaches import note_breach, what_permits
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.checks.lineage import agrees_until, holds
from tidegauge.traces.checks.strong_isr import check_log_of_member

#: Its place among the checks.
NUMBER = code(2)


@inner_rule
def check_new_leader(history: Histories, number: int) -> None:
    """A term begins: if it is the newest, its log holds all offsets exposed so far."""
    term = history.terms[number]
    known = history.partitions[term.began.partition]
    if known.exposed_term == NONE or term.epoch < known.leader_epoch:
        return
    exposed = history.terms[known.exposed_term].log
    if not holds(history, term.log, exposed, known.exposed_end):
        permitted_by = what_permits(history, term.began.partition)
        note_breach(history, NUMBER, term.began, permitted_by)


@inner_rule
def check_old_leader(history: Histories, number: int) -> None:
    """A term has exposed more: the logs of all later leaders hold it."""
    term = history.terms[number]
    known = history.partitions[term.began.partition]
    newest = history.terms[known.newest_term]
    if newest.epoch <= term.epoch:
        return
    exposed = history.terms[known.exposed_term].log
    if agrees_until(history, newest.log, exposed, known.exposed_end) < known.exposed_end:
        permitted_by = what_permits(history, term.began.partition)
        note_breach(history, NUMBER, newest.began, permitted_by)
        check_log_of_member(history, term.began.partition, newest.log, newest.began)
