"""The spellings of the exporters in use: a table for each, and nothing else, makes one.

Tags of an MBean (topic, partition, clientId, request, ...) are labels everywhere. The spellings
differ in the names: whether ``PerSec`` becomes ``_total``, and the treatment of attributes.

==========================  ===================================================================
``strimzi``                 Strimzi's rules for the JMX exporter; kafka-observ-lib reads them too
``strimzi-metrics-reporter``  the Strimzi Metrics Reporter, which asks Kafka and not JMX
``jmx-exporter-example``    the example for Kafka that the JMX exporter comes with
``jmx-exporter``            the JMX exporter without rules
``grafana-cloud``           Grafana's kafka-mixin: raw counts keep ``PerSec``
``confluent``               Confluent's rules: as before, and labels in small letters
``bitnami``                 the rules of Bitnami's chart: attributes stay in the names
==========================  ===================================================================

Only one is served at a time: queries that join spellings would count everything twice.

An operator's file with the rules of a JMX exporter makes a further spelling. It is the exporter's
configuration, or an object of Kubernetes that contains one. Its options ``lowercaseOutputName``,
``lowercaseOutputLabelNames`` and ``attrNameSnakeCase`` are used; those that choose MBeans are not.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.metrics.spellings.spelling import Kind, Rule, Spelling

#: An MBean of Yammer: domain, type, the beginning of its name; and the rest of its keys.
_YAMMER = r"^kafka\.([\w.]+)<type=([^,>]+), name=([^,>]+?)"
_TAGS = r"(?:, [^>]+)?><>"
#: A metric of Kafka's own library: domain, group, tags, name.
_KAFKA = r"^kafka\.([\w.]+)<type=([^,>]+)(?:, (?!name=)[^>]+)?><>"

_QUANTILE = {"quantile": "0.$4"}
_PERCENTILE = Rule(_YAMMER + _TAGS + r"(\d+)thPercentile", "kafka_$1_$2_$3", "gauge", _QUANTILE)
_RATE = Rule(_YAMMER + r"PerSec\w*" + _TAGS + "Count", "kafka_$1_$2_$3_total")
_VALUE = Rule(_YAMMER + _TAGS + "Value", "kafka_$1_$2_$3")
_COUNT = Rule(_YAMMER + _TAGS + "Count", "kafka_$1_$2_$3_count")
_MEAN_PERCENT = Rule(_YAMMER + r"Percent\w*" + _TAGS + "MeanRate", "kafka_$1_$2_$3_percent")

STRIMZI = Spelling(
    "strimzi",
    "Strimzi's rules for the JMX exporter",
    (
        _MEAN_PERCENT,
        Rule(_YAMMER + r"Percent\w*" + _TAGS + "Value", "kafka_$1_$2_$3_percent"),
        _RATE,
        _VALUE,
        _COUNT,
        _PERCENTILE,
        Rule("<type=raft-metrics><>(current-state):", "kafka_server_raftmetrics_$1", "unknown"),
        Rule("<type=raft-metrics><>(.+):", "kafka_server_raftmetrics_$1"),
        Rule("<type=raft-channel-metrics><>(.+):", "kafka_server_raftchannelmetrics_$1"),
        Rule("<type=broker-metadata-metrics><>(.+):", "kafka_server_brokermetadatametrics_$1"),
        Rule(_KAFKA + "(.+):", "kafka_$1_$2_$3"),
    ),
)

METRICS_REPORTER = Spelling(
    "strimzi-metrics-reporter",
    "the Strimzi Metrics Reporter",
    (
        # It knows Kafka's own kinds: a meter is a counter, timers and histograms are summaries.
        Rule(_YAMMER + "(PerSec|Percent)" + _TAGS + "Count", "kafka_$1_$2_$3$4_total"),
        _COUNT,
        Rule(_YAMMER + _TAGS + r"(\d+?)0*thPercentile", "kafka_$1_$2_$3", "gauge", _QUANTILE),
        _VALUE,
        Rule(_KAFKA + "(current-state):", "kafka_$1_$2_$3_info"),
        # All of Kafka's own metrics are gauges, whose names must not end like a counter's.
        Rule(_KAFKA + "(.+?)(?:-total|-info)*:", "kafka_$1_$2_$3", "gauge"),
    ),
)

JMX_EXPORTER_EXAMPLE = Spelling(
    "jmx-exporter-example",
    "the JMX exporter's example for Kafka",
    (
        Rule(
            "<type=(raft-metrics)><>current-state: (.+)",
            "kafka_server_$1_current_state_info",
            "gauge",
            {"state": "$2"},
            keeps_keys=False,
        ),
        Rule(_KAFKA + "([a-z-]+):", "kafka_$1_$2_$3"),
        _RATE,
        _VALUE,
        _COUNT,
        _PERCENTILE,
        _MEAN_PERCENT,
    ),
)

JMX_EXPORTER = Spelling(
    "jmx-exporter", "the JMX exporter without rules", (Rule("", sets_value=False),)
)

GRAFANA_CLOUD = Spelling(
    "grafana-cloud",
    "Grafana's kafka-mixin",
    (
        Rule(_YAMMER + _TAGS + "(?:Count|Value)", "kafka_$1_$2_$3"),
        _PERCENTILE,
        Rule(
            "<type=socket-server-metrics, listener=(.+), networkProcessor=(.+)><>(.+):",
            "kafka_server_socketservermetrics_$3",
            labels={"listener": "$1", "network_processor": "$2"},
            keeps_keys=False,
        ),
        Rule(_KAFKA + "(.+):", "kafka_$1_$2_$3"),
    ),
    lowercase_labels=True,
    jobs=("integrations/kafka", "integrations/kafka", "integrations/kafka"),
)

CONFLUENT = GRAFANA_CLOUD._replace(
    name="confluent",
    exporter="Confluent's rules for the JMX exporter",
    jobs=("kafka-broker", "kafka-controller", "kafka-lag-exporter"),
)

BITNAMI = Spelling(
    "bitnami",
    "the rules of Bitnami's chart",
    (
        Rule(
            "^kafka.(controller|network)<type=([^,>]+), name=([^,>]+).*><>(Value|Count)",
            "kafka_$1_$2_$3_$4",
        ),
        Rule("^kafka.(log|cluster)<type=([^,>]+), name=([^,>]+).*><>Value", "kafka_$1_$2_$3"),
        Rule(
            "^kafka.server<type=([^,>]+), name=([^,>]+), .*><>(Value|Count)",
            "kafka_server_$1_$2_$3",
        ),
        Rule(
            "^kafka.server<type=([^,>]+), name=([^,>]+)><>(Value|Count)",
            "kafka_server_$1_total_$2_$3",
        ),
        _PERCENTILE,
        Rule(_KAFKA + "(.+):", "kafka_$1_$2_$3"),
    ),
    lowercase_labels=True,
)

SPELLINGS = {
    spelling.name: spelling
    for spelling in (
        *(STRIMZI, METRICS_REPORTER, JMX_EXPORTER_EXAMPLE, JMX_EXPORTER),
        *(GRAFANA_CLOUD, CONFLUENT, BITNAMI),
    )
}


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
