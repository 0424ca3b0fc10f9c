"""News between the two ends of a pair of brokers whose fetches bring nothing.

They are no messages of Kafka's, and no events of the simulation: they are not counted, nothing
holds them back, and they come before all events of their time. The two groups that host the
brokers agree by them on which fetches are computed (``actors/idle_fetches/across.py``).
"""

from tidegauge.compiled.codes import code
from tidegauge.compiled.records import flag, i64
from tidegauge.simulation.messages.event import Event

#: Source of these news: they come before the scenario's faults.
OTHER_END = code(-2)


class IdleHalf(Event):
    """One end's half of a pair: its fetch that waits here is the event's ``correlation_id``.

    The event also has that fetch's ``asked_us``, ``deadline_us``, and cause.
    """

    #: The broker at this end.
    broker: i64
    #: The sequence number of the fetch that waits here, of which its timer's follows.
    timer: i64
    #: This end's own fetch in flight; 0: none.
    in_flight: i64
    #: The link from here.
    draws: i64
    last_delivery_us: i64
    #: The other end accepts: it computes from now on.
    accepts: flag


class IdleOffer(IdleHalf, kind=134):
    """This end is calm, and can be computed from now on."""


class IdleAnswer(IdleHalf, kind=135):
    """The answer to an offer."""


class IdleEnds(Event, kind=136):
    """This end computes no more: what it has computed of each of the pair's two fetches."""

    broker: i64
    #: Events (``idle_fetches.stages.events_of``) of the fetch of the higher broker, and of the
    #: lower one; 0: there is none.
    of_higher: i64
    of_lower: i64
