"""The last sample of each replica: what it says, and when it was taken.

A replica has a row only at a sample that finds other ends than the one before
(``simulation/trace_rows/detail_rows.py``). So the rows of two replicas, or of a replica and of
other events, are not put beside each other by their own times: a row holds until the last sample at
which its replica was hosted.
"""

from tidegauge.traces.run_folder import ORDER, RunFolder, TraceRow

_KINDS = frozenset({"sampled", "no_longer_sampled", "broker_sampled"})


def last_samples(
    run: RunFolder, until_us: int | None = None, process: int | None = None
) -> list[TraceRow]:
    """The last ``sampled`` row of each replica up to a time, each at the last sample it holds at.

    Args:
        run: the run.
        until_us: rows up to this time; None: all.
        process: replicas of this process only; None: of all.

    Returns:
        Rows with the place of that sample, in the total order.

    Raises:
        TraceError: a trace file is damaged.
    """
    processes: dict[int, _Samples] = {}
    for row in run.all_rows(process=process, wanted=lambda kind: kind.name in _KINDS):
        if until_us is not None and row["time_us"] > until_us:
            break
        processes.setdefault(row["process"], _Samples()).take(row)
    found = (row for samples in processes.values() for row in samples.last())
    return sorted(found, key=lambda row: row.place)


class _Samples:
    """The samples of one process."""

    def __init__(self) -> None:
        #: The last ``broker_sampled``, and how many replicas have a row since.
        self._taken: TraceRow | None = None
        self._written = 0
        #: By partition: rows that still hold, and those of replicas that are gone.
        self._rows: dict[int, TraceRow] = {}
        self._gone: dict[int, TraceRow] = {}

    def take(self, row: TraceRow) -> None:
        """Take the next row."""
        if row.kind == "sampled":
            self._rows[row["partition"]] = row
            self._written += 1
        elif row.kind == "no_longer_sampled":
            self._end(row["partition"])
        else:
            if self._written >= row["partitions"]:
                # All that it hosts has a row: a process has begun, or a release writes all.
                stale = [n for n, each in self._rows.items() if each["time_us"] < row["time_us"]]
                for partition in stale:
                    self._end(partition)
            self._taken, self._written = row, 0

    def last(self) -> list[TraceRow]:
        """The last row of each replica, at the place of the last sample it holds at."""
        return [*({**self._gone, **{n: self._held(row) for n, row in self._rows.items()}}).values()]

    def _end(self, partition: int) -> None:
        if partition in self._rows:
            self._gone[partition] = self._held(self._rows.pop(partition))

    def _held(self, row: TraceRow) -> TraceRow:
        """A row at the last sample, if that is later."""
        taken = self._taken
        if taken is None or taken.place < row.place:
            return row
        return TraceRow(row.kind, row.columns | {name: taken[name] for name in ORDER})
