"""A spelling from an operator's own file: the rules of a JMX exporter.

The file is the exporter's configuration, or an object of Kubernetes that has one in it. Of its
options ``lowercaseOutputName``, ``lowercaseOutputLabelNames`` and ``attrNameSnakeCase`` are used;
those that choose MBeans are not.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.metrics.spellings.spelling import Kind, Rule, Spelling

_KINDS: dict[str, Kind] = {"GAUGE": "gauge", "COUNTER": "counter", "UNTYPED": "unknown"}


class SpellingError(TidegaugeError):
    """There is no such spelling; the message is the reason, in one line."""


def spelling_of(text: str) -> Spelling:
    """A spelling by its name, or that of a file of rules.

    Raises:
        SpellingError: there is neither.
    """
    if text in SPELLINGS:
        return SPELLINGS[text]
    path = Path(text)
    if path.suffix not in {".yaml", ".yml"}:
        raise SpellingError(f"must be one of {', '.join(SPELLINGS)}, or a YAML file of rules")
    try:
        with path.open(encoding="utf-8") as file:
            documents = list(yaml.safe_load_all(file))
    except OSError as error:
        raise SpellingError(f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SpellingError("is not YAML") from error
    for content in _contents(documents):
        return _read(text, content)
    raise SpellingError("has no rules of a JMX exporter")


def _contents(value: Any) -> Iterator[dict[str, Any]]:
    """All mappings in it that have rules with patterns."""
    if isinstance(value, dict):
        rules = value.get("rules")
        if isinstance(rules, list) and any(
            isinstance(rule, dict) and "pattern" in rule for rule in rules
        ):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _contents(each)
    elif isinstance(value, str) and "pattern" in value:
        # A ConfigMap has the exporter's file as a text.
        try:
            yield from _contents(yaml.safe_load(value))
        except yaml.YAMLError:
            return


def _read(name: str, content: dict[str, Any]) -> Spelling:
    return Spelling(
        name,
        "the rules in a file",
        tuple(_rule(number, rule) for number, rule in enumerate(content["rules"], start=1)),
        lowercase_names=bool(content.get("lowercaseOutputName")),
        lowercase_labels=bool(content.get("lowercaseOutputLabelNames")),
    )


def _rule(number: int, rule: Any) -> Rule:
    if not isinstance(rule, dict) or not isinstance(rule.get("labels") or {}, dict):
        raise SpellingError(f"rule {number} is not a rule of a JMX exporter")
    # Java has named groups without the P.
    pattern = re.sub(r"\(\?<(?=[a-zA-Z])", "(?P<", str(rule.get("pattern") or ""))
    labels = {str(key): str(value) for key, value in (rule.get("labels") or {}).items()}
    name, kind = str(rule.get("name") or ""), _KINDS.get(str(rule.get("type")).upper(), "unknown")
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise SpellingError(f"rule {number} has a pattern that cannot be read: {error}") from error
    asked = re.findall(r"\$(\d+)", " ".join([name, *labels, *labels.values()]))
    if any(int(group) > groups for group in asked):
        raise SpellingError(f"rule {number} names a group that its pattern does not have")
    snake_case = bool(rule.get("attrNameSnakeCase"))
    return Rule(pattern, name, kind, labels, False, snake_case, "value" in rule)
