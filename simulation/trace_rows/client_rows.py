"""Rows of producers and consumers."""

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow, PartitionRow


class BatchFailed(PartitionRow, number=40):
    """A producer has given up a batch."""

    STORY = "producer gives up batch {batch} of {records:record} after {attempts:attempt}: {error}"

    batch: column.Batch
    error: column.Error
    attempts: column.Attempts
    records: column.Records


class SendFailed(PartitionRow, number=102):
    """The application has waited max.block.ms for buffer.memory: its send() has failed."""

    STORY = "send {send} of {records:record} fails: no memory for {waited_us}"

    send: column.Send
    records: column.SentRecords
    waited_us: column.WaitedUs


class BatchDuplicated(PartitionRow, number=43):
    """A batch was appended again by a retry of its producer."""

    STORY = (
        "batch {batch} of {records:record} is in the log twice: at offset {first_offset} and,"
        " by a retry, at {again_offset}"
    )

    batch: column.Batch
    records: column.Records
    first_offset: column.FirstOffset
    again_offset: column.AgainOffset


class ConsumerReset(PartitionRow, number=44):
    """A consumer's offset was out of range."""

    STORY = "consumer's offset {offset} is out of range, it resumes at {new_offset}"

    offset: column.Offset
    new_offset: column.NewOffset


class ProduceStalled(PartitionRow, number=109):
    """A producer has had a batch of a partition, in flight or not, for 1 s without an outcome."""

    STORY = "writes stall: batch {batch} has no outcome after {waited_us}"

    batch: column.Batch
    waited_us: column.UnansweredUs


class ProduceResumed(PartitionRow, number=110):
    """Every batch of a partition has had an outcome within 1 s again."""

    STORY = "writes are no longer stalled, after {stalled_us}"

    stalled_us: column.StalledUs


class ConsumeStalled(PartitionRow, number=111):
    """A consumer has had no response about a partition for 1 s longer than fetches may wait."""

    STORY = "reads stall at {offset}: no response for {waited_us}"

    offset: column.Offset
    high_watermark: column.HighWatermark
    waited_us: column.UnansweredUs


class ConsumeResumed(PartitionRow, number=112):
    """A consumer has a response about the partition again: with records, or that there are none."""

    STORY = "reads are no longer stalled, at {offset}, after {stalled_us}"

    offset: column.Offset
    stalled_us: column.StalledUs


class ClientTotals(CanonicalRow, number=45):
    """Totals of a client, at the end of the run."""

    STORY = (
        "records offered {records_offered}: acknowledged {records_acknowledged}, failed "
        "{records_failed}, unsent {records_unsent}, in flight {records_in_flight}; duplicated "
        "{records_duplicated}, consumed {records_consumed}; send() blocked for {blocked_us}"
    )

    records_offered: column.RecordsOffered
    records_acknowledged: column.RecordsAcknowledged
    records_failed: column.RecordsFailed
    records_unsent: column.RecordsUnsent
    records_in_flight: column.RecordsInFlight
    blocked_us: column.BlockedUs
    records_duplicated: column.RecordsDuplicated
    records_consumed: column.RecordsConsumed


class ConsumerResumed(PartitionRow, number=87):
    """A consumer has joined its group, and resumes at new_offset; -1: it had, or finds, none."""

    STORY = "resumes at {new_offset}: committed is {committed_offset}, it was at {offset}"

    offset: column.Offset
    committed_offset: column.CommittedOffset
    new_offset: column.NewOffset


class CommitsFail(PartitionRow, number=88):
    """Commits of a group whose offsets are in this partition begin to fail at this coordinator."""

    STORY = "cannot commit offsets: {error} of {broker}"

    broker: column.Broker
    error: column.Error


class CommitsSucceedAgain(PartitionRow, number=89):
    """A commit of such a group succeeds, after failures."""

    STORY = "can commit offsets again, after {failures:failure} in {failing_us}"

    broker: column.Broker
    failures: column.Failures
    failing_us: column.FailingUs


class CoordinatorFound(PartitionRow, number=85):
    """A consumer has found the coordinator of its group, missing_us after it lost the last one."""

    STORY = "finds its group's coordinator: {broker}, after {missing_us} without one"

    broker: column.Broker
    missing_us: column.MissingUs


class CoordinatorLost(PartitionRow, number=86):
    """A consumer considers the coordinator of its group gone or replaced."""

    STORY = "has lost its group's coordinator, {broker}: {error}"

    broker: column.Broker
    error: column.Error


class BrokersUnreachable(CanonicalRow, number=105):
    """A client has lost each broker in its metadata: it has no other one to ask."""

    STORY = "reaches none of the {brokers:broker} that it knows, for {missing_us}"

    brokers: column.KnownBrokers
    missing_us: column.WithoutMetadataUs


class Rebootstrapped(CanonicalRow, number=106):
    """A client forgets its metadata and asks its bootstrap servers (KIP-899, KIP-1102)."""

    STORY = "asks its bootstrap servers again, after {missing_us} without metadata"

    missing_us: column.WithoutMetadataUs


class BrokersReachable(CanonicalRow, number=107):
    """A client without a reachable broker has metadata again, from this broker."""

    STORY = "has metadata again, from {broker}, after {missing_us} without"

    broker: column.Broker
    missing_us: column.WithoutMetadataUs


class ReadReplicaChanged(PartitionRow, number=108):
    """A consumer fetches a partition from another replica than its leader, or no more (-1)."""

    STORY = (
        "fetches from {broker} instead of {old_broker} from offset {offset} on; none: the leader"
    )

    broker: column.ReadBroker
    old_broker: column.OldReadBroker
    offset: column.Offset
