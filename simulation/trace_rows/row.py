"""The columns of all rows of the trace, and how a kind of row is declared.

A kind of row is a class: its docstring is the time at which it is written, ``STORY`` is its text
for an operator with columns in braces (the noun of a count follows a colon), and its fields are its
columns in their order. A field's type (``columns.py``) is the meaning of the integer.
"""

from typing import Annotated, ClassVar, NamedTuple, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Record, RecordMethod, i64
from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.columns import Column

#: The most columns of its own that a row can have.
ROW_VALUES = 10
row_values = Annotated[NDArray[np.int64], (np.int64, (ROW_VALUES,))]


class RowKind(NamedTuple):
    """One kind of row, as readers of traces know it."""

    number: int
    name: str
    #: The columns of its own, in order.
    columns: tuple[str, ...]
    #: Numbered and hashed; else a sample, or a detail of a single request.
    canonical: bool
    #: Recorded at level ``all`` only.
    detail: bool
    meaning: str
    #: Its words for an operator.
    story: str
    #: The meanings of its columns.
    described: dict[str, Column]


#: All kinds whose classes are imported, by number; ``schema.py`` imports all.
KINDS: dict[int, RowKind] = {}


#: ``write_row`` and ``new_row`` of ``rows.py``.
WRITE, NEW = (RecordMethod(__name__, "tidegauge.simulation.rows") for _ in range(2))


class Row(Record, head=True):
    """One row of the trace: the columns of every kind."""

    write, new = WRITE, NEW

    time_us: column.TimeUs
    #: The process that it is about, and its place among that process's canonical rows.
    process: column.Process
    sequence: column.Sequence
    #: 0 for a canonical row, else its place after the last canonical one.
    minor: column.Minor
    #: ``KIND`` of its class.
    kind: i64
    #: The canonical row that triggered it.
    cause_process: column.CauseProcess
    cause_sequence: column.CauseSequence
    #: Its reason, if that is not the cause: a fault for which something did not arrive, or
    #: the row about just this broker or partition, where the cause is about many.
    because_process: column.BecauseProcess
    because_sequence: column.BecauseSequence

    #: The number of a kind; 0: it is none.
    KIND: ClassVar[int] = 0
    #: Its words for an operator.
    STORY: ClassVar[str] = ""

    def __init_subclass__(
        cls, number: int = 0, canonical: bool = False, detail: bool = False
    ) -> None:
        """Enter a kind of row, if it has a number.

        Raises:
            TypeError: it has more columns than fit, or another kind has its number.
        """
        super().__init_subclass__()
        if number == 0:
            return
        described = described_columns(cls)
        if len(described) > ROW_VALUES or number in KINDS:
            raise TypeError(f"{cls.__name__}: too many columns, or number {number} is taken")
        cls.KIND = number
        KINDS[number] = RowKind(
            number,
            _name_of(cls),
            tuple(described),
            canonical,
            detail,
            " ".join((cls.__doc__ or "").split()),
            cls.STORY,
            described,
        )


SomeRow = TypeVar("SomeRow", bound=Row)


class RowSlot(Row):
    """A row of any kind as it lies in ``Kernel.rows``: columns of its kind are ``values``."""

    values: row_values


class CanonicalRow(Row):
    """A row that is numbered and hashed: a state transition, a fault, a refusal."""

    def __init_subclass__(cls, number: int = 0) -> None:
        """Enter a kind of canonical rows."""
        super().__init_subclass__(number=number, canonical=True)


class PartitionRow(CanonicalRow):
    """A canonical row about a partition."""

    partition: column.Partition


class Sample(Row):
    """A row of what is looked at every ``sample_every`` of the scenario; it changes nothing."""

    def __init_subclass__(cls, number: int = 0) -> None:
        """Enter a kind of samples."""
        super().__init_subclass__(number=number)


class Detail(Row):
    """A row about a single request, recorded at level ``all`` only; it changes nothing."""

    def __init_subclass__(cls, number: int = 0) -> None:
        """Enter a kind of details."""
        super().__init_subclass__(number=number, detail=True)


def described_columns(row: type[Row]) -> dict[str, Column]:
    """The columns of a class of rows in order; those of every row are :class:`Row`'s alone."""
    hints = get_type_hints(row, include_extras=True)
    common = {} if row is Row else get_type_hints(Row)
    return {
        name: described
        for name, hint in hints.items()
        if name not in common
        for described in getattr(hint, "__metadata__", ())[1:]
    }


def _name_of(row: type[Row]) -> str:
    """The name of a kind in traces: that of its class, in small letters."""
    name = row.__name__
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name).lstrip("_")
