"""All groups of a scenario on Ray: one actor for each group.

The driver, here, lets the actors run to a virtual time. A few times a second it fetches the rows
that they have written, judges them, writes the trace files and shows the progress. It is not in
the loop. An actor that dies ends this engine: its peers notice at once, since their links to it
break, and Ray reports the cause. A run with snapshots makes another one (``recovery.py``).
"""

import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from tidegauge.actors.broker_actor import BrokerActor
from tidegauge.compiled.compile_all import compile_all, import_kernel, is_compiled
from tidegauge.compiled.records import dtype_of
from tidegauge.compiled.rules import COMPILED
from tidegauge.controller.controller_actor import ControllerActor
from tidegauge.engine import contract
from tidegauge.engine.group_states import (
    GroupCounts,
    ObservedController,
    ObservedPartition,
    ObservedReplica,
    States,
)
from tidegauge.engine.grouping import Grouping, finer_grouping, grouping_of, usual_groups
from tidegauge.engine.hosted_group import GroupOutcome, GroupReport, HostedGroup, Place
from tidegauge.engine.ray_cluster import cluster_cpus, node_address, node_cpus, placed, ray_cluster
from tidegauge.engine.row_stream import LOG_DIRECTORIES
from tidegauge.metrics.snapshots.snapshot import Snapshot, merged
from tidegauge.simulation.trace_rows.row import RowSlot

#: The interval at which the driver checks the actors.
_WATCH_PERIOD_S = 0.2

#: The longest time from an error until it is known which actor has died.
_BLAME_S = 5.0

#: The timeout for the reports of a running actor.
_ANSWER_S = 10.0


def on_ray(actors: int | None = None, address: str | None = None) -> contract.EngineMaker:
    """All processes in actors of Ray.

    Args:
        actors: the number of actors; None: that of the state that a run continues from, or one
            for each broker of a small cluster and one for the controllers, else the fastest number
            (``grouping.py``). Where that state cannot be cut into so many, the nearest number.
        address: the Ray cluster to join; None: that of RAY_ADDRESS, else Ray starts here.

    Raises (once it is made, or entered):
        RayUnavailableError: Ray does not start, cannot be joined, or has no room.
        EngineError: there are more actors than brokers and one.
    """

    @contextmanager
    def make(run: contract.EngineInput) -> Iterator[RayEngine]:
        if actors is not None:
            # An error here comes before Ray is started.
            grouping_of(run.plan, actors)
        with ray_cluster(address), RayEngine(run, _grouping(run, actors)) as engine:
            yield engine

    return make


def _grouping(run: contract.EngineInput, actors: int | None) -> Grouping:
    """The groups of a run that begins, or continues those of its past."""
    machines = len(node_cpus())
    saved = [] if run.past is None else [each["hosted"] for each in run.past.groups]
    if len(saved) > 1:
        return finer_grouping(run.plan, saved, actors or len(saved), machines)
    return grouping_of(run.plan, actors or usual_groups(run.plan, cluster_cpus()), machines)


class _Hosted(NamedTuple):
    """A group, and the actor that hosts it."""

    name: str
    actor: Any
    #: Its process and machine.
    where: str


