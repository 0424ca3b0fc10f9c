"""Prometheus's own rule engine judges: what it makes of series, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from prometheus_server import needs_promtool
from tidegauge.metrics.samples.exposition import UP, Scraped
from tidegauge.rehearsal.alerts import RuleFile, read_rule_file
from tidegauge.rehearsal.promtool import (
    Course,
    Intervals,
    Promtool,
    PromtoolError,
    Recording,
    Series,
    Spell,
    check_rules,
    evaluate,
    find_promtool,
    values_text,
)

MINUTE = 60_000_000
EVERY_MINUTE = Intervals(MINUTE, MINUTE)

RULES = """
groups:
  - name: kafka
    rules:
      - alert: UnderReplicated
        expr: under_replicated > 0
        for: 2m
      - alert: UnderReplicatedForLong
        expr: under_replicated > 0
        for: 2m
        keep_firing_for: 3m
      - alert: BrokersMissing
        expr: count(leaders) < 2
"""


def rule_file(folder: Path, text: str = RULES) -> RuleFile:
    path = folder / "mine.yml"
    path.write_text(text, encoding="utf-8")
    return read_rule_file(path)


def courses(
    folder: Path, series: Sequence[Series], end_us: int, rules: str = RULES
) -> dict[str, Course]:
    files = [rule_file(folder, rules)]
    return evaluate(find_promtool(None), files, series, end_us, EVERY_MINUTE, folder / "test")


# Series.


def test_what_a_scrape_does_not_find_is_stale_from_then_on() -> None:
    recording = Recording()
    for found in ({"up": 1.0}, {"up": 1.0, "lag": 0.5}, {}, {"lag": 7.0}):
        recording.take(
            Scraped(UP._replace(name=name), ['job="kafka"'], [value])
            for name, value in found.items()
        )
    texts = {each.selector: values_text(each.values) for each in recording.series()}
    # At the time 0 the cluster is started.
    assert texts == {
        'up{job="kafka"}': "_x1 1x1 stale _x1",
        'lag{job="kafka"}': "_x2 0.5 stale 7",
    }


# What Prometheus makes of them.


@needs_promtool
def test_for_and_keep_firing_for_are_prometheus_s_own(tmp_path: Path) -> None:
    series = [Series("under_replicated", [0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0])]
    found = courses(tmp_path, series, 12 * MINUTE)
    pending = (Spell(3 * MINUTE, 5 * MINUTE, 1),)
    assert found["UnderReplicated"] == Course(pending, (Spell(5 * MINUTE, 8 * MINUTE, 1),))
    # Last seen at 7 min, and three minutes more.
    assert found["UnderReplicatedForLong"].firing == (Spell(5 * MINUTE, 11 * MINUTE, 1),)


@needs_promtool
def test_a_broker_that_does_not_answer_is_not_counted_from_that_scrape_on(tmp_path: Path) -> None:
    """The reference's trap 3: a dead broker must disappear; without staleness it would stay."""
    series = [
        Series('leaders{instance="1"}', [5.0] * 8),
        Series('leaders{instance="2"}', [5.0] * 4 + [None] * 4),
    ]
    found = courses(tmp_path, series, 7 * MINUTE)
    assert found["BrokersMissing"].firing == (Spell(4 * MINUTE, None, 1),)


@needs_promtool
def test_an_alert_can_fire_again_and_for_several_brokers_at_once(tmp_path: Path) -> None:
    series = [
        Series('under_replicated{instance="1"}', [1, 1, 1, 1, 0, 1, 1, 1, 1]),
        Series('under_replicated{instance="2"}', [0, 1, 1, 1, 0, 0, 0, 0, 0]),
    ]
    found = courses(tmp_path, series, 8 * MINUTE)
    assert found["UnderReplicated"].firing == (
        Spell(2 * MINUTE, 4 * MINUTE, 2),
        Spell(7 * MINUTE, None, 1),
    )


@needs_promtool
def test_an_alert_with_an_odd_name_is_read_back_and_a_day_is_long(tmp_path: Path) -> None:
    name = 'Broker {1} is "down", ü'
    rules = f"groups: [{{name: g, rules: [{{alert: '{name}', expr: up == 0}}]}}]"
    found = evaluate(
        find_promtool(None),
        [rule_file(tmp_path, rules)],
        [Series("up", [1] * 25 + [0] * 2)],
        26 * 60 * MINUTE,
        Intervals(60 * MINUTE, 60 * MINUTE),
        tmp_path / "test",
    )
    assert found == {name: Course((), (Spell(25 * 60 * MINUTE, None, 1),))}


@needs_promtool
@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("expr: sum(", "unclosed left parenthesis"),
        # As a rule of a well-known collection has it: the template knows $labels.
        ("expr: up, annotations: {a: '{{ $label.x }}'}", 'undefined variable "$label"'),
    ],
)
def test_what_prometheus_refuses_is_told_in_a_line_with_the_user_s_file(
    rule: str, complaint: str, tmp_path: Path
) -> None:
    file = rule_file(tmp_path, f"groups: [{{name: g, rules: [{{alert: A, {rule}}}]}}]")
    with pytest.raises(PromtoolError) as refused:
        check_rules(find_promtool(None), [file], tmp_path / "test")
    assert complaint in str(refused.value)
    assert str(file.path) in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


# Other programs.


def program(folder: Path, text: str) -> str:
    path = folder / "promtool"
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_without_promtool_it_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PromtoolError, match=r"not on the PATH: .*Prometheus.*--promtool PATH"):
        find_promtool(None)


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("hello", "does not print the version of promtool"),
        ("promtool, version 2.41.0 (branch: HEAD)", "2.42 or later is required"),
    ],
)
def test_another_program_or_an_old_one_is_refused(says: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(PromtoolError, match=problem):
        find_promtool(program(tmp_path, says))


def test_a_later_promtool_is_taken(tmp_path: Path) -> None:
    path = program(tmp_path, "promtool, version 3.5.0-rc.1 (branch: HEAD, revision: 8be3a95)")
    assert find_promtool(path) == Promtool(path, "3.5.0-rc.1")


def test_an_answer_that_is_not_understood_is_no_silence(tmp_path: Path) -> None:
    """If its output changed one day, all alerts would seem to be silent."""
    promtool = Promtool(program(tmp_path, "SUCCESS\nall is well"), "9.0.0")
    with pytest.raises(
        PromtoolError, match=r"promtool 9\.0\.0 did not evaluate the rules: all is well"
    ):
        check_rules(promtool, [rule_file(tmp_path)], tmp_path / "test")
