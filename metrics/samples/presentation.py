"""How metrics are shown: in which detail, under which names, and which controllers count."""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.metrics.samples.levels import Level
from tidegauge.metrics.spellings.all_spellings import STRIMZI
from tidegauge.metrics.spellings.spelling import Spelling


class Presentation(NamedTuple):
    """How metrics are to be presented."""

    #: The level of detail for single partitions; None: by the number of partitions.
    level: Level | None = None
    spelling: Spelling = STRIMZI
    #: Every controller of a quorum reports what is counted of the cluster, as in Kafka; else the
    #: active one alone, so that a sum over controllers is right.
    every_controller: bool = False


#: The default.
AS_STRIMZI = Presentation()
