"""A run that is told to people, and one that is checked: ``tidegauge show`` and ``verify``."""

from __future__ import annotations

import json
from pathlib import Path
from string import Formatter

import pytest
from typer.testing import CliRunner, Result

from night_story import line_with, unfolded
from tidegauge.command_line import app
from tidegauge.runs.trace_events import Names, event_of
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.run_files import MANIFEST, SUMMARY, TRACE
from tidegauge.traces.run_folder import TraceRow
from tidegauge.traces.trace_file import TraceWriter
from written_rows import MANIFEST_OF_TESTS, S, WrittenRows, rows_of

# Processes of MANIFEST_OF_TESTS.
BROKER_1, BROKER_2, BROKER_3, CONTROLLER, ZOOKEEPER, CLIENT = range(6)
# Replica lists: slots + 1, the first one lowest.
SLOT_0, SLOT_0_1, ALL_SLOTS = 0x1, 0x21, 0x321


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def a_cut() -> WrittenRows:
    """Broker 3 is cut off from broker 1, which leads orders-0 and shrinks its ISR; it dies."""
    rows = WrittenRows()
    rows.write("controller_elected", 1 * S, CONTROLLER, broker=0, controller_epoch=1)
    rows.write(
        "became_leader", 2 * S, BROKER_1, partition=0, leader_epoch=4, version=7, isr=ALL_SLOTS,
        is_new_leader=1, log_end_offset=50, high_watermark=50,
    )  # fmt: skip
    rows.write("became_leader", 2 * S, BROKER_2, partition=1, isr=ALL_SLOTS, is_new_leader=1)
    rows.write("became_follower", 2 * S, BROKER_3, partition=0, leader=0, leader_epoch=4)
    rows.held(2 * S, 0, leader=0, leader_epoch=4, isr=ALL_SLOTS)
    rows.held(2 * S, 1, leader=1, isr=ALL_SLOTS)
    cut = rows.write("fault_began", 10 * S, BROKER_1, fault=0, fault_kind=3)
    rows.write("sampled", 11 * S, BROKER_1, partition=0, leads=1, log_end_offset=60)
    rows.write("fault_began", 10 * S, BROKER_3, fault=0, fault_kind=3)
    rows.write(
        "isr_shrunk", 40_123_456, BROKER_1, because=cut, partition=0, isr=SLOT_0_1,
        old_isr=ALL_SLOTS, leader_epoch=4, version=8, log_end_offset=80, lag_ms=30_100,
    )  # fmt: skip
    rows.held(40_123_456, 0, leader=0, leader_epoch=4, isr=SLOT_0_1)
    # Each counts its own notifications; ZooKeeper numbers those of all.
    for broker, partition_count in ((BROKER_1, 1), (BROKER_2, 99)):
        rows.write("notification_sent", 45 * S, broker, partition_count=partition_count)
    for broker, sequence_number in ((BROKER_1, 1), (BROKER_2, 2)):
        rows.write(
            "znode_created", 45 * S, ZOOKEEPER, znode=50 + sequence_number, writer=broker,
            sequence_number=sequence_number,
        )  # fmt: skip
    rows.write("notification_read", 46 * S, CONTROLLER, notification=1, partition_count=1)
    rows.write("notification_read", 46 * S, CONTROLLER, notification=2, partition_count=99)
    rows.write(
        "request_refused", 50 * S, BROKER_1, api_key=0, partition=0, from_process=CLIENT,
        error=19, offset=-1,
    )  # fmt: skip
    expired = rows.write("session_expired", 60 * S, ZOOKEEPER, because=(BROKER_1, 4), broker=0,
                         session=3, silent_us=18 * S)  # fmt: skip
    rows.write("znode_deleted", 60 * S, ZOOKEEPER, znode=5, writer=-1)
    rows.write(
        "leader_elected", 61 * S, CONTROLLER, because=expired, partition=0, leader=2,
        old_leader=0, leader_epoch=5, isr=0x3, version=9, unclean=1,
    )  # fmt: skip
    rows.held(61 * S, 0, leader=2, leader_epoch=5, isr=0x3)
    rows.write("truncated", 62 * S, BROKER_2, partition=0, end_offset=50, old_end_offset=57)
    return rows


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    return a_cut().run(tmp_path / "cut", files=2)


