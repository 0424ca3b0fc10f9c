"""Guidance by coverage against blind search: the schedules until each seeded bug is found.

``python -m bench.guidance [--campaigns N] [--most RUNS] [BUG ...]`` prints for each bug the median
over campaigns, blind and guided, and their ratio. A campaign without a finding counts with its most
schedules, so a ratio is a bound then.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence

from tidegauge.engine.fuzzing.fuzzed_cluster import FuzzedCluster
from tidegauge.replication.ablations import ABLATIONS, SEEDED_BUGS
from tidegauge.search.campaign import UNIT_RUNS
from tidegauge.search.profiles import FuzzedKind, drawn_profile

#: Schedules between two looks at the findings.
_LOOK = 250


def runs_until_found(bug: str, seed: int, most: int, *, is_guided: bool) -> int:
    """The schedules of a campaign until a check breaks that the bug is known to break."""
    ablation = ABLATIONS[bug]
    kind = FuzzedKind(ablation.mode, ablation.release, ablations=(bug,))
    done = number = 0
    while done < most:
        profile = drawn_profile(kind, seed, number)
        cluster = FuzzedCluster(profile, seed * 1_000_003 + number, is_guided=is_guided)
        number += 1
        for begin in range(0, UNIT_RUNS, _LOOK):
            cluster.run(_LOOK)
            cluster.take_found()
            broken = cluster.broken()
            found = [broken[check].run for check in ablation.breaks if check in broken]
            if found:
                return done + min(found) + 1
            if done + begin + _LOOK >= most:
                return most
        done += UNIT_RUNS
    return most


def main(words: Sequence[str]) -> None:
    """Compare both searches, bug by bug."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bugs", nargs="*", default=SEEDED_BUGS)
    parser.add_argument("--campaigns", type=int, default=20)
    parser.add_argument("--most", type=int, default=100_000)
    given = parser.parse_args(words)
    for bug in given.bugs:
        medians = {}
        for name, is_guided in (("blind", False), ("guided", True)):
            runs = [
                runs_until_found(bug, seed, given.most, is_guided=is_guided)
                for seed in range(1000, 1000 + given.campaigns)
            ]
            found = sum(each < given.most for each in runs)
            medians[name] = statistics.median(runs)
            sys.stdout.write(f"{bug} {name}: median {medians[name]:,.0f}, {found} found\n")
        sys.stdout.write(f"{bug}: guided / blind {medians['guided'] / medians['blind']:.2f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
