"""What led to a row, and what cannot be shown: ``tidegauge show cause``."""

from __future__ import annotations

from pathlib import Path

import pytest

from night_story import BROKER_1, a_night, folder_of, line_with, run, shown
from tidegauge.runs.causes import cause_strands
from tidegauge.runs.run import Run
from written_rows import S, WrittenRows


@pytest.fixture
def night(tmp_path: Path) -> Path:
    return folder_of(a_night(), tmp_path / "night")


def test_a_handle_leads_to_the_causes_of_its_line(night: Path) -> None:
    assert "4:10 " not in shown(night, "broker", "1")
    line = line_with("expires", shown(night, "broker", "1", "--handles"))
    handle = line.split()[1]
    lines = shown(night, "cause", handle).splitlines()
    assert lines[1].split()[:3] == ["16.000s", handle, "zookeeper"]
    assert lines[2].strip() == "because: pause 'stop' began at 10.000s"
    assert lines[3].endswith("pause 'stop' (pause of 1) begins")


def test_each_story_has_handles_if_asked_for(night: Path) -> None:
    for view in (("partition", "orders-0"), ("broker", "1"), ("controller",)):
        assert "16.000s  4:13 " in shown(night, *view, "--handles")
        assert "16.000s  4:13 " not in shown(night, *view)


def test_a_sample_has_no_handle(night: Path) -> None:
    story = shown(night, "broker", "1", "--all", "--handles")
    assert line_with("leader: log end offset 40", story).split()[:3] == ["9.000s", "broker", "1"]


def linked(*links: tuple[int, int]) -> WrittenRows:
    """Rows of broker 1: each with the numbers of its cause and of its reason, or -1."""
    rows = WrittenRows()
    for number, (cause, because) in enumerate(links):
        reason = (BROKER_1, because) if because >= 0 else (-1, -1)
        rows.write("broker_started", number * S, BROKER_1, because=reason)
        if cause >= 0:
            rows.rows[-1].cause_process, rows.rows[-1].cause_sequence = BROKER_1, cause
    return rows


def strands(rows: WrittenRows, folder: Path, start: int) -> list[tuple[list[int], int | None]]:
    run = Run(rows.run(folder))
    row = run.canonical_row(BROKER_1, start)
    assert row is not None
    return [
        (
            [event.sequence for event in strand.rows],
            None if strand.joins is None else strand.joins.sequence,
        )
        for strand in cause_strands(run, run.event(row))
    ]


def test_reasons_are_followed_to_the_beginning_then_come_other_causes(tmp_path: Path) -> None:
    rows = linked((-1, -1), (-1, -1), (1, -1), (0, 2), (3, -1))
    assert strands(rows, tmp_path / "run", 4) == [([4, 3, 2, 1], None), ([0], None)]


def test_a_cause_that_goes_back_to_a_told_row_leads_into_it(tmp_path: Path) -> None:
    rows = linked((-1, -1), (0, -1), (0, -1), (1, 2))
    assert strands(rows, tmp_path / "run", 3) == [([3, 2, 0], None), ([1], 0)]


def test_a_loop_of_causes_ends(tmp_path: Path) -> None:
    assert strands(linked((1, -1), (0, 1)), tmp_path / "run", 1) == [([1], 1), ([0], 1)]


def test_of_a_long_chain_both_ends_are_listed(tmp_path: Path) -> None:
    rows = linked(*((number - 1, -1) for number in range(100)))
    lines = shown(rows.run(tmp_path / "run"), "cause", "0:99").splitlines()
    assert len(lines) == 42
    assert lines[1].split()[1] == "0:99"
    assert lines[31].strip() == "... 60 more ..."
    assert lines[-1].split()[1] == "0:0"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("broker", "7"), "7: no such broker; there are: 1, 2, 3"),
        (("broker", "x"), "x: no such broker; there are: 1, 2, 3"),
        (("cause", "12"), "12: must be PROCESS:SEQUENCE, such as 0:12"),
        (("cause", "0:" + "9" * 30), "must be PROCESS:SEQUENCE"),
        (("cause", "9:0"), "no such process; there are 0 (broker 1) to 6"),
        (("cause", "0:99"), "no such row; broker 1 has rows 0:0 to 0:18"),
        (("cause", "5:0"), "no such row; client shop-0 has no rows"),
        (("broker", "1", "--at", "x"), "--at: must be a duration"),
        (("controller", "--at", "1s", "--to", "2s"), "--at shows one moment"),
    ],
)
def test_what_cannot_be_shown_is_one_line(
    night: Path, options: tuple[str, ...], complaint: str
) -> None:
    result = run(night, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert complaint in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_time_in_which_nothing_happened_is_told_as_that(night: Path) -> None:
    assert "No events" in shown(night, "broker", "1", "--from", "100s")
    assert "No events of the controller" in shown(night, "controller", "--from", "100s")
