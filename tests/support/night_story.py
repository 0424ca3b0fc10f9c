"""A night of a small cluster, written by hand, and ``tidegauge show`` of it.

Broker 1 leads everything and is controller; it stops for a while, and broker 2 takes over both.
When it goes on it refuses what it was asked. In the morning broker 3 crashes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ABSENT,
    BROKER_ACTIVE,
    BROKER_REGISTERS,
    BROKER_SESSION_EXPIRED,
    STOP_KILLED,
)
from tidegauge.traces.run_files import MANIFEST
from written_rows import MANIFEST_OF_TESTS, S, WrittenRows, named_partition

# Processes of the manifest below.
BROKER_1, BROKER_2, BROKER_3, CONTROLLER_1, ZOOKEEPER, CLIENT, CONTROLLER_2 = range(7)
# Indexes of brokers; each hosts all partitions, in the slot of its index.
FIRST, SECOND, THIRD = range(3)
# Replica lists: slots + 1, the first one lowest.
WITHOUT_THIRD, WITHOUT_FIRST, ALL_SLOTS = 0x21, 0x32, 0x321

PARTITIONS = 6
NOT_LEADER, PRODUCE = 6, 0
PAUSE, CRASH = 0, 5
BROKER_CHANGE = 1

MANIFEST_OF_THE_NIGHT: dict[str, Any] = {
    **MANIFEST_OF_TESTS,
    "processes": [
        *MANIFEST_OF_TESTS["processes"],
        {
            "process": CONTROLLER_2,
            "name": "controller of broker 2",
            "role": "controller",
            "number": SECOND,
        },
    ],
    "partitions": [named_partition(number, [1, 2, 3]) for number in range(PARTITIONS)],
    "faults": [
        {"name": "stop", "kind": "pause", "text": "pause of 1"},
        {"name": "kill", "kind": "crash", "text": "crash of 3"},
    ],
}


def the_evening(rows: WrittenRows) -> None:
    """All brokers start; broker 1 becomes controller and leads everything."""
    for broker in (FIRST, SECOND, THIRD):
        rows.write("broker_started", 1 * S, broker, broker=broker)
        rows.write("session_opened", 1 * S, ZOOKEEPER, broker=broker, session=1, timeout_ms=6000)
        rows.write("broker_state", 1 * S, ZOOKEEPER, broker=broker, state=int(BROKER_ACTIVE),
                   state_reason=int(BROKER_REGISTERS))  # fmt: skip
    rows.write("controller_active", 2 * S, ZOOKEEPER, broker=FIRST)
    rows.write("controller_elected", 2 * S, CONTROLLER_1, broker=FIRST, controller_epoch=1)
    for partition in range(PARTITIONS):
        rows.write(
            "leader_elected", 3 * S, CONTROLLER_1, partition=partition, leader=FIRST,
            old_leader=-1, isr=ALL_SLOTS,
        )  # fmt: skip
        rows.held(3 * S, partition, leader=FIRST, isr=ALL_SLOTS)
        rows.write(
            "became_leader", 3 * S + partition, BROKER_1, partition=partition, isr=ALL_SLOTS,
            is_new_leader=1, log_end_offset=10, high_watermark=9,
        )  # fmt: skip
        for follower in (BROKER_2, BROKER_3):
            rows.write("became_follower", 3 * S, follower, partition=partition, leader=FIRST)
    rows.write("sampled", 9 * S, BROKER_1, partition=0, leads=1, log_end_offset=40,
               high_watermark=30)  # fmt: skip


def the_stop(rows: WrittenRows) -> None:
    """Broker 1 stops for so long that broker 2 becomes controller and leader in its place."""
    stop = rows.write("fault_began", 10 * S, BROKER_1, fault=0, fault_kind=PAUSE)
    rows.write("fault_began", 10 * S, CONTROLLER_1, fault=0, fault_kind=PAUSE)
    expired = rows.write(
        "session_expired", 16 * S, ZOOKEEPER, because=stop, broker=FIRST, session=1,
        silent_us=6 * S,
    )  # fmt: skip
    rows.write("controller_active", 16 * S, ZOOKEEPER, broker=-1)
    rows.write("broker_state", 16 * S, ZOOKEEPER, broker=FIRST, state=int(BROKER_ABSENT),
               state_reason=int(BROKER_SESSION_EXPIRED))  # fmt: skip
    rows.write("controller_active", 16 * S + 1, ZOOKEEPER, broker=SECOND)
    rows.write("controller_elected", 17 * S, CONTROLLER_2, broker=SECOND, controller_epoch=2)
    rows.write("controller_event", 18 * S, CONTROLLER_2, event_kind=BROKER_CHANGE, queue_length=3,
               queued_us=250_000)  # fmt: skip
    rows.write("broker_failed", 18 * S, CONTROLLER_2, broker=FIRST)
    # Told together with its beginning, though later.
    rows.write("controller_event_done", 20 * S, CONTROLLER_2, event_kind=BROKER_CHANGE,
               processing_us=2 * S)  # fmt: skip
    for partition in range(PARTITIONS - 1):
        rows.write(
            "leader_elected", 19 * S, CONTROLLER_2, partition=partition, because=expired,
            leader=SECOND, old_leader=FIRST, leader_epoch=1, isr=WITHOUT_FIRST, version=1,
            unclean=int(partition == 2),
        )  # fmt: skip
        rows.held(19 * S, partition, leader=SECOND, leader_epoch=1, isr=WITHOUT_FIRST)
        rows.write(
            "became_leader", 19 * S, BROKER_2, partition=partition, isr=WITHOUT_FIRST,
            leader_epoch=1, version=1, is_new_leader=1,
        )  # fmt: skip


def the_morning(rows: WrittenRows) -> None:
    """Broker 1 goes on, and refuses what it had been asked; broker 3 crashes."""
    for process in (BROKER_1, CONTROLLER_1):
        rows.write("fault_ended", 30 * S, process, fault=0, fault_kind=PAUSE)
    rows.write("controller_resigned", 30 * S, CONTROLLER_1, broker=FIRST, controller_epoch=1)
    for partition in range(5):
        rows.write("acknowledged", 31 * S, BROKER_1, partition=partition)
        rows.write(
            "request_refused", 31 * S + partition, BROKER_1, partition=partition,
            api_key=PRODUCE, from_process=CLIENT, error=NOT_LEADER, offset=-1,
        )  # fmt: skip
    rows.write("fault_began", 40 * S, BROKER_3, fault=1, fault_kind=CRASH)
    rows.write("broker_stopped", 40 * S, BROKER_3, broker=THIRD, stop=int(STOP_KILLED))


def a_night() -> WrittenRows:
    rows = WrittenRows()
    the_evening(rows)
    the_stop(rows)
    the_morning(rows)
    return rows


def folder_of(rows: WrittenRows, path: Path) -> Path:
    folder = rows.run(path)
    (folder / MANIFEST).write_text(json.dumps(MANIFEST_OF_THE_NIGHT))
    return folder


def run(folder: Path, view: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["show", view, str(folder), *arguments])


def shown(folder: Path, view: str, *arguments: str) -> str:
    result = run(folder, view, *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def line_with(text: str, output: str) -> str:
    (line,) = [line for line in unfolded(output).splitlines() if text in line]
    return line


def unfolded(output: str) -> str:
    """Output with lines as they were before they were folded for their width."""
    return re.sub(r"\n( {4}| {12,})(?! |because:|and then|\.\.\.|[\d.]+s )", " ", output)
