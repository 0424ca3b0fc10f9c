"""Rows of a broker as a process: start and end, log directories, shutdown, throttles."""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow, PartitionRow


class BrokerStarted(CanonicalRow, number=3):
    """A broker has started; its periodic tasks count from here."""

    STORY = "{broker} starts"

    broker: column.Broker


class BrokerLoading(CanonicalRow, number=17):
    """A broker's process has begun: it loads its logs, and reads again what may be torn."""

    STORY = (
        "{broker} begins: {clean}, {logs:log} to load until {until_us}, "
        "{records_to_recover:record} to read again"
    )

    broker: column.Broker
    clean: column.Clean
    logs: column.Logs
    records_to_recover: column.RecordsToRecover
    until_us: column.UntilUs


class CheckpointRead(PartitionRow, number=18):
    """A replica on disk at a start; -1: the checkpoint does not have it."""

    STORY = (
        "finds on disk: high watermark {high_watermark}, recovery point {recovery_point}, log"
        " end offset {log_end_offset}, {epoch_count:leader epoch}"
    )

    high_watermark: column.HighWatermark
    recovery_point: column.RecoveryPoint
    log_end_offset: column.LogEndOffset
    epoch_count: column.EpochCount


class BrokerStopped(CanonicalRow, number=25):
    """A broker's process is gone; stop as in STOPS."""

    STORY = "{broker} is gone: {stop}"

    broker: column.Broker
    stop: column.Stop


class LogDirFailed(CanonicalRow, number=75):
    """A write has failed: a broker gives up a log directory, or halts."""

    STORY = "cannot write to log directory {directory}"

    broker: column.Broker
    directory: column.Directory


class ReplicaOffline(PartitionRow, number=76):
    """A replica cannot be used any more, as its log directory (-1: one of those) is offline."""

    STORY = "its replica is offline with log directory {directory}"

    directory: column.Directory


class ControlledShutdownSent(CanonicalRow, number=27):
    """A broker that is to stop asks the controller to move its leaders away."""

    STORY = "asks {to_process} to move its leaders away, attempt {attempt}"

    broker: column.Broker
    to_process: column.ToProcess
    attempt: column.Attempt


class ControlledShutdownAnswered(CanonicalRow, number=28):
    """A broker that is to stop gets the number of partitions that it still leads."""

    STORY = "gets the response to attempt {attempt}: {error}, {remaining:partition} still led here"

    broker: column.Broker
    attempt: column.Attempt
    error: column.Error
    remaining: column.Remaining


class ThrottlesApplied(CanonicalRow, number=79):
    """A broker throttles so many of its replicas, to bytes a second; -1: without a limit."""

    STORY = (
        "throttles replication: {leader_replicas:replica} that it leads to "
        "{leader_rate_bytes}, {follower_replicas} that it follows to {follower_rate_bytes}"
    )

    broker: column.Broker
    leader_rate_bytes: column.LeaderRateBytes
    follower_rate_bytes: column.FollowerRateBytes
    leader_replicas: column.LeaderReplicas
    follower_replicas: column.FollowerReplicas


class DuplicateFound(PartitionRow, number=103):
    """A leader has a batch of an idempotent producer already, and does not append it again."""

    STORY = "has the batch of {records:record} of {from_process} already, at offset {offset}"

    from_process: column.FromProcess
    records: column.Records
    offset: column.Offset


class RequestRefused(CanonicalRow, number=14):
    """A broker has refused a request of a client, or responded with an error."""

    STORY = "refuses {api_key} of {from_process}: {error} (offset {offset})"

    api_key: column.ApiKey
    partition: column.Partition
    from_process: column.FromProcess
    error: column.Error
    offset: column.Offset
