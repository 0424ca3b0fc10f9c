"""Timers of a voter of a KRaft quorum.

The first ones are what its Raft client reports to its controller (Kafka: RaftClient.Listener).
"""

from __future__ import annotations

from tidegauge.compiled.records import i64
from tidegauge.simulation.messages.event import Timer


class LeadershipClaimed(Timer, kind=151):
    """The voter is the leader of an epoch, and has committed a record of it."""

    epoch: i64
    #: All records before this one are committed; those were written before the claim.
    offset: i64


class LeadershipLost(Timer, kind=152):
    """The voter is not the leader of an epoch any more."""

    epoch: i64


class QuorumCommits(Timer, kind=115):
    """A majority has the log up to an offset, as the leader of an epoch knows."""

    offset: i64
    epoch: i64


class QuorumAppended(Timer, kind=153):
    """There is more in the leader's log, committed or not, for observers that wait."""


class SnapshotDue(Timer, kind=165):
    """The controller is to write a snapshot of what its voter has committed."""

    #: The end of the snapshot, and the epoch of the last record in it.
    offset: i64
    epoch: i64


class VoterStopped(Timer, kind=154):
    """A voter that was told to stop has a successor, or has waited for long enough."""


class QuorumDrains(Timer, kind=114):
    """controller.quorum.append.linger.ms are over: what was appended is written."""

    epoch: i64


class RaftAppended(Timer, kind=155):
    """The leader has written records to its log: they can be fetched."""

    epoch: i64
    offset: i64


class RaftFlushed(Timer, kind=156):
    """A voter's log is on its disk up to an offset."""

    offset: i64
    #: How often the log had been truncated when the flush began.
    truncations: i64


class VoterDeadline(Timer, kind=157):
    """A voter's time in its state may be over."""

    #: Only the last one that was set counts.
    number: i64


class BeginQuorumEpochDue(Timer, kind=158):
    """It is time for a leader to tell those again that do not fetch."""

    epoch: i64


class VoterFetchDue(Timer, kind=159):
    """A follower fetches again after a failure."""


class VoterFetchGivesUp(Timer, kind=160):
    """A follower's fetch may have got no response in time."""


class VoterFetchExpires(Timer, kind=161):
    """A fetch of a voter may have waited at the leader for long enough."""
