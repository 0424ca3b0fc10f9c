"""The files of ``--properties``: a file, a folder of such files, or a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path

from tidegauge.real_cluster.describe.input_file import input_error
from tidegauge.real_cluster.describe.server_properties import read_server_properties

_PATTERN = "*.properties"


def properties_files(given: Sequence[Path]) -> list[Path]:
    """The files that are given, each once; those of a folder or pattern in the order of names.

    A folder such as Kafka's own ``config`` has other files, too: if any of its files names a broker
    (broker.id or node.id), only those files are used.

    Raises:
        InputError: a folder has no such file, a pattern matches none, or a file cannot be read.
    """
    return list(dict.fromkeys(file for each in given for file in _files_at(each)))


def _files_at(given: Path) -> Iterator[Path]:
    if given.is_dir():
        files = sorted(file for file in given.glob(_PATTERN) if file.is_file())
        if not files:
            raise input_error(given, None, f"has no file {_PATTERN}")
        of_brokers = [
            file for file in files if read_server_properties(file).broker_id() is not None
        ]
        yield from of_brokers or files
    elif has_magic(str(given)) and not given.exists():
        files = sorted(Path(match) for match in glob(str(given)) if Path(match).is_file())  # noqa: PTH207 - pathlib's takes no absolute pattern
        if not files:
            raise input_error(given, None, "matches no file")
        yield from files
    else:
        yield given
