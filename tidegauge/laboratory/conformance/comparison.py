"""Comparison of a run with a recording, field by field.

A field is a value with a path, such as ``partitions.t-0.zk.leader``. A value that was equal in all
repeats must be equal here. A value that varied must be one of the recorded values. A time must be
within the recorded span, widened, since the recording machine was shared.

A recording observes its cluster at some moments. If it observes during a change, a millisecond
decides whether the change is seen after this step or after the next. A field that differs is
*shifted* if the simulator shows its recorded value of a step before or after. Writes of a
partition's state are shifted if two steps together have the writes that were recorded of them, or
if replicas that come back to the same leader join its ISR in another order.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from tidegauge.laboratory.conformance import recorded_schedule
from tidegauge.laboratory.conformance.played_state import StateWrite, StepOutcome
from tidegauge.laboratory.conformance.recorded_dialects import STATE
from tidegauge.laboratory.conformance.recorded_quorums import QUORUM, Tree
from tidegauge.replication.release_versions import KRAFT_MODE

EXACT, VARIED, TIME = "exact", "varied", "time"
#: The rest of a schedule, from a step on that the simulator could not play.
NOT_PLAYED = "not played"
KINDS = (EXACT, VARIED, TIME, NOT_PLAYED)
#: The ways in which fields differ: by their kind, or, for a time, before or after its span.
FASTER, SLOWER = "faster", "slower"
#: Exact or varied, but equal to the value a step before or after.
SHIFTED = "shifted"
WAYS = (EXACT, VARIED, SHIFTED, FASTER, SLOWER, NOT_PLAYED)

#: The beginnings of the paths of a partition's writes, of a controller's records of a broker, and
#: of a leader's records of its voters.
WRITES, BROKER_RECORDS, QUORUM_RECORDS = "state_writes.", "broker_records.", "quorum_records."
_RECORDS = (WRITES, BROKER_RECORDS, QUORUM_RECORDS)

#: Columns of a write with KRaft.
_LEADER, _ISR, _LEADER_EPOCH = 1, 2, 5

#: The tolerance of a time outside its span: 20 % below, 3 s above.
_BELOW, _ABOVE_MS = 0.8, 3000.0

#: The beginnings of paths of responses.
_RESPONSES = {
    *("admin", "answer", "answers", "fetch", "probe", "result", "results", "stream", "values")
}
#: The last names in paths of partitions.
_OF_PARTITIONS = {
    *("leader", "isr", "elr", "last_known_elr", "leader_epoch", "partition_epoch", "recovering"),
    *("adding", "removing", "replicas_assigned", "controller_epoch", "version", "zk", "kraft"),
    *("leo", "runs", "hw_live", "hw_ckpt", "recovery_point", "epoch_ckpt", "logs"),
}

#: Fields that are not compared: values of the operating system or a log file, actions of the
#: harness itself, and values that every file of a format has.
_NOT_COMPARED = {
    *("magic", "exit", "size", "attempts", "failed_starts", "flaps"),
    *("ok", "quiesce", "quiesce_timeout", "t_registered_ms", "message", "directory"),
    *("wait", "step_ms", "quiesced_after_ms", recorded_schedule.REASSIGNED_MS),
    *("acks", "rate", "requests", "slow", "tp", "tool"),
}


@dataclass(frozen=True)
class Field:
    """One field of one step: its recorded value, and its value in the run."""

    step: int
    path: str
    #: One of KINDS.
    kind: str
    recorded: Any
    simulated: Any
    equal: bool
    shifted: bool = False

    @property
    def name(self) -> str:
        """The name without partition and broker: ``leader``, ``leo``, ``responses``."""
        return field_name(self.path)

    @property
    def ways(self) -> set[str]:
        """The ways in which an unequal field differs: some of WAYS."""
        if self.kind == TIME:
            return {FASTER if self.simulated < self.recorded[0] else SLOWER}
        return {self.kind, SHIFTED} if self.shifted else {self.kind}

    @property
    def apart_us(self) -> int:
        """The distance of a time from its span, before or after it."""
        first_ms, last_ms = self.recorded
        apart_ms: float = max(first_ms - self.simulated, self.simulated - last_ms)
        return round(1000 * apart_ms)

    def text(self) -> str:
        """The difference in one line."""
        if self.kind == NOT_PLAYED:
            return f"not played: {self.simulated}"
        if self.kind == TIME:
            first, last = self.recorded
            return f"{self.path}: {first:g} to {last:g} ms, simulated {self.simulated:g} ms"
        recorded, simulated = _value_text(self.recorded), _value_text(self.simulated)
        one_of = "one of " if self.kind == VARIED else ""
        return f"{self.path}: {one_of}{recorded}, simulated {simulated}"


def field_name(path: str) -> str:
    """The name of a field without the partition, the broker and the step that it is of."""
    first, _, _ = path.partition(".")
    if path.startswith(_RECORDS):
        return first
    if first in _RESPONSES:
        return "responses"
    *above, last = path.split(".")
    if first == QUORUM:
        return f"{QUORUM} {last}"
    if last.isdigit() and above:
        return above[-1]
    return last if first != "partitions" or last in _OF_PARTITIONS else "partitions"


def not_played(step: int, path: str, reason: str) -> Field:
    """The field that stands for the rest of a schedule.

    Args:
        step: number of the first step that was not played.
        path: the name of that step, or ``scenario`` if nothing was played at all.
        reason: the cause.
    """
    return Field(step, path, NOT_PLAYED, None, reason, equal=False)


def compare(
    recorded: recorded_schedule.RecordedStep, outcome: StepOutcome, *, records_writes: bool = False
) -> Iterator[Field]:
    """All fields of a step.

    Args:
        recorded: the step as it was recorded.
        outcome: the same step in the run.
        records_writes: the recording has all writes of partitions' states, so that there are
            none where it has none.
    """
    number = recorded.number
    if recorded.observed is not None:
        yield from _compare_values(number, recorded.observed, outcome.observed)
    yield from _compare_values(number, recorded.result, outcome.result)
    yield from _surplus_partitions(recorded, outcome)
    yield from _surplus_logs(recorded, outcome)
    if records_writes:
        yield from _surplus_writes(number, WRITES, recorded.state_writes, outcome.state_writes)
    for name, writes in recorded.state_writes.items():
        played = outcome.state_writes.get(name, [])
        yield from _compare_writes(number, f"{WRITES}{name}", writes, played, outcome)
    for above in (BROKER_RECORDS, QUORUM_RECORDS):
        yield from _compare_records(above, recorded, outcome)
    for name, span in recorded.result.ranges_ms.items():
        if name in outcome.times_ms and _is_compared(name.split(".")):
            yield _time(number, name, span, outcome.times_ms[name])


def _compare_values(
    number: int, recorded: recorded_schedule.Merged, shown: Tree
) -> Iterator[Field]:
    for parts, value in _leaves(recorded.exact):
        path = ".".join(parts)
        # A tree that is empty because all of its values vary or are times is not compared.
        others = (*recorded.varies, *recorded.ranges_ms)
        is_left = value == {} and any(name.startswith(f"{path}.") for name in others)
        if _is_compared(parts) and not is_left:
            simulated = value_at(shown, path)
            is_equal = _known(path, simulated) == _known(path, value)
            yield Field(number, path, EXACT, value, simulated, is_equal)
    for path, values in recorded.varies.items():
        if _is_compared(path.split(".")):
            simulated = value_at(shown, path)
            yield Field(number, path, VARIED, values, simulated, simulated in values)


def _known(path: str, value: Any) -> Any:
    """A value as a starting broker reads it: a log without a recovery point has 0."""
    return 0 if value is None and path.endswith(".recovery_point") else value


def _surplus_partitions(
    recorded: recorded_schedule.RecordedStep, outcome: StepOutcome
) -> Iterator[Field]:
    """Partitions that a controller of KRaft has in the run and did not have in the recording.

    The recording has all partitions or none. ZooKeeper's topics are there before their partitions,
    and are recorded without states.
    """
    seen = {} if recorded.observed is None else recorded.observed.exact.get("partitions", {})
    shown = outcome.observed.get("partitions", {})
    for name in sorted(shown.keys() - seen.keys()) if seen else ():
        if STATE[KRAFT_MODE] in shown[name]:
            state = shown[name][STATE[KRAFT_MODE]]
            yield Field(
                recorded.number,
                f"partitions.{name}",
                EXACT,
                recorded_schedule.ABSENT,
                state,
                equal=False,
            )


def _surplus_logs(
    recorded: recorded_schedule.RecordedStep, outcome: StepOutcome
) -> Iterator[Field]:
    """Logs that the run has and the recording, which has the logs of this partition, does not."""
    if recorded.observed is None:
        return
    for name in recorded.observed.exact.get("partitions", {}):
        above = f"partitions.{name}.logs"
        logs = value_at(recorded.observed.exact, above)
        seen = set(logs) if isinstance(logs, dict) else set()
        for path in recorded.observed.varies:
            if path.startswith(f"{above}."):
                seen.add(path.removeprefix(f"{above}.").partition(".")[0])
        shown = value_at(outcome.observed, above)
        for broker in sorted(shown.keys() - seen) if seen and isinstance(shown, dict) else ():
            path = f"{above}.{broker}"
            yield Field(
                recorded.number, path, EXACT, recorded_schedule.ABSENT, shown[broker], equal=False
            )


def _surplus_writes(
    number: int,
    above: str,
    recorded: Mapping[str, recorded_schedule.StateWrites],
    played: Mapping[str, list[StateWrite]],
) -> Iterator[Field]:
    """Writes of a partition, or records, of which none was recorded in this step."""
    for name in sorted(played.keys() - recorded.keys()):
        columns = [each.columns for each in played[name]]
        if columns:
            yield Field(number, f"{above}{name}", EXACT, [], columns, equal=False)


def _compare_records(
    above: str, recorded: recorded_schedule.RecordedStep, outcome: StepOutcome
) -> Iterator[Field]:
    """The records of one sort, if the recording has any of that sort."""
    sort = above.removesuffix(".")
    records = getattr(recorded, sort)
    if records is None:
        return
    played = getattr(outcome, sort)
    yield from _surplus_writes(recorded.number, above, records, played)
    for name, writes in records.items():
        path = f"{above}{name}"
        yield from _compare_writes(recorded.number, path, writes, played.get(name, []), outcome)


def _compare_writes(
    number: int,
    path: str,
    writes: recorded_schedule.StateWrites,
    played: list[StateWrite],
    outcome: StepOutcome,
) -> Iterator[Field]:
    """The writes of a partition, or records, and their times."""
    columns = [each.columns for each in played]
    if writes.exact is False:
        seen = writes.writes_by_repeat
        yield Field(number, path, VARIED, seen, columns, columns in seen)
        return
    is_equal = columns == writes.writes
    yield Field(number, path, EXACT, writes.writes, columns, is_equal)
    if is_equal:
        for place, (span, write) in enumerate(zip(writes.times_ms, played, strict=False)):
            yield _time(number, f"{path}.{place}.t_ms", span, _since(outcome, write))


def _since(outcome: StepOutcome, write: StateWrite) -> float:
    return (write.time_us - outcome.begin_us) / 1000


def _time(number: int, path: str, span: recorded_schedule.Span, simulated_ms: float) -> Field:
    # A record of a batch that began before the step has a time below 0.
    first_ms = min(span[0], _BELOW * span[0])
    is_equal = first_ms <= simulated_ms <= span[1] + _ABOVE_MS
    return Field(number, path, TIME, span, simulated_ms, is_equal)


def _value_text(value: Any) -> str:
    """A value in the form of the file."""
    return value if value == recorded_schedule.ABSENT else json.dumps(value)


def _leaves(tree: Tree, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a tree with their paths; a list is one value, and so is an empty tree."""
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*above, name))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for place, each in enumerate(value):
                yield from _leaves(each, (*above, name, str(place)))
        else:
            yield (*above, name), value


