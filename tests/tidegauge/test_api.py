"""Tidegauge from Python: a run is one call, and its rows can be read."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import Any
from xml.etree import ElementTree as ET

import duckdb
import pytest

import tidegauge
import tidegauge.api
from small_clusters import cluster_of, producers_of
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.engine.process_pool import Ended
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.changes import parse_change, value_text
from tidegauge.sweeps import many_runs

ROOT = Path(__file__).resolve().parents[2]
README, PAGE = ROOT / "README.md", ROOT / "docs" / "python.md"

STORY: dict[str, Any] = {
    "duration": "5s",
    "release": "2.6",
    "liveness": False,
    "cluster": {"brokers": 3, "start": {3: "0s", 1: "500ms", 2: "500ms"}},
    "topics": [{"name": "story", "assignment": {0: [1, 2, 3]}}],
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def a_crash() -> Scenario:
    crash = {"name": "crash", "kind": "crash", "brokers": [2], "at": "3s"}
    producers = {"producers": [producers_of(20, "2s", "4s")]}
    return cluster_of(workload=producers, faults=[crash])


def examples_of(page: Path) -> str:
    return "".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))


def test_the_examples_of_the_page_are_true_and_its_first_is_that_of_docstring_and_readme() -> None:
    examples, in_readme = map(examples_of, (PAGE, README))
    test = doctest.DocTestParser().get_doctest(examples, {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner()
    assert runner.run(test, out=said.append).failed == 0, "".join(said)
    assert runner.tries > 15
    lines = dedent(f"    {tidegauge.api.run.__doc__}").splitlines()
    docstring = doctest.DocTestParser().get_examples("\n".join(lines))
    for shown in (in_readme, examples):
        page = [(each.source, each.want) for each in doctest.DocTestParser().get_examples(shown)]
        assert [each for each in docstring if (each.source, each.want) not in page] == []


def test_the_package_is_quick_to_import() -> None:
    """The command line answers at once: nothing is imported that only a run needs."""
    program = "import sys, tidegauge; print({'numba', 'numpy', 'pydantic'} & sys.modules.keys())"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout == b"set()\n"


def test_a_scenario_comes_as_a_mapping_a_file_or_itself() -> None:
    file = Path("story.yaml")
    file.write_text(str({"name": "scenario", **STORY}))
    one = tidegauge.run(STORY, seed=3)
    assert one.path == Path("runs/scenario-3")
    read = tidegauge.run(file, changes={"seed": 3}, out="elsewhere")
    again = tidegauge.run(a_crash(), changes={"faults.crash.at": "2 s"}, trace="transitions")
    assert one.manifest == read.manifest
    assert one.trace_sha256 == read.trace_sha256 != again.trace_sha256
    assert again.manifest["scenario"]["faults"][0]["at"] == "2s"
    assert again.manifest["trace"] == "transitions"


def test_events_are_all_rows_in_their_total_order_and_can_be_narrowed() -> None:
    result = tidegauge.run(a_crash())
    events = list(result.events())
    places = [event.row.place for event in events]
    assert places == sorted(places)
    assert {"broker_started", "fault_began", "produce_answered"} <= {each.kind for each in events}
    of_broker = list(result.events(process="broker 1", begin="2s", end="3s"))
    assert [each.row for each in of_broker] == [
        each.row
        for each in events
        if each.process == "broker 1" and 2_000_000 <= each.time_us <= 3_000_000
    ]
    assert {each.partition for each in result.events(partition="story-0")} == {"story-0"}


def test_an_event_has_the_values_that_people_would_write() -> None:
    result = tidegauge.run(a_crash())
    (led,) = result.events("became_leader")
    assert (led.process, led.partition) == ("broker 1", "story-0")
    assert led["isr"] == [1, 2, 3]
    assert led["is_new_leader"] is True
    assert led.columns["leader_epoch"] == 0
    assert str(led).endswith(led.words)
    assert "becomes leader in epoch 0: ISR [1,2,3]" in led.words
    written = [each for each in result.events("znode_created") if each.partition == "story-0"]
    assert [(each["leader"], each["isr"], each["writer"]) for each in written] == [
        (1, [1, 2, 3], 3)
    ]
    (stopped, *_) = result.events("broker_stopped")
    assert (stopped["broker"], stopped["stop"]) == (2, "killed")


def test_a_follower_that_is_lost_is_in_every_history_of_the_run() -> None:
    result = tidegauge.run(a_crash(), changes={"duration": "40s"})
    change = next(each for each in result.isr_changes if 2 in each.brokers)
    assert (change.partition, change.change, change.fault_name) == ("story-0", "removal", "crash")
    states = [state for state in result.states if state.partition == "story-0"]
    assert [*states[0].isr, *states[-1].isr] == [1, 2, 3, 1, 3]
    assert states[-1].end_us is None
    last = [each for each in result.brokers if each.broker == 2][-1]
    assert (last.process_state, last.end_us) == ("down", 40_000_000)
    first = result.elections[0]
    assert (first.partition, first.leader, first.old_leader) == ("story-0", 1, None)
    assert result.figures["virtual_seconds"] == result.summary["virtual_seconds"]
    assert "crash" in str(next(line for line in result.story("story-0") if line.reasons))


def test_a_history_is_a_table_for_people_and_for_other_libraries() -> None:
    result = tidegauge.run(STORY)
    states = result.sql("select topic_partition, isr, leader from described_states")
    assert states.arrow().column_names == ["topic_partition", "isr", "leader"]
    assert states[-1].leader == 1
    assert repr(states).splitlines() == [
        "topic_partition  isr        leader",
        "story-0          [1, 2, 3]  1",
        "(1 row)",
    ]
    assert "<td>[1, 2, 3]</td>" in states._repr_html_()
    assert result._repr_html_().startswith("<table><caption>scenario, seed 1: as expected")
    for name in ("pandas", "polars"):
        if find_spec(name) is None:
            with pytest.raises(ImportError, match=f"pip install {name}"):
                getattr(states, name)()
        else:
            assert list(getattr(states, name)().columns) == states.arrow().column_names


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ({"kind": "isr_shrink"}, "kind isr_shrink: is unknown; did you mean isr_shrunk?"),
        ({"partition": "story-1"}, "did you mean story-0?"),
        ({"process": "broker 9"}, "did you mean broker "),
        ({"begin": "5x"}, "must be a duration"),
    ],
)
def test_what_no_event_can_have_is_said_at_once(wanted: Any, complaint: str) -> None:
    result = tidegauge.run(STORY)
    with pytest.raises(ValueError, match=complaint.replace("?", r"\?")):
        result.events(**wanted)


def test_a_run_that_surprises_is_not_as_expected() -> None:
    surprised = tidegauge.run(STORY, changes={"checks": {"strong_isr": False}})
    assert surprised.checks["strong_isr"] is True
    assert surprised.checks["liveness"] == "unknown"
    assert not surprised.is_as_expected
    waiting = {"do": "wait", "within": "1s", "when": {"controller": 1}}
    assert not tidegauge.run(STORY, changes={"steps": [waiting]}).is_as_expected


def test_what_cannot_be_run_is_told_before_anything_is_written() -> None:
    with pytest.raises(tidegauge.ScenarioError, match="scenario: duration: must be a duration"):
        tidegauge.run({**STORY, "duration": "soon"})
    with pytest.raises(tidegauge.ScenarioError, match="did you mean quickstart"):
        tidegauge.run("quickstrat")
    with pytest.raises(ValueError, match="speed 0: must be more than 0"):
        tidegauge.run(STORY, speed=0)
    with pytest.raises(tidegauge.RunError, match="not the folder of a run"):
        tidegauge.Result("runs/none")
    assert list(Path().iterdir()) == []


def test_an_unfinished_run_has_events_and_no_summary() -> None:
    result = tidegauge.run(STORY)
    (result.path / "summary.json").unlink()
    unfinished = tidegauge.Result(result.path)
    assert [str(each) for each in unfinished.events()] == [str(each) for each in result.events()]
    with pytest.raises(tidegauge.RunError, match="is unfinished"):
        _ = unfinished.is_as_expected


def test_its_names_are_listed_before_they_are_imported() -> None:
    code = "import sys, tidegauge; print(*dir(tidegauge)); print('tidegauge.api' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, imported = said.stdout.splitlines()
    assert {"run", "sweep", "compare", "import_cluster", "Result", "Sweep"} <= {*names.split()}
    assert imported == "False"


def test_an_interrupted_sweep_leaves_its_finished_runs_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is a KeyboardInterrupt, as in any library, and no exit of the program."""

    def interrupted(perform: Any, planned: Any, *_hosting: object) -> Iterator[Ended[Any]]:
        yield Ended(0, perform(planned[0]))
        raise KeyboardInterrupt

    monkeypatch.setattr(many_runs, "run_on_pool", interrupted)
    story = {**STORY, "name": "story"}
    for already in (0, 1):
        with pytest.raises(KeyboardInterrupt, match=f"{already + 1} of 3 runs are finished in out"):
            tidegauge.sweep(story, seeds=range(1, 4), out="out")
        said = capfd.readouterr()
        assert said.out == ""
        assert "the same command with this --out resumes" in said.err
        assert tidegauge.Result(f"out/seed={already + 1}").is_as_expected


