"""A set of voters that is committed stays: later leaders have it, or one that was made of it.

A voter whose removal was answered without an error is in no later set with that directory, unless
it is added again.

Permitted: never.

Example: ``tidegauge run quickstart --set controllers.voters=[0,1,2]``
keeps it, as it changes no voters.

Source: KIP-853; KRaftControlRecordStateMachine.updateState, LeaderState@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.errors import NONE as NO_ERROR
from tidegauge.replication.voter_set import directory_of
from tidegauge.simulation.trace_rows.codes import REMOVE_VOTER
from tidegauge.simulation.trace_rows.controller_rows import (
    QuorumVoters,
    VoterChangeAnswered,
    VoterState,
)
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories

#: Its place among the checks.
NUMBER = code(21)
ONLY_WITH_KRAFT = True
ONLY_WITH_VOTER_CHANGES = True


@inner_rule
def check_committed(history: Histories, row: QuorumVoters) -> None:
    """A leader has committed voters: not in place of others, nor behind."""
    quorum = history.quorum[0]
    is_other = row.voters_offset == quorum.committed_voters_offset and (
        row.voters != quorum.committed_voters
    )
    if row.voters_offset < quorum.committed_voters_offset or is_other:
        note_breach_of_quorum(history, NUMBER, row)


@inner_rule
def check_voters_of_leader(history: Histories, row: VoterState) -> None:
    """A controller begins to lead, with the voters of its log.

    A record that names the voters that were in force is no row.
    """
    quorum = history.quorum[0]
    if row.quorum_epoch < quorum.committed_voters_epoch:
        return
    known = history.controllers[row.broker - quorum.first_controller]
    is_newer = known.voters_offset > quorum.committed_voters_offset
    if not is_newer and known.voters != quorum.committed_voters:
        note_breach_of_quorum(history, NUMBER, row)


@inner_rule
def check_removal(history: Histories, row: VoterChangeAnswered) -> None:
    """A request to remove a voter is answered."""
    quorum = history.quorum[0]
    controller = row.server - quorum.first_controller
    is_removed = row.voter_change == REMOVE_VOTER and row.error == NO_ERROR
    if is_removed and directory_of(quorum.committed_voters, controller) == row.voter_directory:
        note_breach_of_quorum(history, NUMBER, row)
