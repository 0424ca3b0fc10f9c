"""What programs read of a run names its objects: no typed field is the number of one.

A field is typed if a column of the trace has its name, or the end of it: ``first_leader`` is a
broker as ``leader`` is. The ids of brokers are not their indexes here, and the numbers of
``orders`` within its topic are not those within the cluster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from typer.testing import CliRunner

from real_clusters import recorded
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.command_line import COMMANDS, Command, app
from tidegauge.engine.process_pool import Ended
from tidegauge.simulation.trace_rows.columns import Column, Type
from tidegauge.simulation.trace_rows.schema import COMMON_COLUMNS, ROW_KINDS
from tidegauge.sweeps import fault_runs, many_runs
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_files import SUMMARY
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.answers_view import Answer
from tidegauge.views.output import WIDTH

#: A name of a topic, and of clients, that is longer than a line.
LONG = "archive." + "-".join(["of-all-that-was-ever-ordered"] * 4)

#: An unclean election gives up records (KIP-106), so checks name the row that did it.
SCENARIO = """
release: "2.6"
duration: 25s
trace: all
liveness: false
cluster:
  brokers: [101, 103, 107]
  start: {107: 0s, 101: 500ms, 103: 500ms}
  settings: {zookeeper.session.timeout.ms: 4000}
zookeeper: {tick_ms: 1000}
topics:
  - {name: LONG, partitions: 2}
  - name: orders
    assignment: {0: [107, 103], 1: [103, 101]}
    settings: {unclean.leader.election.enable: true}
workload:
  producers:
    - {name: shop, topics: [orders], batches_per_second: 20, settings: {acks: 1}}
    - {name: LONG, topics: [LONG], batches_per_second: 2}
faults:
  - {name: first, kind: crash, brokers: [101], at: 5s, for: 9s}
  - {name: second, kind: crash, brokers: [103], at: 12s, for: 8s}
