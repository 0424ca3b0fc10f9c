"""``tidegauge compile``: the compilation of the rules, which other commands begin with."""

from __future__ import annotations

import importlib

import typer

from tidegauge.compiled.compile_all import Compilation, compile_all, import_kernel, is_compiled
from tidegauge.compiled.rules import COMPILED, RULES, RUN
from tidegauge.views.progress import working


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


def compile_rules() -> None:
    """Compile the rules into the cache.

    The rules of Kafka are compiled to machine code once for each version of their sources.
    A run compiles them if they are not cached; this command compiles them now. The cache is
    ~/.cache/tidegauge, or the folder in TIDEGAUGE_CACHE_DIR.
    """
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
