"""The high watermark under any sequence of appends, fetches, evictions and elections."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication_stories import Leader
from tidegauge.compiled.records import new_record, new_records
from tidegauge.replication.high_watermark import update_high_watermark
from tidegauge.replication.log import append, truncate_to
from tidegauge.replication.records import EpochEntry, Partition
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import EMPTY

REPLICAS = 3
RELEASES = ["0.10.2", "1.1", "2.6", "2.8", "3.6", "3.9"]

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4), st.just(0)),
        st.tuples(st.just("fetch"), st.integers(1, REPLICAS - 1), st.integers(0, 3)),
        st.tuples(st.just("wait"), st.integers(1, 15_000), st.just(0)),
        st.tuples(st.just("isr-expiration"), st.just(0), st.just(0)),
        st.tuples(st.just("ISR confirmed"), st.just(0), st.just(0)),
        st.tuples(st.just("next epoch"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


def live(leader: Leader, event: str, number: int, behind: int) -> None:
    """One event; if it moves the high watermark, nobody who counts may be below."""
    before = leader.high_watermark
    if event == "append":
        leader.appends(number)
    elif event == "fetch":
        known = leader.followers[number].log_end_offset
        end = leader.partition.log_end_offset
        leader.is_fetched_by(number, max(end - behind, known, 0))
    elif event == "wait":
        leader.waits(number)
    elif event == "isr-expiration":
        leader.checks_its_isr()
    elif event == "ISR confirmed" and leader.partition.proposed_isr != EMPTY:
        leader.is_answered()
    elif event == "next epoch":
        leader.is_elected(leader.isr)
    if leader.high_watermark > before:
        for replica in leader.maximal_isr:
            if replica != 0:
                assert leader.followers[replica].log_end_offset >= leader.high_watermark


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=150, deadline=None)
@given(events=EVENTS)
def test_a_leaders_high_watermark_only_rises_and_never_passes_its_log_end(
    release: str, events: list[tuple[str, int, int]]
) -> None:
    leader = Leader(release)
    for event, number, behind in events:
        before = leader.high_watermark
        live(leader, event, number, behind)
        assert before <= leader.high_watermark <= leader.partition.log_end_offset


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=150, deadline=None)
@given(events=EVENTS)
def test_the_leader_stays_in_its_isr_and_a_joining_replica_counts_at_once(
    release: str, events: list[tuple[str, int, int]]
) -> None:
    leader = Leader(release)
    for event, number, behind in events:
        live(leader, event, number, behind)
        assert 0 in leader.isr
        assert set(leader.isr) <= set(leader.maximal_isr) <= set(range(REPLICAS))


FOLLOWER_EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("leader's high watermark"), st.integers(0, 60)),
        st.tuples(st.just("truncate"), st.integers(0, 40)),
    ),
    max_size=30,
)


@pytest.mark.parametrize("release", ["2.4", "2.6", "3.9"])
@settings(max_examples=150, deadline=None)
@given(events=FOLLOWER_EVENTS)
def test_a_followers_high_watermark_stays_within_its_log_from_2_4_on(
    release: str, events: list[tuple[str, int]]
) -> None:
    """KAFKA-8457 moved it into the log, which clamps it; before, truncation left it."""
    rules = rules_of(release)
    partition = new_record(Partition)
    runs, entries = new_records(EpochEntry, 64), new_records(EpochEntry, 64)
    for event, number in events:
        if event == "append":
            append(rules, partition, runs, entries, 0, number)
        elif event == "truncate":
            truncate_to(rules, partition, runs, entries, number)
        else:
            update_high_watermark(rules, partition, number)
        assert partition.log_start_offset <= partition.high_watermark <= partition.log_end_offset


def test_up_to_2_3_truncation_leaves_the_high_watermark_above_the_log_end() -> None:
    """The negative twin: without the clamp the property above does not hold."""
    rules = rules_of("2.3")
    partition = new_record(Partition)
    runs, entries = new_records(EpochEntry, 4), new_records(EpochEntry, 4)
    append(rules, partition, runs, entries, 0, 10)
    update_high_watermark(rules, partition, 10)
    truncate_to(rules, partition, runs, entries, 4)
    assert (partition.log_end_offset, partition.high_watermark) == (4, 10)
