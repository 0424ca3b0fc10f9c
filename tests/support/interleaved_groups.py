"""Groups whose steps in shared memory happen in any order, one at a time, as a seed draws it.

As a program, in plain Python (``TIDEGAUGE_COMPILED=0``): it prints, for protocols that are "whole",
or broken ("arrivals behind promises", "takes without a number"), how many messages were handled, how many of them came too late, and how many
interleavings did not come to the end.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from linked_groups import linked_groups, send_fetch
from small_clusters import BROKER_1, BROKER_2, BROKER_3, cluster_of
from tidegauge.engine.exchange import promises, rings, windows
from tidegauge.engine.exchange.atomic_words import load_word, store_word
from tidegauge.engine.exchange.shared_memory import NEXT, VERSION
from tidegauge.engine.exchange.state import ENDED
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.events import free_event, pop

END_US = 1_000_000
#: Messages that groups send in one interleaving.
MESSAGES = 60
#: Some ten times as many as an interleaving takes.
MOST_STEPS = 20_000


class TooManyStepsError(Exception):
    """Some group has ended though there was a message for it."""


class Turns:
    """Threads of which one runs at a time; before each step another one may take over."""

    def __init__(self, draw: Random, tasks: list[Callable[[], None]]) -> None:
        self._draw = draw
        self._waits = [threading.Semaphore(0) for _ in tasks]
        self._running = set(range(len(tasks)))
        self._all_done = threading.Semaphore(0)
        self.current = 0
        self.steps = 0
        for number, task in enumerate(tasks):
            threading.Thread(target=self._run, args=(number, task), daemon=True).start()

    def run(self) -> None:
        """Begin, and wait until all tasks are done."""
        self._pass_on()
        self._all_done.acquire()

    def step(self) -> None:
        """Perhaps let another one run now."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManyStepsError
        if self._draw.random() < 0.3:
            number = self.current
            self._pass_on()
            self._waits[number].acquire()

    def _pass_on(self) -> None:
        self.current = self._draw.choice(sorted(self._running))
        self._waits[self.current].release()

    def _run(self, number: int, task: Callable[[], None]) -> None:
        self._waits[number].acquire()
        with suppress(TooManyStepsError):
            task()
        self._running.discard(number)
        if self._running:
            self._pass_on()
        else:
            self._all_done.release()


class Interleaving:
    """Three groups, a broker in each, that send each other messages as a seed draws them."""

    def __init__(self, seed: int, protocol: str) -> None:
        self._draw = Random(seed)  # noqa: S311  # nothing here is a secret
        self._protocol = protocol
        plan = ClusterPlan(cluster_of())
        grouping = [[BROKER_1], [BROKER_2], [*range(BROKER_3, len(plan.processes))]]
        self._groups = linked_groups(plan, grouping)
        self._left = MESSAGES
        #: Of each group the arrivals that it has not noted yet, in the broken protocol.
        self._held: list[list[tuple[int, int]]] = [[], [], []]
        self.handled = 0
        self.late = 0
        self.is_stuck = False

    def run(self) -> None:
        """Let all groups run to the end."""
        for number, group in enumerate(self._groups):
            self._prepare(number, group)
        self._turns = Turns(
            self._draw,
            [lambda number=number: self._run_group(number) for number in range(3)],  # type: ignore[misc]  # its default
        )
        with pytest.MonkeyPatch.context() as patch:
            self._take_steps(patch)
            self._turns.run()
        self.is_stuck = self._turns.steps > MOST_STEPS

    def _prepare(self, number: int, group: Group) -> None:
        """Let no event wait but a few that will send messages."""
        while group.world.context[0].heap_size > 0:
            free_event(group.kernel_view, pop(group.kernel_view))
        for _ in range(2):
            group.world.context[0].time_us = self._draw.randrange(20_000)
            send_fetch(group.kernel_view, number, number, 0, 0)
        group.world.context[0].time_us = 0
        group.begin(END_US)

    def _run_group(self, number: int) -> None:
        group = self._groups[number]
        world, exchange = group.kernel_view, group.exchange.view
        context = world.context[0]
        while windows.go_to_next_run(world, exchange) != ENDED:
            while context.heap_size > 0 and world.heap[0].time_us < context.horizon_us:
                event = pop(world)
                self.handled += 1
                self.late += int(event.time_us < context.time_us)
                context.time_us = max(context.time_us, event.time_us)
                free_event(world, event)
                for _ in range(self._draw.choice((0, 1, 1, 2))):
                    if self._left > 0:
                        self._left -= 1
                        send_fetch(world, number, self._draw.randrange(3), 0, 0)
                promises.hand_on(world, exchange)

    # Steps in shared memory.

    def _take_steps(self, patch: pytest.MonkeyPatch) -> None:
        """Let the exchange take its steps in turns with the other groups."""
        for module in (promises, rings):
            patch.setattr(module, "load_word", self._stepping(load_word))
            patch.setattr(module, "store_word", self._stepping(self._store))
            patch.setattr(module, "lower_word", self._stepping(self._lower))
        patch.setattr(promises, "swap_word", self._stepping(self._swap))

    def _stepping(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def taken(*arguments: int) -> Any:
            self._turns.step()
            return step(*arguments)

        return taken

    def _store(self, address: int, value: int) -> None:
        number = self._turns.current
        promise = self._groups[number].exchange.state.promise
        if self._protocol == "takes without a number" and address == promise + VERSION:
            return
        store_word(address, value)
        if address == promise + NEXT:
            self._note_held(number)

    def _lower(self, address: int, value: int) -> None:
        number = self._turns.current
        if self._protocol == "arrivals behind promises":
            self._held[number].append((address, value))
        elif value < load_word(address):
            store_word(address, value)

    def _note_held(self, number: int) -> None:
        held, self._held[number] = self._held[number], []
        for address, value in held:
            for _ in range(20):
                self._turns.step()
            store_word(address, min(value, load_word(address)))

    def _swap(self, address: int, value: int) -> int:
        found = load_word(address)
        store_word(address, value)
        return found


def played(protocol: str, seeds: range) -> tuple[int, int, int]:
    """The messages that were handled, those of them that came too late, and the runs that hang."""
    handled = late = stuck = 0
    for seed in seeds:
        interleaving = Interleaving(seed, protocol)
        interleaving.run()
        handled += interleaving.handled
        late += interleaving.late
        stuck += interleaving.is_stuck
    return handled, late, stuck


if __name__ == "__main__":
    count, *protocols = sys.argv[1:]
    print(json.dumps({protocol: played(protocol, range(int(count))) for protocol in protocols}))