def value_at(tree: Any, path: str) -> Any:
    """The value at a path; ABSENT if there is none. A name may have dots, as topics' names do."""
    if isinstance(tree, list):
        tree = {str(place): each for place, each in enumerate(tree)}
    if not isinstance(tree, dict):
        return recorded_schedule.ABSENT
    if path in tree:
        return tree[path]
    below = (
        value_at(tree[name], path.removeprefix(f"{name}."))
        for name in tree
        if path.startswith(f"{name}.")
    )
    return next(
        (found for found in below if found is not recorded_schedule.ABSENT),
        recorded_schedule.ABSENT,
    )


def _is_compared(path: Iterable[str]) -> bool:
    return _NOT_COMPARED.isdisjoint(path)


#: Number of observations before or after a step that count.
_LOOKS = 3

#: A step: recorded, and played.
Played = tuple[recorded_schedule.RecordedStep, StepOutcome]


def with_shift(field: Field, steps: Sequence[Played], place: int) -> Field:
    """The field of the step at a place, marked if it is shifted."""
    if field.equal or field.kind not in (EXACT, VARIED):
        return field
    if field.path.startswith(_RECORDS):
        shifted = _writes_are_shifted(field.path, steps, place) or _joins_differ(field)
    else:
        before = _nearest_other(field, steps[:place][::-1])
        behind = _nearest_other(field, steps[place + 1 :])
        shifted = field.simulated in [*before, *behind]
    return replace(field, shifted=shifted)


