"""How large a scenario is, and how far from the default order: before and after it is shrunk."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tidegauge.search.judged_runs import Judged

#: Fields that say which cluster runs and how long; every other one is a setting.
_FRAME = frozenset(
    {"name", "description", "duration", "seed", "release", "mode", "protocol", "metadata_version"}
    | {"ablations", "trace", "liveness", "measure_from", "checks", "sometimes", "alerts"}
)
#: Sections whose items are counted by themselves.
_SCHEDULE = ("faults", "fault_rates", "steps", "pins")


class ScenarioSize(NamedTuple):
    """The size of a scenario, and of its run."""

    faults: int
    steps: int
    #: Held, dropped and repeated messages.
    pins: int
    #: Values that are not the default, of settings, costs, the network, placement and so on.
    settings: int
    brokers: int
    partitions: int
    clients: int
    #: The records that producers and steps have sent.
    records: int
    duration_us: int

    @property
    def deviations(self) -> int:
        """The number of deviations from the default order: faults, steps, pins and settings."""
        return self.faults + self.steps + self.pins + self.settings


def size_of(written: Mapping[str, Any], run: Judged) -> ScenarioSize:
    """The size of a scenario without defaults, by its file and its run."""
    scenario = run.plan.scenario
    return ScenarioSize(
        faults=len(written.get("faults", ())) + len(written.get("fault_rates", ())),
        steps=len(written.get("steps", ())),
        pins=len(written.get("pins", ())),
        settings=_settings(written),
        brokers=len(scenario.broker_ids()),
        partitions=len(run.plan.partitions),
        clients=sum(group.clients for group in scenario.workload.groups),
        records=int(run.summary()["records_sent"]),
        duration_us=scenario.duration_us,
    )


def _settings(written: Mapping[str, Any]) -> int:
    """The number of values that are no part of the schedule, of clients or of topics as such."""
    found = 0
    for name, part in written.items():
        if name in ("topics", "workload"):
            found += _below_settings(part)
        elif name == "cluster":
            found += _values({field: each for field, each in part.items() if field != "brokers"})
        elif name not in _FRAME and name not in _SCHEDULE:
            found += _values(part)
    return found


def _below_settings(part: Any) -> int:
    """The number of values in all mappings named ``settings``."""
    if isinstance(part, Mapping):
        return sum(
            _values(each) if name == "settings" else _below_settings(each)
            for name, each in part.items()
        )
    return sum(map(_below_settings, part)) if isinstance(part, list | tuple) else 0


def _values(part: Any) -> int:
    """The number of values in a part; a list is one value."""
    return sum(map(_values, part.values())) if isinstance(part, Mapping) else 1
