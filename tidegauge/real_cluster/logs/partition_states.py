"""The states of partitions, one for each version, from all lines about them.

A state has a version: zkVersion, or KRaft's partition epoch. Several lines have one state, some of
them long after its write; it is taken once, at the earliest time of these lines. Lines of Kafka 2.6
and before lack the version of a state that the controller has written, but then each of its writes
raises the leader epoch by one, while the writes of leaders keep it and have their version in the
line: so the controller's writes fill the versions that no leader has written, in the order of
their epochs.

A line that intends or restates a state, or logs one without a write, adds none: its epoch or
version is there already. An ISR that a leader announces, and that no line confirms, is no state.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from operator import attrgetter
from typing import NamedTuple

from tidegauge.real_cluster.logs import partition_rows

#: The longest time from a leader's line about an ISR change to the line of the change.
_LONGEST_CHANGE_MS = 5_000
#: The longest time by which lines of a new topic precede the line of its creation.
_SLACK_MS = 100
_ANNOUNCEMENTS = (partition_rows.LineKind.SHRINKING, partition_rows.LineKind.EXPANDING)
#: Of more members the orders of their fences are too many to be tried.
_MOST_ENDS = 5


class Line(NamedTuple):
    """A line about a partition; its time is that of the common clock."""

    kind: int
    time_ms: int
    node: int
    leader: int
    leader_epoch: int
    version: int
    isr: tuple[int, ...] | None
    assignment: partition_rows.Assignment | None
    controller_epoch: int
    offset: int


@dataclass(slots=True)
class State:
    """A state of a partition, from the time of its write or of the first line that has it."""

    version: int
    time_ms: int
    leader: int = partition_rows.MISSING
    leader_epoch: int = partition_rows.MISSING
    isr: tuple[int, ...] | None = None
    #: Whether a line has the ISR; else it follows from rules ...
    is_isr_logged: bool = True
    #: ... or from nothing: then it is the rest of the ISR before, and nobody is told to leave.
    is_isr_assumed: bool = False
    controller_epoch: int = partition_rows.MISSING
    assignment: partition_rows.Assignment | None = None
    created: bool = False
    unclean: bool = False
    deleted: bool = False
    #: A leader has changed the ISR, by its own line.
    by_leader: bool = False
    #: The controller that wrote it; None: no line names it.
    controller: int | None = None
    #: The controller has accepted it from the leader.
    altered: bool = False


class AnnouncedIsr(NamedTuple):
    """An ISR that a leader has announced, and that no line confirms."""

    time_ms: int
    leader: int
    isr: tuple[int, ...]


def states_of(
    lines: list[Line], births: Sequence[int], deaths: Sequence[int], *, has_elr: bool
) -> list[State]:
    """The states of a partition, in order.

    Args:
        lines: all lines about it, in the order of their times.
        births: the times at which its topic was created, if more than once.
        deaths: the times at which its topic was deleted.
        has_elr: whether the cluster has eligible leader replicas.
    """
    lives: dict[int, list[Line]] = defaultdict(list)
    cuts = [time_ms - _SLACK_MS for time_ms in births[1:]]
    for line in lines:
        lives[bisect_right(cuts, line.time_ms)].append(line)
    states = []
    for life, of_one in sorted(lives.items()):
        of_life = _of_one_life(of_one, has_elr=has_elr)
        states += of_life
        ends = [time_ms for time_ms in deaths if of_life and time_ms >= of_life[0].time_ms]
        if ends and (life >= len(cuts) or ends[0] <= cuts[life] + _SLACK_MS):
            last = of_life[-1]
            states.append(
                State(last.version + 1, max(ends[0], last.time_ms), -1, last.leader_epoch, ())
            )
            states[-1].deleted = True
    return states


def _of_one_life(lines: list[Line], *, has_elr: bool) -> list[State]:
    versioned: dict[int, State] = {}
    epochs: dict[int, State] = {}
    for line in lines:
        if line.version != partition_rows.MISSING and line.kind not in (
            *partition_rows.INTENTS,
            partition_rows.LineKind.ASSIGNED,
        ):
            state = versioned.setdefault(line.version, State(line.version, line.time_ms))
            _take(state, line)
    known = {state.leader_epoch for state in versioned.values()}
    for line in lines:
        is_whole = (
            partition_rows.MISSING not in (line.leader_epoch, line.leader) and line.isr is not None
        )
        if line.version == partition_rows.MISSING and is_whole and line.leader_epoch not in known:
            state = epochs.setdefault(
                line.leader_epoch, State(partition_rows.MISSING, line.time_ms)
            )
            _take(state, line)
    _give_versions(versioned, [epochs[epoch] for epoch in sorted(epochs)])
    states = [versioned[version] for version in sorted(versioned)]
    _fill(states, has_elr=has_elr)
    _find_leaders_changes(states, lines)
    if not has_elr:
        _find_unclean_elections(states)
    _order_times(states)
    return states


def _take(state: State, line: Line) -> None:
    """Add the values of a line to a state; those of earlier lines stay."""
    state.time_ms = min(state.time_ms, line.time_ms)
    for name in ("leader", "leader_epoch", "controller_epoch"):
        if getattr(state, name) == partition_rows.MISSING:
            setattr(state, name, getattr(line, name))
    if line.isr is not None and (state.isr is None or _has_order_of_record(state, line)):
        state.isr = line.isr
    state.assignment = joined(state.assignment, line.assignment)
    state.created |= line.kind == partition_rows.LineKind.CREATED and line.version <= 0
    state.unclean |= line.kind == partition_rows.LineKind.UNCLEAN
    state.by_leader |= line.kind == partition_rows.LineKind.ISR_UPDATED
    state.altered |= line.kind == partition_rows.LineKind.ALTERED
    if line.kind in partition_rows.BY_CONTROLLER and state.controller is None:
        state.controller = line.node


def _has_order_of_record(state: State, line: Line) -> bool:
    """Whether a line has the ISR of a state in the order of its record.

    From 4.2 on a leader's own line has it in an order of its own.
    """
    if line.kind in partition_rows.BY_CONTROLLER:
        return True
    is_state = line.kind == partition_rows.LineKind.STATE
    return is_state and sorted(line.isr or ()) == sorted(state.isr or ())


def joined(
    first: partition_rows.Assignment | None, second: partition_rows.Assignment | None
) -> partition_rows.Assignment | None:
    """The assignment of two lines together; the first one counts where both have a value."""
    if first is None or second is None:
        return first or second
    known = {name: value for name, value in first._asdict().items() if value is not None}
    return second._replace(**known)


def _give_versions(versioned: dict[int, State], unversioned: list[State]) -> None:
    """Give each state that lacks one its version: one that no other has."""
    anchors = sorted(
        (state for state in versioned.values() if state.leader_epoch != partition_rows.MISSING),
        key=attrgetter("version"),
    )
    bounds = [None, *anchors, None]
    left = list(unversioned)
    for before, after in pairwise(bounds):
        of_gap = [
            state
            for state in left
            if (before is None or state.leader_epoch > before.leader_epoch)
            and (after is None or state.leader_epoch < after.leader_epoch)
        ]
        if not of_gap:
            continue
        left = [state for state in left if state not in of_gap]
        if before is None:
            _number_backwards(versioned, of_gap, after)
        else:
            _number_forwards(versioned, of_gap, before.version, after)


def _number_backwards(
    versioned: dict[int, State], states: list[State], after: State | None
) -> None:
    """Number states before the first one that has epoch and version."""
    if after is None:
        # No line has both: versions count from 0, or from the first change of a leader.
        _number_forwards(versioned, states, min(versioned, default=0) - 1, None)
        return
    free = [
        version
        for version in range(max(0, after.version - len(versioned) - len(states)), after.version)
        if version not in versioned
    ]
    for state, version in zip(states[::-1], free[::-1], strict=False):
        state.version = version
        versioned[version] = state


def _number_forwards(
    versioned: dict[int, State], states: list[State], first: int, after: State | None
) -> None:
    last = max(versioned, default=first) if after is None else after.version - 1
    free = [version for version in range(first + 1, last + 1) if version not in versioned]
    in_order = len(free) == len(states) if after is not None else len(free) <= len(states)
    for place, state in enumerate(states):
        if in_order and place < len(free):
            version = free[place]
        else:
            earlier = [each.version for each in versioned.values() if each.time_ms < state.time_ms]
            lowest = max([first, *earlier]) + 1
            choices = [version for version in free if version >= lowest] or free[-1:]
            if after is None and (not choices or in_order):
                choices = [max([first, *versioned]) + 1]
            if not choices or choices[0] in versioned:
                continue
            version = choices[0]
        state.version = version
        versioned[version] = state
        first = max(first, version)
        free = free if in_order else [each for each in free if each > version]


def _fill(states: list[State], *, has_elr: bool) -> None:
    """Give each state the values of the one before, where no line has them."""
    before = State(-1, 0)
    for place, state in enumerate(states):
        if state.leader_epoch == partition_rows.MISSING:
            state.leader_epoch = before.leader_epoch
            if state.leader_epoch == partition_rows.MISSING:
                later = (each.leader_epoch for each in states[place:])
                state.leader_epoch = next(
                    (epoch for epoch in later if epoch != partition_rows.MISSING), 0
                )
        if state.leader == partition_rows.MISSING:
            state.leader = before.leader if before.leader != partition_rows.MISSING else -1
        if state.controller_epoch == partition_rows.MISSING:
            state.controller_epoch = before.controller_epoch
        if state.isr is None:
            after = states[place + 1 :]
            known = _without_leader(before, state, after, has_elr=has_elr)
            state.isr = _left_of(before, state) if known is None else known
            state.is_isr_logged, state.is_isr_assumed = False, known is None
        before = state


def _left_of(before: State, state: State) -> tuple[int, ...]:
    """The rest of the ISR before that a state has at least, where no line and no rule has it."""
    if before.isr is None:
        return () if state.leader < 0 else (state.leader,)
    if state.leader < 0:
        return before.isr
    if state.leader != before.leader and before.leader in before.isr:
        left = tuple(each for each in before.isr if each != before.leader)
        return left if state.leader in left else (*left, state.leader)
    return before.isr if state.leader in before.isr else (state.leader,)


def _without_leader(
    before: State, state: State, after: list[State], *, has_elr: bool
) -> tuple[int, ...] | None:
    """The ISR of a state without a leader, where no line has it; None: no rule has it.

    With eligible leader replicas the last member leaves it, too. Else it stays: the leader if it
    is the only one that led since the state before, or the one that is elected later.
    Source: PartitionChangeBuilder.build@4.1.0.
    """
    if state.leader >= 0 or (before.isr is None and not has_elr):
        return None
    if has_elr:
        return ()
    isr = before.isr or ()
    if len(isr) == 1 or before.leader < 0:
        return isr
    if state.leader_epoch == before.leader_epoch + 1:
        return (before.leader,) if before.leader in isr else None
    led = [each for each in after if each.leader >= 0][:1]
    last: set[tuple[int, ...]] = {
        (each.leader,) for each in led if each.leader in isr and not each.unclean
    }
    if state.version == before.version + len(isr) and len(isr) <= _MOST_ENDS:
        # Each member has left by a change of its own.
        last = {
            ends[-1].isr or ()
            for order in permutations((state.time_ms, broker) for broker in isr)
            for ends in _ends(before, order, has_elr=has_elr)
            if ends[-1].leader_epoch == state.leader_epoch
        }
    return next(iter(last)) if len(last) == 1 else None


def _find_unclean_elections(states: list[State]) -> None:
    """Note the unclean elections that no line calls so.

    They show where a line has all members of the ISR just before. With eligible leader replicas it
    does not: those who are eligible are no members.
    """
    for before, state in pairwise(states):
        if (
            before.is_isr_logged
            and state.version == before.version + 1
            and state.leader not in (before.leader, -1)
            and state.leader not in (before.isr or ())
        ):
            state.unclean = True


def _find_leaders_changes(states: list[State], lines: list[Line]) -> None:
    """Note the changes that leaders made without a line of their own about it.

    An ISR that grows under the same leader does so by its leader. One that shrinks does if the
    leader has logged just before that it is about to do so.
    """
    intents = [line for line in lines if line.kind == partition_rows.LineKind.SHRINKING]
    for before, state in pairwise(states):
        if state.leader != before.leader or state.leader < 0 or not state.is_isr_logged:
            continue
        old, new = set(before.isr or ()), set(state.isr or ())
        if new > old:
            state.by_leader = state.leader_epoch == before.leader_epoch or state.by_leader
        elif new < old and not state.by_leader:
            state.by_leader = any(
                line.isr is not None
                and set(line.isr) == new
                and line.node == state.leader
                and 0 <= state.time_ms - line.time_ms <= _LONGEST_CHANGE_MS
                for line in intents
            )


def announced_isrs(lines: list[Line], states: list[State]) -> list[AnnouncedIsr]:
    """The ISRs that leaders announced and that no state has: refused, or never answered.

    Args:
        lines: all lines about a partition, in the order of their times.
        states: its states.
    """
    announced: list[AnnouncedIsr] = []
    times = [state.time_ms for state in states]
    for line in lines:
        if line.isr is None or line.kind not in _ANNOUNCEMENTS:
            continue
        first, last = (bisect_left(times, line.time_ms - late) for late in (_SLACK_MS, 0))
        is_confirmed = any(
            state.leader == line.node and set(state.isr or ()) == set(line.isr)
            for state in states[first : last + 1]
        )
        # A leader that is refused announces it again.
        is_repeated = bool(announced) and announced[-1][1:] == (line.node, line.isr)
        if not is_confirmed and not is_repeated:
            announced.append(AnnouncedIsr(line.time_ms, line.node, line.isr))
    return announced


def _order_times(states: list[State]) -> None:
    """A state is not later than the one that follows it: some lines restate it long after."""
    for state, after in zip(states[-2::-1], states[:0:-1], strict=True):
        state.time_ms = min(state.time_ms, after.time_ms)


def earlier_by_brokers(
    states: list[State],
    gone_ms: dict[int, list[int]],
    back_ms: dict[int, list[int]],
    *,
    has_elr: bool,
) -> None:
    """Move changes that a quorum makes when it fences a broker to the time of the fence.

    Its active controller appends a broker's fence, and the changes of partitions, in one batch; the
    lines of other brokers come later, or, if none of them runs, when the first one starts.

    Args:
        states: the states of a partition.
        gone_ms: when each broker was fenced, or began to shut down.
        back_ms: when each broker was unfenced.
        has_elr: whether the cluster has eligible leader replicas.
    """
    for before, state in pairwise(states):
        if state.by_leader or state.created or state.deleted:
            continue
        # Without a leader all members are gone, though the last one may stay in the ISR.
        lost = set(before.isr or ()) - set((state.isr or ()) if state.leader >= 0 else ())
        if state.leader != before.leader:
            lost.add(before.leader)
            if state.is_isr_assumed and state.leader >= 0:
                _settle_by_fences(before, state, gone_ms.get(before.leader, []))
        # Of several fences the last one made the state.
        _move(state, before, sorted(each for broker in lost for each in gone_ms.get(broker, [])))
        if before.leader < 0 <= state.leader:
            _move(state, before, back_ms.get(state.leader, []))
    _order_times(states)
    _add_missing_ends(states, gone_ms, has_elr=has_elr)


def _settle_by_fences(before: State, state: State, gone_ms: list[int]) -> None:
    """Give a state with another leader its ISR: without the one before if that was fenced."""
    if any(before.time_ms <= each <= state.time_ms for each in gone_ms):
        state.is_isr_assumed = before.is_isr_assumed
    elif state.leader in (before.isr or ()):
        # The preferred leader was elected: all are in sync as before.
        state.isr = before.isr


def _add_missing_ends(states: list[State], gone_ms: dict[int, list[int]], *, has_elr: bool) -> None:
    """Add the states by which a partition lost all of its ISR, if lines have only a later one.

    Nobody was left to log them, but the fence of each member makes a change of its own. They are
    added if one choice of leaders alone has the leader epoch of the later state.
    """
    for before, state in list(pairwise(states)):
        if not (state.version > before.version + 1 and before.leader >= 0 > state.leader):
            continue
        fences = {
            broker: next((each for each in times if before.time_ms <= each <= state.time_ms), None)
            for broker in before.isr or ()
            for times in [gone_ms.get(broker, [])]
        }
        known = {broker: time_ms for broker, time_ms in fences.items() if time_ms is not None}
        if not known or len(known) < len(fences) or len(known) > _MOST_ENDS:
            continue
        # The order of fences within one millisecond is not known.
        orders = (
            order
            for order in permutations((time_ms, broker) for broker, time_ms in known.items())
            if all(earlier[0] <= later[0] for earlier, later in pairwise(order))
        )
        possible = [
            ends
            for order in orders
            for ends in _ends(before, order, has_elr=has_elr)
            if ends[-1].leader_epoch == state.leader_epoch
        ]
        if len(possible) == 1:
            place = states.index(state)
            states[place:place] = [each for each in possible[0] if each.version < state.version]
            if not state.is_isr_logged:
                state.isr, state.is_isr_assumed = possible[0][-1].isr, False


def _ends(
    before: State, fences: Sequence[tuple[int, int]], *, has_elr: bool
) -> Iterator[list[State]]:
    """The states to which the fences of members lead, for each choice of leaders."""
    if not fences:
        yield []
        return
    (time_ms, broker), *later = fences
    left = tuple(each for each in before.isr or () if each != broker)
    for leader in (left or (-1,)) if broker == before.leader else (before.leader,):
        state = State(
            before.version + 1,
            time_ms,
            leader,
            before.leader_epoch + (leader != before.leader),
            left if left or has_elr else before.isr,
            is_isr_logged=False,
            controller_epoch=before.controller_epoch,
        )
        for after in _ends(state, later, has_elr=has_elr):
            yield [state, *after]


def _move(state: State, before: State, times_ms: list[int]) -> None:
    between = [each for each in times_ms if before.time_ms <= each < state.time_ms]
    if between:
        state.time_ms = between[-1]
