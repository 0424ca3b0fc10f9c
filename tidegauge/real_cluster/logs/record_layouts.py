"""Files whose entries are records of several lines, with each record as a JSON object of one line.

Such are pretty-printed JSON, the export format of journald, and tables in CSV as Grafana, Kibana,
Splunk and Datadog write them. The objects are then read as those of any other collector
(``json_lines.py``).
"""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import pairwise
from typing import NamedTuple

from tidegauge.real_cluster.logs.json_lines import MESSAGE_COLUMNS

_PRETTY = re.compile(rb"^([ \t]*)\{[ \t]*\r?\n[ \t]*\"[^\"\n]*\"[ \t]*:", re.MULTILINE)
_JOURNAL, _BINARY_FIELD = b"__CURSOR=", re.compile(rb"[A-Z_][A-Z0-9_]*")
_DELIMITERS = ",;\t"
_COLUMN = re.compile(r"[@\w][\w@. ()-]{0,60}")
#: A cell may hold a dump of settings or a request for many partitions.
_LONGEST_CELL = 16 << 20
_LENGTH_BYTES = 8


class Records(NamedTuple):
    """The form of the records of a file."""

    #: A line break, and the first bytes of each record; empty: the file is read as a whole.
    mark: bytes
    #: Of a table.
    columns: Sequence[str] = ()
    delimiter: str = ","
    #: The last record is the oldest.
    is_newest_first: bool = False

    def objects(self, text: bytes) -> bytes:
        """The JSON objects of whole records, each in a line."""
        if self.columns:
            return self._rows(text)
        if self.mark.endswith(_JOURNAL):
            return b"".join(_journal_entries(text))
        return b"".join(self._pretty_objects(text.replace(b"\r\n", b"\n")))

    def _pretty_objects(self, text: bytes) -> Iterator[bytes]:
        ends = re.compile(rb"^%b(?:(\{)|\},?)[ \t]*\n?" % re.escape(self.mark[1:-1]), re.MULTILINE)
        begin, is_inside = 0, False
        for found in ends.finditer(text):
            if found[1] is not None:
                yield text[begin : found.start()]
                begin, is_inside = found.start(), True
            elif is_inside:
                # A string of JSON has no line break.
                yield re.sub(rb"\n[ \t]*", b" ", text[begin : found.end()]).strip(b" ,") + b"\n"
                begin, is_inside = found.end(), False
        yield text[begin:]

    def _rows(self, text: bytes) -> bytes:
        csv.field_size_limit(_LONGEST_CELL)
        lines = StringIO(text.decode("utf-8-sig", "replace"), newline="")
        rows = [
            json.dumps(dict(map(_cell, self.columns, row)))
            for row in csv.reader(lines, delimiter=self.delimiter)
            if [cell.strip().lower() for cell in row] != list(self.columns)
        ]
        if self.is_newest_first:
            rows.reverse()
        return "".join(f"{row}\n" for row in rows).encode()


def _cell(column: str, text: str) -> tuple[str, object]:
    """A cell with its column; labels are JSON."""
    if text.startswith("{") and column not in MESSAGE_COLUMNS:
        try:
            return column, json.loads(text)
        except ValueError:
            pass
    return column, text


def _journal_entries(text: bytes) -> Iterator[bytes]:
    """Entries of journald's export format: a line for each field, an empty one behind the last.

    A field with a line break or a control character has its length before it, in binary.
    """
    fields: dict[str, str] = {}
    at = 0
    while at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        name, is_plain, value = line.partition(b"=")
        is_field = bool(is_plain) or _BINARY_FIELD.fullmatch(line) is not None
        if is_field and not is_plain:
            size = int.from_bytes(text[end + 1 : end + 1 + _LENGTH_BYTES], "little")
            begin = end + 1 + _LENGTH_BYTES
            value, end = text[begin : begin + size], begin + size
        at = end + 1
        if is_field:
            fields[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        if fields and (not line or at >= len(text)):
            yield json.dumps(fields).encode() + b"\n"
            fields = {}


def records_of(sample: bytes) -> Records | None:
    """The form of the records of a file that begins so; None: each of its lines is an entry."""
    if sample.startswith(_JOURNAL) or b"\n" + _JOURNAL in sample:
        return Records(b"\n" + _JOURNAL)
    pretty = _PRETTY.search(sample)
    if pretty is not None:
        records = Records(b"\n" + pretty[1] + b"{")
        lines = records.objects(sample).split(b"\n")
        in_objects = sum(len(line) for line in lines if line.startswith(b"{"))
        # Else a message of a log has an object in it.
        return records if 2 * in_objects > sum(map(len, lines)) else None
    return _table(sample.split(b"\n")[0].decode("utf-8-sig", "replace").strip())


def _table(first_line: str) -> Records | None:
    """A table whose first line names its columns."""
    for delimiter in _DELIMITERS:
        cells = next(csv.reader([first_line], delimiter=delimiter), [])
        columns = [cell.strip().lower() for cell in cells]
        if (
            len(columns) > 1
            and all(map(_COLUMN.fullmatch, columns))
            and not MESSAGE_COLUMNS.isdisjoint(columns)
        ):
            return Records(b"", tuple(columns), delimiter)
    return None


def is_newest_first(times_ms: Sequence[int]) -> bool:
    """Whether most of the times of consecutive entries go backwards."""
    steps = [later - earlier for earlier, later in pairwise(times_ms)]
    backwards, forwards = sum(step < 0 for step in steps), sum(step > 0 for step in steps)
    return backwards >= _FEW_STEPS and backwards > 4 * forwards


_FEW_STEPS = 4
