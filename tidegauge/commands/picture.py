"""``tidegauge picture``: a run on one screen of a terminal, over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.options.run_argument import opened_run
from tidegauge.views.output import console, fail
from tidegauge.views.story_lines import parse_span, print_notes


def picture(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that the run wrote.")],
    partition: Annotated[
        str | None,
        typer.Option(metavar="TOPIC-PARTITION", help="Draw this partition's replicas."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Leave out what was before.")
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="Leave out what was after; may be in the liveness phase, which is left out else.",
        ),
    ] = None,
) -> None:
    """Draw a run over time, on one screen.

    Of the cluster: how many partitions were offline, under min ISR, under-replicated; when ISRs
    shrank and leaders were elected; and when faults were on. Of a partition: what each replica
    was, and its high watermark and log end offset where faults begin and end.

    Times are virtual, since the beginning of the run: 10s, 12.345s, 4m.

    \b
    Examples:
      tidegauge picture runs/rack-outage
      tidegauge picture runs/rack-outage --from 25s --to 45s
      tidegauge picture runs/rack-outage --partition orders-0
    """
    from tidegauge.history.story import Names
    from tidegauge.views.cluster_picture import show_cluster
    from tidegauge.views.partition_picture import show_partition
    from tidegauge.views.partition_view import partition_number
    from tidegauge.views.time_axis import axis_of

    try:
        folder = opened_run(run, "picture")
        names = Names(folder.manifest)
        out = console()
        axis = axis_of(folder, out, parse_span(begin, end))
        number = None if partition is None else partition_number(partition, names)
        print_notes(folder)
        if number is None:
            show_cluster(out, folder, names, axis)
        else:
            show_partition(out, folder, names, number, axis)
    except ValueError as error:
        fail(str(error))
