"""The table of differences whose cause is known, and the differences that it explains.

``known_differences.md`` explains how a row is read and how one is added. The table that counts is
the one with the columns of :data:`COLUMNS`; the rest of the file is documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.laboratory.conformance.comparison import FASTER, SLOWER, TIME, WAYS, Field
from tidegauge.laboratory.conformance.recorded_schedule import RecordedSchedule, RecordedStep
from tidegauge.replication.release_versions import MODE_NAMES, Release, all_releases
from tidegauge.simulation.quantities import parse_duration

#: The head of the table.
COLUMNS = ("schedules", "mode", "releases", "fields", "kind", "cause", "consequence")

#: The table that is shipped.
SHIPPED = Path(__file__).with_name("known_differences.md")

_ALL = "all"


class TableError(TidegaugeError):
    """A table that cannot be read; the message is one line with file and line."""


@dataclass(frozen=True)
class Releases:
    """Releases from one to another, both included."""

    first: Release
    last: Release

    @classmethod
    def parse(cls, text: str) -> Releases:
        """Read ``0.11.0-2.2.0``, ``2.4`` (all its patches) or ``all``.

        Raises:
            ValueError: the text names no release, or the last before the first.
        """
        first, _, last = text.partition("-")
        releases = cls(min(_patches(first.strip())), max(_patches((last or first).strip())))
        if releases.last < releases.first:
            raise ValueError(f"{text}: ends before it begins")
        return releases


def _patches(line: str) -> list[Release]:
    """The releases of a line such as 2.4; of a release such as 2.4.1 itself."""
    found = [each for each in all_releases() if line == _ALL or f"{each}.".startswith(f"{line}.")]
    if not found:
        raise ValueError(f"{line!r} is not a known release of Kafka")
    return found


@dataclass(frozen=True)
class KnownDifference:
    """One row: the differences that it explains, and the explanation."""

    #: Its line in the file.
    line: int
    schedules: tuple[str, ...]
    #: Names of MODE_NAMES.
    modes: tuple[str, ...]
    releases: tuple[Releases, ...]
    fields: tuple[str, ...]
    #: Names of WAYS; for a time the largest difference, in microseconds.
    ways: tuple[tuple[str, int], ...]
    #: The steps to which it applies; none: all.
    operations: tuple[str, ...]
    cause: str
    consequence: str

    def explains(self, schedule: RecordedSchedule, step: RecordedStep, field: Field) -> bool:
        """Whether the row explains this difference."""
        return (
            schedule.mode in self.modes
            and self._is_within(field)
            and (not self.operations or step.op in self.operations)
            and _matches(schedule.name, self.schedules)
            and _matches(field.path, self.fields)
            and self._is_about(schedule.release)
        )

    def _is_within(self, field: Field) -> bool:
        return any(
            way in field.ways and (field.kind != TIME or field.apart_us <= most_us)
            for way, most_us in self.ways
        )

    def _is_about(self, text: str) -> bool:
        """Whether the row applies to a release; ``all`` alone includes an unknown one."""
        known = all_releases()
        try:
            release = Release.parse(text).newest_known
        except ValueError:
            return any((each.first, each.last) == (known[0], known[-1]) for each in self.releases)
        return any(each.first <= release <= each.last for each in self.releases)


@dataclass(frozen=True)
class KnownDifferences:
    """The whole table."""

    rows: tuple[KnownDifference, ...]

    def explanation(
        self, schedule: RecordedSchedule, step: RecordedStep, field: Field
    ) -> KnownDifference | None:
        """The first row that explains a difference; None if no row does."""
        found = (row for row in self.rows if row.explains(schedule, step, field))
        return next(found, None)


def known_differences(file: Path = SHIPPED) -> KnownDifferences:
    """Read a table.

    Raises:
        TableError: the table cannot be read, or a row of it is not valid.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{file}: cannot be read: {error}") from error
    cells = [_cells(line) for line in lines]
    heads = [index for index, row in enumerate(cells) if row == list(COLUMNS)]
    if len(heads) != 1:
        raise TableError(
            f"{file}: {len(heads)} tables have the columns {', '.join(COLUMNS)}; one must"
        )
    # Below the head is a line of dashes; the table ends with the first line that is not a row.
    first = heads[0] + 2
    last = next((index for index in range(first, len(lines)) if not cells[index]), len(lines))
    rows: list[KnownDifference] = []
    for index in range(first, last):
        try:
            rows.append(_row(index + 1, cells[index]))
        except ValueError as error:
            raise TableError(f"{file}:{index + 1}: {error}") from error
    return KnownDifferences(tuple(rows))


def _cells(line: str) -> list[str]:
    """The cells of a line of a table; none if it is no such line."""
    line = line.strip()
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]


def _row(line: int, cells: list[str]) -> KnownDifference:
    if len(cells) != len(COLUMNS):
        raise ValueError(f"{len(cells)} cells, not {len(COLUMNS)}: {', '.join(COLUMNS)}")
    for column, cell in zip(COLUMNS, cells, strict=True):
        if not cell:
            raise ValueError(f"{column} is empty")
    schedules, mode, releases, fields, kind, cause, consequence = cells
    ways, _, operations = kind.partition(" in ")
    return KnownDifference(
        line=line,
        schedules=_listed(schedules),
        modes=_modes(mode),
        releases=tuple(Releases.parse(each) for each in _listed(releases)),
        fields=_listed(fields),
        ways=tuple(_way(each) for each in _listed(ways)),
        operations=_listed(operations) if operations else (),
        cause=cause,
        consequence=consequence,
    )


def _modes(text: str) -> tuple[str, ...]:
    """``zookeeper``, ``kraft`` or ``all``."""
    if text not in (*MODE_NAMES, _ALL):
        raise ValueError(f"mode: {text!r} is none of {', '.join(MODE_NAMES)}, {_ALL}")
    return tuple(MODE_NAMES) if text == _ALL else (text,)


def _way(text: str) -> tuple[str, int]:
    """``exact``, or ``faster by 600ms``."""
    way, _, most = text.partition(" by ")
    if way not in WAYS:
        raise ValueError(f"kind: {way!r} is none of {', '.join(WAYS)}")
    if (way in (FASTER, SLOWER)) != bool(most):
        raise ValueError(f"kind: {text!r}: only a time is faster or slower by a duration")
    return way, parse_duration(most) if most else 0


def _listed(cell: str) -> tuple[str, ...]:
    """The parts of a cell; backticks only keep a ``*`` from being taken for emphasis."""
    parts = tuple(part.strip() for part in cell.replace("`", "").split(","))
    if not all(parts):
        raise ValueError(f"{cell!r} has an empty part")
    return parts


def _matches(text: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)
