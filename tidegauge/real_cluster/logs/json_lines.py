"""Logs of which each line is a JSON object: an entry in fields, or a line of text in one field.

Layouts of Log4j and Logback write an entry in fields: its time, level, logger and message.
Container engines and collectors of logs put each line of text into an object, and the name of the
container beside it. Either may follow a prefix of words.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from tidegauge.real_cluster.logs import foreign_dates
from tidegauge.real_cluster.logs.log_layout import LEVEL, SECOND

#: The names of fields within fields that lead to a value.
FieldPath = tuple[str, ...]

#: The fields of the layouts and collectors that are in use, within others or by dotted names.
_MESSAGES = (
    *("message", "msg", "log", "MESSAGE", "textPayload", "line", "text", "jsonPayload.message"),
    *("event.original", "short_message", "@message", "_raw", "logmessage", "body"),
)
_TIMES = (
    *("@timestamp", "timestamp", "instant", "timeMillis", "time", "ts", "date", "_time"),
    *("jsonPayload.timestamp", "timegenerated"),
)
_LEVELS = ("level", "log.level", "severity", "loglevel", "jsonPayload.level", "status")
_LOGGERS = (
    *("loggerName", "logger_name", "logger", "log.logger", "category", "class"),
    *("jsonPayload.logger", "_logger"),
)
#: Where an object names the container, the pod or the machine; the narrowest name first.
_NAMES = (
    *("kubernetes.pod_name", "kubernetes.pod.name", "resource.labels.pod_name", "pod_name"),
    *("pod", "podname", "container_name", "container.name", "container", "service"),
    *("_SYSTEMD_UNIT", "hostname", "labels.pod", "host.name", "host", "source_host"),
    *("_HOSTNAME", "@logstream"),
)
#: The fields in which Elasticsearch, Datadog and Splunk keep those of the entry.
_AROUND: Sequence[FieldPath] = ((), ("_source",), ("content",), ("result",), ("fields",))
#: The columns of a table that may have the message.
MESSAGE_COLUMNS = frozenset(map(str.lower, _MESSAGES))

_LEVEL = re.compile(rf"\b(?:{LEVEL.decode()})\b")
#: A time with a fraction of any length: Go leaves out zeros at the end.
_ISO = re.compile(rf"({SECOND.decode()})(?:[.,](\d{{1,9}}))?(.*)", re.DOTALL)
_LEVELS_OF_KAFKA = frozenset(LEVEL.decode().split("|"))
#: Docker cuts a line into objects of this size.
_CUT = 16 << 10
#: So many objects show the fields, and so many whether messages are lines of text: most lines of a
#: dump of settings are not.
_SAMPLE_OBJECTS, _SAMPLE_MESSAGES = 100, 2_000
_MOST_IN_DUMPS = 20
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
        #: The begins of lines that go on in another object, by the words before them.
        begun: dict[str, str] = {}
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
            text = begun.pop(words, "") + text
            if is_cut:
                begun[words] = text
            else:
                text = text.rstrip("\n").replace("\n", f"\n{words}")
                texts.append(f"{words}{text}\n")
        texts += [f"{words}{text}" for words, text in begun.items()]
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
    all_objects = list(islice(_objects_in(sample), _SAMPLE_MESSAGES))
    objects = all_objects[:_SAMPLE_OBJECTS]
    message = next(_usual(objects, _MESSAGES), None)
    if message is None:
        return None
    time, level, logger = (
        next(_usual(objects, names), None) for names in (_TIMES, _LEVELS, _LOGGERS)
    )
    texts = sum(_is_text(str(_at(fields, message))) for fields in all_objects)
    if time is None or level is None or _MOST_IN_DUMPS * texts > len(all_objects):
        time = level = None
    names = [*_usual(objects, _NAMES)]
    telling = (path for path in names if len({_name(fields, path) for fields in objects}) > 1)
    return JsonLines(message, time, level, logger, next(telling, next(iter(names), None)))


def _usual(objects: Sequence[dict[str, Any]], names: Sequence[str]) -> Iterator[FieldPath]:
    """Those of these fields that most objects have."""
    for name in names:
        for around in _AROUND:
            for path in dict.fromkeys([(*around, name), (*around, *name.split("."))]):
                values = (_at(fields, path) for fields in objects)
                if 2 * sum(value not in (None, "") for value in values) > len(objects):
                    yield path


def _is_text(message: str) -> bool:
    """Whether a message is a line of text, with its own time and level."""
    head = message[: foreign_dates.HEAD_BYTES]
    return _LEVEL.search(head) is not None and foreign_dates.has_time(head.encode())


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
    if isinstance(value, str):
        value = value.strip()
        if iso := _ISO.match(value):
            second, fraction, zone = iso.groups()
            return f"{second}{zone}" if fraction is None else f"{second}.{fraction:0<3}{zone}"
        if not value.isdigit():
            return value if foreign_dates.is_time(value) else None
    if isinstance(value, dict):
        second, rest_ns = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if isinstance(second, int) and isinstance(rest_ns, int):
            value = second * 1_000 + rest_ns // 1_000_000
    if isinstance(value, str):
        value = int(value)
    if not isinstance(value, int | float):
        return None
    unit = next(unit for below, unit in _UNITS if value < below)
    return datetime.fromtimestamp(round(value / unit, 3), UTC).isoformat(timespec="milliseconds")
