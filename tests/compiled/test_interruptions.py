"""A SIGINT while a process is being started is never lost: it takes effect afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from threading import Thread

import pytest

from tidegauge.compiled.interruptions import interruptions_deferred

#: SIGINT arrives in a callback of the fork, here and in the new process.
FORKING = """
import os, signal, subprocess, sys
from contextlib import nullcontext
from tidegauge.compiled.interruptions import interruptions_deferred

signal.signal(signal.SIGINT, signal.default_int_handler)
interrupt = lambda: signal.raise_signal(signal.SIGINT)
os.register_at_fork(after_in_parent=interrupt, after_in_child=interrupt)
try:
    with {deferred}():
        subprocess.run([sys.executable, "-c", "print('begun')"], preexec_fn=lambda: None)
except KeyboardInterrupt:
    print("interrupted")
else:
    print("lost")
"""


@pytest.mark.parametrize(
    ("deferred", "end"), [("nullcontext", "lost"), ("interruptions_deferred", "interrupted")]
)
def test_an_interruption_in_a_callback_of_a_fork_takes_effect_afterwards(
    deferred: str, end: str
) -> None:
    command = [sys.executable, "-c", FORKING.format(deferred=deferred)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["begun", end]
    assert ("KeyboardInterrupt" in ran.stderr) is (end == "lost")


@pytest.fixture
def arrived() -> Iterator[list[int]]:
    """The signals that the handler of SIGINT has got, which is in force for a test."""
    signals: list[int] = []
    former = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    yield signals
    signal.signal(signal.SIGINT, former)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_the_former_handler_gets_it_at_the_end_also_where_the_start_fails(
    arrived: list[int],
) -> None:
    def fail_to_start() -> None:
        interrupt()
        assert arrived == []
        raise OSError("no such program")

    with pytest.raises(OSError, match="no such program"), interruptions_deferred():
        fail_to_start()
    assert arrived == [signal.SIGINT]
    interrupt()
    assert arrived == 2 * [signal.SIGINT]


def test_a_second_one_does_not_wait(arrived: list[int]) -> None:
    with interruptions_deferred():
        interrupt()
        interrupt()
        assert arrived == [signal.SIGINT]


def test_another_thread_leaves_the_handler_alone(arrived: list[int]) -> None:
    def start() -> None:
        with interruptions_deferred():
            interrupt()

    thread = Thread(target=start)
    thread.start()
    thread.join()
    assert arrived == [signal.SIGINT]


@pytest.mark.usefixtures("arrived")
def test_a_signal_that_is_ignored_is_ignored_in_the_new_process_too() -> None:
    """A shell ignores it for its jobs in the background, which pass that on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    told = "import signal; print(signal.getsignal(signal.SIGINT).name)"
    with interruptions_deferred():
        ran = subprocess.run([sys.executable, "-c", told], stdout=subprocess.PIPE, check=True)
    assert ran.stdout == b"SIG_IGN\n"
