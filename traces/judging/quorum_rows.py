"""The rows about the controllers of a quorum, and the checks that they can break."""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.codes import (
    CANDIDATE,
    ELR_VERSION,
    FOLLOWER,
    LEADER,
    LOADED,
    PROSPECTIVE,
    VOTER_STOPPED,
)
from tidegauge.simulation.trace_rows.controller_rows import (
    FeatureLevelFinalized,
    MetadataSnapshot,
    QuorumVoters,
    VoterChangeAnswered,
    VoterLog,
    VoterState,
)
from tidegauge.simulation.trace_rows.process_rows import FaultBegan, FaultEnded
from tidegauge.simulation.trace_rows.row import Row
from tidegauge.traces.checks.histories import Histories
from tidegauge.traces.quorum_checks.committed_metadata_kept import (
    check_commit,
    check_majority,
    check_snapshot,
)
from tidegauge.traces.quorum_checks.committed_voters_kept import (
    check_committed,
    check_removal,
    check_voters_of_leader,
)
from tidegauge.traces.quorum_checks.elected_by_majority import check_votes
from tidegauge.traces.quorum_checks.metadata_log_matching import check_new_epoch
from tidegauge.traces.quorum_checks.metadata_logs import (
    begin_behind_snapshot,
    begin_run,
    cut_log,
    last_epoch,
)
from tidegauge.traces.quorum_checks.one_quorum_leader import check_leader
from tidegauge.traces.quorum_checks.one_voter_change import check_change
from tidegauge.traces.quorum_checks.quorum_leader_complete import check_log_of_leader
from tidegauge.traces.quorum_checks.quorum_progress import check_progress
from tidegauge.traces.quorum_checks.roles_match_states import (
    check_commit_of_leader,
    check_role,
    note_late_removal,
)
from tidegauge.traces.quorum_checks.voter_sets import (
    commit_voters,
    lose_disk,
    note_vote,
    use_voters,
)
from tidegauge.traces.quorum_checks.voter_sets_overlap import check_overlap
from tidegauge.traces.quorum_checks.voters_follow_log import check_truncation, check_voters_in_log


@inner_rule
def take_quorum_row(history: Histories, row: Row) -> None:
    """Take a row about the quorum, or about an obstacle to its progress."""
    check_progress(history, row)
    if history.quorum[0].voters_may_change:
        _take_row_about_voters(history, row)
    if row.kind == VoterState.KIND:
        _take_state(history, view_as(row, VoterState))
    elif row.kind == VoterLog.KIND:
        _take_log(history, view_as(row, VoterLog))
    elif row.kind == MetadataSnapshot.KIND:
        _take_snapshot(history, view_as(row, MetadataSnapshot))
    elif row.kind == FeatureLevelFinalized.KIND:
        finalized = view_as(row, FeatureLevelFinalized)
        if finalized.feature == ELR_VERSION:
            history.facts[0].has_elr = finalized.feature_level > 0
    elif row.kind == FaultBegan.KIND:
        began = view_as(row, FaultBegan)
        history.quorum[0].changed_us = row.time_us
        if not history.faults[began.fault].is_over_at_once:
            history.quorum[0].active_faults += 1
    elif row.kind == FaultEnded.KIND:
        history.quorum[0].changed_us = row.time_us
        history.quorum[0].active_faults -= 1


@inner_rule
def _take_state(history: Histories, row: VoterState) -> None:
    log = row.broker - history.quorum[0].first_controller
    check_leader(history, row)
    if row.voter_state == LEADER:
        check_log_of_leader(history, row, log)


@inner_rule
def _take_row_about_voters(history: Histories, row: Row) -> None:
    """Take a row of a quorum whose voters may change."""
    if row.kind == QuorumVoters.KIND:
        _take_voters(history, view_as(row, QuorumVoters))
    elif row.kind == VoterState.KIND:
        _take_role(history, view_as(row, VoterState))
    elif row.kind == VoterLog.KIND:
        check_truncation(history, view_as(row, VoterLog))
    elif row.kind == VoterChangeAnswered.KIND:
        check_removal(history, view_as(row, VoterChangeAnswered))
        note_late_removal(history, view_as(row, VoterChangeAnswered))
    elif row.kind == FaultBegan.KIND:
        began = view_as(row, FaultBegan)
        if history.faults[began.fault].takes_disks:
            lose_disk(history, row.process)


@inner_rule
def _take_voters(history: Histories, row: QuorumVoters) -> None:
    if row.voters_committed:
        check_overlap(history, row)
        check_committed(history, row)
        commit_voters(history, row)
    else:
        check_change(history, row)
        use_voters(history, row)


@inner_rule
def _take_role(history: Histories, row: VoterState) -> None:
    log = row.broker - history.quorum[0].first_controller
    check_role(history, row, log)
    note_vote(history, row)
    known = history.controllers[log]
    if known.is_stopped and row.voter_state != VOTER_STOPPED:
        history.quorum[0].changed_us = row.time_us
    known.is_stopped = row.voter_state == VOTER_STOPPED
    known.leads = row.voter_state == LEADER
    known.follows = row.voter_state == FOLLOWER
    known.commits_since_removal = NONE
    known.was_removed_late = False
    if row.voter_state in (PROSPECTIVE, CANDIDATE, LEADER):
        check_voters_in_log(history, row, log)
    if row.voter_state == LEADER:
        check_voters_of_leader(history, row)
        check_votes(history, row, log)


@inner_rule
def _take_snapshot(history: Histories, row: MetadataSnapshot) -> None:
    check_snapshot(history, row)
    log = row.broker - history.quorum[0].first_controller
    if row.snapshot_step == LOADED and log >= 0:
        begin_behind_snapshot(history, log, row.end_offset)


@inner_rule
def _take_log(history: Histories, row: VoterLog) -> None:
    log = row.broker - history.quorum[0].first_controller
    known = history.metadata_logs[log]
    if row.log_end_offset < known.end_offset:
        cut_log(history, log, row.log_end_offset)
        check_majority(history, row)
    if row.log_end_offset > known.end_offset and row.quorum_epoch != last_epoch(history, log):
        check_new_epoch(history, row, log)
        begin_run(history, log, row.quorum_epoch, known.end_offset)
    known.end_offset = row.log_end_offset
    known.is_told = True
    check_commit_of_leader(history, row, log)
    check_commit(history, row, log)
