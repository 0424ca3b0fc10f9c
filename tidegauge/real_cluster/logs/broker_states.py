"""States of brokers in the control plane, the processes of nodes, and the active controllers.

With ZooKeeper a broker is registered or not. Its own line is its registration, and the controller's
lines name the brokers that are new, gone or bounced; a new controller lists those that are
registered. A quorum's controllers replay each record of a registration. All of them do, and again
after a restart, so records are taken once. A record that the active controller replays before it is
committed, and that no other controller has, did not happen if that controller then renounces.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, TypeVar

from tidegauge.real_cluster.logs import log_events
from tidegauge.real_cluster.logs.log_events import LogEvent, RegistrationRecord
from tidegauge.simulation.trace_rows import codes

#: States of a broker in the control plane.
ABSENT, FENCED = int(codes.BROKER_ABSENT), int(codes.BROKER_FENCED)
ACTIVE, SHUTTING_DOWN = int(codes.BROKER_ACTIVE), int(codes.BROKER_SHUTTING_DOWN)
#: Reasons of a change of the state.
REGISTERED, UNFENCED = int(codes.BROKER_REGISTERS), int(codes.BROKER_UNFENCED)
_EXPIRED, _CLOSED = int(codes.BROKER_SESSION_EXPIRED), int(codes.BROKER_SESSION_CLOSED)
_DELETED, _SHUTS_DOWN = int(codes.BROKER_DELETED), int(codes.BROKER_SHUTS_DOWN)
_ASKS_FOR_FENCE = int(codes.BROKER_ASKS_FOR_FENCE)

_ENDLESS = 1 << 60
#: A line about an action of another node is at most so late.
_LATE_MS = 3_000
#: A broker that has stopped cleanly leaves so soon.
_LEAVES_MS = 15_000
#: A controller that has just begun may miss a broker that registers at the same time.
_JUST_MS = 50


class BrokerChange(NamedTuple):
    """The state of a broker in the control plane changes."""

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
    #: It serves requests from here; None: no line has it.
    started_ms: int | None
    #: Its last line, or the line about its stop; None: it runs at the end.
    end_ms: int | None
    stopped_cleanly: bool


_Event = TypeVar("_Event", bound=LogEvent)


def of_kind(events: Iterable[LogEvent], kind: type[_Event]) -> list[_Event]:
    """The events of a kind, in their order."""
    return [event for event in events if isinstance(event, kind)]


def start_times_ms(events: Iterable[LogEvent]) -> dict[int, list[int]]:
    """The times at which the processes of each node start."""
    starts: dict[int, list[int]] = defaultdict(list)
    for event in of_kind(events, log_events.ProcessStarting):
        starts[event.node].append(event.time_ms)
    return starts


def lives_of(events: list[LogEvent], last_ms: dict[int, int]) -> list[Life]:
    """The processes of all nodes.

    Args:
        events: all events, on the common clock.
        last_ms: the time of the last line of each node.
    """
    by_node: dict[int, list[LogEvent]] = defaultdict(list)
    for event in events:
        by_node[event.node].append(event)
    lives = []
    for node, of_node in sorted(by_node.items()):
        times = [event.time_ms for event in of_node]
        starts = _starts_of(of_node)
        for start, after in pairwise((*starts, None)):
            assert start is not None
            end = after.time_ms if after is not None else last_ms.get(node, start.time_ms) + 1
            within = of_node[bisect_left(times, start.time_ms) : bisect_left(times, end)]
            lives.append(_life(start, after, within or [start]))
    return lives


def _starts_of(events: list[LogEvent]) -> list[log_events.ProcessStarting]:
    """The starts of a node's processes; in combined mode both servers of a process start."""
    stops = [event.time_ms for event in of_kind(events, log_events.ProcessStopped)]
    starts: list[log_events.ProcessStarting] = []
    before: LogEvent | None = None
    for event in of_kind(events, log_events.ProcessStarting):
        if (
            before is None
            or event.time_ms - before.time_ms > _LATE_MS
            or bisect_right(stops, event.time_ms) > bisect_right(stops, before.time_ms)
        ):
            starts.append(event)
        before = event
    return starts


