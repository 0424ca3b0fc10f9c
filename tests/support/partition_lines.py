"""Rows of a trace as the lines of a story: what, at which broker, and the columns that matter."""

from __future__ import annotations

from collections.abc import Mapping

from tidegauge.traces.run_folder import RunFolder

#: Processes of the brokers 1, 2 and 3.
BROKER_1, BROKER_2, BROKER_3 = 0, 1, 2

#: Kind of a row, process, columns.
Line = tuple[str | int, ...]


def lines_of(
    run: RunFolder, told: Mapping[str, str], since_ms: int = 0, until_ms: int = 3_600_000
) -> list[Line]:
    """The rows of partition 0 that are ``told``, in their order: these columns of each kind.

    Only those from ``since_ms`` on and before ``until_ms``.
    """
    return [
        (row.kind, row["process"], *(row[name] for name in told[row.kind].split()))
        for row in run.all_rows(0, wanted=lambda kind: kind.name in told)
        if since_ms * 1000 <= row["time_us"] < until_ms * 1000
    ]
