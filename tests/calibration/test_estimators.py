"""Estimators against logs of real brokers, and against lines of larger clusters.

The lines of larger clusters have the form of those in ``tests/data/real_logs``, with more logs and
partitions than those clusters had. Samples are in milliseconds here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tidegauge.real_cluster.costs.calibration import (
    ESTIMATORS,
    MARKERS,
    UNTOLD,
    Fitted,
    Unfitted,
    calibrate,
    quantile,
    written_us,
)
from tidegauge.real_cluster.costs.estimator import chosen, read_cluster_logs
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode
from tidegauge.scenario.model.costs import Costs, costs_of_other_modes

REAL_LOGS = Path(__file__).parents[1] / "data" / "real_logs"
RANDOM = "zk-2.6.3-rand312"
LEADER_KILL = "zk-2.6.3-b1_leader_kill"
KRAFT_STOP = "kraft-4.1.0-c1_term_leader"
KRAFT_KILL = "kraft-4.1.0-b1_leader_kill"

START = "INFO Registered kafka:type=kafka.Log4jController MBean (kafka.utils.Log4jController$)"
#: Where a file of lines belongs.
SERVER, CONTROLLER, STATES = "server.log", "controller.log", "state-change.log"


def samples_ms(folder: Path, cost: str, mode: Mode) -> list[float]:
    """The samples of a parameter that count, in ascending order."""
    logs = read_cluster_logs(folder, MARKERS)
    (estimator,) = (each for each in ESTIMATORS if each.cost == cost and each.mode in (None, mode))
    return sorted(sample.value_us / 1000 for sample in chosen(estimator.samples(logs)))


@pytest.mark.parametrize(
    ("run", "cost", "expected"),
    [
        # 23:52:58,662 "Controlled shutdown succeeded" to 23:53:02,279 "shut down completed".
        (RANDOM, "broker_stop", [3617]),
        # Brokers that start alone: 1 three times, 3 once; 23:53:11,235 to 23:53:11,445 and others.
        (RANDOM, "broker_ready", [210, 303, 571, 786]),
        # Broker 2 takes over from 1, which stops.
        (RANDOM, "zookeeper_read", [2, 2]),
        # 23:46:51,765 "deleted brokers: 1" to 23:46:51,822, less the median write of 7 ms.
        (LEADER_KILL, "controller_event", [50]),
        # 23:47:01,451 "Expanding ISR" to 23:47:01,464 "ISR updated", and so on.
        (LEADER_KILL, "zookeeper_write", [6, 7, 13]),
        (KRAFT_STOP, "broker_stop_interrupting", [555]),
        (KRAFT_STOP, "broker_stop_request", [561]),
        (KRAFT_STOP, "broker_start", [3757]),
        # 23:45:27,978 "Starting broker" to 23:45:32,278 "is now STARTING", less 100 ms.
        (KRAFT_STOP, "broker_registration", [4200]),
        # 23:45:32,439 "Successfully registered" to 23:45:33,371 "has been unfenced".
        (KRAFT_STOP, "metadata_first_publication", [932]),
    ],
)
def test_samples_of_real_logs(run: str, cost: str, expected: list[float]) -> None:
    mode: Mode = KRAFT_MODE if run.startswith("kraft") else ZOOKEEPER_MODE
    assert samples_ms(REAL_LOGS / run, cost, mode) == expected


def test_times_of_elections_are_those_of_requests_about_known_partitions() -> None:
    """The first choice: no partition of them was new."""
    elected = samples_ms(REAL_LOGS / RANDOM, "become_leader", ZOOKEEPER_MODE)
    assert len(elected) == 6
    assert 1 < elected[0] < elected[-1] < 20


Written = Callable[[dict[str, Iterable[str]]], Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes the logs of broker 1, lines with times in milliseconds before them."""

    def write(files: dict[str, Iterable[str]]) -> Path:
        folder = tmp_path / "logs" / "broker-1"
        folder.mkdir(parents=True)
        (folder / "server.properties").write_text("broker.id=1\n")
        for name, lines in files.items():
            (folder / name).write_text("".join(map(_line, lines)))
        return folder.parent

    return write


