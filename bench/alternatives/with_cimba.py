"""Both models in Cimba's Python, which compiles them: processes, stores, conditions.

Of each direction of a connection there is one message on its way at most, so a process carries it.
"""

import cimba
from cimba import random

from bench.alternatives import model

# Compiled code takes globals of its own module, each a number.
PERIOD_US = model.PERIOD_US
WAIT_US = model.WAIT_US
LEAST_NETWORK_US, MOST_NETWORK_US = model.NETWORK_US
LEAST_REQUEST_US, MOST_REQUEST_US = model.REQUEST_US
LEAST_APPEND_US, MOST_APPEND_US = model.APPEND_US
ARRIVAL_US = model.ARRIVAL_US
SERVICE_US = model.SERVICE_US


class Link(cimba.Model):
    """One direction of a connection."""

    sent: cimba.Store[int]
    received: cimba.Store[int]

    @cimba.process
    def carry(self) -> None:
        while True:
            content = self.sent.get()
            cimba.hold(random.uniform(LEAST_NETWORK_US, MOST_NETWORK_US))
            self.received.put(content)


class Leader(cimba.Model):
    """The leader, and the producer with its connection."""

    batches: cimba.Param[int]
    requests: Link
    responses: Link
    appended: cimba.Condition
    advanced: cimba.Condition
    fetched: cimba.Array[int] = cimba.Array(len(model.FOLLOWERS))
    log_end: cimba.Output[int]
    high_watermark: cimba.Output[int]
    events: cimba.Output[int]
    acknowledged: cimba.Output[int]
    latency_us: float = 0.0
    mean_us: cimba.Output[float]

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.requests = Link()
        self.responses = Link()

    @cimba.process
    def produce(self) -> None:
        for batch in range(self.batches):
            self.events += 1
            self.requests.sent.put(batch)
            cimba.hold(PERIOD_US)

    @cimba.process
    def await_acknowledgements(self) -> None:
        while True:
            batch = self.responses.received.get()
            self.events += 1
            self.acknowledged += 1
            self.latency_us += cimba.now() - batch * PERIOD_US

    @cimba.process
    def serve_producer(self) -> None:
        while True:
            batch = self.requests.received.get()
            self.events += 1
            self.log_end += 1
            appended_us = cimba.now() + random.uniform(LEAST_REQUEST_US, MOST_REQUEST_US)
            appended_us += random.uniform(LEAST_APPEND_US, MOST_APPEND_US)
            self.appended.signal()
            self.advanced.wait_until(self.is_committed)
            checked_us = cimba.now() + random.uniform(LEAST_REQUEST_US, MOST_REQUEST_US)
            cimba.hold(max(appended_us, checked_us) - cimba.now())
            self.responses.sent.put(batch)

    @cimba.predicate
    def is_committed(self) -> bool:
        # Only this request appends.
        return self.high_watermark == self.log_end

    @cimba.function
    def advance(self) -> None:
        high_watermark = min(self.log_end, self.fetched[0], self.fetched[1])
        if high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self.advanced.signal()

    @cimba.on_end
    def end(self) -> None:
        self.mean_us = self.latency_us / self.acknowledged


class Follower(cimba.Model):
    """A follower, and the leader's end of its connection."""

    leader: cimba.Ref[Leader]
    place: cimba.Param[int]
    requests: Link
    responses: Link
    offset: int = 0
    log_end: int = 0
    #: Of the response that is on its way.
    told_high_watermark: int = 0
    high_watermark: cimba.Output[int]

    def __init__(self, leader: Leader, place: int) -> None:
        self.leader = leader
        self.place = place
        self.requests = Link()
        self.responses = Link()

    @cimba.process
    def serve(self) -> None:
        leader = self.leader
        while True:
            self.offset = self.requests.received.get()
            leader.events += 1
            end = leader.log_end
            self.told_high_watermark = leader.high_watermark
            leader.fetched[self.place] = self.offset
            leader.advance()
            if self.offset == end:
                if not leader.appended.wait_until(self.has_records, WAIT_US):
                    leader.events += 1
                end = leader.log_end
                self.told_high_watermark = leader.high_watermark
            cimba.hold(random.uniform(LEAST_REQUEST_US, MOST_REQUEST_US))
            self.responses.sent.put(end)

    @cimba.predicate
    def has_records(self) -> bool:
        return self.offset < self.leader.log_end

    @cimba.process
    def follow(self) -> None:
        while True:
            self.requests.sent.put(self.log_end)
            end = self.responses.received.get()
            self.leader.events += 1
            self.high_watermark = min(end, self.told_high_watermark)
            if end > self.log_end:
                self.log_end = end
                cimba.hold(random.uniform(LEAST_APPEND_US, MOST_APPEND_US))


class Cluster(cimba.Model):
    """All of it."""

    leader: Leader
    followers: list[Follower]

    def __init__(self, batches: int) -> None:
        self.leader = Leader(batches)
        self.followers = [Follower(self.leader, place) for place in range(len(model.FOLLOWERS))]


class Queue(cimba.Model):
    """The M/M/1 queue."""

    customers: cimba.Param[int]
    waiting: cimba.Store[float]
    events: cimba.Output[int]
    served: cimba.Output[int]
    stay_us: float = 0.0
    mean_us: cimba.Output[float]

    @cimba.process
    def arrivals(self) -> None:
        while True:
            self.events += 1
            self.waiting.put(cimba.now())
            cimba.hold(random.exponential(ARRIVAL_US))

    @cimba.process
    def server(self) -> None:
        while self.served < self.customers:
            arrived_us = self.waiting.get()
            cimba.hold(random.exponential(SERVICE_US))
            self.events += 1
            self.served += 1
            self.stay_us += cimba.now() - arrived_us
        cimba.end_trial()

    @cimba.on_end
    def end(self) -> None:
        self.mean_us = self.stay_us / self.served


def value(samples: cimba.Samples) -> float:
    """The one sample that there is."""
    return float(samples.values[0, 0])


def replication(batches: int) -> model.Outcome:
    """Replicate so many batches."""
    cluster = Cluster(batches)
    window = cimba.Window(duration=batches * model.PERIOD_US + model.AFTER_US)
    experiment = cimba.Experiment(cluster, window=window, seed=model.SEED)
    begun = model.Took.now()
    results = experiment.run()
    took = begun.until_now()
    leader = results[cluster.leader]
    replicas = [leader, *(results[follower] for follower in cluster.followers)]
    return model.Outcome(
        int(value(leader.events)),
        int(value(leader.acknowledged)),
        value(leader.mean_us),
        took,
        int(min(value(replica.high_watermark) for replica in replicas)),
    )


def queue(customers: int) -> model.Outcome:
    """Serve so many customers."""
    bank = Queue()
    bank.customers = customers
    window = cimba.Window(duration=2 * customers * model.ARRIVAL_US)
    experiment = cimba.Experiment(bank, window=window, seed=model.SEED)
    begun = model.Took.now()
    results = experiment.run()
    took = begun.until_now()
    end = results[bank]
    return model.Outcome(int(value(end.events)), int(value(end.served)), value(end.mean_us), took)
