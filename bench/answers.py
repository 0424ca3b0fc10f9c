"""Answers before and after a refactoring: all output about shipped scenarios.

Recorded are, of each shipped scenario,

* ``figures.json``: the figures of its summary, and the verdicts of checks beside the expected ones;
* ``views/``: the output of ``tidegauge show``, ``describe`` and ``picture``, of the whole run and
  at several of its times;
* ``rows/``: views that list single rows: ``show all`` and ``show cause``;
* ``tables/``: the result tables of Spark, and the answers to its questions about single runs;
* ``hashes.json``: hashes of the trace and the number of events.

A trace can get another row without another answer. So the numbers of rows are left out: columns
and figures called ``sequence``, and handles. In ``rows/`` a line more is no difference, but a line
that is missing is one. Other hashes are no difference either; their number is printed. Real times
differ each time, and are left out.

Each checkout runs its own copy::

    .venv/bin/python bench/answers.py record BEFORE
    .venv/bin/python bench/answers.py record AFTER
    .venv/bin/python bench/answers.py compare BEFORE AFTER

The exit status of a comparison is 1 if anything differs.
"""

import argparse
import difflib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import chdir
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from typer.testing import CliRunner

import tidegauge
from tidegauge.command_line import app

#: Scenarios that take long, with changes as of ``--set`` that keep their subject.
SHORTER: dict[str, dict[str, object]] = {
    "rack-power-loss": {
        "duration": "3m",
        "faults.power.at": "90s",
        "faults.power.for": "60s",
    },
    "large-cluster": {"duration": "16s"},
}

#: The part of a summary that is about the simulator: real time, and how the work was divided.
OF_THE_SIMULATOR = {
    "wall_seconds",
    "loop_seconds",
    "loop_seconds_by_process_kind",
    "loop_samples",
    "events_per_second",
    "times_real_time",
    "windows",
    "windows_per_virtual_second",
    "events_per_window",
    "groups",
}
#: The part of a summary that changes with rows and events.
HASHED = ("trace_sha256", "process_hashes", "events")
HASHES = "hashes.json"

#: The folders of answers; in the first one a line more is no difference.
ROWS = "rows"
#: Stands for the folder of the run in a command.
RUN = "RUN"
VIEWS = "views"
TABLES = "tables"

#: Questions that compare runs with each other.
OF_SEVERAL_RUNS = {"sweep", "first-divergence"}

#: Kinds of rows; the last one of each is followed to its causes.
FOLLOWED = (
    "isr_shrunk",
    "isr_expanded",
    "removed_from_isr",
    "leader_elected",
    "became_leader",
    "controller_elected",
    "session_expired",
    "truncated",
)
#: Numbers of partitions, brokers and faults that are viewed in each run.
PARTITIONS = 6
BROKERS = 2
FAULTS = 3

#: Number of these partitions whose rows are listed, with the time around the middle of each.
PARTITIONS_BY_ROW = 2
BY_ROW_MS = 3000

#: A row's handle, and the space that fills its column.
HANDLE = re.compile(r"\b\d+:\d+\b(?: +(?=  ))?")
#: The space below a handle.
BELOW = re.compile(r"^ +(?=because: )", re.MULTILINE)

#: Lines that are printed before a difference.
LINES_BEFORE = 2
LINES_PRINTED = 12


def shipped(only: Sequence[str]) -> dict[str, Path]:
    """The files of the shipped scenarios, or of some of them, by name."""
    files = {
        each["name"]: Path(each["file"]) for each in json.loads(printed("scenarios", "--json"))
    }
    return {name: files[name] for name in only or files}


def printed(*arguments: str) -> str:
    """The output of a command; its message if it fails."""
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def folder_of(scenario: str) -> str:
    """The name of a scenario's folder: that of its run, and of its answers."""
    return scenario.replace("/", "-")


def record(folder: Path, only: Sequence[str], jobs: int, with_tables: bool) -> None:
    """Run scenarios, and write their answers into a folder for each."""
    began = time.perf_counter()
    folder = folder.absolute()
    files = shipped(only)
    # Those that take long begin first, so that no process waits for them in the end.
    names = sorted(files, key=lambda name: name not in SHORTER)
    with TemporaryDirectory(prefix="tidegauge-answers-") as runs:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
            works = [
                processes.submit(record_run, Path(runs), name, files[name], folder)
                for name in names
            ]
            for done, work in enumerate(as_completed(works), 1):
                say(began, f"{done}/{len(works)}: {work.result()}")
        if with_tables:
            record_tables(Path(runs), folder, lambda what: say(began, what))
    say(began, f"answers of {len(names)} scenarios: {folder}")


def say(began: float, what: str) -> None:
    """Report progress on standard error."""
    print(f"{time.perf_counter() - began:6.1f} s  {what}", file=sys.stderr, flush=True)