@pytest.mark.parametrize(
    "text", ["true", "no", "null", "12", "0x10", "2026-01-02", "1e5", "40s", "2 s", "kraft"]
)
def test_a_text_is_a_text_for_the_command_of_a_sweep_too(text: str) -> None:
    assert parse_change(f"name={value_text(text)}") == ("name", text)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: tidegauge.run(STORY, out="full"), "full: is not empty"),
        (lambda: tidegauge.run(STORY, out="full/x/run"), "cannot be written to: Not a directory"),
        (lambda: tidegauge.sweep(STORY, seeds=range(0)), "seeds: has no value"),
        (lambda: tidegauge.sweep(STORY, over={"duration": []}), "duration: has no value"),
        (lambda: tidegauge.sweep(STORY, over={"seed": [{1}]}), r"\{1\}: is no value of a scenario"),
        (lambda: tidegauge.sweep(STORY, seeds=range(2), out="full/x/y"), "cannot be written to"),
        (lambda: tidegauge.sweep(STORY, seeds=range(2), jobs=0), "--jobs 0: must be 1 or more"),
        (lambda: tidegauge.compare(STORY, "seed", ["1"]), "two to four values, not 1"),
        (lambda: tidegauge.compare(STORY, "seed", [1, 2], seeds=range(0)), "seeds: has no value"),
        (lambda: tidegauge.import_cluster("none.txt"), "none.txt: cannot be read"),
    ],
)
def test_a_request_that_cannot_be_fulfilled_is_a_tidegauge_error(call: Any, complaint: str) -> None:
    Path("full").mkdir()
    Path("full/x").touch()
    with pytest.raises(tidegauge.TidegaugeError, match=complaint):
        call()


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("ray_here")
def test_a_sweep_is_a_table_of_its_runs_and_a_comparison_has_its_variants() -> None:
    story = {**STORY, "name": "story", "duration": "20s", "faults": [CRASH]}
    found = tidegauge.sweep(
        story, over={"faults.crash.for": ["2s", "8s"]}, seeds=range(1, 3), figures=["isr_shrinks"]
    )
    runs = found.runs.arrow().to_pydict()
    assert runs["faults.crash.for"] == ["2s", "2s", "8s", "8s"]
    assert runs["seed"] == [1, 2, 1, 2]
    assert found.worst.figures["isr_shrinks"] == max(runs["isr_shrinks"])
    again = tidegauge.sweep(
        story, over={"faults.crash.for": ["2s", "8s"]}, seeds=range(1, 3), out=found.path
    )
    assert [each["trace_sha256"] for each in again.content["runs"]] == [
        each["trace_sha256"] for each in found.content["runs"]
    ]
    compared = tidegauge.compare(story, "faults.crash.for", ["2s", "8s"])
    assert [variant.label for variant in compared.variants] == ["crash.for=2s", "crash.for=8s"]
    assert compared.is_well
    released = tidegauge.compare(story, "release", ["2.6", "2.8"])
    assert [variant.scenario.release for variant in released.variants] == ["2.6.3", "2.8.2"]


