"""A leader has the votes of a majority of the voters in its log, each given in its epoch.

A vote is that of a voter if it was given with the directory that the set of voters names. A
controller with an empty disk in place of its former one votes as well, and its vote does not count:
it has forgotten what it has voted for, and what it has helped to commit.

Permitted: never. The leader with which the run begins was elected before.

Example: ``tidegauge run quickstart --set controllers.voters=[0,1,2]``
keeps it, as it changes no voters.

Source: ValidVotesRecv of the TLA+ specification of KIP-853 (kraft_kip_853_properties.tla);
EpochElection.isVoteGranted, KafkaRaftClient.handleVoteRequest@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.controller_rows import VoterState
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks.voter_sets import is_elected

#: Its place among the checks.
NUMBER = code(24)
ONLY_WITH_KRAFT = True
ONLY_WITH_VOTER_CHANGES = True


@inner_rule
def check_votes(history: Histories, row: VoterState, log: int) -> None:
    """A controller begins to lead."""
    voters = history.controllers[log].voters
    if row.voted_for != NONE and not is_elected(history, row.quorum_epoch, log, voters):
        note_breach_of_quorum(history, NUMBER, row)