def record_run(runs: Path, scenario: str, file: Path, folder: Path) -> str:
    """Run a scenario below ``runs``, and write its figures and views; return its name."""
    name = folder_of(scenario)
    answers = folder / name
    shutil.rmtree(answers, ignore_errors=True)
    for each in (VIEWS, ROWS):
        (answers / each).mkdir(parents=True)
    # Commands print the path of a run as it was given to them: its name.
    with chdir(runs):
        result = tidegauge.run(file, changes=SHORTER.get(scenario), out=name)
        write_json(answers / "figures.json", figures(result))
        write_json(answers / HASHES, {each: result.summary[each] for each in HASHED})
        for words in views(result):
            text = printed(*(name if word == RUN else word for word in words))
            named = "-".join(word.removeprefix("--") for word in words if word != RUN)
            (answers / VIEWS / f"{named}.txt").write_text(text, encoding="utf-8")
        for what, view, options in rows(result):
            text = without_handles(printed("show", view, name, *options))
            (answers / ROWS / f"{what}.txt").write_text(text, encoding="utf-8")
    return scenario


def figures(result: tidegauge.Result) -> dict[str, Any]:
    """The figures and verdicts of a run."""
    left_out = {*OF_THE_SIMULATOR, *HASHED}
    found = {name: value for name, value in result.summary.items() if name not in left_out}
    found["checks"] = {name: without_sequence(each) for name, each in found["checks"].items()}
    return {"is_as_expected": result.is_as_expected, **found}


def without_sequence(check: Mapping[str, Any]) -> dict[str, Any]:
    """A check's verdict, without the handle of the row that broke it first."""
    first = check["first_event"] or {}
    kept = {name: value for name, value in first.items() if name != "handle"}
    return {**check, "first_event": kept or None}


def without_handles(text: str) -> str:
    """A list of rows without their handles; the names of their processes stay."""
    return BELOW.sub("  ", HANDLE.sub("#", text))


def views(result: tidegauge.Result) -> Iterator[tuple[str, ...]]:
    """The commands that show a run, which is called RUN in them."""
    yield "show", "partitions", RUN
    yield "show", "faults", RUN
    yield "show", "faults", RUN, "--json"
    yield "show", "controller", RUN
    yield "show", "zookeeper", RUN
    yield "describe", RUN, "--json"
    yield "picture", RUN
    for partition in partitions(result):
        yield "show", "partition", RUN, partition
        yield "picture", RUN, "--partition", partition
    for broker in brokers(result):
        yield "show", "broker", RUN, broker
    for each in moments(result):
        yield "describe", RUN, "--at", f"{each}ms"
        yield "show", "controller", RUN, "--at", f"{each}ms"
        yield "show", "zookeeper", RUN, "--at", f"{each}ms"
        for broker in brokers(result):
            yield "show", "broker", RUN, broker, "--at", f"{each}ms"


