"""``tidegauge compile``: compile the rules before the first run."""

from __future__ import annotations

import typer

from tidegauge.compiled.compile_all import import_kernel
from tidegauge.compiled.rules import COMPILED, RULES
from tidegauge.performing.compilation import compile_with_progress


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
