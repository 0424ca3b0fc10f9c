"""Mechanism 5: consumers read up to the high watermark (HW) only.

The scenario is ``05-read-limit``: log end offset (LEO) 14, HW 7.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from partition_lines import BROKER_1
from sampled_replicas import samples_of
from scenario_runs import rows_of, run_of, shipped
from tidegauge.replication import errors
from tidegauge.traces.run_folder import RunFolder, TraceRow

NONE = errors.NONE
OFFSET_OUT_OF_RANGE = errors.OFFSET_OUT_OF_RANGE


def of_process(run: RunFolder, kind: str, column: str, name: str) -> list[TraceRow]:
    (number,) = (n for n, process in enumerate(run.manifest["processes"]) if name in str(process))
    return rows_of(run, kind, **{column: number})


@pytest.mark.parametrize(
    ("release", "protocol"),
    [
        *((release, None) for release in ("0.10.2", "1.1", "2.3", "2.4", "2.6")),
        *((release, "2.6") for release in ("2.8", "3.9")),
    ],
)
def test_a_consumer_gets_what_is_below_the_high_watermark_and_no_error_up_to_the_log_end(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 2.6: the limit of read_uncommitted is the HW; above the LEO the offset is unknown."""
    changes = {"release": release, "protocol": protocol}
    run = run_of(shipped("05-read-limit", changes), tmp_path / "run")
    leader = samples_of(run, process=BROKER_1, time_us=6_000_000)[0]
    assert (leader["log_end_offset"], leader["high_watermark"]) == (14, 7)

    answers = [
        (row["fetch_offset"], row["end_offset"], row["high_watermark"], row["error"])
        for row in of_process(run, "fetch_answered", "to_process", "operator")
    ]
    assert answers == [
        (0, 7, 7, NONE),
        (6, 7, 7, NONE),
        # Nothing, and no error: at the HW, between it and the LEO, at the LEO.
        (7, 7, 7, NONE),
        (10, 10, 7, NONE),
        (14, 14, 7, NONE),
        (15, 15, 7, OFFSET_OUT_OF_RANGE),
    ]
    consumed = [
        (row["fetch_offset"], row["end_offset"], row["high_watermark"], row["error"])
        for row in of_process(run, "consumed", "process", "operator")
    ]
    assert consumed == answers


def test_a_consumer_at_the_high_watermark_gets_the_rest_when_it_moves(tmp_path: Path) -> None:
    """Rule 7.2: its fetch waits fetch.max.wait.ms (500) in vain, or until the HW moves."""
    run = run_of(shipped("05-read-limit"), tmp_path / "run")
    reader = of_process(run, "consumed", "process", "reader")
    read = [(row["fetch_offset"], row["end_offset"]) for row in reader]
    assert [of_one for of_one in read if of_one[0] < of_one[1]] == [(0, 7), (7, 14)]
    in_vain = [row["time_us"] for row in reader if row["fetch_offset"] == row["end_offset"] == 7]
    assert len(in_vain) == 13
    assert all(500_000 <= after - before < 504_000 for before, after in pairwise(in_vain))

    (moved,) = rows_of(run, "high_watermark_moved", process=BROKER_1, high_watermark=14)
    rest = [
        row
        for row in of_process(run, "fetch_answered", "to_process", "reader")
        if row["end_offset"] == 14 and row["fetch_offset"] == 7
    ]
    assert [(row["time_us"], row["waited"]) for row in rest] == [(moved["time_us"], 1)]
