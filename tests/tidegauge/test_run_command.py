"""``tidegauge run``, as a person at a shell meets it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from night_story import unfolded
from tidegauge.command_line import app
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import shipped_scenarios
from tidegauge.traces.run_files import MANIFEST, SUMMARY, TRACE
from tidegauge.traces.run_folder import RunFolder

SCENARIO = """\
name: tiny
duration: 4s
release: "2.6"
seed: 5
cluster: {brokers: 2, settings: {replica.fetch.wait.max.ms: 5000}}
topics: [{name: orders, partitions: 1, replication_factor: 2}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 5, stop: 3s}]
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(SCENARIO)
    return file


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def run_into(scenario: str | Path, out: Path, *options: str) -> RunFolder:
    result = run(scenario, "--out", out, *options)
    assert result.exit_code == 0, result.output
    return RunFolder(out)


def sha256_of(folder: RunFolder) -> str:
    assert folder.summary is not None
    return str(folder.summary["trace_sha256"])


def refusal(result: Result) -> str:
    """The one line in which a command says what was wrong with its input."""
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("tidegauge: ")
    assert len(result.stderr.splitlines()) == 1
    return result.stderr.removeprefix("tidegauge: ").strip()


def again_in(result: Result) -> list[str]:
    """The words of the command that is printed to run the same again, from the scenario on."""
    return command_in(result, "Again")[2:]


def command_in(result: Result, label: str) -> list[str]:
    """The words of a command behind its label; a long one goes on behind backslashes."""
    words: list[str] = []
    for line in result.output.partition(f"{label}: ")[2].splitlines():
        assert len(line) <= 100 or len(line.split()) <= 2, line  # a path may be longer
        words += shlex.split(line.removesuffix(" \\"))
        if not line.endswith(" \\"):
            break
    return words


# What it writes and says.


