"""Lines that tell what was refused, was restated, or never was committed add nothing."""

from __future__ import annotations

from pathlib import Path

from real_clusters import history_of, states_in
from tidegauge.real_cluster.logs.broker_states import ABSENT, ACTIVE, FENCED
from tidegauge.real_cluster.logs.real_history import RealHistory

_REGISTERED = (
    "Replayed initial RegisterBrokerRecord for broker {0}: RegisterBrokerRecord(brokerId={0},"
    " isMigratingZkBroker=false, incarnationId=inc-{0}, brokerEpoch={1}, endPoints=[], features=[],"
    " rack=null, fenced=true, inControlledShutdown=false, logDirs=[])"
)
_CHANGED = (
    "Replayed BrokerRegistrationChangeRecord modifying the registration for broker {0}:"
    " BrokerRegistrationChangeRecord(brokerId={0}, brokerEpoch={1}, fenced={2},"
    " inControlledShutdown=0, logDirs=[])"
)
_CREATED = (
    "Replayed PartitionRecord for new partition t-0 with topic ID id-t and PartitionRegistration("
    "replicas=[1, 2, 3], directories=[a, b, c], isr=[1, 2, 3], removingReplicas=[],"
    " addingReplicas=[], elr=[], lastKnownElr=[], leader=1, leaderRecoveryState=RECOVERED,"
    " leaderEpoch=0, partitionEpoch=0)."
)


def _controller(node: int, *lines: str) -> str:
    entries = (line.partition(" ") for line in lines)
    return "\n".join(f"{at} [QuorumController id={node}] {text}" for at, _, text in entries)


def test_a_hung_active_controller_fences_nobody(tmp_path: Path) -> None:
    """It wakes up, appends fences, and learns that another one leads: none of it was committed."""
    common = (
        f"00:00:02,000 {_REGISTERED.format(1, 11)}",
        f"00:00:02,100 {_REGISTERED.format(3, 13)}",
        f"00:00:03,000 {_CHANGED.format(1, 11, -1)}",
        f"00:00:03,100 {_CHANGED.format(3, 13, -1)}",
        f"00:00:04,000 {_CREATED}",
    )
    history = history_of(
        tmp_path,
        {
            "controller-12/controller.log": _controller(
                12,
                "00:00:01,000 Becoming the active controller at epoch 1, next write offset 1.",
                *common,
                "00:00:38,000 Fencing broker 3 at epoch 13 because its session has timed out.",
                "00:00:38,001 handleBrokerFenced: changing 1 partition(s)",
                f"00:00:38,002 {_CHANGED.format(3, 13, 1)}",
                "00:00:38,042 Renouncing the leadership due to a metadata log event. We were the"
                " leader at epoch 1, but in the new epoch 2, the leader is 10. Reverting to last"
                " stable offset 51.",
            ),
            "controller-10/controller.log": _controller(
                10,
                *common,
                "00:00:31,000 Becoming the active controller at epoch 2, next write offset 52.",
            ),
        },
    )
    assert [(each.broker, each.state) for each in history.brokers] == [
        *((1, FENCED), (3, FENCED)),
        *((1, ACTIVE), (3, ACTIVE)),
    ]
    assert [(each.node, each.epoch) for each in history.controllers] == [(12, 1), (10, 2)]


def test_a_fence_that_another_controller_has_replayed_has_happened(tmp_path: Path) -> None:
    told = (
        f"00:00:02,000 {_REGISTERED.format(3, 13)}",
        f"00:00:09,000 {_CHANGED.format(3, 13, 1)}",
    )
    history = history_of(
        tmp_path,
        {
            "controller-12/controller.log": _controller(
                12,
                "00:00:01,000 Becoming the active controller at epoch 1, next write offset 1.",
                told[0],
                f"00:00:03,000 {_CHANGED.format(3, 13, -1)}",
                told[1],
                "00:00:10,000 Renouncing the leadership due to a metadata log event. We were the"
                " leader at epoch 1, but in the new epoch 2, the leader is 10. Reverting to last"
                " stable offset 51.",
            ),
            "controller-10/controller.log": _controller(
                10, told[0], f"00:00:03,001 {_CHANGED.format(3, 13, -1)}", told[1]
            ),
        },
    )
    assert [each.state for each in history.brokers] == [FENCED, ACTIVE, FENCED]