def _nearest_other(field: Field, steps: Sequence[Played]) -> list[Any]:
    """The recorded value of the field in the first of these steps with another value."""
    here = field.recorded if field.kind == VARIED else [field.recorded]
    looks = (step for step, _ in steps if step.observed is not None)
    for step in islice(looks, _LOOKS):
        values = _recorded_values(step, field.path)
        if values and any(value not in here for value in values):
            return values
    return []


def _recorded_values(step: recorded_schedule.RecordedStep, path: str) -> list[Any]:
    """The values of a step's repeats at a path: none, one for all, or one for each."""
    if step.observed is None:
        return []
    exact = value_at(step.observed.exact, path)
    if exact is not recorded_schedule.ABSENT:
        return [exact]
    if path in step.observed.varies:
        return step.observed.varies[path]
    # Of a log that is not there the recording has nothing: but it has those of other brokers.
    logs, between, _ = path.partition(".logs.")
    has_logs = between and isinstance(value_at(step.observed.exact, f"{logs}.logs"), dict)
    return [recorded_schedule.ABSENT] if has_logs else []


def _writes_are_shifted(path: str, steps: Sequence[Played], place: int) -> bool:
    return any(
        first >= 0 and first + 1 < len(steps) and _same_writes(path, steps[first : first + 2])
        for first in (place - 1, place)
    )


