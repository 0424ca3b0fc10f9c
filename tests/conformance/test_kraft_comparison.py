"""Every field of a KRaft recording counts: one that is altered is one difference, with its name."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tidegauge.laboratory.conformance.comparison import EXACT, TIME, VARIED, Field, compare
from tidegauge.laboratory.conformance.played_state import StateWrite, StepOutcome
from tidegauge.laboratory.conformance.recorded_dialects import Registrations
from tidegauge.laboratory.conformance.recorded_schedule import RecordedStep

STATE: dict[str, Any] = {
    "leader": 1,
    "isr": [1, 2],
    "elr": [3],
    "last_known_elr": [],
    "leader_epoch": 2,
    "partition_epoch": 5,
    "recovering": 0,
    "adding": [],
    "removing": [],
}
LOG: dict[str, Any] = {
    "leo": 8,
    "hw_live": 5,
    "hw_ckpt": 5,
    "recovery_point": 0,
    "epoch_ckpt": [[0, 0], [2, 5]],
    "runs": [[0, 0, 5], [2, 5, 8]],
}
SEEN: dict[str, Any] = {
    "controller": 10,
    "controller_epoch": 1,
    "registered": [1, 2],
    "process": {"1": "up", "2": "up", "3": "down", "10": "up"},
    "brokers": {"3": {"fenced": True, "in_controlled_shutdown": False}},
    "partitions": {
        "t-0": {"replicas_assigned": [1, 2, 3], "kraft": STATE, "logs": {"1": LOG, "2": {**LOG}}}
    },
}
RESULT: dict[str, Any] = {
    "admin": {"error": "NONE", "results": {"t-0": "ELECTION_NOT_NEEDED"}},
    "results": {"t-0": [{"base_offset": 5, "error": "NONE", "to": 1}]},
    "fetch": {"error": "NONE", "hw": 5, "last_offset_returned": 4},
}
#: Kind, leader, ISR, ELR, last known ELR, leader epoch, partition epoch, recovering, controller
#: epoch, and once replicas, adding, removing.
WRITES: list[list[Any]] = [
    ["change", 1, [1, 2], [3], [], 2, 5, 0, 1],
    ["change", 2, [2, 3], [], [], 3, 6, 0, 1, [2, 3], [], []],
]
#: The second registration of a broker ends.
RECORDS = [["shutting down", 2], ["fenced", 2]]


def recorded(repeats: int = 2, **writes: Any) -> RecordedStep:
    """A step with all kinds of fields, as so many repeats have shown it."""
    exact = True if repeats > 1 else None
    written = {"exact": exact, "writes": WRITES, "t_ms": [[100, 200], [300, 400]]} | writes
    return RecordedStep.model_validate(
        {
            "i": 3,
            "step": {"op": "kill", "b": [3]},
            "result": {"exact": RESULT},
            "obs": {"exact": SEEN},
            "state_writes": {"t-0": written},
            "broker_records": {"b3": {"exact": exact, "writes": RECORDS}},
        }
    )


def played(**altered: Any) -> StepOutcome:
    """The same step in a run, with the values at some paths altered."""
    outcome = StepOutcome(observed=deepcopy(SEEN), result=deepcopy(RESULT))
    outcome.state_writes["t-0"] = [
        StateWrite(deepcopy(columns), time_us)
        for columns, time_us in zip(WRITES, (150_000, 350_000), strict=True)
    ]
    outcome.broker_records["b3"] = [StateWrite(deepcopy(each), 0) for each in RECORDS]
    for path, value in altered.items():
        *above, last = path.split(".")
        tree: Any = outcome.observed if above[0] in SEEN or last in SEEN else outcome.result
        for name in above:
            tree = tree[int(name)] if isinstance(tree, list) else tree[name]
        tree[last] = value
    return outcome


def unequal(step: RecordedStep, outcome: StepOutcome) -> list[Field]:
    return [each for each in compare(step, outcome, records_writes=True) if not each.equal]


def test_equal_steps_have_no_difference() -> None:
    fields = list(compare(recorded(), played(), records_writes=True))
    assert all(each.equal for each in fields)
    assert {each.name for each in fields} == {
        *STATE,
        *LOG,
        *("controller", "registered", "process", "fenced", "in_controlled_shutdown"),
        *("controller_epoch", "replicas_assigned", "responses", "state_writes"),
        "broker_records",
    }
    assert {each.kind for each in fields} == {EXACT, TIME}


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("partitions.t-0.kraft.leader", 2, "leader"),
        ("partitions.t-0.kraft.isr", [2, 1], "isr"),  # the order is a part of it
        ("partitions.t-0.kraft.elr", [], "elr"),
        ("partitions.t-0.kraft.last_known_elr", [1], "last_known_elr"),
        ("partitions.t-0.kraft.leader_epoch", 3, "leader_epoch"),
        ("partitions.t-0.kraft.partition_epoch", 6, "partition_epoch"),
        ("partitions.t-0.kraft.recovering", 1, "recovering"),
        ("partitions.t-0.kraft.adding", [3], "adding"),
        ("partitions.t-0.kraft.removing", [1], "removing"),
        ("partitions.t-0.replicas_assigned", [1, 2], "replicas_assigned"),
        ("partitions.t-0.logs.2.leo", 7, "leo"),
        ("partitions.t-0.logs.2.hw_live", 8, "hw_live"),
        ("partitions.t-0.logs.2.hw_ckpt", 0, "hw_ckpt"),
        ("partitions.t-0.logs.2.epoch_ckpt", [[0, 0]], "epoch_ckpt"),
        ("partitions.t-0.logs.2.runs", [[0, 0, 8]], "runs"),
        ("partitions.t-0.logs.3", LOG, "logs"),  # a log that the recording does not have
        ("partitions.u-0", {"kraft": STATE}, "partitions"),  # nor this partition
        ("brokers.3.fenced", False, "fenced"),
        ("brokers.3.in_controlled_shutdown", True, "in_controlled_shutdown"),
        ("process.3", "up", "process"),
        ("results.t-0.0.error", "NOT_ENOUGH_REPLICAS", "responses"),
        ("results.t-0.0.base_offset", -1, "responses"),
        ("fetch.hw", 8, "responses"),
        ("admin.error", "INVALID_REPLICA_ASSIGNMENT", "responses"),
        ("admin.results.t-0", "NONE", "responses"),
    ],
)
def test_an_altered_field_is_one_difference_with_its_name(path: str, value: Any, name: str) -> None:
    for repeats in (1, 2):
        (field,) = unequal(recorded(repeats), played(**{path: value}))
        assert (field.path, field.name, field.kind) == (path, name, EXACT)


@pytest.mark.parametrize(
    ("record", "column", "value"),
    [
        *((0, 0, "ClearElrRecord"), (0, 1, 2), (0, 2, [2, 1]), (0, 3, []), (0, 4, [1])),
        *((0, 5, 3), (0, 6, 4), (0, 7, 1), (0, 8, 2)),
        *((1, 9, [3, 2]), (1, 10, [1]), (1, 11, [1])),
    ],
)
def test_each_column_of_a_record_counts(record: int, column: int, value: Any) -> None:
    outcome = played()
    outcome.state_writes["t-0"][record].columns[column] = value
    (field,) = unequal(recorded(), outcome)
    assert (field.name, field.kind) == ("state_writes", EXACT)


def test_a_record_too_few_or_too_many_is_one_difference() -> None:
    for change in (list.pop, lambda writes: writes.append(writes[0])):
        outcome = played()
        change(outcome.state_writes["t-0"])
        assert [each.path for each in unequal(recorded(), outcome)] == ["state_writes.t-0"]
    outcome = played()
    outcome.state_writes["t-1"] = outcome.state_writes["t-0"]
    assert [each.path for each in unequal(recorded(), outcome)] == ["state_writes.t-1"]


def test_each_record_about_a_broker_counts() -> None:
    for place, record in ((0, ["fenced", 2]), (1, ["fenced", 1])):
        outcome = played()
        outcome.broker_records["b3"][place].columns = record
        (field,) = unequal(recorded(), outcome)
        assert (field.path, field.name, field.kind) == (
            *("broker_records.b3", "broker_records"),
            EXACT,
        )
    outcome = played()
    outcome.broker_records["b1"] = outcome.broker_records["b3"]
    assert [each.path for each in unequal(recorded(), outcome)] == ["broker_records.b1"]


def test_epochs_of_brokers_count_by_their_order_alone() -> None:
    """The epoch of a broker is the offset of its registration in the metadata log."""
    for first, second in ((13, 61), (20, 68)):
        registrations = Registrations()
        assert registrations.take(3, "registered", 2) == ["registered", 1]
        assert registrations.take(3, "registered", first) == ["registered", 2]
        registrations.begin()  # How often it had tried to register does not matter.
        assert registrations.take(3, "registered", first) is None
        assert registrations.take(3, "fenced", first) == ["fenced", 1]
        assert registrations.take(3, "fenced", first) is None  # once more at the session's end
        assert registrations.take(3, "registered", second) == ["registered", 2]
    assert registrations.take(3, "registered", first - 1) == ["registered", 1]  # not a later one


def test_where_repeats_have_other_records_one_of_them_is_enough() -> None:
    """A race, such as which of two waiting followers returns into the ISR first."""
    others = [WRITES[:1], WRITES]
    assert unequal(recorded(exact=False, writes_by_repeat=others, t_ms=[]), played()) == []
    (field,) = unequal(recorded(exact=False, writes_by_repeat=others[:1], t_ms=[]), played())
    assert (field.kind, field.recorded) == (VARIED, others[:1])


def test_a_record_that_comes_too_early_is_a_difference_of_time() -> None:
    outcome = played()
    outcome.state_writes["t-0"][1].time_us = 200_000
    (field,) = unequal(recorded(), outcome)
    assert (field.path, field.kind) == ("state_writes.t-0.1.t_ms", TIME)
