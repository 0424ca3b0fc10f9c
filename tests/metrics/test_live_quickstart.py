"""The dashboards that operators have, on a live quickstart that a real Prometheus scrapes.

Ours has to be full, and of those of Strimzi and Grafana what ``metrics/COVERAGE.md`` says. Theirs
are not part of the project: they are looked for beside the checkout, or where the environment
variable ``TIDEGAUGE_DASHBOARDS`` says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from panels import Fullness, fullness_of
from prometheus_server import Prometheus, needs_prometheus, prometheus

pytestmark = [pytest.mark.long, needs_prometheus]

ROOT = Path(__file__).resolve().parents[2]
THEIRS = Path(os.environ.get("TIDEGAUGE_DASHBOARDS", ROOT.parent / "shared" / "dashboards"))

#: Their files, by the name that COVERAGE.md has for each.
FILES = {
    "Strimzi Kafka": "strimzi/strimzi-kafka.json",
    "Strimzi KRaft": "strimzi/strimzi-kraft.json",
    "Strimzi Kafka Exporter": "strimzi/strimzi-kafka-exporter.json",
    "kafka-observ-lib, overview": "grafana-kafka-observ-lib/kafka-overview-dashboard.json",
    "kafka-observ-lib, topics": "grafana-kafka-observ-lib/kafka-topic-dashboard.json",
}

#: In the 20th second all rates are there, and nothing has happened yet.
WATCHED_FROM_S = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that scrapes a quickstart by its discovery, and the page of all targets, too."""
    folder = tmp_path_factory.mktemp("live")
    command = [sys.executable, "-m", "tidegauge", "run", "quickstart", "--inline"]
    command += ["--metrics", "127.0.0.1:0", "--out", str(folder / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        try:
            (address,) = next(
                found.groups() for line in run.stdout if (found := re.search(r"//(\S+)/sd", line))
            )
            jobs = [
                {"job_name": "run", "http_sd_configs": [{"url": f"http://{address}/sd"}]},
                {
                    "job_name": "one page",
                    "honor_labels": True,
                    "static_configs": [{"targets": [address], "labels": {"way": "one_page"}}],
                },
            ]
            config = {"global": {"scrape_interval": "2s"}, "scrape_configs": jobs}
            (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
            with prometheus(folder / "prometheus.yml", folder) as running:
                running.wait_for(f'tidegauge_virtual_time_seconds{{way=""}} > {WATCHED_FROM_S}', 60)
                yield running
        finally:
            run.kill()


def counts_of(dashboard: Path, server: Prometheus) -> list[int]:
    """How many panels there are, and how many are full, partial and empty."""
    found = Counter(fullness_of(json.loads(dashboard.read_text()), server).values())
    assert not found[Fullness.ERROR]
    kinds = (Fullness.FULL, Fullness.PARTIAL, Fullness.EMPTY)
    return [found.total(), *(found[kind] for kind in kinds)]


def test_every_panel_of_our_dashboard_is_full(server: Prometheus) -> None:
    total, full, *_ = counts_of(ROOT / "deploy/grafana/dashboards/tidegauge.json", server)
    assert full == total > 30


@pytest.mark.parametrize("name", FILES)
def test_of_their_panels_those_are_full_that_are_said_to_be(name: str, server: Prometheus) -> None:
    file = THEIRS / FILES[name]
    if not file.exists():
        pytest.skip(f"no {file}: dashboards of others are not part of the project")
    said = re.search(
        rf"^\| {name} \|(.*)\|$", (ROOT / "metrics/COVERAGE.md").read_text(), re.MULTILINE
    )
    assert said is not None
    assert counts_of(file, server) == [int(number) for number in said[1].split("|")]


def test_the_page_of_all_targets_shows_the_same_brokers(server: Prometheus) -> None:
    """Trap 2: one target for all needs `honor_labels`; then its labels are the discovery's."""
    leaders = "kafka_server_replicamanager_leadercount"
    ways = [server.query(f'{leaders}{{way="{way}"}}') for way in ("", "one_page")]
    shown = [
        {(series["metric"]["instance"], series["value"][1]) for series in found} for found in ways
    ]
    assert shown[0] == shown[1]
    assert len(shown[0]) == 6
    assert server.query('{__name__=~".+", exported_instance!=""}') == []
