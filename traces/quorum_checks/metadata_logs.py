"""The memory of checks of a quorum's controllers: the leader of each epoch, and each log.

A log is described by where its records of each epoch begin. A row ``voter_log`` names the epoch of
the last record, and each epoch that is new in a log has a row, so logs are known from them. The
committed records are such a log, too: as far as the high watermark of any controller has ever
reached, with the records that this one had.
"""

from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.replication.records import EpochEntry
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.histories import Histories, MetadataLog, QuorumEpoch


@rule
def needs_quorum_room(history: Histories) -> bool:
    """Whether there may be no room for the content of the next row about a quorum."""
    logs = len(history.metadata_logs)
    if logs == 0:
        return False
    quorum = history.quorum[0]
    return (
        len(history.quorum_epochs) <= quorum.epochs + 1
        or len(history.metadata_runs) // logs <= quorum.longest_log + 1
    )


@inner_rule
def epoch_known(history: Histories, epoch: int) -> QuorumEpoch:
    """The record of an epoch, which may be empty yet."""
    quorum = history.quorum[0]
    # The newest ones are asked for most.
    number = quorum.epochs - 1
    while number >= 0 and history.quorum_epochs[number].epoch != epoch:
        number -= 1
    if number < 0:
        number = quorum.epochs
        quorum.epochs += 1
        history.quorum_epochs[number].epoch = epoch
    return history.quorum_epochs[number]


@inner_rule
def committed_number(history: Histories) -> int:
    """The number of the committed log, behind the logs of all controllers."""
    return len(history.metadata_logs) - 1


@inner_rule
def run_of(history: Histories, log: int, number: int) -> EpochEntry:
    """The records of one epoch in a log, the oldest first."""
    return history.metadata_runs[log * _room(history) + number]


@inner_rule
def _room(history: Histories) -> int:
    return len(history.metadata_runs) // len(history.metadata_logs)


@inner_rule
def last_epoch(history: Histories, log: int) -> int:
    """The epoch of a log's last record; NONE if it is empty."""
    count = history.metadata_logs[log].runs
    return run_of(history, log, count - 1).epoch if count > 0 else NONE


@inner_rule
def is_newer_log(history: Histories, one: int, other: int) -> bool:
    """Whether a log is ahead of another one, as voters compare them."""
    mine, yours = last_epoch(history, one), last_epoch(history, other)
    if mine != yours:
        return mine > yours
    return history.metadata_logs[one].end_offset > history.metadata_logs[other].end_offset


@inner_rule
def begin_run(history: Histories, log: int, epoch: int, start_offset: int) -> None:
    """Records of another epoch begin in a log."""
    known = history.metadata_logs[log]
    run = run_of(history, log, known.runs)
    run.epoch = epoch
    run.start_offset = start_offset
    known.runs += 1
    history.quorum[0].longest_log = max(history.quorum[0].longest_log, known.runs)


@inner_rule
def cut_log(history: Histories, log: int, end_offset: int) -> None:
    """A log ends earlier than it did."""
    known = history.metadata_logs[log]
    known.end_offset = end_offset
    while known.runs > 0 and run_of(history, log, known.runs - 1).start_offset >= end_offset:
        known.runs -= 1


@inner_rule
def extend_committed(history: Histories, log: int, end_offset: int) -> None:
    """Records up to an offset are committed in a log that has all that is committed."""
    committed = committed_number(history)
    known: MetadataLog = history.metadata_logs[committed]
    for number in range(known.runs, history.metadata_logs[log].runs):
        run = run_of(history, log, number)
        if run.start_offset < end_offset:
            begin_run(history, committed, run.epoch, run.start_offset)
    known.end_offset = end_offset


@inner_rule
def committed_before(history: Histories, epoch: int) -> int:
    """The offset below which the leaders of earlier epochs have committed the log."""
    end_offset = 0
    for number in range(history.quorum[0].epochs):
        known = history.quorum_epochs[number]
        if known.epoch < epoch:
            end_offset = max(end_offset, known.committed_end)
    return end_offset


@inner_rule
def begin_behind_snapshot(history: Histories, log: int, end_offset: int) -> None:
    """A log's records before the end of a snapshot are the snapshot's, all of them committed."""
    committed = committed_number(history)
    known: MetadataLog = history.metadata_logs[log]
    known.runs = 0
    for number in range(history.metadata_logs[committed].runs):
        run = run_of(history, committed, number)
        if run.start_offset < end_offset:
            begin_run(history, log, run.epoch, run.start_offset)
    known.end_offset = end_offset


@inner_rule
def agrees_until(history: Histories, one: int, other: int) -> int:
    """The offset up to which two logs have the same records."""
    fewest = min(history.metadata_logs[one].runs, history.metadata_logs[other].runs)
    number = 0
    while number < fewest and _is_same(history, one, other, number):
        number += 1
    if number == 0:
        return 0
    return min(_end_of_run(history, one, number - 1), _end_of_run(history, other, number - 1))


@inner_rule
def _is_same(history: Histories, one: int, other: int, number: int) -> bool:
    mine = run_of(history, one, number)
    yours = run_of(history, other, number)
    return mine.epoch == yours.epoch and mine.start_offset == yours.start_offset


@inner_rule
def _end_of_run(history: Histories, log: int, number: int) -> int:
    if number + 1 < history.metadata_logs[log].runs:
        return run_of(history, log, number + 1).start_offset
    return history.metadata_logs[log].end_offset


@inner_rule
def has_all_committed(history: Histories, log: int) -> bool:
    """Whether a log has every record that is committed."""
    committed = committed_number(history)
    end_offset = history.metadata_logs[committed].end_offset
    return agrees_until(history, log, committed) >= end_offset
