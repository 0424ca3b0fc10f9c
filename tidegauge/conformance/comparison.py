"""What a run shows against what was recorded, field by field.

A field is a value with a path, such as ``partitions.t-0.zk.leader``. What was equal in all
repeats must be equal here; what varied must be one of the values that were seen; a time must
lie in the span that was seen, widened, since the machine that recorded was shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidegauge.conformance.played_schedule import StateWrite, StepOutcome
from tidegauge.conformance.recorded_schedule import ABSENT, RecordedStep, Span, StateWrites, Tree

EXACT, VARIED, TIME = "exact", "varied", "time"

#: How far a time may lie outside its span: 20 % below, 3 s above.
_BELOW, _ABOVE_MS = 0.8, 3000.0

#: Fields that are not compared: what the operating system or a log file says, what a harness
#: did itself, and what is true of every file of a format.
_NOT_COMPARED = {
    *("magic", "exit", "size", "failed_starts", "flaps", "quiesce_timeout"),
    *("wait", "step_ms", "quiesced_after_ms", "znode_gone_ms"),
}


@dataclass(frozen=True)
class Field:
    """One field of one step: what was recorded, what the run shows."""

    step: int
    path: str
    #: EXACT, VARIED or TIME.
    kind: str
    recorded: Any
    simulated: Any
    equal: bool

    def told(self) -> str:
        """The difference in one line."""
        expected = {EXACT: "{0}", VARIED: "one of {0}", TIME: "{0[0]:g} to {0[1]:g} ms"}[self.kind]
        return f"{self.path}: {expected.format(self.recorded)}, simulated {self.simulated}"


def compare(recorded: RecordedStep, outcome: StepOutcome) -> Iterator[Field]:
    """All fields of a step."""
    number = recorded.number
    for merged, shown in (
        (recorded.observed, outcome.observed),
        (recorded.result, outcome.result),
    ):
        if merged is None:
            continue
        for path, value in _leaves(merged.exact):
            if _is_compared(path):
                simulated = _at(shown, path)
                yield Field(number, ".".join(path), EXACT, value, simulated, simulated == value)
        for name, values in merged.varies.items():
            path = tuple(name.split("."))
            if _is_compared(path):
                simulated = _at(shown, path)
                yield Field(number, name, VARIED, values, simulated, simulated in values)
    for name, writes in recorded.state_writes.items():
        yield from _compare_writes(number, name, writes, outcome)
    for name, span in recorded.result.ranges_ms.items():
        if name in outcome.times_ms and _is_compared(tuple(name.split("."))):
            yield _time(number, name, span, outcome.times_ms[name])


def _compare_writes(
    number: int, name: str, writes: StateWrites, outcome: StepOutcome
) -> Iterator[Field]:
    """The writes of a partition's state, and when they came."""
    played = outcome.state_writes.get(name, [])
    columns = [each.columns for each in played]
    path = f"state_writes.{name}"
    if not writes.exact:
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


def _time(number: int, path: str, span: Span, simulated_ms: float) -> Field:
    is_equal = _BELOW * span[0] <= simulated_ms <= span[1] + _ABOVE_MS
    return Field(number, path, TIME, span, simulated_ms, is_equal)


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


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    """The value at a path; ABSENT if there is none."""
    for name in path:
        if isinstance(tree, list) and name.isdecimal() and int(name) < len(tree):
            tree = tree[int(name)]
        elif isinstance(tree, dict) and name in tree:
            tree = tree[name]
        else:
            return ABSENT
    return tree


def _is_compared(path: tuple[str, ...]) -> bool:
    return not _NOT_COMPARED.intersection(path)
