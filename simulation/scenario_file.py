"""Reading a scenario file: YAML, and on which line of it everything stands.

PyYAML keeps the last of several equal keys without a word; here that is an error.
"""

from __future__ import annotations

import pathlib
from typing import Any, NamedTuple

import yaml

from tidegauge.simulation.scenario_errors import Path, Problem, ScenarioError, scenario_error

# The one that is built on libyaml is ten times as fast, but not in every build of PyYAML.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ScenarioFile(NamedTuple):
    """The content of a file, and the nodes that know their lines."""

    data: object
    root: yaml.Node

    def line_of(self, path: Path) -> int | None:
        """The line of what the path leads to, or of the last thing on the way that is there."""
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
        loader = _Loader(path.read_text(encoding="utf-8"))
        root = loader.get_single_node()
        if root is None:
            raise _unreadable(path, "is empty")
        # Before the content is made, since that writes merged keys into the nodes.
        _refuse_repeated_keys(path, root, set())
        return ScenarioFile(loader.construct_document(root), root)
    except ScenarioError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise _unreadable(path, f"is no YAML: {error.problem}", line) from error
    except yaml.YAMLError as error:
        raise _unreadable(path, f"is no YAML: {error}") from error
    except OSError as error:
        raise _unreadable(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, "is not text in UTF-8") from error
    except ValueError as error:  # of a date that does not exist
        raise _unreadable(path, f"is no YAML: {error}") from error


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
                raise _unreadable(path, f"{key.value} is there twice, on line {first} too", line)
            lines[key.value] = line


def _unreadable(path: pathlib.Path, message: str, line: int | None = None) -> ScenarioError:
    return scenario_error(str(path), [Problem((), message)], lambda _: line)