def rows(result: tidegauge.Result) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The views of ``show`` that list single rows, each with its name and its options."""
    middle_ms = moments(result)[0]
    span = (
        "--from",
        f"{max(middle_ms - BY_ROW_MS // 2, 0)}ms",
        "--to",
        f"{middle_ms + BY_ROW_MS // 2}ms",
    )
    for partition in partitions(result)[:PARTITIONS_BY_ROW]:
        yield f"all-{partition}", "partition", (partition, "--all", *span)
    for name, check in result.summary["checks"].items():
        first = check["first_event"]
        if first is not None:
            yield f"cause-{name}", "cause", (first["handle"],)
    for kind in FOLLOWED:
        for event in list(result.events(kind))[-1:]:
            yield f"cause-{kind}", "cause", (event.handle,)


def moments(result: tidegauge.Result) -> list[int]:
    """Times to show of a run, in milliseconds: in the middle of its first faults, and its own."""
    end_us = int(result.summary["virtual_seconds"] * 1_000_000)
    faults = json.loads(printed("show", "faults", result.path.name, "--json"))
    spans = [(fault["begin_us"], fault["end_us"] or end_us) for fault in faults[:FAULTS]]
    middles = [(begin_us + until_us) // 2000 for begin_us, until_us in [*spans, (0, end_us)]]
    return list(dict.fromkeys(middles))


def brokers(result: tidegauge.Result) -> list[str]:
    """The first brokers, by their ids."""
    return [str(each) for each in result.manifest["scenario"]["cluster"]["brokers"][:BROKERS]]


def partitions(result: tidegauge.Result) -> list[str]:
    """Some partitions: first those that lost records and a notable one, then some of each topic."""
    name = result.path.name
    topics = json.loads(printed("describe", name, "--json"))
    numbered = [
        (each["partition"], topic["topic"]) for topic in topics for each in topic["partitions"]
    ]
    known = [f"{topic}-{partition}" for partition, topic in sorted(numbered)]
    lost = list(result.summary["records_lost_by_partition"])
    notable = printed("show", "partitions", name).split()[-1]
    chosen = dict.fromkeys([*lost[:2], notable, *known])
    return [each for each in chosen if each in known][:PARTITIONS]


def record_tables(runs: Path, folder: Path, tell: Callable[[str], None]) -> None:
    """Write the result tables of all runs below ``runs``, and the answers made from them."""
    # Without tables none of it is needed.
    from tidegauge.analysis.making.run_tables import RunTables  # noqa: PLC0415
    from tidegauge.analysis.questions.all_questions import QUESTIONS  # noqa: PLC0415
    from tidegauge.analysis.tables.all_tables import TABLES as RESULT_TABLES  # noqa: PLC0415

    made = runs / ".tables"
    tables = RunTables(f"{runs}/*", made)
    tables.make(RESULT_TABLES, lambda table: tell(f"table {table}"))
    names = [run.name for run in tables.runs]
    for name in names:
        (folder / name / TABLES).mkdir()
    for table in RESULT_TABLES:
        rows = tables.rows(f"from {table}")
        for name in names:
            mine = [row for row in rows if row["run"] == name]
            write_table(folder / name / TABLES / f"{table}.tsv", mine)
    for question in QUESTIONS.values():
        if question.name in OF_SEVERAL_RUNS:
            continue
        tell(f"question {question.name}")
        answer = question.of(tables)
        for name in names:
            mine = [row for row in answer if row["run"] == name]
            write_table(folder / name / TABLES / f"question-{question.name}.tsv", mine)


def write_table(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows of a table by time, values as JSON, without the numbers of trace rows."""
    columns = [name for name in (rows[0] if rows else ()) if not name.endswith("sequence")]
    lines = [
        (
            row.get("begin_us", row.get("time_us")) or 0,
            "\t".join(json.dumps(row[name], ensure_ascii=False) for name in columns),
        )
        for row in rows
    ]
    text = ["\t".join(columns), *(line for _, line in sorted(lines))]
    file.write_text("\n".join(text) + "\n", encoding="utf-8")


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write JSON that is easy to compare."""
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def compare(before: Path, after: Path, only: Sequence[str], with_tables: bool) -> bool:
    """Print the differences between two folders of answers; return whether there is any."""
    files = sorted({*recorded(before, only, with_tables), *recorded(after, only, with_tables)})
    if not files:
        sys.exit(f"{before}, {after}: no answers to compare")
    differ = [name for name in files if content(before / name) != content(after / name)]
    hashes = [name for name in differ if Path(name).name == HASHES]
    lists = [name for name in differ if Path(name).parent.name == ROWS]
    longer = [name for name in lists if has_more(name, before, after)]
    answers = [name for name in differ if name not in {*hashes, *longer}]
    for name in answers:
        print("\n".join(difference(name, before, after)), end="\n\n")
    print(
        f"compared: {len(files)} files, scenarios: {scenarios(files)}\n"
        f"differ: {len(answers)}, scenarios: {scenarios(answers)}\n"
        f"no difference: other hashes: {len(hashes)}, only more rows: {len(longer)}"
    )
    return bool(answers)


def recorded(folder: Path, only: Sequence[str], with_tables: bool) -> Iterator[str]:
    """The files of a folder of answers, of all scenarios or some of them."""
    for name in map(folder_of, only or ["*"]):
        for file in folder.glob(f"{name}/**/*"):
            if file.is_file() and (with_tables or file.parent.name != TABLES):
                yield file.relative_to(folder).as_posix()


def scenarios(files: Sequence[str]) -> int:
    """The number of scenarios that the files are of."""
    return len({Path(name).parts[0] for name in files})


def has_more(name: str, before: Path, after: Path) -> bool:
    """Whether a file has all its lines in the same order still, with others between them."""
    old, new = (content(side / name) for side in (before, after))
    if old is None or new is None:
        return False
    left = iter(new.splitlines())
    return all(line in left for line in old.splitlines())


def content(file: Path) -> bytes | None:
    """The content of a file; None if it is missing."""
    return file.read_bytes() if file.exists() else None


def difference(name: str, before: Path, after: Path) -> list[str]:
    """The first lines of how a file differs."""
    for side, other in ((before, after), (after, before)):
        if not (side / name).exists():
            return [f"{name}: only in {other}"]
    old, new = ((side / name).read_text(encoding="utf-8").splitlines() for side in (before, after))
    pairs = enumerate(zip(old, new, strict=False))
    first = next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))
    begin = max(first - LINES_BEFORE, 0)
    # Around the first difference: files can be long.
    shown = slice(begin, begin + LINES_PRINTED)
    lines = difflib.unified_diff(old[shown], new[shown], lineterm="", n=LINES_BEFORE)
    return [f"{name}: from line {first + 1}", *list(lines)[3:]]


def main() -> None:
    """Record answers, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    recording = commands.add_parser("record", help="run the shipped scenarios, write all answers")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    comparison = commands.add_parser("compare", help="compare two folders of answers")
    comparison.add_argument("before", type=Path)
    comparison.add_argument("after", type=Path)
    for each in (recording, comparison):
        each.add_argument("--only", nargs="+", default=[], metavar="NAME", help="some scenarios")
        each.add_argument("--no-tables", action="store_true", help="leave Spark out")
    arguments = parser.parse_args()
    if arguments.command == "record":
        record(arguments.folder, arguments.only, arguments.jobs, not arguments.no_tables)
    else:
        sys.exit(
            compare(arguments.before, arguments.after, arguments.only, not arguments.no_tables)
        )


if __name__ == "__main__":
    main()
