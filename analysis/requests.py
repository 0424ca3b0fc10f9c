"""Requests to the data source: rows of runs, and columns.

Rows of **one kind** have the columns ``run`` (text), those of every row, and those of the kind, as
``simulation/trace_rows`` lists them. Rows of **several kinds** have ``run``, ``kind`` (the name
of the row's kind; so the column that some kinds call ``kind`` is to be had of one kind only), the
columns of every row, and ``partition``. A schema may ask for fewer columns, which are then all that
is unpacked, and for more: any column that one of the kinds has, and ``value_0``, ``value_1``, ...,
which are the first, second, ... own column of each row's kind: so all that rows of many kinds hold
comes in a few columns.

Numbers are BIGINT as they were recorded, times in microseconds or as their names say. A column is
null where a row's kind does not have it, or the release that recorded it did not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tidegauge.analysis.run_paths import FoundRun, Paths
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.trace_file import ROW_COLUMNS

#: All kinds of rows, by their names.
KINDS = {kind.name: kind for kind in ROW_KINDS.values()}

#: Kinds whose rows are numbered and hashed, by their names.
CANONICAL = {name: kind for name, kind in KINDS.items() if kind.canonical}

#: The own columns of rows of several kinds by their places.
VALUES = tuple(
    f"value_{place}" for place in range(max(len(kind.columns) for kind in KINDS.values()))
)

#: Columns that hold text; all others are 64-bit integers.
TEXTS = ("run", "kind")


#: Smaller parts cost more to hand out than they gain.
PART_BYTES = 4_000_000


class RequestError(TidegaugeError):
    """A request for an unknown kind, column or option; the message is one line."""


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """The requested rows; a time range is from its first microsecond to before its end."""

    paths: Paths
    #: The only kind, whose own columns are wanted; None: columns that several kinds have.
    kind: str | None = None
    #: Which kinds; empty: all. Not beside ``kind``.
    kinds: tuple[str, ...] = ()
    from_us: int | None = None
    to_us: int | None = None
    #: Without rows of the liveness phase, which comes after the run.
    within_run: bool = False
    #: About so many bytes of frames are read by one task.
    part_bytes: int = PART_BYTES

    def __post_init__(self) -> None:
        if self.kind is not None and self.kinds:
            raise RequestError("give either kind, for its own columns, or kinds")
        for name in self.wanted_kinds:
            if name not in KINDS:
                raise RequestError(f"there is no kind of rows {name!r}{_meant(name, KINDS)}")

    @property
    def wanted_kinds(self) -> tuple[str, ...]:
        """The names of all kinds whose rows are requested."""
        if self.kind is not None:
            return (self.kind,)
        return self.kinds or tuple(KINDS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The default columns of the rows."""
        if self.kind is not None:
            return ("run", *ROW_COLUMNS, *KINDS[self.kind].columns)
        return ("run", "kind", *ROW_COLUMNS, "partition")

    def is_text(self, column: str) -> bool:
        """Whether a column holds text: in rows of one kind, ``kind`` is a number like others."""
        return column in TEXTS and (column == "run" or self.kind is None)

    def check_columns(self, columns: Sequence[str]) -> None:
        """Check that the columns exist.

        Raises:
            RequestError: a column does not exist in any of these rows.
        """
        known = dict.fromkeys(self.columns if self.kind is not None else self.columns + VALUES)
        for kind in self.wanted_kinds:
            known |= dict.fromkeys(KINDS[kind].columns)
        for name in columns:
            if name not in known:
                rows = f"rows of kind {self.kind}" if self.kind else "these rows"
                raise RequestError(f"{rows} have no column {name!r}{_meant(name, known)}")

    def options(self) -> dict[str, str]:
        """The same as options of the data source."""
        paths = [self.paths] if isinstance(self.paths, str | Path) else self.paths
        options = {
            "paths": json.dumps([_as_json(path) for path in paths]),
            "kind": self.kind,
            "kinds": ",".join(self.kinds) or None,
            "from_us": self.from_us,
            "to_us": self.to_us,
            "within_run": str(self.within_run).lower(),
            "part_bytes": self.part_bytes,
        }
        return {name: str(value) for name, value in options.items() if value is not None}


def own_column(kind: str, column: str) -> str | None:
    """The name in a kind of a column, maybe one of :data:`VALUES`; None: the kind lacks it."""
    if column not in VALUES:
        return column
    place, own = VALUES.index(column), KINDS[kind].columns
    return own[place] if place < len(own) else None


def request_of(options: Mapping[str, str]) -> TraceRequest:
    """The request of a reader's options.

    Raises:
        RequestError: an option has no valid value, or no path is given.
    """
    paths = _paths_of(options["paths"]) if "paths" in options else options.get("path")
    if not paths:
        raise RequestError("no path of a run is given: use load(PATH)")
    kinds = (name.strip() for name in options.get("kinds", "").split(","))
    return TraceRequest(
        paths,
        options.get("kind"),
        tuple(name for name in kinds if name),
        _whole(options, "from_us", "microseconds"),
        _whole(options, "to_us", "microseconds"),
        _flag(options, "within_run"),
        _whole(options, "part_bytes", "bytes") or PART_BYTES,
    )


def _as_json(path: str | Path | FoundRun) -> str | list[str]:
    return [path.name, str(path.folder)] if isinstance(path, FoundRun) else str(path)


def _paths_of(text: str) -> Paths:
    """Paths as Spark's own ``load`` and as :meth:`TraceRequest.options` write them."""
    found = json.loads(text)
    runs = [FoundRun(each[0], Path(each[1])) for each in found if isinstance(each, list)]
    return runs or [str(each) for each in found]


def _whole(options: Mapping[str, str], name: str, unit: str) -> int | None:
    text = options.get(name)
    try:
        return None if text is None else int(text)
    except ValueError:
        raise RequestError(f"{name} must be whole {unit}, not {text!r}") from None


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false").lower()
    if text not in {"true", "false"}:
        raise RequestError(f"{name} must be true or false, not {text!r}")
    return text == "true"


def _meant(name: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(name, known, 1)
    return f": did you mean {close[0]!r}?" if close else ""
