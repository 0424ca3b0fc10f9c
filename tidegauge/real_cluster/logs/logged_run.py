"""The run of a cluster's logs: its folder, and the report of the findings.

The folder has manifest, rows and summary, as that of a simulated run. The manifest has ``"source":
"logs"`` and has a part ``logs``: the wall-clock time of the run's time 0, and the offsets of
clocks. The summary has the figures that follow from states of partitions, and the hash of the rows.
Figures of processes, such as acknowledged records, are absent in it.
"""

import datetime as dt
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.simulate import manifest_of
from tidegauge.engine.summary import figures_of
from tidegauge.real_cluster.logs.clock_offsets import ClockOffset
from tidegauge.real_cluster.logs.log_files import LogsError
from tidegauge.real_cluster.logs.log_reading import Extent
from tidegauge.real_cluster.logs.logged_cluster import LoggedCluster, logged_cluster
from tidegauge.real_cluster.logs.logged_voters import (
    FORMATTED,
    LoggedVoters,
    logged_voters,
    successive_voters,
)
from tidegauge.real_cluster.logs.real_history import RealHistory
from tidegauge.real_cluster.logs.run_rows import rows_of
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.wall_clock import WallClock, wall_clock_text
from tidegauge.traces.run_files import MANIFEST, OF_LOGS, SUMMARY
from tidegauge.traces.run_folder import RunFolder, new_trace_files, write_json_atomically
from tidegauge.traces.trace_file import TraceWriter
from tidegauge.traces.trace_hash import NO_ROWS, hash_of_rows, named_hashes, trace_sha256

#: Figures that follow from the rows that logs have.
_FIGURES = (
    *("figures_from_seconds", "partition_seconds_offline", "partition_seconds_under_min_isr"),
    *("partition_seconds_at_min_isr", "partition_seconds_isr_of_one", "isr_of_one_episodes"),
    *("most_leaders", "isr_shrinks", "isr_expands", "isr_removals"),
    *("leader_elections", "unclean_elections", "partition_seconds_not_accepting"),
)


def write_run(history: RealHistory, folder: Path) -> RunFolder:
    """Write the run of a history: the whole folder, or nothing.

    Raises:
        LogsError: no line is about replication, or the folder cannot be written.
    """
    if not history.partitions and not history.brokers and not history.controllers:
        raise LogsError(_empty(history))
    cluster = logged_cluster(history, folder.resolve().name)
    rows = rows_of(history, cluster)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
        try:
            _write_into(draft, history, cluster, rows)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise LogsError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return RunFolder(folder)


def _empty(history: RealHistory) -> str:
    """The error of logs without a history: what was found, and what was sought."""
    nodes = sorted({file.node for file in history.found.files if file.node is not None})
    release = history.configuration.release
    found = [counted(len(history.content.files), "file")]
    found[0] += f" of {'node' if len(nodes) == 1 else 'nodes'} {', '.join(map(str, nodes))}"
    if history.last_ms > 0:
        found.append(f"from {wall_clock(history.first_ms)} to {wall_clock(history.last_ms)}")
    if release.is_logged:
        found.append(f"Kafka {release.number}")
    found.append(counted(len(history.lives), "start"))
    return (
        "the logs have no line of replication, about a partition, a registration or a controller;"
        f" found: {', '.join(found)}; sought: state-change.log and controller.log beside"
        " server.log, at level INFO"
    )


def _write_into(
    folder: Path, history: RealHistory, cluster: LoggedCluster, rows: NDArray[np.void]
) -> None:
    manifest = {**manifest_of(cluster.plan), "source": OF_LOGS, "logs": logs_part(history)}
    write_json_atomically(folder / MANIFEST, manifest)
    (file,) = new_trace_files(folder, 1)
    with TraceWriter(file) as writer:
        writer.write(rows)
    stream = RowStream(cluster.plan)
    stream.take(rows)
    stream.end()
    write_json_atomically(folder / SUMMARY, _summary(RunFolder(folder), cluster, stream))


def logs_part(history: RealHistory) -> dict[str, Any]:
    """The part of a manifest about the logs themselves."""
    return {
        "first_line": wall_clock(history.first_ms),
        "first_line_ms": history.first_ms,
        "last_line": wall_clock(history.last_ms),
        "last_line_ms": history.last_ms,
        "clock_offsets": [each._asdict() for each in history.offsets],
        "settings": history.configuration.settings.names,
        "longest_session_ms": history.longest_session_ms,
        "notices": history.notices,
        "not_in_logs": [
            "log end offsets and high watermarks between changes",
            "records and acknowledgements",
            "requests, their latencies",
            "network and disk",
        ],
    }


