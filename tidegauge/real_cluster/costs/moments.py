"""Moments of a cluster, in one form for a recording and for a run, and the times between them.

The moments are those of the control plane: a write of ZooKeeper, or a record that the active
controller appended; and of processes: their start, their signals, their exit.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

#: Kinds of moments. A topic's creation is asked for. A broker is killed, is asked to stop, has
#: exited, starts, is registered, is unfenced (KRaft), is lost by the control plane. A partition has
#: a state.
ASKED, KILLED, TOLD, EXITED, STARTS = "asked", "killed", "told", "exited", "starts"
REGISTERED, UNFENCED, LOST, STATE = "registered", "unfenced", "lost", "state"

#: The moments that end the consequences of the one before.
_ACTIONS = (ASKED, KILLED, TOLD, STARTS)


class Moment(NamedTuple):
    """Something that happened."""

    time_ms: float
    kind: str
    #: Id of the broker; -1: it is about none.
    broker: int = -1
    #: ``orders-3``, or the name of a topic.
    about: str = ""
    #: The leader of a state; -1: none.
    leader: int = -1
    isr: tuple[int, ...] = ()


class MeasuredTime(NamedTuple):
    """A time between two moments."""

    name: str
    #: For people.
    title: str
    #: All durations of it, milliseconds.
    of: Callable[[Sequence[Moment]], Iterator[float]]


def _consequences(
    moments: Sequence[Moment], kind: str
) -> Iterator[tuple[Moment, Sequence[Moment]]]:
    """Each moment of a kind, with the moments from there to the next action."""
    for place, moment in enumerate(moments):
        if moment.kind == kind:
            rest = moments[place + 1 :]
            end = next((at for at, each in enumerate(rest) if each.kind in _ACTIONS), len(rest))
            yield moment, rest[:end]


def _created(moments: Sequence[Moment]) -> Iterator[float]:
    for asked, after in _consequences(moments, ASKED):
        led = [each for each in after if each.kind == STATE and _topic(each) == asked.about]
        if led:
            yield led[-1].time_ms - asked.time_ms


def _topic(moment: Moment) -> str:
    return moment.about.rpartition("-")[0]


def _moved(moments: Sequence[Moment], kind: str) -> Iterator[float]:
    """From a broker's fault to the last new leader of a partition that it has led."""
    leaders: dict[str, int] = {}
    at = 0
    for begin, after in _consequences(moments, kind):
        while moments[at] is not begin:
            if moments[at].kind == STATE:
                leaders[moments[at].about] = moments[at].leader
            at += 1
        led = {about for about, leader in leaders.items() if leader == begin.broker}
        moved = [each for each in after if each.kind == STATE and each.about in led]
        moved = [each for each in moved if each.leader not in (-1, begin.broker)]
        first = {each.about: each for each in reversed(moved)}
        if first:
            yield max(each.time_ms for each in first.values()) - begin.time_ms


def _told_to_moved(moments: Sequence[Moment]) -> Iterator[float]:
    return _moved(moments, TOLD)


def _between(begin: str, end: str) -> Callable[[Sequence[Moment]], Iterator[float]]:
    """From a moment of a broker to its next one of another kind."""

    def durations(moments: Sequence[Moment]) -> Iterator[float]:
        for place, moment in enumerate(moments):
            if moment.kind != begin:
                continue
            for later in moments[place + 1 :]:
                if later.broker == moment.broker and later.kind in (begin, end):
                    if later.kind == end:
                        yield later.time_ms - moment.time_ms
                    break

    return durations


def _after_first_stop(begin: str, end: str) -> Callable[[Sequence[Moment]], Iterator[float]]:
    """As :func:`_between`, of brokers that return: all start together when a cluster is made."""

    def durations(moments: Sequence[Moment]) -> Iterator[float]:
        first = next((at for at, each in enumerate(moments) if each.kind in (KILLED, TOLD)), None)
        return iter(()) if first is None else _between(begin, end)(moments[first:])

    return durations


def _lost_to_moved(moments: Sequence[Moment]) -> Iterator[float]:
    """From the end of a killed broker's session to the last new leader."""
    for killed, after in _consequences(moments, KILLED):
        lost = [each for each in after if each.kind == LOST and each.broker == killed.broker]
        before = [*_states_before(moments, killed), killed, *after]
        whole_ms = next(_moved(before, KILLED), None)
        if lost and whole_ms is not None:
            wait_ms = lost[0].time_ms - killed.time_ms
            # With KRaft both are records of one batch.
            if wait_ms < whole_ms:
                yield whole_ms - wait_ms


def _states_before(moments: Sequence[Moment], last: Moment) -> list[Moment]:
    before = moments[: next(at for at, each in enumerate(moments) if each is last)]
    return [each for each in before if each.kind == STATE]


def _registered_to_in_sync(moments: Sequence[Moment]) -> Iterator[float]:
    """From the registration of a broker that starts to its last return into an ISR."""
    for start, after in _consequences(moments, STARTS):
        isrs = {each.about: each.isr for each in _states_before(moments, start)}
        registered_ms = back_ms = -1.0
        for each in after:
            if each.kind == REGISTERED and each.broker == start.broker:
                registered_ms = each.time_ms
            elif each.kind == STATE:
                if start.broker in each.isr and start.broker not in isrs.get(each.about, ()):
                    back_ms = each.time_ms
                isrs[each.about] = each.isr
        if 0 <= registered_ms < back_ms:
            yield back_ms - registered_ms


#: A failover with KRaft is one batch of records: it takes no time of its own. A session's duration
#: after a kill is a setting, so the failover is counted from its end.
MEASURED_TIMES = (
    MeasuredTime("stop_to_exit", "broker stopped: SIGTERM to exit", _between(TOLD, EXITED)),
    MeasuredTime("stop_to_moved", "broker stopped: SIGTERM to last leader moved", _told_to_moved),
    MeasuredTime(
        "start_to_registered",
        "broker returns: start to registration",
        _after_first_stop(STARTS, REGISTERED),
    ),
    MeasuredTime(
        "registered_to_unfenced",
        "broker returns: registration to unfencing",
        _after_first_stop(REGISTERED, UNFENCED),
    ),
    MeasuredTime(
        "registered_to_in_sync", "broker returns: registration to last ISR", _registered_to_in_sync
    ),
    MeasuredTime(
        "lost_to_moved", "broker killed: end of session to last new leader", _lost_to_moved
    ),
    MeasuredTime(
        "create_to_led", "topic created: request to last partition with a leader", _created
    ),
)


def durations_of(moments: Iterable[Moment]) -> dict[str, list[float]]:
    """All durations of each measured time, milliseconds."""
    in_order = sorted(moments, key=lambda each: each.time_ms)
    found: dict[str, list[float]] = defaultdict(list)
    for each in MEASURED_TIMES:
        found[each.name] += each.of(in_order)
    return found
