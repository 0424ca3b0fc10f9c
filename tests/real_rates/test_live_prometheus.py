"""Rates that a real Prometheus has of two simulated clusters, which it scrapes while they run."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from importing import in_one_line
from prometheus_server import Prometheus, needs_prometheus, prometheus
from tidegauge.command_line import app
from watched_cluster import GROUPS, RATES, cluster_text, described, largest_deviation, rates_in

pytestmark = [pytest.mark.long, needs_prometheus]

#: The clusters by the label that tells them apart: how many times the rates, and the spelling.
CLUSTERS = {"a": (1.0, "strimzi"), "b": (1.5, "jmx-exporter")}
#: A live run takes a snapshot each second, so that the ends of a window are known to a second.
WINDOW = "35s"
WATCHED_FROM_S = 39


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has scraped both clusters each second for some 40 s."""
    folder = tmp_path_factory.mktemp("rates")
    with ExitStack() as entered:
        jobs = []
        for label, (times, spelling) in CLUSTERS.items():
            scenario = folder / f"{label}.yaml"
            scenario.write_text(cluster_text(f"cluster-{label}", times, "2m"))
            address = entered.enter_context(live_run(scenario, folder / label, spelling))
            jobs.append(
                {
                    "job_name": label,
                    "http_sd_configs": [{"url": f"http://{address}/sd"}],
                    "relabel_configs": [{"target_label": "cluster", "replacement": label}],
                }
            )
        config = folder / "prometheus.yml"
        config.write_text(
            yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs})
        )
        running = entered.enter_context(prometheus(config, folder))
        watched = f"min(tidegauge_virtual_time_seconds) > {WATCHED_FROM_S}"
        running.wait_for(f"count(tidegauge_virtual_time_seconds) == 2 and {watched}", 90)
        yield running


@contextmanager
def live_run(scenario: Path, out: Path, spelling: str) -> Iterator[str]:
    """A run at the pace of real time; the address of its metrics."""
    command = [sys.executable, "-m", "tidegauge", "run", str(scenario), "--inline"]
    command += ["--metrics", "127.0.0.1:0", "--metrics-spelling", spelling, "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        try:
            yield next(found[1] for line in run.stdout if (found := re.search(r"//(\S+)/sd", line)))
        finally:
            run.kill()


@pytest.mark.parametrize("label", CLUSTERS)
def test_the_rate_of_every_topic_is_within_5_percent(
    label: str, server: Prometheus, tmp_path: Path
) -> None:
    dump, out = tmp_path / "describe.txt", tmp_path / "mine.yaml"
    dump.write_text(described())
    words = ["import", str(dump), "--prometheus", server.url, "--over", WINDOW, "-o", str(out)]
    result = CliRunner().invoke(app, [*words, "--match", f'cluster="{label}"'])
    assert result.exit_code == 0, result.output
    data = yaml.safe_load(out.read_text())
    times, spelling = CLUSTERS[label]
    expected = {
        topic: (messages * times, size * times) for topic, (messages, size) in RATES.items()
    }
    assert largest_deviation(rates_in(data), expected) < 0.05
    output = in_one_line(result.output)
    assert f"by the names of {spelling} (" in output
    assert "rates of 5 of 5 topics: messages of kafka_server_brokertopicmetrics_" in output
    groups = {
        group["name"]: (group["topics"], group.get("clients", 1))
        for group in data["workload"]["consumers"]
    }
    assert groups == GROUPS


def test_series_of_several_clusters_are_not_added_up(server: Prometheus, tmp_path: Path) -> None:
    dump, out = tmp_path / "describe.txt", tmp_path / "mine.yaml"
    dump.write_text(described())
    words = ["import", str(dump), "--prometheus", server.url, "--over", WINDOW, "-o", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "has 2 values of the label cluster: a, b; choose" in result.stderr
    assert not out.exists()


def test_a_window_that_begins_before_the_series_is_shortened(
    server: Prometheus, tmp_path: Path
) -> None:
    dump, out = tmp_path / "describe.txt", tmp_path / "mine.yaml"
    dump.write_text(described())
    words = ["import", str(dump), "--prometheus", server.url, "--over", "5m", "-o", str(out)]
    result = CliRunner().invoke(app, [*words, "--match", '{cluster="a"}', "--at", f"{time.time()}"])
    assert result.exit_code == 0, result.output
    found = re.search(r"over (\d+)s up to", in_one_line(result.output))
    assert found is not None
    assert int(found[1]) < 120
    # Producers begin at the end of the second second.
    assert largest_deviation(rates_in(yaml.safe_load(out.read_text())), RATES) < 0.4
