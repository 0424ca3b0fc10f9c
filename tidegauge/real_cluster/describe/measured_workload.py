"""The clients of a cluster as its monitoring has measured them: the contract of ``real_rates``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from tidegauge.real_cluster.describe.notices import Notice
from tidegauge.scenario.model.settings import Value


class MeasuredCluster(NamedTuple):
    """The facts of an imported cluster that measured values are compared with."""

    #: The number of partitions of each topic.
    topics: Mapping[str, int]
    #: Settings that are the same in all brokers, defaults among them.
    settings: Mapping[str, Value]


class MeasuredWorkload(NamedTuple):
    """Groups of clients of a scenario, and notices about their origin."""

    producers: list[dict[str, Any]]
    consumers: list[dict[str, Any]]
    notices: list[Notice]


class WorkloadReader(Protocol):
    """A place that measured values are read from."""

    @property
    def origin(self) -> str:
        """A file or a URL, without its password."""

    def read(self, cluster: MeasuredCluster) -> MeasuredWorkload:
        """The clients of a cluster.

        Raises:
            InputError: the values cannot be read, or are not those of this cluster.
        """
