"""Producer ids at a broker: it gives them out of blocks that the controller grants (KIP-730).

A broker has one block, and asks for the next one when 90 % of it are given out. Once the block is
used up, and the next one has not been granted, InitProducerId is answered
COORDINATOR_LOAD_IN_PROGRESS, which clients retry. A process begins without a block: the first
producer that asks it is sent away, and has the block asked for.

Simplified: 3.3 to 3.5 keep the request and its thread until the block is there (KAFKA-14694).

Source: RPCProducerIdManager@3.6.0 and @4.4.0, ProducerIdsBlock@4.4.0.
"""

from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors
from tidegauge.replication.records import PRODUCER_ID_BLOCK_SIZE, ProducerIds

#: PID_PREFETCH_THRESHOLD: the id of a block with which the next block is asked for.
_PREFETCH_AT = code(PRODUCER_ID_BLOCK_SIZE * 9 // 10)
_RETRY_BACKOFF_MS = code(50)
_NO_RETRY = code(-1)


@rule
def generate_producer_id(ids: ProducerIds, now_ms: int) -> tuple[int, bool]:
    """The error with which InitProducerId is answered; and whether the next block is asked for now.

    Source: RPCProducerIdManager.generateProducerId@4.4.0.
    """
    if ids.given_out == PRODUCER_ID_BLOCK_SIZE and ids.has_next:
        ids.has_next = False
        ids.request_in_flight = False
        ids.given_out = 0
    if ids.given_out == PRODUCER_ID_BLOCK_SIZE:
        return errors.COORDINATOR_LOAD_IN_PROGRESS, _may_request_next_block(ids, now_ms)
    asks = ids.given_out == _PREFETCH_AT and _may_request_next_block(ids, now_ms)
    ids.given_out += 1
    return errors.NONE, asks


@rule
def _may_request_next_block(ids: ProducerIds, now_ms: int) -> bool:
    """Source: RPCProducerIdManager.maybeRequestNextBlock@4.4.0."""
    if ids.has_next or ids.request_in_flight or now_ms < ids.backoff_deadline_ms:
        return False
    ids.request_in_flight = True
    ids.backoff_deadline_ms = _NO_RETRY
    return True


@rule
def handle_allocate_producer_ids_response(ids: ProducerIds, error: int, now_ms: int) -> None:
    """Keep the block that is granted; after an error the next request has to wait for 50 ms.

    Source: RPCProducerIdManager.handleAllocateProducerIdsResponse@4.4.0.
    """
    if error == errors.NONE:
        ids.has_next = True
    else:
        ids.backoff_deadline_ms = now_ms + _RETRY_BACKOFF_MS
        ids.request_in_flight = False


@rule
def handle_allocate_producer_ids_timeout(ids: ProducerIds) -> None:
    """No controller has answered in time: the next producer has the block asked for again.

    Source: RPCProducerIdManager.handleTimeout@3.6.0.
    """
    ids.request_in_flight = False
