"""Mechanism 12: from 0.11 on leader epochs cure the loss of row 10 and the divergence of row 11.

The schedules are those of the rows 10 and 11, played by other releases; in
``12-follower-asks-leader`` the link between A and B stays open. A is broker 1, and B is 2. Real
brokers did the same (section 8 of what is known of them).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_fates import Records, StateWrite, acknowledged, log_of, lost, state_writes
from partition_lines import BROKER_1, BROKER_2, Line, lines_of
from scenario_runs import run_of, shipped
from tidegauge.traces.run_folder import RunFolder

LOSS = "10-truncation-to-high-watermark"
LINK_OPEN = "12-follower-asks-leader"
DIVERGENCE = "11-equal-length-divergence"
A, B = BROKER_1, BROKER_2

#: Release and inter.broker.protocol.version.
CURED = [("0.11", None), ("2.6", "0.11.0"), ("2.6", None), ("3.9", "2.6")]
UNCURED = ("2.6", "0.10.2")

cured = pytest.mark.parametrize(("release", "protocol"), CURED)


def story(name: str, release: str, protocol: str | None, folder: Path) -> RunFolder:
    return run_of(shipped(name, {"release": release, "protocol": protocol}), folder)


def truncation(run: RunFolder) -> list[Line]:
    """Who was asked where an epoch ended, who truncated, who was elected, from the trouble on."""
    told = {
        "epoch_answered": "to_process asked_epoch end_offset",
        "truncated": "old_end_offset end_offset",
        "became_leader": "log_end_offset",
    }
    return lines_of(run, told, since_ms=8_000)


def assert_nothing_is_lost(run: RunFolder) -> None:
    """All five records are on both replicas; A leads, and both are in the ISR."""
    assert acknowledged(run, acks=-1) == [Records(0, 0, 5)]
    assert lost(run, acks=-1, leader=1) == []
    assert log_of(run, 1) == log_of(run, 2) == [Records(0, 0, 5)]
    assert state_writes(run)[-1] == StateWrite(1, 1, [1, 2], leader_epoch=1, version=2)


@cured
def test_with_the_link_cut_a_cannot_ask_so_it_keeps_its_log_and_nothing_is_lost(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 4.3 (b): who has no answer asks again, and does not truncate."""
    run = story(LOSS, release, protocol, tmp_path / "run")
    assert truncation(run) == [
        ("became_leader", A, 5),
        # B is back, and asks in its turn.
        ("epoch_answered", A, B, 0, 5),
    ]
    assert_nothing_is_lost(run)


@cured
def test_with_the_link_open_a_asks_b_and_is_told_5(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 4.2: the leader's latest epoch ends at its log end offset."""
    run = story(LINK_OPEN, release, protocol, tmp_path / "run")
    assert truncation(run) == [
        ("epoch_answered", B, A, 0, 5),
        ("became_leader", A, 5),
        ("epoch_answered", A, B, 0, 5),
    ]
    assert_nothing_is_lost(run)


@cured
def test_logs_that_were_about_to_diverge_end_equal(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 4.3: B is told 3, and cuts the record that only it has, though it was acknowledged."""
    run = story(DIVERGENCE, release, protocol, tmp_path / "run")
    assert truncation(run) == [
        ("became_leader", A, 3),
        ("epoch_answered", A, B, 0, 3),
        ("truncated", B, 4, 3),
    ]
    # A controller's start takes the dead leader out with a write of its own, but not in 0.11.
    epoch = 1 if release == "0.11" else 2
    assert log_of(run, 1) == log_of(run, 2) == [Records(0, 0, 3), Records(epoch, 3, 4)]
    assert lost(run, acks=-1, leader=1) == [3]
    last = state_writes(run)[-1]
    assert last == StateWrite(1, 1, [1, 2], leader_epoch=epoch, version=epoch + 1)


def test_with_the_protocol_of_0_10_2_nobody_asks_and_the_loss_is_back(tmp_path: Path) -> None:
    """Rule 4.5: the protocol selects how followers truncate, not the release."""
    run = story(LOSS, *UNCURED, tmp_path / "run")
    assert truncation(run) == [
        ("truncated", A, 5, 3),
        ("became_leader", A, 3),
        ("truncated", B, 5, 3),
    ]
    assert lost(run, acks=-1, leader=1) == [3, 4]


def test_with_the_protocol_of_0_10_2_nobody_asks_and_the_divergence_is_back(
    tmp_path: Path,
) -> None:
    """Rule 4.5 again: offset 3 holds records of two epochs."""
    run = story(DIVERGENCE, *UNCURED, tmp_path / "run")
    assert truncation(run) == [("became_leader", A, 3)]
    assert log_of(run, 1) == [Records(0, 0, 3), Records(2, 3, 4)]
    assert log_of(run, 2) == [Records(0, 0, 4)]
