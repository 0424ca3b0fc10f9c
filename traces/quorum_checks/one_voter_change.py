"""A VotersRecord is appended when the one before is committed, and a record of the own epoch.

So all VotersRecords of a log but the last are committed, and the voters of any two logs differ by
one voter at most. Without the second condition two leaders could each append a change to the same
voters, and their sets would have majorities that share nobody.

Permitted: never.

Example: ``tidegauge run quickstart --set controllers.voters=[0,1,2]``
keeps it, as it changes no voters.

Source: KIP-853; AddVoterHandler.handleAddVoterRequest,
RemoveVoterHandler.handleRemoveVoterRequest@4.1.0; the bug in the single-server changes of Ongaro's
thesis that was found after it.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.trace_rows.controller_rows import QuorumVoters
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks.metadata_logs import committed_number, epoch_known

#: Its place among the checks.
NUMBER = code(19)
ONLY_WITH_KRAFT = True
ONLY_WITH_VOTER_CHANGES = True


@inner_rule
def check_change(history: Histories, row: QuorumVoters) -> None:
    """Other voters are in force on a controller: a leader has appended them, or they were fetched.

    A truncation has taken voters back if their offset is not behind the one before. Until a leader
    tells what is committed, that is the log that was there before the run.
    """
    known = history.controllers[row.broker - history.quorum[0].first_controller]
    committed_end = history.metadata_logs[committed_number(history)].end_offset
    if row.voters_offset <= known.voters_offset or committed_end == 0:
        return
    epoch = epoch_known(history, row.quorum_epoch)
    is_early = known.leads and epoch.committed_end == 0
    if known.voters_offset >= committed_end or is_early:
        note_breach_of_quorum(history, NUMBER, row)
