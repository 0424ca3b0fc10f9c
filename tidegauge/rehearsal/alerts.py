"""The alerts of rule files, and the metrics that their expressions need.

A file is Prometheus's own, or has Kubernetes's PrometheusRule objects around the same. It is parsed
only as far as needed to distinguish rules and to find the metrics that they need; Prometheus
decides whether an expression is valid.

An alert such as ``absent(container_last_seen)`` would fire forever, since containers are not
simulated, and one about the heap of a JVM would never fire; neither result tests the rule. So an
expression is parsed as far as needed for that: names of metrics, ``or`` between alternatives, of
which one is enough, and ``unless``, whose right side may be missing.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tidegauge.compiled.errors import TidegaugeError

_KIND = "PrometheusRule"
_LARGEST_BYTES = 20_000_000


class RuleFileError(TidegaugeError):
    """A file of rules that cannot be used; the message is one line, and names the file."""


class Rule(NamedTuple):
    """One rule."""

    group: str
    #: The name of the alert, or of the metric that it records.
    name: str
    is_alert: bool
    expression: str
    for_us: int = 0
    keep_firing_for_us: int = 0


class RuleFile(NamedTuple):
    """A file, and the rules in it."""

    path: Path
    #: The input of Prometheus: the file itself, or the groups of the objects in it.
    text: str
    rules: tuple[Rule, ...]


def read_rule_file(path: Path) -> RuleFile:
    """The rules in a file.

    Raises:
        RuleFileError: the file cannot be read, or a rule in it is not valid.
    """
    text = _read(path)
    try:
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError as error:
        raise RuleFileError(f"{path}: is not valid YAML: {_in_one_line(error)}") from error
    except RecursionError as error:
        raise RuleFileError(f"{path}: is nested too deep") from error
    objects = list(_rule_objects(documents))
    if objects:
        groups = [group for each in objects for group in _groups_of(path, each.get("spec"))]
        text = yaml.safe_dump({"groups": groups}, sort_keys=False)
    elif len(documents) == 1:
        groups = _groups_of(path, documents[0])
    else:
        raise RuleFileError(f"{path}: has neither `groups` of rules nor a {_KIND} object")
    rules = tuple(rule for group in groups for rule in _rules_of(path, group))
    return RuleFile(path, text, rules)


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise RuleFileError(f"{path}: is too large for a file of rules")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RuleFileError(f"{path}: is not text in UTF-8") from error
    except OSError as error:
        raise RuleFileError(f"{path}: {error.strerror}") from error


def _in_one_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f"line {mark.line + 1}: " if mark is not None else ""
    return f"{place}{getattr(error, 'problem', None) or 'it cannot be parsed'}"


def _rule_objects(documents: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The PrometheusRule objects among documents, those in lists too."""
    for document in documents:
        if not isinstance(document, dict):
            continue
        if document.get("kind") == _KIND:
            yield document
        elif isinstance(document.get("items"), list):
            yield from _rule_objects(document["items"])


def _groups_of(path: Path, content: Any) -> list[dict[str, Any]]:
    if isinstance(content, dict) and isinstance(content.get("panels"), list):
        raise RuleFileError(
            f"{path}: is a dashboard, not a file of rules; `tidegauge dashboards --check` reads it"
        )
    groups = content.get("groups") if isinstance(content, dict) else None
    if not isinstance(groups, list) or not groups:
        raise RuleFileError(f"{path}: has neither `groups` of rules nor a {_KIND} object")
    for place, group in enumerate(groups):
        if not isinstance(group, dict) or not isinstance(group.get("name"), str):
            raise RuleFileError(f"{path}: group {place + 1} has no name")
        if not isinstance(group.get("rules") or [], list):
            raise RuleFileError(f"{_group_text(path, group)}: `rules` must be a list")
        for key in ("interval", "query_offset"):
            _duration_us(_group_text(path, group), group, key)
    return groups


def _group_text(path: Path, group: Mapping[str, Any]) -> str:
    return f"{path}: group {group['name']}"


def _rules_of(path: Path, group: dict[str, Any]) -> Iterator[Rule]:
    for place, rule in enumerate(group.get("rules") or []):
        which = f"{_group_text(path, group)}, rule {place + 1}"
        if not isinstance(rule, dict):
            raise RuleFileError(f"{which}: must be a mapping with `alert` or `record`, and `expr`")
        names = [(kind, rule[kind]) for kind in ("alert", "record") if rule.get(kind)]
        if len(names) != 1:
            raise RuleFileError(f"{which}: must have either `alert` or `record`")
        kind, name = names[0]
        # Prometheus accepts a number as an expression, too.
        expression = rule.get("expr")
        if not isinstance(name, str) or not isinstance(expression, str | int | float):
            wrong = kind if not isinstance(name, str) else "expr"
            problem = "is missing" if rule.get(wrong) is None else "must be text"
            raise RuleFileError(f"{which} ({name}): `{wrong}` {problem}")
        which += f" ({name})"
        times_us = [_duration_us(which, rule, key) for key in ("for", "keep_firing_for")]
        yield Rule(group["name"], name, kind == "alert", str(expression), *times_us)


