"""The options of commands that continue a run from a snapshot, or look at its past."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as shared

_INTEGER = re.compile(r"[+-]?[0-9]+")


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


class BlameOptions(NamedTuple):
    """Find what each fault of a run really cost: run it again without the fault.

    `show faults` follows causes, and an effect that two faults share counts for both. This command
    takes differences instead: it runs the scenario without each fault, without any, and with each
    alone, all else being equal. The figures with all faults are those with none, what each fault
    causes alone, and what they cause only together; these add up exactly. The last lines have what
    would be different without one fault.

    A run begins at the last snapshot of RUN before the fault that it leaves out, if RUN has one
    (`run --snapshot-every 60s`). With up to 6 faults all subsets are run, with more of them single
    ones, pairs, and all but each; with still more of them there are no pairs.

    The result is stored in RUN/blame.json, and `tidegauge report RUN` shows it.

    \b
    Examples:
      tidegauge blame runs/first
      tidegauge blame runs/first --seeds 10
                                 the median of ten seeds, and the least and most
      tidegauge blame runs/first --fault disk --fault roll
                                 only these two; all others stay
      tidegauge blame runs/first --figures leader_elections,produce_ms.shop.p99
      tidegauge blame runs/first --json
    """

    run: shared.RunPath
    #: The number of seeds, that of RUN and those after it; or the first and the last one: 1..20.
    seeds: Annotated[str | None, typer.Option(metavar="N|A..B")] = None
    #: A fault to judge; the others stay. Repeatable. Default: all that begin in RUN.
    fault: Annotated[list[str] | None, typer.Option(metavar="NAME")] = None
    #: Figures to show; `tidegauge sweep SCENARIO --figures` lists them. Repeatable.
    figures: Annotated[list[str] | None, typer.Option(metavar="NAME[,NAME...]")] = None
    #: Show all figures that differ, not only the most important ones.
    details: Annotated[bool, typer.Option("--all")] = False
    #: The most runs with one seed.
    max_runs: Annotated[int, typer.Option(min=4, metavar="N")] = 64
    jobs: shared.Jobs = None
    #: Join the Ray cluster at this address, whose machines share RUN. Default: the address in
    #: RAY_ADDRESS, else Ray starts on this machine.
    address: str | None = None
    as_json: shared.AsJson = False


class InspectOptions(NamedTuple):
    """Print every field of the state at a moment, and step through the events from there.

    The run is repeated up to the moment, from its last snapshot before that or from its beginning;
    its folder is not changed. All events earlier than the moment are handled then. Fetches between
    brokers that bring nothing are computed: they are in the state, but they are no events of their
    own without --idle-fetches.

    SUBJECT is one or more of: broker ID, partition TOPIC-N, client NAME, controller [ID],
    zookeeper, link FROM TO, events [N]. Without a subject the whole cluster is printed in short.

    In a terminal, --step continues with a prompt: `n` for the next event, `p` for the one before,
    `to 65s` for another moment, `help` for the rest.

    \b
    Examples:
      tidegauge inspect runs/rack-outage --at 63.2s
      tidegauge inspect runs/rack-outage --at 63.2s broker 2 partition orders-0
      tidegauge inspect runs/rack-outage --at 63.2s link 1 2 events 20
      tidegauge inspect runs/rack-outage --at 63.2s --step 5 partition orders-0
                                 the next five events, and their changes of that partition
      tidegauge inspect runs/rack-outage --at 63.2s --step -3 controller
                                 the state three events before
    """

    run: shared.RunPath
    #: The subjects.
    subjects: Annotated[list[str] | None, typer.Argument(metavar="SUBJECT")] = None
    #: The moment. Default: the end of the run.
    at: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: Handle so many events from there, one by one; below 0: go back by so many. Default: one.
    step: Annotated[int | None, typer.Option(metavar="[N]")] = None
    #: Print below each field its meaning.
    explain: bool = False
    #: Handle fetches that bring nothing one by one, too; the run is repeated from its beginning.
    idle_fetches: bool = False
    as_json: shared.AsJson = False

    @staticmethod
    def completed(words: Sequence[str]) -> list[str]:
        """The words of the command line with the number that --step has if none is given."""
        found: list[str] = []
        for word, following in zip_longest(words, words[1:], fillvalue=""):
            found += (
                [word, "1"] if word == "--step" and not _INTEGER.fullmatch(following) else [word]
            )
        return found
