"""The options of commands that show one run: ``show``, ``inspect``, ``picture``, ``describe``."""

from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as shared

Details = Annotated[
    bool,
    typer.Option(
        "--all", help="Print each row by itself, with samples, and with requests if recorded."
    ),
]
Handles = Annotated[
    bool,
    typer.Option("--handles", help="Print in each line its handle, for `tidegauge show cause`."),
]


class ShowPartitionsOptions(NamedTuple):
    """List the partitions that are worth a look: those with losses first.

    \b
    Examples:
      tidegauge show partitions runs/rack-outage
    """

    run: shared.RunPath
    as_json: shared.AsJson = False


class ShowPartitionOptions(NamedTuple):
    """Print the story of a partition: leaders, ISR changes, truncations, and their causes.

    \b
    Examples:
      tidegauge show partition runs/rack-outage
      tidegauge show partition runs/rack-outage orders-0
      tidegauge show partition runs/rack-outage orders-0 --from 10s --to 20s --all
    """

    run: shared.RunPath
    #: The partition. Default: the first one of `show partitions`.
    partition: Annotated[str | None, typer.Argument(metavar="TOPIC-PARTITION")] = None
    begin: shared.From = None
    end: shared.To = None
    details: Details = False
    handles: Handles = False
    as_json: shared.AsJson = False


class ShowBrokerOptions(NamedTuple):
    """Print the story of a broker: its sessions, roles, ISR changes, refusals and faults.

    \b
    Examples:
      tidegauge show broker runs/rack-outage 3
      tidegauge show broker runs/rack-outage 3 --at 12s
                                 its roles and log ends at that time
      tidegauge show broker runs/rack-outage 3 --handles
    """

    run: shared.RunPath
    #: The broker.
    broker: Annotated[str, typer.Argument(metavar="ID")]
    at: shared.At = None
    begin: shared.From = None
    end: shared.To = None
    details: Details = False
    handles: Handles = False
    as_json: shared.AsJson = False


class ShowClientOptions(NamedTuple):
    """Print the story of a client: its records, its errors, and when it was stalled.

    \b
    Examples:
      tidegauge show client runs/rack-outage shop
    """

    run: shared.RunPath
    #: The client, or the group of clients.
    client: Annotated[str, typer.Argument(metavar="NAME")]
    begin: shared.From = None
    end: shared.To = None
    details: Details = False
    handles: Handles = False
    as_json: shared.AsJson = False


class ShowControllerOptions(NamedTuple):
    """Print the controllers, the waiting times of their events, and their decisions.

    \b
    Examples:
      tidegauge show controller runs/rack-outage
      tidegauge show controller runs/rack-outage --at 12s
                                 the controller, its live brokers, leaderless partitions
    """

    run: shared.RunPath
    at: shared.At = None
    begin: shared.From = None
    end: shared.To = None
    details: Details = False
    handles: Handles = False
    as_json: shared.AsJson = False


class ShowFaultsOptions(NamedTuple):
    """Print the cost of each fault: time until a new leader, work, outages.

    \b
    Examples:
      tidegauge show faults runs/rack-outage
      tidegauge show faults runs/rack-outage --json
    """

    run: shared.RunPath
    as_json: shared.AsJson = False


class ShowCauseOptions(NamedTuple):
    """Print the chain of triggers of one row, back to the first fault.

    \b
    Examples:
      tidegauge show cause runs/rack-outage 2:17
    """

    run: shared.RunPath
    #: The row; --handles prints this in lines of stories.
    handle: Annotated[str, typer.Argument(metavar="PROCESS:SEQUENCE")]
    as_json: shared.AsJson = False


class ShowZookeeperOptions(NamedTuple):
    """List the znodes of ZooKeeper.

    \b
    Examples:
      tidegauge show zookeeper runs/rack-outage --at 12s
    """

    run: shared.RunPath
    at: shared.At = None
    as_json: shared.AsJson = False


class ShowQuorumOptions(NamedTuple):
    """Print the KRaft quorum: its leader, its voters, and the part of its log that each node has.

    \b
    Examples:
      tidegauge show quorum runs/kraft-outage --at 12s
    """

    run: shared.RunPath
    at: shared.At = None
    as_json: shared.AsJson = False


class ShowMetadataLogOptions(NamedTuple):
    """List the committed records of the metadata log of KRaft.

    \b
    Examples:
      tidegauge show metadata-log runs/kraft-outage --from 10s --to 20s
    """

    run: shared.RunPath
    begin: shared.From = None
    end: shared.To = None
    as_json: shared.AsJson = False


class PictureOptions(NamedTuple):
    """Draw a run over time, on one screen.

    The picture of the cluster has the number of partitions that accepted no writes, were offline,
    under min ISR and under-replicated, the changes of ISRs and leaders, the active faults and the
    steps. The picture of a partition has the role of each replica over time, leaders of an older
    epoch that led on, and high watermarks and log end offsets at the start and end of each fault.

    Times are virtual, since the beginning of the run: 10s, 12.345s, 4m. For a run of `read-logs`
    they are also those of its logs, in UTC: 23:56:48, 2026-11-22T23:56:48.

    \b
    Examples:
      tidegauge picture runs/rack-outage
      tidegauge picture runs/rack-outage --from 25s --to 45s
      tidegauge picture runs/rack-outage --partition orders-0
    """

    run: shared.RunPath
    #: Draw the replicas of this partition.
    partition: Annotated[str | None, typer.Option(metavar="TOPIC-PARTITION")] = None
    #: Start of the picture.
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME")] = None
    #: End of the picture: at the latest, and by default, the end of the run.
    end: Annotated[str | None, typer.Option("--to", metavar="TIME")] = None
    as_json: shared.AsJson = False


class DescribeOptions(NamedTuple):
    """Print topics and partitions at a moment of a run, as kafka-topics.sh --describe does.

    The layout is that of the scenario's release. Compare it with the output of a real cluster's
    tool, or import it with `tidegauge import`. The data are those of ZooKeeper, or of a quorum of
    controllers: a leader that has died is listed until its session expires.

    \b
    Examples:
      tidegauge describe runs/rack-outage
      tidegauge describe runs/rack-outage --at 4m --under-replicated-partitions
      tidegauge describe runs/rack-outage --at 30s --topic orders > orders.txt
      tidegauge describe runs/outage --at 2026-11-22T23:56:48
      tidegauge describe runs/rack-outage --at 30s --json
      tidegauge describe runs/rack-outage --at 30s --log-dirs > log-dirs.txt
    """

    run: shared.RunPath
    #: Virtual time: 0s, 12.345s, 4m; of a run of `read-logs` also 2026-11-22T23:56:48. Default: the
    #: end, after all faults.
    at: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: Print this topic only.
    topic: str | None = None
    #: Only partitions with a replica out of the ISR.
    under_replicated: Annotated[bool, typer.Option("--under-replicated-partitions")] = False
    #: Only partitions without an available leader.
    unavailable: Annotated[bool, typer.Option("--unavailable-partitions")] = False
    #: Only partitions with an ISR below min.insync.replicas, or without a leader.
    under_min_isr: Annotated[bool, typer.Option("--under-min-isr-partitions")] = False
    #: Print the sizes of logs, as kafka-log-dirs.sh --describe does.
    log_dirs: bool = False
    #: Print the topics as JSON.
    as_json: Annotated[bool, typer.Option("--json")] = False
