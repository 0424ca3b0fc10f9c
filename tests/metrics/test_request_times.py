"""RequestMetrics and SessionExpireListener: times and counts are those of what has happened.

In these clusters a message takes 1 ms, a request 50 us and an append 20 us.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster_snapshots import values_of
from scenario_runs import rows_of
from small_clusters import BROKER_1, BROKER_2, MS, SECOND, cluster_of, network_of, producers_of
from tidegauge.compiled.records import new_records
from tidegauge.engine.simulate import Scrapes, simulate
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.targets import controllers_of
from tidegauge.metrics.snapshots.request_gauges import SERVED_CONTROLLER_TYPES, SERVED_TYPES
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.messages.client_requests import ProduceRequest, ProduceResponse
from tidegauge.simulation.messages.quorum_requests import RaftFetchResponse
from tidegauge.simulation.sampled_stats import BUCKETS, Bucket, bucket_of, middle_ms, quantile_ms
from tidegauge.traces.run_folder import RunFolder

REQUESTS = "kafka_network_requestmetrics_requests_total"
ERRORS = "kafka_network_requestmetrics_errors_total"
PARTS = ("RequestQueue", "Local", "Remote", "ResponseQueue", "ResponseSend")


class Scraped:
    """A run, with the last of its snapshots, of which there is one each second."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.plan = ClusterPlan(scenario)
        self.snapshots: list[Snapshot] = []
        scrapes = Scrapes(SECOND, self.snapshots.append)
        self.run: RunFolder = simulate(scenario, folder, scrapes=scrapes)

    def value(self, name: str, broker: int, second: int = 0, **labels: str) -> float:
        """The value of a series of a broker, at the end or at the end of a second."""
        text = ",".join(f'{label}="{value}"' for label, value in labels.items())
        snapshot = self.snapshots[second - 1]
        return values_of(self.plan, snapshot, name)[broker, text]

    def names(self) -> set[str]:
        """The names of all metrics that have samples at the end."""
        series = Exposition(self.plan).series(self.snapshots[-1])
        return {samples.family.name for samples in series}

    def quantile(self, part: str, request: str, broker: int, of: str = "0.95") -> float:
        """A quantile of a part of the time of a type of requests, in ms."""
        name = f"kafka_network_requestmetrics_{part.lower()}timems"
        return self.value(name, broker, quantile=of, request=request)


def produced(
    folder: Path,
    *faults: Mapping[str, Any],
    acks: int = -1,
    settings: Mapping[str, int] | None = None,
    **parts: Any,
) -> Scraped:
    """Twenty batches a second, from the first second to the fourth, led by broker 1."""
    producers = [producers_of(20, "1s", "4s", acks=acks)]
    consumers = [{"name": "billing", "topics": ["story"], "start": "1s"}]
    parts = {"workload": {"producers": producers, "consumers": consumers}} | parts
    return Scraped(cluster_of(settings, faults=list(faults), **parts), folder)


def slow_disk(broker: int) -> dict[str, Any]:
    return {"kind": "slow_disk", "at": "900ms", "brokers": [broker], "delay": "30ms"}


def test_a_healthy_leader_waits_for_its_followers_only(tmp_path: Path) -> None:
    """acks=all: 2 ms for the followers' next fetch, and 2 ms until the one after that is there."""
    scraped = produced(tmp_path / "run")
    found = {part: scraped.quantile(part, "Produce", BROKER_1) for part in PARTS}
    assert found.pop("Remote") == pytest.approx(2, abs=1)
    assert set(found.values()) == {0}


def test_a_slow_disk_of_the_leader_is_local_time(tmp_path: Path) -> None:
    """A thread holds a request until the append has returned (ReplicaManager.appendRecords)."""
    scraped = produced(tmp_path / "run", slow_disk(1), acks=1)
    assert scraped.quantile("Local", "Produce", BROKER_1, "0.50") == 30
    assert scraped.quantile("Remote", "Produce", BROKER_1) == 0


def test_a_slow_disk_of_a_follower_is_remote_time_at_the_leader(tmp_path: Path) -> None:
    """DelayedProduce waits for every in-sync replica, and its thread does not."""
    scraped = produced(tmp_path / "run", slow_disk(2))
    assert scraped.quantile("Remote", "Produce", BROKER_1, "0.50") >= 30
    assert scraped.quantile("Local", "Produce", BROKER_1) == 0


def test_a_follower_that_is_cut_off_is_remote_time_until_it_is_out_of_the_isr(
    tmp_path: Path,
) -> None:
    """Nobody else is waited for so long: the longest wait is about replica.lag.time.max.ms."""
    cut = {"kind": "cut_link", "at": "2s", "for": "3s", "between": [[1], [2]]}
    settings = {"replica.lag.time.max.ms": 1000, "replica.fetch.wait.max.ms": 500}
    scraped = produced(tmp_path / "run", cut, settings=settings)
    (shrunk,) = (row["time_us"] for row in rows_of(scraped.run, "isr_shrunk", process=BROKER_1))
    longest_ms = scraped.quantile("Remote", "Produce", BROKER_1, "0.999")
    assert longest_ms == pytest.approx((shrunk - 2 * SECOND) / 1000, rel=1 / 16)
    assert longest_ms > 900


