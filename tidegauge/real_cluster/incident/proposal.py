"""A scenario that would produce the states of a run: topology, faults, steps and times.

The scenario begins where the run does. If its brokers start in the run, theirs are the times of
their registrations; if they were there before, the scenario has the control plane's state, and all
times move back by a lead in which the brokers start.

It is written as YAML with its evidence on top.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.broker_configs import read_properties
from tidegauge.real_cluster.describe.input_file import InputError, Notice, in_order, named
from tidegauge.real_cluster.describe.server_properties import ServerProperties
from tidegauge.real_cluster.incident.absences import absences, first_registrations
from tidegauge.real_cluster.incident.cluster_history import (
    ClusterHistory,
    WrittenState,
    cluster_history,
)
from tidegauge.real_cluster.incident.controller_loss import controller_losses
from tidegauge.real_cluster.incident.idle_times import IdleTimes, cut_out, idle_times
from tidegauge.real_cluster.incident.lagging import assumed_workload, lags
from tidegauge.real_cluster.incident.operator_steps import is_created_in_run, operator_steps
from tidegauge.real_cluster.incident.proposed_faults import FaultWriter, ProposedFault
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.real_cluster.incident.topology import (
    Timings,
    Topology,
    heed_losses,
    number_controllers,
    timings_of,
    topology_of,
)
from tidegauge.real_cluster.incident.truncated_start import (
    infer_assignments,
    infer_preexisting_controller,
    is_first_logged_after_loss,
)
from tidegauge.real_cluster.incident.voter_changes import disk_losses, voter_steps
from tidegauge.runs.run import Run
from tidegauge.scenario.model.settings import AUTO_JOIN
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.yaml_file import comment, lines_of
from tidegauge.simulation.quantities import format_duration, short_seconds_text, short_time_text
from tidegauge.traces.run_folder import write_text_atomically

#: Time before the run in which brokers of an existing cluster start.
_LEAD_US = 20_000_000
#: Brokers of which one has to be the first.
_LATER_US = 300_000
#: From the start of a broker to its registration: ZooKeeper, KRaft.
_REGISTERING_US = {False: 2000, True: 130_000}
#: Time after the last row.
_TAIL_US = 10_000_000
#: A topic that is created so soon after the brokers' registrations waits for them.
_SOON_US = 2_000_000
#: A state of this time after the begin is that of the start.
_AT_BEGIN_US = 1_000_000
_MIN_ISR = "min.insync.replicas"
_UNCLEAN = "unclean.leader.election.enable"
_REBALANCE = "auto.leader.rebalance.enable"
_MS_US = 1000


@dataclass
class Proposal:
    """A proposed scenario, and the evidence for its parts."""

    #: As a mapping, its fields in the order in which people read them.
    data: dict[str, Any]
    #: A time of the run is this much earlier in the scenario, without the idle times before it.
    earlier_us: int
    source: str
    faults: list[ProposedFault] = field(default_factory=list)
    scenario: Scenario = field(init=False)
    notices: list[Notice] = field(default_factory=list)


def proposed_scenario(
    run: Run,
    properties: Sequence[ServerProperties] = (),
    *,
    name: str | None = None,
    sightings: Sightings | None = None,
) -> Proposal:
    """The scenario that would produce such states.

    Args:
        run: the run, of a simulation or from logs.
        properties: the ``server.properties`` of its brokers and controllers.
        name: its name; by default that of the run.
        sightings: lost connections in the logs of other processes.

    Raises:
        InputError: a file of properties cannot be used, or the states make no scenario.
        TraceError: a trace file is damaged.
    """
    history = cluster_history(run)
    topology = topology_of(history, properties)
    idle = idle_times(history.times_us)
    history, sightings = cut_out(idle, history, sightings or Sightings())
    introduced = {"name": name or str(history.scenario.get("name", run.path.name))}
    if idle:
        introduced["description"] = idle.description(run)
    heed_losses(topology, history, sightings)
    return _Writer(history, topology, sightings, _Origin(idle, run)).proposal(introduced)


class _Origin(NamedTuple):
    """The run that a history is of, and the times that were cut out of it."""

    idle: IdleTimes
    run: Run

    def in_logs(self, time_us: int) -> list[str]:
        """The wall clock at a time of the history; nothing for a simulated run."""
        clock = self.run.wall_clock
        return [] if clock is None else [f"{clock.text(self.idle.whole_us(time_us))} in the logs"]


class _Writer:
    """Writes the parts of a proposed scenario."""

    def __init__(
        self,
        history: ClusterHistory,
        topology: Topology,
        sightings: Sightings,
        origin: _Origin,
    ) -> None:
        self._history = history
        self._topology = topology
        self._sightings = sightings
        self._origin = origin
        self._timings: Timings = timings_of(topology)
        self._first = first_registrations(history)
        registered = [registered_us for _, registered_us in self._first.values()]
        is_whole = set(self._first) == set(history.brokers)
        at_once = max(registered, default=0) <= history.begin_us + _SOON_US
        are_new = all(is_created_in_run(states) for states in history.states.values())
        self._starts_in_run = is_whole and (are_new or at_once)
        if self._starts_in_run:
            firsts = [min(started or back, back) for started, back in self._first.values()]
            self._earlier_us = min(firsts) - _REGISTERING_US[history.has_kraft]
        else:
            self._earlier_us = history.begin_us - _LEAD_US
        #: The time at which the last broker had registered for the first time, in a cluster that
        #: starts.
        self._up_us = max((back for _, back in self._first.values()), default=0)
        self._notices = origin.idle.notices(origin.run)

    def proposal(self, introduced: dict[str, str]) -> Proposal:
        """The whole scenario, with its name, and its description if it has one."""
        source = str(self._origin.run.path)
        history, topology = self._history, self._topology
        faults = self._find_faults()
        steps = self._steps()
        end_us = history.end_us - self._earlier_us + _TAIL_US
        data: dict[str, Any] = {
            **introduced,
            "duration": f"{-(-end_us // 1_000_000)}s",
            "release": topology.release,
            "mode": topology.mode,
            **topology.versions,
            "cluster": self._cluster(),
            "controllers": self._controllers(),
            "zookeeper": self._zookeeper(),
            "topics": self._topics(),
            "workload": self._workload(),
            "steps": steps,
            "faults": self._written(faults),
        }
        data = {key: part for key, part in data.items() if part not in ([], {})}
        proposal = Proposal(data, self._earlier_us, source, faults)
        proposal.notices = in_order([*topology.notices, *self._notices])
        try:
            proposal.scenario = scenario_from_mapping(data, source)
        except ScenarioError as error:
            raise InputError(
                f"no scenario can be proposed: {str(error).splitlines()[0]}"
            ) from error
        return proposal

    def _at(self, time_us: int) -> int:
        """A time of the scenario, in whole milliseconds."""
        return max(0, (time_us - self._earlier_us) // _MS_US * _MS_US)

    def _find_faults(self) -> list[ProposedFault]:
        history, timings, sightings = self._history, self._timings, self._sightings
        self._notices += infer_assignments(history)
        found = absences(history, timings, sightings)
        self._notices += infer_preexisting_controller(history, timings, found, sightings)
        if history.has_kraft:
            number_controllers(self._topology, history)
        self._disks = disk_losses(history, sightings)
        losses = [
            loss
            for loss in controller_losses(history, timings, found, sightings)
            if not any(disk.explains(loss.controller, loss.replaced_us) for disk in self._disks)
        ]
        self._absences = found
        self._lags = lags(history, timings, found)
        writer = FaultWriter(history, self._topology, sightings, self._earlier_us)
        faults = [
            *writer.of_absences(found),
            *writer.of_controllers(losses),
            *writer.of_disks(self._disks),
            *writer.of_lags(self._lags),
        ]
        return sorted(faults, key=lambda fault: fault.begin.at_us)

    def _written(self, faults: Sequence[ProposedFault]) -> list[dict[str, Any]]:
        written: list[dict[str, Any]] = []
        names: dict[str, int] = {}
        never = [broker for broker in self._history.brokers if self._is_never_there(broker)]
        if never:
            fields = {"kind": "crash", "at": "0us", "brokers": never}
            written.append({"name": "down", **fields})
            text = f"down: brokers {named(never)} give no sign of life in this time"
            self._notices.append(Notice("faults", text))
        for fault in faults:
            name = f"{fault.kind.replace('_', '-')}-of-{fault.hits}"
            names[name] = names.get(name, 0) + 1
            if names[name] > 1:
                name += f"-{names[name]}"
            at_us = self._at(fault.begin.at_us)
            one = {"name": name, "kind": fault.kind, "at": format_duration(at_us)}
            if fault.end_us is not None:
                lasts_us = max(self._at(fault.end_us) - at_us, _MS_US)
                one["for"] = format_duration(lasts_us)
            written.append(one | fault.fields)
            self._notices.append(Notice("faults", self._fault_notice(name, fault)))
        return written

    def _fault_notice(self, name: str, fault: ProposedFault) -> str:
        begin = fault.begin
        known = "within some 100 ms"
        if begin.uncertainty_us:
            least, most = (short_time_text(self._at(each)) for each in begin[1:])
            known = f"between {least} and {most}"
        known = ", ".join([*self._origin.in_logs(begin.at_us), known])
        return f"{name} at {short_time_text(self._at(begin.at_us))} ({known}): {fault.text}"

    def _is_never_there(self, broker: int) -> bool:
        history = self._history
        if history.is_registered_before(broker) or history.lives.get(broker):
            return False
        if broker in history.signs:
            return False
        return not any(
            broker in (state.leader, *state.isr)
            for states in history.states.values()
            for state in states
        )

    def _steps(self) -> list[dict[str, Any]]:
        written = []
        steps = [
            *operator_steps(self._history, self._absences),
            *voter_steps(self._history, self._topology, self._disks),
        ]
        for step in sorted(steps, key=lambda each: each.time_us):
            at_us = self._at(step.time_us)
            if step.step["do"] == "create_topic" and step.time_us <= self._up_us + _SOON_US:
                # The brokers of the scenario may be a little slower.
                up = {"registered": list(self._history.brokers)}
                written.append({"when": up, "within": "60s", **step.step})
            else:
                written.append({"at": format_duration(at_us), **step.step})
            in_logs = "".join(f" ({each})" for each in self._origin.in_logs(step.time_us))
            text = f"{step.step['do']} at {short_time_text(at_us)}{in_logs}: {step.evidence}"
            self._notices.append(Notice("steps", text))
        return written

    def _cluster(self) -> dict[str, Any]:
        topology, history = self._topology, self._history
        data: dict[str, Any] = {"brokers": list(history.brokers)}
        if topology.racks:
            data["racks"] = topology.racks
        data["start_spread"] = "0s"
        starts = self._starts()
        if starts:
            data["start"] = starts
        settings = dict(topology.settings)
        if not history.has_kraft and topology.value(_REBALANCE):
            settings[_REBALANCE] = False
            self._tell_of_rebalance()
        if settings:
            data["settings"] = settings
        own = {broker: values for broker, values in topology.own.items() if values}
        if own:
            data["broker_settings"] = own
        return data

    def _tell_of_rebalance(self) -> None:
        text = f"{_REBALANCE} is off here: elections of preferred leaders are steps at their times"
        self._notices.append(Notice("settings", text))

    def _starts(self) -> dict[int, str]:
        """The starts of brokers; with ZooKeeper the first controller is the first to start."""
        history = self._history
        starts_us = {}
        for broker, (started_us, registered_us) in self._first.items():
            start_us = registered_us - _REGISTERING_US[history.has_kraft]
            start_us = start_us if started_us is None else min(started_us, start_us)
            starts_us[broker] = self._at(start_us)
        if not history.has_kraft:
            first = next((term.controller for term in history.terms if term.controller), None)
            for broker in history.brokers if first is not None else ():
                least_us = 0 if broker == first else _LATER_US
                starts_us[broker] = max(starts_us.get(broker, 0), least_us)
            if first is not None:
                starts_us[first] = 0
        return {broker: format_duration(us) for broker, us in sorted(starts_us.items())}

    def _controllers(self) -> dict[str, Any]:
        topology = self._topology
        if not self._history.has_kraft:
            return {}
        settings = dict(topology.controller_settings)
        if topology.value(_REBALANCE):
            settings[_REBALANCE] = False
            self._tell_of_rebalance()
        data: dict[str, Any] = {"count": topology.controller_count}
        if topology.first_voters is not None:
            data["voters"] = sorted(map(topology.controllers.index, topology.first_voters))
            starts = {
                topology.controllers.index(node): format_duration(self._at(start_us))
                for node, start_us in self._late_controllers(topology.first_voters)
            }
            if starts:
                data["start"] = starts
        else:
            settings.pop(AUTO_JOIN, None)
        return {**data, "settings": settings}

    def _late_controllers(self, voters: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The controllers that are no voters at first, and start in the run, by their lines."""
        for node in self._history.directory.controllers:
            first_us = self._sightings.first_line_us(node, -1)
            is_late = first_us is not None and first_us > self._history.begin_us + _SOON_US
            if node not in voters and is_late and first_us is not None:
                yield node, first_us

    def _zookeeper(self) -> dict[str, Any]:
        tick_ms = self._topology.tick_ms
        if self._history.has_kraft or tick_ms is None or tick_ms == 2000:  # noqa: PLR2004
            return {}
        return {"tick_ms": tick_ms}

    def _topics(self) -> list[dict[str, Any]]:
        history = self._history
        topics: dict[str, dict[str, Any]] = {}
        written = {each["name"]: each for each in history.scenario.get("topics", ())}
        unclean = self._topics_with_unclean_elections()
        assumed = 0
        for partition, place in history.partitions.items():
            topic = topics.setdefault(place.topic, {"name": place.topic})
            if "assignment" not in topic:
                settings = dict(written.get(place.topic, {}).get("settings", {}))
                if place.min_insync_replicas != self._topology.value(_MIN_ISR):
                    settings[_MIN_ISR] = place.min_insync_replicas
                if place.topic in unclean:
                    settings[_UNCLEAN] = True
                if settings:
                    topic["settings"] = settings
                topic["assignment"] = {}
            topic["assignment"][place.number] = list(place.replicas)
            states = history.states.get(partition, [])
            if is_created_in_run(states):
                continue
            state = topic.setdefault("state", {})
            if not states or not self._is_of_begin(states):
                assumed += 1
            elif (states[0].leader, states[0].isr) != (place.replicas[0], place.replicas):
                leader = "none" if states[0].leader is None else states[0].leader
                state[place.number] = {"leader": leader, "isr": list(states[0].isr)}
        if assumed:
            text = (
                f"{assumed} of {len(history.partitions)}: their states at the start are unknown; "
                "assumed are the first of the replicas as leader, and a full ISR"
            )
            self._notices.append(Notice("partitions", text))
        return list(topics.values())

    def _topics_with_unclean_elections(self) -> set[str]:
        """The topics with an elected leader from outside of the ISR."""
        if self._topology.settings.get(_UNCLEAN) is True:
            return set()
        history = self._history
        found = {history.partitions[partition].topic for partition in history.unclean}
        if found:
            text = (
                f"{_UNCLEAN} is true for {named(sorted(found))}: a leader from outside of the ISR "
                "was elected there"
            )
            self._notices.append(Notice("partitions", text))
        return found

    def _is_of_begin(self, states: Sequence[WrittenState]) -> bool:
        if states[0].is_preexisting:
            return not is_first_logged_after_loss(self._history, states, self._absences)
        return states[0].time_us <= self._history.begin_us + _AT_BEGIN_US

    def _workload(self) -> dict[str, Any]:
        found = assumed_workload(self._history, self._timings, self._absences, self._lags)
        self._notices += found.notices
        return {"producers": found.producers} if found.producers else {}


