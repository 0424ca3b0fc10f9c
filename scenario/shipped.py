"""The shipped scenarios, and how one is found by its name."""

from pathlib import Path
from typing import NamedTuple

import tidegauge.scenarios
from tidegauge.replication.release_versions import MODE_NAMES, Mode
from tidegauge.scenario.reading import Scenario, ScenarioError, written_scenario
from tidegauge.scenario.text.errors import did_you_mean

FOLDER = Path(tidegauge.scenarios.__file__).parent
#: Scenarios that each show one mechanism of replication; the number of its row begins their names.
MECHANISMS = FOLDER / "mechanisms"
#: Scenarios on which alert rules are rehearsed; they are run as ``incidents/NAME``.
INCIDENTS = FOLDER / "incidents"
#: Scenarios that each show a bug of KRaft or an anomaly of replication, which ``tidegauge gallery``
#: compares in two releases; they are run as ``gallery/NAME``.
GALLERY = FOLDER / "gallery"
#: The scenario that a newcomer runs first; with another control plane its name is longer.
FIRST = "quickstart"


class ShippedScenario(NamedTuple):
    """The subject of a shipped scenario."""

    name: str
    file: Path
    #: Whether it shows one mechanism, shows a known bug, or is an incident to rehearse alert
    #: rules on; others answer a question about a cluster.
    is_mechanism: bool
    is_in_gallery: bool
    is_incident: bool
    #: A release of Kafka, such as ``4.4.0``.
    release: str
    mode: Mode
    brokers: int
    #: At the start; steps may create more.
    partitions: int
    virtual_seconds: float
    #: The first paragraph of its description.
    question: str
    description: str

    def is_about(self, word: str) -> bool:
        """Whether a word is in its name or description, in upper or lower case."""
        return word.casefold() in f"{self.name} {self.description}".casefold()

    @property
    def kafka(self) -> str:
        """The release and the control plane, in words."""
        return f"{self.release} with {MODE_NAMES[self.mode]}"


def shipped_scenarios() -> dict[str, Path]:
    """The files of all shipped scenarios, by name."""
    return {_name_of(file): file for file in sorted(FOLDER.rglob("*.yaml"))}


def _name_of(file: Path) -> str:
    folder = file.parent
    return f"{folder.name}/{file.stem}" if folder in {INCIDENTS, GALLERY} else file.stem


def described_scenarios() -> list[ShippedScenario]:
    """The subjects of all shipped scenarios, by name.

    The first are those that a newcomer runs first; mechanisms, gallery and incidents are last.
    """
    described = [
        described_scenario(name, file, written_scenario(file))
        for name, file in shipped_scenarios().items()
    ]
    return sorted(described, key=_place)


def _place(each: ShippedScenario) -> tuple[bool, bool, bool, bool, str]:
    groups = (each.is_incident, each.is_in_gallery, each.is_mechanism)
    return *groups, not each.name.startswith(FIRST), each.name


def described_scenario(name: str, file: Path, scenario: Scenario) -> ShippedScenario:
    """The subject of a scenario, by the name under which it is run."""
    return ShippedScenario(
        name,
        file,
        is_mechanism=file.parent == MECHANISMS,
        is_in_gallery=file.parent == GALLERY,
        is_incident=file.parent == INCIDENTS,
        release=scenario.release,
        mode=scenario.mode,
        brokers=len(scenario.broker_ids()),
        partitions=sum(len(scenario.assignments(topic)) for topic in scenario.topics),
        virtual_seconds=scenario.duration_us / 1e6,
        question=" ".join(scenario.description.strip().split("\n\n")[0].split()),
        description=scenario.description,
    )


def find_scenario(name: str) -> Path:
    """The file of a scenario: a path, or the name of a shipped scenario.

    Raises:
        ScenarioError: there is no such file and no such shipped scenario.
    """
    file = Path(name)
    if file.suffix in {".yaml", ".yml"} or file.exists():
        return file
    shipped = shipped_scenarios()
    if name in shipped:
        return shipped[name]
    raise ScenarioError(
        f"{name}: no such file, and no shipped scenario of that name; "
        f"{did_you_mean(name, shipped)} (tidegauge scenarios lists them)"
    )
