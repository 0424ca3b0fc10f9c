"""Figures in the sentences and tables of README and docs/, held against the runs that they name.

In a claim ``{0|isr_notifications|,}`` stands for a figure: of which run, under which name
(``tidegauge sweep --figures``), in which format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

import tidegauge
from documented import pages
from tidegauge.sweeps.many_runs import Outcome, outcome_of
from tidegauge.traces.run_folder import RunFolder

#: All pages as one text, however their lines are broken.
TEXT = re.sub(r"\s+", " ", " ".join(page.read_text(encoding="utf-8") for page in pages()))

FIGURE = re.compile(r"\{(\d)\|([^|}]+)\|([^}]*)\}")


class Told(NamedTuple):
    """Runs that a page tells of, and what it says about them."""

    scenario: str
    #: Of each run: what is other than in the scenario.
    changes: Sequence[Mapping[str, object]]
    claims: Sequence[str]


RACK = Told(
    "rack-power-loss",
    [{}],
    [
        "for up to {0|longest_stall_seconds|.0f} s, {0|partition_seconds_stalled|,.0f}",
        "all partitions are online again ({0|partition_seconds_offline|,.0f} partition-seconds)",
        "under min ISR, for {0|partition_seconds_under_min_isr|,.0f} partition-seconds",
        "but {0|records_unsent|,} of 176 million records never leave the applications",
        "By the check `strong_isr` {0|checks.strong_isr.permitted|,} partitions were",
    ],
)

STORM = {"topics.orders.partitions": 20_000, "trace": "all"}
STORMS = Told(
    "isr-storm",
    [
        STORM,
        STORM | {"cluster.settings.isr_change_notification_batching": False},
        STORM | {"release": "2.8"},
    ],
    [
        (
            "| notifications | {0|isr_notifications|,} | {1|isr_notifications|,} "
            "| {2|isr_notifications|,} |"
        ),
        (
            "longest wait in its queue | * s, {0|controller_queue_ms.max|ms} "
            "| * s, {1|controller_queue_ms.max|ms} | * s, {2|controller_queue_ms.max|ms} |"
        ),
    ],
)

ROLLS = Told(
    "rolling-restart",
    [
        {"faults.roll.batch": batch, "topics.orders.replication_factor": replicas}
        for replicas in (3, 4)
        for batch in (1, 2)
    ],
    [
        (
            "| 1, 3 | {0|roll.seconds|.0f} s | never "
            "| {0|partition_seconds_at_min_isr|,.0f} partition-seconds "
            "| {0|produce_ms.shop.p99|ms} |"
        ),
        (
            "| 2, 3 | {1|roll.seconds|.0f} s "
            "| {1|partition_seconds_under_min_isr|,.0f} partition-seconds "
            "| {1|partition_seconds_at_min_isr|,.0f} | {1|produce_ms.shop.p99|ms} |"
        ),
        "| 1, 4 | {2|roll.seconds|.0f} s | never | never | {2|produce_ms.shop.p99|ms} |",
        (
            "| 2, 4 | {3|roll.seconds|.0f} s | never "
            "| {3|partition_seconds_at_min_isr|,.0f} | {3|produce_ms.shop.p99|ms} |"
        ),
    ],
)

CONTROL = Told(
    "isolated-leader",
    [{"faults.cut.between": [[1], ["zookeeper", 4]]}],
    ["{0|records_acknowledged_lost|} records are lost that broker 1 acknowledged after that"],
)

SLOW_NETWORK = {"resources.network_in": "1Gbit/s", "resources.network_out": "1Gbit/s"}
FETCHERS = Told(
    "bounce-cost",
    [
        {
            "faults.roll.poll": "500ms",
            "cluster.settings.num.replica.fetchers": fetchers,
            **network,
        }
        for network in ({}, SLOW_NETWORK)
        for fetchers in (1, 2, 4, 8)
    ],
    [
        (
            "| 1,500 replicas per broker, 10 Gbit/s | {0|roll.seconds|.0f} s "
            "| {1|roll.seconds|.0f} s | {2|roll.seconds|.0f} s | {3|roll.seconds|.0f} s |"
        ),
        (
            "| 1,500 replicas per broker, 1 Gbit/s | {4|roll.seconds|.0f} s "
            "| {5|roll.seconds|.0f} s | {6|roll.seconds|.0f} s | {7|roll.seconds|.0f} s |"
        ),
    ],
)

LEADERSHIP = Told(
    "leadership-back",
    [{}, {"topics.orders.partitions": 10_000}],
    [
        "The slowest batch takes {0|produce_ms.shop.max|ms} with 1,400 replicas per broker",
        "(P99 {0|produce_ms.shop.p99|ms}), and {1|produce_ms.shop.max|ms} with 5,000",
    ],
)

THROTTLES = Told(
    "reassignment",
    [
        {"duration": "30m", "liveness": False, "steps.0.throttle": throttle}
        for throttle in (None, 80_000_000)
    ],
    [
        (
            "| none | {0|reassignments.steps.0.seconds|.0f} s | {0|produce_ms.shop.p99|ms} "
            "| {0|isr_shrinks|} |"
        ),
        (
            "| 80 MB/s | {1|reassignments.steps.0.seconds|.0f} s | {1|produce_ms.shop.p99|ms} "
            "| {1|isr_shrinks|} |"
        ),
        (
            "the slowest batch waits for {0|produce_ms.shop.max|ms}, which is "
            "delivery.timeout.ms: {0|records_failed|,} records fail, and "
            "{0|records_unsent|,} never leave the applications"
        ),
    ],
)


def in_words(value: float | None, form: str) -> str:
    if value is None or form != "ms":
        return format(value, form)
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def written(claim: str, runs: Sequence[Outcome]) -> str:
    """The claim with its figures in it."""
    return FIGURE.sub(lambda found: in_words(runs[int(found[1])].figure(found[2]), found[3]), claim)


def stands_in_text(claim: str) -> bool:
    """Whether a page says so; ``*`` is a number that is held against nothing here."""
    return re.search(r"[\d.,]+".join(map(re.escape, claim.split("*"))), TEXT) is not None


def test_a_claim_with_another_figure_is_found() -> None:
    assert stands_in_text("| notifications | 4 | 10,001 | 0 |")
    assert stands_in_text("| notifications | * | 10,001 | 0 |")
    assert not stands_in_text("| notifications | 4 | 10,002 | 0 |")


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(RACK, marks=pytest.mark.long),
        pytest.param(STORMS, marks=pytest.mark.long),
        ROLLS,
        CONTROL,
        pytest.param(FETCHERS, marks=pytest.mark.long),
        pytest.param(LEADERSHIP, marks=pytest.mark.long),
        pytest.param(THROTTLES, marks=pytest.mark.long),
    ],
    ids=lambda told: told.scenario,
)
def test_figures_in_sentences_and_tables_are_those_of_the_runs(told: Told, tmp_path: Path) -> None:
    runs = [
        outcome_of(
            RunFolder(tidegauge.run(told.scenario, changes=each, out=tmp_path / str(at)).path)
        )
        for at, each in enumerate(told.changes)
    ]
    claims = [written(claim, runs) for claim in told.claims]
    assert [claim for claim in claims if not stands_in_text(claim)] == []
