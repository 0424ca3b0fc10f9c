"""Prometheus finds a cluster by its discovery, and our dashboard shows all of it.

The cluster is made by hand: each snapshot is a little later than the one before.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml

from cluster_snapshots import healthy, plan_of
from panels import Fullness, Panel, fullness_of, panels_of
from prometheus_server import Prometheus, needs_prometheus, prometheus, until
from tidegauge.metrics.endpoint.server import Endpoint
from tidegauge.metrics.samples.successive_snapshots import ActorHealth, Health
from tidegauge.metrics.samples.targets import target_labels, targets_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"

#: The broker that dies in between, by its index.
DYING = 1

ACTORS = ("brokers", "controllers")


@pytest.fixture(scope="module")
def plan() -> ClusterPlan:
    return plan_of(name="by-hand")


class LiveCluster:
    """A cluster that is published as it goes on; ``dying`` takes a broker from it."""

    def __init__(self, plan: ClusterPlan, endpoint: Endpoint) -> None:
        self.dying = False
        self._plan = plan
        self._endpoint = endpoint
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    @contextmanager
    def running(self) -> Iterator[LiveCluster]:
        self._thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            self._thread.join()

    def _go_on(self) -> None:
        started = time.monotonic()
        while not self._ended.wait(0.2):
            now = time.monotonic()
            self._endpoint.publish(*self._at(now, int(1e6 * (now - started)) + 1))

    def _at(self, now: float, time_us: int) -> tuple[Snapshot, Health]:
        snapshot = healthy(self._plan, time_us)
        for offset in ("log_end_offset", "high_watermark"):
            snapshot.replicas[offset] += time_us // 100_000
        if self.dying:
            snapshot.brokers["alive"][DYING] = snapshot.brokers["answers"][DYING] = False
        actors = tuple(ActorHealth(name, time_us, now, now, now, now) for name in ACTORS)
        return snapshot, Health(now, time_us, 1.0, 0, time_us, time_us // 1000, actors)


@pytest.fixture(scope="module")
def endpoint(plan: ClusterPlan) -> Iterator[Endpoint]:
    with Endpoint(plan, "127.0.0.1", 0) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def cluster(plan: ClusterPlan, endpoint: Endpoint) -> Iterator[LiveCluster]:
    with LiveCluster(plan, endpoint).running() as running:
        yield running


@pytest.fixture(scope="module")
def server(
    endpoint: Endpoint, cluster: LiveCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """A Prometheus with our own configuration, that looks where the endpoint is, and often."""
    assert not cluster.dying
    folder = tmp_path_factory.mktemp("prometheus")
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(DEPLOY / "prometheus" / "rules" / "*.rules.yml")]
    (job,) = config["scrape_configs"]
    (here, *_) = job["http_sd_configs"]
    assert here["url"].endswith("//127.0.0.1:9404/sd")
    job["http_sd_configs"] = [{**here, "url": f"http://{endpoint.address}/sd"}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    with prometheus(folder / "prometheus.yml", folder) as running:
        running.wait_for("rate(tidegauge_virtual_time_seconds[10s]) > 0")
        yield running


@needs_prometheus
def test_each_target_is_found_with_the_labels_that_dashboards_select_by(
    server: Prometheus, plan: ClusterPlan
) -> None:
    """Trap 2: labels come from the scrape, not from Kafka; none becomes ``exported_...``."""
    served = [target_labels(plan, target) for target in targets_of(plan)]
    server.wait_for(f"count(up == 1) == {len(served)}")
    found = {series["metric"]["instance"]: series["metric"] for series in server.query("up")}
    assert found == {labels["instance"]: {"__name__": "up", **labels} for labels in served}
    assert server.query('{__name__=~".+", exported_instance!=""}') == []


@needs_prometheus
def test_every_panel_of_our_dashboard_is_full(server: Prometheus) -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "dashboards" / "tidegauge.json").read_text())
    assert len(panels_of(dashboard)) > 30

    def not_full() -> dict[Panel, Fullness]:
        found = fullness_of(dashboard, server)
        return {panel: each for panel, each in found.items() if each != Fullness.FULL}

    # A rate needs two scrapes of each target.
    with suppress(TimeoutError):
        until(lambda: not not_full(), 20, "full panels")
    assert not_full() == {}


@needs_prometheus
def test_a_broker_that_dies_is_gone_and_not_zero(
    server: Prometheus, cluster: LiveCluster, plan: ClusterPlan
) -> None:
    """Trap 3: "Brokers Online" counts series; ``up`` is 0, and our alert sees that."""
    brokers = len(plan.brokers)
    online = "count(kafka_server_replicamanager_leadercount)"
    server.wait_for(f"{online} == {brokers}")
    cluster.dying = True
    try:
        server.wait_for(f"{online} == {brokers - 1}")
        (down,) = server.wait_for('up{job="kafka"} == 0')
        assert down["metric"]["instance"] == f"by-hand-kafka-{plan.brokers[DYING]}"
        (alert,) = server.wait_for('ALERTS{alertname="BrokerDown"}')
        assert alert["metric"]["instance"] == down["metric"]["instance"]
    finally:
        cluster.dying = False
    server.wait_for(f"{online} == {brokers}")