def _life(
    start: LogEvent, after: log_events.ProcessStarting | None, within: list[LogEvent]
) -> Life:
    def first_ms(kind: type[LogEvent]) -> int | None:
        return next((each.time_ms for each in of_kind(within, kind)), None)

    stopped_ms = end_ms = first_ms(log_events.ProcessStopped)
    if stopped_ms is None and after is not None:
        lowest_ms = max(each.time_ms for each in within)
        end_ms = min(max(after.previous_line_ms, lowest_ms), after.time_ms)
    started_ms = first_ms(log_events.ProcessStarted)
    return Life(start.node, start.time_ms, started_ms, end_ms, stopped_ms is not None)


def with_deaths(
    lives: list[Life], changes: list[BrokerChange], last_ms: dict[int, int], timeout_ms: int
) -> list[Life]:
    """The lives with better times of deaths: a killed process has no last line.

    It was alive at its last line, and its last heartbeat was less than a session timeout before it
    was lost. A process whose last line is before its loss, and that never returns, is gone.

    Args:
        lives: the lives of all nodes.
        changes: the changes of the states of brokers.
        last_ms: the time of the last line of each node.
        timeout_ms: the session timeout; 0 if no line has it.
    """
    losses = _losses(lives, changes, last_ms)
    corrected = []
    for life in lives:
        end_ms = life.end_ms
        if life in losses:
            last, lost_ms = losses[life]
            end_ms = max(last, lost_ms - timeout_ms) if timeout_ms else last
        corrected.append(life._replace(end_ms=end_ms))
    return corrected


def _losses(
    lives: list[Life], changes: list[BrokerChange], last_ms: dict[int, int]
) -> dict[Life, tuple[int, int]]:
    """By life that ended without a stop: its last line, and the end of its session after it."""
    expired: dict[int, list[int]] = defaultdict(list)
    for change in changes:
        if change.state in (ABSENT, FENCED) and change.reason == _EXPIRED:
            expired[change.broker].append(change.time_ms)
    found = {}
    for life, after in pairwise((*lives, None)):
        assert life is not None
        until = _ENDLESS if after is None or after.node != life.node else after.begin_ms
        times = expired.get(life.node, [])
        place = bisect_right(times, until) - 1
        if not life.stopped_cleanly and place >= 0 and times[place] >= life.begin_ms:
            lost_ms = times[place]
            last = last_ms.get(life.node, lost_ms) if life.end_ms is None else life.end_ms
            if last <= lost_ms:
                found[life] = (last, lost_ms)
    return found


def longest_session_ms(
    lives: list[Life], changes: list[BrokerChange], last_ms: dict[int, int]
) -> int | None:
    """The shortest time from a killed process's last line to the end of its session; None: none.

    Arguments as in ``with_deaths``.
    """
    losses = _losses(lives, changes, last_ms)
    return min((lost_ms - end_ms for end_ms, lost_ms in losses.values()), default=None)


def controllers_of(events: list[LogEvent]) -> list[ControllerChange]:
    """The active controllers, each at the earliest time of any line about it."""
    found: dict[int, ControllerChange] = {}
    for event in events:
        if isinstance(
            event,
            log_events.ControllerElected | log_events.QuorumLeader | log_events.ActiveController,
        ):
            change = ControllerChange(event.time_ms, event.node, event.controller_epoch)
        elif isinstance(event, log_events.LeaderLearned):
            change = ControllerChange(event.time_ms, event.leader, event.controller_epoch)
        else:
            continue
        found.setdefault(change.epoch, change)
    ordered = [found[epoch] for epoch in sorted(found)]
    # A later epoch does not begin before an earlier one.
    for place in range(len(ordered) - 2, -1, -1):
        later = ordered[place + 1].time_ms
        ordered[place] = ordered[place]._replace(time_ms=min(ordered[place].time_ms, later))
    return ordered


