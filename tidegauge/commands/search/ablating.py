"""``tidegauge ablations``: the matrix of rules that are taken away, and of promises that fall."""

from pathlib import Path

import typer

from tidegauge.commands import loading
from tidegauge.commands.search.fuzzing import shrunk_finding
from tidegauge.commands.search.search_options import AblationsOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.ablations import ABLATIONS
from tidegauge.scenario.text.errors import did_you_mean
from tidegauge.search.ablation_matrix import MatrixRow, searched_row
from tidegauge.traces.run_folder import new_run_folder
from tidegauge.views.matrix_view import matrix_for_programs, show_matrix
from tidegauge.views.output import INTERRUPTED, console, print_json, report
from tidegauge.views.progress import check_jobs, working


def search_ablations(options: AblationsOptions) -> None:
    """Perform ``tidegauge ablations``; exit with status 1 if a row is not as expected."""
    check_jobs(options.jobs)
    for name in options.rules or ():
        if name not in ABLATIONS:
            raise TidegaugeError(f"{name}: no such rule; {did_you_mean(name, ABLATIONS)}")
    out = options.out or new_run_folder("ablations")
    loading.check_new_folder(out)
    with report(as_json=options.as_json):
        loading.announce_compilation()
        rows, was_interrupted = _rows(options, out)
    if options.as_json:
        print_json(matrix_for_programs(rows, options.seed))
    else:
        show_matrix(console(), rows, None if options.no_shrink else out, options.seed)
    if was_interrupted:
        raise typer.Exit(INTERRUPTED)
    if not all(row.is_as_expected for row in rows):
        raise typer.Exit(1)


def _rows(options: AblationsOptions, out: Path) -> tuple[list[MatrixRow], bool]:
    """The rows, and whether Ctrl-C has ended the search after some of them."""
    rows: list[MatrixRow] = []
    try:
        for name in options.rules or ABLATIONS:
            rows.append(_row(options, out, name))  # noqa: PERF401 - those before Ctrl-C stay
    except KeyboardInterrupt:
        return rows, True
    return rows, False


def _row(options: AblationsOptions, out: Path, name: str) -> MatrixRow:
    with working(name) as tell:
        row = searched_row(
            name,
            options.seed,
            60 * options.minutes,
            jobs=options.jobs,
            address=options.address,
            warn=loading.warn,
            tell=tell,
        )
    if not options.no_shrink:
        for cell in row.cells.values():
            shrunk_finding(options, "ablations", out / name, cell.check, cell.scenario)
    return row