def story(folder: Path, *options: str) -> str:
    result = run("show", "partition", folder, "orders-0", *options)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_every_kind_of_row_has_words_about_its_own_columns() -> None:
    for kind in ROW_KINDS.values():
        in_braces = {name for _, name, _, _ in Formatter().parse(kind.story) if name}
        assert kind.story, kind.name
        assert in_braces <= set(kind.columns), kind.name


@pytest.mark.parametrize("value", [-1, 0, 1, 99])
def test_every_kind_of_row_can_be_told_whatever_its_values(value: int) -> None:
    for kind in ROW_KINDS.values():
        row = TraceRow(kind.name, {**dict.fromkeys(kind.columns, value), "partition": 0, "isr": 1})
        row.columns.update(dict.fromkeys(("old_isr", "replicas", "adding", "removing"), SLOT_0_1))
        words = event_of(row, Names(MANIFEST_OF_TESTS)).words
        assert words, kind.name
        assert "{" not in words, kind.name


def test_a_row_of_a_kind_that_is_not_known_is_told_by_its_columns() -> None:
    row = TraceRow("elr_shrunk", {"partition": 0})
    assert event_of(row, Names(MANIFEST_OF_TESTS)).words == "elr_shrunk {'partition': 0}"


def test_the_last_state_is_described_as_kafka_topics_does(cut: Path) -> None:
    first = story(cut).splitlines()[0]
    assert first == "Topic: orders  Partition: 0  Leader: 3  Replicas: 1,2,3  Isr: 3"


def test_the_state_is_that_of_the_end_of_the_time_that_is_shown(cut: Path) -> None:
    before = story(cut, "--to", "30s").splitlines()
    assert before[0].endswith("Leader: 1  Replicas: 1,2,3  Isr: 1,2,3")
    assert before[1] == "(At 30.000s, in leader epoch 4)"
    assert (
        story(cut, "--to", "41s").splitlines()[0].endswith("Leader: 1  Replicas: 1,2,3  Isr: 1,2")
    )


def test_a_leader_that_has_lost_its_office_does_not_change_the_state(tmp_path: Path) -> None:
    rows = a_cut()
    rows.write(
        "isr_shrunk", 70 * S, BROKER_1, partition=0, isr=SLOT_0, leader_epoch=4, version=8
    )  # fmt: skip
    assert "Leader: 3" in story(rows.run(tmp_path / "run")).splitlines()[0]


def test_a_row_is_a_line_with_time_process_and_words(cut: Path) -> None:
    words = line_with("shrinks", story(cut)).split()
    assert words[:3] == ["40.123s", "broker", "1"]
    assert " ".join(words[3:]) == (
        "shrinks the ISR from [1,2,3] to [1,2]: not caught up for 30100 ms, log end offset 80"
    )


def test_a_follower_that_was_never_caught_up_has_no_lag_of_years(tmp_path: Path) -> None:
    """Partition.Replica: lastCaughtUpTimeMs is 0 until a fetch reaches the leader's log end."""
    rows = a_cut()
    lag_ms = 1_000_000_070_000
    rows.write("isr_shrunk", 70 * S, BROKER_3, partition=0, isr=SLOT_0, lag_ms=lag_ms, version=8)
    line = line_with("shrinks", story(rows.run(tmp_path / "run"), "--from", "65s"))
    assert "not caught up for as long as it follows, log end offset" in line


def test_replicas_are_told_by_the_partitions_own_slots(tmp_path: Path) -> None:
    rows = WrittenRows()
    rows.write("became_leader", 1 * S, BROKER_2, partition=1, isr=SLOT_0_1)
    rows.held(1 * S, 1, leader=BROKER_2, isr=SLOT_0_1)
    folder = rows.run(tmp_path / "run")
    output = run("show", "partition", folder, "orders-1").output
    assert "ISR [2,3]" in output
    assert "Replicas: 2,3,1  Isr: 2,3" in output


