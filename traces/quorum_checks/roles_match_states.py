"""Only voters stand for election, and only voters lead: a leader that is removed resigns.

A candidate has voted for itself, a leader knows itself as the leader, and a follower another one. A
leader that is removed goes on until its removal is committed, since it has to commit it; then it
commits at most a few records more.

Permitted: for a leader that has answered the request for its own removal with a time-out, since the
record was not committed in controller.quorum.request.timeout.ms. It forgets the request, and does
not resign when the record is committed after all (RemoveVoterHandler.highWatermarkUpdated@4.1.0).

Example: ``tidegauge run quickstart --set controllers.voters=[0,1,2]``
keeps it, as it changes no voters.

Source: StatesMatchRoles of the TLA+ specification of KIP-853 (kraft_kip_853_properties.tla);
QuorumState.transitionToCandidate, LeaderState.requestResign@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.controller_rows import (
    VoterChangeAnswered,
    VoterLog,
    VoterState,
)
from tidegauge.traces.checks.breaches import note_breach_of_quorum, note_breach_of_voters
from tidegauge.traces.checks.histories import BY_LATE_REMOVAL, NOTHING_PERMITS, Histories
from tidegauge.traces.quorum_checks.voter_sets import is_present

#: Its place among the checks.
NUMBER = code(23)
ONLY_WITH_KRAFT = True
ONLY_WITH_VOTER_CHANGES = True

#: The commits of a removed leader while its resignation is on its way.
_LAST_COMMITS = code(5)


@inner_rule
def check_role(history: Histories, row: VoterState, log: int) -> None:
    """A controller is in another state."""
    state = row.voter_state
    stands = state in (codes.PROSPECTIVE, codes.CANDIDATE, codes.LEADER)
    is_wrong = stands and not is_present(history, history.controllers[log].voters, log)
    if state == codes.CANDIDATE:
        is_wrong = is_wrong or row.voted_for != row.broker
    elif state == codes.LEADER:
        is_wrong = is_wrong or row.quorum_leader != row.broker
    elif state == codes.FOLLOWER:
        is_wrong = row.quorum_leader in (NONE, row.broker)
    if is_wrong:
        note_breach_of_quorum(history, NUMBER, row)


@inner_rule
def check_commit_of_leader(history: Histories, row: VoterLog, log: int) -> None:
    """A leader has committed something, maybe after its own removal."""
    known = history.controllers[log]
    if not known.leads or known.commits_since_removal == NONE:
        return
    known.commits_since_removal += 1
    if known.commits_since_removal > _LAST_COMMITS:
        permitted_by = BY_LATE_REMOVAL if known.was_removed_late else NOTHING_PERMITS
        note_breach_of_voters(history, NUMBER, row, permitted_by)


@inner_rule
def note_late_removal(history: Histories, row: VoterChangeAnswered) -> None:
    """A leader answers a request to remove a voter, maybe itself: it was not committed in time."""
    leader = row.process - history.quorum[0].first_process
    is_late = row.voter_change == codes.REMOVE_VOTER and (
        row.voter_refusal == codes.CHANGE_TIMED_OUT
    )
    if is_late and row.server == leader + history.quorum[0].first_controller:
        history.controllers[leader].was_removed_late = True
