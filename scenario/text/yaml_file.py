"""YAML of scenario files: read with the line of each value, and written to be read and changed.

PyYAML silently keeps the last of several equal keys; here that is an error. Content that no
scenario needs and that could take too long to process is an error, too: a file of many megabytes,
aliases that stand for millions of values or for themselves, numbers of hundreds of digits.

A value that fits in a line is written in one. So a topic of thirty partitions is thirty lines,
which can be compared with a dump, and a list of a thousand names fills its lines. A text of several
lines keeps them.
"""

import pathlib
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import yaml

from tidegauge.scenario.text.errors import Path, Problem, ScenarioError, one_line, scenario_error

# The one that is built on libyaml is ten times as fast, but not in every build of PyYAML.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_MOST_BYTES = 64 * 2**20
_MOST_VALUES = 5_000_000
_MOST_LEVELS = 100
_MOST_DIGITS = 100

#: The errors of PyYAML for values that do not match their tag (``!!bool perhaps``).
_NO_VALUE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_TOO_DEEP = f"has more than {_MOST_LEVELS} levels"


class ScenarioFile(NamedTuple):
    """The content of a file, and its YAML nodes with their lines."""

    data: object
    root: yaml.Node

    def line_of(self, path: Path) -> int | None:
        """The line of the value at a path, or of the last part of the path that exists."""
        node, line = self.root, None
        for item in path:
            found = _below(node, item)
            if found is None:
                break
            node, line = found
        return line


def read_scenario_file(path: pathlib.Path) -> ScenarioFile:
    """The content of a YAML file; a ``ScenarioError`` if it cannot be read."""
    with _errors_about(path):
        text = _text_of(path)
        _refuse_deep_nesting(path, text)
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            raise _unreadable(path, "is empty")
        return _constructed(path, loader, root)


def read_documents(path: pathlib.Path, text: str) -> list[ScenarioFile]:
    """The documents of a YAML file of which this is the text, without empty ones.

    Raises:
        ScenarioError: it is no YAML, or has values that are refused.
    """
    documents = []
    with _errors_about(path):
        _refuse_deep_nesting(path, text)
        loader = _Loader(text)
        while loader.check_node():
            documents.append(_constructed(path, loader, loader.get_node()))
    return [document for document in documents if document.data is not None]


def _constructed(path: pathlib.Path, loader: Any, root: yaml.Node) -> ScenarioFile:
    _refuse_endless_content(path, root)
    # Before the content is made, since that writes merged keys into the nodes.
    _refuse_repeated_keys(path, root, set())
    return ScenarioFile(loader.construct_document(root), root)


@contextmanager
def _errors_about(path: pathlib.Path) -> Iterator[None]:
    """Turn the errors of PyYAML and of the file system into a ``ScenarioError``."""
    try:
        yield
    except ScenarioError:
        raise
    except RecursionError as error:
        raise _unreadable(path, _TOO_DEEP) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise _unreadable(path, f"is not valid YAML: {error.problem}", line) from error
    except yaml.YAMLError as error:
        raise _unreadable(path, f"is not valid YAML: {error}") from error
    except OSError as error:
        raise _unreadable(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, "is not text in UTF-8") from error
    except _NO_VALUE as error:
        raise _unreadable(
            path, f"is not valid YAML: a value does not match its tag: {error}"
        ) from error


def _text_of(path: pathlib.Path) -> str:
    """The text, without a byte order mark."""
    with path.open("rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise _unreadable(path, f"is larger than {_MOST_BYTES >> 20} MiB")
    return content.decode("utf-8-sig")


def _refuse_deep_nesting(path: pathlib.Path, text: str) -> None:
    """Check the depth of a text: libyaml recurses for each level, and overflows the stack of C."""
    level = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            level += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            level -= 1
        if level > _MOST_LEVELS:
            mark = event.start_mark
            raise _unreadable(path, _TOO_DEEP, None if mark is None else mark.line + 1)


def _refuse_endless_content(path: pathlib.Path, root: yaml.Node) -> None:
    """Check the number of values: aliases repeat nodes, so few lines can be millions of values."""
    counts: dict[int, int] = {}
    #: From the root down: the node, its parts that are still to come, values counted so far.
    way: list[tuple[yaml.Node, Iterator[yaml.Node], int]] = [(root, iter([root]), 0)]
    while way:
        node, parts, count = way.pop()
        line = node.start_mark.line + 1
        if count > _MOST_VALUES:
            raise _unreadable(path, f"aliases stand for more than {_MOST_VALUES:,} values", line)
        part = next(parts, None)
        if part is None:
            counts[id(node)] = count
            if way:
                above, others, so_far = way.pop()
                way.append((above, others, so_far + count))
        elif id(part) in counts:
            way.append((node, parts, count + counts[id(part)]))
        else:
            way.append((node, parts, count))
            if any(part is above for above, _, _ in way[1:]):
                raise _unreadable(path, "an alias refers to a node that contains it", line)
            if len(way) > _MOST_LEVELS:
                raise _unreadable(path, _TOO_DEEP, line)
            message = _wrong_scalar(part) if isinstance(part, yaml.ScalarNode) else None
            if message:
                raise _unreadable(path, message, part.start_mark.line + 1)
            way.append((part, iter(_parts_of(part)), 1))


def _parts_of(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _wrong_scalar(node: yaml.ScalarNode) -> str | None:
    if len(node.value) > _MOST_DIGITS and node.tag.endswith((":int", ":float")):
        return f"a number has more than {_MOST_DIGITS} digits"
    if any("\ud800" <= letter <= "\udfff" for letter in node.value):
        return "half of a surrogate pair is not a character"
    return None


def _below(node: yaml.Node, item: str | int) -> tuple[yaml.Node, int] | None:
    """The node one step down the path, and its line: that of its key, if it has one."""
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):  # the merged mappings come first
            if key.value == str(item):
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and isinstance(item, int) and item < len(node.value):
        value = node.value[item]
        return value, value.start_mark.line + 1
    return None


def _refuse_repeated_keys(path: pathlib.Path, node: yaml.Node, seen: set[int]) -> None:
    if id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_repeated_keys(path, value, seen)
    elif isinstance(node, yaml.MappingNode):
        lines: dict[object, int] = {}
        for key, value in node.value:
            _refuse_repeated_keys(path, value, seen)
            if not isinstance(key, yaml.ScalarNode):
                continue
            line = key.start_mark.line + 1
            if key.value in lines:
                first = lines[key.value]
                raise _unreadable(path, f"{key.value} appears twice, on line {first} too", line)
            lines[key.value] = line


def _unreadable(path: pathlib.Path, message: str, line: int | None = None) -> ScenarioError:
    return scenario_error(str(path), [Problem((), message)], lambda _: line)


_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,99}", re.ASCII)
_TEXT_TAG = "tag:yaml.org,2002:str"


