"""Parameters from metrics: of a simulated cluster, whose costs are known, and of written pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.real_cluster.costs.calibration import Fitted, Unfitted
from tidegauge.real_cluster.costs.measured_times import (
    MeasuredSeries,
    measured_parameters,
    wanted_names,
)
from tidegauge.real_cluster.rates.sample_files import SampleReader
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode

BEGIN_S = 1_700_000_000
QUANTILES = ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999")


def parameters(page: Path, mode: Mode = ZOOKEEPER_MODE) -> dict[str, Fitted | Unfitted]:
    """The parameters that a file of samples tells."""
    wanted = wanted_names()
    reader = SampleReader(lambda name: name.lower() in wanted, [], None)
    series = MeasuredSeries(reader.source([page], 300.0, None))
    return {each.path: each for each in measured_parameters(series, mode)}


Written = Callable[[list[str]], Path]


@pytest.fixture
def page(tmp_path: Path) -> Written:
    def write(lines: list[str]) -> Path:
        file = tmp_path / "page.txt"
        file.write_text("".join(f"{line}\n" for line in lines))
        return file

    return write


def local_times(request: str, values_ms: tuple[float, ...], instance: str = "b1") -> list[str]:
    """LocalTimeMs as Strimzi's rules name it."""
    name = "kafka_network_requestmetrics_localtimems"
    return [
        f'{name}{{request="{request}",quantile="{quantile}",instance="{instance}"}} {value_ms}'
        for quantile, value_ms in zip(QUANTILES, values_ms, strict=True)
    ]


def test_a_request_has_the_quantiles_of_followers_fetches(page: Written) -> None:
    """The 90th percentile is between 3 ms at 75 and 7 ms at 95."""
    found = parameters(page(local_times("FetchFollower", (2, 3, 7, 8, 9, 20))))
    request = found["costs.request"]
    assert isinstance(request, Fitted)
    assert request.value == {"min": "2ms", "p50": "2ms", "p90": "6ms", "p99": "9ms", "max": "20ms"}
    assert isinstance(found["costs.append"], Unfitted)


def test_an_append_is_a_produce_request_less_the_request(page: Written) -> None:
    fetches = local_times("FetchFollower", (1, 1, 1, 1, 1, 1))
    found = parameters(page([*fetches, *local_times("Produce", (3, 3, 3, 5, 7, 9))]))
    append = found["costs.append"]
    assert isinstance(append, Fitted)
    assert append.value == {"min": "2ms", "p50": "2ms", "p90": "2ms", "p99": "6ms", "max": "8ms"}


def test_brokers_count_once_each(page: Written) -> None:
    lines = [
        line
        for instance, value_ms in (("b1", 1), ("b2", 4), ("b3", 60))
        for line in local_times("FetchFollower", (value_ms,) * 6, instance)
    ]
    request = parameters(page(lines))["costs.request"]
    assert isinstance(request, Fitted)
    assert set(dict(request.value).values()) == {"4ms"}  # type: ignore[arg-type]
    assert request.samples == 3


def test_a_median_of_0_is_no_value(page: Written) -> None:
    request = parameters(page(local_times("FetchFollower", (0, 0, 1, 1, 2, 9))))["costs.request"]
    assert isinstance(request, Unfitted)
    assert "rounded" in request.reason


@pytest.mark.parametrize(("mode", "fitted"), [(ZOOKEEPER_MODE, True), (KRAFT_MODE, False)])
def test_leader_and_isr_requests_are_of_zookeeper(page: Written, mode: Mode, fitted: bool) -> None:
    found = parameters(page(local_times("LeaderAndIsr", (3, 9, 9, 9, 9, 900))), mode)
    assert ("costs.become_leader" in found) == fitted
    if fitted:
        leader = found["costs.become_leader"]
        assert isinstance(leader, Fitted)
        assert leader.value == "3ms"


def disk(device: str, second: int, written: int, read: int, busy_s: float) -> list[str]:
    labels = f'{{device="{device}",instance="n1"}}'
    return [
        f"node_disk_written_bytes_total{labels} {written} {BEGIN_S + second}",
        f"node_disk_read_bytes_total{labels} {read} {BEGIN_S + second}",
        f"node_disk_io_time_seconds_total{labels} {busy_s} {BEGIN_S + second}",
    ]


def test_a_disk_writes_so_much_while_it_is_busy(page: Written) -> None:
    """Disk sdb writes 3 GB in 100 s, and is busy for 20 s of them; sda is idle."""
    lines = [
        *(f"{line} {BEGIN_S}" for line in local_times("FetchFollower", (0,) * 6)),
        *disk("sda", 0, 0, 0, 0.0),
        *disk("sda", 100, 10**12, 0, 1.0),
        *disk("sdb", 0, 5, 7, 40.0),
        *disk("sdb", 100, 3_000_000_005, 7, 60.0),
    ]
    found = parameters(page(lines))
    write = found["resources.disk_write"]
    assert isinstance(write, Fitted)
    assert write.value == "150MB/s"
    assert isinstance(found["resources.disk_read"], Unfitted)


def test_an_idle_disk_tells_nothing(page: Written) -> None:
    lines = [
        *(f"{line} {BEGIN_S}" for line in local_times("FetchFollower", (0,) * 6)),
        *disk("sdb", 0, 0, 0, 0.0),
        *disk("sdb", 100, 10_000_000, 0, 0.5),
    ]
    write = parameters(page(lines))["resources.disk_write"]
    assert isinstance(write, Unfitted)
    assert "busy" in write.reason


COSTS = {"request": "3ms", "append": "5ms"}


@pytest.mark.parametrize("spelling", ["strimzi", "grafana-cloud", "jmx-exporter", "bitnami"])
def test_costs_come_back_from_the_metrics_of_a_run(tmp_path: Path, spelling: str) -> None:
    """A request of a follower also takes a microsecond for its partition, and clients' wait."""
    story: dict[str, Any] = {
        "duration": "1m",
        "release": "2.6",
        "cluster": {"brokers": 3},
        "costs": COSTS | {"request_partition": "1us"},
        "topics": [{"name": "t", "partitions": 3, "replication_factor": 3}],
        "workload": {
            "producers": [{"name": "p", "topics": ["t"], "batches_per_second": 30}],
        },
    }
    scenario, samples = tmp_path / "mine.yaml", tmp_path / "samples.om"
    scenario.write_text(yaml.safe_dump(story))
    run, costs = CliRunner().invoke, tmp_path / "costs.yaml"
    ran = run(
        app,
        [
            *("run", str(scenario), "--inline", "--openmetrics", str(samples)),
            *("--metrics-spelling", spelling, "--out", str(tmp_path / "run")),
        ],
    )
    assert ran.exit_code == 0, ran.output
    made = run(app, ["calibrate", "--samples", str(samples), "-o", str(costs)])
    assert made.exit_code == 0, made.output
    fitted = yaml.safe_load(costs.read_text())["costs"]
    for cost, value in COSTS.items():
        assert fitted[cost]["p50"] == value
