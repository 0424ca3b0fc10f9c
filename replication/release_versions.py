"""Versions: a release of Kafka, the protocol between brokers, and cells that apply from one on.

Both are ordered, and both are written as people write them: ``Release.parse("2.6")`` is the last
patch of its line, ``ProtocolVersion.parse("2.7")`` the last internal version of its line. A name of
no existing version is a ``ValueError`` with the versions that exist.

A version that is newer than the newest known one may exist all the same, and a cluster may run it:
it is read as the newest known. It keeps its own name, all cells of the tables below apply to it,
and ``newer_than_known`` is the line about that, for all outputs.

A cluster runs in one of two modes: its control plane is ZooKeeper with an elected controller, or a
quorum of controllers (KRaft). With ZooKeeper each broker has an ``inter.broker.protocol.version``;
with KRaft the cluster has one ``metadata.version`` instead. Both are versions of one list.

A table of differences between releases (``releases.py``, ``release_defaults.py``) has a tuple of
cells for each of its rows; see :class:`Cell`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple, Self

#: The keeper of a cluster's state: ZooKeeper, or a quorum of controllers.
Mode = Literal["zookeeper", "kraft"]
ZOOKEEPER_MODE: Final = "zookeeper"
KRAFT_MODE: Final = "kraft"
#: The modes in texts that people read; files have them as plain text, so any text may be looked up.
MODE_NAMES: Mapping[str, str] = {ZOOKEEPER_MODE: "ZooKeeper", KRAFT_MODE: "KRaft"}

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
    "4.0": 2,
    "4.1": 2,
    "4.2": 2,
    "4.3": 1,
    "4.4": 0,
}
#: The first line in which KRaft is declared fit for production (KIP-833).
_FIRST_LINE_OF_KRAFT = "3.3"
_NEWEST_LINE = tuple(map(int, next(reversed(LAST_PATCH)).split(".")))
#: The first line that may still get patches.
_FIRST_LINE_WITH_NEW_PATCHES = (3, 9)
#: The first line without ZooKeeper.
_FIRST_LINE_WITHOUT_ZOOKEEPER = "4.0"
#: The oldest metadata.version: of all releases from 4.0 on, and here of those before, too.
#: Source: MetadataVersion.MINIMUM_VERSION@4.0.0.
_OLDEST_METADATA_VERSION = "3.3-IV3"
#: The first one that has a feature level.
#: Source: MetadataVersion.MINIMUM_KRAFT_VERSION@3.9.0.
_FIRST_METADATA_VERSION = "3.0-IV1"

#: Last internal version (IV) of each line of ``inter.broker.protocol.version`` (up to 3.9) and of
#: ``metadata.version`` (from 3.3 on), counted from IV0; None where a line is one version without
#: IV. All patches of a line know the same.
#: Source: ApiVersion.allVersions@0.10.2.0 to @3.2.3, MetadataVersion@3.3.0 to @4.4.0.
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
    "4.0": 3,
    "4.1": 1,
    "4.2": 1,
    "4.3": 0,
    "4.4": 2,
}

#: The versions that change the format of metadata, from the oldest ``metadata.version`` on: over
#: none of these is there a way back.
#: Source: MetadataVersion.didMetadataChange@3.9.0 to @4.4.0.
_METADATA_CHANGES = (
    *("3.4-IV0", "3.5-IV2", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV2"),
    *("4.0-IV1", "4.3-IV0", "4.4-IV1", "4.4-IV2"),
)

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
        if line > _NEWEST_LINE:
            return cls((*line, patch or 0))
        if last_patch is None:
            raise _no_such_release(text)
        if patch is not None and patch > last_patch and line < _FIRST_LINE_WITH_NEW_PATCHES:
            raise _no_such_release(
                text, f"the last one of its line is {_joined(line)}.{last_patch}"
            )
        return cls((*line, last_patch if patch is None else patch))

    @property
    def line(self) -> tuple[int, ...]:
        """The line of the release, which is all but its patch number: (2, 6)."""
        return self.numbers[:-1]

    @property
    def newest_known(self) -> Release:
        """The release that this one is read as: itself, unless it is newer than what is known."""
        line = min(self.line, _NEWEST_LINE)
        last_patch = LAST_PATCH[_joined(line)]
        patch = self.numbers[-1] if line == self.line else last_patch
        return Release((*line, min(patch, last_patch)))

    @property
    def newer_than_known(self) -> str | None:
        """The line that says as which release this one is read; None: it is known."""
        return _read_as(f"Kafka {self}", self, self.newest_known)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes in which a cluster of this release can run, its default first."""
        if self >= Release.parse(f"{_FIRST_LINE_WITHOUT_ZOOKEEPER}.0"):
            return (KRAFT_MODE,)
        if self >= Release.parse(f"{_FIRST_LINE_OF_KRAFT}.0"):
            return (ZOOKEEPER_MODE, KRAFT_MODE)
        return (ZOOKEEPER_MODE,)

    def mode(self, wanted: str | None = None) -> Mode:
        """The mode of a cluster of this release: the wanted one, or the release's default.

        Raises:
            ValueError: the release cannot run in the wanted mode.
        """
        for mode in self.modes:
            if wanted in (None, mode):
                return mode
        if wanted == ZOOKEEPER_MODE:
            raise ValueError(
                f"release {self} has no ZooKeeper mode: the last release with it is "
                f"{all_releases(ZOOKEEPER_MODE)[-1]}; use mode: {KRAFT_MODE}"
            )
        raise ValueError(
            f"release {self} has no KRaft mode: the first release with it is "
            f"{all_releases(KRAFT_MODE)[0]}; use mode: {ZOOKEEPER_MODE}"
        )

    def version(self, mode: Mode, setting: str | None = None) -> ProtocolVersion:
        """The version in force: :meth:`protocol` or :meth:`metadata_version`, by the mode."""
        return self.metadata_version(setting) if mode == KRAFT_MODE else self.protocol(setting)

    def protocol(self, setting: str | None = None) -> ProtocolVersion:
        """The protocol of a broker of this release if ``inter.broker.protocol.version`` is set so.

        Unset, it is the last version of the release's line, and a release knows none beyond:
        trial versions, such as 3.9-IV0 in 3.8, do not count. The setting is gone with ZooKeeper.
        """
        if ZOOKEEPER_MODE not in self.modes:
            raise ValueError(
                f"release {self} has no inter.broker.protocol.version; use metadata_version"
            )
        return self._version("inter.broker.protocol.version", setting)

    def metadata_version(self, setting: str | None = None) -> ProtocolVersion:
        """The ``metadata.version`` of a KRaft cluster of this release if it is set so.

        Unset, it is the last version of the release's line: that of a new cluster.
        Source: Feature.validateDefaultValueAndLatestProductionValue@4.1.0.
        """
        if KRAFT_MODE not in self.modes:
            raise ValueError(f"release {self} has no metadata.version; use protocol")
        version = self._version("metadata.version", setting)
        oldest = ProtocolVersion.parse(_OLDEST_METADATA_VERSION)
        if version < oldest:
            reason = (
                f"the oldest that release {self} knows"
                if ZOOKEEPER_MODE not in self.modes
                else "the oldest that is simulated"
            )
            raise ValueError(f"metadata.version {version} is older than {oldest}, {reason}")
        return version

    @property
    def metadata_versions(self) -> tuple[int, int]:
        """The feature levels of metadata.version that a node of this release supports: a range.

        Source: QuorumFeatures.defaultFeatureMap@3.9.0, MetadataVersion.MINIMUM_VERSION@4.0.0.
        """
        without_zookeeper = Release.parse(f"{_FIRST_LINE_WITHOUT_ZOOKEEPER}.0")
        oldest = _OLDEST_METADATA_VERSION if self >= without_zookeeper else _FIRST_METADATA_VERSION
        newest = ProtocolVersion.parse(str(self.newest_known))
        return ProtocolVersion.parse(oldest).feature_level, newest.feature_level

    def _version(self, name: str, setting: str | None) -> ProtocolVersion:
        latest = ProtocolVersion.parse(str(self.newest_known))
        version = latest if setting is None else ProtocolVersion.parse(setting)
        if version > latest and version.line > self.line:
            raise ValueError(
                f"{name} {version} is newer than release {self}, "
                f"which knows versions up to {latest}"
            )
        return version

    def __str__(self) -> str:
        return _joined(self.numbers)


