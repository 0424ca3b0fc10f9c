"""The loop of a run on actors against the loop of the same run in one process, in pairs.

    python -m bench.actors rack-power-loss --actors 2 7 --pairs 5
    python -m bench.actors two-regions --actors 2
    python -m bench.actors FILE --actors 2 --until 75s
    python -m bench.actors choice --pairs 1

A pair is a run inline and one on actors, one after the other, so that both find the machine in the
same state. The ratio is that of their ``loop_seconds``: the start of Ray and the set-up are not in
it. All runs have to have one hash. ``two-regions`` is a cluster of 60 brokers in two regions that
are 20 ms apart, each with topics and producers of its own. ``choice`` compares the default choice
of ``tidegauge run`` with each of the choices over ten scenarios, by the wall time of the command.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import yaml

TWO_REGIONS = "two-regions"
_BROKERS, _PARTITIONS = 30, 3_000

CHOICE = "choice"
#: Scenarios of many kinds, and what is changed in each.
TEN: Sequence[tuple[str, Sequence[str]]] = (
    ("quickstart", ()),
    ("quickstart-zookeeper", ()),
    ("cut-and-pause", ()),
    ("25-busy-controller", ()),
    ("reassignment", ()),
    ("leadership-back", ()),
    ("large-cluster", ()),
    (TWO_REGIONS, ("duration=4m",)),
    # Steady traffic of 60 brokers, and the same with a rack lost.
    ("rack-power-loss", ("duration=8m", "faults=[]")),
    ("rack-power-loss", ()),
)
#: The default first, then each of the choices.
_CHOICES: Sequence[Sequence[str]] = ((), ("--inline",), ("--actors", "2"))


class Looped(NamedTuple):
    """What the summary of a run says of its loop."""

    #: Of the whole command.
    wall_s: float
    loop_s: float
    trace_sha256: str
    #: The most CPU time of a group for a window, beside its events.
    exchange_us: float
    windows: int
    events: int
    groups: int


def two_regions() -> dict[str, Any]:
    """The scenario of two regions, as a file has it."""
    regions = {"east": [*range(1, _BROKERS + 1)], "west": [*range(_BROKERS + 1, 2 * _BROKERS + 1)]}
    return {
        "name": TWO_REGIONS,
        "duration": "60s",
        "release": "4.1",
        "liveness": False,
        "cluster": {"brokers": 2 * _BROKERS, "racks": regions},
        # The operator has no rack: it is as far from both.
        "network": {"between_racks": "20ms", "clients": "20ms"},
        "topics": [
            {
                "name": f"orders-{region}",
                "settings": {"min.insync.replicas": 2},
                "assignment": {
                    number: [ids[(number + place) % _BROKERS] for place in (0, 1, 2)]
                    for number in range(_PARTITIONS)
                },
            }
            for region, ids in regions.items()
        ],
        "workload": {
            "producers": [
                {
                    "name": f"shop-{region}",
                    "clients": 10,
                    "topics": [f"orders-{region}"],
                    "batches_per_second": 10_000,
                    "start": "5s",
                    "rack": region,
                    "settings": {"acks": "all"},
                }
                for region in regions
            ]
        },
    }


def run(scenario: str, changes: Sequence[str], hosting: Sequence[str]) -> Looped:
    """Run a scenario as a user does; what its summary says."""
    with tempfile.TemporaryDirectory(prefix="tidegauge-") as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "tidegauge", "run", scenario, *hosting, "--out", str(out)]
        command += [word for change in changes for word in ("--set", change)]
        began_s = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        wall_s = time.perf_counter() - began_s
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return Looped(
        wall_s,
        summary["loop_seconds"],
        summary["trace_sha256"],
        max(group["exchange_cpu_us_per_window"] for group in summary["groups"]),
        summary["windows"],
        summary["events"],
        len(summary["groups"]),
    )


def compare(scenario: str, changes: Sequence[str], actors: Sequence[int], pairs: int) -> None:
    """Print the loops of pairs of runs, and the median of their ratios for each number of actors.

    Raises:
        SystemExit: two runs have different hashes.
    """
    for count in actors:
        ratios = []
        for _ in range(pairs):
            one = run(scenario, changes, ["--inline"])
            other = run(scenario, changes, ["--actors", str(count)])
            if one.trace_sha256 != other.trace_sha256:
                sys.exit(f"{scenario}: {count} actors have another hash than one process")
            ratios.append(other.loop_s / one.loop_s)
            print(
                f"{scenario}: inline {one.loop_s:.2f} s, {count} actors {other.loop_s:.2f} s: "
                f"{ratios[-1]:.2f} ({other.windows:,} windows, at most {other.exchange_us:.2f} us "
                f"of exchange in each)",
                flush=True,
            )
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{scenario}: {count} actors take {median(ratios):.2f} of one process ({spread})")


def compare_choices(two_regions_file: str, pairs: int) -> None:
    """Print the medians of the default and of each choice for the ten scenarios, as a table."""
    print("| scenario | default | its time | inline | 2 actors | of the best | loops |", flush=True)
    for name, changes in TEN:
        scenario = two_regions_file if name == TWO_REGIONS else name
        rounds = [[run(scenario, changes, choice) for choice in _CHOICES] for _ in range(pairs)]
        if len({each.trace_sha256 for row in rounds for each in row}) > 1:
            sys.exit(f"{name}: the hash depends on the choice")
        default, *choices = (median(each.wall_s for each in of) for of in zip(*rounds, strict=True))
        loops = [median(each.loop_s for each in of) for of in zip(*rounds, strict=True)]
        groups = rounds[0][0].groups
        print(
            f"| {', '.join((name, *changes))} | {'inline' if groups == 1 else f'{groups} actors'} "
            f"| {default:.1f} s | {choices[0]:.1f} s | {choices[1]:.1f} s "
            f"| {default / min(choices):.2f} | {', '.join(f'{loop:.1f}' for loop in loops)} |",
            flush=True,
        )


def main() -> None:
    """Compare what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scenario", help=f"a scenario file or name, {TWO_REGIONS}, or {CHOICE}")
    parser.add_argument("--until", help="run only so much virtual time, such as 75s")
    parser.add_argument("--actors", type=int, nargs="+", default=[2])
    parser.add_argument("--pairs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidegauge-") as folder:
        file = Path(folder) / "two-regions.yaml"
        file.write_text(yaml.safe_dump(two_regions()), encoding="utf-8")
        if asked.scenario == CHOICE:
            compare_choices(str(file), asked.pairs)
            return
        scenario = str(file) if asked.scenario == TWO_REGIONS else asked.scenario
        changes = [] if asked.until is None else [f"duration={asked.until}"]
        compare(scenario, changes, asked.actors, asked.pairs)


if __name__ == "__main__":
    main()
