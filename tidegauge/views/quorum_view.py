"""``tidegauge show quorum`` and ``show metadata-log``: the control plane of a KRaft cluster."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from tidegauge.replication.release_versions import Release
from tidegauge.runs import quorum as quorums
from tidegauge.runs.metadata_records import metadata_records
from tidegauge.runs.quorum import DescribedQuorum, QuorumNode
from tidegauge.runs.run import Run
from tidegauge.simulation.quantities import time_text
from tidegauge.views.answers_view import fitting_columns
from tidegauge.views.output import print_hanging
from tidegauge.views.story_lines import Span, when_text

#: At so many times, in even distances, lags are printed.
_MOMENTS = 20
#: The first release whose tool prints directories and endpoints (KIP-853).
_WITH_DIRECTORIES = Release.parse("3.9.0")


def show_quorum(out: Console, run: Run, at_us: int | None) -> None:
    """Print status and replication, in the manner of ``kafka-metadata-quorum describe``.

    Without a time all leaders follow, the changes of the voters, and over the run the number of
    records that each node lacked and the active controller's pending work.
    """
    quorums.check_has_quorum(run, "quorum")
    quorum = quorums.described_quorum(run, at_us)
    out.print(f"Quorum {when_text(run, at_us)}", style="bold")
    if quorum is None:
        out.print("No controller has started yet.")
        return
    has_directories = Release.parse(run.manifest["scenario"]["release"]) >= _WITH_DIRECTORIES
    _print_status(out, run, quorum, has_directories=has_directories)
    out.print()
    _print_replication(out, quorum, has_directories=has_directories)
    if at_us is None:
        out.print()
        _print_leaders(out, run)
        _print_voters(out, run)
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
        "voters_over_time": [each._asdict() for each in quorums.voters_over_time(run)],
        "voter_changes": [each._asdict() for each in quorums.answered_changes(run)],
        "over_time": [_content_of(each) for each in quorums.quorum_over_time(run, _moments(run))],
    }


def _content_of(quorum: DescribedQuorum) -> dict[str, Any]:
    return {
        "time_us": quorum.time_us,
        "leader": quorum.leader,
        "epoch": quorum.epoch,
        "high_watermark": quorum.high_watermark,
        "kraft_version": quorum.kraft_version,
        "are_voters_committed": quorum.are_voters_committed,
        "nodes": [{**node._asdict(), "lag": quorum.lag_of(node)} for node in quorum.nodes],
    }


def _moments(run: Run) -> list[int]:
    """Times in even distances, the last one the end of the run."""
    return [run.end_us * number // _MOMENTS for number in range(1, _MOMENTS + 1)]


def _print_status(
    out: Console, run: Run, quorum: DescribedQuorum, *, has_directories: bool
) -> None:
    """Print what ``kafka-metadata-quorum describe --status`` does; the cluster's id is its name."""
    voter_ids = {node.node for node in quorum.nodes if node.is_voter}
    voters, observers = (
        ", ".join(
            _node_text(node, has_directories=has_directories, has_endpoint=node.node in voter_ids)
            for node in quorum.nodes
            if node.is_voter == is_voter
        )
        for is_voter in (True, False)
    )
    for name, value in (
        ("ClusterId", run.manifest["scenario"]["name"]),
        ("LeaderId", -1 if quorum.leader is None else quorum.leader),
        ("LeaderEpoch", quorum.epoch),
        ("HighWatermark", quorum.high_watermark),
        *_most_lag(quorum),
        ("CurrentVoters", f"[{voters}]"),
        ("CurrentObservers", f"[{observers}]"),
    ):
        print_hanging(out, f"{name + ':':24}", str(value))


def _node_text(node: QuorumNode, *, has_directories: bool, has_endpoint: bool) -> str:
    """A node of CurrentVoters or CurrentObservers; up to 3.8 its id alone.

    Source: MetadataQuorumCommand.Node@4.4.0.
    """
    if not has_directories:
        return str(node.node)
    parts = [f'"id": {node.node}']
    if "#" in node.key:
        parts.append(f'"directoryId": "{node.key}"')
    if has_endpoint:
        parts.append(f'"endpoints": ["CONTROLLER://controller-{node.node}:9093"]')
    return f"{{{', '.join(parts)}}}"


def _most_lag(quorum: DescribedQuorum) -> Iterator[tuple[str, int]]:
    """The lag of the voter with the shortest log, in records and in time; -1: unknown.

    Source: MetadataQuorumCommand.handleDescribeStatus@4.0.0.
    """
    furthest = quorum.furthest_voter
    if quorum.leader is None or furthest is None:
        return
    lag_ms = -1
    if furthest.caught_up_us is not None:
        lag_ms = (quorum.time_us - furthest.caught_up_us) // 1000
    yield "MaxFollowerLag", quorum.lag_of(furthest)
    yield "MaxFollowerLagTimeMs", lag_ms


def _print_replication(out: Console, quorum: DescribedQuorum, *, has_directories: bool) -> None:
    headings: tuple[str, ...] = (
        *("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastChange", "LastCaughtUp", "Status"),
        *("LogStart", "Snapshot"),
    )
    rows: list[tuple[str, ...]] = [
        (
            str(node.node),
            node.key if "#" in node.key else "-",
            str(node.log_end_offset),
            str(quorum.lag_of(node)),
            time_text(node.time_us),
            "-" if node.caught_up_us is None else time_text(node.caught_up_us),
            node.state.capitalize(),
            str(node.log_start_offset),
            str(node.snapshot_offset or "-"),
        )
        for node in quorum.nodes
    ]
    if not has_directories:
        headings, *rows = ((row[0], *row[2:]) for row in (headings, *rows))
    _print_table(out, headings, rows)


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


def _print_voters(out: Console, run: Run) -> None:
    """Print all voters that were in force, and the answers to requests to change them."""
    voters = [
        (
            time_text(each.time_us),
            "-" if each.offset < 0 else str(each.offset),
            ", ".join(each.voters),
            "no" if each.committed_us is None else time_text(each.committed_us),
        )
        for each in quorums.voters_over_time(run)
    ]
    if voters:
        out.print()
        _print_table(out, ("From", "Record", "Voters", "Committed"), voters)
    answers = [
        (
            time_text(each.time_us),
            str(each.asked),
            each.change,
            each.voter,
            each.error,
            "" if each.refusal == "none" else each.refusal,
        )
        for each in quorums.answered_changes(run)
    ]
    if answers:
        out.print()
        _print_table(out, ("Answered", "By", "Change", "Voter", "Error", "Reason"), answers)


def _print_lags(out: Console, run: Run) -> None:
    """Print the number of records that each node lacked; ``-``: its process did not run."""
    ids = [*run.directory.controllers, *run.directory.brokers]
    rows = []
    for quorum in quorums.quorum_over_time(run, _moments(run)):
        lags = {node.node: str(quorum.lag_of(node)) for node in quorum.nodes if node.is_running}
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
        for record in metadata_records(run)
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
