"""The result tables that views of one run read: where they lie, and what they say of faults."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegauge.runs.run import TABLES_FOLDER, Run
from written_rows import S, WrittenRows

BROKER_1, BROKER_2 = 0, 1
ALL, WITHOUT_FIRST = 0x321, 0x32


def a_leader_that_leads_on() -> WrittenRows:
    """Broker 2 is elected at 10 s; broker 1, which leads until then, learns of it at 25 s."""
    rows = WrittenRows()
    rows.held(1 * S, 0, leader=BROKER_1, isr=ALL)
    rows.write("became_leader", 1 * S, BROKER_1, partition=0, isr=ALL)
    rows.held(10 * S, 0, leader=BROKER_2, leader_epoch=1, isr=WITHOUT_FIRST)
    rows.write("became_leader", 11 * S, BROKER_2, partition=0, leader_epoch=1)
    rows.write("became_follower", 25 * S, BROKER_1, partition=0, leader=BROKER_2, leader_epoch=1)
    return rows


def test_tables_lie_in_the_folder_of_the_run(tmp_path: Path) -> None:
    folder = a_leader_that_leads_on().run(tmp_path / "run")
    Run(folder).tables.make(["acting_leaders"])
    assert list((folder / TABLES_FOLDER).glob("acting_leaders/*.parquet"))


def test_tables_of_a_folder_that_cannot_be_written_lie_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_leader_that_leads_on().run(tmp_path / "run")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert Run(folder).tables.rows("select * from acting_leaders")
    assert not (folder / TABLES_FOLDER).exists()


def test_an_unfinished_run_has_tables_up_to_its_last_row(tmp_path: Path) -> None:
    folder = a_leader_that_leads_on().run(tmp_path / "run", summary=False)
    (last,) = Run(folder).tables.rows(
        "select max(end_us) as end_us from acting_leaders where leader = 2"
    )
    assert last["end_us"] == 25 * S + 1


def test_a_leader_of_an_older_epoch_is_superseded_while_it_leads_on(tmp_path: Path) -> None:
    folder = a_leader_that_leads_on().run(tmp_path / "run")
    former, current = Run(folder).tables.rows(
        "select leader, leader_epoch, superseded_us, end_us from acting_leaders order by begin_us"
    )
    assert (former["leader"], former["leader_epoch"]) == (1, 0)
    assert (former["superseded_us"], former["end_us"]) == (10 * S, 25 * S)
    assert (current["leader"], current["superseded_us"]) == (2, None)
