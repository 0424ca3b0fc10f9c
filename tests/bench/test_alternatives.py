"""The models of ``bench/alternatives`` have one outcome, by whatever they are run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Of some seconds: the idle fetches before the first one are few events beside them.
BATCHES = 3_000


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The bench is not installed: its modules, by name."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])
    return lambda name: import_module(f"bench.alternatives.{name}")


def test_a_scenario_has_the_outcome_of_the_model_on_a_heap(module: Callable[[str], Any]) -> None:
    """Acknowledged batches, high watermark, latency and events; by SimPy, too, where it is."""
    names = ["with_heapq", "with_tidegauge", *(["with_simpy"] if find_spec("simpy") else [])]
    outcomes = {name: (BATCHES, module(name).replication(BATCHES)) for name in names}
    assert module("model").disagreements("replication", outcomes) == []


def test_the_kernels_heap_serves_a_queue_as_theory_has_it(module: Callable[[str], Any]) -> None:
    """A customer of an M/M/1 queue stays for 1 / (service rate - arrival rate) on average."""
    model = module("model")
    stay_us = 1 / (1 / model.SERVICE_US - 1 / model.ARRIVAL_US)
    outcome = module("with_tidegauge").queue(500_000)
    assert outcome.mean_us == pytest.approx(stay_us, rel=0.01)
    assert outcome.events == pytest.approx(2 * 500_000, abs=100)


def test_an_outcome_that_differs_is_named(module: Callable[[str], Any]) -> None:
    model = module("model")
    took = model.Took(1.0, 1.0)
    usual = model.Outcome(700, 100, 2400.0, took, 100)
    lost = usual._replace(finished=99, high_watermark=99)
    slow = usual._replace(mean_us=2500.0, events=800)
    each = {"usual": usual, "too": usual, "lost": lost, "slow": slow}
    found = model.disagreements("replication", {name: (100, it) for name, it in each.items()})
    assert found == [
        "lost: 99 of 100 are finished",
        "lost: the high watermark is 99, not 100",
        "slow: a mean of 2,500 us, usual is a mean of 2,400 us",
        "slow: 8.00 events for each, usual is 7.00 events for each",
    ]