def broker_changes(events: list[LogEvent], lives: list[Life]) -> list[BrokerChange]:
    """The changes of the states of brokers, in order."""
    records = of_kind(events, RegistrationRecord)
    is_quorum = any(not isinstance(each, log_events.UnregisterBrokerRecord) for each in records)
    changes = _of_quorum(records, events) if is_quorum else _Registrations(events, lives).changes()
    last: dict[int, BrokerChange] = {}
    kept = []
    for change in changes:
        before = last.get(change.broker)
        # A row with the same state of the same registration is no change.
        if before is None or (before.state, before.broker_epoch) != (
            change.state,
            change.broker_epoch,
        ):
            kept.append(change)
        last[change.broker] = change
    return kept


class _Registrations:
    """Brokers that are registered with ZooKeeper, by the lines about it."""

    def __init__(self, events: list[LogEvent], lives: list[Life]) -> None:
        self._events = events
        self._stops: dict[int, list[int]] = defaultdict(list)
        for life in lives:
            if life.stopped_cleanly and life.end_ms is not None:
                self._stops[life.node].append(life.end_ms)
        #: Times and epochs of the registrations in the brokers' own lines.
        self._own: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for event in of_kind(events, log_events.Registered):
            self._own[event.node].append((event.time_ms, event.broker_epoch))
        #: Registered brokers, with their epochs; -1 is not known yet.
        self._live: dict[int, int] = {}
        self._changes: list[BrokerChange] = []

    def changes(self) -> list[BrokerChange]:
        """The changes of the states of brokers, in order; some repeat a state."""
        for event in self._events:
            if isinstance(event, log_events.Registered):
                self._registers(event)
            elif isinstance(event, log_events.BrokersChanged):
                self._are_seen(event)
            elif isinstance(event, log_events.BrokerEpochsInitialized):
                self._are_found(event)
        return sorted(self._changes, key=lambda change: change.time_ms)

    def _registers(self, event: log_events.Registered) -> None:
        if self._live.get(event.node, event.broker_epoch) not in (event.broker_epoch, -1):
            # Its session had ended; only the new registration shows it.
            self._leaves(event.node, event.time_ms)
        self._arrives(event.node, event.time_ms, event.broker_epoch)

    def _are_seen(self, event: log_events.BrokersChanged) -> None:
        for broker in event.deleted:
            self._leaves(broker, event.time_ms)
        for broker in event.bounced:
            self._arrives(broker, event.time_ms, -1)
        for broker in (*event.added, *event.live):
            if broker not in self._live:
                self._arrives(broker, event.time_ms, -1)

    def _are_found(self, event: log_events.BrokerEpochsInitialized) -> None:
        """A new controller lists the brokers that are registered."""
        found = dict(event.epochs)
        for broker in sorted(set(self._live) - set(found)):
            if not self._own_between(broker, event.time_ms - _JUST_MS, event.time_ms):
                self._leaves(broker, event.time_ms)
        for broker, epoch in found.items():
            self._arrives(broker, event.time_ms, epoch)

    def _arrives(self, broker: int, seen_ms: int, epoch: int) -> None:
        near = self._own_between(broker, seen_ms - _LATE_MS, seen_ms + _LATE_MS)
        if near:
            own_ms, epoch = min(near, key=lambda each: abs(each[0] - seen_ms))
            seen_ms = min(own_ms, seen_ms)
        if self._live.get(broker) == epoch and epoch >= 0:
            return
        self._live[broker] = epoch
        self._changes.append(BrokerChange(seen_ms, broker, ACTIVE, epoch, REGISTERED))

    def _own_between(self, broker: int, first_ms: int, last_ms: int) -> list[tuple[int, int]]:
        """Times and epochs of the registrations in a broker's own lines."""
        own = self._own.get(broker, [])
        return own[bisect_left(own, (first_ms, -1)) : bisect_left(own, (last_ms + 1, -1))]

    def _leaves(self, broker: int, seen_ms: int) -> None:
        if broker not in self._live:
            return
        epoch = self._live.pop(broker)
        stops = self._stops.get(broker, [])
        place = bisect_left(stops, seen_ms - _LEAVES_MS)
        is_clean = place < len(stops) and stops[place] <= seen_ms + _LEAVES_MS
        reason = _CLOSED if is_clean else _EXPIRED
        self._changes.append(BrokerChange(seen_ms, broker, ABSENT, epoch, reason))


