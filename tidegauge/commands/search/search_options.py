"""The options of commands that search for failures, or make them small."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as shared


class ShrinkOptions(NamedTuple):
    """Find the smallest scenario that still shows the failure of a run.

    The scenario gets smaller while it fails the same way: fewer faults, steps and clients, fewer
    brokers and partitions, default settings, fewer records, shorter and rounder times. Each trial
    is a run without a trace. The result is a scenario file, and its run in the folder beside it.

    The failure is the check with an unexpected verdict that breaks first; a scenario in which
    another check breaks before it shows something else. --check names another one, also one that
    the scenario expects to break, and --figure a figure of the summary.

    The same scenario and seed give the same result. Ctrl-C keeps the smallest scenario so far.

    \b
    Examples:
      tidegauge shrink runs/first
      tidegauge shrink my-cluster.yaml --seed 7 --out smallest.yaml
      tidegauge shrink 10-truncation-to-high-watermark --check exposed_durable
      tidegauge shrink runs/first --figure 'records_acknowledged_lost>0'
    """

    #: The folder of the run; or a scenario file, or the name of a shipped scenario.
    run: Annotated[str, typer.Argument(metavar="RUN")]
    #: The check that has to break.
    check: Annotated[str | None, typer.Option(metavar="NAME")] = None
    #: A figure that has to compare so with a number; `tidegauge sweep SCENARIO --figures` lists
    #: them.
    figure: Annotated[str | None, typer.Option(metavar="NAME>NUMBER")] = None
    #: Another seed than the scenario's.
    seed: int | None = None
    #: Change a field of the scenario; VALUE is YAML. Repeatable.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE")] = None
    #: The scenario to write; its run is in the folder of this name without .yaml. Default:
    #: runs/NAME-shrunk.yaml.
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE")] = None
    #: The most trials.
    max_runs: Annotated[int, typer.Option(min=1, metavar="N")] = 5_000
    #: Number of parallel trials, if one takes long. Default: the number of CPUs.
    jobs: Annotated[int | None, typer.Option(metavar="J")] = None
    as_json: shared.AsJson = False


class FuzzOptions(NamedTuple):
    """Search for schedules that break a promise of Kafka's replication.

    Small clusters of a release run random schedules by the thousand a second: faults, messages that
    are held, clients with old metadata, planned moves of leaders. Each run is judged by all checks.
    Every cluster has other latencies, timeouts and settings, and every run its own kinds of faults.
    Schedules that reach new states of a partition are changed further; --blind draws all anew.

    With --voters the clusters have one broker, and a quorum of three to five controllers, which are
    added to the voters and removed (KIP-853) while they fail and lose their disks.

    A finding is grouped by the check that breaks first, shrunk to the smallest scenario, and told.
    Breaks that a setting or the release permits (unclean election, a loss of power before a flush)
    are counted apart. A run counts if a record was acknowledged and a leader elected in it, or if
    voters changed; what no run has reached is listed.

    The same seed and number of runs give the same findings. The exit status is 1 if something was
    found, 0 if not, 2 for bad input.

    \b
    Examples:
      tidegauge fuzz             the newest release, with KRaft, for a minute
      tidegauge fuzz --release 2.0 --brokers 3
      tidegauge fuzz --release 0.10.2 --brokers 2 --runs 50000 --seed 7
      tidegauge fuzz --release 2.6 --mode zookeeper --without unfenced_fetch
      tidegauge fuzz --voters --runs 100000
      tidegauge fuzz --runs 1000000 --json > found.json
    """

    #: The release. Default: the newest.
    release: Annotated[str | None, typer.Option(metavar="RELEASE")] = None
    #: The control plane: kraft or zookeeper. Default: that of the release.
    mode: Annotated[str | None, typer.Option(metavar="MODE")] = None
    #: The number of brokers, 2 to 5, or a range of numbers that clusters have in turn: 2..4.
    brokers: Annotated[str, typer.Option(metavar="N|A..B")] = "3"
    #: The number of partitions, each on all brokers.
    partitions: Annotated[int, typer.Option(min=1, max=8, metavar="N")] = 1
    #: Change the voters of KRaft quorums; --brokers and --partitions do not count.
    voters: bool = False
    #: Rules that are taken away; `tidegauge releases --ablations` lists them.
    without: Annotated[str | None, typer.Option(metavar="RULE[,RULE...]")] = None
    #: The number of schedules. Default: as many as --minutes has time for.
    runs: Annotated[int | None, typer.Option(min=1, metavar="N")] = None
    #: The duration of the search, which ends with a whole cluster. Default without --runs: 1.
    minutes: Annotated[float | None, typer.Option(min=0.01, metavar="M")] = None
    #: The seed of the schedules.
    seed: Annotated[int, typer.Option(min=0, max=2**31, metavar="S")] = 1
    #: Draw every schedule anew, without guidance by the states that others have reached.
    blind: bool = False
    #: End the search with the first finding.
    first: bool = False
    #: The folder of scenarios and runs of findings. Default: runs/fuzz-RELEASE.
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR")] = None
    #: Number of parallel processes. Default: the number of CPUs.
    jobs: Annotated[int | None, typer.Option(metavar="J")] = None
    #: Join the Ray cluster at this address. Default: that of RAY_ADDRESS, else Ray starts here.
    address: Annotated[str | None, typer.Option(metavar="ADDRESS")] = None
    as_json: shared.AsJson = False


class AblationsOptions(NamedTuple):
    """Search for the promises that break without a rule of the protocol: the matrix of ablations.

    Each rule is taken away from the release that has it, and schedules are tried until every check
    that the model of the protocol calls necessary was broken, or the time is over. A cell has the
    number of schedules until then. The scenario of each cell is shrunk, and lies with its run in
    DIR/RULE/CHECK. `tidegauge releases --ablations` has the meaning of the rules.

    The exit status is 1 if a necessary rule was not found to be one, or another rule was.

    \b
    Examples:
      tidegauge ablations no_truncation unfenced_shrink
      tidegauge ablations --minutes 5        all rules, each for up to five minutes
      tidegauge ablations --no-shrink --json
    """

    #: The rules. Default: all.
    rules: Annotated[list[str] | None, typer.Argument(metavar="RULE")] = None
    #: The longest search without a rule.
    minutes: Annotated[float, typer.Option(min=0.01, metavar="M")] = 1
    #: The seed of the schedules.
    seed: Annotated[int, typer.Option(min=0, max=2**31, metavar="S")] = 1
    #: Print the matrix alone: no scenario is shrunk, and none is written.
    no_shrink: bool = False
    #: The folder of the scenarios. Default: runs/ablations.
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR")] = None
    #: Number of parallel processes. Default: the number of CPUs.
    jobs: Annotated[int | None, typer.Option(metavar="J")] = None
    #: Join the Ray cluster at this address. Default: that of RAY_ADDRESS, else Ray starts here.
    address: Annotated[str | None, typer.Option(metavar="ADDRESS")] = None
    as_json: shared.AsJson = False


class ExplainOptions(NamedTuple):
    """Search for the faults behind what you saw: schedules on your cluster that produce it.

    PICTURE is a file with the states of partitions that somebody saw, or the folder of a run: one
    that `read-logs` has made of the logs of a real cluster, or a simulated one. Of a run,
    --partition names the partitions, --from and --to the time.

    Schedules of faults and elections run on the cluster of the file by the thousand, with its own
    settings. The shortest that lead the partitions through the same states at the same times are
    printed, the likeliest first, by the file's `fault_rates` or assumed ones. Explanations that the
    picture cannot tell apart are all listed. The first three are written as scenarios.

    A picture has states with leader, isr or both; times may be left out, and are durations or times
    of a day:

    \b
      partition: orders-3
      states:
        - {leader: 1, isr: [1, 2, 3]}
        - {at: 02:14:00, leader: 1, isr: [1], for: 12s}
        - {isr: [1, 3]}
      within: 2s

    The exit status is 0 if an explanation is found, 1 if not, 2 for bad input. Without one, the
    nearest schedules are printed with their differences.

    \b
    Examples:
      tidegauge explain seen.yaml -f my-cluster.yaml
      tidegauge explain runs/incident --partition orders-3 --from 02:10:00 --to 02:20:00 \\
          -f my-cluster.yaml
      tidegauge explain runs/first --partition orders-0
                                 by the cluster of that run
      tidegauge explain seen.yaml -f my-cluster.yaml --minutes 10 --out runs/why
    """

    #: A file with what was seen, or the folder of a run.
    picture: Annotated[Path, typer.Argument(metavar="PICTURE")]
    #: The cluster: a scenario file, or the name of a shipped scenario. Default for a simulated run:
    #: its own.
    file: Annotated[str | None, typer.Option("--file", "-f", metavar="SCENARIO")] = None
    #: Of a run: a partition of the picture. Repeatable.
    partition: Annotated[list[str] | None, typer.Option(metavar="NAME")] = None
    #: Of a run: the time at which the picture begins.
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME")] = None
    #: Of a run: the time at which it ends.
    end: Annotated[str | None, typer.Option("--to", metavar="TIME")] = None
    #: Times that differ by so much are the same. Default: as the picture says, else 2s.
    within: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: Change a field of the cluster's scenario; VALUE is YAML. Repeatable.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE")] = None
    #: The longest duration of the search.
    minutes: Annotated[float, typer.Option(min=0.01, metavar="M")] = 2
    #: The folder of the scenarios of the first explanations. Default: runs/explain-NAME.
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR")] = None
    #: Number of parallel processes. Default: the number of CPUs.
    jobs: Annotated[int | None, typer.Option(metavar="J")] = None
    as_json: shared.AsJson = False