""".replace("LONG", LONG)

QUORUM = """
release: "4.0"
duration: 5s
liveness: false
cluster: {brokers: [101, 103]}
topics: [{name: orders, partitions: 1}]
"""

#: The commands that print JSON about runs, beside the scenario ``a.yaml`` and two runs of it.
WORDS = {
    "run": "run a.yaml --out c",
    "sweep": "sweep a.yaml --seeds 1..2 --jobs 1 --out swept",
    "compare": "compare a.yaml --releases 2.6,2.8 --seed 1 --jobs 1 --out compared",
    "show partitions": "show partitions a",
    "show partition": "show partition a orders-1",
    "show broker": "show broker a 103",
    "show client": "show client a shop",
    "show controller": "show controller a",
    "show cause": "show cause a 1:5",
    "show zookeeper": "show zookeeper a",
    "show metadata-log": "show metadata-log kraft",
    "branch": "branch a --at 10s --out branched",
    "resume": "resume stopped",
    "ask": "ask a.yaml broker loss for 5s --seeds 1 --jobs 1 --out asked",
    "show faults": "show faults a",
    "show quorum": "show quorum kraft",
    "inspect": "inspect a --at 13s --step 40 broker 103 partition orders-1 client shop controller "
    "zookeeper link 107 103 events 40",
    "picture": "picture a",
    "describe": "describe a",
    "read-logs": "read-logs logs -o logged",
    "compare-runs": "compare-runs a b",
    "verify": "verify a",
    "blame": "blame a",
    "export": "export a --to rows",
    "shrink": "shrink a --check exposed_durable --max-runs 30 --out small.yaml",
    "explain": "explain a --partition orders-1 --to 11s --jobs 1 --out why",
}
#: A controller's state has a broker under a name that rows have for a list of replicas.
BROKERS_TOO = {"removing"}
#: These are about the other run.
OF_QUORUM = ("show quorum", "show metadata-log")
#: Fields that programs read of a view.
FIELDS = {
    "show partitions": {"partition", "records_lost", "stalled_us", "leader", "worth_a_look"},
    "show partition": {"partition", "state", "isr", "lost", "refusing", "story", "words"},
    "show broker": {"broker", "is_up", "partitions", "high_watermark", "story", "reasons"},
    "show client": {"clients", "records_offered", "stalled", "errors", "story"},
    "show controller": {"terms", "elected_us", "events", "queued_us_p99", "story"},
    "show quorum": {"leader", "high_watermark", "nodes", "lag", "terms", "over_time"},
    "show cause": {"cause_of", "rows", "handle", "speaker", "reasons", "joins"},
    "show zookeeper": {"path", "data", "version", "owner", "broker", "session"},
    "show metadata-log": {"time_us", "type", "data", "leader", "isr", "brokerId"},
    "blame": {"faults", "seeds", "figures", "whole", "none", "parts", "without"},
    "inspect": {"position", "high_watermark", "isr", "replicas", "znode /controller", "changes"},
    "explain": {"share", "words", "schedule", "leader", "isr"},
    "picture": {"edges_us", "under_min_isr", "partition_seconds", "election", "faults"},
}
#: These are about scenarios, releases, alerts and figures.
OF_NO_RUN = {
    *("scenarios", "releases", "lint", "validate", "alerts", "dashboards", "gallery"),
    *("fuzz", "ablations"),
}
#: Its columns are those of the result tables, which have numbers.
OF_TABLES = {"sql"}
#: Spark's answers are those of DuckDB, below.
BY_SPARK = {"analyze"}


def typed_columns() -> dict[str, set[Type]]:
    found: dict[str, set[Type]] = {}
    described: list[dict[str, Column]] = [kind.described for kind in ROW_KINDS.values()]
    for columns in (COMMON_COLUMNS, *described):
        for name, column in columns.items():
            found.setdefault(name, set()).add(column.type)
    return found


COLUMNS = typed_columns()


def types_of(field: str) -> set[Type]:
    """The types of the columns that a field is called after."""
    of_one = COLUMNS.get(field.rpartition("_")[2], set()) - {Type.REPLICAS}
    return COLUMNS.get(field) or of_one


def fields_of(content: Any, topic: str = "") -> Iterator[tuple[str, str, Any]]:
    """All fields of JSON at any depth, each with the topic that it is within."""
    if isinstance(content, list):
        for each in content:
            yield from fields_of(each, topic)
    if isinstance(content, dict):
        within = str(content.get("topic") or topic)
        for name, value in content.items():
            yield within, name, value
            yield from fields_of(value, within)


def is_named(field: str, value: Any, topic: str, names: Directory) -> bool:
    """Whether the value of a field is a name or id that a user of Kafka knows."""
    members = {*names.brokers, *names.controllers, None}
    named: dict[Type, Callable[[], bool]] = {
        Type.BROKER: lambda: value in members,
        Type.SLOT: lambda: value in members,
        Type.WRITER: lambda: value in members,
        Type.REPLICAS: lambda: isinstance(value, list) and members.issuperset(value),
        Type.PROCESS: lambda: value in {each.name for each in names.processes.values()},
        Type.TOPIC: lambda: value in names.topics,
        Type.FAULT: lambda: value in {each.name for each in names.faults},
        Type.PIN: lambda: value in names.pins,
        Type.PARTITION: lambda: (
            value is None or value in names.partitions or f"{topic}-{value}" in names.partitions
        ),
        Type.CODE: lambda: not isinstance(value, int) or isinstance(value, bool),
    }
    types = types_of(field) & named.keys()
    return not types or any(named[each]() for each in types)


def raw_numbers(content: Any, names: Directory) -> list[tuple[str, Any]]:
    """The fields that are neither names nor ids. Seconds of kinds of processes are no objects."""
    return [
        (field, value)
        for topic, field, value in fields_of(content)
        if not isinstance(value, dict | float)
        and not is_named(field, value, topic, names)
        and not (field in BROKERS_TOO and value in names.brokers)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to work in: a scenario, two runs of it, and the logs of a real cluster."""
    made = tmp_path_factory.mktemp("names")
    (made / "a.yaml").write_text(SCENARIO, encoding="utf-8")
    recorded("kraft-4.1.0-f1_rf2_kill_ret12", made).rename(made / "logs")
    (made / "kraft.yaml").write_text(QUORUM, encoding="utf-8")
    invoked("run", made / "kraft.yaml", "--out", made / "kraft")
    for name, seed in (("a", "1"), ("b", "2")):
        invoked("run", made / "a.yaml", "--seed", seed, "--out", made / name)
    invoked("run", made / "a.yaml", "--snapshot-at", "10s", "--out", made / "stopped")
    (made / "stopped" / SUMMARY).unlink()
    return made