def all_releases(mode: Mode | None = None) -> list[Release]:
    """Every release that :meth:`Release.parse` accepts and that has this mode, the oldest first."""
    releases = (
        Release.parse(f"{line}.{patch}")
        for line, last_patch in LAST_PATCH.items()
        for patch in range(last_patch + 1)
    )
    return [release for release in releases if mode is None or mode in release.modes]


@dataclass(frozen=True, order=True)
class ProtocolVersion:
    """A version of ``inter.broker.protocol.version`` or, with KRaft, of ``metadata.version``.

    ((2, 7), 2) is 2.7-IV2. Kafka has one list for both: MetadataVersion@3.3.0.
    """

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
        if match is not None and line > _NEWEST_LINE:
            return cls(line, int(match["internal"] or 0))
        if match is None or _joined(line) not in LAST_INTERNAL_VERSION:
            raise _no_such_protocol(text)
        last = LAST_INTERNAL_VERSION[_joined(line)]
        if match["internal"] is None:
            return cls(line, last or 0)
        internal = int(match["internal"])
        if patch is not None or last is None or internal > last:
            raise _no_such_protocol(text)
        return cls(line, internal)

    @property
    def feature_level(self) -> int:
        """Its level as a ``metadata.version``: 3.0-IV1 is the first.

        Source: MetadataVersion@4.4.0.
        """
        first = ProtocolVersion.parse(_FIRST_METADATA_VERSION)
        return sum(first <= each <= self for each in _all_versions())

    @property
    def metadata_changes(self) -> int:
        """The number of versions up to this one that have changed the format of metadata.

        Source: MetadataVersion.didMetadataChange@4.4.0.
        """
        return sum(ProtocolVersion.parse(each) <= self for each in _METADATA_CHANGES)

    @property
    def newer_than_known(self) -> str | None:
        """The line that says as which version this one is read; None: it is known."""
        newest = ProtocolVersion.parse(_joined(_NEWEST_LINE))
        return _read_as(f"metadata.version {self}", self, min(self, newest))

    def __str__(self) -> str:
        line = _joined(self.line)
        has_internal = LAST_INTERNAL_VERSION.get(line, self.internal) is not None
        return f"{line}-IV{self.internal}" if has_internal else line


