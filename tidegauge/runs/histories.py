"""Histories of a run: its states, elections and ISR changes as named tuples over result tables.

A history is read in SQL (``analysis/tables``) and lies in memory as an Arrow table. A row of it is
a named tuple; as a whole it is a DataFrame of pandas or Polars, if that is installed.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from importlib import import_module
from typing import Any, Generic, NamedTuple, TypeVar, overload

from tidegauge.runs.run import Run
from tidegauge.scenario.text.errors import counted

#: Rows of a history that its text shows.
_SHOWN = 10


class PartitionState(NamedTuple):
    """A state of a partition that the control plane held; replicas are ids of brokers."""

    #: Such as ``orders-0``.
    partition: str
    topic: str
    begin_us: int
    #: None: it lasts as the trace ends.
    end_us: int | None
    #: None: it has no leader.
    leader: int | None
    leader_is_active: bool
    #: None: it has no state yet.
    leader_epoch: int | None
    isr: Sequence[int]
    replicas: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]
    #: With KRaft: the eligible leader replicas, and the last leader if none may lead; else none.
    eligible_leaders: Sequence[int]
    last_known_leader: int | None
    min_insync_replicas: int

    @property
    def number(self) -> int:
        """Its number within its topic."""
        return int(self.partition.removeprefix(f"{self.topic}-"))

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is not in the ISR; one that is being added does not count."""
        return len(self.isr) < len(self.replicas) - len(self.adding)

    @property
    def is_unavailable(self) -> bool:
        """Whether it has no registered leader."""
        return self.leader is None or not self.leader_is_active

    @property
    def is_under_min_isr(self) -> bool:
        """Whether its ISR is too small for writes with acks=all, or it has no leader.

        JMX, tables and figures count partitions with a leader only (Partition.isUnderMinIsr).

        Source: TopicCommand.PartitionDescription.isUnderMinIsr@3.9.0.
        """
        return self.leader is None or len(self.isr) < self.min_insync_replicas


class BrokerState(NamedTuple):
    """A state of a broker; its states cover the whole run without gaps."""

    broker: int
    begin_us: int
    end_us: int
    #: ``down``, ``loading`` its logs, or ``up``.
    process_state: str
    #: A fault pauses its process.
    paused: bool
    #: The control plane has it.
    registered: bool


class Election(NamedTuple):
    """A leader that the controller chose for one partition."""

    time_us: int
    partition: str
    topic: str
    #: None: no replica may lead.
    leader: int | None
    old_leader: int | None
    leader_epoch: int
    isr: Sequence[int]
    #: It differs from the leader before: figures count only these.
    is_new: bool
    #: The leader was not in the ISR.
    unclean: bool
    #: From the fault to the first use of the leader, as far as it is known.
    total_us: int | None
    #: The name of the fault that it is charged to; None: there is none.
    fault_name: str | None
    #: For ``tidegauge show cause``.
    handle: str


class IsrChange(NamedTuple):
    """A change of one ISR."""

    time_us: int
    partition: str
    topic: str
    #: ``shrink`` and ``expand`` by the leader, ``removal`` by the controller.
    change: str
    #: None: the controller made it.
    by_leader: int | None
    leader_epoch: int
    #: The ISR since then.
    isr: Sequence[int]
    #: The brokers that left or joined it.
    brokers: Sequence[int]
    #: For a shrink: the longest time for which one of these had not caught up.
    lag_ms: int | None
    fault_name: str | None
    handle: str


SomeRow = TypeVar("SomeRow", bound=NamedTuple)


class History(Sequence[SomeRow], Generic[SomeRow]):
    """Rows in order, each a named tuple; whole as Arrow, pandas or Polars."""

    def __init__(self, table: Any, row: Callable[..., SomeRow]) -> None:
        """Take an Arrow table, and the class of its rows, whose fields are its columns."""
        self._table = table
        self._row = row

    @cached_property
    def _rows(self) -> list[SomeRow]:
        return [self._row(*each.values()) for each in self._table.to_pylist()]

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @overload
    def __getitem__(self, place: int) -> SomeRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[SomeRow]: ...
    def __getitem__(self, place: int | slice) -> SomeRow | list[SomeRow]:
        return self._rows[place]

    def __iter__(self) -> Iterator[SomeRow]:
        return iter(self._rows)

    def arrow(self) -> Any:
        """The rows as an Arrow table."""
        return self._table

    def pandas(self) -> Any:
        """The rows as a DataFrame of pandas.

        Raises:
            ImportError: pandas is not installed.
        """
        # An integer that may be missing stays one: broker 1, not 1.0.
        integers = {_installed("pyarrow").int64(): _installed("pandas").Int64Dtype()}
        return self._table.to_pandas(types_mapper=integers.get)

    def polars(self) -> Any:
        """The rows as a DataFrame of Polars.

        Raises:
            ImportError: Polars is not installed.
        """
        return _installed("polars").from_arrow(self._table)

    def _cells(self) -> list[list[str]]:
        names = [self._table.column_names]
        return [*names, *([str(each) for each in row] for row in self[:_SHOWN])]

    @property
    def _more(self) -> str:
        of_all = counted(len(self), "row")
        return of_all if len(self) <= _SHOWN else f"the first {_SHOWN} of {of_all}"

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([*lines, f"({self._more})"])

    def _repr_html_(self) -> str:
        """The same as HTML, for a notebook."""
        head, *rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._cells())
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        caption = f"<caption>{self._more}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _installed(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError as error:
        raise ImportError(f"{library} is not installed: pip install {library}") from error


#: The columns of tables with another name here.
_COLUMNS = {"partition": "topic_partition", "handle": "concat(process, ':', sequence)"}


def _history(run: Run, row: type[SomeRow], source: str) -> History[SomeRow]:
    """The rows that a query finds after its ``from``."""
    columns = ", ".join(f"{_COLUMNS.get(name, name)} as {name}" for name in row._fields)
    return History(run.tables.arrow(f"select {columns} from {source}"), row)


def partition_states(run: Run, at_us: int | None = None) -> History[PartitionState]:
    """The states of all partitions over time, or those at one time, in the order of partitions.

    Raises:
        TraceError: a trace file is damaged.
    """
    at = "true" if at_us is None else f"begin_us <= {at_us} and coalesce({at_us} < end_us, true)"
    source = f"described_states where {at} order by described_states.partition, begin_us"
    return _history(run, PartitionState, source)


def broker_states(run: Run) -> History[BrokerState]:
    """The states of all brokers over time, broker by broker."""
    return _history(run, BrokerState, "broker_states order by broker, begin_us")


def elections(run: Run) -> History[Election]:
    """The elections of partitions' leaders, in their order."""
    return _history(run, Election, "elections order by time_us, process, sequence")


def isr_changes(run: Run) -> History[IsrChange]:
    """The changes of ISRs, in their order."""
    return _history(run, IsrChange, "isr_changes order by time_us, process, sequence")


def selected(run: Run, sql: str) -> History[Any]:
    """The rows that a query finds in the run's result tables.

    Raises:
        KeyError, RunError, ScenarioError, TraceError, OSError: as :meth:`RunTables.make`.
    """
    return _of_table(run.tables.arrow(sql))


def history_of(rows: Iterable[Mapping[str, Any]]) -> History[Any]:
    """Rows by the names of their columns."""
    return _of_table(_installed("pyarrow").Table.from_pylist(list(rows)))


def _of_table(table: Any) -> History[Any]:
    return History(table, namedtuple("Row", table.column_names, rename=True))  # noqa: PYI024