def invoked(*words: str | Path) -> str:
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_command_with_json_is_here() -> None:
    found = set()
    for name, each in (pair for part in COMMANDS.values() for pair in part.items()):
        of_name = {"": each} if isinstance(each, Command) else each
        for within, command in of_name.items():
            if "as_json" in get_type_hints(command.options):
                found.add(f"{name} {within}".strip())
    assert found == {*WORDS, *OF_NO_RUN, *OF_TABLES, *BY_SPARK}


def in_this_process(
    perform: Callable[[Any], Any], tasks: Sequence[Any], *_hosting: object
) -> Iterator[Ended[Any]]:
    """What a pool of actors does for many runs at once."""
    return (Ended(place, perform(each)) for place, each in enumerate(tasks))


@pytest.mark.parametrize("name", WORDS)
def test_json_of_a_command_has_names(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for pooled in (many_runs, fault_runs):
        monkeypatch.setattr(pooled, "run_on_pool", in_this_process)
    content = json.loads(invoked(*WORDS[name].split(), "--json"))
    of_others = {"read-logs": "logged", **dict.fromkeys(OF_QUORUM, "kraft")}
    names = RunFolder(folder / of_others.get(name, "a")).directory
    fields = {field for _, field, _ in fields_of(content)}
    assert fields
    assert FIELDS.get(name, set()) <= fields
    assert raw_numbers(content, names) == []


@pytest.mark.parametrize("name", [name for name in WORDS if name.startswith("show ")])
def test_people_read_the_same_in_100_columns(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = WORDS[name].split()
    options = ["--all", "--handles"] if "story" in FIELDS.get(name, ()) else []
    for asked in (words, [*words, *options]):
        lines = invoked(*asked).splitlines()
        assert [line for line in lines if len(line) > WIDTH] == []


@pytest.mark.parametrize(
    "words", ["show client a {0}", "show partition a {0}-1", "show broker a 101 --at 20s"]
)
def test_long_names_are_folded(words: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's topics have up to 249 characters."""
    monkeypatch.chdir(folder)
    text = invoked(*words.format(LONG).split())
    assert max(map(len, text.splitlines())) <= WIDTH
    assert LONG in re.sub(r"\n *", "", text)


def test_answers_to_questions_have_names(folder: Path, tmp_path: Path) -> None:
    names = RunFolder(folder / "a").directory
    runs = [folder / "a", folder / "b"]
    for question in QUESTIONS.values():
        tables = RunTables(runs if question.name == "first-divergence" else runs[0], tmp_path)
        counts = {each.name for each in question.columns if each.unit == "partitions"}
        rows = Answer(question, question.of(tables)).as_json()["rows"]
        found = raw_numbers(rows, names)
        assert [each for each in found if each[0] not in counts] == [], question.name


def test_the_summary_names_the_row_that_broke_a_check(folder: Path) -> None:
    content = json.loads((folder / "a" / SUMMARY).read_text(encoding="utf-8"))
    assert raw_numbers(content, RunFolder(folder / "a").directory) == []
    first = content["checks"]["exposed_durable"]["first_event"]
    assert (first["process"], first["partition"]) == ("broker 101", "orders-1")
    told = invoked("show", "cause", folder / "a", first["handle"])
    assert f"{first['handle']}  broker 101 " in told