CRASH = {"name": "crash", "kind": "crash", "brokers": [3], "at": "6s", "for": "2s"}


def test_a_result_has_tables_faults_and_a_picture() -> None:
    result = tidegauge.run({**STORY, "duration": "20s", "faults": [CRASH]})
    (crash,) = result.faults
    assert crash.fault_name == "crash"
    assert result.table("fault_costs").arrow()["fault_name"].to_pylist() == ["crash"]
    assert "story-0" in result.picture("story-0")
    assert max(map(len, result.picture(width=80).splitlines())) <= 80
    with pytest.raises(tidegauge.TidegaugeError, match=r"table fault_cost: .*fault_costs"):
        result.table("fault_cost")


def test_a_plot_shows_the_run_over_time_without_a_style_sheet() -> None:
    """Names can be anything, and each element has its colours: other programs show it, too."""
    wild = '</svg> class="line" & var(--x)'
    producers = {"producers": [producers_of(20, "2s", "4s")]}
    crash = {**CRASH, "name": wild, "at": "3s"}
    plot = tidegauge.run({**STORY, "faults": [crash], "workload": producers}).plot()
    drawn = ET.parse(plot.save("plot.svg"))  # noqa: S314 - it is our own
    assert Path("plot.svg").read_text() == plot._repr_svg_()
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Active faults", wild} <= {*texts}
    assert any(str(each).startswith("Records of producers") for each in texts)
    assert {"style", "stroke"} <= {name for each in drawn.iter() for name in each.attrib}
    values = [value for each in drawn.iter() for value in each.attrib.values()]
    assert [each for each in values if "var(" in each and wild not in each] == []
    with pytest.raises(tidegauge.TidegaugeError, match=r"none/plot.svg: cannot be written to"):
        plot.save("none/plot.svg")


