"""The options of commands that continue a run from a snapshot."""

from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as shared


class ResumeOptions(NamedTuple):
    """Continue an interrupted run from its last snapshot, to the end that it would have had.

    A run has snapshots with `tidegauge run SCENARIO --snapshot-every 60s`. It can be resumed when
    it was stopped or killed, when its machine was lost, when an actor died, or when the disk was
    full. The trace is cut back to the snapshot and continued. The hash and all figures but those of
    speed are those of an undisturbed run; `tidegauge replay RUN` proves it.

    Only the release of Tidegauge that wrote a snapshot can use it, on a machine of the same
    architecture. If the last snapshot is damaged, delete it: the one before is used. A resumed run
    serves no metrics. The exit status is that of `tidegauge run`.

    \b
    Examples:
      tidegauge resume runs/rack
      tidegauge resume runs/rack --speed 10
      tidegauge resume runs/rack --json > summary.json
    """

    run: shared.RunPath
    #: All processes in this interpreter, without Ray. The default.
    inline: shared.Inline = False
    ray: shared.OnRay = False
    actors: shared.Actors = None
    #: Join the Ray cluster at this address. Default with --ray: the address in RAY_ADDRESS, else
    #: Ray starts on this machine.
    address: str | None = None
    #: Limit the speed to X times real time; or max. Default: max.
    speed: Annotated[str | None, typer.Option(metavar="X")] = None
    #: Print all figures, a line for each group of producers, each check, and all that is left to
    #: chance. Default: the worst, in some fifteen lines.
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False
    #: Print summary.json; all else goes to standard error.
    as_json: Annotated[bool, typer.Option("--json")] = False

    @property
    def hosting(self) -> shared.Hosting:
        """The options about processes."""
        return shared.Hosting(self.inline, self.ray, self.actors, self.address)
