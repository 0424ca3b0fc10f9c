"""``tidegauge show --quorum`` and ``--metadata-log``: the control plane of a KRaft cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tidegauge.views.story_lines import Span, when_text

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.history.metadata_log import DescribedQuorum
    from tidegauge.history.story import Names
    from tidegauge.traces.run_folder import RunFolder

_HEADINGS = ("NodeId", "LogEndOffset", "Lag", "LastFetchTimestamp", "Status")


def show_quorum(out: Console, run: RunFolder, at_us: int | None) -> None:
    """Print status and replication, in the manner of ``kafka-metadata-quorum describe``.

    Only the active controller is simulated: the other voters have no lines of their own.
    """
    from tidegauge.history.metadata_log import check_has_quorum, described_quorum

    check_has_quorum(run, "--quorum")
    quorum = described_quorum(run, at_us)
    out.print(f"Quorum {when_text(at_us)}, by the last samples", style="bold")
    if quorum is None:
        out.print("No controller was sampled yet.")
        return
    _print_status(out, quorum)
    out.print()
    _print_replication(out, quorum)


def _print_status(out: Console, quorum: DescribedQuorum) -> None:
    voters = ", ".join(f'{{"id": {voter}}}' for voter in quorum.voters)
    observers = ", ".join(f'{{"id": {node.node}}}' for node in quorum.nodes if not node.is_leader)
    for name, value in (
        ("LeaderId", quorum.leader),
        ("LeaderEpoch", quorum.leader_epoch),
        ("HighWatermark", quorum.nodes[0].high_watermark),
        ("CurrentVoters", f"[{voters}]"),
        ("CurrentObservers", f"[{observers}]"),
    ):
        out.print(f"{name + ':':24}{value}", soft_wrap=True, markup=False, highlight=False)


def _print_replication(out: Console, quorum: DescribedQuorum) -> None:
    from tidegauge.simulation.durations import time_text

    end_offset = quorum.nodes[0].log_end_offset
    rows = [
        (
            str(node.node),
            str(node.log_end_offset),
            str(max(0, end_offset - node.log_end_offset)),
            time_text(node.time_us),
            "Leader" if node.is_leader else "Observer",
        )
        for node in quorum.nodes
    ]
    widths = [max(map(len, cells)) for cells in zip(_HEADINGS, *rows, strict=True)]
    for number, row in enumerate([_HEADINGS, *rows]):
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        out.print("  ".join(cells).rstrip(), style="bold" if number == 0 else "", soft_wrap=True)


def show_metadata_log(out: Console, run: RunFolder, names: Names, span: Span) -> None:
    """Print the records, in the manner of ``kafka-dump-log --cluster-metadata-decoder``."""
    from rich.text import Text

    from tidegauge.history.metadata_log import check_has_quorum, metadata_records
    from tidegauge.simulation.durations import time_text

    check_has_quorum(run, "--metadata-log")
    count = 0
    for record in metadata_records(run, names):
        if record.time_us not in span:
            continue
        count += 1
        payload = json.dumps({"type": record.name, "data": record.data}, separators=(",", ":"))
        out.print(Text(f"{time_text(record.time_us):>10}  payload: {payload}"), soft_wrap=True)
    if count == 0:
        out.print("No records in this time.")
