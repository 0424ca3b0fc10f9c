"""Events: the common part of all kinds, and the declaration of a kind.

A kind of event is a class: its docstring is its meaning, and its fields are its body. An event lies
in a slot of ``Kernel.events``, which has room for the body of any kind (``compiled/records.py``).
Its partitions hang on it as a chain of entries, each a slot of ``Kernel.items``, as the requests of
Kafka's protocol have it.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Record, RecordMethod, dtype_of, flag, i32, i64

#: The most words of the body of an event, and of an entry of its chain.
BODY_FIELDS = 14
ENTRY_FIELDS = 13

_body = Annotated[NDArray[np.int64], (np.int64, (BODY_FIELDS,))]
_entry = Annotated[NDArray[np.int64], (np.int64, (ENTRY_FIELDS,))]

#: The classes of all kinds that are imported, by number; ``kinds.py`` imports all.
KINDS: dict[int, type[Event]] = {}


class EventList(Record):
    """Events one behind the other, first come first served: slots of ``Kernel.events``.

    An event is in one list at most.
    """

    first: i64 = -1
    last: i64 = -1
    length: i64


#: ``timer_at``, ``timer_after`` and ``message_to`` of ``events.py``.
AT, AFTER, TO = (RecordMethod(__name__, "tidegauge.simulation.events") for _ in range(3))


class Event(Record, head=True):
    """A message, a timer or a fault: the common part of all kinds.

    What counts processes and slots is narrow: the loop looks at two lines of the cache.
    """

    at, after, to = AT, AFTER, TO

    #: The time at which it is handled; for a response that is not sent yet, the time of its
    #: request.
    time_us: i64
    #: The process that handles it.
    destination: i32
    #: The process that sent it; the destination itself for a timer.
    source: i32
    #: Its number among all that its source has sent.
    sequence: i64
    #: Its kind (``kinds.py``).
    kind: i32 = -1
    #: For a response, the time of its request; else the time at which it was sent. To a process
    #: that was started later it means nothing.
    asked_us: i64
    #: The canonical row that made the source send it, as (process, sequence).
    cause_process: i32
    cause_sequence: i64
    #: The number of canonical rows of the source when it was sent.
    source_rows: i64
    #: Bytes of the records that it carries; only they take bandwidth.
    size_bytes: i64
    #: The time that they flow, up to the last byte; -1 - that once they are received.
    transfer_us: i64
    #: The time at which the last byte leaves the sender.
    left_us: i64
    #: Its receiver, and the latency from here on, while it is on a link between racks
    #: (``links.py``); else -1.
    relayed_to: i32 = -1
    relayed_latency_us: i64
    #: Its own slot in ``Kernel.events``.
    index: i32
    #: The event after it in the one list that it is in.
    next: i32
    #: First and last of its chain of partition data.
    first_item: i32
    last_item: i32
    #: The number of partitions in the chain.
    item_count: i32

    # The stage of its handling, while it waits inside its process.
    #: The thread that handles it.
    thread: i32
    #: Step of the handling, and the entry of the chain at which it goes on.
    phase: i32
    cursor: i32
    #: Time that the handling has taken so far.
    cost_us: i64
    #: The latest time of its response, if it waits in a purgatory.
    deadline_us: i64

    #: Its number among its sender's requests; the response has the same number.
    correlation_id: i64 = -1

    #: The pins of the scenario have looked at it (``pins.py``); it is for the process that runs at
    #: its delivery, whenever that was started.
    has_passed_pins: flag
    outlives_restarts: flag

    #: The number of a kind; -1: it is none.
    KIND: ClassVar[int] = -1
    #: Its name in traces.
    NAME: ClassVar[str] = ""
    #: Kafka's number of the request (``protocol/ApiKeys``); -1: it is none.
    API_KEY: ClassVar[int] = -1
    #: One of num.io.threads of a broker handles it.
    IS_REQUEST: ClassVar[bool] = False
    #: Neither a pause nor a cut nor a death can hold it back.
    IS_UNHELD: ClassVar[bool] = False

    def __init_subclass__(cls, kind: int = -1, api_key: int = -1) -> None:
        """Enter a kind of event, if it has a number.

        Raises:
            TypeError: its body is too large, or another kind has its number.
        """
        super().__init_subclass__()
        if kind < 0:
            return
        if kind in KINDS or _words_behind(cls, Event) > BODY_FIELDS:
            raise TypeError(f"{cls.__name__}: too large a body, or {kind} is {KINDS.get(kind)}")
        cls.KIND, cls.API_KEY = kind, api_key
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Request"))
        cls.NAME = name.upper()
        KINDS[kind] = cls


class EventSlot(Event):
    """An event of any kind, as it lies in ``Kernel.events``."""

    body: _body


class Fault(Event):
    """A fault, or the event of its end: it is never held back."""

    IS_UNHELD: ClassVar[bool] = True


class BrokerRequest(Event):
    """A request that one of a broker's num.io.threads handles."""

    IS_REQUEST: ClassVar[bool] = True


class ControllerRequest(Event):
    """A request to a controller."""


class Response(Event):
    """The response to a request."""


class News(Event):
    """News of a process to another one, or to another part of it, without a request."""


class Timer(Event):
    """An event of a process to itself."""


class PartitionData(Record, head=True):
    """An event's entry about one partition, or about another thing: the common fields."""

    #: The next of the chain, or of the free ones.
    next: i32
    #: Number of the partition within the cluster; -1: it is about something else.
    partition: i32

    #: The kind of the event on which they hang distinguishes entries.
    KIND: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        """Check the size of a class of entries.

        Raises:
            TypeError: its body is too large.
        """
        super().__init_subclass__()
        if _words_behind(cls, PartitionData) > ENTRY_FIELDS:
            raise TypeError(f"{cls.__name__}: too large a body")


def _words_behind(record: type[Record], head: type[Record]) -> int:
    """The words of 64 bits that a class has behind its head."""
    return (dtype_of(record).itemsize - dtype_of(head).itemsize) // 8


class ItemSlot(PartitionData):
    """An entry of any class, as it lies in ``Kernel.items``."""

    body: _entry
