"""Output that all commands share: the console, errors, warnings, JSON."""

import json
import os
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from textwrap import fill

import typer
from rich.console import Console

#: The exit status of an interrupted command.
INTERRUPTED = 130

#: The exit status of a command whose reader, such as ``head``, has closed its output: SIGPIPE's.
CLOSED = 141

#: Columns of the output where there is no terminal to ask.
WIDTH = 100


class _Console(Console):
    """A console that leaves a closed output to the command line, which ends each command alike."""

    def on_broken_pipe(self) -> None:
        """Raise the error again, within its handler."""
        self.quiet = True
        raise  # noqa: PLE0704 - rich calls it while it handles the BrokenPipeError


def console() -> Console:
    """A console for the terminal, or for a file or pipe of a fixed width."""
    made = _Console(highlight=False)
    if not made.is_terminal:
        made.width = WIDTH
    return made


def wrapped(begin: str, words: str) -> str:
    """Words behind the begin of a line, in columns of their own where they need more lines."""
    return fill(
        words,
        WIDTH,
        initial_indent=begin,
        subsequent_indent=len(begin) * " ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def report(*, as_json: bool) -> AbstractContextManager[object]:
    """Redirect text for people to standard error if a program reads standard output."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def close_output() -> None:
    """Send what is left of the output nowhere: its reader has gone, and must not be waited for."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(content: object) -> None:
    """Print JSON for programs."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
