"""``tidegauge sweep``: a scenario with other values in it and many seeds, side by side."""

from __future__ import annotations

import json
import shlex
from io import StringIO
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from swept_scenario import CRASHES, sweep
from tidegauge.command_line import app
from tidegauge.sweeps.many_runs import Outcome
from tidegauge.sweeps.sweep_content import (
    FIGURES,
    SweptRun,
    content_of,
    settings_of,
    worst_by,
    worst_of,
)
from tidegauge.sweeps.sweep_folder import Axis
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.progress import BatchPace
from tidegauge.views.sweep_report import show_sweep

pytestmark = pytest.mark.usefixtures("ray_here")

#: A leader whose followers are cut off for a while, and that dies 20 s later.
SCENARIO = """\
name: fading
duration: 80s
release: "2.6"
liveness: false
cluster:
  brokers: 4
  start: {1: 500ms, 2: 600ms, 3: 700ms, 4: 0ms}
  settings: {auto.leader.rebalance.enable: false, zookeeper.session.timeout.ms: 6000}
topics: [{name: orders, assignment: {0: [1, 2, 3]}}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 4, settings: {acks: "1"}}]
faults:
  - {name: fades, kind: cut_link, at: 20s, between: [[1], [2, 3]]}
  - {name: dies, kind: crash, at: 40s, brokers: [1]}
"""
LAG = "cluster.settings.replica.lag.time.max.ms"


@pytest.fixture
def fading(tmp_path: Path) -> Path:
    file = tmp_path / "fading.yaml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def crashes(tmp_path: Path) -> Path:
    file = tmp_path / "crashes.yaml"
    file.write_text(CRASHES)
    return file


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_a_grid_says_for_which_pairs_nobody_can_be_elected(fading: Path, tmp_path: Path) -> None:
    """Question 8 of operators: an ISR of only the dead leader, if the lag time has passed."""
    out = tmp_path / "sweep"
    result = sweep(
        fading,
        *("--set", f"{LAG}=5000,30000"),
        *("--set", "cluster.settings.zookeeper.session.timeout.ms=6000,18000"),
        *("--figure", "partition_seconds_offline", "--jobs", "1", "--out", out),
    )
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    header = lines.index(["replica.lag.time.max.ms", "6000", "18000"])
    rows = lines[header + 2 : header + 4]
    offline = {row[0]: [float(cell) for cell in row[1:]] for row in rows}
    assert min(offline["5000"]) > 20, "to the end of the run"
    assert max(offline["30000"]) < 1
    # Each cell is a run of its own.
    summary = RunFolder(
        out / "replica.lag.time.max.ms=30000,zookeeper.session.timeout.ms=6000,seed=1"
    ).summary
    assert summary is not None
    assert round(summary["partition_seconds_offline"], 3) == offline["30000"][0]


