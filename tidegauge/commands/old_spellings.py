"""Old spellings of commands, and the new ones.

Views of a run were options of ``show``; two runs were compared by ``compare``, and a cluster with
its upgrade by ``import``. Such a command is answered with the new one, and does nothing else.
"""

import shlex
from collections.abc import Iterator, Sequence

#: The options of ``show`` that were views with a value, and those without one.
_VIEWS_OF_ONE = {"--partition", "--broker", "--client", "--cause"}
_VIEWS = {"--controller", "--faults", "--zookeeper", "--quorum", "--metadata-log"}
_SHOWN = {view.removeprefix("--") for view in _VIEWS_OF_ONE | _VIEWS} | {"partitions"}
_FLAGS = {"--all", "--handles", "--json", "--force"}
_HELP = {"-h", "--help"}
#: The options of ``import`` that belong to ``upgrade``.
_UPGRADE = {"--compare-to": "--to", "--seeds": "--seeds", "--jobs": "--jobs", "--runs": "--out"}


def new_spelling(words: Sequence[str]) -> str | None:
    """The command to type instead of these words; None if they are no old spelling."""
    command, rest = (words[0], words[1:]) if words else ("", [])
    if not rest or _HELP & set(words):
        return None
    flags = _FLAGS | _VIEWS if command == "show" else _FLAGS
    arguments, options = _sorted_words(rest, flags)
    if command == "show" and rest[0] not in _SHOWN:
        return _show(arguments, options)
    if command == "compare" and len(arguments) > 1:
        return _joined(["compare-runs"], arguments, options)
    if command == "import" and any(name == "--compare-to" for name, _ in options):
        return _import(arguments, options)
    return None


def _sorted_words(
    words: Sequence[str], flags: set[str]
) -> tuple[list[str], list[tuple[str, str | None]]]:
    """The arguments, and the options with their values."""
    arguments: list[str] = []
    options: list[tuple[str, str | None]] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            arguments.append(word)
        elif equals or name in flags:
            options.append((name, value or None))
        else:
            options.append((name, next(rest, None)))
    return arguments, options


def _show(arguments: list[str], options: list[tuple[str, str | None]]) -> str:
    view, one = "partitions", None
    others = []
    for name, value in options:
        if name in _VIEWS_OF_ONE | _VIEWS:
            view, one = name.removeprefix("--"), value
        else:
            others.append((name, value))
    named = [] if one is None else [one]
    return _joined(["show", view], [*(arguments or ["RUN"]), *named], others)


def _import(arguments: list[str], options: list[tuple[str, str | None]]) -> str:
    kept = [each for each in options if each[0] not in _UPGRADE]
    moved = [(_UPGRADE[name], value) for name, value in options if name in _UPGRADE]
    moved += [each for each in kept if each[0] == "--properties"]
    written = next((value for name, value in kept if name in {"-o", "--out"}), None) or "FILE"
    upgrade = _joined(["upgrade"], [written], moved)
    return f"{_joined(['import'], arguments, kept)} && {upgrade}"


def _joined(command: list[str], arguments: list[str], options: list[tuple[str, str | None]]) -> str:
    return shlex.join(["tidegauge", *command, *arguments, *_words_of(options)])


def _words_of(options: list[tuple[str, str | None]]) -> Iterator[str]:
    for name, value in options:
        yield name
        if value is not None:
            yield value
