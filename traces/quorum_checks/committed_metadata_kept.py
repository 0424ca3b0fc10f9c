"""No majority of the voters lacks a committed record of the metadata log, nor has another one.

A controller counts for a commit with the log on its disk, so a loss of power takes no committed
record from a majority. The voters are those that were committed last. Where they have directories
(KIP-853) one that has lost its disk is no voter any more, so it is not among those that lack it.
The voters that a leader has just appended may have committed a record: of an even number of former
voters as many may lack it as have it.

Permitted: never.

Example: ``tidegauge run 22-quorum-lost``
keeps it.

Source: the State Machine Safety property of Raft; KafkaRaftClient.flushLeaderLog and
appendAsFollower, LeaderState.maybeUpdateHighWatermark@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.trace_rows.controller_rows import MetadataSnapshot, VoterLog
from tidegauge.traces.checks.breaches import note_breach_of_quorum
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks import metadata_logs
from tidegauge.traces.quorum_checks.voter_sets import majority_lacks_committed

#: Its place among the checks.
NUMBER = code(16)
ONLY_WITH_KRAFT = True


@inner_rule
def check_majority(history: Histories, row: VoterLog) -> None:
    """More is committed, or a log is shorter: no majority lacks a committed record.

    Each controller first reports the log that it has had before the run.
    """
    told = 0
    for log in range(metadata_logs.committed_number(history)):
        told += 1 if history.metadata_logs[log].is_told else 0
    are_told = told == metadata_logs.committed_number(history)
    if are_told and majority_lacks_committed(history, history.quorum[0].committed_voters):
        note_breach_of_quorum(history, NUMBER, row)


@inner_rule
def check_snapshot(history: Histories, row: MetadataSnapshot) -> None:
    """A snapshot has committed records only."""
    if row.end_offset > history.metadata_logs[metadata_logs.committed_number(history)].end_offset:
        note_breach_of_quorum(history, NUMBER, row)


@inner_rule
def check_commit(history: Histories, row: VoterLog, log: int) -> None:
    """A controller has the committed end of its log: these are the committed records."""
    committed = metadata_logs.committed_number(history)
    end_offset = history.metadata_logs[committed].end_offset
    is_new = row.high_watermark > end_offset
    if metadata_logs.agrees_until(history, log, committed) < min(row.high_watermark, end_offset):
        note_breach_of_quorum(history, NUMBER, row)
    elif is_new:
        metadata_logs.extend_committed(history, log, row.high_watermark)
        # The leader is the first to know, and the last record is its own.
        metadata_logs.epoch_known(history, row.quorum_epoch).committed_end = row.high_watermark
        history.quorum[0].progress_us = row.time_us
        check_majority(history, row)
