"""Our own Grafana: that what it says of a panel is what a real Prometheus answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from panels import Fullness, filled_in, fullness_of, metrics_in, panels_of, variables_of
from prometheus_server import Prometheus, QueryError, needs_prometheus, prometheus

PAGE = """\
# TYPE kafka_server_replicamanager_leadercount gauge
kafka_server_replicamanager_leadercount{kafka_cluster="q",broker="1"} 20
kafka_server_replicamanager_leadercount{kafka_cluster="q",broker="2"} 10
kafka_server_replicamanager_leadercount{kafka_cluster="another",broker="7"} 1
"""


class Page(BaseHTTPRequestHandler):
    """The same page, whatever is asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002 # as it is called
        """Nothing on the terminal."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has scraped the page."""
    folder = tmp_path_factory.mktemp("prometheus")
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        job = {
            "job_name": "page",
            "static_configs": [{"targets": [f"127.0.0.1:{page.server_port}"]}],
        }
        config = {"global": {"scrape_interval": "500ms"}, "scrape_configs": [job]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        with prometheus(folder / "prometheus.yml", folder) as running:
            running.wait_for("kafka_server_replicamanager_leadercount")
            yield running
        page.shutdown()


def dashboard(*queries: str, **variables: Any) -> dict[str, Any]:
    """A dashboard of one panel."""
    listed = [{"name": name, "type": "query", **each} for name, each in variables.items()]
    panel = {"type": "stat", "title": "panel", "targets": [{"expr": query} for query in queries]}
    return {"templating": {"list": listed}, "panels": [panel]}


LEADERS = "kafka_server_replicamanager_leadercount"


@needs_prometheus
@pytest.mark.parametrize(
    ("queries", "fullness"),
    [
        ([f"sum({LEADERS})"], Fullness.FULL),
        ([f"sum({LEADERS})", "jvm_threads_current"], Fullness.PARTIAL),
        (["jvm_threads_current"], Fullness.EMPTY),
        (["sum(", f"sum({LEADERS})"], Fullness.ERROR),
        # A value of 0 is data.
        ([f"0 * {LEADERS}"], Fullness.FULL),
    ],
)
def test_a_panel_is_as_full_as_its_queries(
    server: Prometheus, queries: list[str], fullness: Fullness
) -> None:
    (found,) = fullness_of(dashboard(*queries), server).values()
    assert found == fullness


@needs_prometheus
def test_variables_are_resolved_one_after_the_other(server: Prometheus) -> None:
    of_clusters = {"query": f"label_values({LEADERS}, kafka_cluster)", "regex": "/^(q)$/"}
    of_brokers = {
        "query": {"query": f'label_values({LEADERS}{{kafka_cluster="$cluster"}}, broker)'},
        "includeAll": True,
    }
    of_values = {"query": f'query_result({LEADERS}{{broker="2"}})', "regex": "/} (\\d+)/"}
    asked = dashboard("up", cluster=of_clusters, broker=of_brokers, value=of_values)
    assert variables_of(asked, server) == {"cluster": "q", "broker": "(1|2)", "value": "10"}


@needs_prometheus
def test_a_refused_query_says_why(server: Prometheus) -> None:
    with pytest.raises(QueryError, match="parse error"):
        server.query("sum(")


@needs_prometheus
def test_what_never_comes_is_not_waited_for_for_ever(server: Prometheus) -> None:
    with pytest.raises(TimeoutError, match="jvm_threads_current"):
        server.wait_for("jvm_threads_current", seconds=0.5)


@needs_prometheus
def test_nobody_listens_any_more_when_a_test_is_over(tmp_path: Path) -> None:
    (tmp_path / "prometheus.yml").write_text("scrape_configs: []\n")
    with prometheus(tmp_path / "prometheus.yml", tmp_path) as running:
        assert running.query("vector(1)")
    with pytest.raises(OSError, match="refused"):
        running.query("vector(1)")


@needs_prometheus
def test_a_configuration_that_is_refused_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "prometheus.yml").write_text("scrape_config: []\n")
    with (
        pytest.raises(AssertionError, match="field scrape_config not found"),
        prometheus(tmp_path / "prometheus.yml", tmp_path),
    ):
        pass


def test_panels_of_folded_rows_are_panels() -> None:
    panel = {"type": "stat", "title": "inside", "targets": [{"expr": "up"}]}
    text = {"type": "text", "title": "words"}
    folded = {"type": "row", "title": "folded", "panels": [panel]}
    after = {"type": "row", "title": "open", "panels": []}
    found = panels_of({"panels": [text, folded, after, {**panel, "title": "below"}]})
    assert [(each.row, each.title) for each in found] == [("folded", "inside"), ("open", "below")]


@pytest.mark.parametrize(
    ("query", "filled"),
    [
        ('up{a=~"$broker"}', 'up{a=~".+"}'),
        ('up{a=~"${broker:regex}"}', 'up{a=~".+"}'),
        ("rate(up[$__rate_interval])", "rate(up[20s])"),
        ('up{a="$unknown"}', 'up{a="$unknown"}'),
    ],
)
def test_values_are_filled_in(query: str, filled: str) -> None:
    assert filled_in(query, {"broker": ".+"}) == filled


@pytest.mark.parametrize(
    ("query", "metrics"),
    [
        ('sum by (topic) (rate(a_total{topic=~"b{c}", d="e"}[5m])) > 0.5', {"a_total"}),
        ("a and on (x) b or 0 * c unless d == bool 1", {"a", "b", "c", "d"}),
        ("sum(a) without (b) / ignoring(c) group_left(d) count(e offset 5m)", {"a", "e"}),
        ('label_replace(kafka:a, "b", "$1", "c", "(.*)") + time()', {"kafka:a"}),
        ("histogram_quantile(0.99, a) * 1e3", {"a"}),
    ],
)
def test_names_of_metrics_are_found_in_queries(query: str, metrics: set[str]) -> None:
    assert metrics_in(query) == metrics