def comment(text: str, indent: str = "") -> list[str]:
    """A comment of as many lines as it needs; those after the first have this indentation."""
    return textwrap.wrap(
        one_line(text),
        _WIDTH,
        initial_indent="# ",
        subsequent_indent=f"# {indent}",
        break_long_words=False,
        break_on_hyphens=False,
    )


def lines_of(part: Mapping[Any, Any], remarks: Mapping[Path, str] | None = None) -> list[str]:
    """The lines of a mapping in block style, with remarks behind the values at some paths."""
    said = remarks or {}
    return [*_Lines(said, {path[:-1] for path in said}).of_mapping(part, ())]


def in_line(value: Any) -> str:
    """A value in one line, in flow style."""
    if isinstance(value, dict):
        pairs = (f"{_scalar(key)}: {in_line(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_line, value))}]"
    return _scalar(value)


class _Lines(NamedTuple):
    """The lines of parts, without the indentation of their own places."""

    remarks: Mapping[Path, str]
    #: The parents of paths with remarks, which therefore cannot be one line.
    above: set[Path]

    def of_mapping(self, part: Mapping[Any, Any], path: Path) -> Iterator[str]:
        for key, value in part.items():
            below = (*path, key)
            head = f"{_scalar(key)}:"
            remark = f"  # {self.remarks[below]}" if below in self.remarks else ""
            inline = f"{head} {in_line(value)}{remark}"
            if isinstance(value, str) and _is_prose(value):
                yield f"{head} |"
                yield from (f"  {line}".rstrip() for line in value.splitlines())
            elif self._stays_in_line(value, below) and len(inline) + 2 * len(path) <= _WIDTH:
                yield inline
            elif isinstance(value, dict):
                yield head
                yield from (f"  {line}" for line in self.of_mapping(value, below))
            elif isinstance(value, list) and not isinstance(value[0], dict | list):
                yield f"{head} ["
                yield from (f"  {line}" for line in _filled(value, _WIDTH - 2 * len(path)))
                yield "]"
            elif isinstance(value, list):
                yield head
                for place, item in enumerate(value):
                    yield from (f"  {line}" for line in self._of_item(item, (*below, place)))
            else:
                yield inline

    def _of_item(self, item: Any, path: Path) -> Iterator[str]:
        inline = f"- {in_line(item)}"
        if not isinstance(item, dict) or len(inline) + 2 * len(path) <= _WIDTH:
            yield inline
            return
        for place, line in enumerate(self.of_mapping(item, path)):
            yield f"{'  ' if place else '- '}{line}"

    def _stays_in_line(self, value: Any, path: Path) -> bool:
        """Whether it may be written in one line, if it fits."""
        if not isinstance(value, dict | list) or not value:
            return True
        # A list of mappings by kind, such as topics, has lines of its own for each.
        is_of_parts = isinstance(value, list) and isinstance(value[0], dict)
        is_section = isinstance(value, dict) and len(path) == 1
        return not (is_of_parts or is_section or path in self.above)


def _filled(items: list[Any], width: int) -> Iterator[str]:
    """The items of a list in lines of this width; each of them in one line."""
    line = ""
    for item in map(_scalar, items):
        if line and len(line) + len(item) + 3 > width:
            yield line
            line = ""
        line += f"{' ' if line else ''}{item},"
    yield line.removesuffix(",")


def _is_prose(text: str) -> bool:
    """Whether a text of several lines can be a literal block, which keeps them."""
    lines = text.splitlines()
    is_plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    ends_once = text.endswith("\n") and not text.endswith("\n\n")
    return len(lines) > 1 and ends_once and is_plain and not text.startswith((" ", "\n"))


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else repr(value)


@cache
def _text(text: str) -> str:
    """A text, in quotes where YAML would read it as another type."""
    resolver = yaml.resolver.Resolver()
    if _PLAIN.fullmatch(text):
        tag = resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        if tag == _TEXT_TAG:
            return text
    quoted: str = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=2**31)
    return quoted.strip()
