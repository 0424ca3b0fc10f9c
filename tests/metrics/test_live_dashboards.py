"""The dashboards that operators have, on live runs that a real Prometheus scrapes.

Ours has to be full, and of those of Strimzi and Grafana what ``metrics/COVERAGE.md`` says, in both
modes; the dashboards of the Strimzi Metrics Reporter are as full as their twins. Theirs are not
part of the project: they are looked for beside the checkout, or where the environment variable
``TIDEGAUGE_DASHBOARDS`` says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
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

#: Those that read the names of another exporter.
OF_THE_REPORTER = {
    "Metrics Reporter Kafka": "strimzi-metrics-reporter/strimzi-kafka.json",
    "Metrics Reporter KRaft": "strimzi-metrics-reporter/strimzi-kraft.json",
}

#: Of kafka_exporter, whose names are the same in every spelling.
OF_THE_EXPORTER = {"kafka_exporter, overview": "kafka_exporter/kafka_exporter_overview.json"}

OF_STRIMZI = ("--metrics-spelling", "strimzi-metrics-reporter")

#: A run for each mode and spelling, by the words of the command.
RUNS = {
    "ZooKeeper": ("quickstart-zookeeper",),
    "KRaft": ("quickstart",),
    "ZooKeeper, Metrics Reporter": ("quickstart-zookeeper", *OF_STRIMZI),
    "KRaft, Metrics Reporter": ("quickstart", *OF_STRIMZI),
}

#: In the 20th second all rates are there.
WATCHED_FROM_S = 20


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Prometheus]]:
    """A Prometheus for each run, all at the same time."""
    with ExitStack() as entered:
        starting = {
            name: entered.enter_context(watched_run(tmp_path_factory.mktemp("live"), words))
            for name, words in RUNS.items()
        }
        for running in starting.values():
            running.wait_for(f'tidegauge_virtual_time_seconds{{way=""}} > {WATCHED_FROM_S}', 60)
        yield starting


@contextmanager
def watched_run(folder: Path, words: Iterable[str]) -> Iterator[Prometheus]:
    """A Prometheus that scrapes a quickstart without faults, in both ways.

    It finds each target by the discovery, and it has the page of all targets.
    """
    command = [sys.executable, "-m", "tidegauge", "run", *words, "--inline"]
    command += ["--set", "faults=[]"]
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
                yield running
        finally:
            run.kill()


def counts_of(dashboard: Path, server: Prometheus) -> list[int]:
    """How many panels there are, and how many are full, partial and empty."""
    found = Counter(fullness_of(json.loads(dashboard.read_text()), server).values())
    assert not found[Fullness.ERROR]
    kinds = (Fullness.FULL, Fullness.PARTIAL, Fullness.EMPTY)
    return [found.total(), *(found[kind] for kind in kinds)]


def test_every_panel_of_our_dashboard_is_full(servers: dict[str, Prometheus]) -> None:
    ours = ROOT / "deploy/grafana/dashboards/tidegauge.json"
    total, full, *_ = counts_of(ours, servers["ZooKeeper"])
    assert full == total > 30


def test_with_kraft_only_panels_about_zookeeper_lack_data(servers: dict[str, Prometheus]) -> None:
    ours = ROOT / "deploy/grafana/dashboards/tidegauge.json"
    found = fullness_of(json.loads(ours.read_text()), servers["KRaft"])
    lacking = [panel for panel, fullness in found.items() if fullness is not Fullness.FULL]
    assert {panel.row for panel in lacking} == {"Controller and ZooKeeper"}
    assert len(lacking) == 4


@pytest.mark.parametrize("mode", ["ZooKeeper", "KRaft"])
@pytest.mark.parametrize("name", FILES | OF_THE_REPORTER | OF_THE_EXPORTER)
def test_of_their_panels_those_are_full_that_are_said_to_be(
    name: str, mode: str, servers: dict[str, Prometheus]
) -> None:
    file = THEIRS / (FILES | OF_THE_REPORTER | OF_THE_EXPORTER)[name]
    if not file.exists():
        pytest.skip(f"no {file}: dashboards of others are not part of the project")
    said = re.search(
        rf"^\| {name} \|(.*)\|$", (ROOT / "metrics/COVERAGE.md").read_text(), re.MULTILINE
    )
    assert said is not None
    total, *counts = [int(number) for number in said[1].split("|")]
    of_mode = counts[:3] if mode == "ZooKeeper" else counts[3:]
    run = f"{mode}, Metrics Reporter" if name in OF_THE_REPORTER else mode
    assert counts_of(file, servers[run]) == [total, *of_mode]


def test_most_of_their_panels_are_full_in_one_of_the_modes(servers: dict[str, Prometheus]) -> None:
    """Those about the JVM, the operating system and connections are not: 82 of 115 are."""
    full = total = 0
    for name in FILES.values():
        if not (THEIRS / name).exists():
            pytest.skip(f"no {THEIRS}: dashboards of others are not part of the project")
        dashboard = json.loads((THEIRS / name).read_text())
        in_modes = [fullness_of(dashboard, servers[mode]) for mode in ("ZooKeeper", "KRaft")]
        total += len(in_modes[0])
        full += sum(
            Fullness.FULL in of_panel for of_panel in zip(*map(dict.values, in_modes), strict=True)
        )
    assert (full, total) == (82, 115)


@pytest.mark.parametrize("mode", ["ZooKeeper", "KRaft"])
def test_the_page_of_all_targets_shows_the_same_nodes(
    mode: str, servers: dict[str, Prometheus]
) -> None:
    """Trap 2: one target for all needs `honor_labels`; then its labels are the discovery's."""
    server = servers[mode]
    nodes = {"kafka_server_replicamanager_leadercount": 6}
    nodes["kafka_controller_kafkacontroller_activecontrollercount"] = 6 if mode[0] == "Z" else 3
    for metric, count in nodes.items():
        ways = [server.query(f'{metric}{{way="{way}"}}') for way in ("", "one_page")]
        shown = [
            {(series["metric"]["instance"], series["value"][1]) for series in found}
            for found in ways
        ]
        assert shown[0] == shown[1]
        assert len(shown[0]) == count
    assert server.query('{__name__=~".+", exported_instance!=""}') == []
