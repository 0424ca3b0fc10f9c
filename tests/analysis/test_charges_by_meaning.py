"""The question behind each kind of row, on rows that are written by hand: what had taken it out."""

from __future__ import annotations

from pathlib import Path

from tidegauge.analysis.attribution import charges_of
from tidegauge.analysis.causes import causes_of, links_of
from tidegauge.analysis.cluster_course import PREFERRED_ELECTION, Charge
from tidegauge.analysis.fault_reach import roles_of
from tidegauge.analysis.requests import runs_at
from tidegauge.simulation.trace_rows.codes import BROKER_ABSENT, BROKER_ACTIVE
from written_rows import MANIFEST_OF_TESTS, ZOOKEEPER, S, WrittenRows

#: Processes: brokers 1, 2 and 3 have a replica of each partition; a controller, a producer.
ONE, TWO, THREE, CONTROLLER, SHOP = 0, 1, 2, 3, 5

#: ISRs of partition 0, whose slots are the brokers 1, 2 and 3.
ALL, ONE_AND_TWO, ONLY_ONE = 0x321, 0x21, 0x1


def charges(rows: WrittenRows, folder: Path, *faults: str) -> dict[str, Charge]:
    """The last charge of each effect; faults are given by their kinds."""
    manifest = MANIFEST_OF_TESTS | {
        "faults": [{"name": kind, "kind": kind, "text": ""} for kind in faults],
        "registered_before": [1, 2, 3],
    }
    (run,) = runs_at(rows.run(folder / "run"))
    links = links_of(run)
    found = charges_of(links, causes_of(links), roles_of(manifest))
    return {each.effect: each.charge for each in found}


def begins(rows: WrittenRows, time_us: int, process: int, fault: int = 0) -> None:
    rows.write("fault_began", time_us, process, fault=fault)


def led_by_broker_1(isr: int = ALL) -> WrittenRows:
    rows = WrittenRows()
    rows.held(S, 0, leader=ONE, isr=isr)
    return rows


def test_a_replica_returns_for_the_fault_that_had_taken_it_out(tmp_path: Path) -> None:
    """A fetch has triggered it, after a second fault that has no part in it."""
    rows = led_by_broker_1()
    begins(rows, 10 * S, THREE)
    rows.write("removed_from_isr", 20 * S, CONTROLLER, replica=THREE, isr=ONE_AND_TWO)
    rows.write("fault_ended", 30 * S, THREE, fault=0)
    begins(rows, 31 * S, TWO, 1)
    rows.write("isr_expanded", 33 * S, ONE, isr=ALL, old_isr=ONE_AND_TWO)
    assert charges(rows, tmp_path, "crash", "slow_disk")["expand"] == Charge(frozenset({0}))


def test_a_preferred_election_is_its_own_cause(tmp_path: Path) -> None:
    """The fault that had moved leadership is over, and the old leader stays in the ISR."""
    rows = led_by_broker_1()
    begins(rows, 10 * S, ONE)
    rows.write("leader_elected", 20 * S, CONTROLLER, leader=TWO, old_leader=ONE, isr=0x32)
    rows.write("fault_ended", 30 * S, ONE, fault=0)
    rows.write("isr_expanded", 35 * S, TWO, isr=ALL, old_isr=0x32)
    rows.write("leader_elected", 60 * S, CONTROLLER, leader=ONE, old_leader=TWO, isr=ALL)
    assert charges(rows, tmp_path, "crash")["election"] == Charge(reason=PREFERRED_ELECTION)


def test_lost_records_are_charged_to_all_that_made_their_loser_lead(tmp_path: Path) -> None:
    """A restart takes one replica out of the ISR; the last member loses power, and its log."""
    rows = led_by_broker_1(ONE_AND_TWO)
    begins(rows, 10 * S, TWO, 0)
    rows.write("removed_from_isr", 11 * S, CONTROLLER, replica=TWO, isr=ONLY_ONE)
    begins(rows, 12 * S, ONE, 1)
    rows.write("log_lost", 12 * S, ONE)
    rows.write("broker_state", 20 * S, ZOOKEEPER, broker=ONE, state=int(BROKER_ABSENT))
    rows.held(21 * S, 0, leader=-1, isr=ONLY_ONE, leader_epoch=1)
    rows.write("fault_ended", 40 * S, ONE, fault=1)
    rows.write("broker_state", 42 * S, ZOOKEEPER, broker=ONE, state=int(BROKER_ACTIVE))
    rows.write(
        *("leader_elected", 43 * S, CONTROLLER),
        leader=ONE,
        old_leader=-1,
        isr=ONLY_ONE,
        leader_epoch=2,
    )
    rows.write("became_leader", 44 * S, ONE, leader_epoch=2)
    found = charges(rows, tmp_path, "restart", "power_loss")
    assert found["loss"] == Charge(frozenset({0, 1}))
    assert found["log loss"] == found["fence"] == Charge(frozenset({1}))


def test_a_write_stalls_for_a_dead_follower_that_is_still_in_the_isr(tmp_path: Path) -> None:
    rows = led_by_broker_1()
    begins(rows, 10 * S, THREE)
    rows.write("produce_stalled", 12 * S, SHOP, waited_us=S)
    assert charges(rows, tmp_path, "crash")["stalled"] == Charge(frozenset({0}))


def test_a_write_does_not_stall_for_a_follower_outside_of_the_isr(tmp_path: Path) -> None:
    rows = led_by_broker_1(ONE_AND_TWO)
    begins(rows, 10 * S, THREE)
    rows.write("produce_stalled", 12 * S, SHOP, waited_us=S)
    assert not charges(rows, tmp_path, "crash")["stalled"].faults


def test_a_moment_of_a_fault_does_not_explain_ten_seconds_of_lag(tmp_path: Path) -> None:
    """The follower was dead for ten seconds, and paused in the last one."""
    rows = led_by_broker_1()
    begins(rows, 10 * S, THREE, 0)
    begins(rows, 19 * S, THREE, 1)
    rows.write("isr_shrunk", 20 * S, ONE, isr=ONE_AND_TWO, old_isr=ALL, lag_ms=10_000)
    assert charges(rows, tmp_path, "crash", "pause")["shrink"] == Charge(frozenset({0}))
