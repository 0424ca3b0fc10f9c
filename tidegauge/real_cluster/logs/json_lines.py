"""Logs of which each line is a JSON object: an entry in fields, or a line of text in one field.

Layouts of Log4j and Logback write an entry in fields: its time, level, logger and message.
Container engines and collectors of logs put each line of text into an object, and the container
beside it. Either may stand inside the other, and may follow a prefix of words.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tidegauge.real_cluster.logs.log_layout import LEVEL, SECOND

#: The names of a field in the layouts and collectors that are in use.
_MESSAGES = ("message", "msg", "log", "MESSAGE", "textPayload", "line", "text")
_TIMES = ("@timestamp", "timestamp", "instant", "timeMillis", "time", "ts", "date")
_LEVELS = ("level", "log.level", "severity", "loglevel", "priority")
_LOGGERS = ("loggerName", "logger_name", "logger", "log.logger", "category", "class")
#: Where an object names the container, the pod or the machine; the narrowest name first.
_NAMES = (
    *(("kubernetes", "pod_name"), ("kubernetes", "pod", "name"), ("kubernetes.pod_name",)),
    *(("resource", "labels", "pod_name"), ("pod_name",), ("pod",), ("container_name",)),
    *(("container", "name"), ("container",), ("service",), ("_SYSTEMD_UNIT",), ("hostname",)),
    *(("host", "name"), ("host",), ("source_host",), ("_HOSTNAME",)),
)

#: A message that has its own time and level is a line of text.
_TEXT = re.compile(rf".{{0,200}}?{SECOND.decode()}.{{0,100}}?\b(?:{LEVEL.decode()})\b")
_SECOND = re.compile(SECOND.decode())
_LEVEL = re.compile(LEVEL.decode())
#: Docker cuts a line into objects of this size.
_CUT_BYTES = 16 << 10
_SAMPLE_OBJECTS = 200
_DEEPEST = 3
#: A number of so many is of seconds, of milliseconds, of microseconds; else of nanoseconds.
_UNITS = ((1e11, 1), (1e14, 1e3), (1e17, 1e6), (1e30, 1e9))


class JsonLines(NamedTuple):
    """The way in which the lines of a file are JSON objects."""

    #: The fields that lead to the name of the container; empty: no object has one.
    name: tuple[str, ...]
    #: The lines of other containers are left out; empty: none is.
    names: tuple[bytes, ...] = ()

    def texts(self, lines: bytes) -> bytes:
        """The lines of text of these objects, each behind the name of its container."""
        texts = []
        for line in lines.split(b"\n"):
            if self.names and not any(name in line for name in self.names):
                continue
            words, fields = _object_in(line) or (b"", {})
            text = _text_of(fields)
            if text is None:
                texts.append(line + b"\n")
                continue
            if self.name:
                words += f"{_field(fields, self.name) or '-'} ".encode()
            data = text.encode("utf-8", "replace")
            if len(data) < _CUT_BYTES or data.endswith(b"\n"):
                data = data.rstrip(b"\n") + b"\n"
            texts.append(words + data[:-1].replace(b"\n", b"\n" + words) + data[-1:])
        return b"".join(texts)


def json_lines_of(sample: bytes) -> JsonLines | None:
    """The way in which a file that begins so has JSON objects; None: it has lines of text."""
    objects = [fields for fields in _objects_in(sample) if _text_of(fields) is not None]
    if not objects:
        return None
    named = Counter(path for fields in objects for path in _NAMES if _field(fields, path))
    usual = [path for path in _NAMES if 2 * named[path] > len(objects)]
    return JsonLines(usual[0] if usual else ())


def _objects_in(sample: bytes) -> Iterator[dict[str, Any]]:
    left = _SAMPLE_OBJECTS
    for line in sample.split(b"\n"):
        found = _object_in(line)
        if found is not None:
            yield found[1]
            left -= 1
            if not left:
                break


def _object_in(line: bytes) -> tuple[bytes, dict[str, Any]] | None:
    """The words before the JSON object of a line, and its fields."""
    begin = line.find(b'{"')
    begin = line.find(b"{ ") if begin < 0 else begin
    if begin < 0 or not line.rstrip().endswith(b"}"):
        return None
    if begin and line[begin - 1 : begin] not in b" \t:|":
        return None
    try:
        fields = json.loads(line[begin:])
    except ValueError:
        return None
    return line[:begin], fields


def _text_of(fields: dict[str, Any], depth: int = 0) -> str | None:
    """The text of an object, in Kafka's own layout if it is an entry in fields; None: none."""
    message = next((text for name in _MESSAGES if isinstance(text := fields.get(name), str)), None)
    if message is None:
        return None
    if message.startswith("{") and depth < _DEEPEST:
        inner = _object_in(message.encode("utf-8", "replace"))
        text = None if inner is None else _text_of(inner[1], depth + 1)
        if text is not None:
            return text
    level = next((text for name in _LEVELS if isinstance(text := fields.get(name), str)), None)
    time = next((_time(fields[name]) for name in _TIMES if name in fields), None)
    if level is None or time is None or _TEXT.match(message):
        return message
    logger = next((text for name in _LOGGERS if isinstance(text := fields.get(name), str)), "")
    level = level.upper()
    return f"[{time}] {level if _LEVEL.fullmatch(level) else 'INFO'} {message} ({logger})"


def _time(value: object) -> str | None:
    """A time as lines have it; None: it is none."""
    if isinstance(value, dict):
        second, rest_ns = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if not isinstance(second, int) or not isinstance(rest_ns, int):
            return None
        value = second * 1_000 + rest_ns // 1_000_000
    if isinstance(value, str):
        return value if _SECOND.match(value) else None
    if not isinstance(value, int | float):
        return None
    unit = next(unit for most, unit in _UNITS if value < most or unit == _UNITS[-1][1])
    moment = datetime.fromtimestamp(round(value / unit, 3), UTC)
    return moment.isoformat(timespec="milliseconds")


def _field(fields: object, path: tuple[str, ...]) -> str:
    """The text that fields of fields lead to, without spaces; empty: there is none."""
    for name in path:
        fields = fields.get(name) if isinstance(fields, dict) else None
    return "".join(fields.split()) if isinstance(fields, str) else ""
