"""What the controller of a KRaft cluster writes about brokers, one record after the other.

A broker's epoch is the offset of its registration in the metadata log. Offsets depend on all that
was written before, so they are compared by order alone: ``[registered, 2]`` is the second
registration of a broker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

REGISTERED, FENCED, UNFENCED = "registered", "fenced", "unfenced"
SHUTTING_DOWN = "shutting down"

_REGISTRATION, _CHANGE = "RegisterBrokerRecord", "BrokerRegistrationChangeRecord"

#: The records of a step, by broker: [state, number of the registration].
BrokerRecords = dict[str, list[list[Any]]]


class Registrations:
    """The registrations of brokers, numbered for each broker by their epochs."""

    def __init__(self) -> None:
        self._epochs: dict[int, set[int]] = defaultdict(set)
        self._last: dict[int, list[Any]] = {}

    def take(self, broker: int, state: str, epoch: int) -> list[Any] | None:
        """A record in the form that is compared; None: it says the same as the one before.

        A controller fences a broker that has left once more when its session would be over, and a
        request for a registration may come twice.
        """
        self._epochs[broker].add(epoch)
        record = [state, sorted(self._epochs[broker]).index(epoch) + 1]
        if self._last.get(broker) == record:
            return None
        self._last[broker] = record
        return record

    def begin(self) -> None:
        """The first step begins: what is in force now is the first registration of a broker.

        How often a broker tries to register while the cluster starts is a race.
        """
        for broker, epochs in self._epochs.items():
            epochs.intersection_update({max(epochs)})
            self._last[broker][1] = 1


def records_by_step(
    startup: list[list[Any]], timelines: Iterable[list[list[Any]]]
) -> Iterator[BrokerRecords]:
    """The records about brokers in each step of a repeat.

    Args:
        startup: all records before the first step: [ms, type, key, data, offset, controller epoch].
        timelines: the same of each step.
    """
    registrations = Registrations()
    _taken(registrations, startup)
    registrations.begin()
    for timeline in timelines:
        yield _taken(registrations, timeline)


def _taken(registrations: Registrations, timeline: list[list[Any]]) -> BrokerRecords:
    records: BrokerRecords = {}
    for _, kind, key, data, *_ in timeline:
        if kind in (_REGISTRATION, _CHANGE):
            broker = int(key.removeprefix("b"))
            record = registrations.take(broker, _state(kind, data), data["broker_epoch"])
            if record is not None:
                records.setdefault(key, []).append(record)
    return records


def _state(kind: str, data: dict[str, Any]) -> str:
    if kind == _REGISTRATION:
        return REGISTERED
    if data.get("in_controlled_shutdown"):
        return SHUTTING_DOWN
    return FENCED if data["fenced"] else UNFENCED


def fencing_order(brokers: list[int], timelines: Iterable[list[list[Any]]]) -> list[int]:
    """Brokers in the order in which they are fenced first; those that are not come last.

    Args:
        brokers: some brokers.
        timelines: the records of a step and of those after it.
    """
    fenced: list[int] = []
    for timeline in timelines:
        for _, kind, key, data, *_ in timeline:
            if kind == _CHANGE and _state(kind, data) == FENCED:
                fenced.append(int(key.removeprefix("b")))
    return sorted(brokers, key=lambda each: fenced.index(each) if each in fenced else len(fenced))
