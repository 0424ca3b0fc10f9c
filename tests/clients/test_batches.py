"""The batches of a producer: sends that wait share them, large sends have several.

Kafka's own vectors are in ``tests/data/vectors/accumulator_vectors.json``. Here are a Java client
of 4.1.2 over 800 ms, as it was recorded (``tests/data/real_producer``), and large sends.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import BROKER_1, FIRST_CLIENT, cluster_of, producers_of
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.simulation.messages.client_requests import ProduceRequest, ProduceResponse

DATA = Path(__file__).parents[1] / "data" / "real_producer" / "slow_path.json"
RECORDED: dict[str, Any] = json.loads(DATA.read_text())
#: So long that the wait for the first metadata and the producer's id is less than one send in 100.
SECONDS = 300


@pytest.mark.parametrize(
    "way", RECORDED["ways"], ids=lambda way: f"{way['sends_per_second']}x{way['records_per_send']}"
)
def test_requests_and_latencies_are_those_of_a_real_producer(
    way: dict[str, Any], tmp_path: Path
) -> None:
    """Sends that come while five requests are in flight share the next batch."""
    begin_s = 5
    slow = {"at": "3s", "between": [["client:shop"], [1]], "delay": f"{RECORDED['one_way_ms']}ms"}
    shop = {
        "name": "shop",
        "topics": ["story"],
        "batches_per_second": way["sends_per_second"],
        "records_per_batch": way["records_per_send"],
        "record_bytes": RECORDED["record_bytes"],
        "start": f"{begin_s}s",
        "stop": f"{begin_s + SECONDS}s",
        "settings": {"acks": "all"},
    }
    scenario = scenario_from_mapping(
        {
            "duration": f"{begin_s + SECONDS + 5}s",
            "liveness": False,
            "release": RECORDED["release"],
            "mode": "kraft",
            "trace": "all",
            "cluster": {"brokers": 1},
            "topics": [{"name": "story", "assignment": {0: [1]}}],
            "workload": {"producers": [shop]},
            "faults": [{"kind": "slow_link", **slow}],
        },
        "slow path",
    )
    run = run_of(scenario, tmp_path / "run")
    assert run.summary is not None
    assert run.summary["records_failed"] == way["failed_records"] == 0
    requests = len(rows_of(run, "message", message_kind=ProduceRequest.KIND))
    assert requests / SECONDS == pytest.approx(way["requests_per_second"], rel=0.05)
    latency, recorded = run.summary["produce_ms"]["shop"], way["latency_ms"]
    assert latency["p99"] == pytest.approx(recorded["p99"], rel=0.15)
    assert latency["p50"] == pytest.approx(recorded["p50"], rel=0.25)


def test_a_send_of_several_batches_takes_as_long_as_the_last(tmp_path: Path) -> None:
    """KafkaProducer.doSend for each record: 25 of 1,000 bytes are two batches of 16,384."""
    shop = producers_of(1, "3s", "5s", acks=1, **{"max.in.flight.requests.per.connection": 1}) | {
        "records_per_batch": 25,
        "record_bytes": 1000,
    }
    run = run_of(cluster_of(duration="8s", workload={"producers": [shop]}), tmp_path / "run")
    appended = rows_of(run, "appended", process=BROKER_1)
    assert [row["end_offset"] - row["base_offset"] for row in appended] == [16, 9] * 2
    assert (
        len(rows_of(run, "message", message_kind=ProduceResponse.KIND, process=FIRST_CLIENT)) == 4
    )
    # Two sends: two round trips of 2.07 ms each, one after the other.
    samples = rows_of(run, "producer_sampled")
    assert [(row["batches"], row["longest_us"]) for row in samples] == [(1, 2 * 2070)] * 2


def test_a_send_that_memory_has_no_room_for_is_an_error() -> None:
    """BufferPool.allocate: a batch takes batch.size; more than buffer.memory it never gets."""
    shop = producers_of(1, "3s", "5s", **{"buffer.memory": 20_000}) | {"records_per_batch": 200}
    with pytest.raises(ScenarioError, match=r"a send needs 32,768 bytes of buffer\.memory"):
        cluster_of(workload={"producers": [shop]})