def test_a_reason_that_the_trace_does_not_have_is_told_as_that(tmp_path: Path) -> None:
    rows = WrittenRows()
    rows.write("isr_shrunk", 1 * S, BROKER_1, because=(BROKER_2, 5), partition=0)
    rows.write("isr_shrunk", 2 * S, BROKER_1, because=(BROKER_3, -1), partition=0)
    output = story(rows.run(tmp_path / "run"))
    assert "because: row 5 of broker 2, which the trace does not have" in output
    assert "because: no message of broker 3 had arrived" in output


def test_only_notifications_of_the_leader_are_part_of_the_story(cut: Path) -> None:
    output = story(cut)
    assert "writes an isr_change_notification about 1 partition" in output
    assert "reads isr_change_notification 1 about 1 partition" in output
    assert "99 partition" not in output


def test_rows_of_another_partition_are_not(cut: Path) -> None:
    assert output_lines(story(cut), "becomes leader") == 1


def output_lines(output: str, text: str) -> int:
    return sum(text in line for line in output.splitlines())


def test_samples_and_single_requests_are_shown_if_asked_for(cut: Path) -> None:
    assert "log end offset 60" not in story(cut)
    assert "leader: log end offset 60" in story(cut, "--all")


def test_only_the_time_that_is_asked_for_is_shown(cut: Path) -> None:
    output = story(cut, "--from", "40s", "--to", "45s")
    assert "shrinks" in output
    assert "writes an isr_change_notification" in output  # it led before, too
    assert "begins" not in output
    assert "reads" not in output


def test_a_time_without_rows_is_told_as_that(cut: Path) -> None:
    assert "No events" in story(cut, "--from", "100s")


def test_partitions_that_are_worth_a_look_come_first(cut: Path) -> None:
    lines = unfolded(run("show", "partitions", cut).output).splitlines()
    assert lines[0] == "2 partitions, 1 of them worth a look; no acknowledged record is lost"
    name, lost, isr_changes, terms, reasons = lines[3].split(maxsplit=4)
    assert (name, lost, isr_changes, terms) == ("orders-0", "0", "2", "1")
    assert reasons.startswith("1 of 3 in sync at the end, not accepting for ")
    assert reasons.endswith("unclean elections: 1, records truncated: 7")
    assert lines[4].split() == ["orders-1", "0", "0", "1"]
    assert lines[-1].endswith(f"tidegauge show partition {cut} orders-0")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("order-0",), "nearest: orders-0, orders-1"),
        (("xyz",), "there are: orders-0, orders-1"),
        (("orders-0", "--from", "soon"), "--from: must be a duration"),
        (("orders-0", "--from", "9s", "--to", "8s"), "--to 8s"),
    ],
)
def test_what_cannot_be_shown_is_one_line_that_names_it(
    cut: Path, options: tuple[str, ...], complaint: str
) -> None:
    result = run("show", "partition", cut, *options)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["show partitions", "verify"])
