"""Batches of fuzzed runs: they do what written scenarios do, and find what is known to break."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tidegauge.engine.fuzzing.fuzzed_cluster import FuzzedCluster
from tidegauge.engine.group import Group
from tidegauge.engine.row_stream import RowStream
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.search.judged_runs import judged
from tidegauge.search.profiles import FuzzedKind, drawn_profile
from tidegauge.simulation.trace_rows.codes import REASON_END

TRUNCATES_TO_HIGH_WATERMARK = FuzzedKind("zookeeper", "0.10.2", brokers=2)
KIP_279 = FuzzedKind("zookeeper", "2.0")
KIP_320 = FuzzedKind("zookeeper", "2.6")
WITH_QUORUM = FuzzedKind("kraft", "4.4")


def fuzzed(kind: FuzzedKind, number: int = 0, *, is_guided: bool = False) -> FuzzedCluster:
    return FuzzedCluster(drawn_profile(kind, 1, number), 1, is_guided=is_guided)


def hashes_of(scenario: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """The rows of each process of a scenario that is run as any other, and the hash over them."""
    plan = ClusterPlan(scenario_from_mapping(scenario, "fuzz"))
    group, stream = Group(plan, range(len(plan.processes))), RowStream(plan)
    group.run_to(plan.scenario.duration_us, stream.take)
    group.close(plan.scenario.duration_us, stream.take, REASON_END)
    processes = group.world.processes
    return {place: (int(each.rows), int(each.hash)) for place, each in enumerate(processes)}


@pytest.mark.parametrize(
    "kind", [TRUNCATES_TO_HIGH_WATERMARK, KIP_320, WITH_QUORUM], ids=lambda kind: kind.release
)
def test_a_schedule_does_what_its_written_scenario_does(kind: FuzzedKind) -> None:
    # Each cluster has other timeouts, and one in three holds fetches, which are not computed then.
    for number in range(6):
        cluster = fuzzed(kind, number)
        for run in range(4):
            assert cluster.run_given(run) == hashes_of(cluster.present), (number, run)


def test_another_schedule_does_something_else() -> None:
    cluster = fuzzed(KIP_320)
    assert cluster.run_given(0) != cluster.run_given(1)
    assert cluster.run_given(0) == cluster.run_given(0)


@cache
def findings(number: int, *, is_guided: bool) -> tuple[tuple[int, str], ...]:
    cluster = fuzzed(TRUNCATES_TO_HIGH_WATERMARK, number, is_guided=is_guided)
    cluster.run(600)
    return tuple((each.run, each.check) for each in cluster.take_found())


@pytest.mark.parametrize("is_guided", [False, True])
def test_a_seed_finds_the_same_again(is_guided: bool) -> None:
    found = findings(0, is_guided=is_guided)
    findings.cache_clear()
    assert findings(0, is_guided=is_guided) == found != findings(1, is_guided=is_guided)


def test_truncation_to_the_high_watermark_breaks_with_two_brokers() -> None:
    """KIP-101: a follower that returns cuts records that its leader has committed."""
    cluster = fuzzed(TRUNCATES_TO_HIGH_WATERMARK)
    cluster.run(1_000)
    found = cluster.take_found()
    assert "strong_isr" in {each.check for each in found}
    # The verdicts are those of the checks in a run of the scenario.
    for each in found[:3]:
        plan = ClusterPlan(scenario_from_mapping(each.scenario, "fuzz"))
        assert judged(plan).verdicts()[each.check]["broken"] > 0


@pytest.mark.parametrize("kind", [KIP_320, WITH_QUORUM], ids=lambda kind: kind.release)
def test_the_finished_protocol_breaks_nothing(kind: FuzzedKind) -> None:
    """KIP-320 and KIP-966; tests/tidegauge/test_fuzz.py runs a hundred thousand schedules."""
    cluster = fuzzed(kind)
    assert cluster.run(1_500) == 1_500
    assert cluster.take_found() == []
    counts = cluster.counts()
    assert counts.overflows == 0
    # ... and tested something.
    assert counts.counted > 100
    assert min(counts.faults_begun) > 0


def test_a_run_counts_only_if_it_has_tested_something() -> None:
    profile = drawn_profile(KIP_320, 1, 0)
    wants = profile.__class__(**{**vars(profile), "gates": {"acknowledged": 1_000}})
    cluster = FuzzedCluster(wants, 1)
    cluster.run(50)
    assert cluster.counts().runs == 50
    assert cluster.counts().counted == 0


def test_a_loss_of_power_permits_what_it_breaks() -> None:
    cluster = fuzzed(KIP_320)
    cluster.run(1_500)
    counts = cluster.counts()
    assert counts.lossy > 0
    (reason, *_) = counts.permitted
    plan = ClusterPlan(scenario_from_mapping(cluster.permitted(reason), "fuzz"))
    permitted = [each["permitted"] for each in judged(plan).verdicts().values()]
    assert sum(permitted) > 0
