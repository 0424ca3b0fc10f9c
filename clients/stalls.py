"""Outcomes as clients see them: the sends offered to a producer, and stalled writes and reads.

**Offered sends** are due at a steady rate. One that is due while the application waits for memory
is not made: it is *unsent*, and so are its records. At any time

    offered = acknowledged + failed + unsent + in flight

where *in flight* are the records of batches without an outcome, in the accumulator or on their way.
The outcome of a batch sent with acks=0 is never known.

Every offered send has a duration, so that an outage shows in the percentiles: until the batch of
its last record was acknowledged or given up, all retries included; of an unsent one until the
application could go on; without an outcome, until the run ends. Its clock begins when its records
are appended to the accumulator. Sends with acks=0 have none.

**Writes** of a partition are stalled while its producer has a batch, waiting in the accumulator or
in flight, that is older than ``STALLED_US`` and has no outcome. A write with acks=all waits for
every member of the ISR, so this shows a dead or cut-off follower that is still a member, which the
state of the partition does not.

**Reads** of a partition are stalled while no response has brought records of it, or has confirmed
that there are none, for ``STALLED_US`` longer than a fetch may wait (fetch.max.wait.ms). The time
in which a consumer processes records does not count. Without a coordinator it reads nothing.

A healthy client needs one timer a second. Batches are made in the order of time, so the first
unchecked one without an outcome sets the time of the next check.
"""

from tidegauge.clients import client_state
from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.handlers import CLIENT
from tidegauge.clients.latency_counts import BUCKETS, bucket_of
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages.timers import StallLooks
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.trace_rows import client_rows
from tidegauge.simulation.trace_rows.detail_rows import ProducerSampled


@inner_rule
def due_us(client: client_state.Client, number: int) -> int:
    """The time at which a send is due: the rate is kept on average to the nanosecond."""
    return client.start_us + number * client.period_ns // 1000


@inner_rule
def count_duration(world: client_state.Clients, process: int, duration_us: int) -> None:
    """Count the time of a send."""
    number = client_of(world, process)
    client = world.clients[number]
    client.longest_us = max(client.longest_us, duration_us)
    world.latencies[number * BUCKETS + bucket_of(duration_us)].sends += 1
    now_us = world.context[0].time_us
    if now_us >= client.sample_due_us:
        _sample(world, client)
        client.sample_due_us = now_us + world.context[0].sample_period_us
    client.sampled_sends += 1
    client.sampled_taken_us += duration_us
    client.sampled_longest_us = max(client.sampled_longest_us, duration_us)


@inner_rule
def count_sends(world: client_state.Clients, process: int, batch: client_state.Batch) -> None:
    """Count the times of the sends that end in a batch."""
    now_us = world.context[0].time_us
    if batch.ends_send:
        count_duration(world, process, now_us - batch.created_us)
    for place in client_state.JOINED.of(world, batch):
        count_duration(world, process, now_us - world.joined_sends[place].sent_us)


@inner_rule
def _sample(world: client_state.Clients, client: client_state.Client) -> None:
    """Write a sample of the times of the sends with an outcome since the last one."""
    if client.sampled_sends == 0:
        return
    ProducerSampled.write(
        world,
        batches=client.sampled_sends,
        taken_us=client.sampled_taken_us,
        longest_us=client.sampled_longest_us,
    )
    client.sampled_sends = 0
    client.sampled_taken_us = 0
    client.sampled_longest_us = 0


@inner_rule
def skip_sends(world: client_state.Clients, process: int, before_us: int) -> None:
    """Skip the sends that were due before a time and were not made."""
    client = world.clients[client_of(world, process)]
    now_us = world.context[0].time_us
    number = client.sent + client.skipped
    while due_us(client, number) < before_us:
        count_duration(world, process, now_us - due_us(client, number))
        number += 1
    client.skipped = number - client.sent


@inner_rule
def go_on_sending(world: client_state.Clients, client: client_state.Client) -> None:
    """The application waits for memory no more."""
    client.blocked = False
    client.blocked_us += world.context[0].time_us - client.blocked_since_us


@inner_rule
def close_client(world: client_state.Clients, process: int) -> None:
    """Write rows, at the end of a run, about a client's finished and pending work."""
    client = world.clients[client_of(world, process)]
    offered = client.records_sent
    if client.kind == client_state.OPERATOR:
        client.records_in_flight = offered - client.records_acknowledged - client.records_failed
    if client.kind == client_state.PRODUCER:
        _close_producer(world, client, process)
        offered = (client.sent + client.skipped) * client.records_per_send
    client_rows.ClientTotals.write(world, client, records_offered=offered)


@inner_rule
def _close_producer(world: client_state.Clients, client: client_state.Client, process: int) -> None:
    """A send without an outcome counts with the time for which it has waited."""
    now_us = world.context[0].time_us
    if client.blocked:
        client.blocked_us += min(now_us, client.stop_us) - client.blocked_since_us
    skip_sends(world, process, min(now_us, client.stop_us))
    client.records_unsent = client.skipped * client.records_per_send
    for index in client_state.WITHOUT_OUTCOME.of(world, client):
        count_sends(world, process, world.batches[index])
    _sample(world, client)


#: A batch without an outcome for this time, or a partition without a response, is an outage.
STALLED_US = code(1_000_000)


