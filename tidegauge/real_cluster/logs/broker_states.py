"""Lives of brokers and controllers: what the control plane took a broker for, starts and stops.

With ZooKeeper a broker is registered or not. It says itself that it has registered, and the
controller says whom it has found new, gone or bounced; a new controller lists whom it finds. A
quorum's controllers replay each record of a registration. All of them do, and again after a
restart, so records are taken once. A record that the active controller replays before it is
committed, and that no other controller has, did not happen if that controller then renounces.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

from tidegauge.real_cluster.logs.clock_offsets import epochs_of
from tidegauge.real_cluster.logs.partition_rows import Event

#: States, as ``simulation/codes/occasions.py`` has them.
ABSENT, FENCED, ACTIVE, SHUTTING_DOWN = 0, 1, 2, 3
REGISTERED, UNFENCED, EXPIRED, CLOSED, DELETED, SHUTS_DOWN, ASKS_FOR_FENCE = 1, 2, 3, 4, 5, 6, 7

_ENDLESS = 1 << 60
#: A line about what another node has done is at most so late.
_LATE_MS = 3_000
#: A broker that has stopped cleanly leaves so soon.
_LEAVES_MS = 15_000
#: A controller that has just begun may not see who registers at the same time.
_JUST_MS = 50


class BrokerChange(NamedTuple):
    """The control plane takes a broker for something else."""

    time_ms: int
    broker: int
    state: int
    broker_epoch: int
    reason: int


class ControllerChange(NamedTuple):
    """Another node is the active controller."""

    time_ms: int
    node: int
    epoch: int


class Life(NamedTuple):
    """A process of a node, from its first line on."""

    node: int
    begin_ms: int
    #: It serves requests from here; None: no line says so.
    started_ms: int | None
    #: Its last line, or the line that says that it has stopped; None: it runs at the end.
    end_ms: int | None
    stopped_cleanly: bool
    #: Whether it was stopped cleanly before; None: no line says so.
    clean_start: bool | None


def lives_of(events: list[Event], last_ms: dict[int, int]) -> list[Life]:
    """The processes of all nodes.

    Args:
        events: all events, on the common clock.
        last_ms: the time of the last line of each node.
    """
    by_node: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_node[event.teller].append(event)
    lives = []
    for node, of_node in sorted(by_node.items()):
        times = [event.time_ms for event in of_node]
        starts = _starts_of(of_node)
        for start, after in pairwise((*starts, None)):
            assert start is not None
            end = after.time_ms if after is not None else last_ms.get(node, start.time_ms) + 1
            within = of_node[bisect_left(times, start.time_ms) : bisect_left(times, end)]
            lives.append(_life(node, start, after, within or [start]))
    return lives


def _starts_of(events: list[Event]) -> list[Event]:
    """The starts of a node's processes; in combined mode both servers of a process start."""
    stops = [event.time_ms for event in events if event.kind == "stopped"]
    starts: list[Event] = []
    before: Event | None = None
    for event in events:
        if event.kind != "starting":
            continue
        if (
            before is None
            or event.time_ms - before.time_ms > _LATE_MS
            or bisect_right(stops, event.time_ms) > bisect_right(stops, before.time_ms)
        ):
            starts.append(event)
        before = event
    return starts


def _life(node: int, start: Event, after: Event | None, within: list[Event]) -> Life:
    def first(kind: str) -> int | None:
        return next((each.time_ms for each in within if each.kind == kind), None)

    stopped = first("stopped")
    end_ms = stopped
    if stopped is None and after is not None:
        last = after.values[0]
        lowest = max(each.time_ms for each in within)
        end_ms = min(max(last if isinstance(last, int) else -1, lowest), after.time_ms)
    clean = True if first("clean_start") is not None else None
    if clean is None and first("unclean_start") is not None:
        clean = False
    return Life(node, start.time_ms, first("started"), end_ms, stopped is not None, clean)


