"""The leader of a quorum has every record of the metadata log that an earlier epoch committed.

A controller does not vote for one whose log is behind its own, and committed records are in the
logs of a majority. So a new leader writes behind all that brokers have ever read. A vote can arrive
late, after others have elected the leader of a later epoch: its holder leads an epoch that is over,
without the records committed since, and can commit nothing.

Permitted: never.

Example: ``tidegauge run 22-quorum-lost``
keeps it.

Source: the Leader Completeness property of Raft; KafkaRaftClient.handleVoteRequest@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.trace_rows.controller_rows import VoterState
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks.metadata_logs import (
    agrees_until,
    committed_before,
    committed_number,
)

#: Its place among the checks.
NUMBER = code(14)
ONLY_WITH_KRAFT = True


@inner_rule
def check_log_of_leader(history: Histories, row: VoterState, log: int) -> None:
    """A controller begins to lead."""
    needed = committed_before(history, row.quorum_epoch)
    if agrees_until(history, log, committed_number(history)) < needed:
        note_breach_of_quorum(history, NUMBER, row)
