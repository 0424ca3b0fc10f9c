"""Tables as compressed bytes, and back.

Tables have room for more rows than they use, and that room is zeros which take no memory. So a copy
ends with the last byte that is not zero, and restored rows behind it take no memory either.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import zstandard
from numpy.typing import NDArray

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.compiled.records import Records
from tidegauge.compiled.signatures import Tables

#: Level 3 takes twice as long and saves a tenth.
_COMPRESSION_LEVEL = 1

#: Bytes of a table that are searched at once for one that is not zero.
_CHUNK_BYTES = 1 << 18


class CopiedTable(NamedTuple):
    """The rows of a table at one moment."""

    rows: int
    row_bytes: int
    #: The bytes of all rows, up to the last one that is not zero.
    content: NDArray[np.uint8]


class DamagedTablesError(TidegaugeError):
    """Packed tables are not those that are to be restored; the message names the table."""


def copied(tables: Tables, *, without: Collection[str] = ()) -> dict[str, CopiedTable]:
    """A copy of all tables but those named in ``without``."""
    return {
        name: _copied(cast("NDArray[np.void]", rows))
        for name, rows in vars(tables).items()
        if name not in without
    }


def _copied(rows: NDArray[np.void]) -> CopiedTable:
    content = rows.view(np.uint8).reshape(-1)
    return CopiedTable(len(rows), rows.dtype.itemsize, content[: _used_bytes(content)].copy())


def _used_bytes(content: NDArray[np.uint8]) -> int:
    """The number of bytes up to the last one that is not zero, rounded up."""
    end = len(content)
    while end > 0:
        begin = (end - 1) // _CHUNK_BYTES * _CHUNK_BYTES
        if content[begin:end].any():
            break
        end = begin
    return end


def packed(copies: Mapping[str, CopiedTable]) -> dict[str, Any]:
    """Copied tables as msgpack takes them, compressed."""
    compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL)
    return {
        name: {
            "rows": each.rows,
            "row_bytes": each.row_bytes,
            "content": compressor.compress(each.content.data),
        }
        for name, each in copies.items()
    }


def restore(tables: Tables, saved: Mapping[str, Any], *, without: Collection[str] = ()) -> None:
    """Give tables the rows that :func:`packed` has saved, however many these are.

    Raises:
        DamagedTablesError: these are not the tables of that class, or their rows have another
            layout, or are damaged.
    """
    ours = {name: rows for name, rows in vars(tables).items() if name not in without}
    if ours.keys() != saved.keys():
        strange = sorted(ours.keys() ^ saved.keys())
        raise DamagedTablesError(f"tables differ: {', '.join(strange)}")
    for name, rows in ours.items():
        setattr(tables, name, unpacked(name, rows, saved[name]))


def unpacked(name: str, like: Records[Any], saved: Mapping[str, Any]) -> Records[Any]:
    """The rows of one table that :func:`packed` has saved.

    Args:
        name: the table's name, for an error.
        like: rows of the same record.
        saved: the entry of the table.

    Raises:
        DamagedTablesError: the rows have another layout, or are damaged.
    """
    layout = cast("NDArray[np.void]", like).dtype
    if saved["row_bytes"] != layout.itemsize:
        raise DamagedTablesError(
            f"a row of {name} has {saved['row_bytes']} bytes, not {layout.itemsize}"
        )
    try:
        content = zstandard.ZstdDecompressor().decompress(saved["content"])
    except zstandard.ZstdError as error:
        raise DamagedTablesError(f"{name} cannot be decompressed") from error
    restored: NDArray[np.void] = np.zeros(saved["rows"], layout)
    if len(content) > restored.nbytes:
        raise DamagedTablesError(f"{name} has more content than rows")
    restored.view(np.uint8).reshape(-1)[: len(content)] = np.frombuffer(content, np.uint8)
    return cast("Records[Any]", restored)
