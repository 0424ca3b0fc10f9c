"""Two metadata logs with a record of the same epoch at the same offset agree up to it.

One leader has written all records of an epoch, so they begin at the same offset in every log, and
behind the same epoch. A follower's log that differs from the leader's is truncated.

Permitted: never.

Example: ``tidegauge run 23-isolated-controller --set 'release="3.6"'`` keeps it. The one that was
cut off truncates the records that it wrote in that time.

Source: the Log Matching property of Raft; KafkaRaftClient.validateFetchOffsetAndEpoch@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.controller_rows import VoterLog
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks.metadata_logs import epoch_known, last_epoch

#: Its place among the checks.
NUMBER = code(15)
ONLY_WITH_KRAFT = True


@inner_rule
def check_new_epoch(history: Histories, row: VoterLog, log: int) -> None:
    """Records of another epoch begin at the end of a log."""
    epoch = epoch_known(history, row.quorum_epoch)
    start_offset = history.metadata_logs[log].end_offset
    previous_epoch = last_epoch(history, log)
    if epoch.start_offset == NONE:
        epoch.start_offset = start_offset
        epoch.previous_epoch = previous_epoch
    elif epoch.start_offset != start_offset or epoch.previous_epoch != previous_epoch:
        note_breach_of_quorum(history, NUMBER, row)
