"""The controllers of a quorum: targets of their own, and counts that can be added up."""

from __future__ import annotations

import json

import pytest

from cluster_snapshots import healthy, kraft_plan_of, plan_of, values_of
from tidegauge.metrics.endpoint.openmetrics_file import Format
from tidegauge.metrics.endpoint.pages import NoPageError, Pages
from tidegauge.metrics.endpoint.server import discovered_targets
from tidegauge.metrics.samples.exposition import Exposition, Presentation, Scraper
from tidegauge.metrics.samples.successive_snapshots import RecordTimes, SnapshotContext
from tidegauge.metrics.samples.targets import controllers_of
from tidegauge.metrics.spellings.all_spellings import CONFLUENT

PLAN = kraft_plan_of()
CONTROLLER = "kafka_controller_kafkacontroller_"


def shown(name: str, *, every_controller: bool = False) -> list[int]:
    """The values of a metric, controller by controller."""
    presentation = Presentation(every_controller=every_controller)
    snapshot = healthy(PLAN)
    snapshot.controllers["offline_partitions"] = 2
    for samples in Exposition(PLAN, presentation).series(snapshot):
        if samples.family.name == name:
            assert samples.targets.tolist() == list(controllers_of(PLAN))
            return [int(value) for value in samples.values]
    raise AssertionError(name)


def test_a_sum_over_controllers_is_right_unless_each_counts_as_in_kafka() -> None:
    """Trap 7: dashboards sum over controllers, and every controller of Kafka counts the cluster."""
    for name, value in {"offlinepartitionscount": 2, "activebrokercount": 3}.items():
        assert shown(CONTROLLER + name) == [value, 0, 0]
        assert shown(CONTROLLER + name, every_controller=True) == [value] * 3
    # These are of the controller itself.
    for every_controller in (False, True):
        active = shown(f"{CONTROLLER}activecontrollercount", every_controller=every_controller)
        assert active == [1, 0, 0]
        applied = shown(f"{CONTROLLER}lastappliedrecordoffset", every_controller=every_controller)
        assert applied == [99, 99, 99]


def test_who_was_superseded_without_knowing_it_counts_nothing() -> None:
    """Before 3.7 a controller that is cut off stays active: two are, and sums are right."""
    snapshot = healthy(PLAN)
    snapshot.controllers["active_controller"] = [True, False, True]
    snapshot.controllers["controller_epoch"] = [1, -1, 2]
    active = values_of(PLAN, snapshot, f"{CONTROLLER}activecontrollercount")
    assert list(active.values()) == [1, 0, 1]
    brokers = values_of(PLAN, snapshot, f"{CONTROLLER}activebrokercount")
    assert list(brokers.values()) == [0, 0, 3]


def test_brokers_of_a_quorum_have_no_controller_and_nothing_of_zookeeper() -> None:
    of_brokers = [
        samples.family.name
        for samples in Exposition(PLAN).series(healthy(PLAN))
        if (samples.targets >= 0).any()
    ]
    foreign = ("kafka_controller", "tidegauge_controller", "tidegauge_isr_change")
    assert [name for name in of_brokers if name.startswith(foreign)] == []
    everything = {samples.family.name for samples in Exposition(PLAN).series(healthy(PLAN))}
    assert [name for name in everything if "zookeeper" in name] == []
    assert "tidegauge_metadata_offline_partitions" in everything


def test_each_controller_is_a_target() -> None:
    groups = json.loads(discovered_targets(PLAN, "here:1"))
    found = {group["labels"]["__metrics_path__"]: group["labels"] for group in groups}
    assert len(found) == 3 + 3 + 3
    for controller in (3000, 3001, 3002):
        labels = found[f"/c/{controller}/metrics"]
        assert labels["kubernetes_pod_name"] == f"story-controller-{controller}"
        assert labels["strimzi_io_name"] == "story-kafka"
    jobs = {
        group["labels"]["job"] for group in json.loads(discovered_targets(PLAN, "a", CONFLUENT))
    }
    assert {"kafka-broker", "kafka-controller"} <= jobs


def test_a_controller_that_is_down_is_gone_and_not_zero() -> None:
    snapshot = healthy(PLAN)
    snapshot.controllers[1]["alive"] = snapshot.controllers[1]["answers"] = False
    snapshot.controllers[2]["answers"] = False
    (up,) = Scraper(PLAN, only={"up"}).scrape(snapshot)
    assert up.values == [1, 1, 1, 1, 0, 0, 1, 1, 1]
    pages = Pages(PLAN)
    pages.publish(snapshot, None)
    first, second, third = controllers_of(PLAN)
    assert b"activecontrollercount 1" in pages.page(first, Format.TEXT)
    with pytest.raises(NoPageError, match="controller 3001 is down"):
        pages.page(second, Format.TEXT)
    with pytest.raises(NoPageError, match="controller 3002 is paused"):
        pages.page(third, Format.TEXT)


def test_a_broker_knows_when_its_last_record_was_written() -> None:
    times = RecordTimes()
    for second, offset in enumerate((99, 199, 199), start=10):
        snapshot = healthy(PLAN, second * 1_000_000)
        snapshot.controllers["last_committed_offset"] = offset
        snapshot.brokers["applied_offset"] = [offset, 149, 99]
        applied = times.applied(snapshot)
    assert applied is not None
    assert applied.brokers_us.tolist() == [11_000_000, 10_500_000, 10_000_000]
    assert RecordTimes().applied(healthy(plan_of())) is None
    lag = "kafka_server_brokermetadatametrics_last_applied_record_lag_ms"
    found = values_of(PLAN, snapshot, lag, context=SnapshotContext(applied=applied))
    assert list(found.values()) == [1_000, 1_500, 2_000]