def test_a_query_on_the_command_line_prints_rows_for_people_and_programs(
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = str(tidegauge.run({**STORY, "duration": "20s", "faults": [CRASH]}).path)
    command = [sys.executable, "-m", "tidegauge", "sql", path]
    query = "select fault_name, 1 as one from fault_costs"
    for options, said in (
        ([], "fault_name  one\ncrash       1\n1 row\n"),
        (["--csv"], "fault_name,one\ncrash,1\n"),
        (["--json"], '[\n  {\n    "fault_name": "crash",\n    "one": 1\n  }\n]\n'),
    ):
        subprocess.run([*command, query, *options], check=True)
        assert [line.rstrip() for line in capfd.readouterr().out.splitlines()] == said.splitlines()
    assert subprocess.run([*command, "select x from nowhere"], check=False).returncode != 0
    assert "nowhere" in capfd.readouterr().err


def test_tables_of_runs_are_found_described_and_exported_in_sql(tmp_path: Path) -> None:
    """``show tables`` and ``describe``; a query is one statement, and it reads."""
    result = tidegauge.run({**STORY, "duration": "20s", "faults": [CRASH]})
    listed = {each.table: each.one_row for each in result.sql("SHOW TABLES;")}
    assert [*listed] == [*TABLES]
    assert "Conditions overlap: choose one" in listed["unavailable"]
    lag = next(each for each in result.sql("describe isr_changes") if each.column == "lag_ms")
    assert (lag.type, lag.unit) == ("bigint", "ms")
    assert len(result.sql("SELECT * FROM Fault_Costs")) == 1
    assert len(result.sql("pivot fault_costs on fault_name using count(*) group by run")) == 1
    for query, said in (
        ("select * from isr_chang", "no table isr_chang; did you mean isr_changes"),
        ("select foo from isr_changes", 'Candidate bindings: "fault"'),
        ("select 1; select 2", "has to be one statement, and has 2"),
        ("insert into elections values (1)", "insert: a query reads tables"),
    ):
        with pytest.raises(tidegauge.QueryError, match=re.escape(said)) as wrong:
            result.sql(query)
        assert "\\n" not in str(wrong.value)
    result.sql(f"copy (from fault_costs) to '{tmp_path}/costs.parquet'")
    assert duckdb.execute(f"from '{tmp_path}/costs.parquet'").fetchall()[0][0] == result.path.name


def test_tables_of_a_sweep_are_one_in_sql_and_rows_that_are_wide_have_lines(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The column run is in SQL, and in the files as TABLES.md says."""
    tidegauge.sweep({**STORY, "duration": "20s", "faults": [CRASH]}, seeds=range(1, 3), out="swept")
    command = [sys.executable, "-m", "tidegauge", "sql", "swept"]
    query = "select run, count(*) as rows from broker_states group by run order by run"
    subprocess.run([*command, query, "--csv"], check=True)
    rows = [line.split(",") for line in capfd.readouterr().out.splitlines()[1:]]
    files = "swept/tables/broker_states/*.parquet"
    found = duckdb.execute(query.replace("broker_states", f"'{files}'")).fetchall()
    assert len(found) == 2
    assert [[str(run), str(number)] for run, number in found] == rows
    tidegauge.run({**STORY, "duration": "20s"}, out="other")
    subprocess.run(
        [*command, "select run from run_figures order by run", "--with", "other", "--csv"],
        check=True,
    )
    assert capfd.readouterr().out.splitlines() == ["run", "other", *(run for run, _ in rows)]
    subprocess.run([*command, "from run_figures order by run"], check=True)
    printed = capfd.readouterr().out.splitlines()
    assert printed[0] == "-- row 1"
    assert printed[1].split() == ["run", rows[0][0]]
    assert max(map(len, printed)) <= 100


def test_an_imported_cluster_runs(tmp_path: Path) -> None:
    dump = tmp_path / "describe.txt"
    dump.write_text(
        "Topic: orders\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
        "\tTopic: orders\tPartition: 0\tLeader: 2\tReplicas: 2,1,3\tIsr: 2,1,3\n"
    )
    imported = tidegauge.import_cluster(dump, release="3.9", duration="5s")
    result = tidegauge.run(imported.scenario)
    assert [(each.partition, each.leader) for each in result.states][:1] == [("orders-0", 2)]
    assert {each.subject for each in imported.notices}
