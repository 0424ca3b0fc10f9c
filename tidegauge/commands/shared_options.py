"""Arguments and options that several commands share: the same words and meaning in each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# The input.
ScenarioName = Annotated[
    str, typer.Argument(help="A scenario file, or the name of a shipped scenario.")
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that the run wrote.")]
RunNames = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Folders of runs or of sweeps, or 'runs/*'.")
]
CostsFile = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        metavar="FILE",
        help="Costs and resources of a real cluster, as `tidegauge calibrate` writes them.",
    ),
]

# The part of a run that is shown. Times are virtual.
At = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="Print the state at this time.")
]
From = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="Start of the shown time.")
]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="End of the shown time.")]

# How it is run.
Inline = Annotated[
    bool,
    typer.Option(
        "--inline",
        help="All processes in this interpreter, without Ray. The default, unless Ray is faster.",
    ),
]
OnRay = Annotated[bool, typer.Option("--ray", help="All processes in actors of Ray.")]
Actors = Annotated[
    int | None,
    typer.Option(
        "--actors",
        min=1,
        help="Number of Ray actors that host brokers, beside the one for controllers. Default "
        "with --ray: one a broker up to 8 brokers, else as many as speed up the run.",
    ),
]

# Many runs.
Seeds = Annotated[
    str | None,
    typer.Option("--seeds", metavar="A..B", help="Run each setting with each of these seeds."),
]
SeedOfAll = Annotated[int | None, typer.Option("--seed", help="Seed of all runs.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="J", help="Number of parallel runs. Default: the number of CPUs."
    ),
]
SharedAddress = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="Join the Ray cluster at this address, whose machines share the scenario file and "
        "DIR. Default: the address in RAY_ADDRESS, else Ray starts on this machine.",
    ),
]

# Measurements of a real cluster.
Prometheus = Annotated[
    str | None,
    typer.Option(
        "--prometheus",
        metavar="URL",
        help="The Prometheus that watches the cluster, such as http://prometheus:9090; also "
        "https, with USER:PASSWORD@ and a path.",
    ),
]
MeasuredAt = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="The end of the measured time: 2026-11-24T17:40:00Z, seconds since 1970, or now. "
        "Default: now; with --samples, their last sample.",
    ),
]
MeasuredOver = Annotated[
    str | None,
    typer.Option(
        "--over",
        metavar="TIME",
        help="The length of the measured time. Default: 5m. Of two scrapes without timestamps it "
        "is the time between them; default: that between the times of their files.",
    ),
]
Matchers = Annotated[
    str | None,
    typer.Option(
        "--match",
        metavar="MATCHERS",
        help="Only series with these labels, such as 'cluster=\"a\"', of a Prometheus that "
        "watches several clusters.",
    ),
]

# The output.
NewFile = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="The scenario to write.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON; all else goes to standard error.")
]
