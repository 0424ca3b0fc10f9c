"""After any history of a log its leader-epoch cache says the truth about it (KIP-101)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.replication.log import increment_log_start_offset
from tidegauge.replication.reconciliation import ReplicaLog
from tidegauge.replication.releases import rules_of

#: One release of each generation of LeaderEpochFileCache: A, B, C, D.
RELEASES = ["1.1", "2.0.0", "2.6", "3.9"]

APPEND = st.tuples(st.just("append"), st.integers(1, 5))
NEW_EPOCH = st.tuples(st.just("new leader epoch"), st.integers(1, 3))
TRUNCATE = st.tuples(st.just("truncate"), st.integers(0, 40))
DELETE_RECORDS = st.tuples(st.just("delete records"), st.integers(0, 40))
RESTART = st.tuples(st.just("restart"), st.just(0))
HISTORIES = st.lists(
    st.one_of(APPEND, APPEND, NEW_EPOCH, TRUNCATE, DELETE_RECORDS, RESTART), max_size=30
)


class Replica:
    """A replica that leads in one epoch after the other and is cut in between."""

    def __init__(self, release: str) -> None:
        self.log = ReplicaLog.empty(rules_of(release))
        self.epoch = 0

    def live_through(self, history: list[tuple[str, int]]) -> None:
        for event, amount in history:
            self.live(event, amount)

    def live(self, event: str, amount: int) -> None:
        log, partition = self.log, self.log.partition
        if event == "append":
            log.append(self.epoch, amount)
        elif event == "new leader epoch":
            self.epoch += amount
            log.lead(self.epoch)
        elif event == "truncate":
            log.truncate_to(max(amount, partition.log_start_offset))
        elif event == "delete records":
            offset = min(amount, partition.log_end_offset)
            increment_log_start_offset(partition, log.runs, log.entries, offset)
        else:
            self.log.restart()

    def runs(self) -> list[tuple[int, int]]:
        """What the log really holds: (leader epoch, offset of its first record)."""
        return [(epoch, start) for epoch, start, _ in self.log.epoch_runs()]


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=150, deadline=None)
@given(history=HISTORIES)
def test_the_cache_lists_the_epochs_of_the_log(
    release: str, history: list[tuple[str, int]]
) -> None:
    """Epochs without a record may be listed beside them, and say so themselves.

    At the log end the epoch of a leader that has not written yet may wait, or the last
    one of a log whose records have been deleted. From 2.0.1 on the next epoch replaces it.
    """
    replica = Replica(release)
    replica.live_through(history)
    cache = replica.log.cache()
    starts = [start for _, start in cache] + [int(replica.log.partition.log_end_offset)]

    with_records = [
        entry for entry, next_start in zip(cache, starts[1:], strict=True) if entry[1] < next_start
    ]
    assert with_records == replica.runs()
    assert starts == sorted(starts)
    assert [epoch for epoch, _ in cache] == sorted({epoch for epoch, _ in cache})
    if release in ("2.6", "3.9"):
        assert len(set(starts[:-1])) == len(cache)


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=100, deadline=None)
@given(history=HISTORIES)
def test_end_offsets_partition_the_log(release: str, history: list[tuple[str, int]]) -> None:
    """Each epoch in the log ends where the next one starts, the last at the log end."""
    replica = Replica(release)
    replica.live_through(history)
    runs = replica.runs()
    ends = [start for _, start in runs[1:]] + [int(replica.log.partition.log_end_offset)]
    told = [int(replica.log.end_offset_for(epoch)[1]) for epoch, _ in runs]
    assert told == ends[: len(runs)]


@settings(max_examples=100, deadline=None)
@given(history=HISTORIES)
def test_a_restart_forgets_only_epochs_without_records(history: list[tuple[str, int]]) -> None:
    replica = Replica("2.6")
    replica.live_through(history)
    replica.log.restart()
    if replica.runs():
        assert replica.log.cache() == replica.runs()