def test_a_controller_that_starts_again_replays_what_is_known(tmp_path: Path) -> None:
    replayed = (_REGISTERED.format(1, 11), _CHANGED.format(1, 11, -1), _CHANGED.format(1, 11, 1))
    history = history_of(
        tmp_path,
        {
            "controller-10/controller.log": _controller(
                10,
                *(f"00:00:0{at},000 {text}" for at, text in enumerate(replayed, 2)),
                *(f"00:01:00,{at}00 {text}" for at, text in enumerate(replayed, 2)),
                f"00:01:05,000 {_CHANGED.format(1, 11, -1)}",
            ),
            "controller-10/server.log": "\n".join(
                f"{at} [ControllerServer id=10] Starting controller (kafka.server.ControllerServer)"
                for at in ("00:00:01,000", "00:00:59,000")
            ),
        },
    )
    assert [each.state for each in history.brokers] == [FENCED, ACTIVE, FENCED, ACTIVE]


_LEADER_AND_ISR = "LeaderAndIsr(leader={}, leaderEpoch={}, isr=List({}), zkVersion={})"


def _zookeeper(tmp_path: Path, controller: str, leader: str = "") -> list[tuple[object, ...]]:
    return [row[1:] for row in states_in(_history_with_zookeeper(tmp_path, controller, leader))]


def _history_with_zookeeper(tmp_path: Path, controller: str, leader: str = "") -> RealHistory:
    created = _LEADER_AND_ISR.format(1, 0, "1, 2, 3", 0)
    return history_of(
        tmp_path,
        {
            "broker-3/state-change.log": "00:00:01,000 [Controller id=3 epoch=1] Changed partition"
            f" t-0 from NewPartition to OnlinePartition with state {created}\n{controller}",
            "broker-1/server.log": "00:00:00,500 [KafkaServer id=1] started (kafka.X)\n" + leader,
        },
    )


def test_a_shrink_that_is_refused_is_announced_and_no_state(tmp_path: Path) -> None:
    """A leader that was hung wants to shrink; the controller knows no such broker any more."""
    shrinking = (
        "{} [Partition t-0 broker=1] Shrinking ISR from 1,2,3 to 1. Leader:"
        " (highWatermark: 5, endOffset: 9). Out of sync replicas: (brokerId: 2, endOffset: 5)."
    )
    history = _history_with_zookeeper(
        tmp_path,
        "00:00:09,000 [Controller id=3 epoch=1] Changed partition t-0 from OfflinePartition to"
        f" OnlinePartition with state {_LEADER_AND_ISR.format(2, 1, '2, 3', 1)}",
        "\n".join(shrinking.format(at) for at in ("00:00:20,768", "00:00:25,768")),
    )
    assert [row[1:] for row in states_in(history)] == [(0, 1, 0, (1, 2, 3)), (1, 2, 1, (2, 3))]
    (announced,) = history.partitions[0].announced
    assert (announced.leader, announced.isr) == (1, (1,))


def test_a_shrink_that_was_made_is_told_by_the_line_after_it(tmp_path: Path) -> None:
    states = _zookeeper(
        tmp_path,
        "",
        "00:00:20,768 [Partition t-0 broker=1] Shrinking ISR from 1,2,3 to 1,2. Leader:"
        " (highWatermark: 5, endOffset: 9). Out of sync replicas: (brokerId: 3, endOffset: 5).\n"
        "00:00:20,770 [Partition t-0 broker=1] ISR updated to [1,2] and zkVersion updated to [1]",
    )
    assert states == [(0, 1, 0, (1, 2, 3)), (1, 1, 0, (1, 2))]


def test_a_replica_that_is_out_already_is_not_removed_again(tmp_path: Path) -> None:
    """The controller says so though it has written nothing: the epoch is one of before."""
    removed = (
        "{} [Controller id=3 epoch=1] Partition t-0 state changed to (Leader:2,ISR:2,3,"
        "LeaderEpoch:{},ControllerEpoch:1) after removing replica 1 from the ISR as"
        " part of transition to"
        " OfflineReplica"
    )
    elected = (
        "00:00:09,000 [Controller id=3 epoch=1] Changed partition t-0 from OfflinePartition to"
        f" OnlinePartition with state {_LEADER_AND_ISR.format(2, 1, '2, 3', 1)}"
    )
    restated = _zookeeper(tmp_path / "a", f"{elected}\n{removed.format('00:00:09,040', 1)}")
    assert restated == [(0, 1, 0, (1, 2, 3)), (1, 2, 1, (2, 3))]
    written = _zookeeper(tmp_path / "b", f"{elected}\n{removed.format('00:00:09,040', 2)}")
    assert written == [*restated, (2, 2, 2, (2, 3))]


