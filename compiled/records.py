"""Records: rows of numpy structured arrays that compiled and plain code share.

The class of a record *is* its layout: the annotations name the columns and their types, and
``dtype_of`` turns them into a numpy dtype whose rows are instances of the class. So
``partitions[i].high_watermark`` reads and writes the array's memory, in plain Python and compiled
alike, and mypy knows the fields.

A table holds records of one layout: a head that all kinds share, and room behind it. Each kind has
a class that derives from the head and declares its fields in that room. :func:`view_as` gives a
record that type, over the same memory. It costs nothing when compiled: a pointer stays a pointer.
:func:`blank` sets the fields behind the head to their defaults; ``filled_records.py`` fills a free
record.

Numbers are 64 bits wide where they flow. A field for an index, an epoch or a state can be narrower
(``i32``, ``i8``): a table of millions of replicas is half as large then. Read, its value is an
``int64``, so plain arithmetic does not overflow where compiled code does not; a value that does not
fit is cut off when it is stored.

``record_views.py`` is the part for compiled code: readers of traces do without Numba.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Protocol,
    TypeVar,
    cast,
    get_origin,
    get_type_hints,
    overload,
)

import numpy as np
from numpy.typing import NDArray

i64 = Annotated[int, np.int64]
i32 = Annotated[int, np.int32]
i8 = Annotated[int, np.int8]
flag = Annotated[bool, np.bool_]


class RecordClass(type):
    """The class of classes of records: it takes the defaults of fields out of the class.

    Left there, they would hide the fields. A class that is a *head* has the fields that the classes
    derived from it share; the fields that these declare are their body.
    """

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        head: bool = False,
        **options: Any,
    ) -> RecordClass:
        """Make a class of records."""
        own = namespace.get("__annotations__", {})
        defaults = {
            field: namespace.pop(field, 0)
            for field in [each for each, hint in own.items() if "ClassVar" not in str(hint)]
        }
        inherited = [base for base in bases if isinstance(base, RecordClass)]
        for attribute, declared in (("_defaults", defaults), ("_body", {} if head else defaults)):
            of_bases: dict[str, Any] = {}
            for base in inherited:
                of_bases |= getattr(base, attribute)
            namespace[attribute] = of_bases | declared
        return super().__new__(cls, name, bases, namespace, **options)

    def __init__(cls, *arguments: Any, **_options: Any) -> None:
        super().__init__(*arguments)


if TYPE_CHECKING:
    # numpy's stubs forbid deriving from `np.record`, which numpy allows.
    class Record(metaclass=RecordClass):
        """A row of a structured array; see the module's docstring."""

        dtype: np.dtype[np.void]

else:

    class Record(np.record, metaclass=RecordClass):
        """A row of a structured array; see the module's docstring."""


R = TypeVar("R", bound=Record)
R_co = TypeVar("R_co", bound=Record, covariant=True)


class Records(Protocol[R_co]):
    """A one-dimensional array of records."""

    @overload
    def __getitem__(self, index: int) -> R_co: ...

    @overload
    def __getitem__(self, index: slice) -> Records[R_co]: ...

    def __setitem__(self, index: int, row: Record) -> None: ...

    def __iter__(self) -> Iterator[R_co]: ...

    def __len__(self) -> int: ...

    @property
    def ctypes(self) -> Any:
        """The address, as numpy has it, for system calls (``engine/exchange/system_calls.py``)."""


def dtype_of(record: type[Record]) -> np.dtype[np.void]:
    """The numpy dtype of a record's rows: of each class the widest fields first, behind its bases.

    So nothing is lost between a flag and a number, and a record is one of its bases too.
    """
    return _laid_out(cast("Any", record))  # mypy takes no class for hashable


#: Bytes of a number that is read, and the alignment of a record within a record.
_WIDTH = 8


@cache
def _laid_out(record: Any) -> np.dtype[np.void]:
    hints = get_type_hints(record, include_extras=True)
    formats = {
        # A record inside a record, or a number.
        name: dtype_of(hint) if isinstance(hint, type) else np.dtype(hint.__metadata__[0])
        for name, hint in hints.items()
        if get_origin(hint) is not ClassVar
    }
    offsets: dict[str, int] = {}
    end = 0
    for declaring in reversed(record.__mro__):
        declared = vars(declaring).get("__annotations__", {})
        # A class that gives a field of its base another default declares it again.
        own = [name for name in declared if name in formats and name not in offsets]
        for name in sorted(own, key=lambda each: -_alignment(formats[each])):
            offsets[name] = _multiple(end, _alignment(formats[name]))
            end = offsets[name] + formats[name].itemsize
    size = _multiple(end, max(map(_alignment, formats.values()), default=1))
    # In their order in memory: numpy makes no buffer of others, and rules take records as buffers.
    names = sorted(formats, key=offsets.__getitem__)
    layout = np.dtype(
        {
            "names": names,
            "formats": [formats[name] for name in names],
            "offsets": [offsets[name] for name in names],
            "itemsize": size,
        },
        align=True,
    )
    for name, each in formats.items():
        if each.kind == "i" and each.itemsize < _WIDTH:
            setattr(record, name, _widened(name))
        # numpy gives a record within a record the class of the outer one, which does not widen it.
        assert all(inner.itemsize in (1, _WIDTH) for inner, *_ in (each.fields or {}).values())
    return np.dtype((record, layout))


