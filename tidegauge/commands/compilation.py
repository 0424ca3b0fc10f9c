"""``tidegauge compile``: the compilation of the rules, which other commands begin with."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from tidegauge.commands.loading import loaded, show_warnings
from tidegauge.commands.requests import Hosting, RunRequest, WatchRequest, seeds_of, wanted_speed
from tidegauge.commands.run_options import CompileOptions, RunOptions
from tidegauge.commands.watching import Watchers, watched
from tidegauge.compiled.compile_all import Compilation, compile_all, import_kernel, is_compiled
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.compiled.rules import COMPILED, RULES, RUN
from tidegauge.engine.contract import ActorError, EngineMaker, Passed, Progress
from tidegauge.engine.grouping import worth_broker_groups
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.runs.story import Names
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import format_duration
from tidegauge.traces.run_folder import RunFolder, new_run_folder
from tidegauge.views.output import INTERRUPTED, console, print_json, report
from tidegauge.views.overview import show_unreachable
from tidegauge.views.progress import progress_bar, working
from tidegauge.views.summary_view import show_chance, show_summary, show_verdicts


def announce_compilation() -> None:
    """Compile the rules that are not cached, and report it: the first run would wait for them."""
    if not COMPILED:
        return
    # All that a run needs, and no more: the import of every room takes as long as a small run.
    importlib.import_module(RUN)
    if not is_compiled():
        import_kernel()
        done = compile_with_progress()
        typer.echo(f"Compiled in {done.seconds:.0f} s", err=True)


def compile_with_progress() -> Compilation:
    """Compile all rules that are not cached; the command ends if that fails."""
    title = "compiling the kernel, once for each release of Tidegauge"
    with working(title) as tell:
        return compile_all(lambda done, total: tell(f"{title}: {done:,} of {total:,} functions"))


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
