"""The schema of the trace: every kind of row, and the version of it all."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

# Each module enters the kinds that it declares.
from tidegauge.simulation.trace_rows import (  # noqa: F401
    broker_rows,
    client_rows,
    control_plane_rows,
    controller_rows,
    coordinator_rows,
    fault_rows,
    isr_rows,
    quorum_rows,
    replica_rows,
    request_rows,
    sample_rows,
    zookeeper_rows,
)
from tidegauge.simulation.trace_rows.columns import Column
from tidegauge.simulation.trace_rows.control_plane_rows import (
    BrokerState,
    ControllerActive,
    PartitionState,
)
from tidegauge.simulation.trace_rows.row import KINDS, Row, RowKind, described_columns

#: Version of the schema. It grows when a kind or column changes its meaning.
SCHEMA_VERSION = 4

#: Every kind of row, by number.
ROW_KINDS: dict[int, RowKind] = dict(sorted(KINDS.items()))

#: The kinds of rows that repeat, right after the row of a change, what the cluster's state is.
STATE_KINDS = (PartitionState.KIND, BrokerState.KIND, ControllerActive.KIND)
STATE_ROWS = frozenset(ROW_KINDS[kind].name for kind in STATE_KINDS)

#: The columns of every row, before those of its kind.
COMMON_COLUMNS: dict[str, Column] = described_columns(Row)

#: How many columns the kind with each number has, for compiled code.
COLUMN_COUNTS = tuple(
    len(ROW_KINDS[number].columns) if number in ROW_KINDS else 0
    for number in range(max(ROW_KINDS) + 1)
)

#: Whether the kind with each number is canonical, for compiled code.
IS_CANONICAL = tuple(
    number in ROW_KINDS and ROW_KINDS[number].canonical for number in range(max(ROW_KINDS) + 1)
)


@cache
def tidegauge_version() -> str:
    """The release of Tidegauge, which every file that it writes names.

    Executors of Spark read traces without an installed Tidegauge, so it is looked up on demand.
    """
    return version("tidegauge")