@CLIENT.handles(StallLooks)
@inner_rule
def handle_stall_looks(world: client_state.Clients, timer: StallLooks) -> None:
    """Something may have waited for long enough to count as stalled."""
    process = timer.destination
    client = world.clients[client_of(world, process)]
    client.stall_timer = False
    if client.kind == client_state.CONSUMER:
        _look_at_reads(world, client)
    else:
        _look_at_writes(world, client)


@inner_rule
def _look_at(world: Kernel, client: client_state.Client, time_us: int) -> None:
    client.stall_timer = True
    StallLooks.at(world, time_us)


# Producers.


@inner_rule
def watch_batch(
    world: client_state.Clients,
    client: client_state.Client,
    batch: client_state.Batch,
) -> None:
    """A batch is made: it has no outcome yet, and is the youngest of those."""
    batch.is_overdue = False
    client_state.WITHOUT_OUTCOME.append(world, client, batch.index)
    if client.oldest_timely == NONE:
        client.oldest_timely = batch.index
    if not client.stall_timer:
        _look_at(world, client, batch.created_us + STALLED_US)


@inner_rule
def forget_batch(
    world: client_state.Clients,
    client: client_state.Client,
    batch: client_state.Batch,
) -> None:
    """A batch has an outcome, or none will ever be known (acks=0)."""
    if client.oldest_timely == batch.index:
        client.oldest_timely = batch.younger
    client_state.WITHOUT_OUTCOME.remove(world, client, batch.index)
    if not batch.is_overdue:
        return
    target = world.client_targets[batch.target]
    target.overdue -= 1
    if target.overdue == 0:
        client_rows.ProduceResumed.write(
            world, target, stalled_us=world.context[0].time_us - target.stalled_since_us
        )


@inner_rule
def _look_at_writes(world: client_state.Clients, client: client_state.Client) -> None:
    """Find the batches that have become overdue, and set the timer of the next one."""
    now_us = world.context[0].time_us
    while client.oldest_timely != NONE:
        batch = world.batches[client.oldest_timely]
        if batch.created_us + STALLED_US > now_us:
            _look_at(world, client, batch.created_us + STALLED_US)
            return
        batch.is_overdue = True
        client.oldest_timely = batch.younger
        target = world.client_targets[batch.target]
        target.overdue += 1
        if target.overdue == 1:
            target.stalled_since_us = now_us
            _tell_stalled_writes(world, target, batch)


@inner_rule
def _tell_stalled_writes(
    world: client_state.Clients,
    target: client_state.Target,
    batch: client_state.Batch,
) -> None:
    row = client_rows.ProduceStalled.new(
        world, target, batch=batch.number, waited_us=world.context[0].time_us - batch.created_us
    )
    leader = client_state.leader_of_target(world, target)
    if leader >= 0:
        because_of(world, row, leader, batch.created_us)
    record_row(world, row)


# Consumers.


@inner_rule
def begin_to_read(world: client_state.Clients, client: client_state.Client) -> None:
    """A consumer starts: from now on it waits for records of each of its partitions."""
    begins_us = max(client.start_us, world.context[0].time_us)
    for place in range(client.first_target, client.first_target + client.target_count):
        world.client_targets[place].answered_us = begins_us
        world.client_targets[place].answered_idle_us = begins_us
    _look_at(world, client, begins_us + _patience_us(client))


@inner_rule
def note_read(world: client_state.Clients, process: int, target: client_state.Target) -> None:
    """A response has brought records of a partition, or has confirmed that there are none."""
    now_us = world.context[0].time_us
    target.answered_us = now_us
    target.answered_idle_us = _idle_us(world.clients[client_of(world, process)], now_us)
    if target.reads_stall:
        target.reads_stall = False
        client_rows.ConsumeResumed.write(
            world, target, offset=target.position, stalled_us=now_us - target.stalled_since_us
        )


@inner_rule
def _look_at_reads(world: client_state.Clients, client: client_state.Client) -> None:
    """Find the partitions whose wait is too long, and set the timer of the next one."""
    now_us = world.context[0].time_us
    patience_us = _patience_us(client)
    idle_us = _idle_us(client, now_us)
    left_us = patience_us
    for place in range(client.first_target, client.first_target + client.target_count):
        target = world.client_targets[place]
        if target.reads_stall:
            continue
        waited_us = idle_us - target.answered_idle_us
        if waited_us < patience_us:
            left_us = min(left_us, patience_us - waited_us)
            continue
        target.reads_stall = True
        target.stalled_since_us = now_us
        _tell_stalled_reads(world, target)
    _look_at(world, client, max(client.busy_until_us, now_us) + left_us)


@inner_rule
def _idle_us(client: client_state.Client, now_us: int) -> int:
    """A clock that stands still while a consumer processes records, or backs off."""
    return now_us - (client.busy_us - max(0, client.busy_until_us - now_us))


@inner_rule
def _tell_stalled_reads(world: client_state.Clients, target: client_state.Target) -> None:
    row = client_rows.ConsumeStalled.new(
        world,
        target,
        offset=target.position,
        waited_us=world.context[0].time_us - target.answered_us,
    )
    leader = client_state.leader_of_target(world, target)
    if leader >= 0:
        because_of(world, row, leader, target.answered_us)
    record_row(world, row)


@inner_rule
def _patience_us(client: client_state.Client) -> int:
    return client.fetch_max_wait_ms * 1000 + STALLED_US
