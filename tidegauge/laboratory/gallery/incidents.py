"""The table of the incidents: which bug, in which releases, by which schedule, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.figures import FIGURES, value_text
from tidegauge.scenario.text.errors import did_you_mean
from tidegauge.traces.summary_figures import Figure

_SECOND_US = 1_000_000


class Range(NamedTuple):
    """The values that a figure may have, in its unit."""

    least: float
    most: float | None

    def has(self, value: float) -> bool:
        """Whether a value is one of them."""
        return self.least <= value and (self.most is None or value <= self.most)

    def text(self, unit: str) -> str:
        """The range in words."""
        least = value_text(self.least, unit)
        if self.most is None:
            return f"at least {least}"
        if self.least == self.most:
            return least
        most = value_text(self.most, unit)
        return f"{least.removesuffix(' s')} to {most}" if self.least else f"at most {most}"


def at_least(value: float) -> Range:
    """This value or more."""
    return Range(value, None)


def exactly(value: float) -> Range:
    """This value alone."""
    return Range(value, value)


def seconds(least: float, most: float | None = None) -> Range:
    """A range of a figure in microseconds, given in seconds."""
    return Range(least * _SECOND_US, None if most is None else most * _SECOND_US)


NONE = exactly(0)


class Expected(NamedTuple):
    """A figure by its name, and its values in a release with the bug and in one without it."""

    name: str
    affected: Range
    fixed: Range

    @property
    def figure(self) -> Figure:
        """The figure, of the table of all."""
        return FIGURES[self.name]


class Version(NamedTuple):
    """The release in which an incident is run."""

    release: str
    #: Default: the release's own.
    metadata_version: str | None = None

    def __str__(self) -> str:
        if self.metadata_version is None:
            return self.release
        return f"{self.release} with {self.metadata_version}"

    def changes(self) -> dict[str, object]:
        """The changes of a scenario that give it this version."""
        changes: dict[str, object] = {"mode": "kraft", "release": self.release}
        if self.metadata_version is not None:
            changes["metadata_version"] = self.metadata_version
        return changes


class Incident(NamedTuple):
    """A bug of KRaft, and the schedule that shows it."""

    #: That of the list in which it stands; two schedules of one incident share it.
    number: int
    name: str
    #: The bug, in a line.
    title: str
    issues: Sequence[str]
    #: The releases that have it, and the first one without it.
    affected: str
    fixed: str
    #: What is done to the cluster, in a line.
    schedule: str
    #: A shipped scenario, and other values in it.
    scenario: str
    shown_in: Version
    absent_in: Version
    expected: Sequence[Expected]
    settings: Mapping[str, Any] = {}

    def changes(self, version: Version) -> dict[str, object]:
        """The changes of its scenario for a run in a version."""
        return {**self.settings, **version.changes()}


INCIDENTS: Sequence[Incident] = (
    Incident(
        number=1,
        name="isolated-controller",
        title="An isolated active controller never resigns",
        issues=["KAFKA-15489"],
        affected="3.3.0 to 3.6.2",
        fixed="3.7.0",
        schedule="controller 0, the active one, cut off from the others for 60 s; follower 3 dies",
        scenario="gallery/01-isolated-controller",
        shown_in=Version("3.6.2"),
        absent_in=Version("3.7.0"),
        expected=[
            Expected("two_controllers_us", seconds(58), seconds(0, 3)),
            Expected("live_brokers_expired", at_least(2), NONE),
        ],
    ),
    Incident(
        number=2,
        name="busy-controller",
        title="A busy controller fences brokers that are alive",
        issues=["KAFKA-15019", "KAFKA-17793"],
        affected="3.3.0 to 3.4.1, in part to 3.9.2",
        fixed="3.5.0 in part, 4.0.0",
        schedule="the controller's thread creates a topic for 8 s; sessions of 6 s",
        scenario="25-busy-controller",
        shown_in=Version("3.4.1"),
        absent_in=Version("4.0.0"),
        expected=[
            Expected("live_brokers_expired", exactly(6), NONE),
            Expected("leader_epochs", at_least(200), NONE),
        ],
    ),
    Incident(
        number=3,
        name="shutdown-not-granted",
        title="A controlled shutdown is never granted",
        issues=["KAFKA-14292"],
        affected="3.3.0, 3.3.1",
        fixed="3.3.2",
        schedule="SIGTERM of broker 1, whose heartbeats come just before those of another broker",
        scenario="gallery/03-shutdown-not-granted",
        shown_in=Version("3.3.1"),
        absent_in=Version("3.3.2"),
        expected=[Expected("exit_longest_us", seconds(300, 302), seconds(0, 10))],
    ),
    Incident(
        number=4,
        name="heartbeats-hang",
        title="Heartbeats hang at a controller that is stopped",
        issues=["KAFKA-14392"],
        affected="3.3.0, 3.3.1",
        fixed="3.3.2",
        schedule="SIGSTOP of the active controller for 20 s",
        scenario="gallery/04-heartbeats-hang",
        shown_in=Version("3.3.1"),
        absent_in=Version("3.3.2"),
        expected=[
            Expected("live_brokers_expired", exactly(5), NONE),
            Expected("leader_epochs", at_least(10), NONE),
        ],
    ),
    Incident(
        number=4,
        name="heartbeats-back-off",
        title="Heartbeats without a response back off for longer than the session",
        issues=["KAFKA-19294"],
        affected="3.3.2 to 4.0.0",
        fixed="4.0.1, 4.1.0",
        schedule="the disks of two of three controllers need 10 s a write, for 80 s",
        scenario="gallery/04-heartbeats-back-off",
        shown_in=Version("4.0.0"),
        absent_in=Version("4.1.0"),
        expected=[
            Expected("live_brokers_expired", at_least(1), NONE),
            Expected("leader_epochs", at_least(10), NONE),
        ],
    ),
    Incident(
        number=5,
        name="empty-disk-in-isr",
        title="A restarted follower without data joins the ISR",
        issues=["KAFKA-14617", "KIP-903"],
        affected="3.3.0 to 3.4.1",
        fixed="3.5.0, metadata.version 3.5-IV1",
        schedule="an ISR with follower 3 held 12 s; 3 restarts with an empty disk; the leader dies",
        scenario="gallery/05-empty-disk-in-isr",
        shown_in=Version("3.4.1"),
        absent_in=Version("3.5.0"),
        expected=[Expected("records_acknowledged_lost", at_least(1), NONE)],
    ),
    Incident(
        number=6,
        name="epoch-at-each-shrink",
        title="Every shrink of an ISR raises the leader epoch",
        issues=["KAFKA-15021", "KAFKA-15109"],
        affected="metadata.version below 3.6-IV0",
        fixed="3.6.0, metadata.version 3.6-IV0",
        schedule="follower 3 cut off from its leader twenty times in ten minutes, for 15 s each",
        scenario="gallery/06-epoch-at-each-shrink",
        shown_in=Version("3.6.2", "3.5-IV2"),
        absent_in=Version("3.6.2", "3.6-IV2"),
        expected=[Expected("leader_epochs", exactly(20), NONE)],
    ),
    Incident(
        number=7,
        name="fenced-leader",
        title="A fenced last known leader is elected",
        issues=["KAFKA-19522"],
        affected="4.0.0, 4.0.1, with ELRs",
        fixed="4.1.0",
        schedule="both replicas killed; the last leader returns, and recovers its log for 30 s",
        scenario="gallery/07-fenced-leader",
        shown_in=Version("4.0.1"),
        absent_in=Version("4.1.0"),
        expected=[Expected("absent_leader_us", seconds(30), NONE)],
    ),
    Incident(
        number=8,
        name="request-fails-controllers",
        title="One large request fails the controllers one after the other",
        issues=["KAFKA-14996"],
        affected="3.3.0 to 3.4.1",
        fixed="3.5.0",
        schedule="a topic of 12,000 partitions requested five times, every 5 s; broker 3 dies",
        scenario="gallery/08-request-fails-controllers",
        shown_in=Version("3.4.1"),
        absent_in=Version("3.5.0"),
        expected=[
            Expected("failovers", exactly(6), exactly(1)),
            Expected("detection_longest_us", seconds(25), seconds(0, 11)),
        ],
    ),
    Incident(
        number=9,
        name="quick-restart",
        title="A restart within the session is refused",
        issues=["KAFKA-19047", "KAFKA-19130"],
        affected="4.0.0 and later",
        fixed="not yet; absent up to 3.9.2",
        schedule="SIGTERM of broker 1, which is started again 3 s later; a session of 9 s",
        scenario="21-quick-restart",
        shown_in=Version("4.1.1"),
        absent_in=Version("3.9.2"),
        expected=[
            Expected("registrations_refused", at_least(3), NONE),
            Expected("restart_longest_us", seconds(9), seconds(0, 6)),
        ],
    ),
    Incident(
        number=10,
        name="returning-voter",
        title="A voter that returns unseats a healthy leader",
        issues=["KAFKA-17642", "KIP-996"],
        affected="3.3.0 to 3.9.2",
        fixed="4.0.0",
        schedule="controller 2, a follower, cut off from the others for 5 min",
        scenario="24-returning-voter",
        settings={"duration": "7m", "faults.cut.for": "5m"},
        shown_in=Version("3.9.2"),
        absent_in=Version("4.0.0"),
        expected=[
            Expected("quorum_epochs", at_least(100), NONE),
            Expected("failovers", at_least(2), exactly(1)),
        ],
    ),
)


def incidents_named(name: str) -> list[Incident]:
    """The incident of this name, or the incidents of this number.

    Raises:
        ValueError: there is none.
    """
    found = [each for each in INCIDENTS if name in (each.name, str(each.number))]
    if not found:
        names = [each.name for each in INCIDENTS]
        raise TidegaugeError(f"{name}: no such incident; {did_you_mean(name, names)}")
    return found
