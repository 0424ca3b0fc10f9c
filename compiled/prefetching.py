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
from numba.extending import intrinsic, overload

from tidegauge.compiled.records import R, Records
from tidegauge.compiled.signatures import address_of_table

#: Bytes that a processor loads at once.
_LINE = 64


def prefetch(records: Records[R], first: int, count: int) -> None:
    """Have the processor load ``count`` records from a place on; in plain Python nothing."""


@overload(prefetch)
def _prefetch(records, first, count):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, ARG001 - Numba's wish
    size = records.dtype.size

    def load(records, first, count):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202 - Numba's wish
        begin = _address_of(records) + first * size
        line = begin - begin % _LINE
        while line < begin + count * size:
            _load_line(line)
            line += _LINE

    return load


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def _address_of(_context: Any, records: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(address_of_table(builder, arguments[0]), ir.IntType(64))

    return types.int64(records), generate


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def _load_line(_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        load = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [pointer],
            ir.FunctionType(ir.VoidType(), [pointer, number, number, number]),
        )
        # To be read, into all levels of the cache, as data.
        hints = [number(0), number(3), number(1)]
        builder.call(load, [builder.inttoptr(arguments[0], pointer), *hints])
        return context.get_dummy_value()

    return types.none(address), generate
