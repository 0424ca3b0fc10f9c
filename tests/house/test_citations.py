"""Each rule of Kafka says where in Kafka's source it was read: class, method and release."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tidegauge.compiled import rules
from tidegauge.compiled.compile_all import import_modules_of
from tidegauge.engine.doors import DOORS

import_modules_of(rules.KERNEL_ROOMS)

#: ``Partition.makeLeader@2.4.0``, or ``assign@2.0.1`` of the class that the module names.
CITATION = re.compile(r"Source:(.|\n)*[A-Za-z]\w+@\d+\.\d+")

#: What is ours and not Kafka's: how lists of replicas are packed, the truth about a log, all of
#: virtual time, and the doors by which events come in.
OURS = {"tidegauge.replication.replica_list"}
OUR_ROOMS = (
    *("tidegauge.simulation.", "tidegauge.clients.", "tidegauge.traces.", "tidegauge.engine."),
)
DOOR_RULES = {rule.__name__ for doors in DOORS.values() for rule in doors if rule is not None}
OUR_RULES = {"epoch_at", "first_difference", "widen_epochs", "settle_idle"} | DOOR_RULES


def of_kafka(function: Callable[..., Any]) -> bool:
    private = function.__name__.startswith("_")
    # Tests have rules, too.
    ours = function.__module__ in OURS or not function.__module__.startswith("tidegauge.")
    ours = ours or function.__module__.startswith(OUR_ROOMS)
    return not (private or ours or function.__name__ in OUR_RULES)


FUNCTIONS = [getattr(rule, "py_func", rule) for rule in rules.RULES]


def test_a_rule_cites_its_source() -> None:
    of_kafkas = [function for function in FUNCTIONS if of_kafka(function)]
    assert of_kafkas
    assert [f.__qualname__ for f in of_kafkas if not CITATION.search(f.__doc__ or "")] == []


def test_a_rule_without_a_source_would_be_found() -> None:
    assert not CITATION.search("Whether it may. Source: the documentation of 2.6.")
    assert CITATION.search("Whether it may.\n\nSource: Partition.mayDoIt@2.6.0.")
