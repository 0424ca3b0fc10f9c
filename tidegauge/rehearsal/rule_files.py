"""Files of alert rules: Prometheus's own, or Kubernetes's PrometheusRule objects around the same.

They are parsed here only as far as needed to distinguish rules and to find the metrics that they
need; Prometheus decides whether an expression is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    #: Of the alert, or of the metric that it records.
    name: str
    is_alert: bool
    expression: str


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
    groups = content.get("groups") if isinstance(content, dict) else None
    if not isinstance(groups, list) or not groups:
        raise RuleFileError(f"{path}: has neither `groups` of rules nor a {_KIND} object")
    for place, group in enumerate(groups):
        if not isinstance(group, dict) or not isinstance(group.get("name"), str):
            raise RuleFileError(f"{path}: group {place + 1} has no name")
        if not isinstance(group.get("rules") or [], list):
            raise RuleFileError(f"{path}: group {group['name']}: `rules` must be a list")
    return groups


def _rules_of(path: Path, group: dict[str, Any]) -> Iterator[Rule]:
    for place, rule in enumerate(group.get("rules") or []):
        which = f"{path}: group {group['name']}, rule {place + 1}"
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
        yield Rule(group["name"], name, kind == "alert", str(expression))
