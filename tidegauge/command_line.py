"""The command ``tidegauge``: a table of contents.

A command is the class of its options, whose docstring is its help, and the function that performs
it. The function's module is imported when the command is performed, so ``--help`` of each is quick.
Errors that users read are printed here and nowhere else.
"""

import atexit
import errno
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from importlib import import_module
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from tidegauge import __version__
from tidegauge.commands import (
    result_options,
    rule_options,
    run_options,
    scenario_options,
    view_options,
)
from tidegauge.commands.old_spellings import new_spelling
from tidegauge.commands.search import search_options
from tidegauge.commands.shared_options import parameters_of
from tidegauge.commands.snapshots import snapshot_options
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.views.output import CLOSED, INTERRUPTED, close_output


class Command(NamedTuple):
    """A command before its module is imported."""

    options: type
    #: Module below ``tidegauge.commands`` and function, which takes the options.
    place: str


#: The commands by their aims, in the order in which a newcomer needs them.
COMMANDS: Mapping[str, Mapping[str, Command | Mapping[str, Command]]] = {
    "First steps": {
        "demo": Command(scenario_options.DemoOptions, "demo:demo"),
        "scenarios": Command(scenario_options.ScenariosOptions, "scenarios:list_scenarios"),
        "docs": Command(scenario_options.DocsOptions, "scenarios:show_docs"),
    },
    "Make and check a scenario": {
        "import": Command(scenario_options.ImportOptions, "import_cluster:import_cluster"),
        "calibrate": Command(scenario_options.CalibrateOptions, "calibrate:calibrate_costs"),
        "generate": Command(scenario_options.GenerateOptions, "generate:generate_scenario"),
        "lint": Command(scenario_options.LintOptions, "validate:lint_scenario"),
        "validate": Command(scenario_options.ValidateOptions, "validate:validate_scenario"),
        "schema": Command(scenario_options.SchemaOptions, "scenarios:show_schema"),
    },
    "Run scenarios": {
        "run": Command(run_options.RunOptions, "performing:run_scenario"),
        "branch": Command(run_options.BranchOptions, "snapshots.continuing:branch_run"),
        "resume": Command(snapshot_options.ResumeOptions, "snapshots.continuing:resume_run"),
        "sweep": Command(run_options.SweepOptions, "performing_many:sweep_scenario"),
        "compare": Command(run_options.CompareOptions, "comparing:compare_scenario"),
        "ask": Command(run_options.AskOptions, "questions.asking:ask_question"),
        "upgrade": Command(run_options.UpgradeOptions, "upgrade:upgrade_cluster"),
        "fuzz": Command(search_options.FuzzOptions, "search.fuzzing:fuzz_cluster"),
        "ablations": Command(search_options.AblationsOptions, "search.ablating:search_ablations"),
        "shrink": Command(search_options.ShrinkOptions, "search.shrinking:shrink_run"),
        "explain": Command(search_options.ExplainOptions, "search.explaining:explain_seen"),
        "alerts": Command(run_options.AlertsOptions, "alerts:rehearse_alerts"),
        "dashboards": Command(run_options.DashboardsOptions, "alerts:write_dashboards"),
        "compile": Command(run_options.CompileOptions, "loading:compile_rules"),
    },
    "Look at a run": {
        "show": {
            "partitions": Command(view_options.ShowPartitionsOptions, "show:show_partitions"),
            "partition": Command(view_options.ShowPartitionOptions, "show:show_partition"),
            "broker": Command(view_options.ShowBrokerOptions, "show:show_broker"),
            "client": Command(view_options.ShowClientOptions, "show:show_client"),
            "controller": Command(view_options.ShowControllerOptions, "show:show_controller"),
            "faults": Command(view_options.ShowFaultsOptions, "show:show_faults"),
            "cause": Command(view_options.ShowCauseOptions, "show:show_cause"),
            "quorum": Command(view_options.ShowQuorumOptions, "show:show_quorum"),
            "metadata-log": Command(view_options.ShowMetadataLogOptions, "show:show_metadata_log"),
            "zookeeper": Command(view_options.ShowZookeeperOptions, "show:show_zookeeper"),
        },
        "inspect": Command(snapshot_options.InspectOptions, "snapshots.inspecting:inspect_run"),
        "picture": Command(view_options.PictureOptions, "show:picture"),
        "describe": Command(view_options.DescribeOptions, "show:describe_cluster"),
        "report": Command(result_options.ReportOptions, "reports:report_run"),
        "replay-view": Command(result_options.ReplayViewOptions, "reports:replay_view"),
        "analyze": Command(result_options.AnalyzeOptions, "reports:analyze_runs"),
        "sql": Command(result_options.SqlOptions, "sql:select_rows"),
        "export": Command(result_options.ExportOptions, "tables.exporting:export_runs"),
        "read-logs": Command(result_options.ReadLogsOptions, "read_logs:read_logs"),
        "compare-runs": Command(result_options.CompareRunsOptions, "replay:compare_runs"),
        "blame": Command(snapshot_options.BlameOptions, "snapshots.blaming:blame_run"),
        "replay": Command(result_options.ReplayOptions, "replay:replay_run"),
        "verify": Command(result_options.VerifyOptions, "verify:verify_run"),
    },
    "Look up Kafka's rules": {
        "releases": Command(rule_options.ReleasesOptions, "releases:show_releases"),
        "reconcile": Command(rule_options.ReconcileOptions, "reconcile:reconcile_logs"),
        "divergences": Command(rule_options.DivergencesOptions, "reconcile:known_divergences"),
        "gallery": Command(rule_options.GalleryOptions, "conform:gallery"),
        "conform": Command(rule_options.ConformOptions, "conform:conform_schedules"),
    },
}

