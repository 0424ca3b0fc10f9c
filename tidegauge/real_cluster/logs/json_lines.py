"""Logs of which each line is a JSON object: an entry in fields, or a line of text in one field.

Layouts of Log4j and Logback write an entry in fields: its time, level, logger and message.
Container engines and collectors of logs put each line of text into an object, and the name of the
container beside it. Either may follow a prefix of words.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from tidegauge.real_cluster.logs.log_layout import LEVEL, SECOND

#: The names of fields within fields that lead to a value.
FieldPath = tuple[str, ...]

#: The fields of the layouts and collectors that are in use.
_MESSAGES: Sequence[FieldPath] = (
    *(("message",), ("msg",), ("log",), ("MESSAGE",), ("textPayload",), ("line",), ("text",)),
    *(("jsonPayload", "message"), ("event", "original"), ("short_message",)),
)
_TIMES: Sequence[FieldPath] = (
    *(("@timestamp",), ("timestamp",), ("instant",), ("timeMillis",), ("time",), ("ts",)),
    *(("date",), ("jsonPayload", "timestamp")),
)
_LEVELS: Sequence[FieldPath] = (
    *(("level",), ("log.level",), ("log", "level"), ("severity",), ("loglevel",)),
    *(("jsonPayload", "level"),),
)
_LOGGERS: Sequence[FieldPath] = (
    *(("loggerName",), ("logger_name",), ("logger",), ("log.logger",), ("log", "logger")),
    *(("category",), ("class",), ("jsonPayload", "logger"), ("_logger",)),
)
#: Where an object names the container, the pod or the machine; the narrowest name first.
_NAMES: Sequence[FieldPath] = (
    *(("kubernetes", "pod_name"), ("kubernetes", "pod", "name"), ("kubernetes.pod_name",)),
    *(("resource", "labels", "pod_name"), ("pod_name",), ("pod",), ("container_name",)),
    *(("container", "name"), ("container",), ("service",), ("_SYSTEMD_UNIT",), ("hostname",)),
    *(("labels", "pod"), ("host", "name"), ("host",), ("source_host",), ("_HOSTNAME",)),
)

_SECOND, _LEVEL = re.compile(SECOND.decode()), re.compile(rf"\b(?:{LEVEL.decode()})\b")
_LEVELS_OF_KAFKA = frozenset(LEVEL.decode().split("|"))
#: A line of text has its time and its level within so many characters.
_HEAD = 300
#: Docker cuts a line into objects of this size.
_CUT = 16 << 10
_SAMPLE_OBJECTS = 200
#: A number below this is of seconds, of milliseconds, of microseconds; else of nanoseconds.
_UNITS = ((1e11, 1), (1e14, 1e3), (1e17, 1e6), (float("inf"), 1e9))


class JsonLines(NamedTuple):
    """The fields of the JSON objects of a file."""

    message: FieldPath
    #: The fields of an entry; without time and level the message is a line of text.
    time: FieldPath | None
    level: FieldPath | None
    logger: FieldPath | None
    #: The name of the container; None: no object has it.
    name: FieldPath | None
    #: The lines of other containers are left out; empty: none is.
    names: tuple[str, ...] = ()

    def texts(self, lines: bytes) -> bytes:
        """The lines of text of these objects, each behind the name of its container."""
        texts = []
        for line in lines.decode("utf-8", "replace").split("\n"):
            if self.names and not any(name in line for name in self.names):
                continue
            words, fields = _object_in(line) or ("", None)
            text = _at(fields, self.message)
            if not isinstance(text, str):
                texts.append(f"{line}\n")
                continue
            if self.time is not None:
                text = self._entry(fields, text)
            if self.name is not None:
                words += f"{_name(fields, self.name) or '-'} "
            is_cut = len(text) >= _CUT and not text.endswith("\n")
            text = text.rstrip("\n").replace("\n", f"\n{words}")
            texts.append(words + text if is_cut else f"{words}{text}\n")
        return "".join(texts).encode("utf-8", "replace")

    def _entry(self, fields: Any, message: str) -> str:
        """An entry in Kafka's own layout."""
        assert self.time is not None
        assert self.level is not None
        time, level = _time(_at(fields, self.time)), str(_at(fields, self.level))
        if time is None:
            return message
        if level not in _LEVELS_OF_KAFKA:
            level = level.upper() if level.upper() in _LEVELS_OF_KAFKA else "INFO"
        logger = None if self.logger is None else _at(fields, self.logger)
        return f"[{time}] {level} {message} ({logger or ''})"

    def names_in(self, lines: bytes) -> set[bytes]:
        """The names of containers in lines of JSON; other texts, too, if a field is so called."""
        assert self.name is not None
        key = rb'"' + re.escape(self.name[-1].encode()) + rb'"\s*+:\s*+"([^"\\]+)"'
        return {b"".join(name.split()) for name in re.findall(key, lines)}


def json_lines_of(sample: bytes) -> JsonLines | None:
    """The fields of the JSON objects of a file that begins so; None: it has lines of text."""
    objects = list(islice(_objects_in(sample), _SAMPLE_OBJECTS))
    message = _usual(objects, _MESSAGES)
    if message is None:
        return None
    time, level = _usual(objects, _TIMES), _usual(objects, _LEVELS)
    texts = sum(_is_text(str(_at(fields, message))) for fields in objects)
    if time is None or level is None or 2 * texts > len(objects):
        time = level = None
    return JsonLines(message, time, level, _usual(objects, _LOGGERS), _usual(objects, _NAMES))


def _usual(objects: Sequence[dict[str, Any]], paths: Sequence[FieldPath]) -> FieldPath | None:
    """The first of these fields that most objects have; None: none."""
    counts = Counter(
        path for fields in objects for path in paths if _at(fields, path) not in (None, "")
    )
    usual = (path for path in paths if 2 * counts[path] > len(objects))
    return next(usual, None)


def _is_text(message: str) -> bool:
    """Whether a message is a line of text, with its own time and level."""
    time = _SECOND.search(message, 0, _HEAD)
    return time is not None and _LEVEL.search(message, 0, _HEAD) is not None


def _objects_in(sample: bytes) -> Iterator[dict[str, Any]]:
    for line in sample.decode("utf-8", "replace").split("\n"):
        found = _object_in(line)
        if found is not None:
            yield found[1]


def _object_in(line: str) -> tuple[str, dict[str, Any]] | None:
    """The words before the JSON object of a line, and its fields."""
    begin = line.find("{")
    if begin < 0 or not line.endswith(("}", "}\r")) or line[begin - 1 : begin] not in " \t:|":
        return None
    try:
        return line[:begin], json.loads(line[begin:])
    except ValueError:
        return None


def _at(fields: Any, path: FieldPath) -> Any:
    """The value that fields of fields lead to; None: there is none."""
    for name in path:
        if not isinstance(fields, dict):
            return None
        fields = fields.get(name)
    return fields


def _name(fields: Any, path: FieldPath) -> str:
    """A name without spaces; empty: there is none."""
    name = _at(fields, path)
    return "".join(name.split()) if isinstance(name, str) else ""


def _time(value: object) -> str | None:
    """A time as lines have it; None: it is none."""
    if isinstance(value, str) and _SECOND.match(value):
        return value
    if isinstance(value, dict):
        second, rest_ns = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if isinstance(second, int) and isinstance(rest_ns, int):
            value = second * 1_000 + rest_ns // 1_000_000
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if not isinstance(value, int | float):
        return None
    unit = next(unit for below, unit in _UNITS if value < below)
    return datetime.fromtimestamp(round(value / unit, 3), UTC).isoformat(timespec="milliseconds")
