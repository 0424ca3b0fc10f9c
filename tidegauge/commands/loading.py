"""The prerequisites of commands: a scenario, a run, a new file, Spark, compiled rules.

``tidegauge compile`` is here, too.
"""

import importlib
import shlex
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tidegauge.commands.run_options import CompileOptions, RunOptions
from tidegauge.commands.shared_options import parsed
from tidegauge.compiled.compile_all import Compilation, compile_all, import_kernel, is_compiled
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.compiled.kept_code import cache_folder, shipped_target, target
from tidegauge.compiled.rules import COMPILED, RULES, RUN
from tidegauge.scenario.lint.lint import mistakes_in
from tidegauge.scenario.reading import Scenario, ScenarioError, load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.scenario.text.changes import parse_change
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.scenario.warnings import warnings_of
from tidegauge.simulation.quantities import format_duration, parse_time
from tidegauge.simulation.wall_clock import show_clock
from tidegauge.traces.run_files import SweepFolderError, runs_of_sweep, worst_of_sweep
from tidegauge.traces.run_folder import write_text_atomically
from tidegauge.views.progress import CompilationPace, working

if TYPE_CHECKING:
    from tidegauge.runs.run import Run

_PARTS = ("costs", "resources")


def costs_in(file: Path) -> dict[str, object]:
    """The values of a file by their paths in a scenario; the command ends if it has others."""
    data = read_scenario_file(file).data
    if not isinstance(data, dict) or not data or not set(data) <= set(_PARTS):
        raise TidegaugeError(f"{file}: must have {' and '.join(_PARTS)}, and nothing else")
    values: dict[str, object] = {}
    for part, fields in data.items():
        if not isinstance(fields, dict):
            raise TidegaugeError(
                f"{file}: {part}: must be a mapping, with a line for each parameter"
            )
        values |= {f"{part}.{field}": value for field, value in fields.items()}
    return values


def check_new_file(out: Path, *, force: bool) -> None:
    """Fail unless the file can be written, or overwritten if that is wanted."""
    try:
        if out.is_dir():
            raise TidegaugeError(f"{out}: is a folder")
        if out.exists() and not out.is_file():
            raise TidegaugeError(f"{out}: is a device or a pipe, not a file")
        if out.exists() and not force:
            raise TidegaugeError(f"{out}: exists; --force overwrites it")
    except OSError as error:
        raise TidegaugeError(f"{out}: cannot be written: {error.strerror}") from error


def check_new_folder(out: Path) -> None:
    """Fail unless ``--out`` names a folder that is new or empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise TidegaugeError(f"--out {out}: is not a new or empty folder")


def write_new_file(out: Path, text: str) -> None:
    """Write the whole file, or nothing."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(out, text)
    except OSError as error:
        raise TidegaugeError(f"{out}: cannot be written: {error.strerror}") from error


def time_in_scenario(option: str, text: str) -> str:
    """A time from the command line, as a scenario has it; the command ends if it is not a time."""
    return format_duration(parsed(option, text, parse_time))


def scenario_file(request: RunOptions) -> Path:
    """The file of the scenario of a request.

    Raises:
        ScenarioError: there is none.
    """
    return find_scenario(request.scenario)


def loaded(request: RunOptions, seed: int | None = None) -> Scenario:
    """The scenario of a request with its changes, and with another seed if one is given.

    Raises:
        ScenarioError: it cannot be run.
    """
    changes = changes_of(request)
    if seed is not None:
        changes["seed"] = seed
    return load_scenario(scenario_file(request), changes)


def changes_of(request: RunOptions) -> dict[str, object]:
    """The changed values of a request by their paths.

    Raises:
        TidegaugeError: a change cannot be read.
    """
    changes = {} if request.costs is None else costs_in(request.costs)
    for path, value in changes_in(request.changes or ()).items():
        # A path that is given twice has its last value, after the paths between.
        changes.pop(path, None)
        changes[path] = value
    if request.without is not None:
        changes["ablations"] = [name for names in request.without for name in names.split(",")]
    if request.seed is not None:
        changes["seed"] = request.seed
    if request.trace_level is not None:
        changes["trace"] = request.trace_level
    return changes


def changes_in(texts: Iterable[str]) -> dict[str, object]:
    """The values of ``--set`` by their paths; a path that is given twice has its last value.

    Raises:
        TidegaugeError: a change cannot be read.
    """
    changes: dict[str, object] = {}
    for text in texts:
        try:
            path, value = parse_change(text)
        except ScenarioError as error:
            raise TidegaugeError(f"--set {error}") from error
        changes.pop(path, None)
        changes[path] = value
    return changes


