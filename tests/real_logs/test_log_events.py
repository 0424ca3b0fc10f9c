"""Events that no recorded cluster has: their fields are those of their lines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from real_clusters import history_of, recorded, states_in
from tidegauge.real_cluster.logs import log_events
from tidegauge.real_cluster.logs.log_files import found_logs
from tidegauge.real_cluster.logs.logged_run import found_in_logs, write_run
from tidegauge.real_cluster.logs.real_history import real_history
from tidegauge.runs.run import Run

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


_REGISTRATION = (
    "PartitionRegistration(replicas=[1, 2, 3], directories=[a, b, c], isr=[2, 3],"
    " removingReplicas=[], addingReplicas=[], elr=[], lastKnownElr=[], leader=2,"
    " leaderRecoveryState=RECOVERED, leaderEpoch=1, partitionEpoch=4)"
)


def test_from_4_2_a_broker_that_stays_leader_logs_the_registration(tmp_path: Path) -> None:
    """Its own line about the ISR may name the members in another order than the record has."""
    history = history_of(
        tmp_path,
        {
            "broker-2/server.log": "00:00:01,000 [Partition t-0 broker=2] ISR updated to 3,2  and"
            " version updated to 4",
            "broker-2/state-change.log": "00:00:01,100 [Broker id=2] Skipped the become-leader"
            f" state change for t-0 with topic id Some(x), partition registration {_REGISTRATION}"
            " and isNew=false since it is already the leader with leader epoch 1.",
        },
    )
    assert states_in(history) == [("t-0", 4, 2, 1, (2, 3))]


def test_from_4_3_the_line_of_a_reassignment_has_the_state(tmp_path: Path) -> None:
    """The name of the topic ends before the dot."""
    record = (
        "PartitionChangeRecord(partitionId=0, topicId=x, isr=[2, 4], leader=2,"
        " replicas=[2, 3, 4], removingReplicas=[], addingReplicas=[], leaderRecoveryState=-1,"
        " directories=[a, b, c], eligibleLeaderReplicas=null, lastKnownElr=null)"
    )
    line = (
        "00:00:01,000 [QuorumController id=10] Replayed partition assignment change"
        f" {record} for topic t.x"
    )
    after = (
        ". (isr: [1, 2] -> [2, 4], replicaSet: [2, 3, 4, 1] -> [2, 3, 4], partitionEpoch: 3,"
        " leaderEpoch: 1)"
    )
    newer = history_of(tmp_path / "4.3", {"controller-10/controller.log": line + after})
    assert states_in(newer) == [("t.x-0", 3, 2, 1, (2, 4))]
    older = history_of(tmp_path / "4.1", {"controller-10/controller.log": line})
    assert older.content.partitions == ["t.x-0"]
    assert states_in(older) == []


def test_the_sets_of_voters_are_told(tmp_path: Path) -> None:
    """KIP-853: controller 11 has lost its disk, leaves the set and joins it again."""
    history = real_history(found_logs(recorded("kraft-4.4.0-q07_lost_disk_auto_join", tmp_path)))
    run = write_run(history, tmp_path / "run")
    found = found_in_logs(history, run)
    assert [each.keys for each in found.voter_sets] == [
        ["10#1", "11#1", "12#1"],
        ["10#1", "12#1"],
        ["10#1", "11#2", "12#1"],
    ]
    told = [line.split() for line in found.lines() if "#" in line]
    assert told[1][:3] == ["from", "2026-11-25", "23:59:58,054:"]
    read = [(row["broker"], row["voters_offset"]) for row in run.rows("quorum_voters")]
    # Behind two brokers: 11 begins with an empty directory, and reads the log from its beginning.
    assert [offset for broker, offset in read if broker == 3] == [-1, 2, 2, 99, 105]


def test_a_voter_that_is_not_added_has_its_reason(tmp_path: Path) -> None:
    """AddVoterHandler.handleApiVersionsResponse@4.0.0; up to 4.0 directories are optional."""
    key = "ReplicaKey(id=11, directoryId=Optional[AAAAAAAAAAAAAAAAAAAAAQ])"
    node = f"10=VoterNode(voterKey={key.replace('11', '10')}, listeners=Endpoints(endpoints={{}}))"
    begin = f"[RaftManager id=10] Aborting add voter operation for {key} at Endpoints() since"
    lines = f"""
        00:00:00,500 [ControllerServer id=10] Starting controller (kafka)
        00:00:01,000 [RaftManager id=10] Latest set of voters is VoterSet(voters={{{node}}}) at\
 offset 2 (kafka)
        00:00:02,000 {begin} API_VERSIONS returned an error BROKER_NOT_AVAILABLE (kafka)
        00:00:03,000 {begin} kraft.version range Optional.empty doesn't support it (kafka)
        00:00:04,000 {begin} it is lagging behind: Optional.empty (kafka)
        00:00:05,000 [QuorumController id=11] In the new epoch 1, the leader is 10. (kafka)
    """
    history = history_of(tmp_path, {"controller-10/controller.log": lines})
    run = write_run(history, tmp_path / "run")
    events = [*Run(run.path).events_of("quorum_voters", "voter_change_answered")]
    assert [event.voters for event in events[:1]] == [["10#1"]]
    answers = [(event.server, event.error, event.voter_refusal) for event in events[1:]]
    assert answers == [
        (11, "REQUEST_TIMED_OUT", "API_VERSIONS returned an error BROKER_NOT_AVAILABLE"),
        (11, "INVALID_REQUEST", "it does not support the finalized kraft.version"),
        (11, "REQUEST_TIMED_OUT", "it is lagging behind"),
    ]


def test_a_release_that_is_newer_than_known_is_said_to_be_read_as_the_newest(
    tmp_path: Path,
) -> None:
    folder = recorded("kraft-4.4.0-n1_paused_leader_acks1", tmp_path)
    for file in folder.glob("*/server.log"):
        file.write_text(file.read_text().replace("Kafka version: 4.4.0", "Kafka version: 9.1.0"))
    history = real_history(found_logs(folder))
    told = [*found_in_logs(history, write_run(history, tmp_path / "run")).lines()]
    assert told[0] == "Kafka 9.1.0 with KRaft"
    assert told[1].startswith("Kafka 9.1.0 is newer than what is known: it is read as 4.")


def test_a_start_knows_the_last_line_of_the_process_before_by_the_common_clock() -> None:
    start = log_events.ProcessStarting(5_000, 1, previous_line_ms=3_000)
    assert start.earlier(500) == log_events.ProcessStarting(4_500, 1, previous_line_ms=2_500)
    first = log_events.ProcessStarting(5_000, 1)
    assert first.earlier(500).previous_line_ms == -1
