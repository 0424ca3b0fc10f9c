"""An idempotent producer's numbers: its id and epoch, and the sequence numbers of its batches.

A producer asks any broker for an id before it sends anything; the id is one that no other producer,
and no earlier time of this one, has had. A batch is numbered when it is first sent, and keeps its
number in retries. Batches leave in the order of their numbers, each after the outcome of the one
before.

Up to 2.4, a producer whose batch meets a gap asks for another id, and batches that were sent with
the old one fail. From 2.5 on it bumps its epoch, numbers the batches of the partition from 0 on
again and retries (KIP-360).

A broker that has no ids left answers COORDINATOR_LOAD_IN_PROGRESS: the producer asks again after
retry.backoff.ms.

Source: ``TransactionManager`` @1.1.0, @2.4.0, @2.5.0.
"""

from tidegauge.clients.client_metadata import (
    client_of,
    next_node,
    request_metadata,
    request_timeout_us,
)
from tidegauge.clients.client_state import NUMBERED, Batch, Client, Clients, Target
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.producer_state import decrement_sequence, increment_sequence
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionAppend,
)
from tidegauge.simulation.messages.timers import RequestTimesOut

#: Ids of one client; the next ones are those of the next client.
_IDS = code(1 << 20)
#: The epoch is a number of 16 bits.
_LAST_EPOCH = code(2**15 - 1)


# The id.


@inner_rule
def request_producer_id(world: Clients, process: int) -> None:
    """Ask a broker for an id, unless a request is in flight; if there is none, for metadata.

    Source: Sender.maybeWaitForProducerId@1.1.0, TransactionManager.initializeTransactions@2.5.0,
    Sender.maybeFindCoordinatorAndRetry@2.5.0.
    """
    number = client_of(world, process)
    client = world.clients[number]
    if client.id_request != 0:
        return
    client.id_requests += 1
    client.id_request = client.id_requests
    client.id_broker = next_node(world, process, number)
    if client.id_broker == NONE:
        _request_again_after(world, client, client.retry_backoff_ms * 1000)
        request_metadata(world, process)
        return
    client.id_sent_us = world.context[0].time_us
    request = InitProducerIdRequest.to(world, client.id_broker, correlation_id=client.id_request)
    send(world, request, client.id_sent_us)
    connection = world.connections[number * world.sizes[0].brokers + client.id_broker]
    _request_again_after(world, client, request_timeout_us(client, connection))


@inner_rule
def _request_again_after(world: Kernel, client: Client, delay_us: int) -> None:
    RequestTimesOut.after(
        world, delay_us, request_kind=InitProducerIdRequest.KIND, correlation_id=client.id_request
    )


@inner_rule
def handle_id_times_out(world: Clients, timer: RequestTimesOut) -> None:
    """No response has come, or a back-off is over: ask the next broker."""
    client = world.clients[client_of(world, timer.destination)]
    if client.id_request == timer.correlation_id:
        client.id_request = 0
        request_producer_id(world, timer.destination)


@inner_rule
def lose_id_request(world: Kernel, client: Client, broker: int, until_us: int) -> None:
    """The connection to a broker is gone: if it was asked for an id, another one is, soon."""
    is_asked = client.id_request != 0 and client.id_broker == broker
    if is_asked and client.id_sent_us <= until_us:
        client.id_broker = NONE
        _request_again_after(world, client, client.retry_backoff_ms * 1000)


@inner_rule
def take_producer_id(world: Clients, response: InitProducerIdResponse) -> bool:
    """Take the id of a response; False if it has none, or if no response is awaited.

    Source: TransactionManager.InitProducerIdHandler@4.1.0, Sender.maybeWaitForProducerId@1.1.0.
    """
    number = client_of(world, response.destination)
    client = world.clients[number]
    if client.id_request != response.correlation_id:
        return False
    if response.error != errors.NONE:
        client.id_broker = NONE
        _request_again_after(world, client, client.retry_backoff_ms * 1000)
        return False
    client.id_request = 0
    client.producer_id = number * _IDS + client.producer_ids
    client.producer_epoch = 0
    client.producer_ids += 1
    return True


# Sequence numbers.