def test_a_run_writes_manifest_trace_and_summary(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "first"
    folder = run_into(tiny, out)
    assert sorted(file.name for file in out.iterdir()) == sorted([MANIFEST, SUMMARY, TRACE])
    assert [file.name for file in (out / TRACE).iterdir()] == ["group-0.msgpack"]
    assert folder.manifest["scenario"]["name"] == "tiny"
    assert folder.manifest["seed"] == 5
    assert folder.summary is not None
    assert folder.summary["records_acknowledged"] == 5
    assert folder.summary["virtual_seconds"] == 4
    assert len(list(folder.rows("broker_started"))) == 2


def test_what_came_of_a_run_is_told(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run(tiny, "--out", out, "--verbose")
    assert result.exit_code == 0
    assert "tiny: 2 brokers" in result.output
    assert "4s of virtual time, seed 5" in result.output
    assert "records: 5 offered = 5 acknowledged + 0 failed + 0 unsent + " in result.output
    assert " of the acknowledged ones 0 lost, 0 unavailable; " in result.output
    assert "check liveness" in result.output
    assert f"trace_sha256 {sha256_of(RunFolder(out))}" in result.output.splitlines()
    assert f"Next: tidegauge show partition {out}" in result.output.replace(" \\\n   ", "")


def test_a_run_of_120_topics_is_told_in_fifteen_lines_and_all_of_it_if_wanted(
    tiny: Path, tmp_path: Path
) -> None:
    """Two of three brokers lose power before a flush, and all is wrong that can be.

    120 groups of producers stall, and consumers; expectations fail; a setting has no effect.
    """
    names = [f"t{number:03}" for number in range(120)]
    topics = ", ".join(f"{{name: {each}, partitions: 1, replication_factor: 2}}" for each in names)
    options = [
        *("cluster.brokers=3", "duration=20s", "liveness=false", f"topics=[{topics}]"),
        "workload.producers=["
        + ", ".join(
            f"{{name: p-{each}, topics: [{each}], batches_per_second: 1}}" for each in names
        )
        + "]",
        "workload.consumers=[{name: readers, topics: [t000, t001, t002, t003]}]",
        "cluster.settings={flux.capacitor: 1, unclean.leader.election.enable: true}",
        "faults=[{name: power, kind: power_loss, at: 10s, for: 4s, brokers: [1, 2]}]",
        "checks={strong_isr: true, acknowledged_records_lost: false}",
    ]
    words = [word for option in options for word in ("--set", option)]
    result = run(tiny, "--out", tmp_path / "run", *words)
    assert result.exit_code == 1, result.output
    # Below `Again:` the command goes on.
    lines = [line for line in result.output.splitlines() if not line.startswith("    ")]
    assert len(lines) <= 15, "\n".join(lines)
    assert "\nstalled for consumers: " in result.output
    summary = RunFolder(tmp_path / "run").summary
    assert summary is not None
    p99_ms = {name: each["p99"] for name, each in summary["produce_ms"].items()}
    (slowest,) = (line for line in lines if line.startswith("slowest batches (P99): "))
    assert p99_ms[slowest.split()[3]] == max(p99_ms.values())
    failed = [name for name, each in summary["checks"].items() if not each["as_expected"]]
    assert failed
    assert lines[-1] == f"Not as expected, with seed 5: {', '.join(failed)}"
    assert all(any(line.startswith(f"check {name} ") for line in lines) for name in failed[:1])
    told = run(tiny, "--out", tmp_path / "all", *words, "--verbose").output.splitlines()
    assert sum(line.startswith("batches of p-t") for line in told) == 120
    assert sum(line.startswith("check ") for line in told) == len(summary["checks"])


def test_of_several_warnings_the_first_is_printed_with_the_number_of_others(
    tiny: Path, tmp_path: Path
) -> None:
    words = ("--set", "workload.producers=[]", "--set", "cluster.settings={flux.capacitor: 1}")
    told = run(tiny, "--out", tmp_path / "run", *words).output
    assert told.count("warning: ") == 1
    assert "(and 1 more: tidegauge validate lists them)" in told
    told = run(tiny, "--out", tmp_path / "all", *words, "--verbose").output
    assert told.count("warning: ") == 2


def test_settings_that_made_no_difference_are_listed(tiny: Path, tmp_path: Path) -> None:
    plain = run_into(tiny, tmp_path / "plain")
    settings = "log.cleaner.backoff.ms: 168, flux.capacitor: 1, "
    tiny.write_text(SCENARIO.replace("{replica", f"{{{settings}replica"))
    result = run(tiny, "--out", tmp_path / "own")
    own = RunFolder(tmp_path / "own")
    assert own.summary is not None
    listed = [
        "cluster.settings.flux.capacitor: Kafka has no setting of this name for brokers",
        "cluster.settings.log.cleaner.backoff.ms",
    ]
    assert own.summary["settings_not_modelled"] == listed
    assert f"without effect: {', '.join(listed)}\n" in unfolded(result.output)
    assert sha256_of(own) == sha256_of(plain)
    assert plain.summary is not None
    assert plain.summary["settings_not_modelled"] == []


def test_a_pin_that_no_message_has_matched_is_named(tiny: Path, tmp_path: Path) -> None:
    """Of two pins the one of a ninth election had no effect; the run is not failed by that."""
    pins = [{"hold": "FETCH", "for": "1ms"}, {"name": "ninth", "drop": "LEADER_AND_ISR", "nth": 9}]
    tiny.write_text(f"{SCENARIO}\npins: {json.dumps(pins)}\n")
    result = run(tiny, "--out", tmp_path / "run")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == (
        "tidegauge: pin ninth had no effect: no message matched it"
    )
    assert "pin-1 had no effect" not in result.stderr


def test_the_command_that_is_printed_runs_the_same_again(tiny: Path, tmp_path: Path) -> None:
    options = ["--seed", "9", "--trace", "all", "--set", "workload.producers.shop.stop=2500 ms"]
    first = run(tiny, "--out", tmp_path / "first", *options)
    assert run(*again_in(first), "--out", tmp_path / "again").exit_code == 0
    one, other = (RunFolder(tmp_path / name) for name in ("first", "again"))
    assert one.manifest == other.manifest
    assert sha256_of(one) == sha256_of(other)
    assert list(one.all_rows()) == list(other.all_rows())


def test_branches_left_to_chance_are_said_with_the_command_for_the_spread(
    tiny: Path, tmp_path: Path
) -> None:
    """A crash decides the same with every seed; of a loss of power draws say what is on disk."""
    starts = ("--set", "cluster.start={1: 0s, 2: 1s}")
    crash = "faults=[{name: f, kind: crash, at: 2s, brokers: [2]}]"
    assert "chance:" not in run(tiny, "--out", tmp_path / "a", "-v", *starts, "--set", crash).output
    power = crash.replace("crash", "power_loss")
    options = (*starts, "--set", power)
    result = run(tiny, "--out", tmp_path / "b", "--seed", "6", "--inline", "-v", *options)
    assert "chance: the part of each log that survives f\n" in result.output
    words = command_in(result, "The spread")
    assert words == ["tidegauge", "run", str(tiny), *options, "--seeds", "1..20"]
    seeds = RunFolder(tmp_path / "b").manifest["over_seeds"]
    assert seeds == shlex.join(words)


def test_a_run_without_a_folder_gets_one_of_its_own(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = [run(tiny, "--set", "name=nightly/tiny").output for _ in range(2)]
    assert "Next: tidegauge show partition runs/nightly-tiny-5; " in said[0]
    assert "tidegauge report runs/nightly-tiny-5-2\n" in said[1]
    one, other = (RunFolder(Path("runs") / f"nightly-tiny-5{end}") for end in ("", "-2"))
    assert sha256_of(one) == sha256_of(other)


def test_json_is_the_summary_and_nothing_else(tiny: Path, tmp_path: Path) -> None:
    result = run(tiny, "--out", tmp_path / "run", "--json")
    assert json.loads(result.stdout) == RunFolder(tmp_path / "run").summary
    assert "Next: tidegauge show partition " in result.stderr


# What --set changes. (What paths there are is told in tests/scenario/test_scenario_changes.py.)


def test_set_changes_what_is_run(tiny: Path, tmp_path: Path) -> None:
    changes = ["duration=3s", 'release="2.8"', "cluster.settings.num.io.threads=3"]
    options = [word for change in changes for word in ("--set", change)]
    folder = run_into(tiny, tmp_path / "run", *options)
    scenario = folder.manifest["scenario"]
    assert scenario["duration"] == "3s"
    assert scenario["release"] == "2.8.2"
    assert scenario["cluster"]["settings"]["num.io.threads"] == 3
    assert scenario["cluster"]["settings"]["replica.fetch.wait.max.ms"] == 5000


def test_the_last_of_several_changes_of_one_field_counts_and_an_option_before_it(
    tiny: Path, tmp_path: Path
) -> None:
    options = ["--set", "seed=7", "--set", "duration=1s", "--set", "duration=3s", "--seed", "8"]
    scenario = run_into(tiny, tmp_path / "run", *options).manifest["scenario"]
    assert (scenario["seed"], scenario["duration"]) == (8, "3s")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("duration", "--set duration: must be PATH=VALUE"),
        ("duration=[", "--set duration=[: the value is not valid YAML"),
        ("duration=soon", "tiny.yaml: duration: must be a duration"),
        ("cluster.settings.replica.lag.time.max.ms=soon", "replica.lag.time.max.ms"),
        ("topics.order.partitions=2", "topics: has no item order"),
        ("sede=5", "tiny.yaml: sede: unknown name; did you mean seed?"),
    ],
)
def test_a_change_that_no_scenario_can_have_is_refused(
    change: str, complaint: str, tiny: Path, tmp_path: Path
) -> None:
    assert complaint in refusal(run(tiny, "--out", tmp_path / "run", "--set", change))
    assert not (tmp_path / "run").exists()


def test_another_seed_is_another_run(tiny: Path, tmp_path: Path) -> None:
    as_written = run_into(tiny, tmp_path / "as-written")
    same = run_into(tiny, tmp_path / "same", "--seed", "5")
    other = run_into(tiny, tmp_path / "other", "--seed", "6")
    assert sha256_of(as_written) == sha256_of(same) != sha256_of(other)
    assert other.manifest["seed"] == other.manifest["scenario"]["seed"] == 6


def test_trace_all_records_single_requests(tiny: Path, tmp_path: Path) -> None:
    few = run_into(tiny, tmp_path / "few")
    every = run_into(tiny, tmp_path / "every", "--trace", "all")
    assert not list(few.rows("message"))
    assert len(list(every.rows("produce_answered"))) == 5
    assert sha256_of(few) == sha256_of(every)


def test_the_resolved_scenario_of_a_manifest_is_run_to_the_same_end(
    tiny: Path, tmp_path: Path
) -> None:
    folder = run_into(tiny, tmp_path / "run")
    resolved = tmp_path / "resolved.yaml"
    resolved.write_text(json.dumps(folder.manifest["scenario"]))
    assert sha256_of(run_into(resolved, tmp_path / "again")) == sha256_of(folder)


# What it expects.

MECHANISM_10 = "10-truncation-to-high-watermark"


def test_a_scenario_of_data_loss_that_expects_it_ends_well(tmp_path: Path) -> None:
    result = run(MECHANISM_10, "--out", tmp_path / "run", "--verbose")
    assert result.exit_code == 0, result.output
    assert "acknowledged_records_lost  BROKEN in 1 partition; first story-0" in result.output


def test_a_break_is_expected_in_the_release_of_the_scenario_only(tmp_path: Path) -> None:
    """KIP-101: with --set release=2.6 nothing is lost, which is no failure of the run."""
    result = run(MECHANISM_10, "--set", "release=2.6", "--out", tmp_path / "newer")
    assert result.exit_code == 0, result.output
    assert "9 of 9 hold; broken in the scenario's own release only: strong_isr," in result.output
    wanted = ("--set", "release=2.6", "--set", "checks.strong_isr=false")
    assert run(MECHANISM_10, *wanted, "--out", tmp_path / "wanted").exit_code == 1


def test_a_verdict_that_nobody_expected_is_told_with_its_story(tmp_path: Path) -> None:
    """Status 1, the seed, the command that shows it again, and what led to the first event."""
    file = tmp_path / "unexpected.yaml"
    text = shipped_scenarios()[MECHANISM_10].read_text()
    file.write_text("\n".join(line for line in text.splitlines() if not line.startswith("checks")))
    result = run(file, "--out", tmp_path / "run", "--seed", "4", "--verbose")
    assert result.exit_code == 1, result.output
    assert "exposed_durable: the true leader has every record" in result.output
    assert "becomes leader in epoch" in result.output
    assert "leader is now broker 1" in result.output
    assert f"Again: tidegauge run {file}" in " ".join(result.output.replace("\\\n", "").split())
    assert again_in(result)[-4:] == ["--seed", "4", "--trace-level", "all"]
    assert result.stderr.startswith("Not as expected, with seed 4: ")
    assert "exposed_durable" in result.stderr


def test_a_check_that_there_is_not_is_refused(tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(SCENARIO + "checks: {strong_irs: true}\n")
    said = refusal(run(tiny, "--out", tmp_path / "run"))
    assert "checks.strong_irs: unknown check; did you mean strong_isr?" in said


# What it refuses.


def test_a_folder_that_is_not_empty_is_refused(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    said = refusal(run(tiny, "--out", out))
    assert str(out) in said
    assert "not empty" in said
    assert [file.name for file in out.iterdir()] == ["notes.txt"]


def test_an_empty_folder_is_taken(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    assert run_into(tiny, out).summary is not None


def test_a_file_is_no_folder_for_a_run(tiny: Path) -> None:
    assert str(tiny) in refusal(run(tiny, "--out", tiny))
    assert tiny.read_text() == SCENARIO


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--inline", "--actors", "2"], "--inline excludes Ray: leave out --ray, --actors"),
        (["--inline", "--address", "host:6379"], "--inline excludes Ray"),
        (["--inline", "--ray"], "--inline excludes Ray"),
        (["--speed", "0"], "--speed 0: must be more than 0"),
        (["--actors", "4"], "can be hosted by 1 to 3 actors, not by 4"),
        (["--address", "127.0.0.1:1"], "127.0.0.1:1: no Ray cluster responds: "),
    ],
)
def test_how_a_scenario_cannot_be_run_is_said_before_anything_is_written(
    tiny: Path,
    tmp_path: Path,
    options: list[str],
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Other tests of this process may have a Ray, which would be used instead.
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    assert complaint in refusal(run(tiny, "--out", tmp_path / "run", *options))
    assert not (tmp_path / "run").exists()


def test_speed_holds_virtual_time_back(tiny: Path, tmp_path: Path) -> None:
    paced = run_into(tiny, tmp_path / "paced", "--speed", "4")
    assert paced.summary is not None
    assert paced.summary["loop_seconds"] >= 1
    assert sha256_of(paced) == sha256_of(run_into(tiny, tmp_path / "at-once"))


def test_an_unknown_scenario_is_told_from_those_that_come_along(tmp_path: Path) -> None:
    near = refusal(run("quickstrat", "--out", tmp_path / "run"))
    assert near.startswith("quickstrat: ")
    assert "did you mean quickstart?" in near
    far = refusal(run("zzz", "--out", tmp_path / "run"))
    assert all(name in far for name in shipped_scenarios())


def test_a_scenario_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    assert str(missing) in refusal(run(missing, "--out", tmp_path / "run"))


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ("duration: 4s", "duration: soon", "duration"),
        ("brokers: 2", "brokers: 0", "cluster.brokers"),
        ("wait.max.ms: 5000", "wait.max.ms: soon", "cluster.settings"),
        ("topics: [orders]", "topics: [order]", "workload.producers[0].topics"),
        ("seed: 5", "sede: 5", "sede"),
        ("cluster: {", "cluster: {{", "tiny.yaml"),
    ],
)
def test_a_bad_scenario_file_is_one_line_with_file_and_field(
    before: str, after: str, field: str, tiny: Path, tmp_path: Path
) -> None:
    assert before in SCENARIO
    tiny.write_text(SCENARIO.replace(before, after))
    said = refusal(run(tiny, "--out", tmp_path / "run"))
    assert str(tiny) in said
    assert field in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("option", "value"), [("--trace", "everything"), ("--seed", "-1"), ("--seed", str(2**63))]
)
def test_an_option_that_no_scenario_can_have_is_refused(
    option: str, value: str, tiny: Path, tmp_path: Path
) -> None:
    said = refusal(run(tiny, "--out", tmp_path / "run", option, value))
    assert option.removeprefix("--") in said
    assert not (tmp_path / "run").exists()


