"""Reading a scenario file: its YAML, and the line of each value.

PyYAML silently keeps the last of several equal keys; here that is an error. Content that no
scenario needs and that could take too long to process is an error, too: a file of many megabytes,
aliases that stand for millions of values or for themselves, numbers of hundreds of digits.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from tidegauge.scenario.text.errors import Path, Problem, ScenarioError, scenario_error

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
    try:
        text = _text_of(path)
        _refuse_deep_nesting(path, text)
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            raise _unreadable(path, "is empty")
        _refuse_endless_content(path, root)
        # Before the content is made, since that writes merged keys into the nodes.
        _refuse_repeated_keys(path, root, set())
        return ScenarioFile(loader.construct_document(root), root)
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
        for key, value in reversed(node.value):  # what is merged into it comes first
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
