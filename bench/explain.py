"""How often ``tidegauge explain`` finds the faults behind a picture.

Runs are drawn: clusters of several releases in both modes, with the defaults of real settings, and
one to three faults of any kind, target, time and duration. A picture is what an operator has of
such a run: leader and ISR of one partition over time. The search knows the cluster, and neither
the seed, the clients nor the other topics of the run. Faults without which the picture stays the
same are not sought: nobody could name them.

Four counts: pictures for which some schedule is found that produces it; those where each drawn
fault is named by an explanation, kind and target; those where the first explanation names just
these; and those that fewer faults explain than were drawn, so that not all of these are named.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate_plan
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.search.explaining import Subject, Tried
from tidegauge.search.explanations import Explained, explain_picture
from tidegauge.search.pictured_cluster import pictured_cluster
from tidegauge.search.pictures import Picture, picture_of_run
from tidegauge.search.suspects import words_of

#: Release, mode, brokers, controllers of a quorum.
_CLUSTERS = (
    ("2.6", "zookeeper", 3, 0),
    ("2.6", "zookeeper", 5, 0),
    ("3.9", "zookeeper", 4, 0),
    ("3.9", "kraft", 3, 1),
    ("3.9", "kraft", 6, 3),
    ("4.4", "kraft", 3, 3),
    ("4.4", "kraft", 5, 3),
)
_PARTITION = "orders-1"
#: Faults begin between these seconds of a run, and last so many.
_FROM_S, _TO_S = 90, 240
_LASTS_S = (5, 10, 20, 40, 80, 120)
_DURATION_S = 420


class Case(NamedTuple):
    """A drawn run, and the picture of it."""

    cluster: dict[str, Any]
    faults: Sequence[Mapping[str, Any]]
    #: Those without which the picture is another one.
    essential: Sequence[Mapping[str, Any]]
    picture: Picture


def drawn_case(number: int) -> Case:
    """The first run of this number in which the partition changes."""
    draw = Random(number)  # noqa: S311 - nothing here is a secret
    while True:
        cluster = _cluster(draw)
        faults = sorted(_faults(draw, cluster), key=lambda fault: int(fault["at"][:-2]))
        seed = draw.randrange(1000)
        picture = _picture(cluster, faults, seed)
        if not picture.changes_us:
            continue
        essential = [
            each
            for each in faults
            if _shape(_picture(cluster, [one for one in faults if one is not each], seed))
            != _shape(picture)
        ]
        if essential:
            return Case(cluster, faults, essential, picture)


def _cluster(draw: Random) -> dict[str, Any]:
    release, mode, brokers, controllers = draw.choice(_CLUSTERS)
    cluster: dict[str, Any] = {
        "name": f"{release}-{mode}-{brokers}",
        "duration": f"{_DURATION_S}s",
        "release": release,
        "mode": mode,
        "liveness": False,
        "cluster": {"brokers": brokers},
        "topics": [
            {"name": "orders", "partitions": 3, "replication_factor": 3},
            {"name": "clicks", "partitions": 4, "replication_factor": 2},
        ],
        "workload": {
            "producers": [
                {"name": "shop", "topics": ["orders", "clicks"], "batches_per_second": 20}
            ]
        },
    }
    if controllers:
        cluster["controllers"] = {"count": controllers}
    return cluster


def _faults(draw: Random, cluster: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    brokers = [*range(1, cluster["cluster"]["brokers"] + 1)]
    plane = "zookeeper" if cluster["mode"] == "zookeeper" else "controllers"
    for _ in range(draw.randint(1, 3)):
        one, other = draw.sample(brokers, 2)
        rest = [each for each in brokers if each != one]
        kinds: list[dict[str, Any]] = [
            {"kind": "crash", "brokers": [one]},
            {"kind": "restart", "brokers": [one]},
            {"kind": "pause", "brokers": [one]},
            {"kind": "power_loss", "brokers": [one]},
            {"kind": "slow_disk", "brokers": [one], "delay": f"{draw.choice([20, 60])}s"},
            {"kind": "log_directory_failure", "brokers": [one]},
            {"kind": "cut_link", "between": [[one], [*rest, plane]]},
            {"kind": "cut_link", "between": [[f"broker:{one}"], [plane]]},
            {
                "kind": "cut_link",
                "between": [[f"broker:{one}"], [f"broker:{each}" for each in rest]],
            },
            {"kind": "cut_link", "between": [[f"broker:{one}"], [f"broker:{other}"]]},
            {
                "kind": "cut_link",
                "between": [[f"broker:{one}"], [f"broker:{other}"]],
                "one_way": True,
            },
        ]
        kinds.append(
            {"kind": "zookeeper_outage"}
            if plane == "zookeeper"
            else {"kind": "pause", "brokers": ["controllers"]}
        )
        lasts_ms = round(1000 * draw.choice(_LASTS_S) * draw.uniform(0.8, 1.3))
        at_ms = draw.randrange(1000 * _FROM_S, 1000 * _TO_S)
        yield {**draw.choice(kinds), "at": f"{at_ms}ms", "for": f"{lasts_ms}ms"}


def _picture(cluster: Mapping[str, Any], faults: Sequence[Mapping[str, Any]], seed: int) -> Picture:
    scenario = scenario_from_mapping({**cluster, "seed": seed, "faults": [*faults]}, "bench")
    with TemporaryDirectory() as folder:
        place = Path(folder, "run")
        run = Run(simulate_plan(ClusterPlan(scenario), place, inline()).path)
        return picture_of_run(run, [_PARTITION], 60_000_000, None)


def _shape(picture: Picture) -> object:
    """The states of a picture that last; their times to some ten seconds."""
    (seen,) = picture.partitions
    return [
        (each.leader, each.isr, round((each.begin_us or 0) / 1e7))
        for each in seen.states
        if each.end_us is None or each.end_us - (each.begin_us or 0) > picture.within_us
    ]


def _names(tried: Tried, explained: Explained) -> list[str]:
    """The kinds and targets of a schedule's faults."""
    suspects = explained.subject.cluster.suspects
    return sorted(_name(suspects[each].written) for each in tried.schedule.suspects)


