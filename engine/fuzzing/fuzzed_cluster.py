"""A cluster that is up, and the schedules that are tried on it.

A :class:`Profile` is a scenario without faults, in which the cluster is up at some time, and lists
of faults, steps and pins to choose from, as scenarios have them. All runs of one fuzzed cluster
begin at that time, with the scenario's seed: they differ by their schedules alone. So a schedule is
the whole difference from the undisturbed run, and the scenario that has it written down does the
same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegauge.clients.client_state import Step
from tidegauge.compiled.records import Records, column, grown, new_records
from tidegauge.engine.doors import World
from tidegauge.engine.fuzzing import schedules
from tidegauge.engine.fuzzing.batches import (
    BEGINNING,
    NOT_RECOVERED,
    Batch,
    Fuzzing,
    first_broken,
    first_found,
    first_permitted,
    run_batch,
)
from tidegauge.engine.fuzzing.coverage import STATE_BITS
from tidegauge.engine.fuzzing.drawing import Drawn
from tidegauge.engine.fuzzing.kept_states import KeptMemory, keep_state
from tidegauge.engine.fuzzing.schedules import (
    MOST_FAULTS,
    MOST_PINS,
    MOST_STEPS,
    PRESENT,
    GivenSchedule,
)
from tidegauge.engine.group import Group
from tidegauge.engine.layout.by_name import new_tables
from tidegauge.engine.layout.check_tables import double_quorum_room, enlarge
from tidegauge.engine.layout.cluster_tables import new_kernel
from tidegauge.engine.layout.controller_tables import add_context
from tidegauge.engine.layout.quorum_tables import double_raft
from tidegauge.engine.layout.step_tables import new_steps
from tidegauge.engine.row_stream import RowStream
from tidegauge.replication.records import EpochEntry
from tidegauge.replication.replica_list import unpack
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.component_faults import FAULTS
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages.kinds import KINDS
from tidegauge.simulation.quantities import format_duration
from tidegauge.simulation.trace_rows.controller_rows import PartitionState
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.checks import CHECKS, LIVENESS
from tidegauge.traces.checks.histories import PERMITS

#: Parts of a scenario as its file has them.
_Parts: TypeAlias = Sequence[Mapping[str, Any]]

#: Schedules that are kept, and findings for which there is room.
_KEPT = 256
_FOUND = 64
#: Room for runs of logs, and for events of the controller, in one run.
_RUNS = 8192
#: Room for sessions, and for leader epochs of one replica.
_SESSIONS = 512
_EPOCHS = 64
#: The room of a quorum's voters is doubled so often.
_QUORUM_DOUBLINGS = 3
_STATE_COLUMNS = ROW_KINDS[PartitionState.KIND].columns
#: Room for the rows of one run.
_ROWS = 16384


#: The parts of a run whose time is measured.
PARTS = ("restoring", "drawing", "handling", "judging")


@dataclass(frozen=True)
class Profile:
    """A cluster without faults, and what may happen to it."""

    #: As a scenario file has it; its steps come before those of schedules, and the last of them
    #: waits until ``begin_us``.
    scenario: Mapping[str, Any]
    begin_us: int
    #: The faults that may happen, without times, by their families.
    faults: Mapping[str, Sequence[Mapping[str, Any]]]
    #: The steps that may be taken, without times.
    steps: Sequence[Mapping[str, Any]]
    #: The messages that may be held or dropped, without times.
    pins: Sequence[Mapping[str, Any]]
    #: Deviations are before this time; the run ends at the scenario's ``duration``.
    end_us: int
    #: All faults end by then.
    heals: bool = True
    #: A cluster that has not recovered at the end is a finding, to be confirmed by a run with the
    #: liveness phase.
    has_to_recover: bool = False
    most_faults: int = 5
    most_steps: int = 6
    most_pins: int = 2
    #: Of a hundred schedules so many slow links down for a while; the family of these faults.
    priority_percent: int = 0
    priority_family: str = ""
    #: A run counts with so many of these at least.
    gates: Mapping[str, int] = field(default_factory=dict)

    @property
    def choices(self) -> list[Mapping[str, Any]]:
        """All faults to choose from, family by family."""
        return [fault for family in self.faults.values() for fault in family]


class Counts(NamedTuple):
    """The counts of a campaign."""

    #: Runs in all; those that had what the gates require; those that ran out of room.
    runs: int
    counted: int
    overflows: int
    #: Events handled, rows judged, abstract states reached.
    events: int
    rows: int
    states: int
    #: Runs with a permitted loss of acknowledged records; and those with a break that is permitted,
    #: by the number of its reason (``PERMITS``).
    lossy: int
    permitted: Mapping[int, int]
    #: The processor's ticks in each part of runs.
    ticks: Mapping[str, int]
    #: By kind of row, by kind of message or timer, by choice of a fault.
    rows_written: Sequence[int]
    kinds_handled: Sequence[int]
    faults_drawn: Sequence[int]


class FoundBreak(NamedTuple):
    """A schedule that broke a promise."""

    run: int
    #: The name of the check.
    check: str
    #: The scenario that does it.
    scenario: dict[str, Any]


class HeldState(NamedTuple):
    """A state of a partition that the control plane holds from a time on; brokers by their ids."""

    begin_us: int
    #: None: it has no leader.
    leader: int | None
    isr: frozenset[int]


class FuzzedCluster:
    """The tables of a cluster that is up, and of the campaign on it."""

    def __init__(self, profile: Profile, seed: int, *, is_guided: bool = False) -> None:
        """Run the cluster until it is up.

        Args:
            profile: the cluster, and what may happen to it.
            seed: the seed of the schedules.
            is_guided: schedules are made of those that have reached new states.

        Raises:
            ScenarioError: the profile's scenario cannot be run.
        """
        self.profile = profile
        plan = self._plan_with_places()
        self._duration_us = plan.scenario.duration_us
        group = Group(plan, range(len(plan.processes)))
        stream = RowStream(plan)
        before: list[NDArray[np.void]] = []

        def take(rows: NDArray[np.void]) -> None:
            stream.take(rows)
            before.append(rows[rows["kind"] == PartitionState.KIND].copy())

        group.run_to(profile.begin_us, take)
        self._plan, self._before, self._rows = plan, np.concatenate(before), 0
        # All rows so far are judged.
        stream.copy(profile.begin_us)
        enlarge(stream.history, stream.figures)
        stream.history.runs = grown(stream.history.runs, _RUNS)
        stream.figures.queued = grown(stream.figures.queued, _RUNS)
        if plan.scenario.voters_may_change():
            double_quorum_room(stream.history)
        choices = ClusterPlan(self._scenario_of_choices(), may_branch=True)
        laid_out, steps = new_kernel(choices, (), 0, 0), new_steps(choices)
        world = group.world
        _make_ample(plan, world)
        world.quantiles = laid_out.quantiles
        world.awaited_brokers, world.requested_moves = steps.members, steps.moves
        world.throttled_by_steps = steps.throttled
        # Pins that no schedule has filled in take nothing.
        column(world.pins, "kind")[:] = NONE
        world.context[0].handled = 0
        column(world.kind_counts, "handled")[:] = 0
        self._fuzzing = _new_fuzzing(
            profile, plan, laid_out, steps.steps[self._first_step :], len(world.rows)
        )
        self._set_up(seed, stream, is_guided=is_guided)
        kept = KeptMemory((world, stream.history, stream.figures), 1)
        # The rules' arguments share the memory of these.
        self._memory = (group, stream, kept)
        self._tables = (
            *(world.view, group.exchange.view, stream.history.view, stream.figures.view),
            *(kept.states.view, self._fuzzing.view),
        )
        keep_state(kept.states.view, BEGINNING)

    def run(self, runs: int) -> int:
        """Run so many more schedules, or fewer where there is no place for another finding.

        Returns:
            the number that was run.
        """
        self._batch.end_run = self._batch.next_run + runs
        return int(run_batch(*self._tables, runs))

    def run_given(self, run: int) -> dict[int, tuple[int, int]]:
        """Run the schedule that run had, once more, if it was not guided.

        Returns:
            for each process the number of its canonical rows, and the hash over them.
        """
        self._batch.next_run = run
        self.run(1)
        processes = self._memory[0].world.processes
        return {place: (int(each.rows), int(each.hash)) for place, each in enumerate(processes)}

    def run_schedule(self, schedule: GivenSchedule, end_us: int) -> bool:
        """Run a schedule that is given, up to a time; whether there was room for all of its run.

        From then on all runs are of given schedules.
        """
        assert len(schedule.faults) <= MOST_FAULTS
        assert len(schedule.steps) <= MOST_STEPS
        fuzzing, batch = self._fuzzing, self._batch
        present = fuzzing.schedules[int(PRESENT)]
        present.faults, present.steps, present.pins = len(schedule.faults), len(schedule.steps), 0
        for fault, given in zip(fuzzing.planned_faults, schedule.faults, strict=False):
            fault.choice, fault.at_us = given.choice, given.at_us
            fault.for_us = NONE if given.for_us is None else given.for_us
        for step, taken in zip(fuzzing.planned_steps, schedule.steps, strict=False):
            step.choice, step.at_us = taken.choice, taken.at_us
        batch.is_given, batch.end_us, batch.findings = True, end_us, 0
        rows, overflows = int(batch.rows), int(batch.overflows)
        self.run(1)
        self._rows = int(batch.rows) - rows
        return int(batch.overflows) == overflows

    def held_states(self, partition: int) -> list[HeldState]:
        """The states of a partition in the last run, with the one in which runs begin.

        Args:
            partition: its number within the cluster.
        """
        rows = np.asarray(self._fuzzing.judged)[: self._rows]
        return [*self._states(self._before, partition)[-1:], *self._states(rows, partition)]

    def _states(self, rows: NDArray[np.void], partition: int) -> list[HeldState]:
        """The states in some rows."""
        brokers, slots = self._plan.brokers, self._plan.partitions[partition].slots
        states = []
        for row in rows[rows["kind"] == PartitionState.KIND]:
            values = dict(zip(_STATE_COLUMNS, row["values"].tolist(), strict=False))
            if values["partition"] != partition:
                continue
            leader = brokers[values["leader"]] if values["leader"] >= 0 else None
            isr = frozenset(brokers[slots[slot]] for slot in unpack(values["isr"]))
            states.append(HeldState(int(row["time_us"]), leader, isr))
        return states

    @property
    def present(self) -> dict[str, Any]:
        """The scenario of the last run."""
        return self._scenario_of(int(PRESENT))

    def take_found(self) -> list[FoundBreak]:
        """The findings since the last call."""
        fuzzing, count = self._fuzzing, int(self._batch.findings)
        first = int(first_found(fuzzing.view))
        self._batch.findings = 0
        return [
            FoundBreak(
                int(each.run),
                LIVENESS.name if each.check == NOT_RECOVERED else CHECKS[int(each.check)].name,
                self._scenario_of(first + place),
            )
            for place, each in enumerate(fuzzing.found[:count])
        ]

    def broken(self) -> dict[str, FoundBreak]:
        """For each check that some run broke, first or later: the first such run."""
        first = int(first_broken(self._fuzzing.view))
        return {
            CHECKS[number].name: FoundBreak(
                int(self._fuzzing.schedules[first + number].run),
                CHECKS[number].name,
                self._scenario_of(first + number),
            )
            for number, each in enumerate(self._fuzzing.broken)
            if each.times > 0
        }

    def permitted(self, reason: int) -> dict[str, Any]:
        """The scenario of the first run with a break that is permitted for a reason."""
        return self._scenario_of(int(first_permitted(self._fuzzing.view)) + reason)

    def counts(self) -> Counts:
        """The counts of all runs so far."""
        batch, fuzzing = self._batch, self._fuzzing
        return Counts(
            runs=int(batch.runs),
            counted=int(batch.counted),
            overflows=int(batch.overflows),
            events=int(batch.events),
            rows=int(batch.rows),
            states=int(batch.states),
            lossy=int(batch.lossy),
            permitted={
                reason: int(fuzzing.permitted[reason].times)
                for reason in PERMITS
                if fuzzing.permitted[reason].times
            },
            ticks={part: int(getattr(batch, f"{part}_ticks")) for part in PARTS},
            rows_written=[int(each.times) for each in fuzzing.rows_written],
            kinds_handled=[int(each.times) for each in fuzzing.kinds_handled],
            faults_drawn=[int(each.times) for each in fuzzing.faults_drawn],
        )

    @property
    def _batch(self) -> Batch:
        return self._fuzzing.batch[0]

    @property
    def _first_step(self) -> int:
        return len(self.profile.scenario["steps"])

    def _plan_with_places(self) -> ClusterPlan:
        """The plan of the cluster with places for the deviations of schedules."""
        at = {"at": format_duration(self.profile.begin_us)}
        faults = [{**self.profile.choices[0], **at}] * int(MOST_FAULTS)
        steps = [{**at, "do": "wait"}] * int(MOST_STEPS)
        # Fetches that bring nothing are not computed if some choice is about fetches.
        pinned = sorted(self.profile.pins, key=lambda pin: "FETCH" in str(pin))[-1:]
        pins = [{**pin, "after": at["at"]} for pin in pinned] * int(MOST_PINS)
        scenario = self._scenario(faults, steps, pins)
        without = frozenset(range(len(faults)))
        return ClusterPlan(scenario, may_branch=True, without=without)

    def _scenario_of_choices(self) -> Scenario:
        at = {"at": format_duration(self.profile.begin_us)}
        faults = [{**fault, **at} for fault in self.profile.choices]
        steps = [{**step, **at} for step in self.profile.steps]
        return self._scenario(faults, steps, self.profile.pins)

    def _scenario(self, faults: _Parts, steps: _Parts, pins: _Parts) -> Scenario:
        return scenario_from_mapping(self._written(faults, steps, pins), "profile")

    def _written(self, faults: _Parts, steps: _Parts, pins: _Parts) -> dict[str, Any]:
        written = self.profile.scenario
        deviations = {"faults": [*faults], "steps": [*written["steps"], *steps]}
        return {**written, **deviations} | ({"pins": [*pins]} if pins else {})

    def _scenario_of(self, number: int) -> dict[str, Any]:
        """The scenario of a schedule, as its file has it."""
        fuzzing, choices = self._fuzzing, self.profile.choices
        schedule = fuzzing.schedules[number]
        first_fault, first_step = number * int(MOST_FAULTS), number * int(MOST_STEPS)
        faults = []
        for planned in fuzzing.planned_faults[first_fault : first_fault + int(schedule.faults)]:
            fault = {**choices[int(planned.choice)], "at": format_duration(int(planned.at_us))}
            if planned.for_us >= 0:
                fault["for"] = format_duration(int(planned.for_us))
            faults.append(fault)
        steps = [
            {"at": format_duration(int(each.at_us)), **self.profile.steps[int(each.choice)]}
            for each in fuzzing.planned_steps[first_step : first_step + int(schedule.steps)]
        ]
        return self._written(faults, steps, [*self._pins_of(number)])

    def _pins_of(self, number: int) -> Iterator[dict[str, Any]]:
        first = number * int(MOST_PINS)
        count = int(self._fuzzing.schedules[number].pins)
        for planned in self._fuzzing.planned_pins[first : first + count]:
            pin = {
                **self.profile.pins[int(planned.choice)],
                "after": format_duration(int(planned.at_us)),
                "until": format_duration(int(planned.at_us + planned.for_us)),
            }
            for name in ("nth", "count"):
                if getattr(planned, name) > 1:
                    pin[name] = int(getattr(planned, name))
            yield pin

    def _set_up(self, seed: int, stream: RowStream, *, is_guided: bool) -> None:
        """Set how schedules are drawn, and what runs have to reach."""
        profile, drawing, batch = self.profile, self._fuzzing.drawing[0], self._batch
        drawing.seed = seed
        drawing.begin_us, drawing.end_us = profile.begin_us, profile.end_us
        drawing.heals = profile.heals
        drawing.most_faults, drawing.most_steps = profile.most_faults, profile.most_steps
        drawing.most_pins = profile.most_pins
        drawing.priority_percent = profile.priority_percent
        if profile.priority_family:
            drawing.priority_family = [*profile.faults].index(profile.priority_family)
        drawing.is_guided = is_guided
        batch.end_us = self._duration_us
        batch.first_step = self._first_step
        batch.has_to_recover = profile.has_to_recover
        batch.least_acknowledged = profile.gates.get("acknowledged", 0)
        batch.least_elections = profile.gates.get("elections", 0)
        batch.least_truncations = profile.gates.get("truncations", 0)
        batch.least_voter_changes = profile.gates.get("voter_changes", 0)
        used = int(stream.history.facts[0].acknowledged)
        acknowledged = stream.history.acknowledged[:used]
        batch.acknowledged_before = sum(
            int(each.end_offset - each.first_offset) for each in acknowledged
        )
        batch.elections_before = stream.figures.count[0].leader_elections


def _make_ample(plan: ClusterPlan, world: World) -> None:
    """Enlarge the tables that runs would have enlarged; batches cannot."""
    for _ in range(len(plan.brokers)):
        add_context(plan, world)
    world.zookeeper_sessions = grown(world.zookeeper_sessions, _SESSIONS)
    world.rows = grown(world.rows, max(_ROWS, len(world.rows)))
    links = len(world.links)
    world.impairments = grown(world.impairments, links + int(world.context[0].impairment_reserve))
    world.epochs_read = new_records(EpochEntry, _EPOCHS)
    used = int(world.pools[0].epoch_entries)
    world.epoch_entries = grown(world.epoch_entries, used + 4 * _EPOCHS * len(world.slots))
    for _ in range(_QUORUM_DOUBLINGS):
        double_raft(world)


def _new_fuzzing(
    profile: Profile, plan: ClusterPlan, laid_out: Kernel, steps: Records[Step], rows: int
) -> Fuzzing:
    """The tables of a campaign, of which nothing has run yet, with room for a run's rows."""
    checks, reasons = len(CHECKS), max(PERMITS) + 1
    count = 1 + _KEPT + _FOUND + checks + reasons
    natures = new_records(schedules.ChoiceNature, len(profile.choices))
    families = new_records(schedules.Family, len(profile.faults))
    first = 0
    for number, faults in enumerate(profile.faults.values()):
        families[number].first, families[number].count = first, len(faults)
        for place in range(first, first + len(faults)):
            natures[place].lasts = not FAULTS[str(profile.choices[place]["kind"])].is_over_at_once
        first += len(faults)
    fuzzing = new_tables(
        Fuzzing,
        batch=1,
        found=_FOUND,
        partition_states=len(plan.partitions),
        quorum_states=1 if plan.scenario.voters_may_change() else 0,
        judged=rows,
        replicas=plan.partitions.slot_count,
        observed=len(plan.partitions),
        controllers_seen=len(plan.controllers),
        problems=1,
        rows_written=max(ROW_KINDS) + 1,
        kinds_handled=int(KINDS),
        faults_drawn=len(profile.choices),
        broken=checks,
        permitted=reasons,
    )
    fuzzing.take_over(new_tables(Drawn, draws=1, drawing=1, seen=1 << int(STATE_BITS)))
    fuzzing.take_over(
        new_tables(
            schedules.Schedules,
            schedules=count,
            planned_faults=count * int(MOST_FAULTS),
            planned_steps=count * int(MOST_STEPS),
            planned_pins=count * int(MOST_PINS),
            fault_choices=laid_out.faults,
            hit_processes=laid_out.fault_roles,
            fault_natures=natures,
            step_choices=steps,
            pin_choices=laid_out.pins,
            families=families,
        )
    )
    return fuzzing
