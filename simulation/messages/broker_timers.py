"""Timers of a broker."""

from __future__ import annotations

from tidegauge.compiled.records import i64
from tidegauge.simulation.messages.event import Timer


class BrokerStart(Timer, kind=30):
    """..."""


class HandlerFree(Timer, kind=31):
    """..."""


class HandlerGoesOn(Timer, kind=40):
    """A request that takes its time, partition by partition."""


class ProduceExpires(Timer, kind=32):
    """..."""


class FetchExpires(Timer, kind=33):
    """..."""


class FollowerFetchExpires(Timer, kind=25):
    """..."""


class FetcherWakes(Timer, kind=34):
    """..."""


class FetcherGivesUp(Timer, kind=35):
    """..."""


class IsrExpiration(Timer, kind=36):
    """..."""


class IsrChangePropagation(Timer, kind=37):
    """..."""


class SessionPing(Timer, kind=38):
    """..."""


class Sample(Timer, kind=39):
    """..."""


class LoadingBegins(Timer, kind=47):
    """..."""


class LogsLoaded(Timer, kind=41):
    """..."""


class HighWatermarkCheckpoint(Timer, kind=42):
    """..."""


class RecoveryPointCheckpoint(Timer, kind=43):
    """..."""


class ShutdownRetries(Timer, kind=44):
    """..."""


class ShutdownGivesUp(Timer, kind=45):
    """..."""


class BrokerStops(Timer, kind=46):
    """..."""


class OffsetsLoaded(Timer, kind=68):
    """A coordinator has read what its partition of __consumer_offsets holds."""


class MemberExpires(Timer, kind=65):
    """A member of a group may not have been heard for its session time-out."""


class AlterPartitionDue(Timer, kind=49):
    """AlterPartition: time to send (again), and the request in flight fails."""


class AlterPartitionGivesUp(Timer, kind=27):
    """..."""


class SessionReconnects(Timer, kind=28):
    """The client of a session that has expired is connected again."""

    session: i64


class RegistrationDue(Timer, kind=29):
    """..."""


class LogDirFails(Timer, kind=26):
    """LogDirFailureHandler learns of a directory in which a write has failed."""
