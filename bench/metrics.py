"""The cost of metrics: reading a snapshot, writing pages, and scrapes every second.

Printed is CPU time (``time.process_time``), the best of several passes, for a cluster with about
100,000 samples, and the cost of a second of scraping with the cluster of quickstart-zookeeper: each
target once, over HTTP, of a new snapshot.
"""

import gzip
import time
from collections.abc import Callable
from http.client import HTTPConnection

import numpy as np

from tidegauge.metrics.endpoint.openmetrics_file import Format, written_page
from tidegauge.metrics.endpoint.pages import client_page
from tidegauge.metrics.endpoint.server import Endpoint
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.layout import texts_of
from tidegauge.metrics.samples.targets import label_text, metrics_path, target_labels, targets_of
from tidegauge.metrics.snapshots.snapshot import Snapshot, new_snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import find_scenario

PASSES = 7
SECONDS_OF_SCRAPES = 20

#: Thirty brokers with 2,400 partitions of three replicas.
LARGE = {
    "duration": "1s",
    "release": "2.6",
    "cluster": {"brokers": 30},
    "topics": [
        {"name": f"topic-{number}", "partitions": 240, "replication_factor": 3}
        for number in range(10)
    ],
}


def busy_snapshot(plan: ClusterPlan, time_us: int) -> Snapshot:
    """A snapshot in which everything is there, and numbers are of all sizes."""
    snapshot = new_snapshot(plan, time_us)
    numbers = np.random.default_rng(1)
    for rows in snapshot[1:]:
        for name in rows.dtype.names or ():
            is_number = rows.dtype[name].kind == "i"
            rows[name] = 10 ** numbers.integers(0, 8, len(rows)) if is_number else True
    snapshot.replicas["source_broker"] = snapshot.partitions["leader"] = 0
    return snapshot


def cpu_ms(work: Callable[[], object], passes: int = PASSES) -> float:
    """CPU milliseconds, the best of several passes."""
    best_seconds = float("inf")
    for _ in range(passes):
        began = time.process_time()
        work()
        best_seconds = min(best_seconds, time.process_time() - began)
    return best_seconds * 1000


def measure_pages() -> None:
    """Reading and writing, of all targets one by one and of all of them on one page."""
    plan = ClusterPlan(scenario_from_mapping(LARGE, "large"))
    snapshot = busy_snapshot(plan, 1_000_000)
    exposition = Exposition(plan)
    targets = targets_of(plan)
    labels = texts_of(label_text(target_labels(plan, target)) for target in targets)
    samples = sum(len(one.values) for one in exposition.series(snapshot))
    page = written_page(exposition.series(snapshot), Format.TEXT)

    def pages(page_format: Format) -> list[bytes]:
        return [
            written_page(exposition.series(snapshot, target=target), page_format)
            for target in targets
        ]

    def client() -> bytes:
        return client_page(exposition.series(snapshot), Format.TEXT)

    print(f"{samples:,} samples, {len(plan.partitions):,} partitions, {len(targets)} targets:")
    for what, work in {
        "read": lambda: list(exposition.series(snapshot)),
        "read and write as text": lambda: written_page(exposition.series(snapshot), Format.TEXT),
        "... page by page": lambda: pages(Format.TEXT),
        "... page by page, OpenMetrics": lambda: pages(Format.OPENMETRICS),
        "... one page, with the labels of targets": lambda: written_page(
            exposition.series(snapshot), Format.TEXT, labels
        ),
        "compress, level 1": lambda: gzip.compress(page, 1),
        "compress, level 6": lambda: gzip.compress(page, 6),
    }.items():
        print(f"  {what:42} {cpu_ms(work):8.1f} ms")
    print(f"  {'prometheus_client':42} {cpu_ms(client, 2):8.1f} ms")


def measure_scrapes() -> None:
    """Each target of the cluster once a second; the client's own cost is in it."""
    name = "quickstart-zookeeper"
    plan = ClusterPlan(load_scenario(find_scenario(name)))
    paths = [metrics_path(plan, target) for target in targets_of(plan)]
    with Endpoint(plan, port=0) as endpoint:
        connections = [HTTPConnection(endpoint.address) for _ in paths]
        began = time.process_time()
        for second in range(SECONDS_OF_SCRAPES):
            endpoint.publish(busy_snapshot(plan, second * 1_000_000))
            for connection, path in zip(connections, paths, strict=True):
                connection.request("GET", path)
                connection.getresponse().read()
        spent_ms = (time.process_time() - began) * 1000 / SECONDS_OF_SCRAPES
        for connection in connections:
            connection.close()
    snapshot_ms = cpu_ms(lambda: busy_snapshot(plan, 0))
    print(f"{name}, {len(paths)} targets over HTTP: {spent_ms - snapshot_ms:.1f} ms a round")


if __name__ == "__main__":
    measure_pages()
    measure_scrapes()
