"""Timers of controllers: with ZooKeeper, of a quorum's active controller, of its voters.

The broker's own messages to its controller, and the timers of a broker that deals with a quorum,
are here too.
"""

from tidegauge.compiled.records import flag, i64
from tidegauge.simulation.messages.event import News, Timer


class ControllerStart(News, kind=70):
    """The broker of this controller has registered."""

    session: i64


class ControllerWorks(Timer, kind=71):
    """The work of a phase is done, and its answers are there."""

    #: The generation of the controller's session; events of an older one are void.
    generation: i64


class SessionLost(News, kind=72):
    """The session of this controller's broker has expired."""


class BrokerDied(News, kind=74):
    """The broker of this controller is gone."""


class ControlRetries(Timer, kind=76):
    """A request to a broker is sent again after the back-off."""

    generation: i64
    #: The broker, and the number under which the request was sent.
    broker: i64


class ControlTimeout(Timer, kind=77):
    """A broker may not have responded within controller.socket.timeout.ms."""

    generation: i64
    broker: i64


class AutoLeaderRebalance(Timer, kind=78):
    """The controller looks whether leaders are where they should be."""

    controller_epoch: i64


class UncleanElectionEnabled(News, kind=79):
    """A topic's settings allow unclean election from now on."""

    topic: i64


class QuorumStart(Timer, kind=112):
    """The controller begins to run."""


class QuorumWorks(Timer, kind=113):
    """The controller's thread is done with an event, and takes the next one of its queue."""


class ControllerTask(Timer):
    """A task of the active controller: it ends with the epoch in which it was begun."""

    epoch: i64


class FencingCheck(ControllerTask, kind=116):
    """The controller looks for brokers whose session has timed out."""


class NoOpDue(ControllerTask, kind=117):
    """metadata.max.idle.interval.ms are over."""


class PreferredLeaderBalance(ControllerTask, kind=118):
    """leader.imbalance.check.interval.seconds are over."""


class UncleanElectionCheck(ControllerTask, kind=119):
    """unclean.leader.election.interval.ms are over."""


class RaftFetchExpires(Timer, kind=120):
    """An observer's fetch may have waited for long enough."""


class RegistrationTimeout(Timer, kind=121):
    """A registration, or a heartbeat, may have got no response in time."""


class ControllerLookedFor(Timer, kind=162):
    """A broker looks for the controller again, to send its pending registration or heartbeat."""

    #: The number of its subject.
    number: i64


class AllocateProducerIdsDue(Timer, kind=169):
    """A broker looks again whom to ask for producer ids, as there was no controller or response."""

    #: The correlation id of the request.
    number: i64
    #: Its connection has failed to authenticate.
    failed: flag


class HeartbeatDue(Timer, kind=122):
    """It is time for a broker to register, or for its next heartbeat."""

    #: Only the last one that was set counts.
    number: i64


class RaftFetchTimeout(Timer, kind=123):
    """A broker's fetch of the metadata log may have got no response in time."""


class RaftFetchDue(Timer, kind=124):
    """A broker fetches the metadata log: for the first time, or again after a failure."""


class MetadataPublicationResume(Timer, kind=125):
    """A broker has come to the next phase of a publication of metadata."""


class InitialRegistrationExpires(Timer, kind=126):
    """initial.broker.registration.timeout.ms are over."""


class LifecycleBegins(Timer, kind=140):
    """The process of a broker is up: it looks for the controller, and registers."""


class ReadyToUnfence(Timer, kind=141):
    """A broker has published its first metadata, and all the rest of it is ready."""


class ControlledShutdownExpires(Timer, kind=142):
    """A broker has waited long enough for the controller's leave to shut down."""


class LogDirFailureExpires(Timer, kind=143):
    """log.dir.failure.timeout.ms are over."""

    directory: i64


class ControlledShutdownBegins(Timer, kind=144):
    """A stopping broker asks for the controller's permission from now on."""


class QuorumSample(Timer, kind=127):
    """The active controller's metadata log is sampled, every sample_every."""


class LeadershipClaimed(Timer, kind=151):
    """The voter is the leader of an epoch, and has committed a record of it."""

    epoch: i64
    #: All records before this one are committed; those were written before the claim.
    offset: i64


class LeadershipLost(Timer, kind=152):
    """The voter has lost the leadership of an epoch."""

    epoch: i64


class QuorumCommits(Timer, kind=115):
    """A majority has the log up to an offset, as the leader of an epoch knows."""

    offset: i64
    epoch: i64


class QuorumAppended(Timer, kind=153):
    """There is more in the leader's log, committed or not, for observers that wait."""


class SnapshotDue(Timer, kind=165):
    """The controller is to write a snapshot of its voter's committed state."""

    #: The end of the snapshot, and the epoch of the last record in it.
    offset: i64
    epoch: i64


class VoterStopped(Timer, kind=154):
    """A stopping voter has a successor, or has waited for long enough."""


class QuorumDrains(Timer, kind=114):
    """controller.quorum.append.linger.ms are over: pending appends are written."""

    epoch: i64


class RaftAppended(Timer, kind=155):
    """The leader has written records to its log: they can be fetched."""

    epoch: i64
    offset: i64


class RaftFlushed(Timer, kind=156):
    """A voter's log is on its disk up to an offset."""

    offset: i64
    #: The number of the log's truncations when the flush began.
    truncations: i64


class VoterDeadline(Timer, kind=157):
    """A voter's time in its state may be over."""

    #: Only the last one that was set counts.
    number: i64


class BeginQuorumEpochDue(Timer, kind=158):
    """It is time for a leader to notify voters of its epoch again."""

    epoch: i64


class VoterFetchDue(Timer, kind=159):
    """A follower fetches again after a failure."""


class VoterFetchTimeout(Timer, kind=160):
    """A follower's fetch may have got no response in time."""


class VoteTaken(Timer, kind=139):
    """A request for a vote, or a response to one, has come to a voter's thread."""

    #: Its place in the pool of events.
    message_index: i64


class VoterFetchExpires(Timer, kind=161):
    """A fetch of a voter may have waited at the leader for long enough."""


class VoterChangeExpires(Timer, kind=192):
    """controller.quorum.request.timeout.ms are over since a leader began to change its voters."""

    #: Only the last change counts.
    number: i64


class ResignRequested(Timer, kind=193):
    """A leader that is no voter any more has committed that, and resigns."""

    epoch: i64
