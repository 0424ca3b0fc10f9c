"""Timers of a broker."""

from __future__ import annotations

from tidegauge.compiled.records import i64
from tidegauge.simulation.messages.event import Timer


class BrokerStart(Timer, kind=30):
    """A broker is started at its appointed time."""


class HandlerFree(Timer, kind=31):
    """One of num.io.threads is free, and requests may wait for it."""


class HandlerGoesOn(Timer, kind=40):
    """A request that takes its time, partition by partition, or a slow disk's, goes on."""

    #: Its place in ``Kernel.events``.
    request_index: i64


class ConnectionFree(Timer, kind=132):
    """A producer's connection has its response: the next request is read from it."""

    #: The connection's place in ``Brokers.producer_connections``.
    connection: i64


class ProduceExpires(Timer, kind=32):
    """A produce may have waited for its time-out."""


class FetchExpires(Timer, kind=33):
    """A consumer's fetch has waited for fetch.max.wait.ms, if it still waits."""

    #: Its place in ``Kernel.events``, and which it was: the place may have been taken again.
    request_index: i64
    request_source: i64
    request_sequence: i64


class FollowerFetchExpires(Timer, kind=25):
    """A follower's fetch may have waited for replica.fetch.wait.max.ms."""

    #: The fetcher thread whose session it is.
    fetcher: i64


class FetcherWakes(Timer, kind=34):
    """A fetcher thread's back-off is over."""

    fetcher: i64


class FetcherGivesUp(Timer, kind=35):
    """A fetcher's request may have got no response within replica.socket.timeout.ms."""

    fetcher: i64


class IsrExpiration(Timer, kind=36):
    """isr-expiration runs."""


class IsrChangePropagation(Timer, kind=37):
    """isr-change-propagation runs."""


class SessionPing(Timer, kind=38):
    """Nothing may have been sent to ZooKeeper for a third of the session's time-out."""


class Sample(Timer, kind=39):
    """The ends of the logs and the gauges are written down, every sample_every."""


class LoadingBegins(Timer, kind=47):
    """The checkpoints are read, and the logs are to be loaded."""


class LogsLoaded(Timer, kind=41):
    """All logs are loaded."""


class HighWatermarkCheckpoint(Timer, kind=42):
    """highwatermark-checkpoint runs."""


class RecoveryPointCheckpoint(Timer, kind=43):
    """kafka-recovery-point-checkpoint runs."""


class ShutdownRetries(Timer, kind=44):
    """controlled.shutdown.retry.backoff.ms are over."""


class ShutdownGivesUp(Timer, kind=45):
    """The controller may not have answered a ControlledShutdown in time."""

    #: The attempt that it is about.
    attempt: i64


class BrokerStops(Timer, kind=46):
    """Everything of a broker that stops is on disk."""


class OffsetsLoaded(Timer, kind=68):
    """A coordinator has read what its partition of __consumer_offsets holds."""

    #: The replica.
    row: i64


class MemberExpires(Timer, kind=65):
    """A member of a group may not have been heard for its session time-out."""

    #: Its place in ``Brokers.commit_keys``.
    member_key: i64


class AlterPartitionDue(Timer, kind=49):
    """AlterPartition: time to send it, or to send it again."""


class AlterPartitionGivesUp(Timer, kind=27):
    """AlterPartition: the request in flight may have got no response in time."""


class SessionReconnects(Timer, kind=28):
    """The client of a session that has expired is connected again."""

    #: The session that was lost.
    session: i64


class RegistrationDue(Timer, kind=29):
    """The rest of a broker of 1.0 or older has started: it registers."""


class LogDirFails(Timer, kind=26):
    """LogDirFailureHandler learns of a directory in which a write has failed."""

    directory: i64


class RetentionCheck(Timer, kind=133):
    """Old segments are deleted, every log.retention.check.interval.ms."""
