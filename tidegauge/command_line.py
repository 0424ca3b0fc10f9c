"""The command ``tidegauge``: a table of contents.

A command is a line of the table here, and a function of its module in ``tidegauge.commands``. The
module is imported when the command is named, so the list of commands is quick. Errors that users
read are printed here and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple, NoReturn, cast

import typer
from typer.core import TyperGroup

from tidegauge import __version__
from tidegauge.commands.old_spellings import new_spelling
from tidegauge.commands.shared_options import plain_typer
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.views.output import INTERRUPTED


class Command(NamedTuple):
    """A command that is not imported yet."""

    #: Module and function (or group of commands) below ``tidegauge.commands``.
    place: str
    #: The first sentence of the command's own text; a test compares them.
    summary: str


#: The commands by their aims, in the order in which a newcomer needs them.
COMMANDS = {
    "First steps": {
        "demo": Command(
            "demo:demo",
            "Run a demonstration: a crash on Ray, then a real cluster that loses a rack.",
        ),
        "scenarios": Command(
            "scenarios:list_scenarios",
            "List the shipped scenarios, and the question that each answers.",
        ),
    },
    "Make and check a scenario": {
        "import": Command("import_cluster:import_cluster", "Make a scenario of a real cluster."),
        "calibrate": Command(
            "calibrate:calibrate_costs",
            "Fit the costs of work to a real cluster, from its own logs and metrics.",
        ),
        "generate": Command(
            "generate:generate_scenario",
            "Make a scenario of a cluster of which there are only numbers.",
        ),
        "validate": Command(
            "validate:validate_scenario",
            "Check a scenario, and predict its run, without running it.",
        ),
        "schema": Command("scenarios:show_schema", "Print the JSON schema of scenario files."),
    },
    "Run scenarios": {
        "run": Command(
            "run:run_scenario",
            "Run a scenario in virtual time; write manifest, trace and summary.",
        ),
        "sweep": Command(
            "sweep:sweep_scenario",
            "Run a scenario with several values of its fields and many seeds, and compare them.",
        ),
        "compare": Command(
            "compare:compare_scenario",
            "Run a scenario with ZooKeeper and with KRaft, and compare the runs.",
        ),
        "upgrade": Command(
            "upgrade:upgrade_cluster",
            "Run a cluster and its upgrade under standard faults, and print what changes.",
        ),
        "alerts": Command(
            "alerts:rehearse_alerts", "Test unchanged alert rules on incidents in simulated time."
        ),
        "dashboards": Command(
            "browser_pages:write_dashboards",
            "Write Grafana's dashboard, alert rules and Prometheus's configuration to a folder.",
        ),
        "compile": Command("compilation:compile_rules", "Compile the rules into the cache."),
    },
    "Look at a run": {
        "show": Command("show:show", "Explain what happened in a run, and why."),
        "picture": Command("picture:picture", "Draw a run over time, on one screen."),
        "describe": Command(
            "describe:describe_cluster",
            "Print topics and partitions at a moment of a run, as kafka-topics.sh --describe does.",
        ),
        "report": Command(
            "browser_pages:report_run",
            "Write a report of recorded runs: one HTML file, which opens in any browser.",
        ),
        "replay-view": Command(
            "browser_pages:replay_view",
            "Write the replay of a run: one HTML file that a browser plays without a network.",
        ),
        "analyze": Command(
            "analyze:analyze_runs",
            "Make result tables and a report of recorded runs with Spark, and print their figures.",
        ),
        "read-logs": Command("read_logs:read_logs", "Turn the logs of a real cluster into a run."),
        "compare-runs": Command(
            "replay:compare_runs", "Put two runs side by side: real or simulated ones."
        ),
        "replay": Command(
            "replay:replay_run", "Repeat a run from its manifest, and compare both runs."
        ),
        "verify": Command("verify:verify_run", "Check the trace of a run against its summary."),
    },
    "Look up Kafka's rules": {
        "releases": Command("releases:show_releases", "Show the rules and defaults of a release."),
        "reconcile": Command(
            "reconcile:reconcile_logs", "Show what a follower truncates, by release."
        ),
        "divergences": Command(
            "reconcile:known_divergences",
            "Show how replicas diverged in old releases, and the fixes.",
        ),
        "gallery": Command(
            "gallery:gallery",
            "Show known bugs of KRaft: each in an affected release, and absent in a fixed one.",
        ),
        "conform": Command(
            "conform:conform_schedules",
            "Compare the simulator with schedules that were played on real brokers.",
        ),
    },
}

# \b keeps the lines below it as they are.
EXAMPLES = """\b
Examples:
  tidegauge demo             run a demonstration
  tidegauge run quickstart
                             run a scenario
  tidegauge sweep quickstart --set faults.crash.for=10s,20s,40s
                             run it with several values, and compare the runs
  tidegauge compare quickstart --modes zookeeper,kraft
                             run it with ZooKeeper and with KRaft, and compare
  tidegauge show faults RUN  show the cost of each fault
  tidegauge show partition RUN orders-0
                             explain what happened to a partition, and why
  tidegauge picture RUN      draw a run over time, on one screen
  tidegauge report RUN       write a report of a run, for a browser
  tidegauge import describe.txt -o mine.yaml
                             make a scenario of a real cluster
  tidegauge upgrade mine.yaml --to 4.1
                             show what a release would change for it
  tidegauge alerts --rules kafka-rules.yml
                             test alert rules on incidents
  tidegauge compile --help   explain one command
