"""Rows of processes: brokers, coordinators of consumer groups, faults and steps.

A broker's rows are its start and end, its log directories, shutdown and throttles.
"""

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow, PartitionRow


class BrokerStarted(CanonicalRow, number=3):
    """A broker has started; its periodic tasks count from here."""

    STORY = "{broker} starts"

    broker: column.Broker


class BrokerLoading(CanonicalRow, number=17):
    """A broker's process has begun: it loads its logs, and reads parts again that may be torn."""

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
    """A replica cannot be used, as its log directory (-1: one of those) is offline."""

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


class CoordinatorLoading(PartitionRow, number=80):
    """A broker leads a partition of __consumer_offsets, and reads it to coordinate its groups."""

    STORY = (
        "leads in epoch {leader_epoch}, and reads committed offsets of groups, to before "
        "{log_end_offset}, until {until_us}"
    )

    leader_epoch: column.LeaderEpoch
    log_end_offset: column.LogEndOffset
    until_us: column.UntilUs


class CoordinatorLoaded(PartitionRow, number=81):
    """A broker has read the committed offsets of groups, and coordinates them."""

    STORY = (
        "has read {offset_count:committed offset} and {member_count:member} to before "
        "{log_end_offset}, and coordinates their groups"
    )

    leader_epoch: column.LeaderEpoch
    log_end_offset: column.LogEndOffset
    offset_count: column.OffsetCount
    member_count: column.MemberCount


class CoordinatorUnloaded(PartitionRow, number=82):
    """A broker no longer coordinates the groups of a partition."""

    STORY = "no longer coordinates groups, in epoch {leader_epoch}"

    leader_epoch: column.LeaderEpoch


class MemberJoined(PartitionRow, number=83):
    """A coordinator takes a consumer into its group; start: the number of its earlier starts."""

    STORY = "takes {from_process} into its group"

    from_process: column.FromProcess
    start: column.Start


class MemberExpired(PartitionRow, number=84):
    """A coordinator removes a consumer from its group: silent for session.timeout.ms."""

    STORY = "takes {from_process} out of its group, silent for {silent_us}"

    from_process: column.FromProcess
    silent_us: column.SilentUs


class FaultRow(CanonicalRow):
    """A fault of the scenario begins or ends."""

    fault: column.Fault
    fault_kind: column.FaultKind


class FaultBegan(FaultRow, number=1):
    """A fault of the scenario has begun in this process."""

    STORY = "{fault} begins"


class FaultEnded(FaultRow, number=2):
    """A fault of the scenario has ended in this process."""

    STORY = "{fault} ends"


class PinRow(CanonicalRow):
    """A pin of the scenario acts on a message to this process."""

    pin: column.Pin
    message_kind: column.MessageKind
    from_process: column.FromProcess
    partition: column.Partition


class MessageHeld(PinRow, number=129):
    """A pin of the scenario holds a message to this process."""

    STORY = "pin {pin} holds {message_kind} of {from_process}"


class MessageReleased(PinRow, number=130):
    """A message that a pin has held is delivered; held_us: the time that it was held."""

    STORY = "pin {pin} releases {message_kind} of {from_process}, held for {held_us}"

    held_us: column.HeldUs


class MessageDropped(PinRow, number=131):
    """A pin of the scenario drops a message to this process, and no end notices."""

    STORY = "pin {pin} drops {message_kind} of {from_process}"


class MessageDuplicated(PinRow, number=132):
    """A pin of the scenario keeps a second copy of a message, which is delivered later."""

    STORY = "pin {pin} keeps a second copy of {message_kind} of {from_process}"


class StepTaken(CanonicalRow, number=41):
    """A step of the scenario is taken."""

    STORY = "step {step} of the scenario is taken"

    step: column.Step


class StepTimedOut(CanonicalRow, number=42):
    """The condition of a step was not met in time."""

    STORY = "the condition of step {step} was not met in time"

    step: column.Step


class StepAnswered(CanonicalRow, number=46):
    """The request of a step has got its response."""

    STORY = (
        "step {step} ends with {error} ({from_process}), offset {offset}, end offset "
        "{end_offset}, epoch {epoch}"
    )

    step: column.Step
    from_process: column.FromProcess
    error: column.Error
    offset: column.Offset
    end_offset: column.EndOffset
    epoch: column.Epoch
    high_watermark: column.HighWatermark


class StepPartitionAnswered(CanonicalRow, number=97):
    """The active controller has refused the request of a step for one partition (KRaft)."""

    STORY = "step {step} ends with {error} for this partition"

    step: column.Step
    partition: column.Partition
    error: column.Error


class StepUnanswered(CanonicalRow, number=47):
    """The request of a step has got no response in time, or its connection is closed."""

    STORY = "step {step} gets no response from {from_process}: {error}"

    step: column.Step
    from_process: column.FromProcess
    error: column.Error


class RollProgress(CanonicalRow, number=74):
    """Progress of a rolling restart, as in ROLL_STATES; broker: the batch's first."""

    STORY = (
        "{fault}: {progress} ({broker_count:broker}, from {broker} on); {unregistered} "
        "unregistered, {under_replicated:partition} under-replicated"
    )

    fault: column.Fault
    progress: column.Progress
    broker: column.Broker
    broker_count: column.BrokerCount
    unregistered: column.Unregistered
    under_replicated: column.UnderReplicated


class Observed(CanonicalRow, number=53):
    """A replica as a step sees it, dead or alive; high_watermark may be one of UNSEEN."""

    STORY = (
        "has a log to before {log_end_offset}, high watermark {high_watermark}, in its "
        "checkpoint {checkpointed}; recovery point {recovery_point}, {epoch_count:leader "
        "epoch}, at step {step}"
    )

    step: column.Step
    partition: column.Partition
    log_end_offset: column.LogEndOffset
    high_watermark: column.SeenHighWatermark
    checkpointed: column.Checkpointed
    recovery_point: column.RecoveryPoint
    epoch_count: column.EpochCount


class HighWatermarkTold(CanonicalRow, number=58):
    """The high watermark of a replica that was locked when a step observed it."""

    STORY = "has high watermark {high_watermark}, which step {step} has requested"

    step: column.Step
    partition: column.Partition
    high_watermark: column.HighWatermark


class EpochObserved(CanonicalRow, number=54):
    """One leader epoch of an observed replica."""

    STORY = "has leader epoch {epoch} from {start_offset} on, at step {step}"

    step: column.Step
    partition: column.Partition
    epoch: column.Epoch
    start_offset: column.StartOffset
