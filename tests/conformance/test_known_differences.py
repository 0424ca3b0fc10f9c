"""The table of known differences: how it is read, and what a row explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge.laboratory.conformance.comparison import EXACT, NOT_PLAYED, TIME, VARIED, Field
from tidegauge.laboratory.conformance.known_differences import (
    KnownDifferences,
    Releases,
    TableError,
    known_differences,
)
from tidegauge.laboratory.conformance.recorded_schedule import RecordedSchedule, RecordedStep
from tidegauge.replication.release_versions import Release

HEAD = """\
Prose, and a table that is not the one:

| column | meaning |
|---|---|
| kind | what it is |

| schedules | mode | releases | fields | kind | cause | consequence |
|---|---|---|---|---|---|---|
"""
#: The line of the first row behind HEAD.
FIRST = 9

ROW = (
    "| `b1_*, rand??` | zookeeper | 0.11.0-2.2, 2.4.1 | `state_writes.*, partitions.*.zk.version`"
    " | exact, varied in kill, term | Kafka writes twice. | Versions are lower. |"
)


def table(folder: Path, *rows: str, head: str = HEAD) -> KnownDifferences:
    file = folder / "table.md"
    file.write_text(head + "\n".join(rows) + "\n\nMore prose | with a bar.\n")
    return known_differences(file)


def explained(
    known: KnownDifferences,
    name: str = "b1_leader_kill",
    release: str = "2.1.0",
    path: str = "partitions.t-0.zk.version",
    kind: str = EXACT,
    op: str = "kill",
    mode: str = "zookeeper",
) -> bool:
    """Whether a row explains this one difference."""
    step = RecordedStep.model_validate({"i": 0, "step": {"op": op}})
    said = {"name": name, "release": release, "mode": mode, "brokers": [1], "first_controller": 1}
    schedule = RecordedSchedule.model_validate(said | {"steps": [step]})
    field = Field(0, path, kind, (10, 20), 8, equal=False)
    return known.explanation(schedule, step, field) is not None


def test_a_row_is_read_with_its_line(tmp_path: Path) -> None:
    (row,) = table(tmp_path, ROW).rows
    assert row.line == FIRST
    assert row.schedules == ("b1_*", "rand??")
    assert row.fields == ("state_writes.*", "partitions.*.zk.version")
    assert ([way for way, _ in row.ways], row.operations) == ([EXACT, VARIED], ("kill", "term"))
    assert (row.cause, row.consequence) == ("Kafka writes twice.", "Versions are lower.")


@pytest.mark.parametrize(
    "what",
    [
        {},
        {"name": "rand04"},
        {"release": "0.11.0.0"},
        {"release": "2.2.1"},  # the last patch of 2.2
        {"release": "2.4.1"},
        {"path": "state_writes.t-0"},
        {"kind": VARIED},
        {"op": "term"},
    ],
)
def test_a_row_explains_what_it_is_about(tmp_path: Path, what: dict[str, str]) -> None:
    assert explained(table(tmp_path, ROW), **what)


@pytest.mark.parametrize(
    "what",
    [
        {"name": "b2_leader_kill"},
        {"name": "rand4"},
        {"release": "0.10.2.2"},
        {"release": "2.3.0"},
        {"release": "2.4.0"},
        {"release": "2.9.9"},
        {"path": "partitions.t-0.zk.leader"},
        {"kind": TIME},
        {"op": "start"},
    ],
)
def test_a_row_explains_nothing_else(tmp_path: Path, what: dict[str, str]) -> None:
    assert not explained(table(tmp_path, ROW), **what)


@pytest.mark.parametrize(
    ("kind", "simulated_ms", "is_explained"),
    [
        ("faster by 2ms", 8, True),
        ("faster by 2ms", 7.9, False),
        ("faster by 2ms", 21, False),
        ("slower by 5s", 5020, True),
        ("slower by 5s", 5021, False),
        ("faster by 1ms, slower by 1ms", 21, True),
    ],
)
def test_a_time_is_explained_up_to_so_much_before_or_after_its_span(
    tmp_path: Path, kind: str, simulated_ms: float, is_explained: bool
) -> None:
    known = table(tmp_path, f"| * | all | all | waited_ms | {kind} | Slow. | None. |")
    step = RecordedStep.model_validate({"i": 0, "step": {"op": "wait"}})
    schedule = RecordedSchedule(
        name="own", release="2.6.3", brokers=[1], first_controller=1, steps=[step]
    )
    field = Field(0, "waited_ms", TIME, (10, 20), simulated_ms, equal=False)
    assert (known.explanation(schedule, step, field) is not None) == is_explained


def test_a_row_may_be_about_all_releases_and_all_steps(tmp_path: Path) -> None:
    known = table(tmp_path, "| * | all | all | scenario | not played | Unknown. | None. |")
    for release in ("0.10.2.0", "3.9.0", "9.9.9"):
        assert explained(known, release=release, path="scenario", kind=NOT_PLAYED)


def test_a_row_is_about_one_mode_or_about_both(tmp_path: Path) -> None:
    """What a session of ZooKeeper explains says nothing about a session of KRaft."""
    for written, explains in (("zookeeper", (True, False)), ("kraft", (False, True))):
        known = table(tmp_path, ROW.replace("zookeeper", written))
        assert (explained(known), explained(known, mode="kraft")) == explains
    known = table(tmp_path, ROW.replace("zookeeper", "all"))
    assert explained(known)
    assert explained(known, mode="kraft")


def test_releases_are_read_with_all_their_patches() -> None:
    releases = Releases.parse("0.11.0 - 2.6")
    assert releases.first == Release.parse("0.11.0.0")
    assert releases.last == Release.parse("2.6.3")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (ROW.replace(" | Versions are lower.", ""), "6 cells, not 7"),
        (ROW.replace("Kafka writes twice.", " "), "cause is empty"),
        (ROW.replace("zookeeper", "zk"), "mode: 'zk' is none of zookeeper, kraft, all"),
        (ROW.replace("2.4.1", "2.14"), "'2.14' is not a known release"),
        (ROW.replace("0.11.0-2.2", "2.2-0.11.0"), "2.2-0.11.0: ends before it begins"),
        (ROW.replace("exact,", "exakt,"), "kind: 'exakt' is none of exact, varied, shifted"),
        (ROW.replace("rand??", " "), "has an empty part"),
        (ROW.replace("exact,", "faster,"), "'faster': only a time is faster"),
        (ROW.replace("exact,", "exact by 2ms,"), "'exact by 2ms': only a time"),
        (ROW.replace("exact,", "slower by 2,"), "must be a duration"),
    ],
)
def test_a_row_that_makes_no_sense_is_named_with_file_and_line(
    tmp_path: Path, row: str, complaint: str
) -> None:
    with pytest.raises(TableError) as raised:
        table(tmp_path, ROW, row)
    assert str(raised.value).startswith(f"{tmp_path / 'table.md'}:{FIRST + 1}: ")
    assert complaint in str(raised.value)


@pytest.mark.parametrize(("head", "count"), [("no table\n", 0), (HEAD + ROW + "\n\n" + HEAD, 2)])
def test_there_is_one_table(tmp_path: Path, head: str, count: int) -> None:
    with pytest.raises(TableError, match=f"{count} tables have the columns schedules, "):
        table(tmp_path, head=head)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"none\.md: cannot be read"):
        known_differences(tmp_path / "none.md")


def test_the_table_that_comes_along_can_be_read() -> None:
    assert known_differences().rows
