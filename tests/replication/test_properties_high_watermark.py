"""The high watermark under any sequence of appends, fetches, evictions and elections."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.replication import isr_update
from tidegauge.replication.high_watermark import (
    maybe_increment_leader_high_watermark,
    update_high_watermark,
)
from tidegauge.replication.in_sync_replicas import get_out_of_sync_replicas, needs_expand_isr
from tidegauge.replication.log import append, truncate_to
from tidegauge.replication.partition import initialize_partition, make_leader
from tidegauge.replication.records import (
    EpochEntry,
    LeaderAndIsr,
    Partition,
    RemoteReplica,
    new_record,
    new_records,
)
from tidegauge.replication.releases import rules_of
from tidegauge.replication.remote_replica import update_fetch_state
from tidegauge.replication.replica_list import EMPTY, pack, unpack

LAG_MS = 10_000
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


class Leader:
    """A leader in slot 0 with two followers that fetch where they please."""

    def __init__(self, release: str) -> None:
        self.rules = rules_of(release)
        self.partition = new_record(Partition)
        self.followers = new_records(RemoteReplica, REPLICAS)
        self.runs = new_records(EpochEntry, 64)
        self.entries = new_records(EpochEntry, 64)
        self.now_ms = 100_000
        initialize_partition(self.partition, 0, pack(range(REPLICAS)), 0, 1)
        self.lead(pack(range(REPLICAS)))

    def lead(self, isr: int) -> None:
        state = new_record(LeaderAndIsr)
        state.leader_epoch = self.partition.leader_epoch + 1
        state.partition_epoch = self.partition.partition_epoch + 1
        state.isr = isr
        make_leader(self.rules, self.partition, self.followers, self.entries, state, 1, self.now_ms)
        self.attempt()

    def attempt(self) -> None:
        before = self.partition.high_watermark
        moved = maybe_increment_leader_high_watermark(
            self.rules, self.partition, self.followers, self.now_ms, LAG_MS, EMPTY
        )
        assert moved == (self.partition.high_watermark > before)
        if moved:
            for replica in unpack(self.partition.maximal_isr):
                if replica != 0:
                    reached = self.followers[replica].log_end_offset
                    assert reached >= self.partition.high_watermark

    def change_isr(self, isr: int) -> None:
        if isr_update.isr_is_pending_first(self.rules):
            isr_update.propose_isr(self.partition, isr)
        else:
            isr_update.commit_isr(self.partition, isr, self.partition.partition_epoch + 1)

    def live(self, event: str, number: int, behind: int) -> None:
        partition = self.partition
        if event == "append":
            epoch = partition.leader_epoch
            append(self.rules, partition, self.runs, self.entries, epoch, number)
            self.attempt()
        elif event == "fetch":
            follower = self.followers[number]
            offset = max(partition.log_end_offset - behind, follower.log_end_offset, 0)
            end = partition.log_end_offset
            update_fetch_state(self.rules, follower, offset, 0, self.now_ms, end)
            if needs_expand_isr(self.rules, partition, self.followers, number, EMPTY):
                self.change_isr(isr_update.expanded_isr(partition, number))
            self.attempt()
        elif event == "wait":
            self.now_ms += number
        elif event == "isr-expiration":
            leaving = get_out_of_sync_replicas(
                self.rules, partition, self.followers, self.now_ms, LAG_MS
            )
            if leaving != EMPTY:
                self.change_isr(isr_update.shrunk_isr(partition, leaving))
                self.attempt()
        elif event == "ISR confirmed" and partition.proposed_isr != EMPTY:
            isr_update.commit_isr(partition, partition.proposed_isr, partition.partition_epoch + 1)
            self.attempt()
        elif event == "next epoch":
            self.lead(partition.isr)


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=150, deadline=None)
@given(events=EVENTS)
def test_a_leaders_high_watermark_only_rises_and_never_passes_its_log_end(
    release: str, events: list[tuple[str, int, int]]
) -> None:
    leader = Leader(release)
    for event, number, behind in events:
        before = leader.partition.high_watermark
        leader.live(event, number, behind)
        assert before <= leader.partition.high_watermark <= leader.partition.log_end_offset


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=150, deadline=None)
@given(events=EVENTS)
def test_the_leader_stays_in_its_isr_and_a_joining_replica_counts_at_once(
    release: str, events: list[tuple[str, int, int]]
) -> None:
    leader = Leader(release)
    for event, number, behind in events:
        leader.live(event, number, behind)
        isr = set(unpack(leader.partition.isr))
        assert 0 in isr
        assert isr <= set(unpack(leader.partition.maximal_isr)) <= set(range(REPLICAS))


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
