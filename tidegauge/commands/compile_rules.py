"""``tidegauge compile``: compile the rules before anything has to wait for it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from importlib.util import find_spec

import typer


def compile_rules() -> None:
    """Compile the rules into the cache.

    The rules of Kafka are compiled to machine code once for each version of their sources.
    Any run does this when it has to; this command does it now. The cache is
    ~/.cache/tidegauge, or the folder that TIDEGAUGE_CACHE_DIR names.
    """
    from tidegauge.replication import compiled

    import_kernel()
    count = len(compiled.RULES)
    if not compiled.COMPILED:
        typer.echo(f"TIDEGAUGE_COMPILED=0: {count} rules run as plain Python, none to compile")
        return
    typer.echo(f"Compiling {count} rules, unless they are in the cache")
    done = compiled.compile_all()
    if done.compiled:
        typer.echo(f"Compiled {done.compiled} of {done.rules} rules in {done.seconds:.1f} s")
    else:
        typer.echo(f"All {done.rules} rules were in the cache ({done.seconds:.1f} s)")
    typer.echo(f"The cache is {done.folder}")


def announce_compilation() -> None:
    """The first run after an installation compiles the kernel: say so, it takes a while."""
    from tidegauge.replication import compiled

    if compiled.COMPILED and not compiled.is_compiled():
        typer.echo("Compiling the kernel: a minute or two, once for each release of Tidegauge")
        import_kernel()
        done = compiled.compile_all()
        typer.echo(f"Compiled in {done.seconds:.0f} s")


def import_kernel() -> None:
    """Import all rules: those of the rooms, and the loop that joins them."""
    from tidegauge.replication.compiled import KERNEL_ROOMS

    import_modules_of(KERNEL_ROOMS)
    importlib.import_module("tidegauge.simulate")


def import_modules_of(rooms: Iterable[str]) -> None:
    """Import every module of these rooms: a rule is known once its module is imported."""
    for room in rooms:
        package = find_spec(f"tidegauge.{room}")
        if package is None or package.submodule_search_locations is None:
            continue
        for module in pkgutil.walk_packages(
            package.submodule_search_locations, prefix=f"tidegauge.{room}."
        ):
            importlib.import_module(module.name)