def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path, command: str) -> None:
    result = run(*command.split(), tmp_path)
    assert result.exit_code == 2
    assert result.stderr == (
        f"tidegauge: {tmp_path}: not the folder of a run: it has no manifest.json\n"
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": "other"}, "not the manifest of a run"),
        ({"schema_version": 99, "tidegauge": "7.8.9"}, "use Tidegauge 7.8.9"),
        ({"schema_version": 3, "tidegauge": "0.0.9"}, "use Tidegauge 0.0.9, which wrote it"),
        ({"faults": None}, "has no list of faults"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_one_line(
    cut: Path, change: dict[str, object], complaint: str
) -> None:
    (cut / MANIFEST).write_text(json.dumps({**MANIFEST_OF_TESTS, **change}))
    result = run("show", "partitions", cut)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_unfinished_run_with_a_torn_file_is_shown_with_notes(tmp_path: Path) -> None:
    folder = a_cut().run(tmp_path / "run", summary=False)
    tear(folder / TRACE / "group-0.msgpack")
    result = run("show", "partition", folder, "orders-0")
    assert result.exit_code == 0
    assert "note: the run is unfinished: it is shown up to " in result.stderr
    assert "group-0.msgpack ends within a frame" in result.stderr
    assert "shrinks" in result.stdout


def tear(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


def not_ok(folder: Path) -> str:
    result = run("verify", folder)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("not ok: ")
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


@pytest.mark.parametrize("files", [1, 2, 6])
def test_a_run_is_verified_however_many_files_it_wrote(tmp_path: Path, files: int) -> None:
    folder = a_cut().run(tmp_path / "run", files=files)
    sha256 = json.loads((folder / SUMMARY).read_text())["trace_sha256"]
    result = run("verify", folder)
    assert result.exit_code == 0, result.stderr
    assert result.output == f"ok: 22 canonical rows of 6 processes, trace_sha256 {sha256}\n"


def test_an_unfinished_run_is_not_ok(tmp_path: Path) -> None:
    folder = a_cut().run(tmp_path / "run", summary=False)
    assert "unfinished, it has no summary; its trace has 22 canonical rows" in not_ok(folder)


def test_a_torn_file_is_not_ok(cut: Path) -> None:
    tear(cut / TRACE / "group-1.msgpack")
    assert "group-1.msgpack ends within a frame" in not_ok(cut)


def test_a_flipped_byte_is_not_ok(cut: Path) -> None:
    file = cut / TRACE / "group-0.msgpack"
    content = bytearray(file.read_bytes())
    content[-9] ^= 1
    file.write_bytes(content)
    assert "group-0.msgpack: frame" in not_ok(cut)


def rewrite(folder: Path, rows: list[RowSlot]) -> None:
    """Let the trace have these rows instead, in one file."""
    for file in (folder / TRACE).iterdir():
        file.unlink()
    with TraceWriter(folder / TRACE / "a.msgpack") as writer:
        writer.write(rows_of(rows))


def test_a_missing_row_is_named_with_its_process(cut: Path) -> None:
    rewrite(cut, [row for row in a_cut().rows if (row.process, row.sequence) != (BROKER_1, 1)])
    assert "process 0: canonical row 1 is missing" in not_ok(cut)


def test_missing_rows_at_the_end_are_told_by_their_count(cut: Path) -> None:
    rewrite(cut, [row for row in a_cut().rows if (row.process, row.sequence) != (BROKER_1, 4)])
    assert "broker 1 (process 0) has 4 canonical rows in the trace, 5 in the summary" in not_ok(cut)


def test_a_process_that_is_missing_is_told_too(cut: Path) -> None:
    rewrite(cut, [row for row in a_cut().rows if row.process != ZOOKEEPER])
    assert "zookeeper (process 4) has 0 canonical rows in the trace, 8" in not_ok(cut)


def test_of_changed_rows_the_first_process_is_named(cut: Path) -> None:
    rows = a_cut().rows
    for row in rows:
        row.values[0] += row.process in {BROKER_2, ZOOKEEPER}
    rewrite(cut, rows)
    message = not_ok(cut)
    assert "broker 2 (process 1) has 3 canonical rows, as in the summary, but" in message


def test_a_trace_sha256_that_does_not_fit_its_processes_is_not_ok(cut: Path) -> None:
    summary = json.loads((cut / SUMMARY).read_text())
    (cut / SUMMARY).write_text(json.dumps({**summary, "trace_sha256": "0" * 64}))
    assert f"the summary's trace_sha256 is {'0' * 64}" in not_ok(cut)


def test_a_summary_without_hashes_is_not_ok(cut: Path) -> None:
    (cut / SUMMARY).write_text("{}")
    assert "the summary has no hashes to compare" in not_ok(cut)


def test_verify_tells_a_program_what_it_found(cut: Path) -> None:
    good = run("verify", cut, "--json")
    found = json.loads(good.stdout)
    summary = json.loads((cut / SUMMARY).read_text())
    assert good.exit_code == 0
    assert found["is_ok"] is True
    assert found["trace_sha256"] == summary["trace_sha256"]
    hashes = summary["process_hashes"]
    assert found["canonical_rows"] == sum(each["canonical_rows"] for each in hashes)

    (cut / SUMMARY).unlink()
    bad = run("verify", cut, "--json")
    assert bad.exit_code == 1
    assert "it has no summary" in json.loads(bad.stdout)["error"]
    assert bad.stderr.startswith("not ok: ")
