"""``tidegauge fuzz`` and ``tidegauge ablations``: known breaks are found, and made small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.runs.run import Run
from tidegauge.search.campaign import Campaign, Unit, run_unit
from tidegauge.search.profiles import FuzzedKind


def tidegauge(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


@pytest.fixture(scope="module")
def kip_101(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The search in a release that truncates to the high watermark, with two brokers."""
    out = tmp_path_factory.mktemp("fuzz") / "found"
    return tidegauge(
        *("fuzz", "--release", "0.10.2", "--brokers", 2, "--runs", 400, "--jobs", 1),
        *("--out", out, "--json"),
    )


def test_kip_101_is_found_and_shrunk_to_a_few_faults(kip_101: Result) -> None:
    assert kip_101.exit_code == 1, kip_101.stderr
    content = json.loads(kip_101.stdout)
    assert content["schedules"] == 400
    assert content["found"]["strong_isr"] > 0
    (finding,) = [each for each in content["findings"] if each["failure"] == "strong_isr"]
    assert finding["after"]["faults"] <= 6
    assert finding["after"]["brokers"] == 2
    # The run beside the scenario shows it.
    verdicts = (Run(Path(finding["run"])).summary or {})["checks"]
    assert verdicts["strong_isr"]["broken"] == 1
    head = Path(finding["file"]).read_text(encoding="utf-8").splitlines()[0]
    assert head.startswith("# strong_isr is broken")


def test_the_finished_protocol_yields_nothing(tmp_path: Path) -> None:
    """KIP-320; losses of power lose records, as is permitted."""
    found = tidegauge(
        *("fuzz", "--release", "2.6", "--runs", 1_000, "--jobs", 1, "--out", tmp_path / "none")
    )
    assert found.exit_code == 0, found.stdout
    assert "Found: nothing that is not permitted" in found.stdout
    assert "Permitted: " in found.stdout
    assert "loss of power before a flush" in found.stdout
    assert (tmp_path / "none" / "permitted-loss-of-power-before-a-flush.yaml").exists()


def test_a_rule_that_is_needed_is_found_to_be(tmp_path: Path) -> None:
    """A log that is never cut diverges; a fetch that keeps a follower in the ISR is harmless."""
    found = tidegauge(
        *("ablations", "no_truncation", "unfenced_shrink", "--minutes", 0.05, "--no-shrink"),
        *("--jobs", 1, "--out", tmp_path / "matrix", "--json"),
    )
    assert found.exit_code == 0, found.stderr
    cut, shrink = json.loads(found.stdout)["rules"]
    assert "strong_isr" in cut["broken"]
    assert shrink["broken"] == {}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--brokers", "6"], "--brokers 6: must be 2 to 5"),
        (["--brokers", "4..2"], "--brokers 4..2: must be 2 to 5"),
        (["--release", "9"], "--release 9"),
        (["--release", "4.4", "--mode", "zookeeper"], "--mode zookeeper: 4.4 has kraft"),
        (["--without", "unfenced_fetches"], "--without unfenced_fetches: no such rule; did you"),
    ],
)
def test_bad_input_is_one_line(words: list[str], complaint: str, tmp_path: Path) -> None:
    found = tidegauge("fuzz", *words, "--out", tmp_path / "out")
    assert found.exit_code == 2
    assert complaint in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_search_is_kept(tmp_path: Path) -> None:
    (tmp_path / "note").touch()
    found = tidegauge("fuzz", "--out", tmp_path)
    assert found.exit_code == 2
    assert f"--out {tmp_path}: is not a new or empty folder" in found.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    [
        FuzzedKind("zookeeper", "2.6"),
        FuzzedKind("zookeeper", "3.9"),
        FuzzedKind("kraft", "4.4"),
    ],
    ids=lambda kind: kind.release,
)
def test_a_hundred_thousand_schedules_of_the_finished_protocol(kind: FuzzedKind) -> None:
    campaign = Campaign()
    for number in range(10):
        campaign.add(run_unit(Unit(kind, 99, number, 10_000, is_guided=number % 2 == 0)), kind.mode)
    assert campaign.found == {}
    assert campaign.overflows == 0
    assert campaign.counted > 20_000
    assert min(campaign.faults_drawn.values()) > 0
    assert campaign.rows_written["truncated"] > 0
    assert campaign.rows_written["isr_expanded"] > 0


@pytest.mark.long
@pytest.mark.parametrize(("release", "brokers"), [("0.10.2", 2), ("1.1", 2), ("2.0", 3)])
def test_each_generation_breaks_in_a_minute(release: str, brokers: int) -> None:
    """Truncation to the high watermark, KIP-101 and KIP-279 lack what the next one brings."""
    kind = FuzzedKind("zookeeper", release, brokers)
    campaign = Campaign()
    for number in range(40):
        campaign.add(run_unit(Unit(kind, 1, number, 10_000, is_guided=True)), kind.mode)
        if "strong_isr" in campaign.found:
            return
    raise AssertionError(campaign.found)
