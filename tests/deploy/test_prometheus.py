"""Configuration and rules for Prometheus: promtool takes them, and they do what they say."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from panels import metrics_in
from prometheus_server import needs_promtool
from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.spellings.all_spellings import STRIMZI

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
RULES = FOLDER / "rules" / "tidegauge.rules.yml"
STORIES = FOLDER / "rules" / "tidegauge.test.yml"


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text())


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def alerts() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for group in read(RULES)["groups"] for rule in group["rules"]}


@needs_promtool
def test_the_configuration_and_its_rules_are_accepted() -> None:
    checked = promtool("check", "config", FOLDER / "prometheus.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"SUCCESS: {len(alerts())} rules found" in checked.stdout


@needs_promtool
def test_alerts_fire_and_clear_as_their_stories_tell() -> None:
    tested = promtool("test", "rules", STORIES)
    assert tested.returncode == 0, tested.stdout + tested.stderr


@needs_promtool
@pytest.mark.parametrize(
    ("rule", "bent"),
    [
        ("for: 10s", "for: 10m"),
        ("[1m])) > 0", "[1s])) > 0"),
        ("underminisrpartitioncount) > 0", "underminisrpartitioncount) >= 0"),
        ("keep_firing_for: 5m", "keep_firing_for: 5s"),
    ],
)
def test_a_rule_that_is_bent_breaks_a_story(tmp_path: Path, rule: str, bent: str) -> None:
    text = RULES.read_text()
    assert rule in text
    (tmp_path / RULES.name).write_text(text.replace(rule, bent))
    (tmp_path / STORIES.name).write_text(STORIES.read_text())
    assert promtool("test", "rules", tmp_path / STORIES.name).returncode == 1


def test_each_alert_fires_in_one_story_and_is_silent_at_another_time() -> None:
    told = [each for story in read(STORIES)["tests"] for each in story["alert_rule_test"]]
    firing = {each["alertname"] for each in told if each.get("exp_alerts")}
    silent = {each["alertname"] for each in told if not each.get("exp_alerts")}
    assert firing == alerts().keys()
    # These two have conditions that need no time to hold: a second series is their silence.
    by_series = {"ControllerQueueNeverEmpty", "IsrChangeNotificationsUnread"}
    assert silent == alerts().keys() - by_series


@pytest.mark.parametrize("alert", alerts())
def test_an_alert_asks_for_what_is_served_and_says_what_it_means(alert: str) -> None:
    rule = alerts()[alert]
    # `up` is Prometheus's own.
    assert metrics_in(rule["expr"]) <= {one.name for one in STRIMZI.spelled(FAMILIES)} | {"up"}
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert {"summary", "description"} == rule["annotations"].keys()


def test_the_discoverys_labels_are_kept_as_they_come() -> None:
    """Trap 2: `job` and `instance` come from the discovery, and nothing may take their place."""
    for job in read(FOLDER / "prometheus.yml")["scrape_configs"]:
        assert job.keys() == {"job_name", "http_sd_configs"}
        assert all(discovery["url"].endswith(":9404/sd") for discovery in job["http_sd_configs"])
