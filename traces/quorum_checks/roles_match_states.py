"""Only voters stand for election, and only voters lead: a leader that is removed resigns.

A candidate has voted for itself, a leader knows itself as the leader, and a follower another one. A
leader that is removed goes on until its removal is committed, since it has to commit it; then it
commits at most a few records more.

Permitted: never.

Example: ``tidegauge run quickstart --set controllers.voters=[0,1,2]``
keeps it, as it changes no voters.

Source: StatesMatchRoles of the TLA+ specification of KIP-853 (kraft_kip_853_properties.tla);
QuorumState.transitionToCandidate, LeaderState.requestResign@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.controller_rows import VoterLog, VoterState
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories
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
        note_breach_of_quorum(history, NUMBER, row)