def _line(timed: str) -> str:
    """``1234 INFO message`` as a line of a log."""
    match = re.fullmatch(r"(\d+) (\w+ .*)", timed)
    assert match is not None, timed
    time_ms = int(match[1])
    return f"[2026-11-24 10:00:{time_ms // 1000:02d},{time_ms % 1000:03d}] {match[2]}\n"


def _start(*lines: str) -> list[str]:
    registered = "INFO Registered broker 1 at path /brokers/ids/1 with addresses: x"
    return [f"0 {START}", *lines, f"9000 {registered} (kafka.zk.KafkaZkClient)"]


@pytest.mark.parametrize(
    ("before", "cost", "other"),
    [
        ("Skipping recovery for all logs in /d since clean shutdown file was found", 0, 1),
        ("Recovering 2000 logs from /d since no clean shutdown file was found", 1, 0),
        ("Attempting recovery for all logs in /d since no clean shutdown file was found", 1, 0),
    ],
)
def test_many_logs_have_a_cost_of_their_own(
    written: Written, before: str, cost: int, other: int
) -> None:
    folder = written(
        {
            SERVER: _start(
                f"1000 INFO {before} (kafka.log.LogManager)",
                "5000 INFO Loaded 2000 logs in 4000ms. (kafka.log.LogManager)",
            )
        }
    )
    names = ("log_load", "log_recovery")
    assert samples_ms(folder, names[cost], ZOOKEEPER_MODE) == [2]
    assert samples_ms(folder, names[other], ZOOKEEPER_MODE) == []
    assert samples_ms(folder, "broker_start", ZOOKEEPER_MODE) == [5000]


def test_few_logs_are_a_part_of_the_start(written: Written) -> None:
    loaded = "5000 INFO Loaded 4 logs in 4000ms. (kafka.log.LogManager)"
    folder = written({SERVER: _start(loaded)})
    assert samples_ms(folder, "log_load", ZOOKEEPER_MODE) == []
    assert samples_ms(folder, "broker_start", ZOOKEEPER_MODE) == [9000]


@pytest.mark.parametrize(
    "line",
    [
        (
            "[GroupMetadataManager brokerId=1] Finished loading offsets and group metadata from "
            "__consumer_offsets-12 in 7 milliseconds for epoch 3, of which 1 milliseconds "
            "was spent in "
            "the scheduler. (kafka.coordinator.group.GroupMetadataManager)"
        ),
        (
            "[GroupMetadataManager brokerId=1] Finished loading offsets and group metadata from "
            "__consumer_offsets-12 in 7 milliseconds. "
            "(kafka.coordinator.group.GroupMetadataManager)"
        ),
        (
            "[GroupCoordinator id=1] Finished loading of metadata from __consumer_offsets-12 "
            "with epoch "
            "3 in 7ms where 1ms was spent in the scheduler. Loaded 9 records which total to "
            "900 bytes. "
            "(org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)"
        ),
    ],
)
def test_the_loading_of_offsets_is_told_by_every_release(written: Written, line: str) -> None:
    """GroupMetadataManager@2.4.0 and @2.6.0, CoordinatorRuntime@4.1.0."""
    folder = written({SERVER: [f"10 INFO {line}"]})
    assert samples_ms(folder, "offsets_load", ZOOKEEPER_MODE) == [7]


def _request(begin_ms: int, partitions: int, epoch: int) -> list[str]:
    """A LeaderAndIsr request in which each partition takes 2 ms."""
    return [
        (
            f"{begin_ms} INFO [Broker id=1] Handling LeaderAndIsr request correlationId 1 from "
            f"controller 2 for {partitions} partitions (state.change.logger)"
        ),
        *(
            f"{begin_ms + 2 * (each + 1)} INFO [Broker id=1] Leader t-{each} starts at leader "
            f"epoch "
            f"{epoch} from offset 0 with high watermark 0 ISR [1,2] addingReplicas [] "
            "removingReplicas []. Previous leader epoch was 0. (state.change.logger)"
            for each in range(partitions)
        ),
    ]


def test_requests_about_many_partitions_count_before_those_about_few(written: Written) -> None:
    few = [
        (
            "100 INFO [Broker id=1] Handling LeaderAndIsr request correlationId 1 from "
            "controller 2 for "
            "1 partitions (state.change.logger)"
        ),
        (
            "150 INFO [Broker id=1] Leader t-0 starts at leader epoch 1 from offset 0 with high "
            "watermark 0 ISR [1] addingReplicas [] removingReplicas []. Previous leader "
            "epoch was 0. "
            "(state.change.logger)"
        ),
    ]
    folder = written({STATES: [*few, *_request(1000, 200, epoch=1)]})
    assert samples_ms(folder, "become_leader", ZOOKEEPER_MODE) == [2]


