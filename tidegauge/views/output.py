"""Output that all commands share: the console, errors, warnings, JSON."""

import json
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout

import typer
from rich.console import Console

#: The exit status of an interrupted command.
INTERRUPTED = 130

#: Columns of the output where there is no terminal to ask.
WIDTH = 100


def console() -> Console:
    """A console for the terminal, or for a file or pipe of a fixed width."""
    made = Console(highlight=False)
    if not made.is_terminal:
        made.width = WIDTH
    return made


def report(*, as_json: bool) -> AbstractContextManager[object]:
    """Redirect text for people to standard error if a program reads standard output."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def print_json(content: object) -> None:
    """Print JSON for programs."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