#: The comment above a part, if the part has its own place.
_ABOUT = {
    "cluster": "",
    "controllers": "",
    "topics": "",
    "workload": "Clients are not in the logs; these only give followers something to fetch.",
    "steps": "The operator's actions, as the states show them.",
    "faults": "The proposed faults; the notices on top have the evidence for each.",
}


def proposal_text(proposal: Proposal) -> str:
    """The whole file."""
    lines = [*_introduction(proposal)]
    for name, part in proposal.data.items():
        if name in _ABOUT:
            lines += ["", *comment(_ABOUT[name])]
        lines += lines_of({name: part})
    return "\n".join(lines) + "\n"


def proposal_lines(proposal: Proposal) -> Iterator[str]:
    """The notices of a proposal for a terminal, by subject."""
    for subject, notices in groupby(proposal.notices, lambda notice: notice.subject):
        yield f"{subject}:"
        for notice in notices:
            yield f"  {notice.text}"


def write_proposal(
    run: Run,
    properties: Sequence[Path],
    file: Path,
    *,
    sightings: Sightings | None = None,
) -> Proposal:
    """Propose the scenario of a run, and write it into a file; its name is that of the file.

    Args:
        run: the run, such as one that was made from logs.
        properties: the ``server.properties`` of brokers and controllers.
        file: the file to write, or to overwrite.
        sightings: lost connections in the logs of other processes.

    Raises:
        InputError: a file of properties cannot be used, or the states make no scenario.
        TraceError: a trace file is damaged.
        OSError: the file cannot be written.
    """
    read = read_properties(properties)
    proposal = proposed_scenario(run, read, name=file.stem, sightings=sightings)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(file, proposal_text(proposal))
    return proposal


def _introduction(proposal: Proposal) -> Iterator[str]:
    yield from comment(f"Proposed by `tidegauge read-logs --scenario` from {proposal.source}.")
    earlier = short_seconds_text(abs(proposal.earlier_us))
    if proposal.earlier_us:
        way = "earlier" if proposal.earlier_us > 0 else "later"
        yield from comment(f"Times here are {earlier} {way} than those of that run.")
    if proposal.notices:
        yield "#"
        yield "# Notices:"
    for notice in proposal.notices:
        yield from comment(f"- {notice.subject}: {notice.text}", "  ")
