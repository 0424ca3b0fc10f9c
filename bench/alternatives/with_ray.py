"""The replication model as one would begin it on Ray: an actor a broker, a call a message.

A driver keeps the order of time: it calls the actor to which the next message or timer goes, and
gets back what that actor sends.
"""

from heapq import heappop, heappush
from random import seed, uniform
from time import process_time
from typing import Any, NamedTuple

import ray

from bench.alternatives import model

#: Numbers of the actors; followers have their own.
PRODUCER, LEADER = 0, 1


class Sent(NamedTuple):
    """A message, or a timer, on its way."""

    time_us: float
    to: int
    method: str
    arguments: tuple[Any, ...]


def message(leaves_us: float, to: int, method: str, *arguments: Any) -> Sent:
    """A message that leaves at a time."""
    return Sent(leaves_us + uniform(*model.NETWORK_US), to, method, arguments)


class Actor:
    """An actor that draws, and knows what it has cost."""

    def __init__(self, number: int) -> None:
        seed(model.SEED + number)

    def cpu_s(self) -> float:
        return process_time()


class Leader(Actor):
    """The leader: its log, the fetches and the produce that wait."""

    def __init__(self) -> None:
        super().__init__(LEADER)
        self.log_end = 0
        self.high_watermark = 0
        self.fetched = dict.fromkeys(model.FOLLOWERS, 0)
        #: Followers whose fetch waits, and until when.
        self.waiting: dict[int, float] = {}
        self.has_timer = dict.fromkeys(model.FOLLOWERS, False)
        self.unread: list[int] = []
        self.delayed: int | None = None
        self.appended_us = 0.0
        self.connection_free_us = 0.0

    def produce(self, now_us: float, batch: int) -> list[Sent]:
        if self.delayed is not None or self.unread:
            self.unread.append(batch)
            return []
        if now_us < self.connection_free_us:
            self.unread.append(batch)
            return [Sent(self.connection_free_us, LEADER, "read_next", ())]
        return self._append(now_us, batch)

    def read_next(self, now_us: float) -> list[Sent]:
        return self._append(now_us, self.unread.pop(0))

    def _append(self, now_us: float, batch: int) -> list[Sent]:
        self.log_end += 1
        self.delayed = batch
        self.appended_us = now_us + uniform(*model.REQUEST_US) + uniform(*model.APPEND_US)
        responses = [self._response(now_us, follower) for follower in self.waiting]
        self.waiting.clear()
        return responses

    def fetch(self, now_us: float, follower: int, offset: int) -> list[Sent]:
        if offset < self.log_end:
            sent = [self._response(now_us, follower)]
        else:
            self.waiting[follower] = now_us + model.WAIT_US
            sent = self._watch(follower)
        self.fetched[follower] = offset
        return [*sent, *self._advance(now_us)]

    def _watch(self, follower: int) -> list[Sent]:
        if self.has_timer[follower]:
            return []
        self.has_timer[follower] = True
        return [Sent(self.waiting[follower], LEADER, "wait_ends", (follower,))]

    def wait_ends(self, now_us: float, follower: int) -> list[Sent]:
        self.has_timer[follower] = False
        if follower not in self.waiting:
            return []
        if now_us < self.waiting[follower]:
            return self._watch(follower)
        del self.waiting[follower]
        return [self._response(now_us, follower)]

    def _response(self, now_us: float, follower: int) -> Sent:
        leaves_us = now_us + uniform(*model.REQUEST_US)
        return message(leaves_us, follower, "records", self.log_end, self.high_watermark)

    def _advance(self, now_us: float) -> list[Sent]:
        self.high_watermark = min(self.log_end, *self.fetched.values())
        if self.delayed is None or self.delayed >= self.high_watermark:
            return []
        leaves_us = max(self.appended_us, now_us + uniform(*model.REQUEST_US))
        sent = [message(leaves_us, PRODUCER, "acknowledge", self.delayed)]
        self.delayed = None
        self.connection_free_us = leaves_us
        if self.unread:
            sent.append(Sent(leaves_us, LEADER, "read_next", ()))
        return sent

    def end(self) -> int:
        return self.high_watermark


class Follower(Actor):
    """A follower: its log."""

    def __init__(self, broker: int) -> None:
        super().__init__(broker)
        self.broker = broker
        self.log_end = 0
        self.high_watermark = 0

    def records(self, now_us: float, end: int, high_watermark: int) -> list[Sent]:
        if end > self.log_end:
            self.log_end = end
            now_us += uniform(*model.APPEND_US)
        self.high_watermark = min(end, high_watermark)
        return [message(now_us, LEADER, "fetch", self.broker, end)]

    def end(self) -> int:
        return self.high_watermark


class Producer(Actor):
    """The producer, and what it has got back."""

    def __init__(self, batches: int) -> None:
        super().__init__(PRODUCER)
        self.batches = batches
        self.acknowledged = 0
        self.latency_us = 0.0

    def batch(self, now_us: float, batch: int) -> list[Sent]:
        sent = [message(now_us, LEADER, "produce", batch)]
        if batch + 1 < self.batches:
            sent.append(Sent((batch + 1) * model.PERIOD_US, PRODUCER, "batch", (batch + 1,)))
        return sent

    def acknowledge(self, now_us: float, batch: int) -> list[Sent]:
        self.acknowledged += 1
        self.latency_us += now_us - batch * model.PERIOD_US
        return []

    def end(self) -> tuple[int, float]:
        return self.acknowledged, self.latency_us


class Driver:
    """The order of time, and the actors."""

    def __init__(self, batches: int) -> None:
        self.actors: dict[int, Any] = {
            LEADER: ray.remote(Leader).remote(),
            PRODUCER: ray.remote(Producer).remote(batches),
        }
        for follower in model.FOLLOWERS:
            self.actors[follower] = ray.remote(Follower).remote(follower)
        self.due: list[tuple[float, int, Sent]] = []
        self.number = 0
        self.events = 0

    def push(self, sent: list[Sent]) -> None:
        for each in sent:
            self.number += 1
            heappush(self.due, (each.time_us, self.number, each))

    def run_until(self, end_us: float) -> None:
        while self.due[0][0] < end_us:
            time_us, _, sent = heappop(self.due)
            handler = getattr(self.actors[sent.to], sent.method)
            answer = ray.get(handler.remote(time_us, *sent.arguments))
            self.push(answer)
            if sent.method == "wait_ends":
                # The timer of a fetch that waits no longer, or still may, sends no response.
                self.events += any(each.to != LEADER for each in answer)
            elif sent.method != "read_next":
                self.events += 1

    def all(self, method: str) -> dict[int, Any]:
        """Ask all actors."""
        return {
            name: ray.get(getattr(actor, method).remote()) for name, actor in self.actors.items()
        }


def replication(batches: int) -> model.Outcome:
    """Replicate so many batches."""
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    seed(model.SEED)
    driver = Driver(batches)
    cpu_s = sum(driver.all("cpu_s").values())
    begun = model.Took.now()
    for follower in model.FOLLOWERS:
        driver.push([message(0, LEADER, "fetch", follower, 0)])
    driver.push([Sent(0, PRODUCER, "batch", (0,))])
    driver.run_until(batches * model.PERIOD_US + model.AFTER_US)
    took = begun.until_now()
    cpu_s = sum(driver.all("cpu_s").values()) - cpu_s + took.cpu_s
    ends = driver.all("end")
    acknowledged, latency_us = ends.pop(PRODUCER)
    return model.Outcome(
        driver.events,
        acknowledged,
        latency_us / max(1, acknowledged),
        model.Took(took.wall_s, cpu_s),
        min(ends.values()),
    )
