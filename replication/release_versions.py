"""Versions: a release of Kafka, the protocol between brokers, and cells that apply from one on.

Both are ordered, and both are written as people write them: ``Release.parse("2.6")`` is the
last patch of its line, ``ProtocolVersion.parse("2.7")`` the last internal version of its line.
What names no version that exists is a ``ValueError`` that says what does.

A table of what differs between releases (``releases.py``, ``release_defaults.py``) has a tuple
of cells for each of its rows; see :class:`Cell`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Self

#: Last patch release of each line from the first supported release on.
LAST_PATCH = {
    "0.10.2": 2,
    "0.11.0": 3,
    "1.0": 2,
    "1.1": 1,
    "2.0": 1,
    "2.1": 1,
    "2.2": 2,
    "2.3": 1,
    "2.4": 1,
    "2.5": 1,
    "2.6": 3,
    "2.7": 2,
    "2.8": 2,
    "3.0": 2,
    "3.1": 2,
    "3.2": 3,
    "3.3": 2,
    "3.4": 1,
    "3.5": 2,
    "3.6": 2,
    "3.7": 2,
    "3.8": 1,
    "3.9": 2,
}

#: Last internal version (IV) of each line of ``inter.broker.protocol.version``, counted from
#: IV0; None where a line is one version without IV. All patches of a line know the same.
#: Source: ApiVersion.allVersions@0.10.2.0 to @3.2.3, MetadataVersion@3.3.0 to @3.9.0.
LAST_INTERNAL_VERSION = {
    "0.8.0": None,
    "0.8.1": None,
    "0.8.2": None,
    "0.9.0": None,
    "0.10.0": 1,
    "0.10.1": 2,
    "0.10.2": 0,
    "0.11.0": 2,
    "1.0": 0,
    "1.1": 0,
    "2.0": 1,
    "2.1": 2,
    "2.2": 1,
    "2.3": 1,
    "2.4": 1,
    "2.5": 0,
    "2.6": 0,
    "2.7": 2,
    "2.8": 1,
    "3.0": 1,
    "3.1": 0,
    "3.2": 0,
    "3.3": 3,
    "3.4": 0,
    "3.5": 2,
    "3.6": 2,
    "3.7": 4,
    "3.8": 0,
    "3.9": 0,
}

_NUMBERS = re.compile(r"0\.\d+(\.\d+){0,2}|[1-9]\d*\.\d+(\.\d+)?", re.ASCII)
_PROTOCOL = re.compile(r"(?P<release>[\d.]+)(-IV(?P<internal>\d+))?", re.ASCII)


@dataclass(frozen=True, order=True)
class Release:
    """A release of Kafka: (2, 6, 3), or (0, 10, 2, 2) before 1.0."""

    numbers: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """A release from its number; without a patch number the last patch of its line."""
        line, patch = _line_and_patch(text) or ((), None)
        last_patch = LAST_PATCH.get(_joined(line))
        if last_patch is None:
            raise _no_such_release(text)
        if patch is not None and patch > last_patch:
            raise _no_such_release(
                text, f"the last one of its line is {_joined(line)}.{last_patch}"
            )
        return cls((*line, last_patch if patch is None else patch))

    def protocol(self, setting: str | None = None) -> ProtocolVersion:
        """What a broker of this release speaks if ``inter.broker.protocol.version`` is set so.

        Unset, it is the last version of the release's line, and a release knows none beyond:
        trial versions, such as 3.9-IV0 in 3.8, do not count.
        """
        default = ProtocolVersion.parse(str(self))
        version = default if setting is None else ProtocolVersion.parse(setting)
        if version > default:
            raise ValueError(
                f"inter.broker.protocol.version {version} is newer than release {self}, "
                f"which knows versions up to {default}"
            )
        return version

    def __str__(self) -> str:
        return _joined(self.numbers)


def all_releases() -> list[Release]:
    """Every release that :meth:`Release.parse` accepts, the oldest first."""
    return [
        Release.parse(f"{line}.{patch}")
        for line, last_patch in LAST_PATCH.items()
        for patch in range(last_patch + 1)
    ]


@dataclass(frozen=True, order=True)
class ProtocolVersion:
    """A version of ``inter.broker.protocol.version``: ((2, 7), 2) is 2.7-IV2."""

    line: tuple[int, ...]
    internal: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """A version from its name; without IV the last one of its line, as in Kafka.

        As in Kafka, too, a patch number does no harm: 2.6.3 is 2.6.

        Source: ApiVersion.apply@2.8.0, MetadataVersion.fromVersionString@3.9.0.
        """
        match = _PROTOCOL.fullmatch(text.strip())
        line, patch = (match and _line_and_patch(match["release"])) or ((), None)
        if match is None or _joined(line) not in LAST_INTERNAL_VERSION:
            raise _no_such_protocol(text)
        last = LAST_INTERNAL_VERSION[_joined(line)]
        if match["internal"] is None:
            return cls(line, last or 0)
        internal = int(match["internal"])
        if patch is not None or last is None or internal > last:
            raise _no_such_protocol(text)
        return cls(line, internal)

    def __str__(self) -> str:
        line = _joined(self.line)
        return line if LAST_INTERNAL_VERSION[line] is None else f"{line}-IV{self.internal}"


def all_protocol_versions() -> list[ProtocolVersion]:
    """Every version of ``inter.broker.protocol.version``, the oldest first."""
    return [
        ProtocolVersion.parse(line if last is None else f"{line}-IV{internal}")
        for line, last in LAST_INTERNAL_VERSION.items()
        for internal in range((last or 0) + 1)
    ]


class Cell(NamedTuple):
    """A value, from when on it applies, and where that was read.

    Of the cells of a row the *last* one that applies gives the value. So a fix that came in a
    patch release as well as in the next line ("2.0.1 and 2.1.0") is one cell, since 2.0.1; one
    that came later in an older line (2.7.2 and 2.8.1) is taken back in between, by a cell since
    2.8.0.
    """

    #: The first release that it applies to, in full: 2.0.1, never 2.0.
    since: str
    value: int | str
    #: Methods of Kafka with the release in which they were read (``Class.method@release``),
    #: and the issue (KAFKA-n) or the proposal (KIP-n) if there is one.
    source: str
    #: Applies only to a broker that speaks this inter.broker.protocol.version or a newer one.
    protocol: str | None = None

    def applies(self, release: Release, protocol: ProtocolVersion) -> bool:
        """Whether it applies to a broker of this release that speaks this protocol."""
        if self.protocol is not None and protocol < ProtocolVersion.parse(self.protocol):
            return False
        return Release.parse(self.since) <= release


Table = dict[str, tuple[Cell, ...]]


def cells_that_apply(table: Table, release: str, protocol: str | None) -> dict[str, Cell]:
    """The cell of each row that gives its value; a row without one is left out."""
    parsed = Release.parse(release)
    version = parsed.protocol(protocol)
    applying = {
        name: [cell for cell in cells if cell.applies(parsed, version)]
        for name, cells in table.items()
    }
    return {name: cells[-1] for name, cells in applying.items() if cells}


@cache
def _line_and_patch(text: str) -> tuple[tuple[int, ...], int | None] | None:
    """2.6 and 2.6.3 -> (2, 6) and the patch, if any; a line has three numbers before 1.0."""
    if not _NUMBERS.fullmatch(text.strip()):
        return None
    numbers = tuple(int(number) for number in text.strip().split("."))
    if numbers == (0, 11):
        return (0, 11, 0), None
    size = 3 if numbers[0] == 0 else 2
    return numbers[:size], numbers[size] if len(numbers) > size else None


def _joined(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


def _no_such_release(text: str, reason: str = "") -> ValueError:
    if re.match(r"([4-9]|\d\d+)\.", text.strip()):
        reason = "from 4.0 on Kafka has no ZooKeeper"
    releases = all_releases()
    return ValueError(
        f"no release {text!r}{reason and f' ({reason})'}: there are {releases[0]} to "
        f"{releases[-1]}, in the lines {', '.join(LAST_PATCH)}; "
        "a line such as 2.6 means its last patch"
    )


def _no_such_protocol(text: str) -> ValueError:
    versions = all_protocol_versions()
    return ValueError(
        f"no inter.broker.protocol.version {text!r}: there are {versions[0]} to {versions[-1]}, "
        "such as 0.10.2-IV0 or 2.7-IV2; a line such as 2.7 means its last version"
    )
