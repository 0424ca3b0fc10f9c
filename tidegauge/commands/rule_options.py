"""The options of commands about the rules of Kafka, and about the simulator's fidelity to them."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as shared


class ReleasesOptions(NamedTuple):
    """Show the rules and defaults of a release, or the differences between two releases.

    Without a release the command prints each rule, and the releases that changed it.

    Each rule is a switch from Kafka's source. The method and release of the source are printed
    with it.

    --ablations lists the rules that `tidegauge run --without` takes away, each with the checks that
    break without it in some schedule.

    \b
    Examples:
      tidegauge releases                           each rule, and where it changed
      tidegauge releases 2.6                       rules and defaults of 2.6.3
      tidegauge releases 2.0.0                     rules and defaults of 2.0.0
      tidegauge releases 2.4 2.6                   all that differs between 2.4.1 and 2.6.3
      tidegauge releases 3.9 4.4 --mode kraft      the same with KRaft in both
      tidegauge releases 2.6.3 --protocol 0.10.2   with the protocol of 0.10.2
      tidegauge releases 3.9 --mode kraft          without ZooKeeper
      tidegauge releases 4.4 --protocol 4.3        with metadata.version 4.3-IV0
      tidegauge releases 2.6 --json                JSON for programs
      tidegauge releases --ablations               rules to take away
    """

    #: A release such as 2.6.3, or a line such as 2.6 for its last patch.
    release: Annotated[str | None, typer.Argument()] = None
    #: Another release, to compare the first one with.
    other: Annotated[str | None, typer.Argument()] = None
    #: inter.broker.protocol.version of the brokers, or with KRaft metadata.version of the cluster.
    #: Default: the release's own.
    protocol: Annotated[str | None, typer.Option(metavar="VERSION")] = None
    #: zookeeper (up to 3.9) or kraft (from 3.3). Default: zookeeper up to 3.9.
    mode: Annotated[str | None, typer.Option(metavar="MODE")] = None
    #: List the ablations of `tidegauge run --without`.
    ablations: bool = False
    #: Print the same as JSON, with all sources.
    as_json: Annotated[bool, typer.Option("--json")] = False


class ReconcileOptions(NamedTuple):
    """Show what a follower truncates, by release.

    A log is written as EPOCH:RECORDS,EPOCH:RECORDS,... with the first record at offset 0. For
    example, 0:3,2:1 is three records of leader epoch 0 and then one of epoch 2.

    \b
    Examples:
      tidegauge reconcile --leader 0:3,1:2 --follower 0:5
      tidegauge reconcile --leader 0:3,1:1 --follower 0:4 --high-watermark 4
      tidegauge reconcile --leader 0:3 --follower 0:3,1:2 --release 2.0.0 --release 2.0.1
    """

    #: Log of the leader.
    leader: Annotated[str, typer.Option(metavar="LOG")]
    #: Log of the follower.
    follower: Annotated[str, typer.Option(metavar="LOG")]
    #: Epoch of the leader. Default: the latest of all.
    leader_epoch: Annotated[int | None, typer.Option(min=0, metavar="EPOCH")] = None
    #: High watermark of the follower. Default: the offset up to which the logs agree.
    high_watermark: Annotated[int | None, typer.Option(min=0, metavar="OFFSET")] = None
    #: An epoch in which the follower led last and wrote nothing.
    idle_epoch: Annotated[int | None, typer.Option(min=0, metavar="EPOCH")] = None
    #: unclean.leader.election.enable. Default: the release's own default.
    unclean: Annotated[bool | None, typer.Option("--unclean/--no-unclean")] = None
    #: Release to try. Repeatable. Default: one release of each generation.
    release: Annotated[list[str] | None, typer.Option(metavar="RELEASE")] = None


class DivergencesOptions(NamedTuple):
    """Show how replicas diverged in old releases, and the fixes.

    \b
    Example:
      tidegauge divergences
    """


class GalleryOptions(NamedTuple):
    """Show known bugs of KRaft and anomalies of replication: in an affected and a fixed release.

    Tidegauge runs the scenario of each incident in both releases. The table has the issue, the
    affected and fixed releases, the schedule, and the expected and observed figures and verdicts of
    checks. If one is not as expected, it is named with the command that repeats the run.

    With --all-releases each incident is run in every release of its mode, and the releases that
    show it are compared with those that the table calls affected.

    The exit status is 1 if anything is not as expected.

    \b
    Examples:
      tidegauge gallery
      tidegauge gallery 3
      tidegauge gallery R7 --all-releases
      tidegauge gallery isolated-controller --json
    """

    #: Name or number of one incident; R1 to R21 are anomalies of replication. Default: all of them.
    name: Annotated[str | None, typer.Argument(metavar="[INCIDENT]")] = None
    #: Run every release of the incident's mode, not two.
    all_releases: Annotated[bool, typer.Option("--all-releases")] = False
    as_json: shared.AsJson = False


class ConformOptions(NamedTuple):
    """Compare the simulator with schedules that were played on real brokers.

    A recorded schedule is a JSON file with releases, settings, steps (kill a broker, produce, cut
    a link), and the observations after each step: states, logs, checkpoints, responses, times. It
    is of a ZooKeeper or of a KRaft cluster. The command plays the same steps and compares all
    observations field by field. A field that was equal in all repeats of the recording must be
    equal. A field that varied must have one of the recorded values. A time must be at most 20 %
    below the recorded span, or 3 s above it.

    A difference is explained if a row of known_differences.md gives its cause. For all others the
    command prints the step at which they begin, and the story around it.

    The exit status is 0 if all differences are explained, 1 if not, and 2 if a file is not a
    recorded schedule.

    \b
    Examples:
      tidegauge conform tests/data/golden
                                 recordings of ZooKeeper clusters
      tidegauge conform tests/data/golden_kraft
                                 recordings of KRaft clusters
      tidegauge conform tests/data/golden_kraft_44
                                 of 4.4.0, with all folders below it
      tidegauge conform tests/data/golden/b1_leader_kill.json --all
      tidegauge conform mine.json --seeds 8 --out runs/mine
                                 keep the run, to look at it with tidegauge show
    """

    #: Recorded schedules, or folders of them, with those below.
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|DIR...")]
    #: Play each schedule with at most this number of seeds.
    seeds: Annotated[int, typer.Option(min=1)] = 10
    #: Keep the runs in this folder, one for each schedule.
    out: Path | None = None
    #: Show explained differences, too.
    details: Annotated[bool, typer.Option("--all")] = False
