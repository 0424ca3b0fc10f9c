"""The sections of the scenario reference, and the types and units of their fields.

A section is a part of the model below a heading. Types are those of the JSON schema of editors.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from tidegauge.laboratory.manual.markdown import NONE, anchor, code
from tidegauge.scenario.model import cluster
from tidegauge.scenario.model.component_faults import FAULTS
from tidegauge.scenario.model.costs import Costs, Latency, Network
from tidegauge.scenario.model.fault import FaultOfAnyKind
from tidegauge.scenario.model.fault_rates import FaultRate
from tidegauge.scenario.model.limits import Machine, Resources
from tidegauge.scenario.model.parts import Part
from tidegauge.scenario.model.pins import Pin
from tidegauge.scenario.model.process_faults import LeadershipAfter, SurvivingLog
from tidegauge.scenario.model.request_steps import STEPS
from tidegauge.scenario.model.scenario import AlertExpectations, Scenario
from tidegauge.scenario.model.sometimes import Sometimes
from tidegauge.scenario.model.step import AlteredMove, Condition, IsrIs, LeaderIs, StepOfAnyKind
from tidegauge.scenario.model.topic_steps import Move
from tidegauge.scenario.model.workload import ConsumerGroup, ProducerGroup, Workload
from tidegauge.simulation import quantities
from tidegauge.simulation.messages.kinds import MESSAGES


class Section(NamedTuple):
    """A heading, and the part of a scenario whose fields stand below it."""

    heading: str
    part: type[Part]
    level: int = 2
    #: Its fields stand in a section of their own.
    without: type[Part] | None = None


def _kinds(kinds: Mapping[str, type[Part]], field: str, common: type[Part]) -> Iterator[Section]:
    """A section for each kind of fault or step."""
    for kind, part in kinds.items():
        yield Section(f"{field}: {kind}", part, 3, without=common)


SECTIONS = (
    Section("The scenario", Scenario),
    Section("Cluster", cluster.Cluster),
    Section("Release of a broker", cluster.BrokerRelease, 3),
    Section("ZooKeeper", cluster.ZooKeeper),
    Section("Controllers", cluster.Controllers),
    Section("Topic", cluster.Topic),
    Section("State of a partition", cluster.FormerState, 3),
    Section("Workload", Workload),
    Section("Producers", ProducerGroup, 3),
    Section("Consumers", ConsumerGroup, 3),
    Section("Network", Network),
    Section("Costs", Costs),
    Section("Latency", Latency, 3),
    Section("Resources", Resources, without=Machine),
    Section("Machine of a broker", Machine, 3),
    Section("Faults", FaultOfAnyKind),
    *_kinds(FAULTS, "kind", FaultOfAnyKind),
    Section("Kept log", SurvivingLog, 3),
    Section("Leadership back", LeadershipAfter, 3),
    Section("Pins", Pin),
    Section("Fault rates", FaultRate),
    Section("Steps", StepOfAnyKind),
    *_kinds(STEPS, "do", StepOfAnyKind),
    Section("Move", Move, 3),
    Section("Altered move", AlteredMove, 3),
    Section("Condition", Condition, 3),
    Section("ISR condition", IsrIs, 3),
    Section("Leader condition", LeaderIs, 3),
    Section("Sometimes", Sometimes),
    Section("Expected alerts", AlertExpectations),
)

_HEADINGS = {section.part.__name__: section.heading for section in SECTIONS}


def link_to(part: str) -> str:
    """A link to the section of a part, by the name of its class."""
    return f"[{_HEADINGS[part].lower()}](#{anchor(_HEADINGS[part])})"


def _by_field(fields: Mapping[str, str]) -> dict[str, str]:
    """The words of each field; ``fields`` has the names of fields by words."""
    return {name: words for words, names in fields.items() for name in names.split()}


#: Units of numbers, by the name of their field; the fields of faults and steps have their own.
_UNITS = _by_field(
    {
        "acks": "acks",
        "that of the figure": "at_least",
        "batches/s": "batches_per_second",
        "broker id": "isr elr leader last_known_leader adding removing is is_not to broker brokers "
        "racks replicas assignment between bootstrap from registered unregistered controller",
        "bytes": "record_bytes",
        "clients": "clients",
        "controllers": "count",
        "controller number": "bootstrap_servers voters observes leads",
        "directories": "log_directories",
        "epoch": "leader_epoch",
        "level": "kraft_version",
        "ms": "tick_ms",
        "partition number": "partition",
        "partitions": "partitions",
        "records": "records_per_batch",
        "records/s": "records_per_second",
        "replicas": "replication_factor",
        "seed number": "seed",
        "servers": "servers",
    }
)
#: Keys of mappings, by the name of their field.
_KEYS = _by_field(
    {
        "broker id": "broker_settings broker_releases brokers behind",
        "broker id (of controllers: number)": "start",
        "partition number": "assignment state size",
        "alert": "fire clear",
        "check": "checks",
        "rack": "racks",
        "setting": "settings",
    }
)
_DURATION = quantities.DURATION_SCHEMA["pattern"]
_SELECTOR = "[selector](#faults)"
_QUANTITIES = {
    _DURATION: "duration",
    quantities.SIZE_SCHEMA["pattern"]: "size",
    quantities.BANDWIDTH_SCHEMA["pattern"]: "bandwidth",
}
_UNITS_OF_QUANTITIES = {
    _DURATION: "us, ms, s, m, h",
    quantities.SIZE_SCHEMA["pattern"]: ", ".join(quantities.UNITS_BYTES),
    quantities.BANDWIDTH_SCHEMA["pattern"]: "kB/s to TiB/s, kbit/s to Gbit/s",
}


def type_of(schema: Mapping[str, Any], name: str) -> str:
    """The type of the field of this name."""
    if "$ref" in schema:
        return link_to(schema["$ref"].rpartition("/")[2])
    if "discriminator" in schema:
        is_fault = schema["discriminator"]["propertyName"] == "kind"
        return "[fault](#faults)" if is_fault else "[step](#steps)"
    if "anyOf" in schema:
        types = [type_of(each, name) for each in schema["anyOf"] if each != {"type": "null"}]
        # A broker's id is a selector, too.
        return _SELECTOR if _SELECTOR in types else " or ".join(dict.fromkeys(types))
    if "const" in schema or "enum" in schema:
        return _listed(schema.get("enum", [schema.get("const")]))
    if schema.get("pattern") in _QUANTITIES:
        return _QUANTITIES[schema["pattern"]]
    return _type_by_name(schema, name)


def _listed(values: Sequence[object]) -> str:
    if values == list(MESSAGES):
        return "[message](#messages)"
    return ", ".join(dict.fromkeys(code(written(value).strip("'")) for value in values))


def _type_by_name(schema: Mapping[str, Any], name: str) -> str:
    if schema["type"] in ("array", "object"):
        return _type_of_many(schema, name)
    if schema["type"] in ("integer", "number"):
        return f"{schema['type']}{_limits(schema)}"
    if schema["type"] == "boolean":
        return "`true` or `false`"
    if schema["type"] == "string":
        return _SELECTOR if "zookeeper" in schema.get("pattern", "") else "text"
    return "number, flag or text"


def _type_of_many(schema: Mapping[str, Any], name: str) -> str:
    if "prefixItems" in schema:
        return f"list of two: each a {type_of(schema['prefixItems'][0], name)}"
    if schema["type"] == "array":
        return f"list of {type_of(schema['items'], name)}"
    values = schema.get("properties", {"": schema["additionalProperties"]})
    return f"mapping, {_KEYS[name]} to {type_of(next(iter(values.values())), 'settings')}"


def _limits(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None:
        return ""
    if isinstance(least, float):
        least = format(least, ".2g")
    return f" from {least}" if most is None else f" from {least} to {most}"


def unit_of(schema: Mapping[str, Any], name: str) -> str:
    """The unit of the field of this name; a text or a flag has none."""
    leaves = [*_leaves(schema)]
    for leaf in leaves:
        if leaf.get("pattern") in _UNITS_OF_QUANTITIES:
            return _UNITS_OF_QUANTITIES[leaf["pattern"]]
    if any(isinstance(leaf.get("type"), list) for leaf in leaves):
        return "that of the setting"
    if any(leaf.get("type") in {"integer", "number"} for leaf in leaves) or name == "acks":
        return _UNITS.get(name, "")
    return NONE


def _leaves(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas of the values in a field, down to other parts; a latency is a duration."""
    if schema.get("$ref", "").endswith("/Latency"):
        schema = quantities.DURATION_SCHEMA
    inner = [schema[name] for name in ("items", "additionalProperties") if schema.get(name)]
    parts = [*schema.get("anyOf", ()), *schema.get("prefixItems", ()), *inner]
    for each in parts:
        yield from _leaves(each)
    if not parts:
        yield schema


def written(value: object) -> str:
    """A value as a scenario has it, in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    return text.strip().removesuffix("...").strip()