def test_requests_queue_up_where_threads_are_few(tmp_path: Path) -> None:
    """num.io.threads: with one thread requests wait for appends of others, with eight for none."""
    producers = [producers_of(60, "1s", "4s", acks=1) | {"clients": 3}]
    waits = [
        produced(
            tmp_path / str(threads),
            slow_disk(1),
            settings={"num.io.threads": threads},
            workload={"producers": producers},
        ).quantile("RequestQueue", "Produce", BROKER_1)
        for threads in (1, 8)
    ]
    assert waits[0] >= 30
    assert waits[1] == 0


def test_the_parts_add_up_to_the_total_time(tmp_path: Path) -> None:
    """Each response comes as long after its request as the parts of its time say, and the links.

    With one request in flight: another one would wait in its socket first, where it has no time.
    """
    settings: dict[str, int | str] = {"max.in.flight.requests.per.connection": 1, "batch.size": 0}
    producers = [producers_of(20, "1s", "4s", acks=-1, **settings)]
    workload = {"producers": producers}
    scraped = produced(tmp_path / "run", slow_disk(1), slow_disk(2), workload=workload)
    snapshot = scraped.snapshots[-1]
    produce = snapshot.requests[SERVED_TYPES.index("Produce")]
    parts_us = sum(int(produce[f"{part}_us"]) for part in ("queue", "local", "remote"))
    sent, answered = (
        rows_of(scraped.run, "message", message_kind=int(kind.KIND))
        for kind in (ProduceRequest, ProduceResponse)
    )
    assert len(sent) == len(answered) == produce["requests"] == 60
    waited_us = sum(
        answer["time_us"] - request["time_us"] - MS
        for request, answer in zip(sent, answered, strict=True)
    )
    assert parts_us == waited_us


def test_fetches_of_consumers_and_of_followers_are_told_apart(tmp_path: Path) -> None:
    """RequestChannel.Metrics: a fetch counts as Fetch, and as one of the two."""
    scraped = produced(tmp_path / "run")
    of = {
        name: scraped.value(REQUESTS, BROKER_1, request=name)
        for name in ("Fetch", "FetchConsumer", "FetchFollower")
    }
    assert of["Fetch"] == of["FetchConsumer"] + of["FetchFollower"]
    assert min(of.values()) > 60
    with pytest.raises(KeyError):
        scraped.value(REQUESTS, BROKER_2, request="FetchConsumer")


def test_a_fetch_without_records_waits_in_the_purgatory(tmp_path: Path) -> None:
    """replica.fetch.wait.max.ms is remote time of an idle partition's fetches."""
    settings = {"replica.fetch.wait.max.ms": 500}
    scraped = produced(tmp_path / "run", settings=settings, workload={})
    waited = scraped.quantile("Remote", "FetchFollower", BROKER_1, "0.50")
    assert waited == pytest.approx(500, rel=1 / 32)
    assert scraped.quantile("Total", "Fetch", BROKER_1, "0.50") == waited


def test_refused_requests_are_counted_by_their_error(tmp_path: Path) -> None:
    """ErrorsPerSec has NONE, too: with the errors it comes to all partitions answered."""
    topics = [
        {
            "name": "story",
            "assignment": {0: [1, 2, 3]},
            "settings": {"min.insync.replicas": 3},
        }
    ]
    crash = {"kind": "crash", "at": "1500ms", "brokers": [3]}
    settings = {"replica.lag.time.max.ms": 1000, "replica.fetch.wait.max.ms": 500}
    settings |= {"zookeeper.session.timeout.ms": 1000}
    scraped = produced(tmp_path / "run", crash, settings=settings, topics=topics)
    answered = rows_of(scraped.run, "produce_answered", process=BROKER_1)
    refused = sum(row["error"] == 19 for row in answered)
    counted = scraped.value(ERRORS, BROKER_1, request="Produce", error="NOT_ENOUGH_REPLICAS")
    assert counted == refused > 10
    fine = scraped.value(ERRORS, BROKER_1, request="Produce", error="NONE")
    assert fine == sum(row["error"] == 0 for row in answered) > 5


def test_a_session_that_expires_is_lost_and_opened_anew(tmp_path: Path) -> None:
    """SessionExpireListener of ZooKeeperClient: SyncConnected, Disconnected, Expired."""
    cut = {"kind": "cut_link", "at": "2s", "for": "3s", "between": [[2], ["zookeeper"]]}
    settings = {"zookeeper.session.timeout.ms": 1500}
    scraped = produced(tmp_path / "run", cut, settings=settings, duration="15s")
    listener = "kafka_server_sessionexpirelistener_zookeeper{}_total"
    counts = {
        broker: [
            scraped.value(listener.format(event), broker)
            for event in ("syncconnects", "disconnects", "expires", "authfailures")
        ]
        for broker in (BROKER_1, BROKER_2)
    }
    assert counts == {BROKER_1: [1, 0, 0, 0], BROKER_2: [2, 1, 1, 0]}
    connected = "tidegauge_zookeeper_session_connected"
    assert scraped.value(connected, BROKER_2) == 1