def warned_of(scenario: Scenario) -> list[str]:
    """The warnings about a scenario before it is run: of its run, and of likely mistakes."""
    return [*(finding.line for finding in mistakes_in(scenario).values()), *warnings_of(scenario)]


def show_warnings(*scenarios: Scenario, most: int | None = None) -> None:
    """Print the warnings about scenarios on standard error, before they are run, each once.

    Args:
        scenarios: the scenarios.
        most: the number of warnings to print; the last one has the number of others.
    """
    lines = dict.fromkeys(line for scenario in scenarios for line in warned_of(scenario))
    printed = list(lines)[:most]
    if len(printed) < len(lines):
        printed[-1] += f" (and {len(lines) - len(printed)} more: tidegauge validate lists them)"
    for line in printed:
        warn(line)


def warn(line: str) -> None:
    """Print a warning on standard error."""
    typer.echo(f"tidegauge: warning: {line}", err=True)


def has_spark() -> bool:
    """Whether Spark is installed."""
    return find_spec("pyspark") is not None


def need_spark(command: str) -> None:
    """End a command with one line unless it can use Spark."""
    if not has_spark():
        raise TidegaugeError(
            f"{command} needs Spark, which is not installed: pip install 'tidegauge[spark]'"
        )


def announce_compilation() -> None:
    """Compile the rules that are not cached, and report it: the first run would wait for them."""
    if not COMPILED:
        return
    # All that a run needs, and no more: the import of every room takes as long as a small run.
    importlib.import_module(RUN)
    if not is_compiled():
        shipped = shipped_target()
        if shipped is not None:
            reason = "differ in flags or sources" if shipped == target() else f"are {target()}"
            typer.echo(f"tidegauge: the package has code for {shipped}; here {reason}", err=True)
        import_kernel()
        done = compile_with_progress()
        typer.echo(f"Compiled in {done.seconds:.0f} s", err=True)


def compile_with_progress() -> Compilation:
    """Compile all rules that are not cached; the command ends if that fails."""
    if not is_compiled():
        typer.echo(
            "Compiling the rules, once for each release of Tidegauge. It takes about a minute on\n"
            f"two idle processors, up to five on busy ones. Kept in {cache_folder()}",
            err=True,
        )
    pace = CompilationPace(time.monotonic())
    with working("compiling") as tell:
        return compile_all(lambda done: tell(pace.words(done, time.monotonic())))


def compile_rules(_options: CompileOptions) -> None:
    """Perform ``tidegauge compile``."""
    import_kernel()
    count = len(RULES)
    if not COMPILED:
        typer.echo(f"TIDEGAUGE_COMPILED=0: {count} rules run as plain Python, none to compile")
        return
    done = compile_with_progress()
    if done.compiled:
        typer.echo(f"Compiled {done.compiled} of {done.rules} rules in {done.seconds:.1f} s")
    else:
        typer.echo(f"All {done.rules} rules were in the cache")
    typer.echo(f"The cache is {done.folder}")


def opened_run(folder: Path, command: str) -> "Run":
    """The run in a folder; for a folder of a sweep the command lists its runs and ends.

    From here on the command prints and reads times by the run's wall clock, too, if it has one.

    Args:
        folder: the argument of the command.
        command: the name of the command.

    Raises:
        RunError: the folder has no run that this Tidegauge can read.
    """
    # Commands that only read a scenario do without it.
    from tidegauge.runs.run import Run  # noqa: PLC0415

    try:
        run = Run(folder)
    except SweepFolderError:
        raise TidegaugeError(_runs_to_choose_from(folder, command)) from None
    show_clock(run.wall_clock)
    return run


def _runs_to_choose_from(folder: Path, command: str) -> str:
    from tidegauge.views.story_lines import LISTED  # noqa: PLC0415 - as above

    runs = runs_of_sweep(folder)
    if not runs:
        return f"{folder}: is the folder of a sweep, and no run of it has begun yet"
    worst = worst_of_sweep(folder)
    which, chosen = "the first of them", runs[0]
    if worst is not None and worst.folder in runs:
        which, chosen = "the worst of them", worst.folder
        if worst.figure is not None:
            which += f" (the {worst.worst_is} {worst.figure.replace('_', ' ')})"
    lines = [
        f"{folder}: is the folder of a sweep of {counted(len(runs), 'run')}; {command} takes one",
        f"  {which}: tidegauge {command} {shlex.quote(str(chosen))}",
        f"  all of them:     tidegauge analyze {shlex.quote(str(folder))}",
        "Its runs:",
        *(f"  {shlex.quote(str(run))}" for run in runs[:LISTED]),
    ]
    if len(runs) > LISTED:
        lines.append(f"  ... and {len(runs) - LISTED:,} more")
    return "\n".join(lines)
