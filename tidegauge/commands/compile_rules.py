"""``tidegauge compile``: compile the rules before the first run."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import typer

from tidegauge.views.output import fail
from tidegauge.views.working import working

if TYPE_CHECKING:
    from tidegauge.compiled.compile_all import Compilation


def compile_rules() -> None:
    """Compile the rules into the cache.

    The rules of Kafka are compiled to machine code once for each version of their sources.
    A run compiles them if they are not cached; this command compiles them now. The cache is
    ~/.cache/tidegauge, or the folder in TIDEGAUGE_CACHE_DIR.
    """
    from tidegauge.compiled.compile_all import import_kernel
    from tidegauge.compiled.rules import COMPILED, RULES

    import_kernel()
    count = len(RULES)
    if not COMPILED:
        typer.echo(f"TIDEGAUGE_COMPILED=0: {count} rules run as plain Python, none to compile")
        return
    done = _compile_with_progress()
    if done.compiled:
        typer.echo(f"Compiled {done.compiled} of {done.rules} rules in {done.seconds:.1f} s")
    else:
        typer.echo(f"All {done.rules} rules were in the cache")
    typer.echo(f"The cache is {done.folder}")


def announce_compilation() -> None:
    """Compile the rules that are not cached, and report it: the first run would wait for them."""
    from tidegauge.compiled.compile_all import import_kernel, is_compiled
    from tidegauge.compiled.rules import COMPILED, RUN

    if not COMPILED:
        return
    # All that a run needs, and no more: the import of every room takes as long as a small run.
    importlib.import_module(RUN)
    if not is_compiled():
        import_kernel()
        done = _compile_with_progress()
        typer.echo(f"Compiled in {done.seconds:.0f} s", err=True)


def _compile_with_progress() -> Compilation:
    from tidegauge.compiled.compile_all import CompilationError, compile_all

    title = "compiling the kernel, once for each release of Tidegauge"
    with working(title) as tell:
        try:
            return compile_all(
                lambda done, total: tell(f"{title}: {done:,} of {total:,} functions")
            )
        except CompilationError as error:
            fail(str(error))
