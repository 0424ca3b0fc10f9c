"""Ablations: rules of Kafka's protocol, each taken away by name, and the promises that fall then.

No release is without these rules in this way. An ablation shows the purpose of a rule: the checks
that it breaks are those that the rule carries. Model checking of the protocol found which they are
for the rules of KIP-320 and of KIP-497; the names of its variants stand with each ablation.

``ABLATIONS`` has each by its name, and ``SEEDED_BUGS`` those that a search for faults has to find.
An ablation sets switches of ``release_rules.py`` or ``kraft_releases.py``; a scenario names it under
``ablations``.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidegauge.replication.kraft_releases import KRAFT_CELLS
from tidegauge.replication.release_rules import (
    HIGH_WATERMARK_BY_COMMITTED_ISR,
    HIGH_WATERMARK_BY_PROPOSED_ISR,
    RESTART_ON_NEW_LEADER,
    TRUNCATE_KIP_101,
    TRUNCATE_KIP_279,
    TRUNCATE_NEVER,
    TRUNCATE_TO_HIGH_WATERMARK,
)
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode

#: Checks that fall in the model of KIP-320, by the invariants of the model.
STRONG_ISR = "strong_isr"
EXPOSED = (STRONG_ISR, "exposed_durable", "exposed_unique", "committed_agree")
LOGS = (*EXPOSED, "log_matching")


class Ablation(NamedTuple):
    """A rule that is taken away."""

    #: The rule, its Kafka class and method or KIP, and its replacement.
    meaning: str
    #: The release whose other rules stay, and its control plane.
    release: str
    mode: Mode
    #: The switches that it sets, by their names.
    switches: Mapping[str, int | bool]
    #: The checks that some schedule breaks; none: the promises hold without the rule.
    breaks: tuple[str, ...]
    #: The variant of the model; None: the model does not have it.
    model: str | None = None


ABLATIONS: Mapping[str, Ablation] = {
    "unfenced_fetch": Ablation(
        "A follower gets records whatever its leader epoch; only the leader's view of it is fenced "
        "(KIP-320, Partition.readRecords).",
        "2.6", ZOOKEEPER_MODE, {"fenced_fetch_is_answered": True}, LOGS, "Kip320-unfencedFetch",
    ),
}  # fmt: skip


def switches_of(names: Iterable[str]) -> dict[str, int | bool]:
    """The switches that ablations set together; of two values for one the last one counts."""
    return {
        switch: int(value) if not isinstance(value, bool) else value
        for name in names
        for switch, value in ABLATIONS[name].switches.items()
    }


def needs_kraft(name: str) -> bool:
    """Whether an ablation takes a rule away that only KRaft's control plane has."""
    return not ABLATIONS[name].switches.keys().isdisjoint(KRAFT_CELLS)
