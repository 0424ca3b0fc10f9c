"""Output that all commands share: the console, errors, warnings, JSON."""

import json
import os
import shlex
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, redirect_stdout

import typer
from rich.console import Console
from rich.text import Text

#: The exit status of an interrupted command.
INTERRUPTED = 130

#: The exit status of a command whose reader, such as ``head``, has closed its output: SIGPIPE's.
CLOSED = 141

#: Columns of the output where there is no terminal to ask.
WIDTH = 100

#: Text is not folded behind columns that leave less room: it begins below them.
_LEAST_ROOM = 30
#: The least indent of what stands below a line that goes on.
_INDENT = 4
#: The widest column of names.
_NAME_WIDTH = 40


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


def print_hanging(out: Console, before: str, text: str | Text) -> None:
    """Print text behind the columns before it; what the line has no room for is indented below."""
    text = Text(text) if isinstance(text, str) else text
    text.rstrip()
    room = out.width - len(before)
    if text.cell_len <= room:
        out.print(Text(before).append_text(text) if text else before.rstrip(), soft_wrap=True)
        return
    if room < _LEAST_ROOM:
        out.print(Text(before.rstrip()))
        before = ""
    indent = max(len(before), _INDENT)
    for place, line in enumerate(text.wrap(out, out.width - indent)):
        line.rstrip()
        out.print(Text(" " * indent if place else before).append_text(line), soft_wrap=True)


def print_command(label: str, command: str) -> None:
    """Print a shell command behind its label; a long one goes on below, behind backslashes."""
    room = console().width - len(" \\")
    lines = [f"{label}:"]
    for word in map(shlex.quote, shlex.split(command)):
        if len(lines[-1]) + 1 + len(word) > room and lines[-1].strip():
            lines.append("   ")
        lines[-1] += f" {word}"
    typer.echo(" \\\n".join(lines))


def name_width(names: Iterable[str]) -> int:
    """The width of a column of names; longer ones than some have lines of their own."""
    return min(max(map(len, names), default=0), _NAME_WIDTH)


def in_column(out: Console, name: str, width: int) -> str:
    """A name with the width of its column; a longer one is printed above its row."""
    if len(name) > width:
        out.print(Text(name))
        name = ""
    return f"{name:{width}}"


def report(*, as_json: bool) -> AbstractContextManager[object]:
    """Redirect text for people to standard error if a program reads standard output."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def close_output() -> None:
    """Send what is left of the output nowhere: its reader has gone, and must not be waited for."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(content: object) -> None:
    """Print JSON for programs."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
