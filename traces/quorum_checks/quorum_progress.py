"""A quorum without faults commits something every 10 s, from 10 s after the last fault on.

The active controller writes a NoOpRecord every metadata.max.idle.interval.ms, so a quorum that
commits nothing has no leader. With that setting at 0, or at 5 s and more, the check gives no
verdict. Where voters may change, the fault of a controller lasts until that one has started again:
a leader that is restarted waits up to 5 s for another one before it stops.

Permitted: where voters may change (KIP-853), after a majority of them has lost its disks: a
controller with an empty disk is no voter, until it is added. And where no voter can be elected by
the rules of the release. A leader that removes itself is no voter any more as soon as that is in
its log. If it stops or resigns before a voter has the record, its log is the newest: it votes for
nobody, and may not stand for election itself (QuorumState.transitionToProspective@4.1.0). And a
leader that adds a voter may be gone before that one has the record, but not before another voter
has it: the new one takes itself for an observer, which follows a leader for ever, and refuses the
pre-vote that the other needs (KIP-996, FollowerState.canGrantVote@4.1.0).

Example: ``tidegauge run 22-quorum-lost``
keeps it: the quorum is down for longer, but by a fault.

Source: the election time-outs of KafkaRaftClient@4.1.0; KIP-996, KAFKA-18345 for livelocks.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.trace_rows.row import Row
from tidegauge.traces.checks.breaches import note_breach_of_voters
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks.voter_sets import what_stops_quorum

#: Its place among the checks.
NUMBER = code(18)
ONLY_WITH_KRAFT = True

#: The limit for a quorum's progress.
PROGRESS_US = code(10_000_000)


@inner_rule
def check_progress(history: Histories, row: Row) -> None:
    """Time has passed: something was committed, or a fault has acted, not long ago."""
    quorum = history.quorum[0]
    if quorum.active_faults > 0 or not quorum.writes_no_ops:
        return
    since_us = max(quorum.progress_us, quorum.changed_us)
    if row.time_us > since_us + PROGRESS_US:
        note_breach_of_voters(history, NUMBER, row, what_stops_quorum(history))
