"""An imported scenario as YAML that is easy to read and to change.

A value that fits in a line is written in one, so that a topic of thirty partitions is thirty lines
that can be compared with the dump. The head names the source files, and has all notices.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from tidegauge.real_input.imported_scenario import ImportedScenario
from tidegauge.real_input.input_file import file_text
from tidegauge.scenario.text.errors import Path, one_line
from tidegauge.simulation.durations import format_duration, parse_duration

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,99}", re.ASCII)
#: The comment above a part, if the part has its own place.
_ABOUT = {
    "cluster": "",
    "controllers": "",
    "topics": (
        "state: leader and ISR as the run begins. A partition that it does not name is led by "
        "the first of its replicas, and all of them are in sync."
    ),
    "workload": "",
    "steps": "Actions of the operator. Beside `do`, `throttle: 10000000` is the tool's --throttle.",
    "faults": "Faults. A broker that is down remains down: add `for: 10m` to have it return.",
}
_TEXT_TAG = "tag:yaml.org,2002:str"


def scenario_text(imported: ImportedScenario) -> str:
    """The whole file."""
    lines = [*_introduction(imported)]
    remarks = _Remarks(imported)
    for name, part in imported.data.items():
        lines += _about(name)
        lines += _lines({name: part}, (), remarks)
    lines += _faults_to_try(imported)
    return "\n".join(lines) + "\n"


def _introduction(imported: ImportedScenario) -> Iterator[str]:
    files = ", ".join(file_text(file).rpartition("/")[2] for file in imported.files)
    yield from _comment(f"Made by `tidegauge import` from {files}.")
    if imported.notices:
        yield "#"
        yield "# Notices:"
    for notice in imported.notices:
        yield from _comment(f"- {notice.subject}: {notice.text}", "  ")


def _about(name: str) -> list[str]:
    """The comment above a part of the scenario."""
    return ["", *_comment(_ABOUT[name])] if name in _ABOUT else []


def _faults_to_try(imported: ImportedScenario) -> Iterator[str]:
    """Example faults, commented out."""
    if imported.cluster.down:
        yield "# To add a fault, remove the # before it:"
    else:
        yield ""
        yield "# Faults: none yet. Remove the # before `faults` and before the faults to add."
        yield "#faults:"
    broker = (imported.cluster.up() or imported.cluster.brokers)[0]
    begin = format_duration(parse_duration(imported.data["duration"]) // 2)
    yield f"#  - {{kind: crash, at: {begin}, for: 2m, brokers: [{broker}]}}"
    yield f"#  - {{kind: slow_disk, at: {begin}, for: 30s, brokers: [{broker}], delay: 200ms}}"
    rack = next(iter(imported.data["cluster"].get("racks", ())), None)
    if rack is not None:
        hit = _in_line([f"rack:{rack}"])
        yield f"#  - {{kind: power_loss, at: {begin}, for: 2m, brokers: {hit}}}"


class _Remarks:
    """Comments at the ends of lines, by the path of a line's value."""

    def __init__(self, imported: ImportedScenario) -> None:
        places = {topic["name"]: place for place, topic in enumerate(imported.data["topics"])}
        self._texts: dict[Path, str] = {
            ("topics", places[topic], "assignment", number): "not in the dump"
            for topic, numbers in imported.cluster.assumed.items()
            for number in numbers
        }
        #: The parents of such paths, which therefore cannot be one line.
        self.above = {path[:-1] for path in self._texts}

    def behind(self, path: Path) -> str:
        """The end of a line."""
        return f"  # {self._texts[path]}" if path in self._texts else ""


def _comment(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        one_line(text),
        _WIDTH,
        initial_indent="# ",
        subsequent_indent=f"# {indent}",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _lines(part: Mapping[Any, Any], path: Path, remarks: _Remarks) -> Iterator[str]:
    """The lines of a mapping in block style, without the indentation of its own place."""
    for key, value in part.items():
        below = (*path, key)
        head = f"{_scalar(key)}:"
        inline = f"{head} {_in_line(value)}{remarks.behind(below)}"
        if _stays_in_line(value, below, remarks) and len(inline) + 2 * len(path) <= _WIDTH:
            yield inline
        elif isinstance(value, dict):
            yield head
            yield from (f"  {line}" for line in _lines(value, below, remarks))
        elif isinstance(value, list):
            yield head
            for place, item in enumerate(value):
                yield from (f"  {line}" for line in _item(item, (*below, place), remarks))
        else:
            yield inline


def _item(item: Any, path: Path, remarks: _Remarks) -> Iterator[str]:
    inline = f"- {_in_line(item)}"
    if not isinstance(item, dict) or len(inline) + 2 * len(path) <= _WIDTH:
        yield inline
        return
    for place, line in enumerate(_lines(item, path, remarks)):
        yield f"{'  ' if place else '- '}{line}"


def _stays_in_line(value: Any, path: Path, remarks: _Remarks) -> bool:
    """Whether it may be written in one line, if it fits."""
    if not isinstance(value, dict | list) or not value:
        return True
    # Of parts that are mappings by kind, such as topics, each has lines of its own.
    is_of_parts = isinstance(value, list) and isinstance(value[0], dict)
    return not is_of_parts and len(path) > 1 and path not in remarks.above


def _in_line(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_scalar(key)}: {_in_line(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_line, value))}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
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
