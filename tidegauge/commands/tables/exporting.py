"""``tidegauge export``: the rows of runs as Parquet."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from tidegauge.analysis.requests import runs_at
from tidegauge.analysis.rows.export import Calls, Exported, export_rows, in_turn
from tidegauge.analysis.rows.row_files import PartWork, WrittenPart
from tidegauge.commands.result_options import ExportOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.process_pool import calls_in_processes
from tidegauge.scenario.text.errors import counted
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import check_jobs, jobs_of, working


def export_runs(options: ExportOptions) -> None:
    """Perform ``tidegauge export``."""
    check_jobs(options.jobs)
    found = runs_at(options.runs)
    what = f"The rows of {counted(len(found), 'run')}"
    with report(as_json=options.as_json), working(what) as tell:
        exported = export_rows(
            found,
            options.to,
            options.kinds or [],
            _calls(options.jobs),
            lambda done, of: tell(f"{what}: {done} of {counted(of, 'part')}"),
        )
    if options.as_json:
        print_json(_for_programs(exported))
        return
    runs = [
        f"{counted(len(names), 'run')} {how}"
        for names, how in (
            (exported.new, "added"),
            (exported.changed, "written anew"),
            (exported.unchanged, "unchanged"),
        )
        if names
    ]
    out = console()
    out.print(f"{', '.join(runs)}: {counted(exported.rows, 'row')} written")
    out.print(f"Rows: {exported.folder} ({exported.size_bytes / 1e6:,.1f} MB)", soft_wrap=True)


def _calls(jobs: int | None) -> Calls:
    """Calls in processes of this machine, or in this one if there is one alone."""

    def calls(
        work: Callable[[PartWork], WrittenPart], inputs: Sequence[PartWork]
    ) -> Generator[WrittenPart]:
        at_once = jobs_of(jobs, len(inputs))
        if at_once <= 1:
            yield from in_turn(work, inputs)
            return
        with closing(calls_in_processes(work, inputs, at_once)) as outcomes:
            for ended in outcomes:
                if ended.result is None:
                    raise TidegaugeError(str(ended.error))
                yield ended.result

    return calls


def _for_programs(exported: Exported) -> dict[str, object]:
    return {
        "folder": str(exported.folder),
        "added": list(exported.new),
        "written_anew": list(exported.changed),
        "unchanged": list(exported.unchanged),
        "rows": exported.rows,
        "size_bytes": exported.size_bytes,
    }
