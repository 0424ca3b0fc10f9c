"""The tables of a quorum's voters, laid out for a scenario; in ZooKeeper mode they are empty."""

from __future__ import annotations

from tidegauge.compiled.records import R, Records, grown, new_records
from tidegauge.controller.raft.state import (
    AppendedBatch,
    ControllerRequestStats,
    EpochStart,
    FollowerProgress,
    Raft,
    Snapshot,
    Voter,
    VoterStats,
)
from tidegauge.replication.errors import ERROR_COUNT
from tidegauge.replication.kraft_releases import kraft_rules_of
from tidegauge.replication.kraft_rules import ELECTION_LOSS_WAITS
from tidegauge.scenario.cluster_plan import ClusterPlan, PlannedQuorum
from tidegauge.simulation.histograms import BUCKETS, Bucket, ErrorCount
from tidegauge.simulation.messages.request_types import CONTROLLER_TYPE_COUNT

#: As the run begins this voter leads this epoch.
_FIRST_LEADER = 0
_FIRST_EPOCH = 1

#: So many epochs each log has room for at first, and so many snapshots each voter.
_EPOCHS = 16
_SNAPSHOTS = 8
#: So many batches that are not committed are measured at most.
_BATCHES = 64


def new_raft(plan: ClusterPlan) -> Raft:
    """Voters that have elected a leader before the run."""
    count = len(plan.controllers)
    types = count * int(CONTROLLER_TYPE_COUNT)
    raft = Raft(
        voters=new_records(Voter, count),
        epoch_starts=new_records(EpochStart, count * _EPOCHS),
        snapshots=new_records(Snapshot, count * _SNAPSHOTS),
        follower_progress=new_records(FollowerProgress, count * count),
        voter_stats=new_records(VoterStats, count),
        appended_batches=new_records(AppendedBatch, count * _BATCHES),
        controller_requests=new_records(ControllerRequestStats, types),
        controller_request_errors=new_records(ErrorCount, types * int(ERROR_COUNT)),
        controller_request_times=new_records(Bucket, types * int(BUCKETS)),
    )
    if plan.quorum is not None:
        _set_settings(plan, plan.quorum, raft)
    return raft


def _set_settings(plan: ClusterPlan, planned: PlannedQuorum, raft: Raft) -> None:
    """The settings of the controllers, and what differs between releases."""
    rules = kraft_rules_of(plan.scenario.release, plan.scenario.metadata_version)
    for voter in raft.voters:
        voter.epoch = _FIRST_EPOCH
        voter.leader = _FIRST_LEADER
        voter.append_linger_us = planned.append_linger_ms * 1000
        voter.election_timeout_us = planned.election_timeout_ms * 1000
        voter.election_backoff_max_us = planned.election_backoff_max_ms * 1000
        voter.fetch_timeout_us = planned.fetch_timeout_ms * 1000
        voter.request_timeout_us = planned.request_timeout_ms * 1000
        voter.retry_backoff_us = planned.retry_backoff_ms * 1000
        voter.snapshot_max_bytes = planned.snapshots.max_bytes
        voter.snapshot_interval_us = planned.snapshots.interval_ms * 1000
        voter.retention_bytes = planned.retention_bytes
        voter.retention_us = planned.retention_ms * 1000
        voter.fetch_carries_high_watermark = rules.metadata_fetch_carries_high_watermark
        voter.checks_quorum = rules.leader_checks_quorum
        voter.has_pre_vote = rules.pre_vote
        voter.waits_after_loss = rules.election_loss_rule == ELECTION_LOSS_WAITS


def enlarge_raft(world: Raft) -> None:
    """Enlarge the room for epochs and snapshots once half of that of one voter is in use."""
    count = len(world.voters)
    if count == 0:
        return
    epochs = max(int(voter.epoch_count) for voter in world.voters)
    world.epoch_starts = _enlarged(world.epoch_starts, count, epochs)
    snapshots = max(int(voter.snapshot_count) for voter in world.voters)
    world.snapshots = _enlarged(world.snapshots, count, snapshots)


def _enlarged(table: Records[R], voters: int, used: int) -> Records[R]:
    """A table with twice the room for each voter, if more than half of that of one is used."""
    room = len(table) // voters
    if 2 * used <= room:
        return table
    larger = grown(table, 2 * len(table))
    for number in range(1, voters):
        for place in range(room):
            larger[2 * number * room + place] = table[number * room + place]
    return larger
