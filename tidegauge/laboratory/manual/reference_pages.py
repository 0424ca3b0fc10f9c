"""The pages ``docs/commands.md`` and ``docs/trace-rows.md``.

The first has every command, as its ``--help`` describes it. The text of a command is the docstring
of its function; below a line ``Examples:`` it has commands that can be typed, each with a remark
behind it or, further indented, in the next line. The second is the schema of the trace.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from textwrap import dedent
from typing import Any, NamedTuple

import typer

from tidegauge.analysis.rows.row_schema import unit_of
from tidegauge.command_line import COMMANDS, app
from tidegauge.laboratory.manual.markdown import (
    NONE,
    code,
    code_block,
    prose,
    table,
    with_options_as_code,
)
from tidegauge.simulation.trace_rows.columns import Column
from tidegauge.simulation.trace_rows.row import RowKind
from tidegauge.simulation.trace_rows.schema import COMMON_COLUMNS, ROW_KINDS, SCHEMA_VERSION

#: Names of a command's parameters that every command has.
_ALWAYS = {"help"}
_EXAMPLES = re.compile(r"^Examples?:\n", re.MULTILINE)
#: An argument in the usage of a command, as some releases of Typer write it: ``{RUN...}...``.
_REQUIRED = re.compile(r"\{([^}.]*)(\.\.\.)?\}(?:\.\.\.)?")
#: Between an example and a remark in the same line.
_GAP = re.compile(r" {3,}")
_SENTENCE = re.compile(r"(?<=[.;]) +(?=[A-Z`])")
_DEFAULT = re.compile(r"Default(?P<when>[^:]*): (?P<value>.*?)[.;]?", re.DOTALL)
_BY_DEFAULT = re.compile(r"; by default (?P<value>[^;.]+)")
#: Typer adds the limit of a number to its text.
_LIMIT = re.compile(r"\[(?:[^\[\]]*; )?x>=(\d+)\]$")


class Example(NamedTuple):
    """A command that ``--help`` shows."""

    #: More than one if it continues behind a backslash.
    lines: list[str]
    remark: str


def commands_page() -> str:
    """The page, in Markdown."""
    group: Any = typer.main.get_command(app)
    parts = [prose("commands.md")]
    for aim, commands in COMMANDS.items():
        tasks = ((name, _paragraphs(group.commands[name])[0]) for name in commands)
        rows = ((f"[{name}](#{name})", with_options_as_code(task)) for name, task in tasks)
        parts.append(table((aim, "task"), rows))
    for name, command in group.commands.items():
        parts.append(_section(name, command))
        parts += [_section(f"{name} {view}", each) for view, each in _commands_of(command).items()]
    return "\n".join(parts)


def _commands_of(command: Any) -> Mapping[str, Any]:
    """The commands of a group of commands, such as ``show``."""
    return getattr(command, "commands", {})


def _section(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=f"tidegauge {name}")
    usage = " ".join([f"tidegauge {name}", *command.collect_usage_pieces(context)])
    usage = _REQUIRED.sub(r"\1\2", usage)
    parts = [f"## {name}\n"]
    parts += [f"{with_options_as_code(each)}\n" for each in _paragraphs(command)]
    parts.append(f"Usage: {code(usage)}\n")
    rows = [_parameter(each, context) for each in command.params if each.name not in _ALWAYS]
    if rows:
        parts.append(table(("argument or option", "default", "meaning"), rows))
    parts.append(code_block("\n".join(_shown(name, command))))
    return "\n".join(parts)


def _paragraphs(command: Any) -> list[str]:
    prose = _EXAMPLES.split(_help_of(command))[0]
    return [" ".join(each.split()) for each in prose.split("\n\n") if each.strip()]


def _help_of(command: Any) -> str:
    # \b in a docstring is for the layout of a terminal.
    return re.sub(r"\x08", "", command.help or "")


def _parameter(parameter: Any, context: Any) -> tuple[str, str, str]:
    """A row: the name with its value, the default, the meaning."""
    name, described = parameter.get_help_record(context)
    text = parameter.help or ""
    sentences = _SENTENCE.split(_BY_DEFAULT.sub("", text))
    defaults = [_default_text(found) for each in sentences if (found := _DEFAULT.fullmatch(each))]
    defaults += [found["value"] for found in _BY_DEFAULT.finditer(text)]
    others = [each for each in sentences if not _DEFAULT.fullmatch(each)] or sentences
    if limit := _LIMIT.search(described):
        others.append(f"At least {limit[1]}.")
    return (
        code(name),
        with_options_as_code("; ".join(defaults)) or _default_of(parameter),
        with_options_as_code(" ".join(others)),
    )


def _default_text(default: re.Match[str]) -> str:
    when, value = default["when"].strip(), default["value"]
    return f"{when}: {value}" if when else value


def _default_of(parameter: Any) -> str:
    """The default of a parameter whose text has none."""
    if parameter.required:
        return "required"
    if parameter.default is False:
        return "off"
    if parameter.default in (None, (), []):
        return NONE
    return code(str(parameter.default))


def _shown(name: str, command: Any) -> Iterator[str]:
    """The lines of a command's examples; a remark stands above its example."""
    found = list(examples(_help_of(command))) or [Example([f"tidegauge {name}"], "")]
    for example in found:
        if example.remark:
            yield f"# {example.remark}"
        yield from example.lines


