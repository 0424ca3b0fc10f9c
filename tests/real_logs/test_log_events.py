"""Events that no recorded cluster has: their fields are those of their lines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from real_clusters import history_of
from tidegauge.real_cluster.logs import log_events

_BEGIN_MS = round(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1_000


def test_topics_and_registrations_of_a_quorum_change(tmp_path: Path) -> None:
    lines = """
        00:00:01,000 Replayed ConfigRecord for ConfigResource(type=TOPIC, name='t') which set\
 configuration min.insync.replicas to 2
        00:00:02,000 [QuorumController id=12] Replayed UnregisterBrokerRecord modifying the\
 registration for broker 3: UnregisterBrokerRecord(brokerId=3, brokerEpoch=13)
        00:00:03,000 [QuorumController id=12] Replayed RemoveTopicRecord for topic t with ID x.
        00:00:04,000 [QuorumController id=12] Renouncing the leadership at oldEpoch 1 due to\
 a metadata log event: the leader is 10 at epoch 2.
    """
    history = history_of(tmp_path, {"controller-12/controller.log": lines})
    assert history.events == [
        log_events.TopicSetting(_BEGIN_MS + 1_000, 12, "t", "min.insync.replicas", "2"),
        log_events.UnregisterBrokerRecord(_BEGIN_MS + 2_000, 12, 3, 13),
        log_events.TopicDeleted(_BEGIN_MS + 3_000, 12, "t"),
        log_events.LeadershipRenounced(_BEGIN_MS + 4_000, 12),
    ]


def test_a_start_knows_the_last_line_of_the_process_before_by_the_common_clock() -> None:
    start = log_events.ProcessStarting(5_000, 1, previous_line_ms=3_000)
    assert start.earlier(500) == log_events.ProcessStarting(4_500, 1, previous_line_ms=2_500)
    first = log_events.ProcessStarting(5_000, 1)
    assert first.earlier(500).previous_line_ms == -1
