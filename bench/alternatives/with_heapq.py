"""Both models in plain Python: callbacks on a heap, as one would write them by hand."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from random import expovariate, seed, uniform
from typing import Any

from bench.alternatives import model


class Clock:
    """Virtual time: the heap of what is due."""

    def __init__(self, end_us: float = inf) -> None:
        self.now_us = 0.0
        self.end_us = end_us
        self._due: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = 0

    def at(self, time_us: float, callback: Callable[..., None], *arguments: object) -> None:
        """Call something at a time."""
        self._number += 1
        heappush(self._due, (time_us, self._number, callback, arguments))

    def run(self) -> None:
        """Call all that is due before the end, which may come earlier meanwhile."""
        due = self._due
        while due[0][0] < self.end_us:
            self.now_us, _, callback, arguments = heappop(due)
            callback(*arguments)


class Replication:
    """The leader, its followers and the producer."""

    def __init__(self, batches: int) -> None:
        self.clock = Clock(batches * model.PERIOD_US + model.AFTER_US)
        self.batches = batches
        self.events = 0
        self.acknowledged = 0
        self.latency_us = 0.0
        # The leader.
        self.log_end = 0
        self.high_watermark = 0
        self.fetched = dict.fromkeys(model.FOLLOWERS, 0)
        #: Followers whose fetch waits, and until when.
        self.waiting: dict[int, float] = {}
        self.has_timer = dict.fromkeys(model.FOLLOWERS, False)
        #: Produce requests on the connection that are not read yet.
        self.unread: deque[int] = deque()
        #: The batch that waits for the high watermark; the end of its append.
        self.delayed: int | None = None
        self.appended_us = 0.0
        self.connection_free_us = 0.0
        # The followers.
        self.log_ends = dict.fromkeys(model.FOLLOWERS, 0)
        self.high_watermarks = dict.fromkeys(model.FOLLOWERS, 0)

    def run(self) -> None:
        """Run until all is acknowledged and known."""
        for follower in model.FOLLOWERS:
            self.send(0, self.fetch_arrives, follower, 0)
        self.clock.at(0, self.batch_is_due, 0)
        self.clock.run()

    def send(self, leaves_us: float, arrives: Callable[..., None], *content: object) -> None:
        """Send a message that leaves at a time."""
        self.clock.at(leaves_us + uniform(*model.NETWORK_US), arrives, *content)

    # The producer.

    def batch_is_due(self, batch: int) -> None:
        self.events += 1
        self.send(self.clock.now_us, self.produce_arrives, batch)
        if batch + 1 < self.batches:
            self.clock.at((batch + 1) * model.PERIOD_US, self.batch_is_due, batch + 1)

    def acknowledgement_arrives(self, batch: int) -> None:
        self.events += 1
        self.acknowledged += 1
        self.latency_us += self.clock.now_us - batch * model.PERIOD_US

    # The leader.

    def produce_arrives(self, batch: int) -> None:
        self.events += 1
        if self.delayed is not None or self.unread:
            self.unread.append(batch)
        elif self.clock.now_us < self.connection_free_us:
            self.unread.append(batch)
            self.clock.at(self.connection_free_us, self.connection_is_free)
        else:
            self.append(batch)

    def connection_is_free(self) -> None:
        self.append(self.unread.popleft())

    def append(self, batch: int) -> None:
        self.log_end += 1
        self.delayed = batch
        now_us = self.clock.now_us
        self.appended_us = now_us + uniform(*model.REQUEST_US) + uniform(*model.APPEND_US)
        for follower in self.waiting:
            self.respond(follower)
        self.waiting.clear()

    def fetch_arrives(self, follower: int, offset: int) -> None:
        self.events += 1
        if offset < self.log_end:
            self.respond(follower)
        else:
            self.waiting[follower] = self.clock.now_us + model.WAIT_US
            self.watch(follower)
        self.fetched[follower] = offset
        self.advance()

    def watch(self, follower: int) -> None:
        # One timer for a follower: nearly all fetches are answered long before.
        if not self.has_timer[follower]:
            self.has_timer[follower] = True
            self.clock.at(self.waiting[follower], self.wait_ends, follower)

    def wait_ends(self, follower: int) -> None:
        self.has_timer[follower] = False
        if follower not in self.waiting:
            return
        if self.clock.now_us < self.waiting[follower]:
            self.watch(follower)
            return
        self.events += 1
        del self.waiting[follower]
        self.respond(follower)

    def respond(self, follower: int) -> None:
        leaves_us = self.clock.now_us + uniform(*model.REQUEST_US)
        self.send(leaves_us, self.records_arrive, follower, self.log_end, self.high_watermark)

    def advance(self) -> None:
        high_watermark = min(self.log_end, *self.fetched.values())
        if high_watermark == self.high_watermark:
            return
        self.high_watermark = high_watermark
        if self.delayed is None or self.delayed >= high_watermark:
            return
        leaves_us = max(self.appended_us, self.clock.now_us + uniform(*model.REQUEST_US))
        self.send(leaves_us, self.acknowledgement_arrives, self.delayed)
        self.delayed = None
        self.connection_free_us = leaves_us
        if self.unread:
            self.clock.at(leaves_us, self.connection_is_free)

    # A follower.

    def records_arrive(self, follower: int, end: int, high_watermark: int) -> None:
        self.events += 1
        leaves_us = self.clock.now_us
        if end > self.log_ends[follower]:
            self.log_ends[follower] = end
            leaves_us += uniform(*model.APPEND_US)
        self.high_watermarks[follower] = min(end, high_watermark)
        self.send(leaves_us, self.fetch_arrives, follower, end)


class Queue:
    """The server and the customers that wait for it."""

    def __init__(self, customers: int) -> None:
        self.clock = Clock()
        self.customers = customers
        self.events = 0
        self.served = 0
        self.stay_us = 0.0
        self.arrivals_us: deque[float] = deque()

    def run(self) -> None:
        """Run until the last customer has left."""
        self.arrive()
        self.clock.run()

    def arrive(self) -> None:
        self.events += 1
        self.arrivals_us.append(self.clock.now_us)
        if len(self.arrivals_us) == 1:
            self.serve()
        self.clock.at(self.clock.now_us + expovariate(1 / model.ARRIVAL_US), self.arrive)

    def serve(self) -> None:
        self.clock.at(self.clock.now_us + expovariate(1 / model.SERVICE_US), self.leave)

    def leave(self) -> None:
        self.events += 1
        self.served += 1
        self.stay_us += self.clock.now_us - self.arrivals_us.popleft()
        if self.served == self.customers:
            self.clock.end_us = self.clock.now_us
        elif self.arrivals_us:
            self.serve()


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
    run.run()
    return model.Outcome(run.events, run.served, run.stay_us / customers, begun.until_now())
