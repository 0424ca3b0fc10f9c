"""Other values at paths of a scenario file: which path means what, and what leads nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.scenario.text.changes import parse_change, split_values, with_changes
from tidegauge.scenario.text.errors import ProblemsError, ScenarioError

SCENARIO: dict[str, Any] = {
    "duration": "1m",
    "release": "2.6",
    "cluster": {
        "brokers": 3,
        "start": {1: "1s"},
        "settings": {"num.io.threads": 8},
        "broker_settings": {2: {"num.io.threads": 4}},
    },
    "topics": [{"name": "orders.eu", "partitions": 1}, {"name": "orders", "partitions": 2}],
    "faults": [{"name": "power", "kind": "crash", "for": "1m"}, {"kind": "pause"}],
}


def changed(path: str, value: object = "new") -> Any:
    return with_changes(SCENARIO, {path: value}).data


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("duration", ("duration",)),
        ("seed", ("seed",)),
        ("cluster.start.1", ("cluster", "start", 1)),
        ("cluster.settings.num.io.threads", ("cluster", "settings", "num.io.threads")),
        ("cluster.settings.min.insync.replicas", ("cluster", "settings", "min.insync.replicas")),
        (
            "cluster.broker_settings.2.log.flush.interval.ms",
            ("cluster", "broker_settings", 2, "log.flush.interval.ms"),
        ),
        ("topics.orders.partitions", ("topics", 1, "partitions")),
        ("topics.orders.eu.partitions", ("topics", 0, "partitions")),
        ("topics.1.settings.min.insync.replicas", ("topics", 1, "settings", "min.insync.replicas")),
        ("faults.power.for", ("faults", 0, "for")),
        ("faults.1.for", ("faults", 1, "for")),
        ("faults.2", ("faults", 2)),
        ("network.clients", ("network", "clients")),
    ],
)
def test_a_path_leads_to_one_place(path: str, keys: tuple[str | int, ...]) -> None:
    found: Any = changed(path)
    for key in keys:
        found = found[key]
    assert found == "new"


def test_what_is_beside_the_path_stays_and_the_file_is_not_touched() -> None:
    after = changed("faults.power.for", "5m")
    assert after == {
        **SCENARIO,
        "faults": [{**SCENARIO["faults"][0], "for": "5m"}, {"kind": "pause"}],
    }
    assert SCENARIO["faults"][0]["for"] == "1m"


def test_changes_are_made_one_after_the_other() -> None:
    changes = {"faults.2": {"name": "late"}, "faults.late.kind": "crash"}
    after: Any = with_changes(SCENARIO, changes).data
    assert after["faults"][2] == {"name": "late", "kind": "crash"}


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("faults.powr.for", "faults: has no item powr: items are 0 to 1; did you mean power?"),
        ("faults.3.for", "faults: has no item 3"),
        ("faults.-1.for", "faults: has no item -1"),
        ("duration.seconds", "duration: is '1m': there is nothing below it"),
        ("cluster..brokers", "must be names of fields with dots between them"),
        ("a" + ".a" * 1000, "must be names of fields with dots between them"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, complaint: str) -> None:
    with pytest.raises(ProblemsError) as found:
        changed(path)
    assert complaint in str(found.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("duration=5m", "5m"),
        ("cluster.brokers=6", 6),
        ('release="2.8"', "2.8"),
        ("release=2.10", "2.10"),
        ("cluster.broker_releases.2.protocol=2.4", "2.4"),
        ("seed=2", 2),
        ("racks=[a, b]", ["a", "b"]),
        ("name=a=b", "a=b"),
        ("description=", None),
    ],
)
def test_a_value_is_read_as_yaml(text: str, value: object) -> None:
    assert parse_change(text) == (text.partition("=")[0], value)


@pytest.mark.parametrize("text", ["duration", "=5m", "a=[", "a=!!bool perhaps", "a=" + "[" * 9999])
def test_what_is_no_change_is_one_line(text: str) -> None:
    with pytest.raises(ScenarioError) as found:
        parse_change(text)
    assert len(str(found.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('"2.6","3.9"', ('"2.6"', '"3.9"')),
        ("'a,b', c", ("'a,b'", "c")),
        ("[[1],[2]],[[1],[3]]", ("[[1],[2]]", "[[1],[3]]")),
        ("{0: [1,2]},{0: [2,1]}", ("{0: [1,2]}", "{0: [2,1]}")),
        ("10s, 20s", ("10s", "20s")),
        ("it's,that", ("it's", "that")),
        ("1,", ("1", "")),
        ("[1, 2", ("[1, 2",)),
        ("1],[2", ("1],[2",)),
    ],
)
def test_commas_separate_values_but_within_quotes_lists_and_mappings(
    text: str, values: tuple[str, ...]
) -> None:
    assert split_values(text) == values
