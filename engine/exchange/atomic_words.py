"""Words of memory that several processes share, each read and written in one step.

Groups on one machine tell each other how far they are by words in shared memory
(``shared_memory.py``). A word is written behind all that was written before it, and what is read
after it is at least as new. On x86 both are plain moves, so they cost no more than any other.

Plain Python reads and writes by way of ``ctypes``; what has to be one step there is compiled, too.
"""

import ctypes
import platform
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it comes without types
from numba import types
from numba.extending import lower_builtin, type_callable

from tidegauge.compiled.records import R, Records
from tidegauge.compiled.signatures import TableType, address_of_table

_WORD = ir.IntType(64)
_IS_X86 = platform.machine() in {"x86_64", "AMD64"}
_IS_ARM = platform.machine() in {"aarch64", "arm64"}


def load_word(address: int) -> int:
    """The word at an address; what its writer wrote before it is there, too."""
    return int(ctypes.c_int64.from_address(int(address)).value)


def store_word(address: int, value: int) -> None:
    """Write a word behind all that was written before."""
    ctypes.c_int64.from_address(int(address)).value = int(value)


def lower_word(address: int, value: int) -> None:
    """Write a word if it is less than the one that is there, before all that is read then."""
    _compiled_steps()[0](int(address), int(value))


def swap_word(address: int, value: int) -> int:
    """Write a word before all that is read then; the word that was there."""
    return int(_compiled_steps()[1](int(address), int(value)))


def copy_words(to: int, source: int, words: int) -> None:
    """Copy words from one address to another."""
    ctypes.memmove(int(to), int(source), 8 * int(words))


def fence() -> None:
    """Write all that was written before all that is read from now on."""


def pause() -> None:
    """Let the processor do less while a word is polled: some 40 ns."""


def address_of(records: Records[R], index: int) -> int:
    """The address of a record of a table of the kernel."""
    return int(records.ctypes.data) + int(index) * int(np.asarray(records).dtype.itemsize)


def cycle_count() -> int:
    """The processor's clock, in ticks of its own; reading it takes 10 ns."""
    return time.perf_counter_ns()


@cache
def _compiled_steps() -> tuple[Callable[..., Any], Callable[..., Any]]:
    @numba.njit  # type: ignore[untyped-decorator]  # Numba has no types
    def lower(address: Any, value: Any) -> Any:
        lower_word(address, value)

    @numba.njit  # type: ignore[untyped-decorator]  # ...
    def swap(address: Any, value: Any) -> Any:
        return swap_word(address, value)

    return lower, swap


# The compiled steps.

_NUMBER = types.Integer
_PARAMETERS: dict[int, Callable[..., Any]] = {
    1: lambda result: lambda _context: lambda _one: result,
    2: lambda result: lambda _context: lambda _one, _other: result,
    3: lambda result: lambda _context: lambda _one, _other, _third: result,
    0: lambda result: lambda _context: lambda: result,
}


def _compiled_as(function: Any, parameters: int, result: Any) -> Callable[..., Any]:
    """Let this generate the code of a function of so many numbers, as 64 bits each."""
    type_callable(function)(_PARAMETERS[parameters](result))

    def lower(generate: Callable[..., Any]) -> Callable[..., Any]:
        @lower_builtin(function, *[_NUMBER] * parameters)  # type: ignore[untyped-decorator]  # ...
        def _lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = [
                context.cast(builder, argument, given, types.int64)
                for argument, given in zip(arguments, signature.args, strict=True)
            ]
            found = generate(builder, *words)
            return context.get_dummy_value() if result is types.none else found

        return generate

    return lower


def _word_at(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _WORD.as_pointer())


@_compiled_as(load_word, 1, types.int64)
def _load_word(builder: Any, address: Any) -> Any:
    return builder.load_atomic(_word_at(builder, address), "acquire", 8)


@_compiled_as(store_word, 2, types.none)
def _store_word(builder: Any, address: Any, value: Any) -> None:
    builder.store_atomic(value, _word_at(builder, address), "release", 8)


@_compiled_as(lower_word, 2, types.none)
def _lower_word(builder: Any, address: Any, value: Any) -> None:
    builder.atomic_rmw("min", _word_at(builder, address), value, "seq_cst")


@_compiled_as(swap_word, 2, types.int64)
def _swap_word(builder: Any, address: Any, value: Any) -> Any:
    return builder.atomic_rmw("xchg", _word_at(builder, address), value, "seq_cst")


@_compiled_as(copy_words, 3, types.none)
def _copy_words(builder: Any, to: Any, source: Any, words: Any) -> None:
    byte = ir.IntType(8).as_pointer()
    copy = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, _WORD])
    ends = [builder.inttoptr(address, byte) for address in (to, source)]
    builder.call(copy, [*ends, builder.shl(words, _WORD(3)), ir.IntType(1)(0)])


@_compiled_as(fence, 0, types.none)
def _fence(builder: Any) -> None:
    builder.fence("seq_cst")


@_compiled_as(pause, 0, types.none)
def _pause(builder: Any) -> None:
    if _IS_X86:
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", [], kind), [])


@_compiled_as(cycle_count, 0, types.int64)
def _cycle_count(builder: Any) -> Any:
    kind = ir.FunctionType(_WORD, [])
    if _IS_ARM:
        # LLVM's own counter is the system's alone there.
        return builder.call(ir.InlineAsm(kind, "mrs $0, cntvct_el0", "=r"), [])
    return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", [], kind), [])


@type_callable(address_of)  # type: ignore[untyped-decorator]  # ...
def _typed_address(_context: Any) -> Any:
    return lambda _records, _index: types.int64


@lower_builtin(address_of, TableType, types.Integer)  # type: ignore[untyped-decorator]  # ...
def _address_of(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    table, index = arguments
    number = context.cast(builder, index, signature.args[1], types.int64)
    begin = builder.ptrtoint(address_of_table(builder, table), _WORD)
    size = _WORD(signature.args[0].dtype.size)
    return builder.add(begin, builder.mul(number, size))