def _joins_differ(field: Field) -> bool:
    """Whether writes are those of a repeat, but for the order in which replicas join an ISR."""
    if not field.path.startswith(WRITES):
        return False
    repeats = field.recorded if field.kind == VARIED else [field.recorded]
    return any(_after_joins(each) == _after_joins(field.simulated) for each in repeats)


def _after_joins(writes: list[list[Any]]) -> list[tuple[int, list[Any]]]:
    """Writes of which each replaces those before it, if it has a larger ISR of the same leader."""
    left: list[tuple[int, list[Any]]] = []
    for write in writes:
        count, before = left[-1] if left else (0, [])
        if len(before) > _LEADER_EPOCH and len(write) > _LEADER_EPOCH:
            same = [(each[_LEADER], each[_LEADER_EPOCH]) for each in (before, write)]
            if same[0] == same[1] and {*before[_ISR]} < {*write[_ISR]}:
                left[-1] = (count + 1, write)
                continue
        left.append((1, write))
    return left


def _same_writes(path: str, steps: Sequence[Played]) -> bool:
    """Whether these steps together have the writes that were recorded of them."""
    sort, _, name = path.partition(".")
    simulated = [
        each.columns for _, outcome in steps for each in getattr(outcome, sort).get(name, [])
    ]
    (first, second) = (_repeats((getattr(step, sort) or {}).get(name)) for step, _ in steps)
    return any(one + other == simulated for one in first for other in second)


def _repeats(writes: recorded_schedule.StateWrites | None) -> list[list[list[Any]]]:
    """The writes that were recorded in a step, of each repeat if they differ."""
    if writes is None:
        return [[]]
    return writes.writes_by_repeat if writes.exact is False else [writes.writes]
