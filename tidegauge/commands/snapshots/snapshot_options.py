"""The options of commands that continue a run from a snapshot."""

import shlex
from pathlib import Path
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


class BranchOptions(NamedTuple):
    """Continue a run from a time on in another way: with other faults, steps, settings or seed.

    The branch is a run of its own, in a folder of its own. Until TIME it is the run that it
    continues, so all views show the past as well. Without a change its hash is that of RUN. RUN
    stays as it is.

    A run with a snapshot at TIME (`tidegauge run SCENARIO --snapshot-at 90s`) is continued at once.
    Else its past is repeated, from the last snapshot before TIME if there is one.

    --set changes the scenario as in `tidegauge run`, from TIME on: settings of brokers, controllers
    and producers, network, costs, duration, checks, and faults and steps that are still to come.
    Topics, brokers and their places cannot change. `tidegauge sweep --from RUN --at TIME` runs many
    branches of one past.

    \b
    Examples:
      tidegauge branch runs/roll --at 90s --fault '{kind: power_loss, at: 95s, for: 1m,
          brokers: ["rack:b"]}'
      tidegauge branch runs/roll --at 90s --set cluster.settings.replica.lag.time.max.ms=10000
      tidegauge branch runs/roll --at 90s --set faults.disk.for=5m --set duration=20m
      tidegauge branch runs/roll --at 90s --seed 7 --out runs/roll-7
    """

    run: shared.RunPath
    #: The virtual time from which the run goes on in another way.
    at: Annotated[str, typer.Option(metavar="TIME")]
    #: Change a field of the scenario; VALUE is YAML. Repeatable.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE")] = None
    #: Add a fault, as in a scenario file. Repeatable.
    faults: Annotated[list[str] | None, typer.Option("--fault", metavar="YAML")] = None
    #: Add a step behind the others, as in a scenario file. Repeatable.
    steps: Annotated[list[str] | None, typer.Option("--step", metavar="YAML")] = None
    #: Another seed from then on.
    seed: int | None = None
    #: Folder for the branch; new or empty. Default: runs/NAME-SEED-from-TIME.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    #: Save the state of the branch at this interval of virtual time, such as 60s.
    snapshot_every: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: Print all figures, a line for each group of producers, each check, and all that is left to
    #: chance. Default: the worst, in some fifteen lines.
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False
    #: Print summary.json; all else goes to standard error.
    as_json: Annotated[bool, typer.Option("--json")] = False

    @property
    def command(self) -> str:
        """The shell command that repeats the branch."""
        again = self._replace(out=None, snapshot_every=None, verbose=False, as_json=False)
        return shlex.join(["tidegauge", "branch", *shared.words_of(again)])
