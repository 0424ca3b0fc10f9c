"""``tidegauge run --metrics`` and ``--openmetrics``: a run that a Prometheus can see."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner, Result

from prometheus_server import needs_promtool
from tidegauge.command_line import app
from tidegauge.traces.run_folder import RunFolder

SCENARIO = """\
name: tiny
duration: 30s
release: "2.6"
cluster: {brokers: 2, settings: {zookeeper.session.timeout.ms: 4000}}
topics: [{name: orders, partitions: 2, replication_factor: 2}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 5}]
faults: [{kind: crash, at: 9s, for: 12s, brokers: [2]}]
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(SCENARIO)
    return file


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def sha256_of(folder: Path) -> str:
    summary = RunFolder(folder).summary
    assert summary is not None
    return str(summary["trace_sha256"])


@contextmanager
def live_run(
    scenario: Path, out: Path, *options: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A run in a process of its own, and where its metrics are; it is ended whatever happens."""
    command = [sys.executable, "-m", "tidegauge", "run", str(scenario), "--inline"]
    command += ["--out", str(out), "--metrics", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = next(line for line in process.stdout if line.startswith("Metrics: "))
            yield line.split()[1].removesuffix("/metrics,"), process
        finally:
            process.kill()


def page_of(url: str) -> tuple[int, str]:
    """Status and text of a page."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - http on loopback
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait_for_broker_2(url: str, status: int) -> str:
    """Ask for the page of broker 2 until it answers with this status; its text."""
    for _ in range(600):
        answered, text = page_of(f"{url}/b/2/metrics")
        if answered == status:
            return text
        time.sleep(0.05)
    pytest.fail(f"broker 2 never answers {status}")


def test_a_crashed_broker_s_target_answers_503_until_it_is_back(tiny: Path, tmp_path: Path) -> None:
    """A dead broker must disappear, not report zeros: `Brokers Online` counts its series."""
    with live_run(tiny, tmp_path / "live", "--speed", "8") as (url, process):
        assert "kafka_server_replicamanager_leadercount" in wait_for_broker_2(url, 200)
        assert "broker 2 is down" in wait_for_broker_2(url, 503)
        assert page_of(f"{url}/b/1/metrics")[0] == 200
        # Back again: its process counts from 0, and it fetches what it has missed.
        assert "\ntidegauge_broker_starts 2\n" in wait_for_broker_2(url, 200)
        assert process.wait(timeout=60) == 0
    with pytest.raises(urllib.error.URLError):
        page_of(f"{url}/b/1/metrics")


def test_the_discovery_names_a_target_for_each_broker(tiny: Path, tmp_path: Path) -> None:
    """http_sd: Prometheus learns paths and labels here, so `up` is a broker's own."""
    with live_run(tiny, tmp_path / "live", "--speed", "8") as (url, _):
        targets = json.loads(page_of(f"{url}/sd")[1])
    paths = [target["labels"]["__metrics_path__"] for target in targets]
    assert paths[:2] == ["/b/1/metrics", "/b/2/metrics"]
    assert set(paths[2:]) == {"/exporter/metrics", "/controller/metrics", "/simulation/metrics"}
    assert {target["labels"]["kafka_cluster"] for target in targets} == {"tiny"}
    pods = [target["labels"].get("kubernetes_pod_name") for target in targets]
    assert pods[:2] == ["tiny-kafka-1", "tiny-kafka-2"]


def test_whoever_scrapes_does_not_change_the_run(tiny: Path, tmp_path: Path) -> None:
    """The contract: the same hash, metrics scraped or not. A change of the run would show."""
    assert run(tiny, "--inline", "--out", tmp_path / "alone").exit_code == 0
    with live_run(tiny, tmp_path / "live", "--speed", "30") as (url, process):
        scrapes = 0
        while process.poll() is None:
            try:
                scrapes += page_of(f"{url}/metrics")[0] == 200
            except OSError:
                break
        process.wait(timeout=60)
    assert scrapes >= 5
    assert sha256_of(tmp_path / "live") == sha256_of(tmp_path / "alone")
    again = run(tiny, "--inline", "--out", tmp_path / "again", "--openmetrics", tmp_path / "om")
    assert again.exit_code == 0
    assert sha256_of(tmp_path / "again") == sha256_of(tmp_path / "alone")
    other = run(tiny, "--inline", "--out", tmp_path / "other", "--seed", "2")
    assert other.exit_code == 0
    assert sha256_of(tmp_path / "other") != sha256_of(tmp_path / "alone")


def test_a_port_in_use_is_said_before_the_run_begins(tiny: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run(tiny, "--inline", "--out", tmp_path / "run", "--metrics", address)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert f"--metrics {address}: " in result.stderr
    assert "the port is in use" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--metrics", "here"), "--metrics here: must be HOST:PORT or PORT"),
        (("--metrics", "127.0.0.1:70000"), "--metrics 127.0.0.1:70000: must be HOST:PORT"),
        (("--metrics", "no.such.host.invalid:0"), "there is no host 'no.such.host.invalid'"),
        (("--metrics", "0", "--metrics-level", "some"), "must be one of full, topic, sparse, off"),
        (("--speed", "quick"), "--speed quick: must be a number, or max"),
        (("--speed", "inf"), "--speed inf: must be a number, or max"),
        (("--speed", "-1"), "--speed -1: must be more than 0"),
        (("--metrics-level", "off"), "--metrics-level needs --metrics or --openmetrics"),
        (("--metrics-spelling", "confluent"), "--metrics-spelling needs --metrics or"),
        (("--metrics", "0", "--metrics-spelling", "mine"), "mine: must be one of strimzi, "),
        (("--metrics", "0", "--metrics-spelling", "no.yaml"), "no.yaml: cannot be read: No such"),
        (("--metrics", "0", "--metrics-controllers", "all"), "all: must be active or faithful"),
        (("--openmetrics-start", "2026-01-01"), "--openmetrics-start needs --openmetrics"),
        (("--openmetrics", "/"), "--openmetrics /: cannot be written to: Is a directory"),
        (("--openmetrics", "/nowhere/x.om"), "--openmetrics /nowhere/x.om: cannot be written to"),
        (("--openmetrics", "x.om", "--openmetrics-start", "noon"), "must be a time such as"),
        (("--metrics", "0", "--seeds", "1..2"), "--seeds and --metrics exclude each other"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(
    tiny: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    result = run(tiny, "--inline", "--out", tmp_path / "run", *options)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert said in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_is_announced_once_its_options_are_known_to_be_right(
    tiny: Path, tmp_path: Path
) -> None:
    words = ("--inline", "--out", tmp_path / "run", "--metrics", "0", "--metrics-spelling", "mine")
    assert "virtual time" not in run(tiny, *words).stdout


def test_the_file_of_a_run_has_its_series_in_virtual_time(tiny: Path, tmp_path: Path) -> None:
    """OpenMetrics for backfilling: all samples of a series together, a dead broker has none."""
    file = tmp_path / "tiny.om"
    options = ("--openmetrics", file, "--openmetrics-start", "2026-01-01T00:00:00Z")
    assert run(tiny, "--inline", "--out", tmp_path / "run", *options).exit_code == 0
    samples: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    families = text_string_to_metric_families(file.read_text())  # type: ignore[no-untyped-call]
    for sample in (sample for family in families for sample in family.samples):
        seconds = float(sample.timestamp) - 1_767_225_600
        samples[sample.name, sample.labels["instance"]].append((seconds, sample.value))
    up = samples["up", "tiny-kafka-2"]
    assert up == [(5, 1), (10, 0), (15, 0), (20, 0), (25, 1), (30, 1)]
    leaders = samples["kafka_server_replicamanager_leadercount", "tiny-kafka-2"]
    assert [seconds for seconds, _ in leaders] == [5, 25, 30]
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_run_that_does_not_begin_leaves_the_file_of_another_alone(
    tiny: Path, tmp_path: Path
) -> None:
    file = tmp_path / "kept.om"
    file.write_text("of yesterday")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "run").touch()
    assert run(tiny, "--inline", "--out", taken, "--openmetrics", file).exit_code == 2
    short = run(
        *(tiny, "--inline", "--out", tmp_path / "short", "--openmetrics", file),
        *("--set", "duration=4s", "--set", "faults=[]"),
    )
    assert short.exit_code == 0
    assert "is not written: the run ended before the first scrape" in short.stderr
    assert file.read_text() == "of yesterday"
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_disk_that_is_full_is_said_in_one_line(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "full.om.unfinished").symlink_to("/dev/full")
    file = tmp_path / "full.om"
    result = run(tiny, "--inline", "--out", tmp_path / "run", "--openmetrics", file)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"tidegauge: --openmetrics {file}: cannot be written to: No space left on device"
    ]
    assert not file.exists()


@needs_promtool
def test_promtool_takes_the_file_of_a_run_over(tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "tiny.om"
    assert run(tiny, "--inline", "--out", tmp_path / "run", "--openmetrics", file).exit_code == 0
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(file)]
    made = subprocess.run(
        [*command, str(tmp_path / "data")], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert len(list((tmp_path / "data").glob("*/index"))) >= 1
