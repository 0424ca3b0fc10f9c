"""Logs as people have them: other dates, exports of collectors, cut and pretty-printed records.

Each tells the same history as Kafka's own layout, or is refused by a line that names the file and
its first line.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from importing import in_one_line
from rewritten_logs import (
    ENTRIES,
    KRAFT,
    NOTICES,
    ZOOKEEPER,
    Entry,
    Written,
    each_line,
    history_of,
    in_files,
    merged,
    own_history,
)
from tidegauge.command_line import app
from tidegauge.real_cluster.logs import log_reading, log_stream
from tidegauge.real_cluster.logs.log_files import found_logs


def _iso(entry: Entry) -> str:
    return f"{entry.moment:%Y-%m-%dT%H:%M:%S}.{entry.time[-3:]}Z"


def _epoch_ms(entry: Entry) -> int:
    return round(entry.moment.timestamp() * 1000)


def _dated(form: str) -> Written:
    """Each entry with its time in another form; ``~`` are the milliseconds."""
    return lambda e: (
        f"[{e.moment.strftime(form).replace('~', e.time[-3:])}] {e.level} {e.message} ({e.logger})"
    )


def _row(*cells: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def _cut(entry: Entry) -> str:
    """The lines of a container runtime that cuts them at 60 bytes."""
    parts = []
    for line in entry.own.splitlines():
        cuts = [line[at : at + 60] for at in range(0, len(line), 60)] or [""]
        parts += [f"{_iso(entry)} stdout P {part}" for part in cuts[:-1]]
        parts.append(f"{_iso(entry)} stdout F {cuts[-1]}")
    return "\n".join(parts)


def _journal(entry: Entry, line: str) -> str:
    return (
        f"__CURSOR=s=1;i={_epoch_ms(entry)}\n__REALTIME_TIMESTAMP={_epoch_ms(entry)}000\n"
        f"_HOSTNAME=host-{entry.node}\n_SYSTEMD_UNIT=kafka.service\nMESSAGE={line}\n"
    )


def _objects(fields: Callable[[Entry, str], dict[str, Any]], indent: int | None = None) -> Written:
    return each_line(lambda entry, line: json.dumps(fields(entry, line), indent=indent))


def _logstash(e: Entry) -> dict[str, str]:
    return {"@timestamp": _iso(e), "message": e.message, "logger_name": e.logger, "level": e.level}


class _Kind(NamedTuple):
    """A way to write the lines of a log."""

    written_as: Written
    #: The first line.
    head: str = ""
    #: It has a name for each node: one file of all of them tells them apart.
    has_names: bool = False

    def text(self, entries: list[Entry]) -> str:
        return self.head + "".join(f"{self.written_as(entry)}\n" for entry in entries)


_DATES: dict[str, Written] = {
    "day/month/year": _dated("%d/%m/%Y %H:%M:%S,~"),
    "month/day/year": _dated("%m/%d/%Y %H:%M:%S.~"),
    "day.month.year": _dated("%d.%m.%Y %H:%M:%S.~"),
    "year/month/day": _dated("%Y/%m/%d %H:%M:%S.~"),
    "a colon before the milliseconds": _dated("%Y-%m-%d %H:%M:%S:~"),
    "without separators": _dated("%Y%m%dT%H%M%S.~Z"),
    "month day, year": _dated("%b %d, %Y %H:%M:%S.~"),
    "twelve hours": _dated("%b %d, %Y, %I:%M:%S.~ %p"),
    "day month year": _dated("%d %B %Y %H:%M:%S,~"),
    "Apache's": _dated("%d/%b/%Y:%H:%M:%S.~ +0000"),
    "the year last": _dated("%a %b %d %H:%M:%S.~ %Y"),
    "milliseconds since 1970": lambda e: f"{_epoch_ms(e)} {e.level} {e.message} ({e.logger})",
    "seconds since 1970": lambda e: (
        f"{e.level} {_epoch_ms(e) / 1000:.3f} [main] {e.logger} - {e.message}"
    ),
}
_GRAFANA = each_line(
    lambda e, line: _row(
        _iso(e), line, f"{_epoch_ms(e)}000000", json.dumps({"pod": f"my-{e.node}"})
    )
)
_KINDS = {
    **{name: _Kind(written_as) for name, written_as in _DATES.items()},
    "pretty-printed JSON": _Kind(lambda e: json.dumps(_logstash(e), indent=2)),
    "an array of pretty-printed JSON": _Kind(
        lambda e: "  " + json.dumps(_logstash(e), indent=2).replace("\n", "\n  ") + ",", "[\n"
    ),
    "lines that a container runtime has cut": _Kind(_cut),
    "journalctl -o export": _Kind(each_line(_journal)),
    "journalctl -o json-pretty": _Kind(
        _objects(lambda e, line: {"_HOSTNAME": f"host-{e.node}", "MESSAGE": line}, 8), "", True
    ),
    "Grafana's CSV": _Kind(_GRAFANA, '"Time","Line","tsNs","labels"\n', True),
    "Kibana's CSV": _Kind(
        lambda e: _row(
            f"{e.moment:%b %d, %Y @ %H:%M:%S.}{e.time[-3:]}", e.level, e.message, f"my-{e.node}"
        ),
        "@timestamp,log.level,message,kubernetes.pod.name\n",
        True,
    ),
    "Datadog's JSON": _Kind(
        _objects(
            lambda e, line: {
                "id": "A",
                "content": {"timestamp": _iso(e), "service": "kafka", "message": line},
            }
        )
    ),
    "Elasticsearch's hits": _Kind(
        _objects(
            lambda e, line: {
                "_index": "logs",
                "_source": {"message": line, "kubernetes": {"pod": {"name": f"my-{e.node}"}}},
            }
        ),
        "",
        True,
    ),
    "Log4j's GELF": _Kind(
        lambda e: json.dumps(
            {
                "version": "1.1",
                "short_message": e.message,
                "timestamp": _epoch_ms(e) / 1000,
                "level": 6,
                "_logger": e.logger,
            }
        )
    ),
    "syslog with byte order marks": _Kind(
        each_line(lambda e, line: f"<14>1 {_iso(e)} host-{e.node} kafka 1 - - \ufeff{line}"),
        "",
        True,
    ),
    "Windows": _Kind(lambda e: e.own.replace("\n", "\r\n") + "\r", "\ufeff"),
    "colors": _Kind(lambda e: f"\x1b[32m[{e.time}]\x1b[m {e.level} {e.message} ({e.logger})\x1b[K"),
    "tabs": _Kind(lambda e: f"[{e.time}]\t{e.level}\t{e.message}\t({e.logger})"),
    "indented": _Kind(each_line(lambda _, line: f"    {line}")),
    "a level with spaces before it": _Kind(
        lambda e: f"{e.level:>5} [{e.time}] {e.logger}: {e.message}"
    ),
}


@pytest.mark.parametrize("kind", _KINDS)
def test_the_history_is_that_of_the_plain_files(tmp_path: Path, kind: str) -> None:
    for node, entries in ENTRIES[ZOOKEEPER].items():
        file = tmp_path / node / "server.log"
        file.parent.mkdir()
        file.write_text(_KINDS[kind].text(entries), newline="")
    assert history_of(tmp_path) == own_history(ZOOKEEPER)


@pytest.mark.parametrize("kind", [name for name, kind in _KINDS.items() if kind.has_names])
def test_names_tell_the_nodes_of_one_file_apart(tmp_path: Path, kind: str) -> None:
    (tmp_path / "all.txt").write_text(_KINDS[kind].text(merged(KRAFT)))
    assert history_of(tmp_path / "all.txt") == own_history(KRAFT)


@pytest.mark.parametrize("kind", ["journalctl -o export", "Datadog's JSON"])
def test_one_name_of_all_nodes_tells_nothing_and_ids_do(tmp_path: Path, kind: str) -> None:
    """``kafka.service`` and ``kafka`` look like the name of the node that speaks first."""
    (tmp_path / "all.log").write_text(_KINDS[kind].text(merged(ZOOKEEPER)))
    *told, nodes = history_of(tmp_path)
    assert "its lines without an id are of no node" in told[NOTICES][0]
    told[NOTICES] = []
    assert (*told, nodes - {None}) == own_history(ZOOKEEPER)


@pytest.mark.parametrize(
    "kind",
    [
        *("day/month/year", "pretty-printed JSON", "lines that a container runtime has cut"),
        *("journalctl -o export", "Grafana's CSV"),
    ],
)
def test_a_file_in_parts_and_a_compressed_one_tell_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(log_reading, "_PART_BYTES", 20_000)
    monkeypatch.setattr(log_stream, "_BLOCK_BYTES", 9_000)
    for node, entries in ENTRIES[ZOOKEEPER].items():
        text = _KINDS[kind].text(entries)
        if node == "broker-2":
            (tmp_path / f"{node}.log.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (tmp_path / f"{node}.log").write_text(text)
    assert history_of(tmp_path) == own_history(ZOOKEEPER)


def test_a_message_may_have_pretty_printed_json_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reading, "_PART_BYTES", 20_000)
    monkeypatch.setattr(log_stream, "_BLOCK_BYTES", 9_000)
    for node, text in in_files(ZOOKEEPER, lambda entry: entry.own):
        first, rest = text.split("\n", 1)
        (tmp_path / f"{node}.log").write_text(f'{first}\n{{\n  "message": "a"\n}}\n{rest}')
    assert history_of(tmp_path) == own_history(ZOOKEEPER)


def test_a_table_may_have_its_newest_row_first(tmp_path: Path) -> None:
    kind = _KINDS["Kibana's CSV"]
    for node, entries in ENTRIES[ZOOKEEPER].items():
        (tmp_path / f"{node}.log").write_text(kind.text(entries[::-1]))
    assert history_of(tmp_path) == own_history(ZOOKEEPER)


_NOISE = st.lists(
    st.sampled_from(
        [
            *("===> User", "", "\tat kafka.X.run(X.scala:1)", "java.io.IOException: refused"),
            *("WARN: a line of a script", "2026-11-22 a date alone", "[0.005s][info][gc] Using G1"),
            *("{", "}", '{"no": "entry"}', "22/11/2026", "1795391077010", "a=b"),
        ]
    ),
    max_size=4,
)
#: A quote in a table goes on to the next one, and noise is a row of its own there.
_NOISY = [name for name, kind in _KINDS.items() if "CSV" not in name]


@pytest.mark.parametrize("kind", _NOISY)
@settings(max_examples=2, deadline=None, phases=[Phase.generate])
@given(noise=st.lists(_NOISE, min_size=3, max_size=3), place=st.integers(1, 300))
def test_noise_before_between_and_behind_entries_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, kind: str, noise: list[list[str]], place: int
) -> None:
    folder = tmp_path_factory.mktemp("noise")
    for node, text in in_files(ZOOKEEPER, lambda entry: f"{_KINDS[kind].written_as(entry)}\0"):
        entries = text.split("\0\n")
        entries[place % len(entries)] = "\n".join([*noise[1], entries[place % len(entries)]])
        lines = [*noise[0], *entries[:-1], *noise[2], ""]
        (folder / f"{node}.log").write_text(_KINDS[kind].head + "\n".join(lines), newline="")
    assert history_of(folder) == own_history(ZOOKEEPER)


_REFUSED = {
    "[23:50:48,709] INFO {} (k.S)": "has no line of a Kafka log whose time is read",
    "[26/11/22 23:50:48] INFO {} (k.S)": "has no line of a Kafka log whose time is read",
    "time=2026-11-22T23:50:48Z level=info msg={}": "has no line of a Kafka log whose time is read",
    "[2026-11-22 23:50:48,709 CET] INFO {} (k.S)": "has times in the zone CET, a name without an",
    "[03/04/2026 23:50:48,709] INFO {} (k.S)": "has dates that may begin with the day or the month",
}


@pytest.mark.parametrize("line", _REFUSED)
def test_times_without_a_meaning_are_refused_with_file_and_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "broker-1" / "server.log"
    file.parent.mkdir()
    text = line.format("[KafkaServer id=1] started")
    file.write_text(f"{text}\n" * 3)
    refused = CliRunner().invoke(app, ["read-logs", str(tmp_path), "-o", str(tmp_path / "run")])
    assert refused.exit_code == 2
    told = in_one_line(refused.stderr)
    assert in_one_line(f"{file}: {_REFUSED[line]}") in told
    assert in_one_line(text[:60]) in told
    assert not (tmp_path / "run").exists()


def test_day_and_month_may_be_told_by_another_file(tmp_path: Path) -> None:
    """Hourly files of the third of April, and one of the thirteenth."""
    line = "[{}/2026 10:00:0{},000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
    for date in ("03/04", "13/04"):
        text = "".join(line.format(date, second) for second in range(3))
        (tmp_path / f"server.log.{date.replace('/', '-')}").write_text(text)
    found = found_logs(tmp_path)
    content = log_reading.read_logs(found.files)
    assert [f"{each.first_ms / 86_400_000:.0f}" for each in content.files.values()] == [
        "20546",
        "20556",
    ]
    (tmp_path / "server.log.04-30").write_text(line.format("04/30", 1))
    reasons = [each.reason for each in found_logs(tmp_path).unread]
    assert len(reasons) == 1
    assert reasons[0].startswith("has dates that may begin with the day or the month")


def test_lines_that_contradict_each_other_about_day_and_month_are_refused(tmp_path: Path) -> None:
    lines = [f"[{date}/2026 10:00:00,000] INFO started (k.S)\n" for date in ("13/04", "04/13")]
    (tmp_path / "server.log").write_text("".join(lines))
    (unread,) = found_logs(_with_a_log(tmp_path)).unread
    assert unread.reason.startswith("has day and month in either order: [13/04/2026 10:00:00,000]")


def _with_a_log(folder: Path) -> Path:
    (folder / "server-2.log").write_text("[2026-03-01 10:00:00,000] INFO started (kafka.S)\n")
    return folder


def test_text_with_its_newest_line_first_is_refused(tmp_path: Path) -> None:
    entries = [f"[2026-03-01 10:00:{59 - at},000] INFO line (kafka.S)\n" for at in range(20)]
    (tmp_path / "server.log").write_text("".join(entries))
    (unread,) = found_logs(_with_a_log(tmp_path)).unread
    assert unread.reason.startswith(
        "has its newest entry first: turn it round ([2026-03-01 10:00:5"
    )


def test_utf_16_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("[2026-03-01 10:00:00,000] INFO a (b)\n", "utf-16")
    (unread,) = found_logs(_with_a_log(tmp_path)).unread
    assert unread.reason == "is in UTF-16: only UTF-8 is read"


def test_a_file_whose_layout_changes_is_named_with_the_first_line_of_the_other(
    tmp_path: Path,
) -> None:
    """An upgrade from log4j to log4j2 with another pattern, in the same ``server.log``."""
    entries = ENTRIES[ZOOKEEPER]["broker-1"]
    before, after = entries[: len(entries) // 2], entries[len(entries) // 2 :]
    text = "".join(f"{entry.own}\n" for entry in before)
    text += "".join(f"{_DATES['day/month/year'](entry)}\n" for entry in after)
    (tmp_path / "server.log").write_text(text)
    (unread,) = found_logs(tmp_path).unread
    assert unread.reason.startswith(
        "has lines of another layout than its first ones, which are not read: [22/11/2026 23:5"
    )