def test_what_zookeeper_takes_is_the_latency_of_its_client(tmp_path: Path) -> None:
    """ZooKeeperRequestLatencyMs: two messages of 1 ms and the write."""
    costs = {"request": "50us", "append": "20us", "zookeeper_write": "8ms"}
    scraped = produced(tmp_path / "run", costs=costs)
    name = "kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms"
    assert scraped.value(name, BROKER_2, quantile="0.50") == 10


def test_a_restart_begins_to_measure_anew(tmp_path: Path) -> None:
    """Histograms are those of a process, as its counters are."""
    crash = {"kind": "crash", "at": "2500ms", "for": "1s", "brokers": [1]}
    scraped = produced(tmp_path / "run", slow_disk(1), crash, duration="8s")
    before = scraped.snapshots[1].requests[SERVED_TYPES.index("Produce")]["requests"]
    last = scraped.snapshots[-1]
    assert before > 10
    after = last.requests[SERVED_TYPES.index("Produce")]
    assert after["requests"] < before
    types = len(SERVED_TYPES)
    silent = last.requests["requests"][:types] == 0
    assert not last.request_times["p999_ms"].reshape(-1, 4)[:types][silent].any()


def test_a_controller_makes_requests_wait_for_the_commit(tmp_path: Path) -> None:
    """ControllerApis: a registration is answered when its record is committed."""
    costs = {"metadata_append": "2ms", "metadata_fsync": "8ms", "metadata_record": "1us"}
    scenario = scenario_from_mapping(
        {
            "duration": "5s",
            "liveness": False,
            "release": "4.1",
            "trace": "all",
            "cluster": {"brokers": 3},
            "controllers": {"count": 1, "settings": {"controller.quorum.append.linger.ms": 25}},
            "topics": [{"name": "story", "assignment": {0: [1, 2, 3]}}],
            "network": network_of("1ms"),
            "costs": costs,
        },
        "story",
    )
    scraped = Scraped(scenario, tmp_path / "run")
    snapshot = scraped.snapshots[-1]
    requests = dict(zip(SERVED_CONTROLLER_TYPES, snapshot.controller_requests, strict=True))
    assert requests["BrokerRegistration"]["requests"] == 3
    (controller,) = controllers_of(scraped.plan)
    assert scraped.quantile("Remote", "BrokerRegistration", controller, "0.999") == 35
    assert scraped.quantile("Local", "BrokerRegistration", controller, "0.999") == 0
    # A heartbeat that changes nothing waits for nothing; a fetch for the next record.
    assert scraped.quantile("Total", "BrokerHeartbeat", controller, "0.50") <= 35
    assert requests["FetchFollower"] == requests["Fetch"]
    fetched = rows_of(scraped.run, "message", message_kind=int(RaftFetchResponse.KIND))
    assert 0 <= requests["Fetch"]["requests"] - len(fetched) <= 3
    assert "kafka_server_sessionexpirelistener_zookeeperexpires_total" not in scraped.names()


@pytest.mark.parametrize("time_ms", [0, 1, 31, 32, 33, 100, 500, 9_999, 30_000, 300_000])
def test_a_bucket_is_as_exact_as_is_said(time_ms: int) -> None:
    middle = int(middle_ms(bucket_of(1000 * time_ms)))
    assert abs(middle - time_ms) <= time_ms / 32
    if time_ms < 32:
        assert middle == time_ms


def test_quantiles_are_those_of_the_values() -> None:
    buckets = new_records(Bucket, int(BUCKETS))
    values_ms = np.random.default_rng(7).exponential(80, 10_000).round().astype(int)
    for value in values_ms.tolist():
        buckets[int(bucket_of(1000 * value))].weight += 1
    for thousandths in (500, 750, 950, 990, 999):
        exact = np.quantile(values_ms, thousandths / 1000)
        assert quantile_ms(buckets, len(values_ms), thousandths) == pytest.approx(exact, rel=0.05)


def test_times_of_long_ago_fade(tmp_path: Path) -> None:
    """Yammer's decaying sample: after five minutes of another load old values count 1 %."""
    faults = [slow_disk(1) | {"for": "4s"}]
    producers = [producers_of(20, "1s", "400s", acks=1)]
    scraped = produced(
        tmp_path / "run",
        *faults,
        workload={"producers": producers},
        duration="400s",
        trace="transitions",
    )
    name = "kafka_network_requestmetrics_localtimems"
    found = [
        scraped.value(name, BROKER_1, second, quantile="0.98", request="Produce")
        for second in (4, 60, 400)
    ]
    assert found[:2] == [30, 30]
    assert found[2] == 0
