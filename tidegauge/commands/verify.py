"""``tidegauge verify``: the trace of a run, checked against its summary."""

from typing import NamedTuple

import typer

from tidegauge.commands.loading import opened_run
from tidegauge.commands.result_options import VerifyOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.text.errors import counted
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import TraceError
from tidegauge.traces.trace_hash import NO_ROWS, hash_of_rows, trace_sha256
from tidegauge.views.output import print_json
from tidegauge.views.progress import working

Hashes = dict[int, tuple[int, int]]


class VerificationError(TidegaugeError):
    """The trace and the summary do not agree; the message is one line."""


def verify_run(options: VerifyOptions) -> None:
    """Perform ``tidegauge verify``."""
    try:
        with working(f"reading {options.run}"):
            found = verified(opened_run(options.run, "verify"))
    except (VerificationError, TraceError) as error:
        if options.as_json:
            print_json({"is_ok": False, "error": str(error)})
        typer.echo(f"not ok: {error}", err=True)
        raise typer.Exit(1) from error
    if options.as_json:
        print_json({"is_ok": True, **found._asdict()})
    else:
        typer.echo(f"ok: {found}")


class Verified(NamedTuple):
    """The counts and the hash of a trace that agrees with its summary."""

    canonical_rows: int
    processes: int
    trace_sha256: str

    def __str__(self) -> str:
        return (
            f"{counted(self.canonical_rows, 'canonical row')} of "
            f"{counted(self.processes, 'process')}, trace_sha256 {self.trace_sha256}"
        )


def verified(run: RunFolder) -> Verified:
    """Check the trace of a run against its summary.

    Raises:
        VerificationError: they do not agree, or the run has no summary.
        TraceError: a trace file is damaged, or a row is missing.
    """
    _check_that_it_is_whole(run)
    expected, expected_sha256 = _summarised(run)
    found = _recomputed(run, expected)
    for process in sorted(expected.keys() | found.keys()):
        _compare(run, process, expected.get(process), found.get(process))

    sha256 = trace_sha256(found)
    if sha256 != expected_sha256:
        raise VerificationError(
            f"{run.path}: every process is as in the summary, but the summary's trace_sha256 is"
            f" {expected_sha256}, and that of the trace is {sha256}"
        )
    rows = sum(count for count, _ in found.values())
    return Verified(rows, len(found), sha256)


def _check_that_it_is_whole(run: RunFolder) -> None:
    torn = "; ".join(
        f"{trace.path} ends within a frame, after byte {trace.torn_at}" for trace in run.torn
    )
    if run.summary is None:
        counts = (
            trace.row_count(kind.name)
            for trace in run.traces
            for kind in run.kinds.values()
            if kind.canonical
        )
        raise VerificationError(
            f"{run.path}: the run is unfinished, it has no summary; its trace has"
            f" {sum(counts)} canonical rows so far" + (f"; {torn}" if torn else "")
        )
    if torn:
        raise VerificationError(torn)


def _summarised(run: RunFolder) -> tuple[Hashes, str]:
    assert run.summary is not None
    try:
        numbers = {each.name: number for number, each in run.directory.processes.items()}
        hashes = {
            numbers[each["process"]]: (each["canonical_rows"], each["hash"])
            for each in run.summary["process_hashes"]
        }
        return hashes, run.summary["trace_sha256"]
    except (KeyError, TypeError, ValueError) as error:
        raise VerificationError(f"{run.path}: the summary has no hashes to compare") from error


def _recomputed(run: RunFolder, expected: Hashes) -> Hashes:
    found = hash_of_rows((kind, run.table(kind.name)) for kind in run.kinds.values())
    return {**dict.fromkeys(expected, NO_ROWS), **found}


def _compare(
    run: RunFolder,
    process: int,
    expected: tuple[int, int] | None,
    found: tuple[int, int] | None,
) -> None:
    if expected == found:
        return
    who = f"{run.path}: {run.directory.process(process)} (process {process})"
    if expected is None or found is None:
        raise VerificationError(f"{who} has rows in the trace, but is not in the summary")
    if expected[0] != found[0]:
        raise VerificationError(
            f"{who} has {found[0]} canonical rows in the trace, {expected[0]} in the summary"
        )
    raise VerificationError(
        f"{who} has {found[0]} canonical rows, as in the summary, but one of them was changed:"
        f" their hash is {found[1]}, not {expected[1]}"
    )
