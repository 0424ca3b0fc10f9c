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
