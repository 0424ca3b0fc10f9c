"""A result table: its name, its documented columns, and the SQL over rows that makes it."""

import re
from typing import NamedTuple


class Column(NamedTuple):
    """One column of a result table."""

    name: str
    #: Spark's short name of the type: ``bigint``, ``string``, ``array<bigint>``, ...
    type: str
    #: ``us`` and ``ms`` of virtual time, ``records``, ``broker id``, ...; empty without a unit.
    unit: str
    meaning: str


class View(NamedTuple):
    """A source of several tables under a name: made once where it is needed, and never written."""

    name: str
    #: A query in Spark's dialect, with the functions of ``dialect.py``.
    sql: str
    #: The columns of which no two rows have the same values, if a window rests on that.
    key: tuple[str, ...] = ()
    #: It is much smaller than its source: it is made apart, also where one query alone reads it.
    is_small: bool = False


class ResultTable(NamedTuple):
    """A table that is made of the rows of one or many runs."""

    name: str
    #: One line: the meaning of a row.
    meaning: str
    columns: tuple[Column, ...]
    #: A query as that of a :class:`View`; it has the documented columns, in any order.
    sql: str
    #: The columns of which no two rows have the same values: rows are written in their order.
    key: tuple[str, ...] = ()

    @property
    def documented(self) -> str:
        """The query for exactly the columns that are documented, in their order."""
        columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind, *_ in self.columns)
        return f"select {columns} from (\n{self.sql}\n) as made"  # noqa: S608 - our own text

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which its rows are written in order, nulls last: the key, then the others.

        Rows that are equal in all columns are interchangeable, so that there is but one order.
        """
        return tuple(dict.fromkeys((*self.key, *(column.name for column in self.columns))))


_READ = re.compile(r"\b(?:from|join)\s+(\w+)")


def read_by(sql: str) -> set[str]:
    """The names that a query reads from: relations, and its own ``with`` queries."""
    return set(_READ.findall(sql))


#: The first columns of every table.
RUN = Column("run", "string", "", "name of the run: that of its folder")

#: The columns of tables about partitions.
PARTITION = (
    Column("partition", "bigint", "", "number of the partition within the cluster"),
    Column("topic", "string", "", "its topic"),
    Column("topic_partition", "string", "", "topic and number within it, as `orders-7`"),
)

#: The columns of tables of intervals; the end does not belong to the interval.
INTERVAL = (
    Column("begin_us", "bigint", "us", "when the interval begins"),
    Column("end_us", "bigint", "us", "when it ends: at the latest with the run"),
)

#: The columns of tables of single moments; with ``run`` it names one row of the trace.
MOMENT = (
    Column("time_us", "bigint", "us", "when the row was written"),
    Column("process", "bigint", "", "the process that wrote it: first half of its handle"),
    Column("sequence", "bigint", "", "its number there: second half of its handle"),
)

#: The columns of tables with followed causes.
FAULT = (
    Column(
        "fault",
        "bigint",
        "",
        "place in the scenario of the fault that it is charged to; null: none, or several share it",
    ),
    Column("fault_name", "string", "", "name of that fault; `one + other` if several share it"),
    Column("fault_us", "bigint", "us", "when it began, or ended if its end led to it"),
    Column("faults", "array<bigint>", "", "the places of all faults that have a part in it"),
)