def _alignment(each: np.dtype[Any]) -> int:
    return _WIDTH if each.fields is not None else each.alignment


def _multiple(size: int, alignment: int) -> int:
    """The size, rounded up to a multiple of the alignment."""
    return -(-size // alignment) * alignment


def _widened(name: str) -> property:
    """How plain code reads a narrow field; ``numpy.record`` stores it by its layout alone."""
    return property(lambda row: np.int64(row.getfield(*row.dtype.fields[name][:2])))


def body_of(record: type[Record]) -> Mapping[str, int]:
    """The fields behind the head, each with the default that its class gives it, or 0."""
    return cast("Mapping[str, int]", cast("Any", record)._body)  # noqa: SLF001 - RecordClass sets it


def nested_in(record: type[Record], field: str) -> type[Record] | None:
    """The class of the record that a field holds; None for a number."""
    layout = cast("Any", dtype_of(record).fields)[field][0]
    return cast("type[Record]", layout.type) if layout.fields is not None else None


def _set_defaults(rows: NDArray[np.void], record: type[Record]) -> None:
    for field, default in cast("Any", record)._defaults.items():  # noqa: SLF001 - RecordClass sets it
        nested = nested_in(record, field)
        if nested is not None:
            _set_defaults(rows[field], nested)
        elif default != 0:
            rows[field] = default


@cache
def _at_defaults(record: Any) -> NDArray[np.void]:
    """A row of a record, all fields at their defaults."""
    row: NDArray[np.void] = np.zeros(1, dtype=dtype_of(record))
    _set_defaults(row, record)
    return row


def _as_bytes(rows: NDArray[np.void]) -> NDArray[np.void]:
    """The same rows without fields: numpy copies them as a whole, in a fifth of the time."""
    return rows.view(np.dtype((np.void, rows.dtype.itemsize)))


def new_records(record: type[R], count: int) -> Records[R]:
    """An array of ``count`` records, all fields at their defaults.

    Rows that are zeros take no memory until they are touched.
    """
    rows: NDArray[np.void] = np.zeros(count, dtype=dtype_of(record))
    row = _at_defaults(cast("Any", record))
    if any(row.tobytes()):
        _as_bytes(rows)[:] = _as_bytes(row)
    return cast("Records[R]", rows)  # numpy has no type for rows of a class


def column(rows: Records[R], field: str) -> NDArray[np.int64]:
    """One field of all rows, as an array that shares their memory."""
    columns = cast("NDArray[np.void]", rows)
    return cast("NDArray[np.int64]", columns[field])


def grown(rows: Records[R], count: int) -> Records[R]:
    """A copy with room for ``count`` rows, the fields of those that are new at their defaults."""
    old = cast("NDArray[np.void]", rows)
    longer = cast("NDArray[np.void]", new_records(old.dtype.type, count))
    _as_bytes(longer)[: len(old)] = _as_bytes(old)
    return cast("Records[R]", longer)


def lengthened(rows: Records[R], used: int, count: int) -> Records[R]:
    """A copy of the first ``used`` rows with room for ``count``; those behind are zeros.

    They take no memory until they are touched.
    """
    old = cast("NDArray[np.void]", rows)
    longer: NDArray[np.void] = np.zeros(count, dtype=old.dtype)
    longer[:used] = old[:used]
    return cast("Records[R]", longer)


def new_record(record: type[R]) -> R:
    """One record, all fields at their defaults."""
    return new_records(record, 1)[0]


Function = TypeVar("Function", bound=Callable[..., Any])


def view_as(record: Record, record_class: type[R]) -> R:
    """The record as one of another class, over the same memory.

    The caller ensures that the memory is large enough, and holds such a record.
    """
    address = cast("Any", record).__array_interface__["data"][0]
    layout = dtype_of(record_class)
    memory = (ctypes.c_char * layout.itemsize).from_address(address)
    return cast("R", np.ndarray((), layout, buffer=cast("Any", memory))[()])


def blank(record: Record, record_class: type[R]) -> R:
    """The record as one of another class, with the fields behind the head set to their defaults."""
    seen = view_as(record, record_class)
    for name, default in body_of(record_class).items():
        nested = nested_in(record_class, name)
        if nested is None:
            setattr(seen, name, default)
        else:
            blank(getattr(seen, name), nested)
    return seen


#: Modules that implement methods of records, by the modules that declare these: code that calls a
#: method is made of both, and imports the first alone (``kept_code.py``).
IMPLEMENTED_IN: dict[str, set[str]] = {}


class RecordMethod:
    """A function of a class of records, which a room above the class declares (``made_by``)."""

    def __init__(self, declared_in: str, implemented_in: str) -> None:
        """Declare the method in a module; another one has the function, and imports the first."""
        IMPLEMENTED_IN.setdefault(declared_in, set()).add(implemented_in)
        #: Takes the class first; and how Numba types its calls.
        self.function: Callable[..., Any]
        self.template: Any

    def __get__(self, _record: object, record_class: type[R]) -> Callable[..., R]:
        return partial(self.function, record_class)
