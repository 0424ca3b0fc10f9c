"""Rows of faults and of the steps by which a scenario acts."""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow


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