def all_protocol_versions(mode: Mode = ZOOKEEPER_MODE) -> list[ProtocolVersion]:
    """Every version of ``inter.broker.protocol.version`` or ``metadata.version``, oldest first."""
    releases = all_releases(mode)
    latest = releases[-1].version(mode)
    oldest = ProtocolVersion.parse(_OLDEST_METADATA_VERSION) if mode == KRAFT_MODE else None
    versions = _all_versions()
    return [each for each in versions if each <= latest and (oldest is None or oldest <= each)]


def _all_versions() -> list[ProtocolVersion]:
    return [
        ProtocolVersion.parse(line if last is None else f"{line}-IV{internal}")
        for line, last in LAST_INTERNAL_VERSION.items()
        for internal in range((last or 0) + 1)
    ]


class Cell(NamedTuple):
    """A value, from when on it applies, and where that was read.

    The *last* applicable cell of a row gives the value. So a fix that came in a patch release as
    well as in the next line ("2.0.1 and 2.1.0") is one cell, since 2.0.1; one that came later in an
    older line (2.7.2 and 2.8.1) is taken back in between, by a cell since 2.8.0.
    """

    #: The first release that it applies to, in full: 2.0.1, never 2.0.
    since: str
    value: int | str
    #: Methods of Kafka with the release in which they were read (``Class.method@release``),
    #: and the issue (KAFKA-n) or the proposal (KIP-n) if there is one.
    source: str
    #: Applies only with this inter.broker.protocol.version (in KRaft mode: this metadata.version)
    #: or a newer one.
    protocol: str | None = None
    #: Applies only in this mode.
    mode: Mode | None = None

    def applies(self, release: Release, version: ProtocolVersion, mode: Mode) -> bool:
        """Whether it applies to a broker of this release, under this version, in this mode."""
        if self.mode not in (None, mode):
            return False
        if self.protocol is not None and version < ProtocolVersion.parse(self.protocol):
            return False
        return Release.parse(self.since) <= release


Table = dict[str, tuple[Cell, ...]]


def cells_that_apply(
    table: Table, release: str, protocol: str | None = None, mode: Mode | None = None
) -> dict[str, Cell]:
    """The cell of each row that gives its value; a row without one is left out.

    ``protocol`` is the inter.broker.protocol.version or the metadata.version, by the mode; both
    default to the release's own.
    """
    parsed = Release.parse(release)
    chosen = parsed.mode(mode)
    version = parsed.version(chosen, protocol)
    applying = {
        name: [cell for cell in cells if cell.applies(parsed, version, chosen)]
        for name, cells in table.items()
    }
    return {name: cells[-1] for name, cells in applying.items() if cells}


def _read_as(name: str, version: object, newest_known: object) -> str | None:
    if version == newest_known:
        return None
    return f"{name} is newer than what is known: it is read as {newest_known}"


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
    releases = all_releases()
    return ValueError(
        f"no release {text!r}{reason and f' ({reason})'}: there are {releases[0]} to "
        f"{releases[-1]}, in the lines {', '.join(LAST_PATCH)}; "
        "a line such as 2.6 means its last patch"
    )


def _no_such_protocol(text: str) -> ValueError:
    versions = _all_versions()
    return ValueError(
        f"no inter.broker.protocol.version or metadata.version {text!r}: there are "
        f"{versions[0]} to {versions[-1]}, such as 0.10.2-IV0 or 2.7-IV2; a line such as 2.7 means "
        "its last version"
    )


#: The release of a scenario that names only its mode: the newest one with that mode.
DEFAULT_RELEASES: Mapping[Mode, str] = {
    mode: _joined(all_releases(mode)[-1].line) for mode in (ZOOKEEPER_MODE, KRAFT_MODE)
}
#: The release of a scenario that names neither.
DEFAULT_RELEASE = _joined(_NEWEST_LINE)