_DURATION = re.compile(
    r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?|0"
)
_UNITS_MS = (31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1)


def _duration_us(which: str, part: Mapping[str, Any], key: str) -> int:
    """A duration of a rule or group as Prometheus has it, such as 1h30m; 0 for none."""
    written = part.get(key)
    if written is None:
        return 0
    match = _DURATION.fullmatch(str(written))
    if match is None or written == "":
        raise RuleFileError(
            f"{which}: `{key}: {written}` is not a duration such as 30s, 5m or 1h30m"
        )
    parts = zip(match.groups(default="0"), _UNITS_MS, strict=True)
    return 1_000 * sum(int(count) * unit_ms for count, unit_ms in parts)


_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
      | (?P<skipped>\s+|\#[^\n]*|\[[^\]]*\])
      | (?P<number>[0-9.][\w.]*)
      | (?P<name>[a-zA-Z_:][\w:]*)
      | (?P<sign>=~|!~|!=|.)""",
    re.VERBOSE | re.DOTALL,
)
#: Keywords with labels in parentheses after them.
_GROUPING = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_SET_OPERATORS = {"and", "or", "unless"}
#: Aggregations do not need a parenthesis directly after them; functions do.
_WORDS = {
    *_SET_OPERATORS,
    *("bool", "offset", "atan2", "inf", "nan"),
    *("sum", "min", "max", "avg", "group", "stddev", "stdvar", "count", "count_values"),
    *("bottomk", "topk", "quantile", "limitk", "limit_ratio"),
}


class Needs(NamedTuple):
    """The metrics that an expression reads."""

    #: Names of metrics that are served.
    served: frozenset[str]
    #: Names of metrics that it needs for any result, and that are not served.
    missing: frozenset[str]


def needs_of(expression: str, served: Collection[str]) -> Needs:
    """The metrics that an expression reads, where these metrics are served."""
    reader = _Reader(expression, served)
    missing = reader.read()
    return Needs(frozenset(reader.found), missing)


class _Reader:
    """Goes through the tokens of an expression once."""

    def __init__(self, expression: str, served: Collection[str]) -> None:
        self._tokens = [
            (match.lastgroup or "", match[0])
            for match in _TOKEN.finditer(expression)
            if match.lastgroup != "skipped"
        ]
        self._place = 0
        self._served = served
        self.found: set[str] = set()

    def read(self) -> frozenset[str]:
        """The missing metrics up to the end, or to the parenthesis that closes this part."""
        alternatives: list[set[str]] = [set()]
        is_subtracted = False
        while (token := self._next()) is not None and token[1] != ")":
            word = token[1].lower()
            if word in _SET_OPERATORS:
                is_subtracted = word == "unless"
            if word == "or":
                alternatives.append(set())
            missing = self._operand(*token)
            if not is_subtracted:
                alternatives[-1] |= missing
        if not all(alternatives):
            return frozenset()
        return frozenset().union(*alternatives)

    def _operand(self, kind: str, text: str) -> frozenset[str]:
        """The missing metrics of the term that begins with this token."""
        word = text.lower()
        if text == "(":
            return self.read()
        if text == "{":
            return self._selector(None)
        if word in _GROUPING:
            self._skip_labels()
        elif kind == "name" and word not in _WORDS and self._peek() != "(":
            return self._selector(text)
        return frozenset()

    def _next(self) -> tuple[str, str] | None:
        if self._place == len(self._tokens):
            return None
        self._place += 1
        return self._tokens[self._place - 1]

    def _peek(self) -> str:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else ""

    def _skip_labels(self) -> None:
        if self._peek() == "(":
            while (token := self._next()) is not None and token[1] != ")":
                pass

    def _selector(self, name: str | None) -> frozenset[str]:
        """The missing metric of one selector: its name is before its braces, or within them."""
        matches = ("=", name) if name is not None else None
        if name is None or self._peek() == "{":
            inside = self._braces()
            matches = matches or _name_within(inside)
        sign, wanted = matches or ("=~", ".*")
        if sign == "=":
            found = {wanted} & set(self._served)
        else:
            found = {each for each in self._served if _is_wanted(each, sign, wanted)}
        self.found |= found
        return frozenset() if found else frozenset({wanted})

    def _braces(self) -> list[tuple[str, str]]:
        if self._peek() == "{":
            self._next()
        inside = []
        while (token := self._next()) is not None and token[1] != "}":
            inside.append(token)
        return inside


def _name_within(inside: list[tuple[str, str]]) -> tuple[str, str] | None:
    """The name of a metric within braces: ``__name__=~"kafka_.*"``, or in quotes and alone."""
    for place, (kind, text) in enumerate(inside):
        if text == "__name__" and len(inside) > place + 2:
            return inside[place + 1][1], inside[place + 2][1][1:-1]
        is_alone = place == 0 or inside[place - 1][1] == ","
        if kind == "string" and is_alone and inside[place + 1 : place + 2] in ([], [("sign", ",")]):
            return "=", text[1:-1]
    return None


def _is_wanted(name: str, sign: str, wanted: str) -> bool:
    if sign == "!=":
        return name != wanted
    return (re.fullmatch(wanted, name) is not None) == (sign == "=~")


#: Metrics that Prometheus's rule engine itself keeps.
OF_THE_ENGINE = {"ALERTS", "ALERTS_FOR_STATE"}


class Alert(NamedTuple):
    """An alert: all rules of one name, as ``ALERTS`` does not distinguish them either."""

    name: str
    #: The files and groups of its rules, each as ``FILE: GROUP``.
    places: Sequence[str]
    #: Metrics that it needs for any result, and that are not served.
    missing: Sequence[str]
    #: True: it reads no metric at all, so it fires always or never.
    reads_nothing: bool
    #: The longest `for` and `keep_firing_for` of its rules.
    for_us: int = 0
    keep_firing_for_us: int = 0
    #: Those of the missing metrics by which it is dead on a cluster, as the exporter never makes
    #: these names; each with its own name for the same value. None: it has none.
    never_made: Mapping[str, str | None] = {}
    #: The misspelt ones among the missing metrics, each with the name that is meant.
    misspelt: Mapping[str, str] = {}
    #: The expression of its first rule.
    expression: str = ""

    @property
    def is_simulated(self) -> bool:
        """Whether the simulation can test the alert."""
        return not self.missing and not self.reads_nothing


class Alerts(NamedTuple):
    """All alerts, and the metrics that must be recorded for them."""

    alerts: Sequence[Alert]
    #: The served metrics that any rule reads.
    metrics: frozenset[str]


def alerts_of(files: Sequence[RuleFile], served: Collection[str]) -> Alerts:
    """The alerts in these files, in their order, where these metrics are served."""
    names = {*served, *OF_THE_ENGINE, *_recorded(files, served)}
    rules: dict[str, list[tuple[Path, Rule, Needs]]] = {}
    metrics: set[str] = set()
    for file in files:
        for rule in file.rules:
            needs = needs_of(rule.expression, names)
            metrics |= needs.served
            if rule.is_alert:
                rules.setdefault(rule.name, []).append((file.path, rule, needs))
    alerts = [
        Alert(
            name,
            [f"{path}: {rule.group}" for path, rule, _ in found],
            sorted(frozenset().union(*(needs.missing for _, _, needs in found))),
            reads_nothing=not any(needs.served or needs.missing for _, _, needs in found),
            for_us=max(rule.for_us for _, rule, _ in found),
            keep_firing_for_us=max(rule.keep_firing_for_us for _, rule, _ in found),
            expression=found[0][1].expression,
        )
        for name, found in rules.items()
    ]
    return Alerts(alerts, frozenset(metrics & set(served)))


def alerts_without_metrics(files: Sequence[RuleFile], served: Collection[str]) -> set[str]:
    """The names of alerts none of whose rules has its metrics, where these are served."""
    names = {*served, *OF_THE_ENGINE, *_recorded(files, served)}
    alerts = [rule for file in files for rule in file.rules if rule.is_alert]
    found = {rule.name for rule in alerts if not needs_of(rule.expression, names).missing}
    return {rule.name for rule in alerts} - found


def _recorded(files: Sequence[RuleFile], served: Collection[str]) -> set[str]:
    """The metrics that recording rules derive from served metrics, and from each other."""
    waiting = [rule for file in files for rule in file.rules if not rule.is_alert]
    recorded: set[str] = set()
    while True:
        names = {*served, *recorded}
        ready = {rule.name for rule in waiting if not needs_of(rule.expression, names).missing}
        if ready <= recorded:
            return recorded
        recorded |= ready
