"""Pages in both formats: our own writer and prometheus_client write the same samples."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text

from cluster_snapshots import healthy, plan_of
from tidegauge.metrics.endpoint.openmetrics_file import Format, wanted_format, written_page
from tidegauge.metrics.endpoint.pages import PageLines, client_page
from tidegauge.metrics.samples.exposition import Exposition, Presentation
from tidegauge.metrics.samples.layout import Level, texts_of
from tidegauge.metrics.samples.successive_snapshots import (
    ActorHealth,
    Health,
    ScrapeCounts,
    SnapshotContext,
)
from tidegauge.metrics.samples.targets import (
    EXPORTER,
    SIMULATION,
    joined,
    label_text,
    labels_of,
    target_labels,
    targets_of,
)
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan

PARSERS: dict[Format, Any] = {Format.TEXT: text, Format.OPENMETRICS: openmetrics}
#: What a group may be called, and labels have to escape.
ODD = 'bill"ing\\n, {of} \\ "é'

Parsed = list[tuple[str, str, str, list[tuple[str, dict[str, str], float]]]]


def parsed(page: bytes, page_format: Format) -> Parsed:
    """Metrics of a page with their samples, in order."""
    families: list[Metric] = list(PARSERS[page_format](page.decode()))
    return [
        (
            family.name,
            family.type,
            family.documentation,
            [(sample.name, dict(sample.labels), sample.value) for sample in family.samples],
        )
        for family in families
    ]


def odd_plan() -> ClusterPlan:
    settings = {"enable.auto.commit": True}
    group = {"name": ODD, "topics": ["orders"], "settings": settings}
    return plan_of(workload={"producers": [], "consumers": [group]})


def busy(plan: ClusterPlan) -> tuple[Snapshot, SnapshotContext]:
    """Numbers of all sizes everywhere."""
    snapshot = healthy(plan)
    numbers = np.random.default_rng(1)
    for rows in (snapshot.brokers, snapshot.replicas, snapshot.broker_topics):
        for name in rows.dtype.names or ():
            if rows.dtype[name].kind == "i" and name != "source_broker":
                rows[name] = 10 ** numbers.integers(0, 17, len(rows))
    actor = ActorHealth(ODD, 10**17, 1e-7, 0.1, 1e20, 0.5)
    context = SnapshotContext(
        Health(1.0, 10_000_000, 1.5, 1, 10**12, 3, (actor,)),
        speed=1 / 3,
        window_us=1.0,
        consumer_lag_ms=np.full(len(snapshot.committed), 1e-9),
        scrapes=ScrapeCounts({EXPORTER: 3}, 0.25),
    )
    return snapshot, context


@pytest.mark.parametrize("page_format", Format)
@pytest.mark.parametrize("level", Level)
def test_both_writers_write_the_same_samples_of_each_target(
    page_format: Format, level: Level
) -> None:
    plan = odd_plan()
    snapshot, context = busy(plan)
    exposition = Exposition(plan, Presentation(level))
    for target in targets_of(plan):
        series = list(exposition.series(snapshot, context, target))
        ours = parsed(written_page(series, page_format), page_format)
        assert ours == parsed(client_page(series, page_format), page_format)
        assert ours


@pytest.mark.parametrize("page_format", Format)
@pytest.mark.parametrize("level", Level)
def test_lines_that_are_kept_are_those_that_would_be_written_anew(
    page_format: Format, level: Level
) -> None:
    """Values change, brokers go and come back, logs move: the pages are those of each snapshot."""
    plan = odd_plan()
    lines = PageLines()
    exposition = Exposition(plan, Presentation(level))
    snapshots = [busy(plan)[0] for _ in range(4)]
    snapshots[1].brokers["isr_shrinks"][0] += 7
    snapshots[1].replicas["log_end_offset"][::2] += 1_000
    snapshots[2].brokers["answers"][0] = False
    snapshots[3].replicas["fetcher"] = 0
    seen = set()
    for snapshot in snapshots:
        lines.update(exposition.series(snapshot))
        for broker in range(len(plan.brokers)):
            series = list(exposition.series(snapshot, target=broker))
            page = lines.page(broker, page_format)
            written = written_page(series, page_format)
            assert sorted(page.splitlines()) == sorted(written.splitlines())
            seen.add(page)
    assert len(seen) > len(plan.brokers)


@pytest.mark.parametrize("page_format", Format)
def test_both_writers_write_the_same_page_of_all_targets(page_format: Format) -> None:
    plan = odd_plan()
    snapshot, context = busy(plan)
    series = list(Exposition(plan).series(snapshot, context))
    labels = texts_of(label_text(target_labels(plan, target)) for target in targets_of(plan))
    ours = parsed(written_page(series, page_format, labels), page_format)
    assert ours == parsed(client_page(series, page_format, labels), page_format)
    # Each sample is of a target, and no two are of the same labels.
    samples = [(name, tuple(sorted(own.items()))) for *_, found in ours for name, own, _ in found]
    assert len(set(samples)) == len(samples) == sum(len(one.values) for one in series)
    assert all({"job", "instance"} <= {name for name, _ in own} for _, own in samples)


@pytest.mark.parametrize("write", [written_page, client_page])
@pytest.mark.parametrize("page_format", Format)
def test_a_name_that_has_to_be_escaped_arrives(
    write: Callable[..., bytes], page_format: Format
) -> None:
    plan = odd_plan()
    series = Exposition(plan).series(healthy(plan), target=EXPORTER)
    groups = {
        own["consumergroup"]
        for name, _, _, samples in parsed(write(series, page_format), page_format)
        for _, own, _ in samples
        if name.startswith("kafka_consumergroup")
    }
    assert groups == {ODD}


def test_values_are_what_the_snapshot_has_to_the_last_digit() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.replicas["log_end_offset"] = 2**53 - 1
    page = written_page(Exposition(plan).series(snapshot, target=0), Format.TEXT).decode()
    assert "\nkafka_log_log_logendoffset{" in page
    assert f'topic="orders",partition="0"}} {2**53 - 1}\n' in page


def test_openmetrics_names_a_counter_without_its_suffix_and_has_an_end() -> None:
    plan = plan_of()
    page = written_page(Exposition(plan).series(healthy(plan), target=0), Format.OPENMETRICS)
    assert b"# TYPE kafka_server_replicamanager_isrshrinks counter\n" in page
    assert b"\nkafka_server_replicamanager_isrshrinks_total 0\n" in page
    assert page.endswith(b"\n# EOF\n")


def test_what_nobody_has_told_is_no_sample() -> None:
    plan = plan_of()
    page = written_page(Exposition(plan).series(healthy(plan), target=SIMULATION), Format.TEXT)
    assert b"nan" not in page.lower()
    assert b"tidegauge_virtual_time_seconds 10.0\n" in page
    assert b"tidegauge_events_total" not in page


def test_labels_are_read_back() -> None:
    labels = {"group": ODD, "empty": "", "line": "a\nb", "partition": "3"}
    assert labels_of(label_text(labels)) == labels
    assert joined("", label_text({"a": 1}), "", label_text({"b": 2})) == 'a="1",b="2"'


PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "page_format"),
    [
        ("", Format.TEXT),
        ("*/*", Format.TEXT),
        ("text/html,application/xhtml+xml,*/*;q=0.8", Format.TEXT),
        (PROMETHEUS_2, Format.OPENMETRICS),
        ("application/openmetrics-text", Format.OPENMETRICS),
        ("text/plain;version=0.0.4, application/openmetrics-text;q=0.5", Format.TEXT),
        ("application/openmetrics-text;version=2.0.0, text/plain;q=0.1", Format.TEXT),
        ("application/openmetrics-text;q=0", Format.TEXT),
        ("application/openmetrics-text;q=nan", Format.TEXT),
        ("application/openmetrics-text;q=x, ;;;=, ,", Format.TEXT),
    ],
)
def test_a_client_gets_the_format_that_it_prefers(accept: str, page_format: Format) -> None:
    assert wanted_format(accept) is page_format


def test_our_own_writer_is_at_least_ten_times_as_quick() -> None:
    # A ratio within one run, as two measurements on a busy machine are slow alike.
    assignment = {number: [1, 2, 3] for number in range(200)}
    plan = plan_of(topics=[{"name": "orders", "assignment": assignment}])
    series = list(Exposition(plan).series(healthy(plan)))
    ours = min(_cpu_seconds(written_page, series) for _ in range(5))
    theirs = min(_cpu_seconds(client_page, series) for _ in range(2))
    assert theirs > 10 * ours


def _cpu_seconds(write: Callable[..., bytes], series: object) -> float:
    began = time.process_time()
    write(series, Format.TEXT)
    return time.process_time() - began
