"""Loads of records into the processor's cache before rules need them.

The tables of a cluster are far larger than a cache, so a rule's first look at a replica waits some
150 ns for memory, and each look that rests on it waits again: with 60,000 replicas that was two
thirds of the loop's time. Memory answers many requests in the time of one. So the loop has the
processor load what the next event will look at, while it handles one. A load reads and changes
nothing that a rule sees: any place will do, also one outside of the table.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]  # it comes without types
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from tidegauge.compiled.records import R, Records
from tidegauge.compiled.signatures import TableType, address_of_table

#: Bytes that a processor loads at once.
_LINE = 64

_NUMBER = ir.IntType(64)


def prefetch(records: Records[R], first: int, count: int) -> None:
    """Have the processor load ``count`` records from a place on; in plain Python nothing."""


@type_callable(prefetch)  # type: ignore[untyped-decorator]  # Numba has no types
def _typed(_context: Any) -> Any:
    return lambda _records, _first, _count: types.none


@lower_builtin(prefetch, TableType, types.Integer, types.Integer)  # type: ignore[untyped-decorator]
def _prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """A loop through lines: a function would be compiled for each table, 1 s in each process."""
    table, *numbers = arguments
    first, length = (
        builder.mul(
            context.cast(builder, number, given, types.int64), _NUMBER(signature.args[0].dtype.size)
        )
        for number, given in zip(numbers, signature.args[1:], strict=True)
    )
    begin = builder.add(builder.ptrtoint(address_of_table(builder, table), _NUMBER), first)
    line = builder.and_(begin, _NUMBER(-_LINE))
    stop = builder.add(begin, length)
    with cgutils.for_range_slice(builder, line, stop, _NUMBER(_LINE), _NUMBER) as (at, _):
        _load_line(builder, at)
    return context.get_dummy_value()


def _load_line(builder: Any, address: Any) -> None:
    pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    load = builder.module.declare_intrinsic(
        "llvm.prefetch",
        [pointer],
        ir.FunctionType(ir.VoidType(), [pointer, number, number, number]),
    )
    # To be read, into all levels of the cache, as data.
    hints = [number(0), number(3), number(1)]
    builder.call(load, [builder.inttoptr(address, pointer), *hints])