"""


class LoadedCommands(Mapping[str, Any]):
    """The commands by their names; the module of one is imported when it is looked up."""

    def __init__(self) -> None:
        groups = COMMANDS.values()
        self._table = {name: entry for group in groups for name, entry in group.items()}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            module, _, attribute = self._table[name].place.partition(":")
            found = getattr(import_module(f"tidegauge.commands.{module}"), attribute)
            if not isinstance(found, typer.Typer):
                function, found = found, plain_typer(add_completion=False)
                found.command(name)(function)
            self._loaded[name] = typer.main.get_command(found)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class Commands(TyperGroup):
    """The commands. Each ends with one line if its input is wrong, and if Ctrl-C stops it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = cast("Any", LoadedCommands())

    # Typer's release decides whose class a context is of: its own, or click's.
    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as inherited
        """Write the lists of commands, each below its aim."""
        for aim, group in COMMANDS.items():
            with formatter.section(aim):
                formatter.write_dl([(name, entry.summary) for name, entry in group.items()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command; a command of an older release has another name."""
        spelling = new_spelling(args)
        if spelling is not None:
            _end(f"this is now: {spelling}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> object:
        """Perform the named command."""
        try:
            return super().invoke(ctx)
        except TidegaugeError as error:
            _end(str(error))
        except OSError as error:
            if error.filename is None:
                raise
            _end(f"{error.filename}: {error.strerror}")
        except KeyboardInterrupt:
            _stopped()
            raise typer.Exit(INTERRUPTED) from None


app = plain_typer(cls=Commands, epilog=EXAMPLES, no_args_is_help=True)


def main() -> None:
    """Run the command in the shell's arguments."""
    try:
        app()
    except KeyboardInterrupt:
        _stopped()
        sys.exit(INTERRUPTED)


def _end(message: str) -> NoReturn:
    typer.echo(f"tidegauge: {message}", err=True)
    raise typer.Exit(2)


def _stopped() -> None:
    # A newline first: the terminal has shown ^C.
    typer.echo("\ntidegauge: stopped", err=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tidegauge {__version__}")
        raise typer.Exit


@app.callback()
def front_door(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Simulate the replication of a Kafka cluster in virtual time, and analyze its behaviour.

    Run a scenario, see what happened to a partition and why, and check that the run can be
    reproduced. The rules of each release of Kafka can be inspected without a run.
    """
