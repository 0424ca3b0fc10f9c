"""Changes to a scenario file: another value at a path, such as ``cluster.brokers=3``.

A path is the names of fields from the top of the file down, with dots between them. An item of a
list is addressed by its index, or by its name if it has one: ``faults.0.for``,
``faults.power.for``; the index after the last one adds an item. Kafka's settings have dots in their
names: below ``settings`` the rest of the path is one name, as in
``cluster.settings.replica.lag.time.max.ms``. A field that the file does not have is added; the
model of the scenario decides whether it is valid.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from tidegauge.scenario.text import errors

_MOST_LEVELS = 100

#: Fields that hold a version.
_VERSIONS = ("release", "protocol")

#: The errors of PyYAML for a text that is not YAML, or for a value that does not match its tag.
_NO_YAML = (
    yaml.YAMLError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class Changed(NamedTuple):
    """The content of a file after the changes."""

    data: object
    #: The changed paths, where the file's own lines have other values.
    paths: tuple[errors.Path, ...]

    def has(self, path: errors.Path) -> bool:
        """Whether the value at a path comes from a change."""
        return any(path[: len(changed)] == changed for changed in self.paths)


def parse_change(text: str) -> tuple[str, object]:
    """A path and its new value from ``PATH=VALUE``; the value is YAML, as in the file.

    Raises:
        ScenarioError: the text has another form.
    """
    path, equals, value = text.partition("=")
    if not equals or not path:
        raise errors.ScenarioError(
            f"{errors.one_line(text)}: must be PATH=VALUE, such as cluster.brokers=3"
        )
    try:
        loaded = yaml.safe_load(value)
    except _NO_YAML as error:
        said = getattr(error, "problem", None) or error
        raise errors.ScenarioError(
            errors.one_line(f"{text}: the value is not valid YAML: {said}")
        ) from error
    # A file has versions in quotes, which a shell removes: 2.10 is not 2.1.
    is_version = path.rpartition(".")[2] in _VERSIONS and isinstance(loaded, int | float)
    return path, value.strip() if is_version else loaded


def value_text(value: object) -> str:
    """A value as :func:`parse_change` reads it: a word that YAML reads as text needs no quotes.

    Raises:
        ScenarioError: a scenario cannot have such a value.
    """
    if isinstance(value, str) and value.replace("-", "").isalnum() and _is_text(value):
        return value
    try:
        return json.dumps(value)
    except TypeError as error:
        raise errors.ScenarioError(
            errors.one_line(f"{value!r}: is no value of a scenario: {error}")
        ) from error


def _is_text(word: str) -> bool:
    """Whether YAML reads a word as text, and not as a number, flag, date or null."""
    node = yaml.compose(word, Loader=yaml.SafeLoader)
    return node is not None and node.tag == "tag:yaml.org,2002:str"


def split_values(text: str) -> tuple[str, ...]:
    """The values in ``VALUE,VALUE...``, each as written: the items of a YAML list.

    So commas within quotes, lists and mappings are part of a value. A text that is not such a list
    is one value, with an error of its own.
    """
    # After these an item of a list would end, or be left out: here a value is empty.
    if text.strip().startswith(",") or text.rstrip().endswith(","):
        return tuple(value.strip() for value in text.split(","))
    try:
        values = yaml.compose(f"[{text}]", Loader=yaml.SafeLoader)
    except _NO_YAML:
        return (text,)
    if not isinstance(values, yaml.SequenceNode) or values.end_mark.index != len(text) + 2:
        return (text,)
    return tuple(
        text[node.start_mark.index - 1 : node.end_mark.index - 1].strip() for node in values.value
    )


def with_changes(data: object, changes: Mapping[str, object]) -> Changed:
    """A copy of the content of a scenario file with other values at some paths.

    Raises:
        ProblemsError: a path leads nowhere.
    """
    paths = []
    for text, value in changes.items():
        path = _path_in(data, text)
        data = _with(data, path, value)
        paths.append(path)
    return Changed(data, tuple(paths))


def _path_in(data: Any, text: str) -> errors.Path:
    """The keys and indexes of a path in words."""
    names = text.split(".")
    if not all(names) or len(names) > _MOST_LEVELS:
        raise _no_way(text, (), "must be names of fields with dots between them")
    path: list[str | int] = []
    rest = text
    while rest:
        item, rest = _next_item(data, rest, tuple(path), text)
        path.append(item)
        if isinstance(data, list):
            data = data[int(item)] if int(item) < len(data) else None
        else:
            data = None if data is None else data.get(item)
    return tuple(path)


def _next_item(data: Any, rest: str, way: errors.Path, text: str) -> tuple[str | int, str]:
    """The next key or index of a path, and the rest of the path."""
    if isinstance(data, list):
        return _item_of_list(data, rest, way, text)
    if data is not None and not isinstance(data, Mapping):
        raise _no_way(text, way, f"is {data!r}: there is nothing below it")
    if way and (way[-1] == "settings" or way[-2:-1] == ("broker_settings",)):
        return rest, ""
    return _longest(data or {}, rest) or _split(rest)


def _item_of_list(
    items: list[Any], rest: str, way: errors.Path, text: str
) -> tuple[str | int, str]:
    names = {
        item["name"]: place
        for place, item in enumerate(items)
        if isinstance(item, Mapping) and isinstance(item.get("name"), str)
    }
    named = _longest(names, rest)
    if named is not None:
        return names[str(named[0])], named[1]
    head, tail = _split(rest)
    if head.isascii() and head.isdigit() and int(head) <= len(items):
        return int(head), tail
    indexes = f"items are 0 to {len(items) - 1}" if items else "it has no items"
    named_so = f"; {errors.did_you_mean(head, names)}" if names else ""
    raise _no_way(text, way, f"has no item {head}: {indexes}{named_so}")


def _longest(known: Mapping[Any, object], rest: str) -> tuple[str | int, str] | None:
    """The longest key that a path begins with, since keys may have dots; and the rest."""
    found = [key for key in known if f"{rest}.".startswith(f"{key}.")]
    if not found:
        return None
    key = max(found, key=lambda each: len(str(each)))
    return key, rest[len(str(key)) + 1 :]


def _split(rest: str) -> tuple[str, str]:
    head, _, tail = rest.partition(".")
    return head, tail


def _with(data: Any, path: errors.Path, value: object) -> object:
    """A copy with this value at the path; everything beside the path is shared."""
    if not path:
        return value
    first, below = path[0], path[1:]
    if isinstance(data, list):
        place = int(first)
        old = data[place] if place < len(data) else None
        return [*data[:place], _with(old, below, value), *data[place + 1 :]]
    known = data or {}
    return {**known, first: _with(known.get(first), below, value)}


def _no_way(text: str, way: errors.Path, message: str) -> errors.ProblemsError:
    return errors.ProblemsError(
        [errors.Problem(way, errors.one_line(f"{message}, so {text} cannot be changed"))]
    )
