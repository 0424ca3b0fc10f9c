"""Each committed set of voters and the next one have a common voter in all of their majorities.

So no two leaders are elected in one epoch, each by voters of another set, and a leader that the new
voters elect knows what the former voters have committed. It is so while the sets differ by one
voter.

Permitted: never.

Example: ``tidegauge run quickstart --set controllers.voters=[0,1,2]``
keeps it, as it changes no voters.

Source: KIP-853; VoterSet.hasOverlappingMajority@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.trace_rows.controller_rows import QuorumVoters
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks.voter_sets import share_majorities

#: Its place among the checks.
NUMBER = code(20)
ONLY_WITH_KRAFT = True
ONLY_WITH_VOTER_CHANGES = True


@inner_rule
def check_overlap(history: Histories, row: QuorumVoters) -> None:
    """A leader has committed voters."""
    if not share_majorities(history.quorum[0].committed_voters, row.voters):
        note_breach_of_quorum(history, NUMBER, row)
