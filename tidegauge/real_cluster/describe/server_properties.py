r"""A broker's ``server.properties``, read as Java reads such a file.

A line is a name and a value, with ``=``, ``:`` or a blank between them; one that ends with an odd
number of backslashes continues in the next; ``#`` and ``!`` begin comments; ``\t``, ``\n``,
``\u0041`` stand for characters. If a name appears twice, the last value counts.

``--properties`` names a file, a folder of such files, or a pattern.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tidegauge.real_cluster.describe import input_file

_BLANKS = " \t\f"
# A name ends at the first separator that is not escaped by a backslash.
_ENTRY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
#: A longer key would need YAML's explicit key form.
_LONGEST_NAME = 249
#: The byte order mark of UTF-8, read as Latin-1.
_MARK = "\xef\xbb\xbf"
_ID_NAMES = ("node.id", "broker.id")
_MOST_ID = 2**31 - 1


class Property(NamedTuple):
    """A value, its file and its line."""

    text: str
    file: Path
    line: int

    def error(self, message: str) -> input_file.InputError:
        """The error to raise about the value."""
        return input_file.input_error(self.file, self.line, message)


@dataclass
class ServerProperties:
    """The content of one file."""

    file: Path
    properties: dict[str, Property] = field(default_factory=dict)
    notices: input_file.Notices = field(default_factory=input_file.Notices)

    def broker_id(self) -> int | None:
        """node.id or broker.id; None if the file has neither, or -1: ZooKeeper assigns the id.

        Raises:
            InputError: the value is not an id, or the two differ.
        """
        ids: dict[int, Property] = {}
        for name in _ID_NAMES:
            written = self.properties.get(name)
            if written is None or written.text.strip() in {"", "-1"}:
                continue
            number = written.text.strip()
            if not re.fullmatch(r"\d{1,10}", number, re.ASCII) or int(number) > _MOST_ID:
                raise written.error(f"{name} must be a broker's id, not {written.text!r}")
            ids[int(number)] = written
        if len(ids) > 1:
            first, second = ids
            raise ids[second].error(f"node.id is {first}, and broker.id is {second}")
        return next(iter(ids), None)

    def roles(self) -> set[str]:
        """The process.roles of a node of a KRaft cluster."""
        return {role.strip() for role in (self.text("process.roles") or "").split(",")} - {""}

    def is_of_kraft(self) -> bool:
        """Whether the file is of a node of a KRaft cluster.

        A broker that has a quorum of controllers, but no process.roles, still uses ZooKeeper: it is
        being migrated.
        """
        has_quorum = self.text("controller.quorum.voters") or self.text(
            "controller.quorum.bootstrap.servers"
        )
        return bool(self.roles() or (has_quorum and not self.text("zookeeper.connect")))

    def text(self, name: str) -> str | None:
        """The value of a property, without surrounding blanks; None if it is missing."""
        found = self.properties.get(name)
        return found.text.strip() if found and found.text.strip() else None


def read_server_properties(file: Path, content: bytes | None = None) -> ServerProperties:
    """The properties in a file, whose content may have been read before.

    Raises:
        InputError: the file cannot be read, has no property, or one that Java refuses.
    """
    read = ServerProperties(file)
    # The encoding of Java for such files, in which any byte is a character.
    content = input_file.read_bytes(file) if content is None else content
    text = content.decode("latin-1").removeprefix(_MARK)
    if "\0" in text:
        raise input_file.input_error(
            file, None, "has zero bytes: it must be text, and not in UTF-16"
        )
    for line, entry in _logical_lines(text):
        match = _ENTRY.fullmatch(entry)
        assert match is not None
        name, value = (_unescaped(file, line, part) for part in match.groups())
        if len(name) > _LONGEST_NAME:
            raise input_file.input_error(
                file, line, f"a name has more than {_LONGEST_NAME} characters"
            )
        before = read.properties.get(name)
        if before is not None and before.text != value:
            read.notices.add(
                "settings",
                f"{file.name}: {name} appears twice: line {line} counts, not line {before.line}",
            )
        read.properties[name] = Property(value, file, line)
    if not read.properties:
        raise input_file.input_error(file, None, "has no property: is it a server.properties?")
    return read


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with content, joined with their continuation lines, each with its number."""
    begin, joined = 0, ""
    for number, natural in enumerate(input_file.lines_of(text), start=1):
        line = natural.lstrip(_BLANKS)
        if not begin and (not line or line[0] in "#!"):
            continue
        begin = begin or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        yield begin, joined + line
        begin, joined = 0, ""
    if joined:
        yield begin, joined


def _unescaped(file: Path, line: int, text: str) -> str:
    if re.search(r"(?<!\\)(\\\\)*\\u(?![0-9a-fA-F]{4})", text):
        raise input_file.input_error(file, line, r"\u needs four hexadecimal digits")
    letters = _ESCAPE.sub(
        lambda match: (
            chr(int(match[1][1:], 16)) if len(match[1]) > 1 else _LETTERS.get(match[1], match[1])
        ),
        text,
    )
    # Two escapes can be the halves of one character.
    return letters.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def properties_files(places: Sequence[Path]) -> list[Path]:
    """The files that are given, each once; those of a folder or pattern in the order of names.

    A folder such as Kafka's own ``config`` has other files, too: if any of its files names a broker
    (broker.id or node.id), only those files are used.

    Raises:
        InputError: a folder has no such file, a pattern matches none, or a file cannot be read.
    """
    return list(dict.fromkeys(file for place in places for file in _files_of_brokers(place)))


def _files_of_brokers(place: Path) -> list[Path]:
    files = input_file.files_at(place, "*.properties")
    if not place.is_dir():
        return files
    of_brokers = [file for file in files if read_server_properties(file).broker_id() is not None]
    return of_brokers or files
