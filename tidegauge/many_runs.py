"""Many runs in several processes at once: seeds of a scenario, or variants of it.

Each process runs one after the other; which of them runs which makes no difference. A run that
fails, or whose process dies, is told as such, and the others go on. An interruption reaches this
process alone: the others are asked to stop, and close the traces that they write.
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
from tidegauge.history.fault_spans import fault_spans
from tidegauge.run_folder import RunFolder
from tidegauge.simulate import simulate
from tidegauge.simulation.durations import parse_duration
from tidegauge.simulation.scenario import load_scenario
from tidegauge.simulation.scenario_errors import one_line

#: A process of its own for each, made anew: nothing of this one's state is in it.
_PROCESSES = get_context("spawn")


class PlannedRun(NamedTuple):
    """One of the runs."""

    #: The scenario, and other values in it by their paths.
    file: Path
    changes: Mapping[str, object]
    folder: Path


@dataclass(frozen=True)
class EndedRun:
    """What came of it."""

    #: Its place among those that were planned.
    number: int
    #: Why it has no summary; None if it has.
    error: str | None = None
    #: The checks whose verdict was not as expected, and ``steps`` if one waited in vain.
    unexpected: Sequence[str] = ()
    #: Every number of its summary, with dots where it lies in a part of it; and of each fault how
    #: many ``seconds`` it was on, to the end of the run if it did not end before.
    figures: Mapping[str, float] = field(default_factory=dict)
    trace_sha256: str | None = None


class _Stopped(Exception):  # noqa: N818 - somebody wanted it so
    """The run was to end before its time."""


class _Flag(Protocol):
    """An event that all processes see."""

    def is_set(self) -> bool: ...


def run_all(runs: Sequence[PlannedRun], jobs: int) -> Iterator[EndedRun]:
    """What comes of each run, in the order in which they end.

    If the iteration ends early, by an interruption too, all processes are stopped first.

    Args:
        runs: what is run, each in a folder of its own.
        jobs: how many processes.
    """
    waiting = iter(range(len(runs)))
    stop = _PROCESSES.Event()
    workers: list[_Worker] = []
    try:
        workers += [_Worker(runs, stop) for _ in range(min(jobs, len(runs)))]
        for worker in workers:
            worker.begin(next(waiting, None))
        while busy := {
            worker.connection: worker for worker in workers if worker.number is not None
        }:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]  # these are all that is waited for
                ended, is_alive = worker.ended()
                if not is_alive:
                    workers[workers.index(worker)] = worker = _Worker(runs, stop)
                worker.begin(next(waiting, None))
                yield ended
    finally:
        stop.set()
        for worker in workers:
            worker.end()


class _Worker:
    """A process that runs one after the other, as this one sees it."""

    def __init__(self, runs: Sequence[PlannedRun], stop: object) -> None:
        #: Which one it runs; None: nothing.
        self.number: int | None = None
        self.connection, its_end = _PROCESSES.Pipe()
        self._process = _PROCESSES.Process(target=_work, args=(its_end, stop, runs), daemon=True)
        # What is ignored now is ignored by the process from its very beginning.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._process.start()
        finally:
            signal.signal(signal.SIGINT, before)
        its_end.close()

    def begin(self, number: int | None) -> None:
        """Have it run one of the runs; None if there is none left."""
        self.number = number
        if number is not None:
            self.connection.send(number)

    def ended(self) -> tuple[EndedRun, bool]:
        """What came of the run, and whether the process can run another."""
        assert self.number is not None
        try:
            ended: EndedRun = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            error = f"its process died, exit status {self._process.exitcode}"
            return EndedRun(self.number, error), False
        return ended, True

    def end(self) -> None:
        """Wait until it has ended, once it was told to stop."""
        self.connection.close()
        self._process.join()


# What the processes do.


def _work(connection: Connection, stop: _Flag, runs: Sequence[PlannedRun]) -> None:
    """Run what is asked for until there is no more, or nobody is there to ask."""
    parent = os.getppid()

    def stop_if_wanted(_passed: Passed) -> None:
        if stop.is_set() or os.getppid() != parent:
            raise _Stopped("it was stopped")

    while True:
        try:
            number = connection.recv()
            connection.send(_run(number, runs[number], stop_if_wanted))
        except (EOFError, OSError):
            return


def _run(number: int, planned: PlannedRun, progress: Callable[[Passed], None]) -> EndedRun:
    try:
        scenario = load_scenario(planned.file, planned.changes)
        run = simulate(scenario, planned.folder, progress=progress)
        figures = dict(_figures(run))
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        return EndedRun(number, one_line(f"{type(error).__name__}: {error}"))
    assert run.summary is not None
    sha256 = run.summary["trace_sha256"]
    return EndedRun(number, None, _unexpected(run.summary), figures, sha256)


def _figures(run: RunFolder) -> Iterator[tuple[str, float]]:
    assert run.summary is not None
    yield from _numbers("", run.summary)
    end_us = parse_duration(run.manifest["scenario"]["duration"])
    for span in fault_spans(run):
        last_us = end_us if span.end_us is None else min(end_us, span.end_us)
        name = run.manifest["faults"][span.fault]["name"]
        yield f"{name}.seconds", (last_us - span.begin_us) / 1e6


def _numbers(path: str, part: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in part.items():
        if isinstance(value, Mapping):
            yield from _numbers(f"{path}{name}.", value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{path}{name}", value


def _unexpected(summary: Mapping[str, Any]) -> list[str]:
    checks = [name for name, found in summary["checks"].items() if not found["as_expected"]]
    return checks + ["steps"] * bool(summary["steps_timed_out"])
