"""One scenario with many seeds, in several processes at once.

Each process runs one seed after the other; which of them runs which makes no difference. A seed
that fails, or whose process dies, is told as such, and the others go on. An interruption reaches
this process alone: the others are asked to stop, and close the traces that they write.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tidegauge.engine import Passed
from tidegauge.simulate import simulate
from tidegauge.simulation.scenario import load_scenario
from tidegauge.simulation.scenario_errors import one_line

#: The figures of ``summary.json`` that seeds are compared by; the first one weighs most.
FIGURES = (
    "records_acknowledged_lost",
    "partition_seconds_offline",
    "partition_seconds_under_min_isr",
)

#: A process of its own for each, made anew: nothing of this one's state is in it.
_PROCESSES = get_context("spawn")


class SeedsInput(NamedTuple):
    """What is run with each seed."""

    #: The scenario.
    file: Path
    #: Other values in it, by their paths; the seed comes on top.
    changes: Mapping[str, object]
    #: Each seed has a folder in this one.
    out: Path


@dataclass(frozen=True)
class SeedRun:
    """What came of one seed."""

    seed: int
    folder: str
    #: Why it has no summary; None if it has.
    error: str | None = None
    #: The checks whose verdict was not as expected, and ``steps`` if one waited in vain.
    unexpected: Sequence[str] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    trace_sha256: str | None = None

    @property
    def is_as_expected(self) -> bool:
        """Whether it came to its end, and nothing was a surprise."""
        return self.error is None and not self.unexpected

    @property
    def badness(self) -> tuple[float, ...]:
        """What seeds are ordered by: a surprise, then the figures; of equals the first is worst."""
        figures = (self.figures.get(name, 0) for name in FIGURES)
        return (not self.is_as_expected, *figures, -self.seed)


class _Stopped(Exception):  # noqa: N818 - somebody wanted it so
    """The run was to end before its time."""


class _Flag(Protocol):
    """An event that all processes see."""

    def is_set(self) -> bool: ...


def folder_of(out: Path, seed: int) -> Path:
    """The folder of a seed's run."""
    return out / f"seed-{seed}"


def run_seeds(run: SeedsInput, seeds: Sequence[int], jobs: int) -> Iterator[SeedRun]:
    """What comes of each seed, in the order in which they end.

    If the iteration ends early, by an interruption too, all processes are stopped first.

    Args:
        run: what is run with each seed.
        seeds: the seeds, each of them once.
        jobs: how many processes.
    """
    waiting = iter(seeds)
    stop = _PROCESSES.Event()
    workers: list[_Worker] = []
    try:
        workers += [_Worker(run, stop) for _ in range(min(jobs, len(seeds)))]
        for worker in workers:
            worker.begin(next(waiting, None))
        while busy := {worker.connection: worker for worker in workers if worker.seed is not None}:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]  # these are all that is waited for
                result, is_alive = worker.result()
                if not is_alive:
                    workers[workers.index(worker)] = worker = _Worker(run, stop)
                worker.begin(next(waiting, None))
                yield result
    finally:
        stop.set()
        for worker in workers:
            worker.end()


class _Worker:
    """A process that runs one seed after the other, as this one sees it."""

    def __init__(self, run: SeedsInput, stop: object) -> None:
        self._out = run.out
        #: Which one it runs; None: nothing.
        self.seed: int | None = None
        self.connection, its_end = _PROCESSES.Pipe()
        self._process = _PROCESSES.Process(target=_work, args=(its_end, stop, run), daemon=True)
        # What is ignored now is ignored by the process from its very beginning.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._process.start()
        finally:
            signal.signal(signal.SIGINT, before)
        its_end.close()

    def begin(self, seed: int | None) -> None:
        """Have it run a seed; None if there is none left."""
        self.seed = seed
        if seed is not None:
            self.connection.send(seed)

    def result(self) -> tuple[SeedRun, bool]:
        """What came of the seed, and whether the process can run another."""
        assert self.seed is not None
        try:
            result: SeedRun = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            error = f"its process died, exit status {self._process.exitcode}"
            return SeedRun(self.seed, str(folder_of(self._out, self.seed)), error), False
        return result, True

    def end(self) -> None:
        """Wait until it has ended, once it was told to stop."""
        self.connection.close()
        self._process.join()


# What the processes do.


def _work(connection: Connection, stop: _Flag, run: SeedsInput) -> None:
    """Run seeds until there are no more, or nobody is there to name them."""
    parent = os.getppid()

    def stop_if_wanted(_passed: Passed) -> None:
        if stop.is_set() or os.getppid() != parent:
            raise _Stopped("it was stopped")

    while True:
        try:
            seed = connection.recv()
            connection.send(_run_seed(run, seed, stop_if_wanted))
        except (EOFError, OSError):
            return


def _run_seed(run: SeedsInput, seed: int, progress: Callable[[Passed], None]) -> SeedRun:
    folder = folder_of(run.out, seed)
    try:
        scenario = load_scenario(run.file, {**run.changes, "seed": seed})
        summary = simulate(scenario, folder, progress=progress).summary
    except OSError as error:
        return SeedRun(seed, str(folder), f"cannot be written to: {error.strerror or error}")
    except Exception as error:  # noqa: BLE001 - whatever it is, the other seeds go on
        return SeedRun(seed, str(folder), one_line(f"{type(error).__name__}: {error}"))
    assert summary is not None
    return SeedRun(
        seed,
        str(folder),
        unexpected=_unexpected(summary),
        figures={name: summary[name] for name in FIGURES},
        trace_sha256=summary["trace_sha256"],
    )


def _unexpected(summary: dict[str, Any]) -> list[str]:
    checks = [name for name, found in summary["checks"].items() if not found["as_expected"]]
    return checks + ["steps"] * bool(summary["steps_timed_out"])
