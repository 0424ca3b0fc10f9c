"""The speed of the kernel: the quickstart scenario, compiled, on one core.

Printed are the time to compile the kernel into an empty cache, events a second and times real time
of the loop (median of several passes in one process), the cost of an event of each kind, and the
time of the whole command with a warm cache.

The cost of a kind is measured by running the same events again one by one. It includes the
heap, the links and whatever the event sends; for kinds of few events it is rough.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tidegauge.engine.event_loop import HORIZON, ROOM, run_windows
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.simulation.messages.kinds import NAMES


def compile_anew() -> str:
    """Compile everything into an empty cache, in a process of its own; its output."""
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [sys.executable, "-m", "tidegauge", "compile"],
            env=os.environ | {"TIDEGAUGE_CACHE_DIR": folder},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    return next(line for line in said.splitlines() if line.startswith("Compiled"))


def new_group(scenario: str) -> Group:
    """All processes of a scenario as one group, at its beginning."""
    plan = ClusterPlan(load_scenario(find_scenario(scenario)))
    return Group(plan, range(len(plan.processes)))


def loop_seconds(scenario: str) -> tuple[int, float, float]:
    """Run a scenario's loop: events, wall seconds, virtual seconds."""
    group = new_group(scenario)
    end_us = group.plan.scenario.duration_us
    started = time.perf_counter()
    group.run_to(end_us, lambda _rows: None)
    seconds = time.perf_counter() - started
    return int(group.world.context[0].handled), seconds, end_us / 1e6


def cost_by_kind(scenario: str) -> dict[str, tuple[int, float]]:
    """The number of events of each kind, and the mean nanoseconds of one.

    The loop is asked for one event at a time. The cost of a call from Python itself is measured
    beside each, with a horizon at which nothing is due, and taken off.
    """
    group = new_group(scenario)
    end_us = group.plan.scenario.duration_us
    kernel = group.world
    spent: dict[int, list[int]] = defaultdict(list)
    while kernel.context[0].heap_size:
        kind = int(kernel.events[int(kernel.heap[0].index)].kind)
        call_ns, _ = _one_call_ns(group, 0)
        elapsed_ns, why = _one_call_ns(group, end_us)
        if why == ROOM:
            group.make_room(lambda _rows: None)
        elif why == HORIZON:
            break
        else:
            spent[kind].append(elapsed_ns - call_ns)
    return {NAMES[kind]: (len(costs), statistics.fmean(costs)) for kind, costs in spent.items()}


def _one_call_ns(group: Group, horizon_us: int) -> tuple[int, int]:
    group.world.context[0].horizon_us = horizon_us
    started = time.perf_counter_ns()
    why = run_windows(group.view, group.exchange.view, 1)
    return time.perf_counter_ns() - started, why


def whole_command_seconds(scenario: str) -> float:
    """The command from start to end, with a warm cache."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        subprocess.run(
            [
                *(sys.executable, "-m", "tidegauge", "run", scenario, "--inline"),
                *("--out", str(Path(folder) / "run")),
            ],
            check=True,
            capture_output=True,
        )
        return time.perf_counter() - started


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scenario", default="quickstart")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--compile", action="store_true", help="time a compilation from nothing")
    arguments = parser.parse_args()

    if arguments.compile:
        print(f"{compile_anew()} (an empty cache)", flush=True)
    loop_seconds(arguments.scenario)
    passes = [loop_seconds(arguments.scenario) for _ in range(arguments.passes)]
    for number, (events, seconds, virtual_seconds) in enumerate(passes, 1):
        print(
            f"pass {number}      {events / seconds / 1e6:.2f} million events a second, "
            f"{virtual_seconds / seconds:.0f} times real time"
        )
    events, seconds, virtual_seconds = sorted(passes, key=lambda each: each[1])[len(passes) // 2]
    print(
        f"median      {events / seconds / 1e6:.2f} million events a second, "
        f"{virtual_seconds / seconds:.0f} times real time, {events:,} events"
    )
    commands = [whole_command_seconds(arguments.scenario) for _ in range(3)]
    print(f"the command {statistics.median(commands):.1f} s from start to end, cache warm")
    print("an event of each kind, mean:")
    costs = cost_by_kind(arguments.scenario)
    for name, (count, nanoseconds) in sorted(
        costs.items(), key=lambda each: -each[1][0] * each[1][1]
    ):
        print(f"  {name:26} {count:8,} x {nanoseconds:8,.0f} ns")


if __name__ == "__main__":
    main()