def _name(fault: Mapping[str, Any]) -> str:
    sides = fault.get("between", [])
    targets = [sorted(map(str, side)) for side in sides]
    if not fault.get("one_way"):
        targets.sort()
    return f"{fault['kind'] if 'kind' in fault else fault['do']} {fault.get('brokers')} {targets}"


def main() -> None:
    """Draw cases, search them, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1, help="the seed of the first case")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--jobs", type=int)
    asked = parser.parse_args()
    found = named = first = simpler = 0
    for seed in range(asked.first, asked.first + asked.cases):
        case = drawn_case(seed)
        began_s = time.perf_counter()
        cluster = pictured_cluster(case.cluster, "bench", case.picture)
        subject = Subject(case.picture, cluster)
        explained = explain_picture(subject, 60 * asked.minutes, asked.jobs)
        took_s = time.perf_counter() - began_s
        sought = sorted(map(_name, case.essential))
        names = [_names(each, explained) for each in explained.matches]
        found += bool(names)
        is_named = all(any(each in name for name in names) for each in sought)
        named += is_named
        first += names[:1] == [sought]
        simpler += bool(names) and not is_named and explained.length < len(sought)
        rank = names.index(sought) + 1 if sought in names else "-"
        drawn = "; ".join(
            f"{words_of(each)} at {each['at']} for {each['for']}"
            f"{'' if each in case.essential else ' (not seen)'}"
            for each in case.faults
        )
        print(
            f"{seed:3} {case.cluster['name']:16} changes {len(case.picture.changes_us):2}, "
            f"explanations {len(names):3}, {'named' if is_named else 'not named'}, "
            f"drawn one {rank:>3}, {explained.runs:6} runs, "
            f"{took_s:5.1f} s: {drawn}",
            flush=True,
        )
    print(
        f"found {found}, drawn faults named {named}, first {first}, "
        f"explained by fewer {simpler}, of {asked.cases}"
    )


if __name__ == "__main__":
    main()
