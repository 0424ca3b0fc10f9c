"""The models that Tidegauge and its alternatives run, and the outcome that all of them must have.

**Replication.** One partition on three brokers, a leader and two followers, all in sync. A producer
sends a batch of one record every ``PERIOD_US`` with acks=all, whatever is still unanswered.

* The leader reads one produce request of the connection at a time: it appends the record, wakes the
  fetches that wait, and reads the next request once the response to this one has left. The response
  leaves when the high watermark has reached the record, and the append has taken its time.
* A follower has one fetch in flight. It says up to where the follower's log reaches. If there are
  records behind that, the leader responds with them, else the fetch waits for the next append, for
  ``WAIT_US`` at most. The high watermark of a response is that before the fetch was counted.
* A fetch is counted as it arrives: the high watermark is the end of the shortest of the three logs.
* A follower appends the records of a response, takes over the high watermark as far as its log
  reaches, and fetches again.

Each message takes ``NETWORK_US``. A response leaves ``REQUEST_US`` after the leader has come to its
request, and one append takes ``APPEND_US`` more. All three are drawn anew each time, uniformly.

**M/M/1.** Customers arrive at random, on average every ``ARRIVAL_US``, at one server, which takes
``SERVICE_US`` on average. Both are exponential.

**Events** are counted in the same way everywhere: each message that arrives, each batch that is
due, each fetch that has waited in vain; each arrival and each departure of a customer. Timers that
were not needed in the end do not count, nor does what a library does besides.
"""

from collections.abc import Mapping
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple, Self

#: 500 batches a second.
PERIOD_US = 2_000
#: replica.fetch.wait.max.ms.
WAIT_US = 500_000
#: The run goes on for so long after the last batch: the high watermark reaches it.
AFTER_US = 2 * WAIT_US
#: The least and the most of what is drawn.
NETWORK_US = (250, 750)
REQUEST_US = (20, 120)
APPEND_US = (50, 250)
FOLLOWERS = (2, 3)

#: Means of the queue: its server is busy for half of the time.
ARRIVAL_US = 1_000
SERVICE_US = 500

#: Seed of every run: what is measured is always the same run.
SEED = 1

#: Of each model: how far a mean may be off by what was drawn. Customers wait for each other, so a
#: mean of 20,000 is off by 4 % at times; that of 500 batches by 1 %.
TOLERANCE = {"replication": 0.03, "M/M/1": 0.1}


class Took(NamedTuple):
    """The time that a run took, without imports, compilation and the start of Ray."""

    wall_s: float
    #: Of all processes that take part in it.
    cpu_s: float

    @classmethod
    def now(cls) -> Self:
        """The clocks of this process."""
        return cls(perf_counter(), process_time())

    def until_now(self) -> "Took":
        """The time since these clocks."""
        now = Took.now()
        return Took(now.wall_s - self.wall_s, now.cpu_s - self.cpu_s)


class Outcome(NamedTuple):
    """The outcome of a run of one of the models."""

    events: int
    #: Batches that were acknowledged, or customers that have left.
    finished: int
    #: From the time at which a batch is due to its acknowledgement, or from a customer's arrival to
    #: its departure, on average.
    mean_us: float
    took: Took
    #: The lowest of the replicas, at the end; the queue has none.
    high_watermark: int = 0


def disagreements(model: str, outcomes: Mapping[str, tuple[int, Outcome]]) -> list[str]:
    """What is wrong with the outcomes of a model, by the names of alternatives.

    Each comes with the number of batches or customers. All of them are finished and below the high
    watermark; the mean, and the events of each, are those of the other alternatives.
    """
    usual_us = median(outcome.mean_us for _, outcome in outcomes.values())
    usual_events = median(outcome.events / size for size, outcome in outcomes.values())
    found = []
    for name, (size, outcome) in outcomes.items():
        if outcome.finished != size:
            found.append(f"{name}: {outcome.finished:,} of {size:,} are finished")
        if model == "replication" and outcome.high_watermark != size:
            found.append(f"{name}: the high watermark is {outcome.high_watermark:,}, not {size:,}")
        for what, value, usual in (
            ("a mean of {:,.0f} us", outcome.mean_us, usual_us),
            ("{:.2f} events for each", outcome.events / size, usual_events),
        ):
            if abs(value - usual) > TOLERANCE[model] * usual:
                found.append(f"{name}: {what.format(value)}, usual is {what.format(usual)}")
    return found