def test_new_partitions_count_only_where_there_are_no_others(written: Written) -> None:
    folder = written({STATES: [*_request(1000, 3, epoch=0), *_request(2000, 3, epoch=0)]})
    assert samples_ms(folder, "become_leader", ZOOKEEPER_MODE) == [2, 2]


def test_a_request_at_trace_level_is_told_by_its_transitions(written: Written) -> None:
    """The default level up to 2.5."""
    request = "LeaderAndIsr request correlationId 2 from controller 3 epoch 1"
    become = "the become-follower transition for partition"
    folder = written(
        {
            STATES: [
                *(
                    f"100 TRACE [Broker id=1] Handling {request} starting {become} t-{each} with "
                    "leader 2 (state.change.logger)"
                    for each in range(2)
                ),
                *(
                    f"{104 + each} TRACE [Broker id=1] Completed {request} for {become} t-{each} "
                    "with leader 2 (state.change.logger)"
                    for each in range(2)
                ),
            ]
        }
    )
    assert samples_ms(folder, "become_follower", ZOOKEEPER_MODE) == [2.5]


@pytest.mark.parametrize(("partitions", "expected"), [(2000, [0.1]), (4, [])])
def test_a_takeover_tells_the_cost_of_a_partition_if_it_has_many(
    written: Written, partitions: int, expected: list[float]
) -> None:
    states = ", ".join(f"t-{each} -> OnlinePartition" for each in range(partitions))
    controller = "(kafka.controller.KafkaController)"
    folder = written(
        {
            SERVER: [f"0 {START}", "10 INFO [KafkaServer id=1] started (kafka.server.KafkaServer)"],
            CONTROLLER: [
                (
                    "1000 INFO [Controller id=1] 1 successfully elected as the controller. Epoch "
                    f"incremented to 2 and epoch zk version is now 2 {controller}"
                ),
                (
                    "1150 DEBUG [PartitionStateMachine controllerId=1] Started partition state "
                    "machine "
                    f"with initial state -> HashMap({states}) {controller}"
                ),
                (
                    "1200 INFO [Controller id=1] Ready to serve as the new controller with epoch "
                    f"2 {controller}"
                ),
            ],
        }
    )
    found = samples_ms(folder, "controller_failover_partition", ZOOKEEPER_MODE)
    assert found == pytest.approx(expected)


def test_a_change_of_an_isr_is_told_by_its_end_and_no_other(written: Written) -> None:
    """In KRaft mode the end of a change may have no line; the next one has another ISR."""
    lines = [
        (
            "100 INFO [Partition t-0 broker=1] Shrinking ISR from 1,2,3 to 1,2. Leader: "
            "(highWatermark:"
            " 4, endOffset: 5). Out of sync replicas: (brokerId: 3, endOffset: 4). "
            "(kafka.Partition)"
        ),
        "3000 INFO [Partition t-0 broker=1] ISR updated to 1,2,3  and version updated to 6 (kafka)",
        (
            "4000 INFO [Partition t-0 broker=1] Shrinking ISR from 1,2,3 to 2,1. Leader: "
            "(highWatermark"
            ": 4, endOffset: 5). Out of sync replicas: (brokerId: 3, endOffset: 4). "
            "(kafka.Partition)"
        ),
        (
            "4001 INFO [Partition t-1 broker=1] Shrinking ISR from 1,2,3 to 1,2. Leader: "
            "(highWatermark"
            ": 4, endOffset: 5). Out of sync replicas: (brokerId: 3, endOffset: 4). "
            "(kafka.Partition)"
        ),
        "4045 INFO [Partition t-0 broker=1] ISR updated to 1,2  and version updated to 7 (kafka)",
        "4090 INFO [Partition t-1 broker=1] ISR updated to 1,2  and version updated to 7 (kafka)",
    ]
    folder = written({SERVER: lines})
    # The second change has waited for the first: a broker has one request in flight.
    assert samples_ms(folder, "metadata_fsync", KRAFT_MODE) == [20]


