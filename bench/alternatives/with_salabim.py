"""Both models in salabim: brokers and messages are components, connections are stores."""

from collections.abc import Generator
from random import expovariate, uniform
from typing import Any

import salabim

from bench.alternatives import model

Steps = Generator[None, Any, None]


class Message(salabim.Component):
    """A message on its way to a store."""

    def setup(self, to: salabim.Store, content: Any) -> None:
        self.to = to
        self.content = content

    def process(self) -> Steps:
        yield self.hold(uniform(*model.NETWORK_US))
        self.enter(self.to)


class Connection:
    """A store for each direction."""

    def __init__(self) -> None:
        self.requests = salabim.Store("requests", monitor=False)
        self.responses = salabim.Store("responses", monitor=False)

    def request(self, content: Any) -> None:
        """Send a request."""
        Message(to=self.requests, content=content)

    def respond(self, content: Any) -> None:
        """Send a response."""
        Message(to=self.responses, content=content)


class Partition:
    """The leader's state, and all that is counted."""

    def __init__(self) -> None:
        self.events = 0
        self.acknowledged = 0
        self.latency_us = 0.0
        self.log_end = 0
        self.high_watermark = 0
        self.fetched = dict.fromkeys(model.FOLLOWERS, 0)
        self.high_watermarks = dict.fromkeys(model.FOLLOWERS, 0)
        self.appended = salabim.State("appended", monitor=False)
        self.advanced = salabim.State("advanced", monitor=False)

    def advance(self) -> None:
        high_watermark = min(self.log_end, *self.fetched.values())
        if high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self.advanced.trigger()


class Producer(salabim.Component):
    """Sends the batches."""

    def setup(self, partition: Partition, connection: Connection, batches: int) -> None:
        self.partition = partition
        self.connection = connection
        self.batches = batches

    def process(self) -> Steps:
        for batch in range(self.batches):
            self.partition.events += 1
            self.connection.request(batch)
            yield self.hold(model.PERIOD_US)


class Acknowledgements(salabim.Component):
    """Counts what the producer gets back."""

    def setup(self, partition: Partition, connection: Connection) -> None:
        self.partition = partition
        self.connection = connection

    def process(self) -> Steps:
        partition = self.partition
        while True:
            response = yield self.from_store(self.connection.responses)
            partition.events += 1
            partition.acknowledged += 1
            partition.latency_us += self.env.now() - response.content * model.PERIOD_US


class ProduceHandler(salabim.Component):
    """The leader's end of the producer's connection."""

    def setup(self, partition: Partition, connection: Connection) -> None:
        self.partition = partition
        self.connection = connection

    def process(self) -> Steps:
        partition = self.partition
        while True:
            request = yield self.from_store(self.connection.requests)
            partition.events += 1
            partition.log_end += 1
            offset = partition.log_end
            append_us = uniform(*model.REQUEST_US) + uniform(*model.APPEND_US)
            appended_us = self.env.now() + append_us
            partition.appended.trigger()
            while partition.high_watermark < offset:
                yield self.wait(partition.advanced)
            leaves_us = max(appended_us, self.env.now() + uniform(*model.REQUEST_US))
            yield self.hold(till=leaves_us)
            self.connection.respond(request.content)


class FetchHandler(salabim.Component):
    """The leader's end of a follower's connection."""

    def setup(self, partition: Partition, connection: Connection, follower: int) -> None:
        self.partition = partition
        self.connection = connection
        self.follower = follower

    def process(self) -> Steps:
        partition = self.partition
        while True:
            request = yield self.from_store(self.connection.requests)
            partition.events += 1
            read = (partition.log_end, partition.high_watermark)
            partition.fetched[self.follower] = request.content
            partition.advance()
            if request.content == read[0]:
                yield self.wait(partition.appended, fail_delay=model.WAIT_US)
                partition.events += self.failed()
                read = (partition.log_end, partition.high_watermark)
            yield self.hold(uniform(*model.REQUEST_US))
            self.connection.respond(read)


class Follower(salabim.Component):
    """Fetches, appends, and fetches again."""

    def setup(self, partition: Partition, connection: Connection, follower: int) -> None:
        self.partition = partition
        self.connection = connection
        self.follower = follower

    def process(self) -> Steps:
        log_end = 0
        while True:
            self.connection.request(log_end)
            response = yield self.from_store(self.connection.responses)
            end, high_watermark = response.content
            self.partition.events += 1
            self.partition.high_watermarks[self.follower] = min(end, high_watermark)
            if end > log_end:
                log_end = end
                yield self.hold(uniform(*model.APPEND_US))


class Bank:
    """The server of the queue, and what is counted."""

    def __init__(self, customers: int) -> None:
        self.server = salabim.Resource("server", monitor=False)
        self.customers = customers
        self.events = 0
        self.served = 0
        self.stay_us = 0.0


class Customer(salabim.Component):
    """A customer."""

    def setup(self, bank: Bank) -> None:
        self.bank = bank

    def process(self) -> Steps:
        bank = self.bank
        arrived_us = self.env.now()
        yield self.request(bank.server)
        yield self.hold(expovariate(1 / model.SERVICE_US))
        self.release(bank.server)
        bank.events += 1
        bank.served += 1
        bank.stay_us += self.env.now() - arrived_us
        if bank.served == bank.customers:
            self.env.main().activate()


class Arrivals(salabim.Component):
    """Has customers arrive."""

    def setup(self, bank: Bank) -> None:
        self.bank = bank

    def process(self) -> Steps:
        while True:
            self.bank.events += 1
            Customer(bank=self.bank)
            yield self.hold(expovariate(1 / model.ARRIVAL_US))


def new_environment() -> salabim.Environment:
    """An environment of generators: as greenlets they were slower."""
    return salabim.Environment(yieldless=False, random_seed=model.SEED)


def replication(batches: int) -> model.Outcome:
    """Replicate so many batches."""
    environment = new_environment()
    begun = model.Took.now()
    partition = Partition()
    for follower in model.FOLLOWERS:
        connection = Connection()
        Follower(partition=partition, connection=connection, follower=follower)
        FetchHandler(partition=partition, connection=connection, follower=follower)
    connection = Connection()
    Producer(partition=partition, connection=connection, batches=batches)
    Acknowledgements(partition=partition, connection=connection)
    ProduceHandler(partition=partition, connection=connection)
    environment.run(till=batches * model.PERIOD_US + model.AFTER_US)
    return model.Outcome(
        partition.events,
        partition.acknowledged,
        partition.latency_us / max(1, partition.acknowledged),
        begun.until_now(),
        min(partition.high_watermark, *partition.high_watermarks.values()),
    )


def queue(customers: int) -> model.Outcome:
    """Serve so many customers."""
    environment = new_environment()
    begun = model.Took.now()
    bank = Bank(customers)
    Arrivals(bank=bank)
    environment.run()
    return model.Outcome(bank.events, bank.served, bank.stay_us / customers, begun.until_now())
