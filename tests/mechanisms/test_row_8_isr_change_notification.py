"""Row 8: leaders gather their ISR changes before they tell the controller (KAFKA-2722)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from isr_stories import (
    is_notification,
    isr_changes,
    moved,
    ms,
    process_named,
    process_of_role,
    retold,
)
from scenario_runs import rows_of, run_of, shipped
from tidegauge.simulation.messages.controller_requests import UpdateMetadataRequest
from tidegauge.simulation.messages.zookeeper_requests import (
    ZkChildrenRequest,
    ZkGetRequest,
    ZkResponse,
)
from tidegauge.simulation.trace_rows.codes import ISR_CHANGE
from tidegauge.traces.run_folder import RunFolder, TraceRow

PHASES = 8
CHECK_MS = 2_500
QUIET_MS = 5_000
MAX_DELAY_MS = 60_000

#: Broker 2, which leads in all these stories, starts then, and looks every 2.5s after.
LEADER_STARTS_MS = 200


def sent_by_the_leader(run: RunFolder) -> list[TraceRow]:
    """All notifications; each leaves at a look of broker 2, and for one of the two reasons."""
    sent = rows_of(run, "notification_sent")
    for row in sent:
        assert row["process"] == process_named(run, "broker 2")
        assert (ms(row) - LEADER_STARTS_MS) % CHECK_MS == 0
        assert row["quiet_ms"] > QUIET_MS or row["since_propagation_ms"] > MAX_DELAY_MS
    return sent


def last_change_before(run: RunFolder, sent: TraceRow) -> TraceRow:
    """The last ISR change before a notification left."""
    return [row for row in isr_changes(run) if row.place < sent.place][-1]


def test_an_isolated_change_leaves_5_to_7_5_s_later_by_phase(tmp_path: Path) -> None:
    """Rules section 3.1: within 60s of the start or of a propagation, after 5s of quiet."""
    waits = []
    for phase in range(PHASES):
        cut = moved("08-isolated-changes", 20_000 + phase * CHECK_MS // PHASES)
        run = run_of(retold("08-isolated-changes", faults=cut), tmp_path / str(phase))
        changes = isr_changes(run)
        assert [row.kind for row in changes] == ["isr_shrunk", "isr_expanded"]
        first, second = sent_by_the_leader(run)
        for change, sent in zip(changes, (first, second), strict=True):
            assert sent["partition_count"] == 1
            assert sent["quiet_ms"] == ms(sent) - ms(change)
            waits.append(sent["quiet_ms"])
        # The clock of propagations starts with the broker.
        assert first["since_propagation_ms"] == ms(first) - LEADER_STARTS_MS < MAX_DELAY_MS
        assert second["since_propagation_ms"] == ms(second) - ms(first) < MAX_DELAY_MS
    assert all(QUIET_MS < wait <= QUIET_MS + CHECK_MS for wait in waits)
    assert min(waits) < 5_300
    assert max(waits) > 7_200


def test_after_a_quiet_minute_the_first_change_leaves_at_the_next_look(tmp_path: Path) -> None:
    """Rules section 3.1: the 60s branch; a storm that goes on gives one more, after quiet."""
    waits = []
    for phase in range(PHASES):
        storm = moved("08-storm-after-a-quiet-minute", 70_000 + phase * CHECK_MS // PHASES)
        story = retold("08-storm-after-a-quiet-minute", faults=storm)
        run = run_of(story, tmp_path / str(phase))
        changes = isr_changes(run)
        first, second = sent_by_the_leader(run)
        waits.append(ms(first) - ms(changes[0]))
        assert first["since_propagation_ms"] == ms(first) - LEADER_STARTS_MS > MAX_DELAY_MS
        # It was not quiet for 5s, neither before the first nor at any time in the storm.
        assert first["quiet_ms"] < CHECK_MS
        assert all(ms(after) - ms(before) < QUIET_MS for before, after in pairwise(changes))
        assert len([row for row in changes if row.place > first.place]) >= 4
        assert second.place > changes[-1].place
        assert second["since_propagation_ms"] < MAX_DELAY_MS
        assert second["quiet_ms"] == ms(second) - ms(changes[-1])
        assert QUIET_MS < second["quiet_ms"] <= QUIET_MS + CHECK_MS
    assert all(0 <= wait <= CHECK_MS for wait in waits)
    assert max(waits) - min(waits) > 1_000


def test_a_storm_within_60_s_of_a_propagation_becomes_one_notification(tmp_path: Path) -> None:
    """Mechanism 8: dozens of changes of six partitions, one child, one update of metadata."""
    run = run_of(shipped("08-storm-is-one-notification"), tmp_path / "run")
    early, notification = sent_by_the_leader(run)
    storm = [row for row in isr_changes(run) if row.place > early.place]
    assert len(storm) >= 40
    assert {row["partition"] for row in storm} == set(range(6))
    assert ms(storm[0]) - ms(early) < MAX_DELAY_MS
    assert all(ms(after) - ms(before) < QUIET_MS for before, after in pairwise(storm))
    assert notification["partition_count"] == 6
    assert notification["since_propagation_ms"] == ms(notification) - ms(early) < MAX_DELAY_MS
    assert notification["quiet_ms"] == ms(notification) - ms(storm[-1])
    assert QUIET_MS < notification["quiet_ms"] <= QUIET_MS + CHECK_MS


def test_continuous_changes_leave_once_more_than_60_s_have_passed(tmp_path: Path) -> None:
    """Real brokers, section 3: 60s after the start, then 60s apart, here plus one look."""
    run = run_of(shipped("08-continuous-changes"), tmp_path / "run")
    changes = isr_changes(run)
    assert all(ms(after) - ms(before) < QUIET_MS for before, after in pairwise(changes))
    assert len(changes) >= 60
    first, second, last = sent_by_the_leader(run)
    # At 60.0s sharp it is not more than 60s, so each waits for the next look.
    assert first["since_propagation_ms"] == ms(first) - LEADER_STARTS_MS == 62_500
    assert second["since_propagation_ms"] == ms(second) - ms(first) == 62_500
    assert first["quiet_ms"] < QUIET_MS
    assert second["quiet_ms"] < QUIET_MS
    # When the changes have ended the rest leaves after 5s of quiet.
    assert last["quiet_ms"] == ms(last) - ms(changes[-1])
    assert QUIET_MS < last["quiet_ms"] <= QUIET_MS + CHECK_MS
    assert last["since_propagation_ms"] < MAX_DELAY_MS


def test_with_a_bound_that_a_look_passes_by_a_millisecond_they_leave_60_s_apart(
    tmp_path: Path,
) -> None:
    """isr_change_notification_max_delay_ms: strict, as the 2.5s of difference show."""
    settings = {"isr_change_notification_max_delay_ms": 59_999}
    run = run_of(retold("08-continuous-changes", settings), tmp_path / "run")
    first, second, _ = run.rows("notification_sent")
    assert ms(first) - LEADER_STARTS_MS == ms(second) - ms(first) == 60_000


def isr_events(run: RunFolder) -> list[TraceRow]:
    """The events about ISR changes that the controller has taken from its queue."""
    return rows_of(run, "controller_event", event_kind=int(ISR_CHANGE))


@pytest.mark.parametrize("release", ["1.0", "2.6"])
def test_without_batching_every_change_is_a_notification_of_its_own(
    tmp_path: Path, release: str
) -> None:
    """isr_change_notification_batching: false, the world before KAFKA-2722.

    Each is read once, also where lists that have become stale name it again (up to 1.0).
    """
    settings = {"isr_change_notification_batching": False}
    story = retold("08-storm-is-one-notification", settings, release=release)
    run = run_of(story, tmp_path / "run")
    changes = isr_changes(run)
    sent = rows_of(run, "notification_sent")
    assert len(sent) == len(changes) >= 45
    assert {row["partition_count"] for row in sent} == {1}
    assert max(row["quiet_ms"] for row in sent) < 20
    read = [row["notification"] for row in run.rows("notification_read")]
    assert sorted(read) == list(range(len(sent)))


@pytest.mark.parametrize(("release", "list_comes_along"), [("1.0", True), ("2.6", False)])
def test_batching_keeps_the_controllers_queue_empty(
    tmp_path: Path, release: str, list_comes_along: bool
) -> None:
    """The same load with and without: events, how many wait behind, and for how long.

    Up to 1.0 every watch that fires becomes an event with a list of its own, and each waits for
    all before it. From 1.1 on the watch is set again by the event that lists, late in its time,
    so one event waits at most, and not for long (KAFKA-5879).
    """
    runs = [
        run_of(
            retold(
                "08-storm-is-one-notification",
                {"isr_change_notification_batching": batching},
                release=release,
            ),
            tmp_path / str(batching),
        )
        for batching in (True, False)
    ]
    batched, single = map(isr_events, runs)
    # Creation and deletion of a child each fire the watch.
    assert len(batched) == 2 * len(rows_of(runs[0], "notification_sent")) == 4
    assert len(single) > 10 * len(batched)
    assert max(row["queue_length"] for row in batched) == 0
    longest = max(row["queue_length"] for row in single)
    assert longest >= 2 if list_comes_along else longest == 0
    assert max(row["queued_us"] for row in batched) < 1_000
    assert max(row["queued_us"] for row in single) > (50_000 if list_comes_along else 4_000)
    waited = [row for row in single if row["queued_us"] > 1_000]
    assert len(waited) > (20 if list_comes_along else 5)


def test_the_numbers_are_settings(tmp_path: Path) -> None:
    """isr_change_notification_check_interval_ms and _quiet_ms; Kafka has them as constants."""
    settings = {
        "isr_change_notification_check_interval_ms": 400,
        "isr_change_notification_quiet_ms": 1_000,
    }
    run = run_of(retold("08-isolated-changes", settings), tmp_path / "run")
    changes = isr_changes(run)
    sent = rows_of(run, "notification_sent")
    assert len(sent) == len(changes) == 2
    assert all((ms(row) - LEADER_STARTS_MS) % 400 == 0 for row in sent)
    assert all(1_000 < row["quiet_ms"] <= 1_400 for row in sent)


def test_a_long_quiet_time_lets_a_change_wait_for_the_bound(tmp_path: Path) -> None:
    """Either reason is enough: 40s of quiet are far, 15s since a propagation come first."""
    settings = {
        "isr_change_notification_quiet_ms": 40_000,
        "isr_change_notification_max_delay_ms": 15_000,
    }
    run = run_of(retold("08-isolated-changes", settings), tmp_path / "run")
    shrunk, expanded = isr_changes(run)
    first, second = run.rows("notification_sent")
    # More than 15s after the start: the shrink leaves at the next look.
    assert 0 <= ms(first) - ms(shrunk) <= CHECK_MS
    assert 0 <= ms(second) - max(ms(expanded), ms(first) + 15_000) <= CHECK_MS


@pytest.mark.parametrize("release", ["0.10.2", "1.0", "1.1", "2.6"])
def test_the_controller_reads_tells_the_brokers_and_deletes_the_child(
    tmp_path: Path, release: str
) -> None:
    """Rules section 3.5: watch, read, UpdateMetadata, deletion; no epoch, no LeaderAndIsr."""
    story = retold("08-isolated-changes", release=release, trace="all")
    run = run_of(story, tmp_path / "run")
    sent = rows_of(run, "notification_sent")
    read = rows_of(run, "notification_read")
    created = [row for row in run.rows("znode_created") if is_notification(run, row)]
    deleted = [row for row in run.rows("znode_deleted") if is_notification(run, row)]
    assert len(sent) == len(created) == len(read) == len(deleted) >= 2
    assert [row["sequence_number"] for row in created] == list(range(len(sent)))
    assert [row["notification"] for row in read] == list(range(len(sent)))
    for leaves, child, news, gone in zip(sent, created, read, deleted, strict=True):
        assert leaves.place < child.place < news.place < gone.place
        # Written by the leader, read and deleted by the controller of broker 1.
        assert (child["writer"], gone["writer"]) == (1, 0)
        assert news["process"] == process_named(run, "controller of broker 1")
        assert news["partition_count"] == leaves["partition_count"] == 1
        # Real brokers: deleted 6 to 110ms later.
        assert 1_000 < gone["time_us"] - child["time_us"] < 110_000
        told = [
            row
            for row in rows_of(run, "message", message_kind=int(UpdateMetadataRequest.KIND))
            if news["time_us"] <= row["time_us"] < news["time_us"] + 100_000
        ]
        assert sorted(row["process"] for row in told) == [0, 1, 2]
    assert [row["leader_epoch"] for row in run.rows("leader_elected")] == [0]
    assert {row["leader_epoch"] for row in isr_changes(run)} == {0}
    led = [*run.rows("became_leader"), *run.rows("became_follower")]
    assert all(row["leader_epoch"] == 0 and row["time_us"] < 5_000_000 for row in led)


def messages_between(
    run: RunFolder, process: int, kind: int, from_process: int, begin: TraceRow, end: TraceRow
) -> list[TraceRow]:
    """The messages of a kind that reach a process between two rows."""
    return [
        row
        for row in rows_of(
            run, "message", process=process, message_kind=kind, from_process=from_process
        )
        if begin["time_us"] <= row["time_us"] < end["time_us"]
    ]


@pytest.mark.parametrize(("release", "pipelined"), [("1.0", False), ("1.1", True), ("2.6", True)])
def test_from_1_1_on_the_states_are_read_in_one_go_before_one_by_one(
    tmp_path: Path, release: str, pipelined: bool
) -> None:
    """KAFKA-5642: updateLeaderAndIsrCache reads six states, one after the other or pipelined."""
    story = retold("08-storm-is-one-notification", release=release, trace="all")
    run = run_of(story, tmp_path / "run")
    zookeeper = process_of_role(run, "zookeeper")
    controller = process_named(run, "controller of broker 1")
    read = rows_of(run, "notification_read")[-1]
    gone = [row for row in run.rows("znode_deleted") if is_notification(run, row)][-1]
    asked = messages_between(run, zookeeper, int(ZkGetRequest.KIND), controller, read, gone)
    answered = messages_between(run, controller, int(ZkResponse.KIND), zookeeper, read, gone)
    assert len(asked) == len(answered) == read["partition_count"] == 6
    if pipelined:
        assert asked[-1]["time_us"] < answered[0]["time_us"]
    else:
        for answer, following in zip(answered, asked[1:], strict=False):
            assert answer["time_us"] < following["time_us"]


@pytest.mark.parametrize(("release", "anew"), [("1.0", False), ("1.1", True), ("2.6", True)])
def test_from_1_1_on_the_event_lists_the_children_before_the_clients_thread(
    tmp_path: Path, release: str, anew: bool
) -> None:
    """Rules section 3.5: up to 1.0 the event comes with the list, from 1.1 on it asks."""
    story = retold("08-isolated-changes", release=release, trace="all")
    run = run_of(story, tmp_path / "run")
    zookeeper = process_of_role(run, "zookeeper")
    controller = process_named(run, "controller of broker 1")
    child = next(row for row in run.rows("znode_created") if is_notification(run, row))
    event = next(row for row in isr_events(run) if row["time_us"] > child["time_us"])
    read = next(iter(run.rows("notification_read")))
    children = int(ZkChildrenRequest.KIND)
    before = messages_between(run, zookeeper, children, controller, child, event)
    after = messages_between(run, zookeeper, children, controller, event, read)
    assert (len(before), len(after)) == ((0, 1) if anew else (1, 0))


def test_a_notification_that_found_nothing_tells_nobody(tmp_path: Path) -> None:
    """processIsrChangeNotification: UpdateMetadata only if partitions were named.

    The deletion of the child fires the watch as well, and that event finds no children.
    """
    run = run_of(retold("08-isolated-changes", trace="all"), tmp_path / "run")
    read = rows_of(run, "notification_read")
    empty = [row for row in isr_events(run) if row["time_us"] > read[-1]["time_us"]]
    assert len(empty) == 1
    told = rows_of(run, "message", message_kind=int(UpdateMetadataRequest.KIND))
    assert len([row for row in told if row["time_us"] >= read[0]["time_us"]]) == 3 * len(read)
