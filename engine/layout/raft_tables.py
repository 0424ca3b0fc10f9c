"""The tables of a quorum's voters, laid out for a scenario; in ZooKeeper mode they are empty."""

from __future__ import annotations

from tidegauge.compiled.records import new_records
from tidegauge.controller.raft.state import (
    AppendedBatch,
    ControllerRequestStats,
    EpochStart,
    FollowerProgress,
    Raft,
    Voter,
    VoterStats,
)
from tidegauge.replication.errors import ERROR_COUNT
from tidegauge.replication.release_versions import ProtocolVersion, Release
from tidegauge.scenario.cluster_plan import ClusterPlan, PlannedQuorum
from tidegauge.simulation.histograms import BUCKETS, Bucket, ErrorCount
from tidegauge.simulation.messages.request_types import CONTROLLER_TYPE_COUNT

#: As the run begins this voter leads this epoch.
_FIRST_LEADER = 0
_FIRST_EPOCH = 1

#: So many epochs each log has room for at first.
_EPOCHS = 16
#: ... and so many batches that are not committed are measured at most.
_BATCHES = 64


def new_raft(plan: ClusterPlan) -> Raft:
    """Voters that have elected a leader before the run."""
    count = len(plan.controllers)
    types = count * int(CONTROLLER_TYPE_COUNT)
    raft = Raft(
        voters=new_records(Voter, count),
        epoch_starts=new_records(EpochStart, count * _EPOCHS),
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
    release = Release.parse(plan.scenario.release)
    version = ProtocolVersion.parse(plan.scenario.version_in_force())
    for voter in raft.voters:
        voter.epoch = _FIRST_EPOCH
        voter.leader = _FIRST_LEADER
        voter.append_linger_us = planned.append_linger_ms * 1000
        voter.election_timeout_us = planned.election_timeout_ms * 1000
        voter.election_backoff_max_us = planned.election_backoff_max_ms * 1000
        voter.fetch_timeout_us = planned.fetch_timeout_ms * 1000
        voter.request_timeout_us = planned.request_timeout_ms * 1000
        voter.retry_backoff_us = planned.retry_backoff_ms * 1000
        voter.fetch_carries_high_watermark = version >= ProtocolVersion.parse("4.1-IV1")
        voter.checks_quorum = release >= Release.parse("3.7.0")
        voter.has_pre_vote = release >= Release.parse("4.0.0")
        voter.waits_after_loss = release >= Release.parse("4.1.0")


def enlarge_raft(world: Raft) -> None:
    """Enlarge the room for the epochs of all logs once half of that of one is in use."""
    count = len(world.voters)
    if count == 0:
        return
    room = len(world.epoch_starts) // count
    if 2 * max(int(voter.epoch_count) for voter in world.voters) <= room:
        return
    larger = new_records(EpochStart, 2 * len(world.epoch_starts))
    for number in range(count):
        for place in range(number * room, (number + 1) * room):
            larger[place + number * room] = world.epoch_starts[place]
    world.epoch_starts = larger
