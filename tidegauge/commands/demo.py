"""``tidegauge demo``: a demonstration of Tidegauge, in commands that any user can type."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

import tidegauge.scenarios
from tidegauge.commands.loading import has_spark
from tidegauge.commands.scenario_options import DemoOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import DEFAULT_RELEASE
from tidegauge.traces.run_folder import RunFolder, new_run_folder
from tidegauge.views.output import console

_CRASH = "[{name: crash, kind: crash, at: 20s, for: 20s, brokers: [2]}]"
_RACK = (
    "[{name: roll, kind: rolling_restart, at: 30s, stopped_for: 15s}, "
    '{name: power, kind: power_loss, at: 100s, for: 2m, brokers: ["rack:use1-az2"]}]'
)


class Scene(NamedTuple):
    """A command, and its purpose."""

    why: str
    words: tuple[str, ...]


def demo(options: DemoOptions) -> None:
    """Perform ``tidegauge demo``."""
    folder = new_run_folder("demo") if options.out is None else options.out
    if folder.exists() and any(folder.iterdir()):
        raise TidegaugeError(f"{folder}: is not empty, and a run never overwrites another")
    folder.mkdir(parents=True, exist_ok=True)
    screen = console()
    for scene in _scenes(folder, with_zookeeper=options.zookeeper):
        screen.rule(style="dim")
        screen.print(scene.why, style="bold")
        screen.print(f"$ tidegauge {shlex.join(scene.words)}\n", style="cyan", soft_wrap=True)
        _perform(options.context.find_root().command, scene.words)
        screen.print()
    screen.rule(style="dim")
    if not has_spark():
        screen.print("Many runs are analysed by Spark: pip install 'tidegauge[spark]'")
    screen.print("Written:", style="bold")
    for path in sorted(folder.iterdir()):
        holds = (
            f" ({', '.join(sorted(each.name for each in path.iterdir()))})" if path.is_dir() else ""
        )
        screen.print(f"  {path}{holds}", soft_wrap=True)


def _scenes(folder: Path, *, with_zookeeper: bool) -> Iterator[Scene]:
    crash = str(folder / "crash")
    yield from _crash(crash, "quickstart-zookeeper" if with_zookeeper else "quickstart")
    yield from _loss_of_a_rack(folder, with_zookeeper=with_zookeeper)
    if has_spark():
        yield Scene(
            "3. The crash again: Spark makes the tables with the time of its failover.",
            ("analyze", crash, "--question", "failover-budget"),
        )
    words = ("report", str(folder / "rack"))
    yield Scene("The report of the rack's loss, for a browser:", words)


def _crash(run: str, scenario: str) -> Iterator[Scene]:
    yield Scene(
        "1. Six brokers, each an actor of Ray. After 20 s broker 2 is killed, for 20 s.",
        (
            *("run", scenario, "--ray", "--set", "duration=60s"),
            *("--set", f"faults={_CRASH}", "--out", run),
        ),
    )
    yield Scene("The cluster over time:", ("picture", run))
    yield Scene(
        "One of its partitions, with the reason for each change:",
        ("show", "partition", run, "orders-0", "--to", "60s"),
    )
    yield Scene("The cost of the crash:", ("show", "faults", run))


def _loss_of_a_rack(folder: Path, *, with_zookeeper: bool) -> Iterator[Scene]:
    rack, scenario = str(folder / "rack"), str(folder / "real-cluster.yaml")
    yield _import(scenario, with_zookeeper=with_zookeeper)
    run = ("run", scenario, "--set", f"faults={_RACK}")
    yield Scene(
        "Half of a rolling restart is done when a rack loses power for two minutes.",
        (*run, "--out", rack),
    )
    yield Scene("The partitions that refuse writes or are offline, over time:", ("picture", rack))
    worst = _worst_partition(folder / "rack")
    closely = ("--partition", worst, "--from", "80s", "--to", "260s")
    yield Scene(
        "The partition with more than one replica that lost most, replica by replica:",
        ("picture", rack, *closely),
    )
    yield Scene(
        "The events that led to the loss:",
        ("show", "partition", rack, worst, "--from", "85s", "--to", "240s"),
    )
    yield Scene("The cost of each fault:", ("show", "faults", rack))
    yield Scene(
        "The cluster during the outage, in the format of kafka-topics.sh:",
        ("describe", rack, "--at", "150s", "--topic", "payments", "--under-replicated-partitions"),
    )
    if not with_zookeeper:
        elrs = str(folder / "rack-with-elrs")
        yield Scene(
            "The same with eligible leader replicas (KIP-966), off after a migration:",
            (*run, "--set", "eligible_leader_replicas=true", "--out", elrs),
        )
        yield Scene(
            "That partition again: the replica that stopped cleanly leads, with every record.",
            ("picture", elrs, *closely),
        )


def _import(scenario: str, *, with_zookeeper: bool) -> Scene:
    """The import of a cluster whose files are of one with ZooKeeper."""
    real = Path(tidegauge.scenarios.__file__).parent / "real-cluster"
    words = ("import", str(real / "topics.txt"), "--properties", str(real), "-o", scenario)
    why = "2. A real cluster, from the output of kafka-topics.sh and its brokers' files"
    if with_zookeeper:
        return Scene(f"{why}:", words)
    return Scene(
        f"{why}, as it is after its migration to KRaft:", (*words, "--release", DEFAULT_RELEASE)
    )


def _worst_partition(run: Path) -> str:
    """The partition with more than one replica that lost most records, or any."""
    folder = RunFolder(run)
    assert folder.summary is not None
    replicated = {
        f"{each['topic']}-{each['partition']}"
        for each in folder.manifest["partitions"]
        if len(each["replicas"]) > 1
    }
    lost = folder.summary["records_lost_by_partition"]
    return next((name for name in lost if name in replicated), "payments-1")


def _perform(tidegauge: Any, words: tuple[str, ...]) -> None:
    """Run a command as if typed; the demonstration ends if it fails."""
    status = tidegauge.main(list(words), prog_name="tidegauge", standalone_mode=False)
    if status:
        raise typer.Exit(status)