@inner_rule
def may_be_sent(client: Client, target: Target, first: Batch) -> bool:
    """Whether a partition's first batch is next in sequence.

    Source: RecordAccumulator.shouldStopDrainBatchesForPartition@2.4.0, @2.5.0.
    """
    if client.producer_id == NONE:
        return False
    if first.first_sequence == NONE:
        is_stale = (
            target.producer_id != client.producer_id
            or target.producer_epoch != client.producer_epoch
        )
        return not target.is_unresolved and not (is_stale and target.first_numbered != NONE)
    return target.first_numbered in (NONE, first.index)


@inner_rule
def goes_before(queued: Batch, batch: Batch) -> bool:
    """Whether a batch that waits has a smaller sequence number than one that is to wait again."""
    return queued.first_sequence != NONE and queued.first_sequence < batch.first_sequence


@inner_rule
def number_batch(world: Clients, client: Client, target: Target, batch: Batch) -> None:
    """Give a batch that is sent the next sequence number, unless it has one.

    Source: RecordAccumulator.drainBatchesForOneNode and
    TransactionManager.maybeUpdateProducerIdAndEpoch@2.5.0.
    """
    if batch.first_sequence != NONE:
        return
    if target.producer_id != client.producer_id or target.producer_epoch != client.producer_epoch:
        target.producer_id = client.producer_id
        target.producer_epoch = client.producer_epoch
        target.next_sequence = 0
        target.last_acked_sequence = NONE
    _set_number(target, batch)
    NUMBERED.append(world, target, batch.index)


@inner_rule
def _set_number(target: Target, batch: Batch) -> None:
    batch.producer_id = target.producer_id
    batch.producer_epoch = target.producer_epoch
    batch.first_sequence = target.next_sequence
    target.next_sequence = increment_sequence(target.next_sequence, batch.records)


@inner_rule
def note_acknowledged(world: Clients, client: Client, target: Target, batch: Batch) -> None:
    """A batch is acknowledged.

    Source: TransactionManager.handleCompletedBatch@2.4.0.
    """
    if batch.producer_id == client.producer_id:
        last_sequence = increment_sequence(batch.first_sequence, batch.records - 1)
        target.last_acked_sequence = max(target.last_acked_sequence, last_sequence)
        last_offset = batch.appended_offset + batch.records - 1
        target.last_acked_offset = max(target.last_acked_offset, last_offset)
    NUMBERED.remove(world, target, batch.index)


@inner_rule
def _is_next(target: Target, sequence: int) -> bool:
    """Source: TransactionManager.isNextSequence@2.4.0."""
    return sequence - target.last_acked_sequence == 1


# The meaning of an error.


@inner_rule
def may_retry_numbered(
    world: Clients, client: Client, target: Target, batch: Batch, append: PartitionAppend
) -> bool:
    """Whether an error about a batch's number may pass by sending it again.

    Source: TransactionManager.canRetry@1.1.0 and @2.5.0.
    """
    if not client.bumps_epoch and batch.producer_id != client.producer_id:
        return False
    if append.error == errors.OUT_OF_ORDER_SEQUENCE_NUMBER:
        is_next = _is_next(target, batch.first_sequence)
        if not target.is_unresolved and (batch.is_renumbered or not is_next):
            return True
        if client.bumps_epoch and (not target.is_unresolved or is_next):
            _need_bump(client, target)
        return client.bumps_epoch
    # UNKNOWN_PRODUCER_ID.
    if append.log_start_offset != NONE and not batch.is_renumbered:
        if target.last_acked_offset < append.log_start_offset:
            # Its records were deleted: its sequence numbers restart.
            _renumber(world, target)
        elif client.bumps_epoch:
            _need_bump(client, target)
    return client.bumps_epoch or batch.is_renumbered


@inner_rule
def note_failed(
    world: Clients, client: Client, target: Target, batch: Batch, error: int, is_adjusted: bool
) -> None:
    """A batch is given up: its effect on the numbers of the others.

    ``is_adjusted``: its number was surely not taken.

    Source: Sender.failBatch@1.1.0, Sender.sendProducerData@2.4.0,
    TransactionManager.handleFailedBatch@2.5.0.
    """
    if batch.first_sequence == NONE:
        return
    NUMBERED.remove(world, target, batch.index)
    if error in (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.UNKNOWN_PRODUCER_ID):
        if client.bumps_epoch:
            _need_bump(client, target)
        elif batch.producer_id == client.producer_id:
            _reset_producer_id(world, client)
    elif is_adjusted:
        if client.bumps_epoch:
            _need_bump(client, target)
        elif batch.producer_id == client.producer_id:
            _close_gap(world, target, batch)
    elif batch.attempts > 1 or not batch.in_flight:
        # A batch that expires in its first attempt is not in retry.
        _leave_unresolved(client, target, batch)


