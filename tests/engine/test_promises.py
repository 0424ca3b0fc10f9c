"""Promises: no message comes too late, whatever steps of groups come between those of others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import interleaved_groups
from small_clusters import cluster_of
from threads import beside
from tidegauge.compiled.rules import rule
from tidegauge.engine.exchange import promises
from tidegauge.engine.exchange.atomic_words import load_word
from tidegauge.engine.exchange.shared_memory import SLEEPS, SharedMemory
from tidegauge.engine.exchange.state import Exchange, GroupExchange
from tidegauge.scenario.cluster_plan import ClusterPlan

#: Longer than anybody sleeps in a run.
LONG_NS = 60_000_000_000


def played(count: int, *protocols: str) -> dict[str, tuple[int, int, int]]:
    """What becomes of so many interleavings: messages handled, those too late, and hanging runs."""
    program = Path(interleaved_groups.__file__)
    told = subprocess.run(
        [sys.executable, str(program), str(count), *protocols],
        env=os.environ
        | {
            "TIDEGAUGE_COMPILED": "0",
            "PYTHONPATH": os.pathsep.join([str(program.parent), *sys.path]),
        },
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    ).stdout
    found: dict[str, tuple[int, int, int]] = json.loads(told)
    return found


def test_no_group_runs_past_a_message_that_reaches_it() -> None:
    """Steps are single reads and writes of shared words; a broken protocol is the twin.

    A group that takes messages has to say so: in between a third group would see neither their
    arrival nor what comes of them.
    """
    found = played(20, "whole", "takes without a number")
    handled, *wrong = found["whole"]
    assert handled > 500
    assert wrong == [0, 0]
    _, late, _ = found["takes without a number"]
    assert late > 0


@pytest.mark.long
def test_no_group_runs_past_a_message_in_500_interleavings() -> None:
    _, late, stuck = played(500, "whole")["whole"]
    assert (late, stuck) == (0, 0)


@pytest.mark.long
def test_an_arrival_is_noted_before_its_sender_promises_more() -> None:
    """The twin: the other way round a third group sees neither, if rarely."""
    _, late, _ = played(60, "arrivals behind promises")["arrivals behind promises"]
    assert late > 0


# Sleep.


@rule
def sleep(exchange: Exchange) -> None:
    """Sleep, or say so."""
    promises.sleep(exchange)


@rule
def wake_others(exchange: Exchange) -> None:
    """Wake the groups that sleep and may run."""
    promises.wake_others(exchange)


def two_exchanges() -> tuple[GroupExchange, GroupExchange, SharedMemory]:
    """Those of two groups on one machine that run to the end of a second."""
    plan = ClusterPlan(cluster_of())
    grouping = [[0], [*range(1, len(plan.processes))]]
    shared = SharedMemory([0, 1])
    shared.begin()
    one, other = (GroupExchange(plan, grouping, number) for number in range(2))
    for exchange in (one, other):
        exchange.link(shared)
        exchange.state.end_us = 1_000_000
    return one, other, shared


@pytest.mark.parametrize("may_run", [True, False])
def test_a_group_that_sleeps_is_woken_when_it_may_run(may_run: bool) -> None:
    """It has an event before the other's promise and a latency: else it sleeps on, undisturbed."""
    one, other, shared = two_exchanges()
    one.state.sleep_ns = LONG_NS if may_run else LONG_NS // 200
    word = shared.promise_of(0) + SLEEPS
    sleep(one.view)
    assert load_word(word) == 1, "it says so before it looks for the last time"
    sleeping = beside(partial(sleep, one.view))
    time.sleep(0.05)
    # All has been promised up to 0, so that it may run to the least latency.
    other.tables.groups[0].next_us = 999 if may_run else 1000
    wake_others(other.view)
    if may_run:
        sleeping.result(5)
        assert load_word(word) == 0
    else:
        assert not sleeping.done()
        assert load_word(word) == 1
        sleeping.result(5)


def test_a_group_that_is_woken_before_it_sleeps_does_not_sleep() -> None:
    one, other, _ = two_exchanges()
    one.state.sleep_ns = LONG_NS
    sleep(one.view)
    wake_others(other.view)
    beside(partial(sleep, one.view)).result(5)