def test_a_line_for_each_run_has_all_figures(fading: Path, tmp_path: Path) -> None:
    result = sweep(
        fading,
        *("--set", "faults.dies.at=30s,60s", "--figure", "dies.seconds"),
        *("--figure", "isr_shrinks", "--set", f"{LAG}=5000", "--json"),
        *("--jobs", "1", "--out", tmp_path / "sweep"),
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert [each["dies.seconds"] for each in found["runs"]] == [50, 20]
    assert [each["isr_shrinks"] for each in found["runs"]] == [1, 1]
    assert [each["changes"] for each in found["runs"]] == [
        ["faults.dies.at=30s"],
        ["faults.dies.at=60s"],
    ]
    assert json.loads((tmp_path / "sweep" / "sweep.json").read_text()) == found


def test_with_seeds_each_setting_says_how_its_figures_are_distributed(
    crashes: Path, tmp_path: Path
) -> None:
    """A setting of a cluster is judged over seeds: mean, interval, and the worst of its seeds.

    Of three runs nobody knows a P99.
    """
    out = tmp_path / "sweep"
    sessions = "cluster.settings.zookeeper.session.timeout.ms=4000,12000"
    result = sweep(crashes, "--set", sessions, "--seeds", "3..5", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert [(each["changes"], each["seed"]) for each in found["runs"]] == [
        ([f"cluster.settings.zookeeper.session.timeout.ms={timeout}"], seed)
        for timeout in (4000, 12000)
        for seed in (3, 4, 5)
    ]
    for number, setting in enumerate(found["settings"]):
        name = "partition_seconds_not_accepting"
        assert name not in setting["distribution"], "nobody asked for it"
        name = "partition_seconds_offline"
        runs = found["runs"][3 * number : 3 * number + 3]
        offline = sorted((each[name], each["seed"]) for each in runs)
        told = setting["distribution"][name]
        assert (told["seeds"], told["above_zero"]) == (3, sum(each[0] > 0 for each in offline))
        assert told["mean"] == pytest.approx(mean(each[0] for each in offline))
        assert (told["p50"], told["p99"]) == (offline[1][0], None)
        assert (told["smallest"], told["largest"]) == (offline[0][0], offline[2][0])
        assert (told["worst_is"], told["worst"], told["worst_seed"]) == ("most", *offline[2])
    assert "percentiles by nearest rank" in result.stderr
    assert f"Next: tidegauge analyze '{out}/*'" in result.stderr


def test_each_run_is_what_it_is_alone_and_the_worst_can_be_had_again(
    crashes: Path, tmp_path: Path
) -> None:
    """Same scenario, same seed, same hash, on Ray or inline; and another seed has another."""
    out = tmp_path / "seeds"
    result = invoke("run", crashes, "--seeds", "3..6", "--jobs", "2", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    hashes = {each["seed"]: each["trace_sha256"] for each in found["runs"]}
    assert len({*hashes.values()}) == 4, "seeds differ"
    for each in found["runs"]:
        summary = RunFolder(out / each["folder"]).summary
        assert summary is not None
        assert {name: each[name] for name in FIGURES} == {name: summary[name] for name in FIGURES}
        assert each["trace_sha256"] == summary["trace_sha256"]

    (worst,) = (line for line in result.stderr.splitlines() if line.startswith("Worst"))
    name = found["worst"]["figure"]
    assert worst.startswith(f"Worst, with the most {name.replace('_', ' ')} (")
    again = result.stderr.partition("\nAgain: ")[2].partition("\nAll of it: ")[0]
    assert shlex.split(again.replace("\\\n", "")) == shlex.split(found["worst"]["command"])
    assert "\nlongest stall seconds" in result.stderr, "what clients saw is among the figures"
    assert found["worst"]["value"] == max(each[name] for each in found["runs"])
    words = found["worst"]["command"].split()[1:]
    assert invoke(*words, "--out", tmp_path / "alone").exit_code == 0
    alone = RunFolder(tmp_path / "alone").summary
    assert alone is not None
    assert alone["trace_sha256"] == hashes[found["worst"]["seed"]]


def test_a_run_that_is_not_as_expected_is_named_and_ends_with_1(
    fading: Path, tmp_path: Path
) -> None:
    text = SCENARIO.replace("liveness: false", "checks: {strong_isr: false}")
    fading.write_text(text)
    result = sweep(fading, "--set", "seed=1,2", "--jobs", "1", "--out", tmp_path / "sweep")
    assert result.exit_code == 1
    assert "seed=2: not as expected: strong_isr" in result.stdout
    assert "2 of 2 runs had an unexpected verdict, 0 failed" in result.stdout


def swept(seed: int, lost: int, offline: float, *unexpected: str) -> SweptRun:
    figures = dict.fromkeys(FIGURES, 0.0)
    figures |= {"records_acknowledged_lost": lost, "partition_seconds_offline": offline}
    return SweptRun((), seed, f"seed={seed}", Outcome(unexpected=unexpected, figures=figures))


def test_of_surprises_the_worst_is_the_one_that_lost_most() -> None:
    runs = [swept(1, 0, 9.0), swept(2, 5, 1.0), swept(3, 5, 1.0), swept(4, 0, 0.0, "liveness")]
    order = []
    while runs:
        worst = worst_of(runs, FIGURES)
        order.append((worst.seed, worst_by(runs, FIGURES)))
        runs.remove(worst)
    lost = "records_acknowledged_lost"
    # A run that is not as expected is the worst by that; the last one is compared with none.
    assert order == [(4, None), (2, lost), (3, lost), (1, None)]


def test_of_records_that_were_acknowledged_the_fewest_are_the_worst() -> None:
    """The direction is that of the figure: a cluster that takes less is not better."""
    runs = [
        SweptRun((), seed, "", Outcome(figures={"records_acknowledged": count}))
        for seed, count in ((1, 500), (2, 20), (3, 300))
    ]
    assert worst_of(runs, ["records_acknowledged"]).seed == 2
    (setting,) = settings_of(runs, ["records_acknowledged"])
    told = setting["distribution"]["records_acknowledged"]
    assert (told["worst_is"], told["worst"], told["worst_seed"]) == ("least", 20, 2)


def shown(width: int, runs: list[SweptRun], axes: list[Axis], figures: list[str]) -> str:
    out = Console(width=width, file=StringIO())
    content = content_of("story", {}, figures, runs, "tidegauge run story")
    show_sweep(out, axes, content, runs, Path("sweep"))
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_what_most_seeds_do_not_have_is_counted_and_has_no_interval() -> None:
    """Three of twenty seeds lose records: a mean of such values is no estimate of anything."""
    runs = [swept(seed, 40 * (seed > 17), 1.0 + seed) for seed in range(1, 21)]
    (setting,) = settings_of(runs, FIGURES)
    lost = setting["distribution"]["records_acknowledged_lost"]
    assert (lost["above_zero"], lost["low"], lost["largest"]) == (3, None, 40)
    assert setting["distribution"]["partition_seconds_offline"]["low"] > 0
    lines = [line.split() for line in shown(80, runs, [], list(FIGURES)).splitlines()]
    assert ["6", "3", "of", "20", "0", "40", "18"] in lines
    assert ["partition", "seconds", "under", "min", "isr:", "0", "in", "all", "runs"] in lines


def test_a_table_of_runs_is_no_wider_than_the_terminal() -> None:
    """Whole figures are left out, and named; none is cut short."""
    figures = [f"records_lost_by_partition.orders-{number}" for number in range(30)]
    values = dict.fromkeys(figures, 123456)
    runs = [
        SweptRun((f"cluster.brokers={count}",), 1, f"{count}", Outcome(figures=values))
        for count in (3, 6)
    ]
    text = shown(100, runs, [Axis("cluster.brokers", ("3", "6"))], figures)
    table, _, rest = text.partition("also, in --json: ")
    assert all(len(line) <= 100 for line in table.splitlines())
    assert "123,456" in table
    assert "…" not in table
    assert rest.split("Worst")[0].count("orders-") + table.count("123,456") // 2 == 30


def test_a_value_that_is_a_list_of_names_stands_in_its_line() -> None:
    """Square brackets are the value's own, and no markup of the terminal."""
    lists = ("[]", "[unfenced_fetch]")
    runs = [
        SweptRun((f"ablations={names}",), 1, names, Outcome(figures={"isr_shrinks": 2}))
        for names in lists
    ]
    lines = shown(100, runs, [Axis("ablations", lists)], ["isr_shrinks"]).splitlines()
    assert [line.split() for line in lines if line.startswith("[")] == [
        ["[]", "2"],
        [lists[1], "2"],
    ]


def test_the_time_that_is_left_is_told_of_what_this_sweep_has_run() -> None:
    """Of 100 runs 40 were there before; twenty more took ten minutes, so forty take twenty."""
    pace = BatchPace(100, 40, now_s=0.0)
    lines = [pace.line(30.0 * number) for number in range(1, 21)]
    assert lines[0] == "41 of 100 runs", "which may have waited for its process to start"
    assert lines[1] == "42 of 100 runs, some 29 min left"
    assert lines[-1] == "60 of 100 runs, some 20 min left"
    quick = BatchPace(100, 0, now_s=0.0)
    told = [line for number in range(1, 101) if (line := quick.line(0.5 * number))]
    assert len(told) == 9, "a line for each tenth, and none at the end"
    assert told[-1] == "90 of 100 runs, some 5 s left"
    short = BatchPace(8, 0, now_s=0.0)
    assert [short.line(0.1 * number) for number in range(8)] == [None] * 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no path has several values, such as cluster.brokers=3,6; or use --seeds"),
        (["--set", "seed"], "--set seed: must be PATH=VALUE,VALUE..."),
        (["--set", "faults=[1, 2]"], "no path has several values"),
        (["--set", "seed=1,x"], "seed: must be a whole number"),
        (["--set", "seed=1,1"], "a value is given twice"),
        (["--set", "cluster.brokrs=1,2"], "cluster.brokrs"),
        (["--set", "seed=1,2", "--jobs", "0"], "--jobs 0: must be 1 or more"),
        (["--set", "seed=1,2", "--seeds", "1..2"], "--seeds and --set seed=... exclude each"),
        (["--seed", "1", "--seeds", "1..2"], "--seeds and --seed exclude each other"),
        (["--seeds", "5..1"], "--seeds 5..1: the last one is before the first"),
        (["--seeds", "5"], "--seeds 5: must be the first and the last one, such as 1..20"),
        (["--seeds", f"1..{2**63}"], "a seed is less than 2**63"),
        (["--seeds", "1..999999"], "are too many"),
        (["--seeds", "1..99999", "--set", f"{LAG}=5000,6000"], "199,998 runs are too many"),
        (["--seeds", "1..2", "--set", "duration=soon"], "duration: must be a duration"),
        (["--seeds", "1..2", "--figure", "dies.second"], "no run will have such a figure; did you"),
        (["--seeds", "1..2", "--figure", "dies.second"], "did you mean dies.seconds"),
        (["--seeds", "1..2", "--figure", "produce_ms.web.p99"], "mean produce_ms.shop.p99"),
        (["--seeds", "1..2", "--figure", "acknowledged_lost"], "records_acknowledged_lost"),
        (["--seeds", "1..2", "--figure", "isr_in_one_rack_most"], "no run will have such a"),
        (["--seeds", "1..2", "--figure", "qqq"], "--figures lists them"),
        ([f"--set={part}={','.join(map(str, range(40)))}" for part in ("seed", LAG)], "too many"),
    ],
)
def test_what_cannot_be_swept_is_one_line_before_anything_is_written(
    fading: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    result = sweep(fading, *options, "--out", tmp_path / "sweep")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "sweep").exists()


def test_figures_that_the_scenario_names_are_known_before_and_there_after(
    fading: Path, tmp_path: Path
) -> None:
    """Nobody of the ISR has what its leader acknowledged alone. What is left out at 0 is 0."""
    names = [
        *("produce_ms.shop.p99", "dies.seconds", "records_lost_by_topic.orders"),
        *("records_lost_by_partition.orders-0", "cost_model.costs.offsets_load.times"),
        *("controller_busy_seconds", "most_leaders.broker"),
    ]
    options = [word for name in names for word in ("--figure", name)]
    result = sweep(fading, "--seeds", "1..1", *options, "--out", tmp_path / "sweep", "--json")
    assert result.exit_code == 0, result.output
    (run,) = json.loads(result.stdout)["runs"]
    found = [run[name] for name in names]
    assert found[1:5] == [40.0, 80, 80, 0]
    assert min(found[0], found[5]) > 0
    assert found[6] == 1


def test_faults_that_a_seed_draws_are_known_by_their_rate(crashes: Path, tmp_path: Path) -> None:
    options = ("--figure", "crash-2-1.seconds", "--out", tmp_path / "sweep", "--jobs", "1")
    result = sweep(crashes, "--seeds", "1..2", *options)
    assert result.exit_code == 0, result.output


def test_values_are_a_list_of_yaml(fading: Path, tmp_path: Path) -> None:
    """Releases in quotes, as a file has them, and lists, whose commas are their own."""
    out = tmp_path / "sweep"
    result = sweep(
        fading,
        *("--set", 'release="2.6","2.8"', "--set", "faults.dies.brokers=[1],[1, 2]"),
        *("--jobs", "1", "--out", out, "--json"),
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["over"] == {
        "release": ['"2.6"', '"2.8"'],
        "faults.dies.brokers": ["[1]", "[1, 2]"],
    }
    scenarios = [RunFolder(out / run["folder"]).manifest["scenario"] for run in found["runs"]]
    assert [each["release"][:3] for each in scenarios] == ["2.6", "2.6", "2.8", "2.8"]
    assert [scenario["faults"][1]["brokers"] for scenario in scenarios] == 2 * [[1], [1, 2]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--jobs", "2"], "--jobs needs --seeds"),
        (["--seeds", "1..2", "--seed", "1"], "--seeds and --seed exclude each other"),
        (["--seeds", "1..2", "--actors", "1"], "no --actors, no --speed"),
    ],
)
def test_options_of_one_run_are_not_for_seeds(
    crashes: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    result = invoke("run", crashes, *options, "--out", tmp_path / "run")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert not (tmp_path / "run").exists()