def examples(text: str) -> Iterator[Example]:
    """The examples in the help of a command."""
    parts = _EXAMPLES.split(text, maxsplit=1)
    lines = dedent(parts[1]).rstrip().splitlines() if len(parts) > 1 else []
    found: list[Example] = []
    for line in lines:
        if found and found[-1].lines[-1].endswith("\\"):
            found[-1].lines.append(line)
        elif found and line.startswith(" "):
            found[-1] = found[-1]._replace(remark=line.strip())
        else:
            command, *remark = _GAP.split(line.strip(), maxsplit=1)
            found.append(Example([command], "".join(remark)))
    yield from found


#: The most codes that a page lists; the header of each trace file has all.
_MOST_CODES = 20


#: Headings of the groups of kinds, and which belong to each.
_GROUPS: tuple[tuple[str, Callable[[RowKind], bool]], ...] = (
    ("Canonical rows", lambda kind: kind.canonical),
    ("Samples", lambda kind: not kind.canonical and not kind.detail),
    ("Details", lambda kind: kind.detail),
)


def rows_page() -> str:
    """The page, in Markdown."""
    opening = prose("trace-rows.md").replace("SCHEMA_VERSION", str(SCHEMA_VERSION))
    parts = [opening, "## Columns of every row\n", _columns(COMMON_COLUMNS.items())]
    for title, belongs in _GROUPS:
        kinds = [kind for kind in ROW_KINDS.values() if belongs(kind)]
        parts += [f"## {title}\n", _kinds(kinds)]
    used = sorted(
        {
            (name, column.meaning): column
            for kind in ROW_KINDS.values()
            for name, column in kind.described.items()
        }.items()
    )
    own = [(name, column) for (name, _), column in used]
    parts += ["## Columns of the kinds\n", _columns(own), "## Codes\n"]
    for name, column in own:
        if column.names is not None and len(column.names) <= _MOST_CODES:
            rows = ((str(int(number)), words) for number, words in column.names.items())
            parts += [f"### {name}\n", table(("code", "meaning"), rows)]
    return "\n".join(parts)


def _kinds(kinds: Iterable[RowKind]) -> str:
    return table(
        ("kind", "number", "columns", "meaning"),
        (
            (
                code(kind.name),
                str(kind.number),
                ", ".join(code(column) for column in kind.columns),
                kind.meaning,
            )
            for kind in kinds
        ),
    )


def _columns(columns: Iterable[tuple[str, Column]]) -> str:
    return table(
        ("column", "type", "unit", "meaning"),
        (
            (code(name), column.type.value, unit_of(name, column) or NONE, column.meaning)
            for name, column in columns
        ),
    )
