"""What was found in the logs of a cluster, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tidegauge.real_cluster.logs.clock_offsets import ClockOffset
from tidegauge.real_cluster.logs.real_history import RealHistory
from tidegauge.real_cluster.logs.run_writing import wall_clock
from tidegauge.scenario.text.errors import counted
from tidegauge.traces.run_folder import RunFolder

_MB = 1_000_000

#: Each line that is not a log gets a line; of more, the first ones.
_MOST_UNREAD = 50

UNTOLD = (
    "Logs do not tell: log ends and high watermarks between changes, records and acknowledgements, "
    "requests, clients."
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
    nodes: list[FoundNode]
    #: What was found, with its number.
    counts: dict[str, int]
    #: Files that are not logs, and those that could not be read to the end.
    unread: list[tuple[str, str]]
    #: States whose ISR no line tells.
    isr_untold: int

    def lines(self) -> Iterator[str]:
        """The lines to print."""
        yield f"Kafka {self.release} with {'KRaft' if self.mode == 'kraft' else 'ZooKeeper'}"
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
        if self.isr_untold:
            yield (
                f"{counted(self.isr_untold, 'state')} without an ISR in any line: assumed from the"
                " state before"
            )
        for path, reason in self.unread[:_MOST_UNREAD]:
            yield f"not read: {path}: {reason}"
        if len(self.unread) > _MOST_UNREAD:
            yield f"not read: {len(self.unread) - _MOST_UNREAD:,} more files"
        yield UNTOLD

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "mode": self.mode,
            "release": self.release,
            "nodes": [
                {
                    **node._asdict(),
                    "clock": None if node.clock is None else node.clock._asdict(),
                }
                for node in self.nodes
            ],
            "counts": self.counts,
            "states_without_isr": self.isr_untold,
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
    """What was found in the logs of a run."""
    clocks = {each.node: each for each in history.offsets}
    by_node: dict[tuple[int | None, str], list[tuple[int, int, int]]] = {}
    unread = [(str(each.path), each.reason) for each in history.found.unread]
    for file, (size, first, last, problem) in history.told.files.items():
        by_node.setdefault((file.node, file.node_role), []).append((size, first, last))
        if problem is not None:
            unread.append((str(file.path), problem))
    nodes = [
        FoundNode(
            *(node, role, len(files), sum(size for size, _, _ in files)),
            _first(first for _, first, _ in files),
            _last(last for _, _, last in files),
            clocks.get(node) if node is not None else None,
        )
        for (node, role), files in by_node.items()
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
        nodes=nodes,
        counts=counts,
        unread=unread,
        isr_untold=sum(not state.isr_told for state in states),
    )


def _first(times: Iterator[int]) -> str | None:
    known = [time_ms for time_ms in times if time_ms >= 0]
    return wall_clock(min(known)) if known else None


def _last(times: Iterator[int]) -> str | None:
    known = [time_ms for time_ms in times if time_ms >= 0]
    return wall_clock(max(known)) if known else None
