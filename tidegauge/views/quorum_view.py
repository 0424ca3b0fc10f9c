"""``tidegauge show quorum`` and ``show metadata-log``: the control plane of a KRaft cluster."""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from tidegauge.runs import quorum as quorums
from tidegauge.runs.quorum import DescribedQuorum
from tidegauge.runs.run import Run
from tidegauge.simulation.quantities import time_text
from tidegauge.views.answers_view import fitting_columns
from tidegauge.views.output import print_hanging
from tidegauge.views.story_lines import Span, when_text

#: At so many times, in even distances, lags are printed.
_MOMENTS = 20


def show_quorum(out: Console, run: Run, at_us: int | None) -> None:
    """Print status and replication, in the manner of ``kafka-metadata-quorum describe``.

    Without a time all leaders follow, and over the run the number of records that each node lacked
    and the active controller's pending work.
    """
    quorums.check_has_quorum(run, "quorum")
    quorum = quorums.described_quorum(run, at_us)
    out.print(f"Quorum {when_text(run, at_us)}", style="bold")
    if quorum is None:
        out.print("No controller has started yet.")
        return
    _print_status(out, quorum)
    out.print()
    _print_replication(out, quorum)
    if at_us is None:
        out.print()
        _print_leaders(out, run)
        out.print()
        _print_lags(out, run)


def quorum_for_programs(run: Run, at_us: int | None) -> dict[str, Any] | None:
    """The quorum at a time; at the end with its leaders, and with it over time."""
    quorums.check_has_quorum(run, "quorum")
    quorum = quorums.described_quorum(run, at_us)
    if quorum is None or at_us is not None:
        return None if quorum is None else _content_of(quorum)
    return {
        **_content_of(quorum),
        "terms": [term._asdict() for term in quorums.quorum_terms(run)],
        "over_time": [_content_of(each) for each in quorums.quorum_over_time(run, _moments(run))],
    }


def _content_of(quorum: DescribedQuorum) -> dict[str, Any]:
    return {
        "time_us": quorum.time_us,
        "leader": quorum.leader,
        "epoch": quorum.epoch,
        "high_watermark": quorum.high_watermark,
        "nodes": [{**node._asdict(), "lag": quorum.lag_of(node)} for node in quorum.nodes],
    }


def _moments(run: Run) -> list[int]:
    """Times in even distances, the last one the end of the run."""
    return [run.end_us * number // _MOMENTS for number in range(1, _MOMENTS + 1)]


def _print_status(out: Console, quorum: DescribedQuorum) -> None:
    voters, observers = (
        ", ".join(f'{{"id": {node.node}}}' for node in quorum.nodes if node.is_voter == is_voter)
        for is_voter in (True, False)
    )
    for name, value in (
        ("LeaderId", -1 if quorum.leader is None else quorum.leader),
        ("LeaderEpoch", quorum.epoch),
        ("HighWatermark", quorum.high_watermark),
        ("CurrentVoters", f"[{voters}]"),
        ("CurrentObservers", f"[{observers}]"),
    ):
        print_hanging(out, f"{name + ':':24}", str(value))


def _print_replication(out: Console, quorum: DescribedQuorum) -> None:
    rows = [
        (
            str(node.node),
            str(node.log_start_offset),
            str(node.snapshot_offset or "-"),
            str(node.log_end_offset),
            str(quorum.lag_of(node)),
            time_text(node.time_us),
            node.state.capitalize(),
        )
        for node in quorum.nodes
    ]
    headings = ("NodeId", "LogStartOffset", "Snapshot", "LogEndOffset", "Lag", "LastChange")
    _print_table(out, (*headings, "Status"), rows)


def _print_leaders(out: Console, run: Run) -> None:
    """Print the leader of each epoch, the times of its term, and its next state."""
    rows = [
        (
            str(term.epoch),
            str(term.leader),
            time_text(term.began_us),
            "the end" if term.ended_us is None else time_text(term.ended_us),
            term.next_state or "",
        )
        for term in quorums.quorum_terms(run)
    ]
    _print_table(out, ("Epoch", "Leader", "From", "To", "Then"), rows)


def _print_lags(out: Console, run: Run) -> None:
    """Print the number of records that each node lacked; ``-``: its process did not run."""
    ids = [*run.directory.controllers, *run.directory.brokers]
    rows = []
    for quorum in quorums.quorum_over_time(run, _moments(run)):
        lags = {
            node.node: str(quorum.lag_of(node)) if node.is_running else "-" for node in quorum.nodes
        }
        rows.append(
            (
                time_text(quorum.time_us),
                str(quorum.epoch),
                "none" if quorum.leader is None else str(quorum.leader),
                str(quorum.high_watermark),
                *_waiting(quorum),
                *(lags.get(node, "-") for node in ids),
            )
        )
    names = [f"Lag{node}" for node in ids]
    headings = ("Time", "Epoch", "Leader", "HighWatermark", "Queue", "Deferred")
    _print_table(out, (*headings, *names), rows)


def _waiting(quorum: DescribedQuorum) -> tuple[str, str]:
    """Events in the active controller's queue, and its responses that wait for a commit."""
    if quorum.leader is None:
        return "-", "-"
    return str(quorum.nodes[0].queue_length), str(quorum.nodes[0].deferred)


def _print_table(out: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; columns without room have a table below, with the first column again."""
    fitting = fitting_columns(headings, rows, out.width, least=2)
    widths = [max(map(len, cells)) for cells in zip(headings, *rows, strict=True)][:fitting]
    for number, row in enumerate([headings, *rows]):
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=False))
        out.print("  ".join(cells).rstrip(), style="bold" if number == 0 else "", soft_wrap=True)
    if fitting < len(headings):
        out.print()
        first, *others = ((row[0], *row[fitting:]) for row in [headings, *rows])
        _print_table(out, first, others)


def metadata_log_for_programs(run: Run, span: Span) -> list[dict[str, Any]]:
    """The committed records of the metadata log; raises as :func:`show_metadata_log`."""
    quorums.check_has_quorum(run, "metadata-log")
    return [
        {"time_us": record.time_us, "type": record.name, "data": record.data}
        for record in quorums.metadata_records(run)
        if record.time_us in span
    ]


def show_metadata_log(out: Console, run: Run, span: Span) -> None:
    """Print the records, in the manner of ``kafka-dump-log --cluster-metadata-decoder``.

    Raises:
        TidegaugeError: the cluster has ZooKeeper.
        TraceError: a trace file is damaged.
    """
    records = metadata_log_for_programs(run, span)
    for record in records:
        time = time_text(record.pop("time_us"))
        payload = json.dumps(record, separators=(",", ":"))
        print_hanging(out, f"{time:>10}  ", f"payload: {payload}")
    if not records:
        out.print("No records in this time.")
