"""Two logs with the same epoch at an offset agree up to it.

The literature names it LogMatching.

One leader has written all records of an epoch, so the check compares each recorded log with the
log of the term that its last records come from.

Permitted: after an unclean election in the partition, or a loss of power that took records
of one of its replicas before a flush.

Example: ``tidegauge run 17-unclean-election --set 'release="0.10.2"'`` gives it up. The
old leader truncates to its own high watermark and keeps records that the new one never had.

Source: the Log Matching property of Raft, as an invariant over KafkaReplication.tla.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.breaches import note_breach, what_permits
from tidegauge.traces.checks.histories import Histories, LogRuns, RowPlace
from tidegauge.traces.checks.lineage import agrees_until

#: Its place among the checks.
NUMBER = code(4)


@inner_rule
def check_log_matches(history: Histories, log: LogRuns, place: RowPlace) -> None:
    """A log is that of the leader of its last epoch, up to its end."""
    if log.count == 0:
        return
    epoch = history.runs[log.first + log.count - 1].epoch
    seen = False
    number = history.partitions[place.partition].last_term
    while number != NONE:
        term = history.terms[number]
        if term.epoch == epoch:
            # A leader that has restarted led in the same epoch before, on another log.
            if agrees_until(history, log, term.log, log.end_offset) >= log.end_offset:
                return
            seen = True
        number = term.previous
    if seen:
        note_breach(history, NUMBER, place, what_permits(history, place.partition))
