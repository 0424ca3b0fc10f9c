"""Timers of a quorum's controller, and of a broker that deals with it."""

from __future__ import annotations

from tidegauge.compiled.records import i64
from tidegauge.simulation.messages.event import Timer


class QuorumStart(Timer, kind=112):
    """The controller begins to run."""


class QuorumWorks(Timer, kind=113):
    """The controller's thread is done with an event, and takes the next one of its queue."""


class ControllerTask(Timer):
    """A task of the active controller: it ends with the epoch in which it was begun."""

    epoch: i64


class FencingCheck(ControllerTask, kind=116):
    """The controller looks for brokers that it has not heard for their session time-out."""


class NoOpDue(ControllerTask, kind=117):
    """metadata.max.idle.interval.ms are over."""


class PreferredLeaderBalance(ControllerTask, kind=118):
    """leader.imbalance.check.interval.seconds are over."""


class UncleanElectionCheck(ControllerTask, kind=119):
    """unclean.leader.election.interval.ms are over."""


class RaftFetchExpires(Timer, kind=120):
    """An observer's fetch may have waited for long enough."""


class RegistrationGivesUp(Timer, kind=121):
    """A registration, or a heartbeat, may have got no response in time."""


class ControllerLookedFor(Timer, kind=162):
    """A broker looks again whom to send the registration or heartbeat that it has made."""

    #: Which one it is about.
    number: i64


class HeartbeatDue(Timer, kind=122):
    """It is time for a broker to register, or for its next heartbeat."""

    #: Only the last one that was set counts.
    number: i64


class RaftFetchGivesUp(Timer, kind=123):
    """A broker's fetch of the metadata log may have got no response in time."""


class RaftFetchDue(Timer, kind=124):
    """A broker fetches the metadata log: for the first time, or again after a failure."""


class MetadataPublicationGoesOn(Timer, kind=125):
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
    """A broker that was told to stop asks for the controller's leave from now on."""


class QuorumSample(Timer, kind=127):
    """The active controller's metadata log is looked at, every sample_every."""
