"""The quorum of a run whose voters change (KIP-853), in the form of a recording.

``recorded_quorums.py`` describes that form. A row ``quorum_voters`` of a controller is the newest
VotersRecord on its disk, and in force there.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

from tidegauge.laboratory.conformance import recorded_quorums
from tidegauge.laboratory.conformance.played_state import StateWrite, StepOutcome
from tidegauge.laboratory.conformance.recorded_quorums import Tree
from tidegauge.laboratory.conformance.recorded_schedule import RecordedSchedule
from tidegauge.replication import voter_set
from tidegauge.runs.trace_events import Names
from tidegauge.simulation.trace_rows import codes
from tidegauge.traces.run_folder import TraceRow

#: A voter or an observer: the number of the controller, and that of its directory.
Key = tuple[int, int]


class _Role(NamedTuple):
    """The state of a controller in its epoch."""

    state: int
    epoch: int


def _are_static(voters: Collection[Key]) -> bool:
    """Whether these are voters of controller.quorum.voters, which have no directories."""
    return any(directory == voter_set.ANY_DIRECTORY for _, directory in voters)


class PlayedQuorum:
    """Follows the rows about the controllers of a run."""

    def __init__(self, names: Names, schedule: RecordedSchedule) -> None:
        self._names = names
        #: Node ids of the controllers by their numbers.
        self._ids = dict(enumerate(schedule.voters))
        self._first = len(schedule.brokers)
        self._is_dynamic = schedule.quorum is not None
        self._processes = {
            process: each.number
            for process, each in names.processes.items()
            if each.role == "quorum controller"
        }
        self._roles: dict[int, _Role] = {}
        #: The voters and the kraft.version on the disk of each controller that has a record of
        #: them, and the number of its directory.
        self._voters: dict[int, int] = {}
        self._versions: dict[int, int] = {}
        self._directories: dict[int, int] = defaultdict(lambda: 1)
        #: The controllers that have fetched from the leader of the newest epoch, or were voters.
        self._fetching: set[Key] = set()
        self._epoch = -1
        #: Records that have been written: offset and voters.
        self._written: set[tuple[int, int]] = set()
        self._finalized = int(self._is_dynamic)

    def take(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        """Take over the information of one row.

        Args:
            row: of any kind.
            outcome: of the step that is being played; None: before the first.
        """
        if row.kind == "voter_state":
            self._take_role(row, outcome)
        elif row.kind == "quorum_voters":
            self._take_voters(row, outcome)
        elif row.kind == "fault_began" and row["process"] in self._processes:
            self._take_fault(self._processes[row["process"]], row)

    def _take_fault(self, number: int, row: TraceRow) -> None:
        """A disk that is lost has no records; the one in its place is another directory."""
        if self._names.fault_kind(row["fault"]) == "disk_loss":
            self._directories[number] += 1
            self._voters.pop(number, None)
            self._versions.pop(number, None)

    def _take_role(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        number = row["broker"] - self._first
        role = self._roles[number] = _Role(row["voter_state"], row["quorum_epoch"])
        if role == (codes.FOLLOWER, self._epoch):
            self._fetching.add((number, self._directories[number]))
        if role.state == codes.LEADER and role.epoch > self._epoch:
            self._epoch = role.epoch
            self._fetching.clear()
            if outcome is not None:
                record = [recorded_quorums.LEADER_CHANGE, self._ids[number]]
                elected = StateWrite(record, row["time_us"])
                outcome.quorum_records[recorded_quorums.LEADERS].append(elected)

    def _take_voters(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        number = row["broker"] - self._first
        before = self._voters.get(number, 0)
        self._voters[number] = row["voters"]
        self._versions[number] = row["kraft_version"]
        if number == self._leader():
            # The leader goes on to show a voter that it has removed, now as an observer.
            left = {*voter_set.unpack(before)} - {*voter_set.unpack(row["voters"])}
            self._fetching |= set() if _are_static(left) else left
        record = (row["voters_offset"], row["voters"])
        if row["voters_offset"] >= 0 and record not in self._written:
            self._written.add(record)
            if outcome is not None:
                self._write(row, outcome)

    def _write(self, row: TraceRow, outcome: StepOutcome) -> None:
        """Records that a leader has appended."""
        records: list[list[Any]] = [
            [recorded_quorums.VOTERS_RECORD, self._keys(voter_set.unpack(row["voters"]))]
        ]
        if row["kraft_version"] != self._finalized:
            self._finalized = row["kraft_version"]
            records.insert(0, [recorded_quorums.KRAFT_VERSION_RECORD, self._finalized])
        outcome.quorum_records[recorded_quorums.VOTERS] += (
            StateWrite(record, row["time_us"]) for record in records
        )

    def _keys(self, keys: Collection[Key]) -> list[list[Any]]:
        """Voters or observers by id, as a harness names them."""
        ids = ((self._ids[number], directory) for number, directory in keys)
        return sorted([id_, recorded_quorums.directory_name(id_, each)] for id_, each in ids)

    def _leader(self) -> int | None:
        """The number of the controller that leads the newest epoch; None: it has no leader."""
        newest = max((role.epoch for role in self._roles.values()), default=-1)
        for number, role in self._roles.items():
            if role.state == codes.LEADER and role.epoch == newest:
                return number
        return None

    @property
    def leader_id(self) -> int | None:
        """The node id of the controller that leads; None: none does."""
        leader = self._leader()
        return None if leader is None else self._ids[leader]

    def observe(self, silent: Collection[str], unformatted: Collection[int]) -> Tree:
        """The observation of the quorum, under its name.

        Args:
            silent: ids of controllers that do not answer, for they are down or paused, as text.
            unformatted: ids of controllers whose directories are empty.
        """
        replicas = {
            str(id_): {
                "voters": self._voters_on_disk(number),
                "kraft_version": 0 if id_ in unformatted else self._version_on_disk(number),
            }
            for number, id_ in self._ids.items()
        }
        quorum: Tree = {"leader": None, "replicas": replicas}
        leader = self._leader()
        if leader is not None and str(self._ids[leader]) not in silent:
            quorum |= {
                "leader": self._ids[leader],
                "voters": self._keys(self._voters_of(leader)),
                "observers": self._keys(self._observers_of(leader)),
            }
        return {recorded_quorums.QUORUM: quorum}

    def _voters_on_disk(self, number: int) -> list[list[Any]] | None:
        """The voters of its newest record; None: it has none, as with controller.quorum.voters."""
        voters = voter_set.unpack(self._voters.get(number, 0))
        return self._keys(voters) if voters and not _are_static(voters) else None

    def _version_on_disk(self, number: int) -> int:
        """The kraft.version of its newest record; of none, that with which it was formatted."""
        return self._versions.get(number, int(self._is_dynamic))

    def _voters_of(self, leader: int) -> list[Key]:
        """The voters that a leader names; with controller.quorum.voters all of them."""
        if leader in self._voters:
            return voter_set.unpack(self._voters[leader])
        return [(number, int(voter_set.ANY_DIRECTORY)) for number in self._ids]

    def _observers_of(self, leader: int) -> set[Key]:
        """The controllers that a leader shows as observers."""
        voters = self._voters_of(leader)
        return set() if _are_static(voters) else self._fetching - {*voters}