class RayEngine:
    """Runs groups on Ray while it is entered; Ray is available (``ray_cluster.py``)."""

    def __init__(self, run: contract.EngineInput, grouping: Grouping) -> None:
        """Prepare to run these groups; actors are made on entering."""
        self._run = run
        self._plan = run.plan
        self._grouping = grouping
        self._groups: list[_Hosted] = []
        self._paths: list[str] = []
        self._files: list[BinaryIO] = []
        self._reports: list[GroupReport | None] = [None] * len(grouping.hosted)
        self._seconds = 0.0
        #: Every event has been handled that is due before this time.
        self._ended_us = run.begin_us
        self._open = ExitStack()
        self.warnings = [grouping.notice] if grouping.notice else []

    # Beginning and end.

    def __enter__(self) -> Self:
        with ExitStack() as begun:
            options = begun.enter_context(placed(self._grouping.machines))
            files = self._run.new_trace_files(len(self._grouping.hosted))
            self._paths = [self._run.path_of(file) for file in files]
            self._files = [begun.enter_context(file.open("wb")) for file in files]
            begun.callback(self._kill)
            self._make_actors(options)
            self._connect()
            self._open = begun.pop_all()
        return self

    def _make_actors(self, options: Sequence[dict[str, Any]]) -> None:
        key = secrets.token_bytes(32)
        across = len(set(self._grouping.machines)) > 1
        actors = []
        for number, of_actor in enumerate(options):
            saved = self._run.saved_group(self._grouping.hosted[number])
            place = Place(
                self._plan.alone(),
                self._grouping.names,
                self._grouping.hosted,
                number,
                key,
                self._run.generation,
                self._run.speed,
                self._run.begin_us,
                None if saved is None else saved.alone(),
            )
            shell: Any = ControllerActor if number == self._grouping.controllers else BrokerActor
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
        self._ask("meet", self._ask("address"))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._open:
            finishing = [group.actor.do.remote("finish") for group in self._groups]
            ray.wait(finishing, num_returns=len(finishing), timeout=_ANSWER_S)
            files: dict[str, bytes] = {}
            for number, finished in enumerate(finishing):
                try:
                    files |= ray.get(finished, timeout=0)
                except RayError:
                    # It is dead or stuck: the rows that it has handed over are there.
                    continue
                self._take_report(number)
            self._write_files(files)

    def _write_files(self, files: Mapping[str, bytes]) -> None:
        """Write the files of brokers, in place of those of an earlier generation."""
        shutil.rmtree(self._run.folder / LOG_DIRECTORIES, ignore_errors=True)
        for path, content in files.items():
            (self._run.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self._run.folder / path).write_bytes(content)

    def _kill(self) -> None:
        for group in self._groups:
            ray.kill(group.actor)

    # The methods of an engine.

    def run_to(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``.

        Raises:
            ActorError: an actor died, or two of them are incompatible.
            KeyboardInterrupt: all have stopped, at the same virtual time.
        """
        started = time.perf_counter()
        running = self._begin_to_run(end_us)
        try:
            self._watch(running)
        except KeyboardInterrupt:
            self._stop(list(running))
            raise
        self._seconds += time.perf_counter() - started
        self._ended_us = end_us

    def _begin_to_run(self, end_us: int) -> dict[Any, int]:
        """Let all actors run; the number of the group for each call."""
        return {
            group.actor.do.remote("run_to", end_us): number
            for number, group in enumerate(self._groups)
        }

    def save(self) -> contract.EngineState:
        """The state of all groups after :meth:`run_to`; the trace has all rows until then.

        Actors compress it while the run goes on.

        Raises:
            ActorError: an actor died.
        """
        written = self._ask("words_written")
        self._ask_each("save", [(words,) for words in zip(*written, strict=True)])
        self._take_reports()
        trace = {path: file.tell() for path, file in zip(self._paths, self._files, strict=True)}
        packing = [
            group.actor.do.options(concurrency_group="packs").remote("packed")
            for group in self._groups
        ]
        return contract.EngineState(
            [partial(_answer, *each) for each in zip(self._groups, packing, strict=True)],
            trace,
        )

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes."""
        self._ask("heal", time_us)

    def close(self, time_us: int, reason: int) -> None:
        """Let all groups write the rows that belong to the end."""
        self._ask("close", time_us, reason)

    def states(self) -> States:
        """All replicas as their brokers have them, all partitions as the control plane has them."""
        brokers = self._plan.partitions.columns.hosts
        replicas = np.empty(len(brokers), dtype_of(ObservedReplica))
        known = self._ask("states")
        for hosted, (of_group, *_) in zip(self._grouping.hosted, known, strict=True):
            here = np.isin(brokers, hosted)
            replicas[here] = np.frombuffer(of_group, dtype_of(ObservedReplica))[here]
        _, partitions, controllers = known[self._grouping.controllers]
        return States(
            replicas,
            # The rules that read them are compiled for arrays that can be written.
            np.frombuffer(bytearray(partitions), dtype_of(ObservedPartition)),
            np.frombuffer(bytearray(controllers), dtype_of(ObservedController)),
        )

    def snapshot(self) -> Snapshot:
        """The current metrics of the cluster."""
        parts = self._ask("snapshot_part", self._ended_us)
        return merged(self._plan, self._ended_us, parts)

    def counts(self) -> Sequence[GroupCounts]:
        """The current counts that only the groups have."""
        return self._ask("counts")

    def figures(self) -> contract.LoopFigures:
        """The figures of the loop so far."""
        reports = [report for report in self._reports if report is not None]
        kinds = reports[0].samples if reports else {}
        samples = {kind: sum(report.samples[kind] for report in reports) for kind in kinds}
        windows = max((report.figures.windows for report in reports), default=0)
        return contract.LoopFigures(
            self._seconds, windows, [report.figures for report in reports], samples
        )

    # Looking after the actors.

    def _ask(self, step: str, *arguments: Any) -> list[Any]:
        """Call a method of every actor, all at once."""
        return self._ask_each(step, [arguments] * len(self._groups))

    def _ask_each(self, step: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
        """Call a method of every actor with arguments of its own, all at once."""
        asked = [
            group.actor.do.remote(step, *own)
            for group, own in zip(self._groups, arguments, strict=True)
        ]
        return [_answer(*each) for each in zip(self._groups, asked, strict=True)]

    def _watch(self, running: dict[Any, int]) -> None:
        """Watch the actors until all have finished their call."""
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
        """The problem of an actor that no longer runs; None: there is none."""
        try:
            outcome: GroupOutcome = ray.get(ref)
        except RayActorError:
            return f"the actor of {self._groups[number].name} died"
        except RayTaskError as error:
            return f"the actor of {self._groups[number].name} failed: {error.cause}"
        return outcome.complaint or None

    def _problem(self, running: dict[Any, int]) -> contract.ActorError:
        """Wait until the cause of an error and its actor are known."""
        done, _ = ray.wait(list(running), num_returns=len(running), timeout=_BLAME_S)
        complaints = []
        for ref in done:
            complaint = self._complaint(running[ref], ref)
            if complaint is not None:
                # The death of an actor is a better message than the complaint of a peer.
                complaints.append((not complaint.endswith("died"), complaint, running[ref]))
        _, complaint, number = min(complaints)
        reached_us = self._reached_us()
        return contract.ActorError(
            f"{complaint} ({self._groups[number].where})",
            f"; all stopped after {reached_us / 1e6:.3f} virtual seconds, and the trace has all "
            "rows until then",
        )

    def _stop(self, running: list[Any]) -> None:
        """Stop all actors, and let those that are behind come to where the first one is."""
        for group in self._groups:
            group.actor.do.options(concurrency_group="watch").remote("stop")
        done, _ = ray.wait(running, num_returns=len(running), timeout=_ANSWER_S)
        if len(done) == len(running):
            outcomes: list[GroupOutcome] = ray.get(running)
            same = self._begin_to_run(max(outcome.horizon_us for outcome in outcomes))
            ray.wait(list(same), num_returns=len(same), timeout=_ANSWER_S)

    def _take_reports(self, with_snapshots: bool = False) -> None:
        """Fetch the reports of all actors."""
        for number in range(len(self._groups)):
            self._take_report(number, with_snapshots)
        self._run.stream.settle(self._reached_us())

    def _take_report(self, number: int, with_snapshot: bool = False) -> None:
        """Fetch the report of one actor, unless it is dead."""
        actor = self._groups[number].actor
        try:
            report: GroupReport = ray.get(
                actor.do.options(concurrency_group="watch").remote("report", with_snapshot),
                timeout=_ANSWER_S,
            )
        except (RayActorError, GetTimeoutError):
            return
        told = report.figures._replace(told_at_s=time.monotonic())
        self._reports[number] = report._replace(figures=told, rows=(), trace=b"")
        self._files[number].write(report.trace)
        self._files[number].flush()
        for words in report.rows:
            self._run.stream.take_judged(words.view(dtype_of(RowSlot)))
        for line in report.refused:
            warning = f"the actor of {self._groups[number].name} refused a connection: {line}"
            if warning not in self.warnings:
                self.warnings.append(warning)

    def _show(self, onlooker: contract.Onlooker) -> None:
        """Pass the last snapshots to the observer; actors may be a window apart."""
        parts = [
            report.snapshot
            for report in self._reports
            if report is not None and report.snapshot is not None
        ]
        onlooker.look(merged(self._plan, self._reached_us(), parts), self.figures())

    def _reached_us(self) -> int:
        """The time before which all rows of all groups have arrived."""
        begin_us = self._run.begin_us
        return min(begin_us if report is None else report.reached_us for report in self._reports)

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
        self._run.progress(contract.Passed(self._reached_us(), events, busy))


def _answer(group: _Hosted, answer: Any) -> Any:
    """What an actor has answered to a call.

    Raises:
        ActorError: it died, or failed.
    """
    try:
        return ray.get(answer)
    except RayActorError as error:
        raise contract.ActorError(f"the actor of {group.name} died ({group.where})") from error
    except RayTaskError as error:
        raise contract.ActorError(
            f"the actor of {group.name} failed: {error.cause} ({group.where})"
        ) from error


def _host_here(place: Place, across: bool) -> HostedGroup:
    """Make the group that this actor hosts; with ``across``, other actors are on other machines."""
    import_kernel()
    if COMPILED and not is_compiled():
        compile_all()
    node = ray.get_runtime_context().get_node_id()
    return HostedGroup(place, node, node_address() if across else None)
