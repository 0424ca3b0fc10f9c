"""A controller stands for election and leads with the voters of the newest record in its log.

A log that is truncated takes the voters back with the records.

Permitted: never.

Example: ``tidegauge run quickstart --set controllers.voters=[0,1,2]``
keeps it, as it changes no voters.

Source: KIP-853; KRaftControlRecordStateMachine.truncateNewEntries,
VoterSetHistory.truncateNewEntries@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.trace_rows.controller_rows import VoterState
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
