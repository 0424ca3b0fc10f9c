"""All groups of a scenario on Ray: one actor a group, one of them the controller's.

The driver, here, asks the actors to run to a virtual time and looks after them a few times a
second: it fetches the rows that they have written, judges them, writes the trace files, shows how
far they are. It is not in the loop. An actor that dies ends the run: its peers notice at once,
since their links to it break, and Ray says what became of it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
import ray
from numpy.typing import NDArray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from tidegauge.actors.broker_actor import BrokerActor
from tidegauge.compiled.compile_all import compile_all, import_kernel, is_compiled
from tidegauge.compiled.records import dtype_of
from tidegauge.compiled.rules import COMPILED
from tidegauge.controller.controller_actor import ControllerActor
from tidegauge.engine.contract import (
    ActorError,
    EngineInput,
    EngineMaker,
    LoopFigures,
    Onlooker,
    Passed,
)
from tidegauge.engine.group_counts import GroupCounts
from tidegauge.engine.group_states import PartitionState, ReplicaState
from tidegauge.engine.grouping import Grouping, grouping_of, usual_broker_groups
from tidegauge.engine.hosted_group import HostedGroup, Outcome, Place, Report
from tidegauge.engine.ray_cluster import (
    cluster_cpus,
    node_address,
    placed,
    ray_cluster,
    spans_nodes,
)
from tidegauge.metrics.snapshots.snapshot import Snapshot, merged
from tidegauge.simulation.kernel import HUB, Row
from tidegauge.traces.run_folder import new_trace_file

#: How often the driver looks after the actors.
_WATCH_PERIOD_S = 0.2

#: So long it takes at most until it is known who has died, once something went wrong.
_BLAME_S = 5.0

#: An actor that does not say anything for so long while it runs is not waited for any more.
_ANSWER_S = 10.0


def on_ray(broker_actors: int | None = None, address: str | None = None) -> EngineMaker:
    """All processes in actors of Ray.

    Args:
        broker_actors: how many host brokers and clients, beside that of the controllers; None: one
            for each broker of a small cluster, else as many as are worth it (``grouping.py``).
        address: of a Ray cluster to join; None: that of RAY_ADDRESS, else Ray is started here.

    Raises (once it is made, or entered):
        RayUnavailableError: Ray does not start, cannot be joined, or has no room.
        EngineError: there are fewer brokers than actors are to host.
    """

    @contextmanager
    def make(run: EngineInput) -> Iterator[RayEngine]:
        if broker_actors is not None:
            # Said before Ray is started.
            grouping_of(run.plan, broker_actors)
        with ray_cluster(address):
            count = broker_actors or usual_broker_groups(run.plan, cluster_cpus())
            with RayEngine(run, grouping_of(run.plan, count)) as engine:
                yield engine

    return make


class _Hosted(NamedTuple):
    """A group, and the actor that hosts it."""

    name: str
    actor: Any
    #: Where it is: process and machine.
    where: str


class RayEngine:
    """Runs groups on Ray while it is entered; Ray is there (``ray_cluster.py``)."""

    def __init__(self, run: EngineInput, grouping: Grouping) -> None:
        """Prepare to run these groups, the controller's last; actors are made on entering."""
        self._run = run
        self._plan = run.plan
        self._grouping = grouping
        self._groups: list[_Hosted] = []
        self._files: list[BinaryIO] = []
        self._reports: list[Report | None] = [None] * len(grouping.hosted)
        self._seconds = 0.0
        #: Every event has been handled that is due before this time.
        self._ended_us = 0
        self._open = ExitStack()
        self.warnings: list[str] = []

    # Beginning and end.

    def __enter__(self) -> Self:
        with ExitStack() as begun:
            self._files = [
                begun.enter_context(new_trace_file(self._run.folder, number).open("wb"))
                for number in range(len(self._grouping.hosted))
            ]
            begun.callback(self._kill)
            options = begun.enter_context(placed(len(self._grouping.hosted)))
            self._make_actors(options)
            self._connect()
            self._open = begun.pop_all()
        return self

    def _make_actors(self, options: Sequence[dict[str, Any]]) -> None:
        key = secrets.token_bytes(32)
        generation = secrets.randbits(62)
        across = spans_nodes()
        actors = []
        for number, of_actor in enumerate(options):
            place = Place(
                self._plan.scenario,
                dict(self._plan.switches),
                self._grouping.names,
                self._grouping.hosted,
                number,
                key,
                generation,
                self._run.speed,
            )
            shell: Any = BrokerActor if number < len(options) - 1 else ControllerActor
            actors.append(shell.options(**of_actor).remote(partial(_host_here, place, across)))
        names = self._grouping.names
        where = "as it began"
        self._groups = [
            _Hosted(name, actor, where) for name, actor in zip(names, actors, strict=True)
        ]
        self._groups = [
            group._replace(where=where)
            for group, where in zip(self._groups, self._ask("whereabouts"), strict=True)
        ]

    def _connect(self) -> None:
        hub, *_ = self._ask("address")
        self._ask("meet", hub)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._open:
            for number, group in enumerate(self._groups):
                try:
                    files = ray.get(group.actor.do.remote("finish"), timeout=_ANSWER_S)
                except RayError:
                    # It is dead or stuck: what it has handed over is there.
                    continue
                for path, content in files.items():
                    (self._run.folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (self._run.folder / path).write_bytes(content)
                self._take_report(number)

    def _kill(self) -> None:
        for group in self._groups:
            ray.kill(group.actor)

    # What a run asks for.

    def run_to(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``.

        Raises:
            ActorError: an actor died, or two of them do not understand each other.
            KeyboardInterrupt: all have stopped, at the same window.
        """
        started = time.perf_counter()
        running = {
            group.actor.do.remote("run_to", end_us): number
            for number, group in enumerate(self._groups)
        }
        try:
            self._watch(running)
        except KeyboardInterrupt:
            self._stop(list(running))
            raise
        self._seconds += time.perf_counter() - started
        self._ended_us = end_us

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes."""
        self._ask("heal", time_us)

    def close(self, time_us: int, reason: int) -> None:
        """Have written down what can be judged only at the end."""
        self._ask("close", time_us, reason)

    def states(self) -> tuple[NDArray[np.void], NDArray[np.void]]:
        """All replicas as their brokers have them, all partitions as ZooKeeper has them."""
        brokers = [broker for partition in self._plan.partitions for broker in partition.slots]
        replicas = np.empty(len(brokers), dtype_of(ReplicaState))
        known = self._ask("states")
        for hosted, (of_group, _) in zip(self._grouping.hosted, known, strict=True):
            here = np.isin(brokers, hosted)
            replicas[here] = np.frombuffer(of_group, dtype_of(ReplicaState))[here]
        return replicas, np.frombuffer(known[-1][1], dtype_of(PartitionState))

    def snapshot(self) -> Snapshot:
        """What can be scraped of the cluster, now."""
        parts = self._ask("snapshot_part", self._ended_us)
        return merged(self._plan, self._ended_us, parts)

    def counts(self) -> Sequence[GroupCounts]:
        """What only the groups know themselves, now."""
        return self._ask("counts")

    def figures(self) -> LoopFigures:
        """What the loop has done until now."""
        reports = [report for report in self._reports if report is not None]
        kinds = reports[0].samples if reports else {}
        samples = {kind: sum(report.samples[kind] for report in reports) for kind in kinds}
        windows = reports[HUB].figures.windows if reports else 0
        return LoopFigures(self._seconds, windows, [report.figures for report in reports], samples)

    # Looking after the actors.

    def _ask(self, step: str, *arguments: Any) -> list[Any]:
        """Have every actor take a step, all at once."""
        asked = [group.actor.do.remote(step, *arguments) for group in self._groups]
        answers = []
        for group, answer in zip(self._groups, asked, strict=True):
            try:
                answers.append(ray.get(answer))
            except RayActorError as error:
                raise ActorError(f"the actor of {group.name} died ({group.where})") from error
            except RayTaskError as error:
                failed = f"the actor of {group.name} failed: {error.cause} ({group.where})"
                raise ActorError(failed) from error
        return answers

    def _watch(self, running: dict[Any, int]) -> None:
        """Look after actors until all have come to the end of what they were asked for."""
        waited_for = list(running)
        while waited_for:
            done, waited_for = ray.wait(
                waited_for, num_returns=len(waited_for), timeout=_WATCH_PERIOD_S
            )
            for ref in done:
                if self._complaint(running[ref], ref) is not None:
                    raise self._problem(running)
            onlooker = self._run.onlooker
            looks = onlooker is not None and onlooker.is_due()
            self._take_reports(looks)
            if onlooker is not None and looks:
                self._show(onlooker)
            self._show_progress()

    def _complaint(self, number: int, ref: Any) -> str | None:
        """What is wrong with an actor that does not run any more; None: nothing."""
        try:
            outcome: Outcome = ray.get(ref)
        except RayActorError:
            return f"the actor of {self._groups[number].name} died"
        except RayTaskError as error:
            return f"the actor of {self._groups[number].name} failed: {error.cause}"
        return outcome.complaint or None

    def _problem(self, running: dict[Any, int]) -> ActorError:
        """Something went wrong: wait until it is known what, and whose fault it is."""
        done, _ = ray.wait(list(running), num_returns=len(running), timeout=_BLAME_S)
        complaints = []
        for ref in done:
            complaint = self._complaint(running[ref], ref)
            if complaint is not None:
                # That somebody died tells more than that others miss it.
                complaints.append((not complaint.endswith("died"), complaint, running[ref]))
        _, complaint, number = min(complaints)
        reached_us = self._reached_us()
        return ActorError(
            f"{complaint} ({self._groups[number].where}); all stopped after "
            f"{reached_us / 1e6:.3f} virtual seconds, and the trace holds what came until then"
        )

    def _stop(self, running: list[Any]) -> None:
        """Have all actors stop, and fetch what they have to say."""
        self._groups[HUB].actor.do.options(concurrency_group="watch").remote("stop")
        ray.wait(running, num_returns=len(running), timeout=_ANSWER_S)

    def _take_reports(self, with_snapshots: bool = False) -> None:
        """Fetch what all actors have to say; the hub first, since it says how far all are."""
        for number in range(len(self._groups)):
            self._take_report(number, with_snapshots)
        self._run.stream.settle(self._reached_us())

    def _take_report(self, number: int, with_snapshot: bool = False) -> None:
        """Fetch what one actor has to say, unless it is dead."""
        actor = self._groups[number].actor
        try:
            report: Report = ray.get(
                actor.do.options(concurrency_group="watch").remote("report", with_snapshot),
                timeout=_ANSWER_S,
            )
        except (RayActorError, GetTimeoutError):
            return
        told = report.figures._replace(told_at_s=time.monotonic())
        self._reports[number] = report._replace(figures=told)
        self._files[number].write(report.trace)
        self._files[number].flush()
        self._run.stream.take(np.frombuffer(report.rows, dtype_of(Row)))
        for line in report.refused:
            warning = f"the actor of {self._groups[number].name} refused a connection: {line}"
            if warning not in self.warnings:
                self.warnings.append(warning)

    def _show(self, onlooker: Onlooker) -> None:
        """Hand over what the last reports have brought; actors may be a window apart."""
        parts = [
            report.snapshot
            for report in self._reports
            if report is not None and report.snapshot is not None
        ]
        onlooker.look(merged(self._plan, self._reached_us(), parts), self.figures())

    def _reached_us(self) -> int:
        """Before this time all rows of all groups have come in."""
        hub = self._reports[HUB]
        return 0 if hub is None else hub.reached_us

    def _show_progress(self) -> None:
        if self._run.progress is None:
            return
        reports = [report for report in self._reports if report is not None]
        busy = {
            report.figures.name: report.figures.kernel_cpu_seconds
            + report.figures.exchange_cpu_seconds
            for report in reports
        }
        events = sum(report.figures.events for report in reports)
        self._run.progress(Passed(self._reached_us(), events, busy))


def _host_here(place: Place, across: bool) -> HostedGroup:
    """Make the group that this actor hosts; other actors are on other machines, too."""
    import_kernel()
    if COMPILED and not is_compiled():
        compile_all()
    node = ray.get_runtime_context().get_node_id()
    return HostedGroup(place, node, node_address() if across else None)
