"""Blocks of producer ids at a broker (KIP-730), as ``ProducerIdManagerTest`` has them.

Source: ProducerIdManagerTest@3.9.0, RPCProducerIdManager@4.4.0.
"""

from __future__ import annotations

from tidegauge.compiled.records import new_record
from tidegauge.replication import errors, producer_ids
from tidegauge.replication.records import PRODUCER_ID_BLOCK_SIZE, ProducerIds

PREFETCH = 900
LOADING = int(errors.COORDINATOR_LOAD_IN_PROGRESS)


def generated(ids: ProducerIds, now_ms: int = 0) -> tuple[int, bool]:
    error, asks = producer_ids.generate_producer_id(ids, now_ms)
    return int(error), bool(asks)


def granted(ids: ProducerIds) -> None:
    producer_ids.handle_allocate_producer_ids_response(ids, errors.NONE, 0)


def test_without_a_block_the_first_producer_is_sent_away_and_has_one_asked_for() -> None:
    """The second one is sent away too, and the request is in flight already."""
    ids = new_record(ProducerIds)
    assert [generated(ids), generated(ids)] == [(LOADING, True), (LOADING, False)]
    granted(ids)
    assert generated(ids) == (errors.NONE, False)


def test_the_next_block_is_asked_for_with_the_id_at_nine_tenths() -> None:
    """PID_PREFETCH_THRESHOLD: no producer waits if it comes before the block is used up."""
    ids = new_record(ProducerIds)
    granted(ids)
    for _ in range(3):
        results = [generated(ids) for _ in range(PRODUCER_ID_BLOCK_SIZE)]
        assert {error for error, _ in results} == {errors.NONE}
        assert [number for number, (_, asks) in enumerate(results) if asks] == [PREFETCH]
        granted(ids)


def test_a_block_is_asked_for_once_as_long_as_no_response_comes() -> None:
    ids = new_record(ProducerIds)
    granted(ids)
    asked = [generated(ids)[1] for _ in range(PRODUCER_ID_BLOCK_SIZE + 50)]
    assert sum(asked) == 1
    assert generated(ids) == (LOADING, False)
    producer_ids.handle_allocate_producer_ids_timeout(ids)
    assert generated(ids) == (LOADING, True)


def test_after_an_error_the_next_request_has_to_wait_for_50_ms() -> None:
    """RETRY_BACKOFF_MS (KAFKA-14694): STALE_BROKER_EPOCH is one of the errors."""
    ids = new_record(ProducerIds)
    assert generated(ids, 1000) == (LOADING, True)
    producer_ids.handle_allocate_producer_ids_response(ids, errors.STALE_BROKER_EPOCH, 1010)
    assert generated(ids, 1059) == (LOADING, False)
    assert generated(ids, 1060) == (LOADING, True)
