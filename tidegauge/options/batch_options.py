"""Options of commands that perform many runs: the same words and meaning in each of them."""

from __future__ import annotations

from typing import Annotated

import typer

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
SeedOfAll = Annotated[int | None, typer.Option("--seed", help="Seed of all runs.")]