def wall_clock(time_ms: int) -> str:
    """A time of lines, as they write it."""
    moment = dt.datetime.fromtimestamp(time_ms // 1000, tz=dt.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S},{time_ms % 1000:03}"


def _summary(run: RunFolder, cluster: LoggedCluster, stream: RowStream) -> dict[str, Any]:
    counted = figures_of(cluster.plan, stream)
    found = hash_of_rows((kind, run.table(kind.name)) for kind in run.kinds.values())
    processes = range(len(cluster.plan.processes))
    hashes = {process: found.get(process, NO_ROWS) for process in processes}
    controllers = run.table("controller_active")
    return {
        "source": OF_LOGS,
        "trace_sha256": trace_sha256(hashes),
        "process_hashes": named_hashes(hashes, [each.name for each in cluster.plan.processes]),
        "virtual_seconds": cluster.plan.scenario.duration_us / 1e6,
        "checks": {},
        "liveness": None,
        **{name: counted[name] for name in _FIGURES},
        "failovers": len(controllers.get("time_us", ())),
        "starts": len(run.table("broker_started").get("time_us", ())),
        "settings_not_modelled": [],
        "warnings": [],
    }


_MB = 1_000_000

#: Each line that is not a log gets a line; of more, the first ones.
_MOST_UNREAD = 50

NOT_IN_LOGS = (
    "Logs do not contain: log ends and high watermarks between changes, records and "
    "acknowledgements, requests, clients."
)


class FoundNode(NamedTuple):
    """The logs of one node."""

    node: int | None
    role: str
    files: int
    bytes: int
    first_line: str | None
    last_line: str | None
    clock: ClockOffset | None


class FoundInLogs(NamedTuple):
    """All that was found."""

    mode: str
    release: str
    #: A line names the release; else it is the newest one with the mode.
    is_release_logged: bool
    #: The release that it is read as, if it is newer than those that are known.
    newer_than_known: list[str]
    #: Lines about all that is not as the logs print it, or of another cluster.
    notices: list[str]
    nodes: list[FoundNode]
    #: Numbers of partitions, elections and so on, by their names.
    counts: dict[str, int]
    #: Files that are not logs, and those that could not be read to the end.
    unread: list[tuple[str, str]]
    #: States whose ISR no line has: it follows from rules ...
    states_without_isr: int
    #: ... or is assumed.
    states_with_assumed_isr: int
    #: ISRs that leaders announced and no line confirms.
    announced: list[dict[str, Any]]
    #: The quorum's voters, one set after the other, if they may change (KIP-853).
    voter_sets: list[LoggedVoters]
    #: The time of all lines, and the part of it that the run has.
    lines_span: WallClock
    run_span: WallClock
    #: The part was not asked for.
    is_last_day: bool

    def lines(self) -> Iterator[str]:
        """The lines to print."""
        yield f"Kafka {self.release} with {'KRaft' if self.mode == 'kraft' else 'ZooKeeper'}"
        if not self.is_release_logged:
            yield "no line names the release: assumed is the newest one"
        yield from self.newer_than_known
        if self.run_span != self.lines_span:
            yield self._span_text()
        yield from self.notices
        heads = ("first line", "last line")
        yield f"{'node':>16}  files       MB  {heads[0]:23}  {heads[1]:23}  clock"
        for node in self.nodes:
            name = "unknown" if node.node is None else f"{node.role} {node.node}"
            yield (
                f"{name:>16}  {node.files:5}  {node.bytes / _MB:7,.1f}  {node.first_line or '-':23}"
                f"  {node.last_line or '-':23}  {clock_text(node.clock)}"
            )
        for name, number in self.counts.items():
            yield f"{name + ':':22} {number:,}"
        if self.states_without_isr:
            yield (
                f"{counted(self.states_without_isr, 'state')} without an ISR in any line: by rules,"
                f" or assumed ({self.states_with_assumed_isr})"
            )
        if self.announced:
            yield (
                f"{counted(len(self.announced), 'ISR')} announced by a leader, without a line that"
                " confirms it: no state of the run"
            )
        for number, each in enumerate(self.voter_sets):
            since = f"from {wall_clock(each.time_ms)}: " if number > 0 else ""
            yield f"{'voters of the quorum:' * (number == 0):22} {since}{', '.join(each.keys)}"
        for path, reason in self.unread[:_MOST_UNREAD]:
            yield f"not read: {path}: {reason}"
        if len(self.unread) > _MOST_UNREAD:
            yield f"not read: {len(self.unread) - _MOST_UNREAD:,} more files"
        yield NOT_IN_LOGS

    def _span_text(self) -> str:
        begin, end, first, last = map(wall_clock_text, (*self.run_span, *self.lines_span))
        which = "the last day with events" if self.is_last_day else "the time asked for"
        return (
            f"the run is from {begin} to {end}: {which}, of logs from {first} to {last};"
            f" --from {first} reads all of them"
        )

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        begin, end = map(wall_clock_text, self.run_span)
        return {
            "from": begin,
            "to": end,
            "mode": self.mode,
            "release": self.release,
            "is_release_logged": self.is_release_logged,
            "newer_than_known": self.newer_than_known,
            "notices": self.notices,
            "nodes": [
                {**node._asdict(), "clock": None if node.clock is None else node.clock._asdict()}
                for node in self.nodes
            ],
            "counts": self.counts,
            "states_without_isr": self.states_without_isr,
            "states_with_assumed_isr": self.states_with_assumed_isr,
            "announced_isrs": self.announced,
            "voter_sets": [
                {
                    "time": wall_clock(each.time_ms),
                    "offset": None if each.offset == FORMATTED else each.offset,
                    "voters": each.keys,
                }
                for each in self.voter_sets
            ],
            "not_read": [{"file": path, "reason": reason} for path, reason in self.unread],
        }


def clock_text(clock: ClockOffset | None) -> str:
    """The offset of a clock in words: ``350 ms ahead (+-17 ms)``."""
    if clock is None:
        return "unknown"
    text = "as the others"
    if clock.offset_ms:
        text = f"{abs(clock.offset_ms):,} ms {'ahead' if clock.offset_ms > 0 else 'behind'}"
    if clock.uncertainty_ms is None:
        return f"{text} (not bounded)"
    return f"{text} (+-{clock.uncertainty_ms:,} ms)"


def found_in_logs(history: RealHistory, run: RunFolder) -> FoundInLogs:
    """The findings in the logs of a run."""
    clocks: dict[int | None, ClockOffset] = {each.node: each for each in history.offsets}
    by_node: dict[tuple[int | None, str], list[Extent]] = {}
    unread = [(str(each.path), each.reason) for each in history.found.unread]
    for file, extent in history.content.files.items():
        by_node.setdefault((file.node, file.node_role), []).append(extent)
        if extent.problem is not None:
            unread.append((str(file.path), extent.problem))
    nodes = [
        FoundNode(
            node,
            role,
            len(extents),
            sum(each.bytes_read for each in extents),
            _clock_time(min, (each.first_ms for each in extents)),
            _clock_time(max, (each.last_ms for each in extents)),
            clocks.get(node),
        )
        for (node, role), extents in by_node.items()
    ]
    assert run.summary is not None
    states = [state for each in history.partitions for state in each.states]
    counts = {
        "partitions": len(history.partitions),
        "partition states": len(states),
        "leaders elected": run.summary["leader_elections"],
        "... uncleanly": run.summary["unclean_elections"],
        "ISR shrinks": run.summary["isr_shrinks"],
        "ISR expands": run.summary["isr_expands"],
        "ISR removals": run.summary["isr_removals"],
        "broker states": len(history.brokers),
        "broker starts": run.summary["starts"],
        "broker stops": len(run.table("broker_stopped").get("time_us", ())),
        "active controllers": len(history.controllers),
    }
    return FoundInLogs(
        mode="kraft" if history.is_kraft else "zookeeper",
        release=run.manifest["scenario"]["release"],
        is_release_logged=history.configuration.release.is_logged,
        newer_than_known=run.manifest["newer_than_known"],
        notices=history.notices,
        nodes=nodes,
        counts=counts,
        unread=unread,
        states_without_isr=sum(not state.is_isr_logged for state in states),
        states_with_assumed_isr=sum(state.is_isr_assumed for state in states),
        announced=[
            {
                "partition": f"{each.partition.topic}-{each.partition.number}",
                "time": wall_clock(announced.time_ms),
                "leader": announced.leader,
                "isr": list(announced.isr),
            }
            for each in history.partitions
            for announced in each.announced
        ],
        voter_sets=successive_voters(logged_voters(history.events)),
        lines_span=history.lines,
        run_span=history.span,
        is_last_day=not history.window.is_asked_for,
    )


def _clock_time(chosen: Callable[[list[int]], int], times_ms: Iterable[int]) -> str | None:
    """The first or last of some times, as lines write it; None: there is none."""
    known = [time_ms for time_ms in times_ms if time_ms >= 0]
    return wall_clock(chosen(known)) if known else None