#: A broker, and the part of the time: of a timeout and its fence it is the same, or the next one.
_Timeouts = set[tuple[int, int]]


def _of_quorum(records: list[RegistrationRecord], events: list[LogEvent]) -> list[BrokerChange]:
    timeouts: _Timeouts = {
        (event.broker, event.time_ms // _LATE_MS + near)
        for event in of_kind(events, log_events.SessionTimedOut)
        for near in (-1, 0, 1)
    }
    last: dict[int, BrokerChange] = {}
    changes = []
    for record in _committed(records, events):
        before = last.get(record.broker)
        state, reason = _state_after(record, before, timeouts)
        change = BrokerChange(record.time_ms, record.broker, state, record.broker_epoch, reason)
        changes.append(change)
        last[record.broker] = change
    return changes


def _state_after(
    record: RegistrationRecord, before: BrokerChange | None, timeouts: _Timeouts
) -> tuple[int, int]:
    """The state of a broker after a record, and the reason."""
    if isinstance(record, log_events.RegisterBrokerRecord):
        return (FENCED if record.is_fenced else ACTIVE), REGISTERED
    if not isinstance(record, log_events.BrokerRegistrationChangeRecord):
        return ABSENT, _DELETED
    if record.fenced > 0:
        timed_out = (record.broker, record.time_ms // _LATE_MS) in timeouts
        shuts_down = before is not None and before.state == SHUTTING_DOWN
        return FENCED, _EXPIRED if timed_out and not shuts_down else _ASKS_FOR_FENCE
    changes = {(-1, 0): (ACTIVE, UNFENCED), (0, 1): (SHUTTING_DOWN, _SHUTS_DOWN)}
    unchanged = (FENCED, REGISTERED) if before is None else (before.state, before.reason)
    return changes.get((record.fenced, max(record.in_controlled_shutdown, 0)), unchanged)


def _committed(
    records: list[RegistrationRecord], events: list[LogEvent]
) -> list[RegistrationRecord]:
    """Each record once, at its earliest time; none that was never committed."""
    starts = start_times_ms(events)
    #: The records of each registration that each life of each controller has replayed, in order.
    replays: dict[tuple[int, int], dict[tuple[int, int], list[RegistrationRecord]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in records:
        life = bisect_left(starts[record.node], record.time_ms + 1)
        replays[record.node, life][record.broker, record.broker_epoch].append(record)
    merged: dict[tuple[int, int], list[list[RegistrationRecord]]] = defaultdict(list)
    for by_registration in sorted(
        replays.values(), key=lambda replay: min(each[0].time_ms for each in replay.values())
    ):
        for registration, replayed in by_registration.items():
            _merge(merged[registration], replayed)
    renounced = of_kind(events, log_events.LeadershipRenounced)
    found = [
        min(same, key=_by_time)
        for sequences in merged.values()
        for same in sequences
        if not _is_lost(same, renounced, records)
    ]
    return sorted(found, key=_by_time)


def _by_time(record: RegistrationRecord) -> tuple[int, int]:
    return record.time_ms, record.node


def _merge(sequence: list[list[RegistrationRecord]], replayed: list[RegistrationRecord]) -> None:
    """Add the records of one life to those that are known: each is found, or is new."""
    place = 0
    for record in replayed:
        same = [
            at for at in range(place, len(sequence)) if sequence[at][0].content == record.content
        ]
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
    same: list[RegistrationRecord],
    renounced: list[log_events.LeadershipRenounced],
    records: list[RegistrationRecord],
) -> bool:
    """Whether a record was only appended by a controller that then renounced."""
    record = same[0]
    if len({each.node for each in same}) > 1:
        return False
    others = [each for each in records if each.node != record.node]
    other_replays = any(each.time_ms >= record.time_ms - _LATE_MS for each in others)
    most_ms = 20 * _LATE_MS if other_replays else _LATE_MS
    return any(
        each.node == record.node and 0 <= each.time_ms - record.time_ms <= most_ms
        for each in renounced
    )
