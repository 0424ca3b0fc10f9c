"""The stalls of a run, counted from rows in plain Python: an oracle that shares no code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from tidegauge.traces.run_folder import TraceRow

#: How figures of writes and of reads are called, and the rows with which stalls begin and end.
_KINDS = {
    "": ("produce_stalled", "produce_resumed"),
    "reads_": ("consume_stalled", "consume_resumed"),
}

Spans = dict[int, list[tuple[int, int]]]


class PlainStalls:
    """Collects the stalls of a run row by row."""

    def __init__(self) -> None:
        self._rows: list[TraceRow] = []

    def note(self, row: TraceRow) -> None:
        """Take a row of any kind."""
        if any(row.kind in kinds for kinds in _KINDS.values()):
            self._rows.append(row)

    def figures(self, from_us: int, ends_us: int) -> dict[str, float]:
        """The figures under the names that the summary gives them."""
        found: dict[str, float] = {}
        for reads, kinds in _KINDS.items():
            spans = self._spans(kinds, from_us, ends_us)
            lasted = [end - begin for each in spans.values() for begin, end in each]
            edges = sorted({at for each in spans.values() for span in each for at in span})
            at_once = (
                sum(begin <= at < end for each in spans.values() for begin, end in each)
                for at, _ in pairwise(edges)
            )
            found |= {
                f"partitions_{reads}stalled": len(spans),
                f"partitions_{reads}stalled_most": max(at_once, default=0),
                f"partition_seconds_{reads}stalled": sum(lasted) / 1e6,
                f"longest_{reads}stall_seconds": max(lasted, default=0) / 1e6,
            }
        return found

    def _spans(self, kinds: Iterable[str], from_us: int, ends_us: int) -> Spans:
        """When any client was stalled, of each partition that was."""
        begins, ends = kinds
        open_since: dict[tuple[int, int], int] = {}
        single: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for row in self._rows:
            key = (row["partition"], row["process"])
            if row.kind == begins:
                open_since[key] = row["time_us"]
            elif row.kind == ends:
                single[row["partition"]].append((open_since.pop(key), row["time_us"]))
        for (partition, _), since_us in open_since.items():
            single[partition].append((since_us, ends_us))
        united: Spans = {}
        for partition, spans in single.items():
            clipped = ((max(begin, from_us), min(end, ends_us)) for begin, end in spans)
            for begin, end in sorted(span for span in clipped if span[0] < span[1]):
                known = united.setdefault(partition, [])
                if known and begin <= known[-1][1]:
                    known[-1] = (known[-1][0], max(known[-1][1], end))
                else:
                    known.append((begin, end))
        return united
