"""The distance between a picture and the states of a run: an edit distance with times.

The states of the run are laid beside those of the picture, so that the sum of the differences is
least. A state of the picture stands beside any number of states of the run. A change of state that
both have costs what its two times differ; a state that only one of them has, or that is another
one, costs more, and less if it is brief. Of a gap in the picture nothing is asked.

A run matches if no change is further from that of the picture than the picture's ``within``, and
what only one of them has is briefer than that.
"""

from collections.abc import Sequence
from math import inf, log2
from typing import NamedTuple

from tidegauge.engine.fuzzing.fuzzed_cluster import HeldState
from tidegauge.search.pictures import NO_LEADER, SeenPartition, SeenState

#: The cost of a state that is wrong, or that is missing, unless it is brief.
_WRONG = 3.0
#: The cost of a change at a wrong time grows no further.
_MOST_LATE = 2.5
#: A run with more states than this is not what anybody saw.
_MOST_STATES = 60
#: The first state of a run began before any picture.
_LONG_AGO_US = -(1 << 60)


class Change(NamedTuple):
    """A change of state of the run, beside that of the picture; in the picture's time."""

    simulated_us: int
    seen_us: int

    @property
    def late_us(self) -> int:
        """The time by which the run is later."""
        return self.simulated_us - self.seen_us


class Span(NamedTuple):
    """States of the run beside a state of the picture: none where the run has no such state."""

    seen: SeenState
    simulated: Sequence[HeldState]
    is_right: bool


class Difference(NamedTuple):
    """The difference between a picture and a run, of one partition or of all."""

    distance: float
    is_match: bool
    changes: Sequence[Change]
    spans: Sequence[Span]
    #: The first time at which they differ, in the picture's time; None: they do not.
    first_us: int | None


def difference(seen: SeenPartition, held: Sequence[HeldState], within_us: int) -> Difference:
    """The difference between a partition's picture and its states in a run.

    Args:
        seen: the picture.
        held: the states of the run in their order, in the picture's time; the first one lasts from
            before the picture on.
        within_us: times that differ by so much are the same.
    """
    states = _merged(held, seen)
    if len(states) > _MOST_STATES:
        return Difference(inf, is_match=False, changes=(), spans=(), first_us=seen.until_us)
    ends = [each.begin_us for each in states[1:]]
    lengths = [
        min(end, seen.until_us) - each.begin_us
        for each, end in zip(states, [*ends, seen.until_us], strict=True)
    ]
    lengths[0] = max(lengths[0], within_us)
    wrong = [
        [
            _mismatch(state, each) * _weight(length, within_us)
            for each, length in zip(states, lengths, strict=True)
        ]
        for state in seen.states
    ]
    cuts, cost = _aligned(seen, ends, wrong, within_us)
    return _told(seen, states, lengths, cuts, cost, within_us)


def _merged(held: Sequence[HeldState], seen: SeenPartition) -> list[HeldState]:
    """The states before the end of the picture; equal ones that follow each other are one."""
    merged: list[HeldState] = []
    for each in held:
        if each.begin_us >= seen.until_us and merged:
            break
        if not merged or (each.leader, each.isr) != (merged[-1].leader, merged[-1].isr):
            merged.append(each)
    return merged


def _mismatch(seen: SeenState, held: HeldState) -> float:
    """The part of a state that is another than in the picture: 0 to 1."""
    leader = NO_LEADER if held.leader is None else held.leader
    other = 0.0
    if seen.leader is not None and seen.leader != leader:
        other += 0.5
    if seen.isr is not None and seen.isr != held.isr:
        other += 0.2 + 0.3 * len(seen.isr ^ held.isr) / max(len(seen.isr | held.isr), 1)
    return other


def _weight(length_us: int, within_us: int) -> float:
    return _WRONG * min(1.0, length_us / within_us)


def _lateness(late_us: int, within_us: int) -> float:
    late = abs(late_us) / within_us
    return late if late < 1 else min(1 + 0.3 * log2(late), _MOST_LATE)


def _aligned(
    seen: SeenPartition, ends: Sequence[int], wrong: Sequence[Sequence[float]], within_us: int
) -> tuple[list[int], float]:
    """The alignment that costs least.

    Returns:
        for each state of the picture the number of states of the run up to its end; the cost.
    """
    count = len(ends) + 1
    times = _times(seen, ends)
    costs = [0.0] + [inf] * count
    origins: list[list[int]] = []
    for place, state in enumerate(seen.states):
        is_last = place == len(seen.states) - 1
        missing = 0.0 if state.is_anything else _skipped(state, within_us)
        row, origin = [inf] * (count + 1), [0] * (count + 1)
        best, best_from, upto = inf, 0, 0.0
        for number in range(count + 1):
            skipped = costs[number] + missing
            row[number], origin[number] = skipped, number
            if number:
                upto += wrong[place][number - 1]
                if best + upto < skipped:
                    row[number], origin[number] = best + upto, best_from
            if costs[number] - upto < best:
                best, best_from = costs[number] - upto, number
            if not is_last and state.end_us is not None:
                row[number] += _lateness(times[number] - state.end_us, within_us)
        costs = row
        origins.append(origin)
    cuts = [count]
    for origin in reversed(origins):
        cuts.append(origin[cuts[-1]])
    return cuts[-2::-1], costs[count]


def _times(seen: SeenPartition, ends: Sequence[int]) -> list[int]:
    """The time of a cut before each state of the run, and behind the last one."""
    return [_LONG_AGO_US, *ends, seen.until_us]


def _skipped(state: SeenState, within_us: int) -> float:
    if state.begin_us is None or state.end_us is None:
        return _WRONG
    return _weight(state.end_us - state.begin_us, within_us)


def _told(
    seen: SeenPartition,
    states: Sequence[HeldState],
    lengths: Sequence[int],
    cuts: Sequence[int],
    cost: float,
    within_us: int,
) -> Difference:
    """The difference of an alignment: its changes, spans, and whether it is a match."""
    times = _times(seen, [each.begin_us for each in states[1:]])
    changes, spans, first = [], [], 0
    differs_us: list[int] = []
    for state, last in zip(seen.states, cuts, strict=True):
        beside = range(first, last)
        odd = [each for each in beside if _mismatch(state, states[each]) > 0]
        lasts = not state.is_anything and _skipped(state, within_us) >= _WRONG
        # Wrong states count together, however short each is; a state that lasts has to be there.
        is_wrong = sum(lengths[each] for each in odd) >= within_us
        is_wrong = is_wrong or (lasts and bool(odd) and len(odd) == len(beside))
        is_missing = lasts and not beside
        if is_wrong:
            wrong_us = states[odd[0]].begin_us
            differs_us.append(max(wrong_us, 0 if state.begin_us is None else state.begin_us))
        elif is_missing:
            differs_us.append(seen.until_us if state.begin_us is None else state.begin_us)
        spans.append(
            Span(state, [states[each] for each in beside], not is_wrong and not is_missing)
        )
        if state.begin_us is not None and (beside or state.is_anything):
            change = Change(times[first], state.begin_us)
            if abs(change.late_us) > within_us:
                differs_us.append(max(min(change), 0))
            if first > 0:
                changes.append(change)
        first = last
    return Difference(cost, not differs_us, changes, spans, min(differs_us, default=None))


def together(differences: Sequence[Difference]) -> Difference:
    """The difference of several partitions."""
    first = [each.first_us for each in differences if each.first_us is not None]
    return Difference(
        sum(each.distance for each in differences),
        all(each.is_match for each in differences),
        [change for each in differences for change in each.changes],
        [span for each in differences for span in each.spans],
        min(first, default=None),
    )