# \b keeps the lines below it as they are.
EXAMPLES = """\b
Examples:
  tidegauge demo             run a demonstration
  tidegauge run quickstart
                             run a scenario
  tidegauge sweep quickstart --set cluster.settings.replica.lag.time.max.ms=10000,30000
                             run it with several values, and compare the runs
  tidegauge compare quickstart --modes zookeeper,kraft
                             run it with ZooKeeper and with KRaft, and compare
  tidegauge show faults RUN  show the cost of each fault
  tidegauge blame RUN        run it again without each fault: the true costs
  tidegauge show partition RUN orders-0
                             explain what happened to a partition, and why
  tidegauge picture RUN      draw a run over time, on one screen
  tidegauge report RUN       write a report of a run, for a browser
  tidegauge import describe.txt -o mine.yaml
                             make a scenario of a real cluster
  tidegauge lint mine.yaml   find settings and layouts that are known to fail
  tidegauge ask mine.yaml AZ loss
                             show what clients see of a fault, over twenty seeds
  tidegauge upgrade mine.yaml --to 4.4
                             show what a release would change for it
  tidegauge alerts --rules kafka-rules.yml
                             test alert rules on incidents
  tidegauge compile --help   explain one command
"""

_SHOW = """Explain what happened in a run, and why.

Times are virtual, since the beginning of the run: 10s, 12.345s, 4m. For a run of `read-logs` they
are also those of its logs, in UTC: 23:56:48, 2026-11-22T23:56:48.

\b
Examples:
  tidegauge show partitions runs/rack-outage
  tidegauge show partition runs/rack-outage orders-0
  tidegauge show faults runs/rack-outage
"""


class Group(TyperGroup):
    """Commands that are listed with the whole first sentence of each."""

    def sections(self) -> Mapping[str, Iterable[str]]:
        """The names of the commands below their headings."""
        return {"Commands": self.commands}

    # Typer's release decides whose class a context is of: its own, or click's.
    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as inherited
        """Write the lists of commands."""
        for heading, names in self.sections().items():
            found = ((name, self.commands[name]) for name in names)
            with formatter.section(heading):
                formatter.write_dl([(name, each.get_short_help_str(200)) for name, each in found])


def _class_of(options: type) -> type[TyperCommand]:
    """The class of a command: options may complete what is typed before it is read."""
    completed = getattr(options, "completed", list)

    class OwnCommand(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, completed(args))

    return OwnCommand


class Commands(Group):
    """All commands. Each ends with one line if its input is wrong, or if Ctrl-C stops it.

    If the reader of its output has gone, such as `head`, it ends without one.
    """

    def sections(self) -> Mapping[str, Iterable[str]]:
        """The names of the commands below their aims."""
        return COMMANDS

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command; an old spelling is answered with the new one."""
        spelling = new_spelling(args)
        if spelling is not None:
            _end(f"this is now: {spelling}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> object:
        """Perform the named command."""
        try:
            # In a context of its own: the wall clock of the shown run ends with the command.
            return copy_context().run(super().invoke, ctx)
        except TidegaugeError as error:
            _end(str(error))
        except BrokenPipeError:
            close_output()
            raise typer.Exit(CLOSED) from None
        except Exception as error:
            reason = _reason_of_system(error)
            if reason is None:
                raise
            _end(reason)
        except KeyboardInterrupt as error:
            # Else the command has reported how much of it is finished.
            if not error.args:
                _stopped()
            raise typer.Exit(INTERRUPTED) from None


def _typer_of(
    commands: Mapping[str, Command | Mapping[str, Command]], **options: Any
) -> typer.Typer:
    """An application without boxes in its help: examples can be copied, and it can be searched."""
    made = typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        **options,
    )
    for name, command in commands.items():
        if isinstance(command, Command):
            made.command(name, cls=_class_of(command.options))(_performed_later(command))
        else:
            made.add_typer(_typer_of(command, help=_SHOW, cls=Group), name=name)
    return made


def _performed_later(command: Command) -> Callable[..., None]:
    """The function of a command for Typer: its parameters are the fields of the options."""

    def perform(**values: Any) -> None:
        options = command.options(**values)
        if hasattr(options, "look_first"):
            options.look_first()
        module, _, function = command.place.partition(":")
        performer = getattr(import_module(f"tidegauge.commands.{module}"), function)
        performer(options)

    parameters = parameters_of(command.options)
    function: Any = perform
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {each.name: each.annotation for each in parameters}
    function.__doc__ = command.options.__doc__
    return perform


app = _typer_of(
    {name: command for group in COMMANDS.values() for name, command in group.items()},
    cls=Commands,
    epilog=EXAMPLES,
)


def main() -> None:
    """Run the command in the shell's arguments."""
    try:
        app()
    except KeyboardInterrupt:
        _stopped()
        _leave()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            _leave()
        raise


def _leave() -> NoReturn:
    """End after an interruption, without the end of the interpreter if Ray is there.

    A thread of Ray that is in the middle of a call crashes when the interpreter ends.
    """
    if "ray" in sys.modules:
        atexit._run_exitfuncs()  # noqa: SLF001 - it has no public name
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    sys.exit(INTERRUPTED)


def _end(message: str) -> NoReturn:
    typer.echo(f"tidegauge: {message}", err=True)
    raise typer.Exit(2)


#: The texts of errors when a file cannot grow: the disk, the quota, or the largest file.
_FULL = [os.strerror(each) for each in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)]


def _reason_of_system(error: Exception) -> str | None:
    """The reason why a file could not be read or written, in one line; None: another error.

    A write names no file, and DuckDB and Arrow have errors of their own for a full disk.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    full = next((text for text in _FULL if text in str(error)), None)
    return None if full is None else f"a file cannot be written to: {full}"


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
