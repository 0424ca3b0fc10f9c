"""A replica's state of idempotent producers: sequences in order, duplicates, fenced epochs.

An idempotent producer numbers its records in each partition, from 0 on. A leader appends a batch
only if its first sequence number follows the last one that the log has of this producer. A batch
that is retried although it is in the log is found among the last ones that are remembered (five),
and is answered with the offset that it has: it is not appended again. A smaller producer epoch than
the known one is fenced. Followers append records that their leader has checked.

An entry (``ProducerStateEntry``) is one producer in one replica. Its batches lie in a ring of
``RETAINED_BATCHES`` places from ``entry.first_batch`` on, in an array that many entries can share.

Two things are simpler than in Kafka. There, a log that is truncated rebuilds its producers from a
snapshot and the batches after it; here the ring forgets the batches that are cut off. If that is
more than the ring holds and more was cut off before them, the last sequence number is lost
(``LOST_SEQUENCE``) and the next batch is accepted with any. Control batches of transactions only
enter an epoch (``enter_producer_epoch``).

Source: ProducerStateManager, ProducerAppendInfo, ProducerStateEntry, BatchMetadata@0.11.0.0 to
@3.9.0 (KIP-98, KIP-360).
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED, BatchMetadata, ProducerStateEntry
from tidegauge.replication.release_rules import (
    NO_STATE_ACCEPTED,
    NO_STATE_UNKNOWN_PRODUCER,
    ReleaseRules,
)

#: Places of a ring: the most batches of a producer that any release remembers.
RETAINED_BATCHES = code(5)
#: Nothing is known of a producer (RecordBatch.NO_PRODUCER_EPOCH).
NO_PRODUCER_EPOCH = code(-1)
#: No record of this producer in its epoch is known (RecordBatch.NO_SEQUENCE).
NO_SEQUENCE = code(-1)
#: There are records of this producer in its epoch, but which was the last is not remembered.
LOST_SEQUENCE = code(-2)
#: The largest sequence number: 0 follows.
MAX_SEQUENCE = code(2**31 - 1)
#: No batch of the ring is the one that is searched for.
NO_BATCH = code(-1)


@rule
def increment_sequence(sequence: int, increment: int) -> int:
    """The sequence number that many records later.

    Source: DefaultRecordBatch.incrementSequence@2.6.0.
    """
    if sequence > MAX_SEQUENCE - increment:
        return increment - (MAX_SEQUENCE - sequence) - 1
    return sequence + increment


@rule
def decrement_sequence(sequence: int, decrement: int) -> int:
    """The sequence number that many records earlier.

    Source: DefaultRecordBatch.decrementSequence@2.6.0.
    """
    if sequence < decrement:
        return MAX_SEQUENCE - (decrement - sequence) + 1
    return sequence - decrement


@rule
def is_in_sequence(last_sequence: int, next_sequence: int) -> bool:
    """Whether a record directly follows another one.

    Source: ProducerAppendInfo.inSequence@2.6.0.
    """
    return next_sequence == last_sequence + 1 or (
        next_sequence == 0 and last_sequence == MAX_SEQUENCE
    )


@rule
def check_producer_epoch(entry: ProducerStateEntry, producer_epoch: int) -> int:
    """INVALID_PRODUCER_EPOCH for an epoch below the last known one, else NONE.

    The code is the same in all releases, the client's exception is not: ProducerFencedException up
    to 2.6, InvalidProducerEpochException later (KIP-588).

    Source: ProducerAppendInfo.checkProducerEpoch@2.6.0 and @3.9.0, Errors@2.6.0.
    """
    if producer_epoch < entry.producer_epoch:
        return errors.INVALID_PRODUCER_EPOCH
    return errors.NONE


@rule
def check_sequence(
    rules: ReleaseRules, entry: ProducerStateEntry, producer_epoch: int, first_sequence: int
) -> int:
    """NONE if a batch may follow the producer's last one, else the error.

    A new epoch begins with 0. Without any state 0 is in order, and the release decides about other
    sequence numbers.

    Source: ProducerAppendInfo.validateAppend@0.11.0.0, checkSequence@1.1.0, @2.1.0 and @2.6.0.
    """
    if entry.producer_epoch == NO_PRODUCER_EPOCH:
        return _first_batch_error(rules, first_sequence)
    if producer_epoch != entry.producer_epoch:
        in_order = first_sequence == 0
    else:
        in_order = entry.last_sequence == LOST_SEQUENCE or is_in_sequence(
            entry.last_sequence, first_sequence
        )
    if in_order:
        return errors.NONE
    if (
        rules.unknown_sequence_is_unknown_producer
        and producer_epoch == entry.producer_epoch
        and entry.last_sequence == NO_SEQUENCE
    ):
        return errors.UNKNOWN_PRODUCER_ID
    return errors.OUT_OF_ORDER_SEQUENCE_NUMBER


@rule
def _first_batch_error(rules: ReleaseRules, first_sequence: int) -> int:
    """The error for a producer of which nothing is known."""
    if first_sequence == 0 or rules.producer_without_state == NO_STATE_ACCEPTED:
        return errors.NONE
    if rules.producer_without_state == NO_STATE_UNKNOWN_PRODUCER:
        return errors.UNKNOWN_PRODUCER_ID
    return errors.OUT_OF_ORDER_SEQUENCE_NUMBER


@rule
def find_duplicate(
    entry: ProducerStateEntry,
    batches: Records[BatchMetadata],
    producer_epoch: int,
    first_sequence: int,
    last_sequence: int,
) -> int:
    """Place of the remembered batch with exactly these sequence numbers, or NO_BATCH.

    Source: ProducerStateEntry.findDuplicateBatch, batchWithSequenceRange@2.6.0.
    """
    if producer_epoch != entry.producer_epoch:
        return NO_BATCH
    for number in range(entry.batch_count):
        place = _place(entry, number)
        batch = batches[place]
        if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
            return place
    return NO_BATCH


@rule
def validate_batch(
    rules: ReleaseRules,
    entry: ProducerStateEntry,
    batches: Records[BatchMetadata],
    producer_epoch: int,
    first_sequence: int,
    last_sequence: int,
) -> tuple[int, int]:
    """A leader's decision about a client's batch: (error, place of the batch it duplicates).

    (NONE, NO_BATCH): the batch is appended. (NONE, a place): it is in the log already, and is
    answered with that batch's offset. Duplicates are searched for first.

    Source: Log.analyzeAndValidateProducerState@1.1.0, UnifiedLog.analyzeAndValidateProducerState
    @3.9.0, ProducerAppendInfo.isDuplicate@1.0.0.
    """
    duplicate = find_duplicate(entry, batches, producer_epoch, first_sequence, last_sequence)
    if duplicate != NO_BATCH:
        return errors.NONE, duplicate
    error = check_producer_epoch(entry, producer_epoch)
    if error == errors.NONE:
        error = check_sequence(rules, entry, producer_epoch, first_sequence)
    if (
        error == errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        and rules.forgotten_duplicate_is_named
        and producer_epoch == entry.producer_epoch
        and entry.batch_count > 0
    ):
        oldest = batches[_place(entry, 0)].first_sequence
        if last_sequence != 0 and oldest != MAX_SEQUENCE and last_sequence < oldest:
            error = errors.DUPLICATE_SEQUENCE_NUMBER
    return error, NO_BATCH


@rule
def append_batch(
    rules: ReleaseRules,
    entry: ProducerStateEntry,
    batches: Records[BatchMetadata],
    producer_epoch: int,
    batch: BatchMetadata,
) -> None:
    """Remember a batch that is appended to the log, unchecked: leaders have validated it before.

    ``batch`` is copied. The ring forgets its oldest batch if it is full.

    Source: ProducerStateEntry.addBatch, addBatchMetadata@2.6.0.
    """
    enter_producer_epoch(entry, batches, producer_epoch)
    if entry.batch_count == rules.producer_batches_retained:
        _forget_before(entry, batches, 1)
    added = batches[_place(entry, entry.batch_count)]
    added.first_sequence = batch.first_sequence
    added.last_sequence = batch.last_sequence
    added.base_offset = batch.base_offset
    added.last_offset = batch.last_offset
    added.timestamp_ms = batch.timestamp_ms
    entry.batch_count += 1
    entry.last_sequence = batch.last_sequence
    entry.last_timestamp_ms = batch.timestamp_ms


@rule
def enter_producer_epoch(
    entry: ProducerStateEntry, batches: Records[BatchMetadata], producer_epoch: int
) -> None:
    """Forget the batches of an earlier epoch: by a batch, or by a marker, of another epoch.

    Source: ProducerStateEntry.maybeUpdateProducerEpoch@2.6.0.
    """
    if entry.producer_epoch == producer_epoch:
        return
    _forget_before(entry, batches, entry.batch_count)
    entry.producer_epoch = producer_epoch
    entry.last_sequence = NO_SEQUENCE


@rule
def truncate_producer_to(
    entry: ProducerStateEntry, batches: Records[BatchMetadata], offset: int
) -> None:
    """Forget the batches that end at ``offset`` or above: the log is cut there.

    The next batch is checked as if they had never been appended, except for the cases in the
    module's docstring.

    Source: ProducerStateManager.truncateAndReload@2.6.0.
    """
    cut = False
    while entry.batch_count > 0:
        newest = batches[_place(entry, entry.batch_count - 1)]
        if newest.last_offset < offset:
            entry.last_sequence = newest.last_sequence
            entry.last_timestamp_ms = newest.timestamp_ms
            return
        entry.batch_count -= 1
        cut = True
    if not entry.has_older:
        if cut:
            forget_producer(entry)
    elif entry.older_last_offset >= offset:
        entry.producer_epoch = entry.older_epoch
        entry.last_sequence = LOST_SEQUENCE
    elif cut:
        entry.producer_epoch = entry.older_epoch
        entry.last_sequence = entry.older_last_sequence


@rule
def truncate_producer_head(
    rules: ReleaseRules,
    entry: ProducerStateEntry,
    batches: Records[BatchMetadata],
    log_start_offset: int,
) -> None:
    """Forget a producer all of whose records are deleted, up to 2.3.

    A batch below the log start is still remembered while a later one of its producer is not.

    Source: ProducerStateManager.truncateHead, isProducerRetained@2.3.0, truncateHead@2.4.0.
    """
    if rules.producer_outlives_records:
        return
    last_offset = UNDEFINED
    if entry.batch_count > 0:
        last_offset = batches[_place(entry, entry.batch_count - 1)].last_offset
    elif entry.has_older:
        last_offset = entry.older_last_offset
    if last_offset < log_start_offset:
        forget_producer(entry)


@rule
def is_producer_expired(entry: ProducerStateEntry, now_ms: int, expiration_ms: int) -> bool:
    """Whether a producer has been idle for producer.id.expiration.ms.

    Source: ProducerStateManager.isProducerExpired@2.6.0.
    """
    return now_ms - entry.last_timestamp_ms >= expiration_ms


@rule
def forget_producer(entry: ProducerStateEntry) -> None:
    """As if the producer had never written; its id and the place of its ring stay.

    Source: ProducerStateEntry.empty@2.6.0.
    """
    entry.producer_epoch = NO_PRODUCER_EPOCH
    entry.last_sequence = NO_SEQUENCE
    entry.last_timestamp_ms = UNDEFINED
    entry.batch_count = 0
    entry.oldest = 0
    entry.has_older = False
    entry.older_last_offset = UNDEFINED
    entry.older_last_sequence = NO_SEQUENCE
    entry.older_epoch = UNDEFINED


@rule
def _place(entry: ProducerStateEntry, number: int) -> int:
    """Place of the ring's batch of that number, counted from the oldest."""
    return entry.first_batch + (entry.oldest + number) % RETAINED_BATCHES


@rule
def _forget_before(entry: ProducerStateEntry, batches: Records[BatchMetadata], number: int) -> None:
    """Forget that many of the oldest batches."""
    if number == 0:
        return
    last = batches[_place(entry, number - 1)]
    entry.has_older = True
    entry.older_last_offset = last.last_offset
    entry.older_last_sequence = last.last_sequence
    entry.older_epoch = entry.producer_epoch
    entry.oldest = (entry.oldest + number) % RETAINED_BATCHES
    entry.batch_count -= number