def test_the_controllers_writes_fill_the_versions_that_no_leader_has_written(
    tmp_path: Path,
) -> None:
    """Kafka 2.6 does not log the version of a state from which a replica was removed."""
    removed = (
        "{} [Controller id=3 epoch=1] Partition t-0 state changed to (Leader:1,ISR:{},"
        "LeaderEpoch:{},ControllerEpoch:1) after removing replica 3 from the ISR as"
        " part of transition to"
        " OfflineReplica"
    )
    states = _zookeeper(
        tmp_path,
        "\n".join(
            (
                removed.format("00:00:05,000", "1,2", 1),
                removed.format("00:00:09,000", "1,2", 2),
                removed.format("00:00:13,000", "1,2", 3),
            )
        ),
        "\n".join(
            f"{at} [Partition t-0 broker=1] ISR updated to [1,2,3] and zkVersion updated to"
            f" [{version}]"
            for at, version in (("00:00:07,000", 2), ("00:00:11,000", 4))
        ),
    )
    assert [(version, epoch, isr) for version, _, epoch, isr in states] == [
        (0, 0, (1, 2, 3)),
        (1, 1, (1, 2)),
        (2, 1, (1, 2, 3)),
        (3, 2, (1, 2)),
        (4, 2, (1, 2, 3)),
        (5, 3, (1, 2)),
    ]


def test_a_role_that_is_stated_again_after_a_restart_adds_no_state(tmp_path: Path) -> None:
    follows = (
        "{} [Broker id=2] Follower t-0 starts at leader epoch 0 from offset 5 with partition"
        " epoch 0 and high watermark 5. Current leader is 1. Previous leader Some(1)"
        " and previous leader"
        " epoch was 0."
    )
    history = history_of(
        tmp_path,
        {
            "controller-10/controller.log": _controller(10, f"00:00:01,000 {_CREATED}"),
            "broker-2/state-change.log": "\n".join(
                follows.format(at) for at in ("00:00:01,100", "00:00:40,000")
            ),
        },
    )
    assert states_in(history) == [("t-0", 0, 1, 0, (1, 2, 3))]


def test_a_broker_whose_session_expired_registers_again_in_the_same_life(tmp_path: Path) -> None:
    registered = (
        "Registered broker 3 at path /brokers/ids/3 with addresses: x, czxid (broker epoch):"
    )
    history = history_of(
        tmp_path,
        {
            "broker-3/server.log": "00:00:01,000 starting (kafka.server.KafkaServer)\n"
            f"00:00:02,000 {registered} 44 (kafka.zk.KafkaZkClient)\n"
            "00:00:02,500 [KafkaServer id=3] started (kafka.server.KafkaServer)\n"
            "00:00:30,000 [ZooKeeperClient Kafka server] Session expired."
            " (kafka.zookeeper.ZooKeeperClient)\n"
            f"00:00:30,200 {registered} 91 (kafka.zk.KafkaZkClient)",
            "broker-1/controller.log": "00:00:02,010 [Controller id=1] Newly added brokers: 3,"
            " deleted brokers: , bounced brokers: , all live brokers: 1,3\n"
            "00:00:20,000 [Controller id=1] Newly added brokers: , deleted brokers: 3, bounced"
            " brokers: , all live brokers: 1\n"
            "00:00:30,210 [Controller id=1] Newly added brokers: 3, deleted brokers: , bounced"
            " brokers: , all live brokers: 1,3",
        },
    )
    assert [(each.state, each.broker_epoch) for each in history.brokers if each.broker == 3] == [
        (ACTIVE, 44),
        (ABSENT, 44),
        (ACTIVE, 91),
    ]
    (life,) = history.lives
    assert life.end_ms is None
