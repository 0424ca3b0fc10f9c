"""In each epoch of a quorum one controller leads at most, and all others know it as the leader.

A controller votes once in an epoch, and has its vote on its disk before it answers.

Permitted: never.

Example: ``tidegauge run 24-returning-voter --set 'release="3.9"'`` keeps it. Two controllers of
23-isolated-controller count themselves as leaders, but in two epochs.

Source: the Election Safety property of Raft; QuorumState.transitionToLeader@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.controller_rows import VoterState
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks.metadata_logs import epoch_known

#: Its place among the checks.
NUMBER = code(13)
ONLY_WITH_KRAFT = True


@inner_rule
def check_leader(history: Histories, row: VoterState) -> None:
    """A controller knows a leader of its epoch, or is it."""
    if row.quorum_leader == NONE:
        return
    epoch = epoch_known(history, row.quorum_epoch)
    if epoch.leader not in (NONE, row.quorum_leader):
        note_breach_of_quorum(history, NUMBER, row)
    epoch.leader = row.quorum_leader
