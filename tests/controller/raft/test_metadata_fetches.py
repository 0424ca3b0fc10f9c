"""Fetches of the metadata log: whom a node asks that looks for the leader, and how much it gets."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from scenario_runs import rows_of, run_of
from tidegauge.replication.release_defaults import defaults_of
from tidegauge.simulation.messages.quorum_requests import FetchSnapshotRequest, RaftFetchRequest
from tidegauge.simulation.trace_rows.codes import LOADED
from voter_stories import BROKER, FIRST, SECOND, claims, fault, requests, voters_story

#: The broker and controller 0, which is the active one, do not hear of each other.
CUT = {"kind": "cut_link", "between": [[1], ["controller:0"]], "at": "5s", "for": "12s"}


@pytest.mark.parametrize(("release", "returns"), [("4.1", False), ("4.2", True)])
def test_a_broker_that_is_cut_off_from_the_active_controller(
    tmp_path: Path, release: str, returns: bool
) -> None:
    """KAFKA-19354, as the request logs of 4.1.0 and 4.4.0 have it.

    2 s after its last fetch the broker asks another controller, which names the leader. From 4.2
    on it asks the leader next, for 2 s, and so on. Before, it asks any of them, several times in
    a row, until the leader is one of them again.
    """
    story = voters_story([CUT], release=release, duration="22s", trace="all")
    run = run_of(story, tmp_path / "r")
    asked = [each for each in requests(run, RaftFetchRequest) if each.sender == BROKER]
    others = [each.time_us for each in asked if each.voter != 0 and each.time_us > 5 * SECOND]
    assert 1.4 * SECOND < others[0] - 5 * SECOND < 2.1 * SECOND
    pauses = [later - earlier for earlier, later in pairwise(others)]
    assert all(pause > 1.9 * SECOND for pause in pauses) == returns
    assert len(others) < 7 if returns else len(others) > 7
    assert asked[-1].voter == 0
    assert asked[-1].time_us > 20 * SECOND


@pytest.mark.parametrize(("release", "ask"), [("3.9.0", False), ("3.9.1", True), ("4.4", True)])
def test_controllers_without_a_leader_ask_each_other(
    tmp_path: Path, release: str, ask: bool
) -> None:
    """KAFKA-17030: recorded of 4.1.0 and 4.4.0, a fetch every 40 to 100 ms of each that looks.

    They ask themselves, too, of which the trace has no rows.
    """
    story = voters_story(
        [fault("crash", 0, at_s=3, for_s=9)], release=release, duration="8s", trace="all"
    )
    run = run_of(story, tmp_path / "r")
    _, (elected_us, _, _) = claims(run)
    asked = [
        each
        for each in requests(run, RaftFetchRequest)
        if 3 * SECOND < each.time_us < elected_us and each.sender != BROKER
    ]
    # A follower of 3.9.0 only fetches from the new leader, as soon as it knows that one.
    assert {each.sender for each in asked} == {1, 2} if ask else len(asked) <= 1
    assert len(asked) < 2 * (elected_us - 3 * SECOND) / 40_000


def sized(release: str, name: str, size_bytes: int) -> dict[str, int]:
    """The setting of this size, in a release that has it."""
    return {name: size_bytes} if name in defaults_of(release) else {}


@pytest.mark.parametrize(("release", "pieces"), [("4.2", 1), ("4.3", 4)])
def test_a_snapshot_is_fetched_in_pieces(tmp_path: Path, release: str, pieces: int) -> None:
    """KIP-1219: a snapshot of S bytes takes S / controller.quorum.fetch.snapshot.max.bytes fetches.

    Before 4.3 a piece has up to 8 MiB. A recorded snapshot of 2.35 MB took one fetch with 4.1.0
    and three with 4.4.0. Here it has four records of 72 bytes.
    """
    settings = {
        "metadata.log.max.snapshot.interval.ms": 5000,
        "metadata.max.retention.ms": 10_000,
        **sized(release, "controller.quorum.fetch.snapshot.max.bytes", 72),
    }
    story = voters_story(
        [fault("crash", 2, at_s=5, for_s=58)],
        release=release,
        duration="66s",
        settings=settings,
        trace="all",
    )
    run = run_of(story, tmp_path / "r")
    (loaded,) = rows_of(run, "metadata_snapshot", broker=FIRST + 2, snapshot_step=LOADED)
    assert loaded["snapshot_bytes"] == 4 * 72
    assert len(requests(run, FetchSnapshotRequest)) == pieces


@pytest.mark.parametrize(("release", "limited"), [("4.2", False), ("4.3", True)])
def test_a_fetch_of_the_log_is_limited(tmp_path: Path, release: str, limited: bool) -> None:
    """KIP-1219: a fetch brings controller.quorum.fetch.max.bytes of records, but one at least.

    Voter 2 and the broker are away for 10 s, in which some twenty records are written. Then they
    fetch these record by record, or all at once.
    """
    away = fault("crash", 2, at_s=5, for_s=10)
    away["brokers"].append(1)
    story = voters_story(
        [away],
        release=release,
        duration="20s",
        settings=sized(release, "controller.quorum.fetch.max.bytes", 1),
        trace="all",
    )
    run = run_of(story, tmp_path / "r")
    for sender in (2, BROKER):
        fetches = [
            each.time_us
            for each in requests(run, RaftFetchRequest)
            if each.sender == sender and 15 * SECOND < each.time_us < 17 * SECOND
        ]
        assert (len(fetches) > 25) == limited
    ends = [row["log_end_offset"] for row in rows_of(run, "voter_log", broker=FIRST + 2)]
    assert ends[-1] >= rows_of(run, "voter_log", broker=FIRST)[-1]["log_end_offset"] - 1
    assert any(later - earlier > 10 for earlier, later in pairwise(ends)) != limited


def test_the_sizes_of_metadata_fetches_are_settings_from_4_3_on() -> None:
    """KIP-1219: 1 MiB each."""
    for name in ("controller.quorum.fetch.max.bytes", "controller.quorum.fetch.snapshot.max.bytes"):
        assert name not in defaults_of("4.2")
        assert defaults_of("4.3")[name] == 1024 * 1024
