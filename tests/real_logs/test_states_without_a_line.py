"""States that lines leave open: what Kafka's rules tell of them, and no more than that."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from real_clusters import history_of, states_in
from tidegauge.real_cluster.logs.logged_cluster import logged_cluster
from tidegauge.real_cluster.logs.real_history import RealHistory
from tidegauge.real_cluster.logs.run_rows import rows_of
from tidegauge.simulation.trace_rows.schema import ROW_KINDS

_FEATURES = (
    "00:00:00,600 [ControllerServer id=10] Loaded new metadata FinalizedFeatures[metadataVersion="
    "4.1-IV1, finalizedFeatures={{group.version=1, metadata.version=27{}}},"
    " finalizedFeaturesEpoch=7]."
)
_WITH_ELR = ", eligible.leader.replicas.version=1"
_REGISTERED = (
    "00:00:01,000 [QuorumController id=10] Replayed initial RegisterBrokerRecord for broker {0}:"
    " RegisterBrokerRecord(brokerId={0}, isMigratingZkBroker=false, incarnationId=inc-{0},"
    " brokerEpoch={0}, endPoints=[], features=[], rack=null, fenced=false,"
    " inControlledShutdown=false, logDirs=[])"
)
_FENCED = (
    "{1} [QuorumController id=10] Replayed BrokerRegistrationChangeRecord modifying the"
    " registration for broker {0}: BrokerRegistrationChangeRecord(brokerId={0}, brokerEpoch={0},"
    " fenced=1, inControlledShutdown=0, logDirs=[])"
)
_LEADS = (
    "{} [Broker id={}] Leader t-0 with topic id Some(x) starts at leader epoch {} from offset 0"
    " with partition epoch {}, high watermark 0, ISR [{}], adding replicas [] and removing"
    " replicas [] . Previous leader None and previous leader epoch was -1."
)
_FOLLOWS = (
    "{} [Broker id={}] Follower t-0 starts at leader epoch {} from offset 0 with partition epoch"
    " {} and high watermark 0. Current leader is {}. Previous leader Some(1) and previous leader"
    " epoch was 0."
)


def _history(
    tmp_path: Path, release: str, features: str, fences: list[str], brokers: dict[int, list[str]]
) -> RealHistory:
    head = f"00:00:00,500 Kafka version: {release} (kafka.X)"
    registered = [_REGISTERED.format(broker) for broker in (1, 2, 3)]
    active = "00:00:00,550 [QuorumController id=10] Becoming the active controller at epoch 1, next"
    controller = [head, active, *filter(None, [features]), *registered, *fences]
    files = {"controller-10/controller.log": "\n".join(controller)}
    for broker, lines in brokers.items():
        files[f"broker-{broker}/state-change.log"] = "\n".join(lines)
    return history_of(tmp_path, files)


@pytest.mark.parametrize(
    ("release", "features", "isr"),
    [
        ("3.9.0", "", (1,)),
        ("4.1.0", _FEATURES.format(_WITH_ELR), ()),
        ("4.1.0", _FEATURES.format(""), (1,)),
        # No line has the feature: a new cluster of 4.1 has it, and one of 4.0 has not.
        ("4.1.0", "", ()),
        ("4.0.0", "", (1,)),
    ],
)
def test_the_last_member_stays_in_the_isr_unless_it_is_an_eligible_leader(
    tmp_path: Path, release: str, features: str, isr: tuple[int, ...]
) -> None:
    """KIP-966. Only a follower that comes back logs the state, and it does not know the ISR."""
    brokers = {
        1: [_LEADS.format("00:00:05,000", 1, 0, 4, "1")],
        2: [_FOLLOWS.format("00:01:00,000", 2, 1, 5, -1)],
    }
    history = _history(tmp_path, release, features, [], brokers)
    assert states_in(history) == [("t-0", 4, 1, 0, (1,)), ("t-0", 5, -1, 1, isr)]
    assert [state.is_isr_logged for state in history.partitions[0].states] == [True, False]
    is_open = release != "3.9.0" and not features
    assert any("eligible leader replicas" in notice for notice in history.notices) == is_open


@pytest.mark.parametrize(
    ("leader_epoch", "version", "last"),
    [
        # Broker 1 led until the end: broker 2 had left before.
        (1, 2, (1,)),
        # Broker 2 led last: it was the only one left.
        (2, 2, (2,)),
    ],
)
def test_without_eligible_leaders_the_leader_epoch_tells_the_last_member(
    tmp_path: Path, leader_epoch: int, version: int, last: tuple[int, ...]
) -> None:
    brokers = {
        1: [_LEADS.format("00:00:05,000", 1, 0, 0, "1,2")],
        2: [_FOLLOWS.format("00:01:00,300", 2, leader_epoch, version, -1)],
    }
    history = _history(tmp_path, "3.9.0", "", [], brokers)
    assert states_in(history) == [
        ("t-0", 0, 1, 0, (1, 2)),
        ("t-0", version, -1, leader_epoch, last),
    ]
    assert not history.partitions[0].states[1].is_isr_assumed


def test_an_isr_of_a_partition_without_a_leader_shows_the_feature(tmp_path: Path) -> None:
    """A cluster that was upgraded to 4.1 has no eligible leaders, and here no line of them."""
    stated = (
        "00:00:50,000 [Broker id=3] Skipped the become-follower state change for u-0 with topic id"
        " Some(x) and partition state LeaderAndIsrPartitionState(topicName='u', partitionIndex=0,"
        " controllerEpoch=-1, leader=-1, leaderEpoch=7, isr=[{}], partitionEpoch=9,"
        " replicas=[1, 3], addingReplicas=[], removingReplicas=[], isNew=false,"
        " leaderRecoveryState=0) since it is already a follower with leader epoch 7."
    )
    for shown, isr in (("1", (1,)), ("", ())):
        brokers = {
            1: [_LEADS.format("00:00:05,000", 1, 0, 4, "1")],
            3: [stated.format(shown), _FOLLOWS.format("00:01:00,000", 3, 1, 5, -1)],
        }
        history = _history(tmp_path / (shown or "none"), "4.1.0", "", [], brokers)
        assert states_in(history)[1] == ("t-0", 5, -1, 1, isr)
        assert history.notices == []


@pytest.mark.parametrize("features", [_FEATURES.format(_WITH_ELR), _FEATURES.format("")])
def test_fences_tell_the_states_that_nobody_was_left_to_log(tmp_path: Path, features: str) -> None:
    """All brokers are killed; the fence of each makes a change of its own."""
    fences = [
        _FENCED.format(broker, at)
        for broker, at in ((3, "00:00:20,000"), (1, "00:00:21,000"), (2, "00:00:22,000"))
    ]
    brokers = {
        1: [_LEADS.format("00:00:05,000", 1, 0, 0, "1,2,3")],
        3: [_FOLLOWS.format("00:01:00,000", 3, 2, 3, -1)],
    }
    history = _history(tmp_path, "4.1.0", features, fences, brokers)
    assert states_in(history) == [
        ("t-0", 0, 1, 0, (1, 2, 3)),
        ("t-0", 1, 1, 0, (1, 2)),
        ("t-0", 2, 2, 1, (2,)),
        ("t-0", 3, -1, 2, () if _WITH_ELR in features else (2,)),
    ]
    times = [state.time_ms - history.first_ms for state in history.partitions[0].states]
    assert times == [4_500, 19_500, 20_500, 21_500]


def test_an_unclean_election_needs_all_members_of_the_isr(tmp_path: Path) -> None:
    """Between partition epochs 4 and 6 the new leader may have joined the ISR."""
    for version, is_unclean in ((5, True), (6, False)):
        brokers = {
            1: [_LEADS.format("00:00:05,000", 1, 0, 4, "1")],
            2: [_LEADS.format("00:01:00,000", 2, 1, version, "2")],
        }
        history = _history(tmp_path / str(version), "3.9.0", "", [], brokers)
        assert [state.unclean for state in history.partitions[0].states] == [False, is_unclean]


def test_an_eligible_leader_is_elected_cleanly(tmp_path: Path) -> None:
    """KIP-966: it is no member of the ISR; only the controller's line calls an election unclean."""
    brokers = {
        1: [_LEADS.format("00:00:05,000", 1, 0, 4, "1")],
        2: [_LEADS.format("00:01:00,000", 2, 1, 5, "2")],
    }
    history = _history(tmp_path, "4.1.0", _FEATURES.format(_WITH_ELR), [], brokers)
    assert not any(state.unclean for state in history.partitions[0].states)


def test_an_assumed_isr_is_no_event(tmp_path: Path) -> None:
    """Broker 2 leads, and no line tells why: broker 1 may have died, or given the lead back."""
    brokers = {
        1: [_LEADS.format("00:00:05,000", 1, 0, 0, "1,2,3")],
        3: [_FOLLOWS.format("00:01:00,000", 3, 1, 1, 2)],
    }
    history = _history(tmp_path, "3.9.0", "", [], brokers)
    rows = rows_of(history, logged_cluster(history, "mine"))
    kinds = Counter(ROW_KINDS[kind].name for kind in rows["kind"].tolist())
    assert kinds["leader_elected"] == 1
    assert kinds["removed_from_isr"] == 0
    fence = [_FENCED.format(1, "00:00:30,000")]
    history = _history(tmp_path / "fenced", "3.9.0", "", fence, brokers)
    rows = rows_of(history, logged_cluster(history, "mine"))
    kinds = Counter(ROW_KINDS[kind].name for kind in rows["kind"].tolist())
    assert kinds["removed_from_isr"] == 1
    assert states_in(history)[1] == ("t-0", 1, 2, 1, (2, 3))