@pytest.mark.parametrize(("begin_ms", "expected"), [(1085, [60]), (2585, [])])
def test_a_publication_belongs_to_the_change_just_before_it(
    written: Written, begin_ms: int, expected: list[float]
) -> None:
    """A preferred election has no line of the controller, and a paused broker publishes late."""
    states, moves = "(state.change.logger)", "[Broker id=1] Transitioning 1 partition(s) to local"
    partition = (
        "with topic id Some(I) starts at leader epoch 1 from offset 5 with partition epoch 1"
    )
    folder = written(
        {
            CONTROLLER: [
                "1000 INFO [QuorumController id=10] handleBrokerFenced: changing 2 partition(s) (c)"
            ],
            STATES: [
                f"{begin_ms - 2} INFO {moves} leaders. {states}",
                f"{begin_ms} INFO [Broker id=1] Leader t-0 {partition} {states}",
                f"{begin_ms + 1} INFO {moves} followers. {states}",
                f"{begin_ms + 3} INFO [Broker id=1] Follower t-1 starts at leader epoch 1 {states}",
            ],
        }
    )
    assert samples_ms(folder, "metadata_publication", KRAFT_MODE) == expected
    assert samples_ms(folder, "metadata_publication_partition", KRAFT_MODE) == [3]


@pytest.mark.parametrize("mode", [ZOOKEEPER_MODE, KRAFT_MODE])
def test_every_parameter_is_fitted_or_has_a_reason(mode: Mode) -> None:
    run = KRAFT_KILL if mode == KRAFT_MODE else RANDOM
    calibration = calibrate(mode, [read_cluster_logs(REAL_LOGS / run, MARKERS)])
    fitted = {each.field for each in calibration.fitted}
    unfitted = {each.field for each in calibration.unfitted}
    assert fitted.isdisjoint(unfitted)
    assert fitted | unfitted == Costs.model_fields.keys() - set(costs_of_other_modes(mode))
    assert all(each.reason for each in calibration.unfitted)


def test_no_estimator_is_of_a_parameter_that_nothing_tells() -> None:
    assert {each.cost for each in ESTIMATORS} <= Costs.model_fields.keys()
    assert {each.cost for each in ESTIMATORS}.isdisjoint(UNTOLD)
    for mode in (ZOOKEEPER_MODE, KRAFT_MODE):
        costs = [each.cost for each in ESTIMATORS if each.mode in (None, mode)]
        assert len(costs) == len(set(costs))
        assert set(costs).isdisjoint(costs_of_other_modes(mode))


def test_what_logs_tell_counts_before_what_metrics_tell() -> None:
    measured: list[Fitted | Unfitted] = [
        Fitted("costs", "become_leader", "7s", 1, ["metric"], "a metric"),
        Fitted("costs", "request", "1ms", 1, ["metric"], "a metric"),
    ]
    logs = read_cluster_logs(REAL_LOGS / RANDOM, MARKERS)
    parts = calibrate(ZOOKEEPER_MODE, [logs], measured).parts()
    assert parts["costs"]["request"] == "1ms"
    assert parts["costs"]["become_leader"]["max"] == "19ms"


def test_logs_of_several_clusters_are_one_sample() -> None:
    folders = [REAL_LOGS / RANDOM, REAL_LOGS / "zk-2.6.3-c1_term_leader"]
    logs = [read_cluster_logs(folder, MARKERS) for folder in folders]
    fitted = {each.field: each for each in calibrate(ZOOKEEPER_MODE, logs).fitted}
    assert fitted["broker_stop"].samples == 2
    assert fitted["broker_stop"].value["min"] == "3.36s"  # type: ignore[index]
    assert fitted["broker_stop"].value["max"] == "3.62s"  # type: ignore[index]


def test_quantiles_are_linear_between_samples() -> None:
    values = [10, 20, 40]
    assert [quantile(values, share) for share in (0, 25, 50, 75, 100)] == [10, 15, 20, 30, 40]
    assert quantile([7], 99) == 7


def test_durations_are_written_with_three_digits() -> None:
    written = [written_us(value_us) for value_us in (0, 7, 999, 1234, 99_949, 1_969_999)]
    assert written == ["1us", "7us", "999us", "1.23ms", "99.9ms", "1.97s"]