@inner_rule
def _leave_unresolved(client: Client, target: Target, batch: Batch) -> None:
    """No new batch is numbered until the last append is known.

    Source: TransactionManager.markSequenceUnresolved@2.4.0.
    """
    if batch.producer_id == client.producer_id and not target.is_unresolved:
        target.is_unresolved = True
        client.unresolved += 1


@inner_rule
def _close_gap(world: Clients, target: Target, failed: Batch) -> None:
    """The batches behind one that has failed take its place.

    Source: TransactionManager.adjustSequencesDueToFailedBatch@1.1.0.
    """
    target.next_sequence = decrement_sequence(target.next_sequence, failed.records)
    for index in NUMBERED.of(world, target):
        batch = world.batches[index]
        if batch.first_sequence > failed.first_sequence:
            batch.first_sequence = decrement_sequence(batch.first_sequence, failed.records)
            batch.is_renumbered = True


@inner_rule
def _need_bump(client: Client, target: Target) -> None:
    client.needs_bump = True
    target.needs_new_numbers = True


@inner_rule
def _renumber(world: Clients, target: Target) -> None:
    """Number the batches of a partition that are not done from 0 on.

    Source: TransactionManager.startSequencesAtBeginning@2.4.0.
    """
    target.next_sequence = 0
    target.last_acked_sequence = NONE
    for index in NUMBERED.of(world, target):
        batch = world.batches[index]
        _set_number(target, batch)
        batch.is_renumbered = True


@inner_rule
def _reset_producer_id(world: Clients, client: Client) -> None:
    """Request another id, and reset all sequence numbers.

    Source: TransactionManager.resetProducerId@1.1.0.
    """
    client.producer_id = NONE
    client.unresolved = 0
    for place in range(client.first_target, client.first_target + client.target_count):
        target = world.client_targets[place]
        target.first_numbered = NONE
        target.last_numbered = NONE
        target.is_unresolved = False
        target.last_acked_sequence = NONE
        target.last_acked_offset = NONE


@inner_rule
def settle_numbers(world: Clients, process: int) -> bool:
    """Apply the outcomes to the numbers; whether partitions that waited may go on.

    Source: Sender.runOnce, TransactionManager.maybeResolveSequences and
    bumpIdempotentEpochAndResetIdIfNeeded@2.5.0, shouldResetProducerStateAfterResolvingSequences
    @1.1.0.
    """
    client = world.clients[client_of(world, process)]
    if client.unresolved == 0 and not client.needs_bump and client.producer_id != NONE:
        return False
    if client.unresolved > 0:
        _resolve(world, client)
    if client.needs_bump:
        _bump_epoch(world, client)
    # It asks for its first id as it starts.
    if client.producer_id == NONE and client.id_requests > 0:
        request_producer_id(world, process)
    return True


@inner_rule
def _resolve(world: Clients, client: Client) -> None:
    for place in range(client.first_target, client.first_target + client.target_count):
        target = world.client_targets[place]
        if not target.is_unresolved or target.first_numbered != NONE:
            continue
        if not _is_next(target, target.next_sequence):
            if not client.bumps_epoch:
                _reset_producer_id(world, client)
                return
            _need_bump(client, target)
        target.is_unresolved = False
        client.unresolved -= 1


@inner_rule
def _bump_epoch(world: Clients, client: Client) -> None:
    """Begin the next epoch, in which the partitions with a gap are numbered from 0 on.

    Source: TransactionManager.bumpIdempotentProducerEpoch@2.5.0.
    """
    client.needs_bump = False
    if client.producer_epoch == _LAST_EPOCH:
        _reset_producer_id(world, client)
        return
    client.producer_epoch += 1
    for place in range(client.first_target, client.first_target + client.target_count):
        target = world.client_targets[place]
        if target.needs_new_numbers:
            target.needs_new_numbers = False
            target.producer_id = client.producer_id
            target.producer_epoch = client.producer_epoch
            _renumber(world, target)
            if target.is_unresolved:
                target.is_unresolved = False
                client.unresolved -= 1