def with_deaths(
    lives: list[Life], changes: list[BrokerChange], last_ms: dict[int, int], timeout_ms: int
) -> list[Life]:
    """The lives with better times of deaths: a killed process says nothing.

    It was alive at its last line, and its last heartbeat was less than a session timeout before it
    was lost. A process whose last line is before its loss, and that never returns, is gone.

    Args:
        lives: the lives of all nodes.
        changes: what the control plane took brokers for.
        last_ms: the time of the last line of each node.
        timeout_ms: the session timeout; 0 if no line tells it.
    """
    expired: dict[int, list[int]] = defaultdict(list)
    for change in changes:
        if change.state in (ABSENT, FENCED) and change.reason == EXPIRED:
            expired[change.broker].append(change.time_ms)
    corrected = []
    for life, after in pairwise((*lives, None)):
        assert life is not None
        is_last = after is None or after.node != life.node
        until = _ENDLESS if is_last or after is None else after.begin_ms
        times = expired.get(life.node, [])
        place = bisect_right(times, until) - 1
        if life.stopped_cleanly or place < 0 or times[place] < life.begin_ms:
            corrected.append(life)
            continue
        loss = times[place]
        last = last_ms.get(life.node, loss) if life.end_ms is None else life.end_ms
        if last <= loss:
            gone_ms = max(last, loss - timeout_ms) if timeout_ms else last
            life = life._replace(end_ms=gone_ms)  # noqa: PLW2901
        corrected.append(life)
    return corrected


def session_timeout_ms(events: list[Event], *, is_kraft: bool) -> int:
    """The session timeout that starts print; 0 if none does."""
    name = "broker.session.timeout.ms" if is_kraft else "zookeeper.session.timeout.ms"
    said = [
        str(event.values[1]).strip()
        for event in events
        if event.kind == "setting" and event.values[0] == name
    ]
    return int(said[-1]) if said and said[-1].isdigit() else 0


def controllers_of(events: list[Event]) -> list[ControllerChange]:
    """The active controllers, each at the earliest time that a line tells it."""
    found: dict[int, ControllerChange] = {}
    for event in events:
        epoch = event.values[0] if event.values else None
        if not isinstance(epoch, int):
            continue
        if event.kind in ("elected", "quorum_leader", "active"):
            found.setdefault(epoch, ControllerChange(event.time_ms, event.teller, epoch))
        elif event.kind == "active_seen" and isinstance(event.values[1], int):
            found.setdefault(epoch, ControllerChange(event.time_ms, event.values[1], epoch))
    ordered = [found[epoch] for epoch in sorted(found)]
    # A later epoch does not begin before an earlier one.
    for place in range(len(ordered) - 2, -1, -1):
        later = ordered[place + 1].time_ms
        ordered[place] = ordered[place]._replace(time_ms=min(ordered[place].time_ms, later))
    return ordered


def broker_changes(events: list[Event], lives: list[Life]) -> list[BrokerChange]:
    """What the control plane took each broker for, in order."""
    if any(event.kind in ("register_record", "change_record") for event in events):
        return _of_quorum(events)
    return _Registrations(events, lives).changes()


