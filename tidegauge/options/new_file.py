"""The scenario that a command writes: its file, and the times in it."""

from __future__ import annotations

from pathlib import Path

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.simulation.durations import format_duration, parse_time
from tidegauge.traces.run_folder import write_text_atomically


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


def write_new_file(out: Path, text: str) -> None:
    """Write the whole file, or nothing."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(out, text)
    except OSError as error:
        raise TidegaugeError(f"{out}: cannot be written: {error.strerror}") from error


def time_in_scenario(option: str, text: str) -> str:
    """A time from the command line, as a scenario has it; the command ends if it is not a time."""
    try:
        return format_duration(parse_time(text))
    except ValueError as error:
        raise TidegaugeError(f"{option} {text}: {error}") from error
