"""Both models in SimPy: brokers are processes, connections are stores."""

from collections.abc import Generator
from random import expovariate, seed, uniform
from typing import Any

import simpy

from bench.alternatives import model

Steps = Generator[simpy.Event, Any, None]


class Connection:
    """A store for each direction; each message is a process that takes its time."""

    def __init__(self, environment: simpy.Environment) -> None:
        self.environment = environment
        self.requests = simpy.Store(environment)
        self.responses = simpy.Store(environment)

    def request(self, content: object) -> None:
        """Send a request."""
        self.environment.process(self._deliver(content, self.requests))

    def respond(self, content: object) -> None:
        """Send a response."""
        self.environment.process(self._deliver(content, self.responses))

    def _deliver(self, content: object, store: simpy.Store) -> Steps:
        yield self.environment.timeout(uniform(*model.NETWORK_US))
        yield store.put(content)


class Replication:
    """The leader, its followers and the producer."""

    def __init__(self, batches: int) -> None:
        self.environment = simpy.Environment()
        self.batches = batches
        self.events = 0
        self.acknowledged = 0
        self.latency_us = 0.0
        self.log_end = 0
        self.high_watermark = 0
        self.fetched = dict.fromkeys(model.FOLLOWERS, 0)
        self.high_watermarks = dict.fromkeys(model.FOLLOWERS, 0)
        self.appended = self.environment.event()
        self.advanced = self.environment.event()

    def run(self) -> None:
        """Run until all is acknowledged and known."""
        environment = self.environment
        for follower in model.FOLLOWERS:
            connection = Connection(environment)
            environment.process(self.follow(follower, connection))
            environment.process(self.serve_follower(follower, connection))
        connection = Connection(environment)
        environment.process(self.produce(connection))
        environment.process(self.await_acknowledgements(connection))
        environment.process(self.serve_producer(connection))
        environment.run(until=self.batches * model.PERIOD_US + model.AFTER_US)

    # The producer.

    def produce(self, connection: Connection) -> Steps:
        for batch in range(self.batches):
            self.events += 1
            connection.request(batch)
            yield self.environment.timeout(model.PERIOD_US)

    def await_acknowledgements(self, connection: Connection) -> Steps:
        while True:
            batch = yield connection.responses.get()
            self.events += 1
            self.acknowledged += 1
            self.latency_us += self.environment.now - batch * model.PERIOD_US

    # The leader.

    def serve_producer(self, connection: Connection) -> Steps:
        environment = self.environment
        while True:
            batch = yield connection.requests.get()
            self.events += 1
            self.log_end += 1
            offset = self.log_end
            append_us = uniform(*model.REQUEST_US) + uniform(*model.APPEND_US)
            appended_us = environment.now + append_us
            self.appended.succeed()
            self.appended = environment.event()
            while self.high_watermark < offset:
                yield self.advanced
            leaves_us = max(appended_us, environment.now + uniform(*model.REQUEST_US))
            yield environment.timeout(leaves_us - environment.now)
            connection.respond(batch)

    def serve_follower(self, follower: int, connection: Connection) -> Steps:
        environment = self.environment
        while True:
            offset = yield connection.requests.get()
            self.events += 1
            read = (self.log_end, self.high_watermark)
            self.fetched[follower] = offset
            self.advance()
            if offset == read[0]:
                wait = environment.timeout(model.WAIT_US)
                yield self.appended | wait
                self.events += wait.processed
                read = (self.log_end, self.high_watermark)
            yield environment.timeout(uniform(*model.REQUEST_US))
            connection.respond(read)

    def advance(self) -> None:
        high_watermark = min(self.log_end, *self.fetched.values())
        if high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self.advanced.succeed()
            self.advanced = self.environment.event()

    # A follower.

    def follow(self, follower: int, connection: Connection) -> Steps:
        log_end = 0
        while True:
            connection.request(log_end)
            end, high_watermark = yield connection.responses.get()
            self.events += 1
            self.high_watermarks[follower] = min(end, high_watermark)
            if end > log_end:
                log_end = end
                yield self.environment.timeout(uniform(*model.APPEND_US))


class Queue:
    """The server and the customers, each of whom is a process."""

    def __init__(self, customers: int) -> None:
        self.environment = simpy.Environment()
        self.server = simpy.Resource(self.environment)
        self.customers = customers
        self.all_left = self.environment.event()
        self.events = 0
        self.served = 0
        self.stay_us = 0.0

    def arrivals(self) -> Steps:
        while True:
            self.events += 1
            self.environment.process(self.customer())
            yield self.environment.timeout(expovariate(1 / model.ARRIVAL_US))

    def customer(self) -> Steps:
        arrived_us = self.environment.now
        with self.server.request() as turn:
            yield turn
            yield self.environment.timeout(expovariate(1 / model.SERVICE_US))
        self.events += 1
        self.served += 1
        self.stay_us += self.environment.now - arrived_us
        if self.served == self.customers:
            self.all_left.succeed()


def replication(batches: int) -> model.Outcome:
    """Replicate so many batches."""
    seed(model.SEED)
    begun = model.Took.now()
    run = Replication(batches)
    run.run()
    return model.Outcome(
        run.events,
        run.acknowledged,
        run.latency_us / max(1, run.acknowledged),
        begun.until_now(),
        min(run.high_watermark, *run.high_watermarks.values()),
    )


def queue(customers: int) -> model.Outcome:
    """Serve so many customers."""
    seed(model.SEED)
    begun = model.Took.now()
    run = Queue(customers)
    run.environment.process(run.arrivals())
    run.environment.run(run.all_left)
    return model.Outcome(run.events, run.served, run.stay_us / customers, begun.until_now())