class _Registrations:
    """Brokers that are registered with ZooKeeper, as lines tell it."""

    def __init__(self, events: list[Event], lives: list[Life]) -> None:
        self._events = events
        self._stops: dict[int, list[int]] = defaultdict(list)
        for life in lives:
            if life.stopped_cleanly and life.end_ms is not None:
                self._stops[life.node].append(life.end_ms)
        self._own = _own_registrations(events)
        #: Registered brokers, with their epochs; -1 is not known yet.
        self._live: dict[int, int] = {}
        self._changes: list[BrokerChange] = []

    def changes(self) -> list[BrokerChange]:
        """What the control plane took each broker for, in order."""
        for event in self._events:
            if event.kind == "registered" and isinstance(event.values[0], int):
                self._registers(event.teller, event.time_ms, event.values[0])
            elif event.kind == "brokers_changed":
                self._are_seen(event)
            elif event.kind == "brokers_found":
                self._are_found(event)
        return _alternating(sorted(self._changes, key=lambda change: change.time_ms))

    def _registers(self, broker: int, time_ms: int, epoch: int) -> None:
        if self._live.get(broker, epoch) not in (epoch, -1):
            # Its session had ended; only the new registration tells it.
            self._leaves(broker, time_ms)
        self._arrives(broker, time_ms, epoch)

    def _are_seen(self, event: Event) -> None:
        added, deleted, bounced, alive = (
            value if isinstance(value, tuple) else () for value in event.values
        )
        for broker in deleted:
            self._leaves(broker, event.time_ms)
        for broker in bounced:
            self._arrives(broker, event.time_ms, -1)
        for broker in (*added, *alive):
            if broker not in self._live:
                self._arrives(broker, event.time_ms, -1)

    def _are_found(self, event: Event) -> None:
        """A new controller lists the brokers that are registered."""
        found = dict(epochs_of(event))
        for broker in sorted(set(self._live) - set(found)):
            if not self._own_between(broker, event.time_ms - _JUST_MS, event.time_ms):
                self._leaves(broker, event.time_ms)
        for broker, epoch in found.items():
            self._arrives(broker, event.time_ms, epoch)

    def _arrives(self, broker: int, seen_ms: int, epoch: int) -> None:
        near = self._own_between(broker, seen_ms - _LATE_MS, seen_ms + _LATE_MS)
        if near:
            told_ms, told_epoch = min(near, key=lambda each: abs(each[0] - seen_ms))
            seen_ms, epoch = min(told_ms, seen_ms), told_epoch
        if self._live.get(broker) == epoch and epoch >= 0:
            return
        self._live[broker] = epoch
        self._changes.append(BrokerChange(seen_ms, broker, ACTIVE, epoch, REGISTERED))

    def _own_between(self, broker: int, first_ms: int, last_ms: int) -> list[tuple[int, int]]:
        """Times and epochs of the registrations that a broker itself tells."""
        own = self._own.get(broker, [])
        return own[bisect_left(own, (first_ms, -1)) : bisect_left(own, (last_ms + 1, -1))]

    def _leaves(self, broker: int, seen_ms: int) -> None:
        if broker not in self._live:
            return
        epoch = self._live.pop(broker)
        stops = self._stops.get(broker, [])
        place = bisect_left(stops, seen_ms - _LEAVES_MS)
        is_clean = place < len(stops) and stops[place] <= seen_ms + _LEAVES_MS
        reason = CLOSED if is_clean else EXPIRED
        self._changes.append(BrokerChange(seen_ms, broker, ABSENT, epoch, reason))


def _own_registrations(events: list[Event]) -> dict[int, list[tuple[int, int]]]:
    own: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event.kind == "registered" and isinstance(event.values[0], int):
            own[event.teller].append((event.time_ms, event.values[0]))
    return own


def _alternating(changes: list[BrokerChange]) -> list[BrokerChange]:
    """Without changes that change nothing."""
    last: dict[int, tuple[int, int]] = {}
    kept = []
    for change in changes:
        state = (change.state, change.broker_epoch)
        if last.get(change.broker) != state:
            kept.append(change)
        last[change.broker] = state
    return kept


class _Record(NamedTuple):
    """A record about a registration, as a controller replays it."""

    time_ms: int
    teller: int
    kind: str
    broker: int
    broker_epoch: int
    fenced: int
    shuts_down: int


