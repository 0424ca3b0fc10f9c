"""What an application offers to its producer: each batch that is due, also those that never leave.

Batches are due at a steady rate. One that is due while the application waits for memory is not
made: it is *unsent*, and so are its records. At any time

    offered = acknowledged + failed + unsent + in flight

where *in flight* are the records of batches without an outcome, in the accumulator or on their way.
The outcome of a batch sent with acks=0 is never known.

Every batch that is offered has a duration, so that an outage shows in the percentiles: until it was
acknowledged or given up, all retries included; of an unsent one until the application could go on;
without an outcome, until the run ends. As for delivery.timeout.ms the clock of a batch begins when
it is appended to the accumulator. Batches sent with acks=0 have none.
"""

from __future__ import annotations

from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import OPERATOR, PRODUCER, Client, Clients
from tidegauge.clients.latency_counts import BUCKETS, bucket_of
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.client_rows import ClientTotals
from tidegauge.simulation.trace_rows.sample_rows import ProducerSampled


@inner_rule
def due_us(client: Client, number: int) -> int:
    """When a batch is due: the rate is kept on average to the nanosecond."""
    return client.start_us + number * client.period_ns // 1000


@inner_rule
def count_duration(world: Clients, process: int, duration_us: int) -> None:
    """Count how long a batch has taken."""
    number = client_of(world, process)
    client = world.clients[number]
    client.longest_us = max(client.longest_us, duration_us)
    world.latencies[number * BUCKETS + bucket_of(duration_us)].batches += 1
    now_us = world.context[0].time_us
    if now_us >= client.sample_due_us:
        _sample(world, client, process)
        client.sample_due_us = now_us + world.context[0].sample_period_us
    client.sampled_batches += 1
    client.sampled_taken_us += duration_us
    client.sampled_longest_us = max(client.sampled_longest_us, duration_us)


@inner_rule
def _sample(world: Clients, client: Client, process: int) -> None:
    """Write down how long the batches took that had an outcome since the last sample."""
    if client.sampled_batches == 0:
        return
    row = new_row(world, process, ProducerSampled)
    row.batches = client.sampled_batches
    row.taken_us = client.sampled_taken_us
    row.longest_us = client.sampled_longest_us
    write_row(world, row)
    client.sampled_batches = 0
    client.sampled_taken_us = 0
    client.sampled_longest_us = 0


@inner_rule
def skip_batches(world: Clients, process: int, before_us: int) -> None:
    """The batches that were due before a time, and were not made, never are."""
    client = world.clients[client_of(world, process)]
    now_us = world.context[0].time_us
    number = client.sent + client.skipped
    while due_us(client, number) < before_us:
        count_duration(world, process, now_us - due_us(client, number))
        number += 1
    client.skipped = number - client.sent


@inner_rule
def go_on_sending(world: Clients, client: Client) -> None:
    """The application waits for memory no more."""
    client.blocked = False
    client.blocked_us += world.context[0].time_us - client.blocked_since_us


@inner_rule
def close_client(world: Clients, process: int) -> None:
    """Write down, at the end of a run, what a client has done, and what it has not."""
    client = world.clients[client_of(world, process)]
    offered = client.records_sent
    if client.kind == OPERATOR:
        client.records_in_flight = offered - client.records_acknowledged - client.records_failed
    if client.kind == PRODUCER:
        _close_producer(world, client, process)
        offered = (client.sent + client.skipped) * client.records_per_batch
    row = new_row(world, process, ClientTotals)
    row.records_offered = offered
    row.records_acknowledged = client.records_acknowledged
    row.records_failed = client.records_failed
    row.records_unsent = client.records_unsent
    row.records_in_flight = client.records_in_flight
    row.blocked_us = client.blocked_us
    row.records_duplicated = client.records_duplicated
    row.records_consumed = client.records_consumed
    write_row(world, row)


@inner_rule
def _close_producer(world: Clients, client: Client, process: int) -> None:
    """What has no outcome counts with the time for which it has waited."""
    now_us = world.context[0].time_us
    if client.blocked:
        client.blocked_us += min(now_us, client.stop_us) - client.blocked_since_us
    skip_batches(world, process, min(now_us, client.stop_us))
    client.records_unsent = client.skipped * client.records_per_batch
    index = client.oldest
    while index != NONE:
        count_duration(world, process, now_us - world.batches[index].created_us)
        index = world.batches[index].younger
    _sample(world, client, process)
