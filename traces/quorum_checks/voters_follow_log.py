"""The voters in force on a controller are those of a record in its log.

A log that is truncated takes the voters back with the records, so no controller stands for election
or leads with voters that nobody else may ever have heard of.

Permitted: never.

Example: ``tidegauge run quickstart --set controllers.voters=[0,1,2]``
keeps it, as it changes no voters.

Source: KIP-853; KRaftControlRecordStateMachine.truncateNewEntries,
VoterSetHistory.truncateNewEntries@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.trace_rows.controller_rows import VoterLog, VoterState
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories

#: Its place among the checks.
NUMBER = code(22)
ONLY_WITH_KRAFT = True
ONLY_WITH_VOTER_CHANGES = True


@inner_rule
def check_voters_in_log(history: Histories, row: VoterState, log: int) -> None:
    """A controller asks for votes, or begins to lead."""
    if history.controllers[log].voters_offset >= history.metadata_logs[log].end_offset:
        note_breach_of_quorum(history, NUMBER, row)


@inner_rule
def check_truncation(history: Histories, row: VoterLog) -> None:
    """A log may have been truncated: its voters were taken back before.

    With a lost disk the whole log is gone, and the voters with the process.
    """
    known = history.controllers[row.broker - history.quorum[0].first_controller]
    is_kept = known.voters_offset >= row.log_end_offset
    if row.truncated and row.log_end_offset > 0 and is_kept:
        note_breach_of_quorum(history, NUMBER, row)
