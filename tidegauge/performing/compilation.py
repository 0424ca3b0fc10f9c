"""The compilation of the rules, with its progress."""

from __future__ import annotations

import importlib

import typer

from tidegauge.compiled.compile_all import Compilation, compile_all, import_kernel, is_compiled
from tidegauge.compiled.rules import COMPILED, RUN
from tidegauge.views.working import working


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
