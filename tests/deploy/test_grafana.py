"""Our own dashboard and how Grafana finds it: what can be known of them without a Grafana."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from panels import metrics_in, panels_of
from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.spellings.all_spellings import STRIMZI

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana/dashboards/tidegauge.json").read_text())
ITEMS: list[dict[str, Any]] = DASHBOARD["panels"]
PANELS = [item for item in ITEMS if item["type"] != "row"]
VARIABLES: list[dict[str, Any]] = DASHBOARD["templating"]["list"]

#: Those that Grafana brings along; "angular" ones are gone since release 11.
KINDS = {"row", "stat", "timeseries", "state-timeline", "table"}


def read(path: str) -> Any:
    return yaml.safe_load((DEPLOY / path).read_text())


def titles(panel: dict[str, Any]) -> str:
    return str(panel["title"])


def test_the_dashboard_can_be_loaded_by_grafana_10_and_later() -> None:
    assert DASHBOARD["schemaVersion"] == 38
    assert DASHBOARD["uid"] == "tidegauge"
    # An id is given by the Grafana into which it is loaded.
    assert "id" not in DASHBOARD
    assert {item["type"] for item in ITEMS} == KINDS


def test_ids_and_titles_are_given_once() -> None:
    assert [
        item for item, count in Counter(item["id"] for item in ITEMS).items() if count > 1
    ] == []
    assert [title for title, count in Counter(map(titles, ITEMS)).items() if count > 1] == []


def test_panels_lie_within_24_columns_and_on_none_other() -> None:
    taken = [(item["title"], squares(item["gridPos"])) for item in ITEMS]
    assert all(max(column for column, _ in places) < 24 for _, places in taken)
    assert [
        (one, other) for (one, here), (other, there) in combinations(taken, 2) if here & there
    ] == []


def squares(place: dict[str, int]) -> set[tuple[int, int]]:
    columns = range(place["x"], place["x"] + place["w"])
    return {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}


def test_rows_are_filled_to_the_right_edge() -> None:
    taken = set().union(*(squares(item["gridPos"]) for item in ITEMS))
    assert {
        (column, line) for column in range(24) for line in range(max(y for _, y in taken) + 1)
    } == taken


@pytest.mark.parametrize("panel", PANELS, ids=titles)
def test_a_panel_says_what_it_means_and_in_which_unit(panel: dict[str, Any]) -> None:
    assert len(panel["description"]) > 40
    defaults = panel["fieldConfig"]["defaults"]
    assert "unit" in defaults or "mappings" in defaults
    # Colours are names of Grafana's, which look right on light and on dark.
    assert "#" not in json.dumps(panel["fieldConfig"])


@pytest.mark.parametrize("panel", PANELS, ids=titles)
def test_a_panel_asks_the_chosen_prometheus_of_the_chosen_cluster(panel: dict[str, Any]) -> None:
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    assert panel["datasource"] == chosen
    for target in panel["targets"]:
        assert target["datasource"] == chosen
        for selected in target["expr"].split("{")[1:]:
            assert selected.startswith('kafka_cluster="$cluster"')
    assert [target["refId"] for target in panel["targets"]] == list("ABCDEF")[
        : len(panel["targets"])
    ]


def test_panels_ask_for_what_is_served() -> None:
    served = {one.name for one in STRIMZI.spelled(FAMILIES)}
    asked = {
        name: panel.title
        for panel in panels_of(DASHBOARD)
        for query in panel.queries
        for name in metrics_in(query)
    }
    assert {name: title for name, title in asked.items() if name not in served} == {}


def test_counters_are_asked_for_their_increase_and_gauges_are_not() -> None:
    """A counter begins at 0 with each start of its broker: as it is it means nothing."""
    for panel in panels_of(DASHBOARD):
        for query in panel.queries:
            increases = "rate(" in query or "increase(" in query
            assert increases == any(name.endswith("_total") for name in metrics_in(query)), query


def test_variables_are_asked_of_what_is_served_and_follow_each_other() -> None:
    served = {one.name for one in STRIMZI.spelled(FAMILIES)} | {"up"}
    assert [variable["name"] for variable in VARIABLES] == [
        "datasource",
        "cluster",
        "broker",
        "topic",
    ]
    for variable in VARIABLES[1:]:
        query = variable["query"]["query"]
        assert query == variable["definition"]
        metric = query.removeprefix("label_values(").split("{")[0].split(",")[0]
        assert metric in served
        assert ("$cluster" in query) == (variable["name"] != "cluster")


def test_grafana_finds_the_data_source_and_the_dashboards_where_compose_puts_them() -> None:
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert source["type"] == "prometheus"
    assert source["uid"]
    assert source["isDefault"]
    scraped_every = read("prometheus/prometheus.yml")["global"]["scrape_interval"]
    # Of it Grafana makes the windows of `rate`: too short a one has a single sample.
    assert source["jsonData"]["timeInterval"] == scraped_every

    services = read("compose.yaml")["services"]
    assert source["url"] == "http://prometheus:9090"
    assert services["prometheus"]["ports"] == ["127.0.0.1:9090:9090"]
    (provider,) = read("grafana/provisioning/dashboards/tidegauge.yaml")["providers"]
    mounts = services["grafana"]["volumes"]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in mounts
