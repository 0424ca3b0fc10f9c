"""``tidegauge picture``: a run on one screen of a terminal, over time."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegauge.commands import shared_options as options
from tidegauge.commands.loading import opened_run
from tidegauge.runs.result_tables import tables_of
from tidegauge.runs.story import Names
from tidegauge.views.cluster_picture import show_cluster
from tidegauge.views.output import console
from tidegauge.views.partition_picture import show_partition
from tidegauge.views.partition_view import partition_number
from tidegauge.views.story_lines import parse_span, print_notes
from tidegauge.views.time_axis import axis_of


def picture(
    run: options.RunPath,
    partition: Annotated[
        str | None,
        typer.Option(metavar="TOPIC-PARTITION", help="Draw the replicas of this partition."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Start of the picture.")
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="End of the picture: at the latest, and by default, the end of the run.",
        ),
    ] = None,
) -> None:
    """Draw a run over time, on one screen.

    The picture of the cluster has the number of partitions that accepted no writes, were offline,
    under min ISR and under-replicated, the changes of ISRs and leaders, the active faults and the
    steps. The picture of a partition has the role of each replica over time, leaders of an older
    epoch that led on, and high watermarks and log end offsets at the start and end of each fault.

    Times are virtual, since the beginning of the run: 10s, 12.345s, 4m.

    \b
    Examples:
      tidegauge picture runs/rack-outage
      tidegauge picture runs/rack-outage --from 25s --to 45s
      tidegauge picture runs/rack-outage --partition orders-0
    """
    folder = opened_run(run, "picture")
    names = Names.of(folder)
    out = console()
    axis = axis_of(folder, out, parse_span(begin, end))
    number = None if partition is None else partition_number(partition, names)
    print_notes(folder)
    if number is None:
        show_cluster(out, folder, tables_of(folder), names, axis)
    else:
        show_partition(out, folder, tables_of(folder), names, number, axis)