def _of_quorum(events: list[Event]) -> list[BrokerChange]:
    records = _committed(_records(events), events)
    timeouts: set[tuple[object, int]] = {
        (event.values[0], event.time_ms // _LATE_MS + near)
        for event in events
        if event.kind == "fencing"
        for near in (-1, 0, 1)
    }
    last: dict[int, BrokerChange] = {}
    changes = []
    for record in records:
        before = last.get(record.broker)
        state, reason = _state_after(record, before, timeouts)
        change = BrokerChange(record.time_ms, record.broker, state, record.broker_epoch, reason)
        if before is None or (before.state, before.broker_epoch) != (state, record.broker_epoch):
            changes.append(change)
            last[record.broker] = change
    return changes


def _state_after(
    record: _Record, before: BrokerChange | None, timeouts: set[tuple[object, int]]
) -> tuple[int, int]:
    if record.kind == "unregister":
        return ABSENT, DELETED
    if record.kind == "register":
        return (FENCED if record.fenced else ACTIVE), REGISTERED
    if record.fenced > 0:
        return FENCED, _why_fenced(record, before, timeouts)
    changes = {(-1, 0): (ACTIVE, UNFENCED), (0, 1): (SHUTTING_DOWN, SHUTS_DOWN)}
    unchanged = (FENCED, REGISTERED) if before is None else (before.state, before.reason)
    return changes.get((record.fenced, max(record.shuts_down, 0)), unchanged)


def _why_fenced(
    record: _Record, before: BrokerChange | None, timeouts: set[tuple[object, int]]
) -> int:
    """The reason of a fence; ``timeouts`` has who was fenced for silence, and about when."""
    if before is not None and before.state == SHUTTING_DOWN:
        return ASKS_FOR_FENCE
    timed_out = (record.broker, record.time_ms // _LATE_MS) in timeouts
    return EXPIRED if timed_out else ASKS_FOR_FENCE


def _records(events: list[Event]) -> list[_Record]:
    records = []
    for event in events:
        values = event.values
        if event.kind == "register_record":
            broker, _, epoch, fenced = values
            parts = ("register", int(str(broker)), int(str(epoch)), int(fenced != "false"), 0)
        elif event.kind == "change_record":
            broker, epoch, fenced, shuts_down = (int(str(each)) for each in values)
            parts = ("change", broker, epoch, fenced, shuts_down)
        elif event.kind == "unregister_record":
            parts = ("unregister", int(str(values[0])), int(str(values[1])), 1, 0)
        else:
            continue
        records.append(_Record(event.time_ms, event.teller, *parts))
    return records


def _committed(records: list[_Record], events: list[Event]) -> list[_Record]:
    """Each record once, at its earliest time; none that was never committed."""
    starts: dict[int, list[int]] = defaultdict(list)
    for event in events:
        if event.kind == "starting":
            starts[event.teller].append(event.time_ms)
    #: What each life of each controller has replayed about each registration, in order.
    replays: dict[tuple[int, int], dict[tuple[int, int], list[_Record]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in records:
        life = bisect_left(starts[record.teller], record.time_ms + 1)
        replays[record.teller, life][record.broker, record.broker_epoch].append(record)
    renounced = [(event.teller, event.time_ms) for event in events if event.kind == "renounced"]
    tellers = {record.teller for record in records}
    merged: dict[tuple[int, int], list[list[_Record]]] = defaultdict(list)
    for _, by_registration in sorted(
        replays.items(), key=lambda item: min(each[0].time_ms for each in item[1].values())
    ):
        for registration, told in by_registration.items():
            _merge(merged[registration], told)
    found = [
        min(same)
        for sequences in merged.values()
        for same in sequences
        if not _is_lost(same, renounced, tellers, records)
    ]
    return sorted(found)


def _merge(sequence: list[list[_Record]], told: list[_Record]) -> None:
    """Add what one life has replayed to the records that are known: each is found, or is new."""
    place = 0
    for record in told:
        same = [at for at in range(place, len(sequence)) if sequence[at][0][2:] == record[2:]]
        near = [at for at in same if abs(sequence[at][0].time_ms - record.time_ms) <= _LATE_MS]
        if near or (same and record.time_ms > sequence[same[0]][0].time_ms):
            place = (near or same)[0]
            sequence[place].append(record)
        else:
            sequence.append([record])
            sequence.sort(key=lambda each: each[0].time_ms)
            place = next(at for at, each in enumerate(sequence) if each[0] is record)
        place += 1


def _is_lost(
    same: list[_Record],
    renounced: list[tuple[int, int]],
    tellers: set[int],
    records: list[_Record],
) -> bool:
    """Whether a record was only appended by a controller that then renounced."""
    if len({each.teller for each in same}) > 1:
        return False
    record = same[0]
    for teller, at_ms in renounced:
        if teller != record.teller or not record.time_ms <= at_ms:
            continue
        between = at_ms - record.time_ms
        others = [each for each in tellers if each != teller]
        told_later = any(
            each.teller in others and each.time_ms >= record.time_ms - _LATE_MS for each in records
        )
        if between <= _LATE_MS or (others and told_later and between <= 20 * _LATE_MS):
            return True
    return False