def test_a_step_that_waits_in_vain_makes_a_run_that_failed(tiny: Path, tmp_path: Path) -> None:
    steps = "steps: [{when: {leader: {topic: orders, partition: 0, is: -1}}, within: 1s, do: wait}]"
    tiny.write_text(SCENARIO + steps)
    result = run(tiny, "--out", tmp_path / "run")
    # Not 2: the file is right, and the run is there to be looked at.
    assert result.exit_code == 1
    assert "steps[0]" in result.stderr
    assert "was not met in time" in result.stderr
    assert RunFolder(tmp_path / "run").summary is not None


# Help.


def test_help_has_examples_that_can_be_copied() -> None:
    result = run("--help")
    assert result.exit_code == 0
    lines = map(str.strip, result.output.splitlines())
    examples = [line.split() for line in lines if line.startswith("tidegauge run ")]
    assert len(examples) >= 2
    assert any(example[2] in shipped_scenarios() for example in examples)


def test_every_scenario_that_comes_along_says_what_it_is_about() -> None:
    assert shipped_scenarios()
    for file in shipped_scenarios().values():
        assert load_scenario(file).description.strip()


# A disk that is full.


@pytest.mark.parametrize("most_bytes", [4_096, 16_384])
def test_a_folder_that_cannot_be_written_is_one_line_and_nothing_looks_complete(
    most_bytes: int, tmp_path: Path
) -> None:
    """No file may be larger: the manifest is too large, or, later, the trace."""
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most_bytes},) * 2)\n"
        "from tidegauge.command_line import main; main()"
    )
    out = tmp_path / "run"
    command = [sys.executable, "-c", program, "run", "cut-and-pause", "--out", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2, result.stderr
    assert result.stderr == f"tidegauge: {out}: cannot be written to: File too large\n"
    assert not (out / SUMMARY).exists()
