"""Service discovery over HTTP, for Prometheus's ``http_sd_configs``."""

from __future__ import annotations

import json
import re

from tidegauge.metrics.samples.targets import metrics_path, target_labels, targets_of
from tidegauge.metrics.spellings.all_spellings import STRIMZI
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.scenario.cluster_plan import ClusterPlan

#: A name, an IPv4 or a bracketed IPv6 address, with a port or without.
_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


def is_address(text: str) -> bool:
    """Whether this can be the address of a target."""
    return _ADDRESS.fullmatch(text) is not None


def discovered_targets(plan: ClusterPlan, address: str, spelling: Spelling = STRIMZI) -> bytes:
    """All targets at an address, each with its path and labels, as JSON."""
    groups = [
        {
            "targets": [address],
            "labels": {
                "__metrics_path__": metrics_path(plan, target),
                **target_labels(plan, target, spelling),
            },
        }
        for target in targets_of(plan)
    ]
    return json.dumps(groups, indent=1).encode() + b"\n"
