"""Runs in buckets, as Spark divides them: rows of a run are in the bucket of its name.

A relation whose files are buckets is read without a shuffle by every window, aggregate and join
that has ``run`` among its keys, as those of result tables have: a table of a thousand runs is one
stage. Bucket numbers are Spark's own (``pmod(hash(run), buckets)``), so that such files fit
relations that Spark has shuffled.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.rows.row_files import write_rows
from tidegauge.compiled.errors import TidegaugeError

_32_BITS = 0xFFFFFFFF
#: The seed of Spark's ``hash``.
_SEED = 42


def in_buckets(runs: Sequence[FoundRun], buckets: int) -> dict[int, list[FoundRun]]:
    """The runs of each bucket that has any, by its number."""
    found: dict[int, list[FoundRun]] = {}
    for run in runs:
        found.setdefault(hash_of(run.name) % buckets, []).append(run)
    return dict(sorted(found.items()))


def bucket_file(folder: Path, bucket: int) -> Path:
    """The file of a bucket, by whose name Spark knows its number (``BucketingUtils``)."""
    return folder / f"part-{bucket:05}_{bucket:05}.parquet"


def write_bucket(
    bucket: tuple[int, Sequence[FoundRun]], relations: Iterable[str], folder: Path, writer: str
) -> None:
    """Write relations of a bucket's runs, each file complete under its name or not at all.

    Executors call it, so that this module imports nothing that they lack.

    Args:
        bucket: its number, and its runs.
        relations: the names of kinds of rows, and of their origins.
        folder: each relation has a folder there.
        writer: the name of this attempt: another one may be at work, or have died.

    Raises:
        RunError, TraceError, OSError: a run cannot be read, or no file written.
    """
    number, runs = bucket
    names = list(relations)

    def incomplete(name: str) -> Path:
        file = bucket_file(folder / name, number)
        return file.with_name(f".{writer}-{file.name}")

    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
    write_rows(runs, names, incomplete, with_names=False)
    for name in names:
        os.replace(incomplete(name), bucket_file(folder / name, number))  # noqa: PTH105


def error_of_bucket(
    bucket: tuple[int, Sequence[FoundRun]], relations: Iterable[str], folder: Path, writer: str
) -> str | None:
    """The same in an executor: the error of a run that cannot be read, in one line."""
    try:
        write_bucket(bucket, relations, folder, writer)
    except TidegaugeError as error:
        return str(error)
    return None


def hash_of(text: str) -> int:
    """Spark's ``hash`` of a text: Murmur3 of 32 bits, ``Murmur3_x86_32.hashUnsafeBytes``.

    Words of four bytes come first. Each byte after the last word is a word of its own, with its
    sign, other than in Murmur3 as it was published.
    """
    content = text.encode()
    whole = len(content) // 4 * 4
    words = [int.from_bytes(content[at : at + 4], "little") for at in range(0, whole, 4)]
    words += [each & _32_BITS for each in np.frombuffer(content[whole:], np.int8).tolist()]
    mixed = _SEED
    for word in words:
        factor = _rotated(word * 0xCC9E2D51 & _32_BITS, 15) * 0x1B873593 & _32_BITS
        mixed = (_rotated(mixed ^ factor, 13) * 5 + 0xE6546B64) & _32_BITS
    mixed ^= len(content)
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _32_BITS
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _32_BITS
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _32_BITS
