"""What rows go back to, found for all rows of a run at once: held against chains that one sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.analysis.causes import Links, causes_of, links_of
from tidegauge.analysis.requests import runs_at
from tidegauge.simulation.trace_rows.controller_rows import LeaderElected, SessionExpired
from tidegauge.simulation.trace_rows.process_rows import FaultBegan
from written_rows import Handle, WrittenRows

CONTROLLER, ZOOKEEPER = 8, 9


def a_failover(rows: WrittenRows) -> Handle:
    """A fault begins at a broker, ZooKeeper misses it, the controller elects; the election."""
    fault = rows.write("fault_began", 1_000, 2, fault=0, fault_kind=2)
    # That nothing came is because of the fault, whatever else ZooKeeper was doing.
    timer = rows.write("session_opened", 500, ZOOKEEPER)
    expired = rows.write("session_expired", 7_000, ZOOKEEPER, cause=timer, because=fault)
    taken = rows.write("controller_event", 7_300, CONTROLLER, cause=expired)
    failed = rows.write("broker_failed", 7_300, CONTROLLER, cause=taken)
    return rows.write("leader_elected", 7_400, CONTROLLER, partition=3, cause=failed)


def test_an_election_goes_back_to_who_told_the_controller_and_to_the_fault(tmp_path: Path) -> None:
    rows = WrittenRows()
    elected = a_failover(rows)
    (run,) = runs_at(rows.run(tmp_path / "failover", files=2))
    links = links_of(run)
    found = causes_of(links)
    (place,) = found.rows
    assert (links.process[place], links.sequence[place]) == elected
    assert found.has_trigger.all()
    assert links.kind[found.trigger[0]] == int(SessionExpired.KIND)
    assert links.time_us[found.trigger[0]] == 7_000
    assert found.has_fault.all()
    assert links.time_us[found.end[0]] == 1_000


def test_without_a_fault_there_is_none_and_without_an_outside_no_trigger(tmp_path: Path) -> None:
    rows = WrittenRows()
    taken = rows.write("controller_event", 100, CONTROLLER)
    rows.write("leader_elected", 200, CONTROLLER, partition=3, cause=taken)
    (run,) = runs_at(rows.run(tmp_path / "balance"))
    found = causes_of(links_of(run))
    assert len(found.rows) == 1
    assert not found.has_trigger.any()
    assert not found.has_fault.any()


def test_what_follows_from_a_return_goes_back_to_the_end_of_the_fault(tmp_path: Path) -> None:
    """A broker that is back is elected: not since its fault began, but since it is over."""
    rows = WrittenRows()
    began = rows.write("fault_began", 1_000, 2, fault=0, fault_kind=2)
    stopped = rows.write("broker_stopped", 1_000, 2, cause=began)
    ended = rows.write("fault_ended", 9_000, 2, fault=0, fault_kind=2, cause=stopped)
    started = rows.write("broker_started", 9_500, 2, cause=ended)
    registered = rows.write("broker_registered", 9_900, CONTROLLER, cause=started)
    rows.write("leader_elected", 9_950, CONTROLLER, partition=3, cause=registered)
    (run,) = runs_at(rows.run(tmp_path / "return"))
    links = links_of(run)
    found = causes_of(links)
    assert found.has_fault.all()
    assert links.time_us[found.end].tolist() == [9_000]
    assert links.time_us[found.trigger].tolist() == [9_500]


def test_a_run_that_has_written_nothing_yet_has_no_causes(tmp_path: Path) -> None:
    (run,) = runs_at(WrittenRows().run(tmp_path / "silent"))
    assert len(causes_of(links_of(run)).rows) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.booleans()), max_size=60))
def test_steps_that_grow_arrive_where_single_steps_do(drawn: list[tuple[int, int, bool]]) -> None:
    """Pointer jumping against a walk from link to link, over chains drawn at random."""
    links = chains(drawn)
    found = causes_of(links)
    for place, row in enumerate(found.rows):
        outside, last = walked(links, int(row))
        assert found.has_trigger[place] == (outside is not None)
        if outside is not None:
            assert found.trigger[place] == outside
        assert found.has_fault[place] == (links.kind[last] == int(FaultBegan.KIND))
        if found.has_fault[place]:
            assert found.end[place] == last


def chains(drawn: list[tuple[int, int, bool]]) -> Links:
    """Rows that each lead some rows back, or to none that was recorded; some are faults."""
    count = len(drawn)
    process = np.array([process for process, *_ in drawn], np.int64)
    sequence = np.arange(count)
    to = [row - back for row, (_, back, _) in enumerate(drawn)]
    is_there = [0 <= place < row for row, place in enumerate(to)]
    cause_process = [
        int(process[place]) if ok else 0 for place, ok in zip(to, is_there, strict=True)
    ]
    cause_sequence = [place if ok else 10_000 for place, ok in zip(to, is_there, strict=True)]
    nobody = np.full(count, -1)
    kinds = [int(FaultBegan.KIND) if fault else int(LeaderElected.KIND) for *_, fault in drawn]
    return Links(
        np.array(kinds, np.int64),
        sequence * 10,
        process,
        sequence,
        np.array(cause_process, np.int64),
        np.array(cause_sequence, np.int64),
        nobody,
        nobody,
    )


def walked(links: Links, row: int) -> tuple[int | None, int]:
    """The first row of another process on the way, and the row at which the way ends."""
    outside = None
    own = links.process[row]
    while True:
        if outside is None and links.process[row] != own:
            outside = row
        if links.kind[row] == int(FaultBegan.KIND):
            return outside, row
        to = links.process, links.sequence, links.cause_process[row], links.cause_sequence[row]
        following = np.flatnonzero((to[0] == to[2]) & (to[1] == to[3]))
        if not len(following):
            return outside, row
        row = int(following[0])


def test_a_walk_in_the_wrong_direction_would_be_seen(tmp_path: Path) -> None:
    """The twin: with because and cause exchanged the fault is not found."""
    rows = WrittenRows()
    a_failover(rows)
    (run,) = runs_at(rows.run(tmp_path / "failover"))
    links = links_of(run)
    bent = links._replace(
        because_process=np.full_like(links.because_process, -1),
        because_sequence=np.full_like(links.because_sequence, -1),
    )
    assert causes_of(links).has_fault.all()
    assert not causes_of(bent).has_fault.any()
