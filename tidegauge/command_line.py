"""The command ``tidegauge``: a table of contents.

A command is one function in its own module of ``tidegauge.commands``, or of its own room, and one
line at the end of this file. A command imports its dependencies when it is called, so ``--help`` is
quick.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tidegauge import __version__
from tidegauge.cluster_commands.read_logs import read_logs
from tidegauge.commands.analyze_runs import analyze_runs
from tidegauge.commands.compare_scenario import compare_scenario
from tidegauge.commands.compile_rules import compile_rules
from tidegauge.commands.conform import conform_schedules
from tidegauge.commands.demo import demo
from tidegauge.commands.describe_cluster import describe_cluster
from tidegauge.commands.generate_scenario import generate_scenario
from tidegauge.commands.import_cluster import import_cluster
from tidegauge.commands.known_divergences import known_divergences
from tidegauge.commands.list_scenarios import list_scenarios
from tidegauge.commands.picture import picture
from tidegauge.commands.reconcile_logs import reconcile_logs
from tidegauge.commands.rehearse_alerts import rehearse_alerts
from tidegauge.commands.replay_run import replay_run
from tidegauge.commands.replay_view import replay_view
from tidegauge.commands.report_run import report_run
from tidegauge.commands.run_scenario import run_scenario
from tidegauge.commands.show_gallery import gallery
from tidegauge.commands.show_releases import show_releases
from tidegauge.commands.show_run import show_run
from tidegauge.commands.show_schema import show_schema
from tidegauge.commands.sweep_scenario import sweep_scenario
from tidegauge.commands.validate_scenario import validate_scenario
from tidegauge.commands.verify_run import verify_run
from tidegauge.commands.write_dashboards import write_dashboards
from tidegauge.views.output import INTERRUPTED

# \b keeps the lines below it as they are.
EXAMPLES = """\b
Examples:
  tidegauge demo             run a demonstration
  tidegauge scenarios        list the shipped scenarios and their questions
  tidegauge import describe.txt -o mine.yaml
                             make a scenario of a real cluster
  tidegauge read-logs DIR -o RUN
                             turn the logs of a real cluster into a run
  tidegauge generate -o mine.yaml
                             make a scenario from numbers only
  tidegauge validate FILE    check a scenario, and predict its run
  tidegauge run quickstart
                             run a scenario
  tidegauge sweep quickstart --set faults.crash.for=10s,20s,40s
                             run it with several values, and compare the runs
  tidegauge compare quickstart --modes zookeeper,kraft
                             run it with ZooKeeper and with KRaft, and compare
  tidegauge alerts --rules kafka-rules.yml
                             test alert rules on incidents
  tidegauge gallery          show known bugs of KRaft in two releases each
  tidegauge show RUN --faults
                             show the cost of each fault
  tidegauge show RUN --partition orders-0
                             explain what happened to a partition, and why
  tidegauge picture RUN      draw a run over time, on one screen
  tidegauge report RUN       write a report of a run, for a browser
  tidegauge analyze 'runs/*'
                             make result tables of many runs, with Spark
  tidegauge replay-view RUN  write a page that plays a run in a browser
  tidegauge describe RUN --at 12s
                             print topics as kafka-topics.sh does
  tidegauge replay RUN       repeat a run, and compare the two
  tidegauge verify RUN       check the trace of a run against its hash
  tidegauge dashboards DIR   write the dashboard and alert rules for a live run
  tidegauge schema           print the JSON schema of scenarios, for editors
  tidegauge conform FILE     compare the simulator with real brokers
  tidegauge reconcile --leader 0:3,1:2 --follower 0:5
                             show what a follower truncates, by release
  tidegauge releases 2.6     show the rules of a release of Kafka
  tidegauge compile --help   explain one command
"""


class Commands(TyperGroup):
    """The commands. Ctrl-C ends each of them with one line."""

    # Typer's release decides whose class the context is of: its own, or click's.
    def invoke(self, ctx: Any) -> object:
        """Perform the named command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _stopped()
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=Commands,
    epilog=EXAMPLES,
    no_args_is_help=True,
    # Plain help, without boxes: its examples can be copied, and it can be searched.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command in the shell's arguments."""
    try:
        app()
    except KeyboardInterrupt:
        _stopped()
        sys.exit(INTERRUPTED)


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


# In the order in which a newcomer needs them.
app.command("demo")(demo)
app.command("scenarios")(list_scenarios)
app.command("import")(import_cluster)
app.command("read-logs")(read_logs)
app.command("generate")(generate_scenario)
app.command("validate")(validate_scenario)
app.command("run")(run_scenario)
app.command("sweep")(sweep_scenario)
app.command("compare")(compare_scenario)
app.command("alerts")(rehearse_alerts)
app.command("gallery")(gallery)
app.command("show")(show_run)
app.command("picture")(picture)
app.command("report")(report_run)
app.command("analyze")(analyze_runs)
app.command("replay-view")(replay_view)
app.command("describe")(describe_cluster)
app.command("replay")(replay_run)
app.command("verify")(verify_run)
app.command("dashboards")(write_dashboards)
app.command("schema")(show_schema)
app.command("conform")(conform_schedules)
app.command("divergences")(known_divergences)
app.command("reconcile")(reconcile_logs)
app.command("releases")(show_releases)
app.command("compile")(compile_rules)
