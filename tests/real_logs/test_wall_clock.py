"""Views of a run from logs by the wall clock: "it says 23:52:56 in our alert; what was then?"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner
from typer.testing import Result as Invoked

from night_story import unfolded
from real_clusters import recorded
from tidegauge import Result
from tidegauge.command_line import app
from tidegauge.simulation.wall_clock import WallClock, parse_moment, wall_clock_text
from unpacked_recording import UnpackedRecording

#: The first line of these logs is of 2026-11-22 23:52:36,382.
_CLUSTER = "zk-2.6.3-rand312"
_BOTH = re.compile(r"(\d+\.\d{3}s) \((\d\d:\d\d:\d\d\.\d{3})\)")


def _tidegauge(*words: object) -> Invoked:
    return CliRunner().invoke(app, [*map(str, words)])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wall-clock")
    assert _tidegauge("read-logs", recorded(_CLUSTER, folder), "-o", folder / "run").exit_code == 0
    return folder / "run"


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("show partition RUN t-0", "20.466s (23:52:56.848)"),
        ("show broker RUN 1", "25.897s (23:53:02.279)"),
        ("show broker RUN 1 --at 23:53:06.382", "Broker 1 at 30.000s (23:53:06.382)"),
        ("show controller RUN", "23.255s (23:52:59.637)"),
        ("picture RUN", "15.462s        30.925s"),
        ("picture RUN", "23:52:51.844   23:53:07.307"),
        ("picture RUN --partition t-0", "23:52:51.844   23:53:07.307"),
    ],
)
def test_views_print_both_clocks(run: Path, words: str, printed: str) -> None:
    shown = _tidegauge(*(run if word == "RUN" else word for word in words.split()))
    assert shown.exit_code == 0, shown.output
    assert printed in shown.stdout


def test_tables_of_queries_have_both_clocks_and_files_the_numbers(run: Path) -> None:
    query = ("sql", run, "select time_us from isr_changes order by all limit 1")
    assert "(23:52:56.806)" in _tidegauge(*query).stdout
    assert re.fullmatch(r"time_us\n20424\d\d\d\n", _tidegauge(*query, "--csv").stdout)


def test_the_report_has_both_clocks(run: Path) -> None:
    assert _tidegauge("report", run).exit_code == 0
    text = (run / "report.html").read_text(encoding="utf-8")
    assert "from 2026-11-22 23:52:36,382 on" in text
    # Each of its tables and sentences.
    assert len(re.findall(r"\d+\.\d{3}s \(23:5\d:\d\d\.\d{3}\)", text)) > 20
    assert not re.findall(r"<td[^>]*>\d+\.\d{3}s<", text)


@pytest.mark.parametrize("subject", ["partition RUN t-0", "broker RUN 1", "controller RUN"])
def test_a_time_that_is_printed_can_be_typed_back_by_either_clock(run: Path, subject: str) -> None:
    story = ("show", *(run if word == "RUN" else word for word in subject.split()))
    found = _BOTH.findall(_tidegauge(*story, "--all").stdout)
    assert len(found) > 5
    seconds, clock = found[-2]
    parts = [_tidegauge(*story, "--all", "--from", each, "--to", each) for each in (seconds, clock)]
    assert parts[0].exit_code == 0, parts[0].output
    assert parts[0].stdout == parts[1].stdout
    assert f"{seconds} ({clock})" in unfolded(parts[0].stdout)


def test_describe_takes_the_moment_of_an_alert(run: Path) -> None:
    """... with the date, or without it, and in the zone of those who were woken."""
    described = [
        _tidegauge("describe", run, "--at", at).stdout
        for at in (
            "30s",
            "23:53:06.382",
            "2026-11-22T23:53:06.382",
            "2026-11-23 00:53:06,382+01:00",
        )
    ]
    assert described == [described[0]] * 4
    assert "Partition: 0\tLeader: 2\tReplicas: 2,1,3\tIsr: 2\n" in described[0]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--at", "23:50"), "--at 23:50: the run begins at 0.000s (23:52:36.382)"),
        (("--at", "2026-11-23"), "--at 2026-11-23: the run ends at 61.850s (23:53:38.232)"),
        (("--at", "23:61"), "--at: must be a wall-clock time, such as 2026-11-22T23:56:48"),
    ],
)
def test_a_moment_that_the_run_does_not_have_is_refused(
    run: Path, words: tuple[str, str], complaint: str
) -> None:
    refused = _tidegauge("describe", run, *words)
    assert refused.exit_code == 2
    assert complaint in refused.stderr


def test_a_part_may_begin_before_the_run_and_not_end_there(run: Path) -> None:
    refused = _tidegauge("show", "broker", run, "1", "--to", "23:50")
    assert "--to 23:50: is before the run begins" in refused.stderr
    whole = _tidegauge("show", "broker", run, "1").stdout
    assert _tidegauge("show", "broker", run, "1", "--from", "23:50").stdout == whole


def test_python_takes_the_wall_clock_as_options_do(run: Path) -> None:
    result = Result(run)
    assert repr(result).startswith("<Result ")
    assert result.time_us("23:52:56.848") == result.time_us("20.466s") == 20_466_000
    at = {"begin": "2026-11-22T23:52:56.848Z", "end": "23:52:56.848"}
    events = [str(event) for event in result.events(**at)]
    assert events
    assert events == [str(event) for event in result.events(begin="20.466s", end="20.466s")]
    picture = result.picture("t-0", begin="23:52:50", end="23:53:00")
    assert picture == result.picture("t-0", begin="13.618s", end="23.618s")
    assert "(23:52:50.000)" in picture or "23:52:50.000" in picture
    with pytest.raises(ValueError, match=r"^end 23:50: is before the run begins"):
        result.events(end="23:50")


def test_the_clock_of_a_run_ends_with_its_command(run: Path) -> None:
    assert "(23:5" in _tidegauge("show", "controller", run).stdout
    times = _tidegauge("validate", "lag-and-session", "--verbose").stdout
    assert times
    assert not re.search(r"\ds \(\d\d:", times)


def test_the_replay_has_the_time_of_its_begin(run: Path) -> None:
    assert _tidegauge("replay-view", run).exit_code == 0
    recording = re.search(
        r'class="recording">([^<]+)<', (run / "replay.html").read_text(encoding="utf-8")
    )
    assert recording is not None
    header = UnpackedRecording(recording[1]).header
    assert wall_clock_text(header["firstMs"]) == "2026-11-22T23:52:36.382"


@pytest.mark.parametrize(
    ("begin", "end", "text", "meant"),
    [
        ("2026-11-22T23:50", "2026-11-23T00:10", "23:55", "2026-11-22T23:55"),
        ("2026-11-22T23:50", "2026-11-23T00:10", "00:05", "2026-11-23T00:05"),
        # Beside the run, the nearer one.
        ("2026-11-22T23:50", "2026-11-23T00:10", "23:40", "2026-11-22T23:40"),
        ("2026-11-22T23:50", "2026-11-23T00:10", "00:20", "2026-11-23T00:20"),
        ("2026-11-22T10:00", "2026-11-22T11:00", "11:30", "2026-11-22T11:30"),
        # Before midnight in UTC.
        ("2026-11-22T22:00", "2026-11-22T23:50", "00:30+01:00", "2026-11-22T23:30"),
    ],
)
def test_a_time_of_day_is_that_of_the_day_that_can_be_meant(
    begin: str, end: str, text: str, meant: str
) -> None:
    first_ms, last_ms, meant_ms = (parse_moment(each).time_ms for each in (begin, end, meant))
    assert WallClock(first_ms, last_ms).time_ms(parse_moment(text)) == meant_ms


def test_a_time_of_day_of_two_days_is_ambiguous() -> None:
    clock = WallClock(parse_moment("2026-11-22").time_ms, parse_moment("2026-11-24").time_ms)
    with pytest.raises(ValueError, match="is a time of several days: add the date, as in 2026-11"):
        clock.time_ms(parse_moment("10:00"))
